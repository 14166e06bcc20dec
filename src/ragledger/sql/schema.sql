-- The whole current schema: the sum of the migrations, kept equal by a test.
-- Names are unqualified: the runner sets search_path to the configured schema.
--
-- Rules that every statement keeps (DESIGN.md section 5): search_id first in every key, no triggers,
-- no serial keys, nothing updated in searches and hits. What becomes known later is a row of its own.

CREATE TABLE searches (
    search_id           uuid PRIMARY KEY,
    started_at          timestamptz NOT NULL,
    project             text NOT NULL,
    corpus              text,
    surface             text,
    session_id          text,
    actor_kind          text NOT NULL,
    actor_id            text,
    framework           text NOT NULL,
    retriever           text,
    parent_id           uuid,
    root_id             uuid NOT NULL,
    depth               int4 NOT NULL,
    attempt_of          uuid,
    served_from         uuid,
    status              text NOT NULL,
    skip_reason         text,
    error_type          text,
    error_origin        text,
    degraded            boolean NOT NULL,
    degraded_reason     text,
    vector_available    boolean,
    latency_ms          float8,
    top_k               int4,
    candidate_count     int4,
    admitted_count      int4,
    top_candidate_score float8,
    top_admitted_score  float8,
    weights             jsonb NOT NULL,
    epoch               text NOT NULL,
    index_version       text,
    embedding_model     text,
    extractor_version   text,
    signals             jsonb,
    query_key           bytea,
    flags               text[] NOT NULL,
    trace_id            bytea,
    span_id             bytea,
    sampled             boolean,
    span_owner          text,
    external_run_id     text,
    writer_id           uuid NOT NULL,
    writer_seq          int8 NOT NULL,
    recorded_at         timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT searches_actor_kind CHECK (actor_kind IN ('human', 'agent', 'judge', 'system')),
    CONSTRAINT searches_status CHECK (status IN ('ok', 'error', 'cancelled', 'skipped')),
    CONSTRAINT searches_error_origin CHECK (error_origin IN ('infra', 'provider', 'caller', 'unknown')),
    CONSTRAINT searches_skip_reason CHECK ((status = 'skipped') = (skip_reason IS NOT NULL)),
    CONSTRAINT searches_depth CHECK (depth >= 0),
    CONSTRAINT searches_latency CHECK (latency_ms >= 0)
);

CREATE INDEX searches_by_project ON searches (project, started_at);
CREATE INDEX searches_by_attempt ON searches (attempt_of) WHERE attempt_of IS NOT NULL;

-- No foreign key to searches: a search and its hits land in one transaction, and the check of every single hit cost more
-- than half of the loading time (docs/decisions.md). The one that votes rest on is feedback to hits.
CREATE TABLE hits (
    search_id       uuid NOT NULL,
    rank            int4 NOT NULL,
    chunk_id        text,
    chunk_id_source text,
    document_id     text,
    source_kind     text,
    score           float8,
    score_kind      text NOT NULL,
    score_source    text,
    vector_score    float8,
    lexical_score   float8,
    signals         jsonb,
    admitted        boolean NOT NULL,
    content_key     bytea,
    CONSTRAINT hits_pkey PRIMARY KEY (search_id, rank),
    CONSTRAINT hits_rank CHECK (rank >= 1),
    CONSTRAINT hits_chunk_id_source CHECK (chunk_id_source IN ('framework', 'metadata', 'derived')),
    CONSTRAINT hits_score_kind CHECK (score_kind IN ('similarity', 'distance', 'rerank', 'fused', 'none'))
);

-- Neither a delivery nor an assessment has a foreign key: it may arrive before its search, which another writer's journal
-- still holds. Whoever reads them joins searches (docs/decisions.md).
CREATE TABLE deliveries (
    search_id    uuid NOT NULL,
    delivery_id  uuid NOT NULL,
    by           text NOT NULL,
    hit_ranks    int4[] NOT NULL,
    scores       float8[],
    delivered_at timestamptz NOT NULL,
    writer_id    uuid NOT NULL,
    writer_seq   int8 NOT NULL,
    recorded_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT deliveries_pkey PRIMARY KEY (search_id, delivery_id),
    CONSTRAINT deliveries_by CHECK (by IN ('postprocessor', 'reranker', 'application'))
);

CREATE TABLE assessments (
    search_id     uuid NOT NULL,
    assessment_id uuid NOT NULL,
    name          text NOT NULL,
    value         float8,
    method        text,
    weights       jsonb,
    assessed_at   timestamptz NOT NULL,
    writer_id     uuid NOT NULL,
    writer_seq    int8 NOT NULL,
    recorded_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT assessments_pkey PRIMARY KEY (search_id, assessment_id)
);

CREATE TABLE feedback (
    search_id   uuid NOT NULL,
    feedback_id uuid NOT NULL,
    rank        int4 NOT NULL,
    stage       text NOT NULL,
    outcome     text,
    actor_kind  text NOT NULL,
    actor_id    text,
    given_at    timestamptz NOT NULL,
    writer_id   uuid NOT NULL,
    writer_seq  int8 NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT feedback_pkey PRIMARY KEY (search_id, feedback_id),
    CONSTRAINT feedback_hit FOREIGN KEY (search_id, rank) REFERENCES hits (search_id, rank),
    CONSTRAINT feedback_stage CHECK (stage IN ('accessed', 'judged')),
    CONSTRAINT feedback_outcome CHECK (
        (stage = 'accessed' AND outcome IS NULL)
        OR (stage = 'judged' AND outcome IN
            ('not_relevant', 'partially_relevant', 'relevant', 'highly_relevant'))
    ),
    CONSTRAINT feedback_actor_kind CHECK (actor_kind IN ('human', 'agent', 'judge', 'system'))
);

CREATE INDEX feedback_by_hit ON feedback (search_id, rank);

-- Votes whose search has not arrived yet: another writer's journal may still hold it.
CREATE TABLE pending_feedback (
    search_id   uuid NOT NULL,
    feedback_id uuid NOT NULL,
    rank        int4,
    chunk_id    text,
    stage       text NOT NULL,
    outcome     text,
    actor_kind  text NOT NULL,
    actor_id    text,
    given_at    timestamptz NOT NULL,
    writer_id   uuid NOT NULL,
    writer_seq  int8 NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pending_feedback_pkey PRIMARY KEY (search_id, feedback_id),
    CONSTRAINT pending_feedback_hit CHECK (rank IS NOT NULL OR chunk_id IS NOT NULL)
);

CREATE INDEX pending_feedback_by_writer ON pending_feedback (writer_id);

-- One row per writer: the watermark that makes a duplicate impossible, and where every number ended.
CREATE TABLE writers (
    writer_id    uuid PRIMARY KEY,
    project      text NOT NULL,
    host         text NOT NULL,
    pid          int4 NOT NULL,
    started_at   timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz,
    attempted    int8 NOT NULL DEFAULT 0,
    refused      jsonb NOT NULL DEFAULT '{}',
    base         int8 NOT NULL DEFAULT 0, -- numbers up to here went to a former database
    shipped      int8 NOT NULL DEFAULT 0,
    landed       int8multirange NOT NULL DEFAULT '{}',
    removed      int8multirange NOT NULL DEFAULT '{}'
);

-- Records that can never land. The payload stays in a file beside the journal, never here.
CREATE TABLE rejected (
    writer_id   uuid NOT NULL,
    writer_seq  int8 NOT NULL,
    kind        text NOT NULL,
    reason      text NOT NULL,
    rejected_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT rejected_pkey PRIMARY KEY (writer_id, writer_seq)
);

-- What could have been retrieved: the base of "never retrieved".
CREATE TABLE inventory (
    corpus        text NOT NULL,
    document_id   text NOT NULL,
    source_kind   text,
    first_seen_at timestamptz NOT NULL DEFAULT now(),
    last_seen_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT inventory_pkey PRIMARY KEY (corpus, document_id)
);

-- What arrived is found by its number in its journal.
CREATE INDEX searches_by_arrival ON searches (writer_id, writer_seq);
CREATE INDEX deliveries_by_arrival ON deliveries (writer_id, writer_seq);
CREATE INDEX feedback_by_arrival ON feedback (writer_id, writer_seq);

-- What searches have in common that are counted together. The id is a hash of the other columns.
CREATE TABLE rollup_series (
    series_id   uuid PRIMARY KEY,
    project     text NOT NULL,
    corpus      text,
    surface     text,
    has_session boolean NOT NULL,
    actor_kind  text NOT NULL,
    epoch       text NOT NULL
);

CREATE INDEX rollup_series_by_project ON rollup_series (project, epoch);

CREATE TABLE rollup_searches (
    grain               text NOT NULL,
    project             text NOT NULL,
    bucket              timestamptz NOT NULL,
    series_id           uuid NOT NULL,
    searches            int8 NOT NULL,
    ok                  int8 NOT NULL,
    error               int8 NOT NULL,
    cancelled           int8 NOT NULL,
    skipped             int8 NOT NULL,
    degraded            int8 NOT NULL,
    vector_available    int8 NOT NULL,
    vector_unavailable  int8 NOT NULL,
    untold              int8 NOT NULL,
    empty               int8 NOT NULL,
    found               int8 NOT NULL,
    delivered           int8 NOT NULL,
    candidates          int8 NOT NULL,
    candidates_known    int8 NOT NULL,
    admitted            int8 NOT NULL,
    admitted_known      int8 NOT NULL,
    top_candidate_sum   numeric NOT NULL,
    top_candidate_known int8 NOT NULL,
    top_admitted_sum    numeric NOT NULL,
    top_admitted_known  int8 NOT NULL,
    timed               int8 NOT NULL,
    first_ran_at        timestamptz,
    last_ran_at         timestamptz,
    CONSTRAINT rollup_searches_pkey PRIMARY KEY (grain, project, bucket, series_id),
    CONSTRAINT rollup_searches_grain CHECK (grain IN ('minute', 'hour', 'day'))
);

CREATE INDEX rollup_searches_by_series ON rollup_searches (series_id, bucket) WHERE grain = 'day';

-- How many timed ok searches fell into each bin of the histogram.
CREATE TABLE rollup_latency (
    grain     text NOT NULL,
    project   text NOT NULL,
    bucket    timestamptz NOT NULL,
    series_id uuid NOT NULL,
    bin       int4 NOT NULL,
    searches  int8 NOT NULL,
    CONSTRAINT rollup_latency_pkey PRIMARY KEY (grain, project, bucket, series_id, bin)
);

-- The searches of rollup_latency over all series, of hours and days. A part is 16 bins in a row (bin / 16), `bins` has how
-- many fell into each of them: to find a percentile, parts are added up, and of one of them its bins.
CREATE TABLE rollup_latency_parts (
    grain    text NOT NULL,
    project  text NOT NULL,
    bucket   timestamptz NOT NULL,
    part     int4 NOT NULL,
    searches int8 NOT NULL,
    bins     int8[] NOT NULL,
    CONSTRAINT rollup_latency_parts_pkey PRIMARY KEY (grain, project, bucket, part),
    CONSTRAINT rollup_latency_parts_grain CHECK (grain IN ('hour', 'day'))
);

-- An empty word: no reason was given, or the kind of the source is not known.
CREATE TABLE rollup_words (
    grain     text NOT NULL,
    project   text NOT NULL,
    bucket    timestamptz NOT NULL,
    series_id uuid NOT NULL,
    what      text NOT NULL,
    word      text NOT NULL,
    n         int8 NOT NULL,
    CONSTRAINT rollup_words_pkey PRIMARY KEY (grain, project, bucket, series_id, what, word),
    CONSTRAINT rollup_words_what CHECK (what IN ('skip_reason', 'degraded_reason', 'source_kind'))
);

CREATE TABLE rollup_judged (
    grain         text NOT NULL,
    project       text NOT NULL,
    bucket        timestamptz NOT NULL,
    series_id     uuid NOT NULL,
    voter         text NOT NULL,
    k             int4 NOT NULL,
    searches      int8 NOT NULL,
    useful        numeric NOT NULL,
    judged        int8 NOT NULL,
    useful_sq     numeric NOT NULL,
    judged_sq     int8 NOT NULL,
    useful_judged numeric NOT NULL,
    CONSTRAINT rollup_judged_pkey PRIMARY KEY (grain, project, bucket, series_id, voter, k)
);

-- Position 0: admitted, and not delivered. Position 21: everything beyond 20.
CREATE TABLE rollup_shown (
    grain     text NOT NULL,
    project   text NOT NULL,
    bucket    timestamptz NOT NULL,
    series_id uuid NOT NULL,
    position  int4 NOT NULL,
    shown     int8 NOT NULL,
    accessed  int8 NOT NULL,
    CONSTRAINT rollup_shown_pkey PRIMARY KEY (grain, project, bucket, series_id, position)
);

CREATE TABLE rollup_votes (
    grain     text NOT NULL,
    project   text NOT NULL,
    bucket    timestamptz NOT NULL,
    series_id uuid NOT NULL,
    position  int4 NOT NULL,
    voter     text NOT NULL,
    accessed  int8 NOT NULL,
    judged    int8 NOT NULL,
    useful    numeric NOT NULL,
    CONSTRAINT rollup_votes_pkey PRIMARY KEY (grain, project, bucket, series_id, position, voter)
);

-- A document counts once per search. An empty corpus: the search named none.
CREATE TABLE rollup_document_days (
    project     text NOT NULL,
    corpus      text NOT NULL,
    document_id text NOT NULL,
    day         timestamptz NOT NULL,
    retrieved   int8 NOT NULL,
    admitted    int8 NOT NULL,
    accessed    int8 NOT NULL,
    judged      int8 NOT NULL,
    useful      int8 NOT NULL,
    not_useful  int8 NOT NULL,
    best_rank   int4,
    CONSTRAINT rollup_document_days_pkey PRIMARY KEY (project, corpus, document_id, day)
);

CREATE INDEX rollup_document_days_by_day ON rollup_document_days (project, day);

CREATE TABLE rollup_documents (
    project     text NOT NULL,
    corpus      text NOT NULL,
    document_id text NOT NULL,
    retrieved   int8 NOT NULL,
    admitted    int8 NOT NULL,
    accessed    int8 NOT NULL,
    judged      int8 NOT NULL,
    useful      int8 NOT NULL,
    not_useful  int8 NOT NULL,
    best_rank   int4,
    first_day   timestamptz NOT NULL,
    CONSTRAINT rollup_documents_pkey PRIMARY KEY (project, corpus, document_id)
);

-- How many documents of a corpus were retrieved on a day, and so on. An empty corpus: the search named none.
CREATE TABLE rollup_corpus_days (
    project   text NOT NULL,
    corpus    text NOT NULL,
    day       timestamptz NOT NULL,
    retrieved int8 NOT NULL,
    admitted  int8 NOT NULL,
    accessed  int8 NOT NULL,
    judged    int8 NOT NULL,
    useful    int8 NOT NULL,
    CONSTRAINT rollup_corpus_days_pkey PRIMARY KEY (project, day, corpus)
);

-- How many documents of a corpus were first retrieved on a day; how many of these are listed, and were ever admitted and so on.
CREATE TABLE rollup_corpora (
    project   text NOT NULL,
    corpus    text NOT NULL,
    first_day timestamptz NOT NULL,
    retrieved int8 NOT NULL,
    listed    int8 NOT NULL,
    admitted  int8 NOT NULL,
    accessed  int8 NOT NULL,
    judged    int8 NOT NULL,
    useful    int8 NOT NULL,
    CONSTRAINT rollup_corpora_pkey PRIMARY KEY (project, corpus, first_day)
);

-- The inventory as rollup_corpora was held against it. `fingerprint` is of its ids: another one, and it has changed since.
CREATE TABLE rollup_inventories (
    corpus      text PRIMARY KEY,
    documents   int8 NOT NULL,
    fingerprint int8 NOT NULL
);

CREATE TABLE epochs (
    project         text NOT NULL,
    epoch           text NOT NULL,
    first_seen_at   timestamptz NOT NULL,
    last_seen_at    timestamptz NOT NULL,
    searches        int8 NOT NULL,
    weights         jsonb,
    index_version   text,
    embedding_model text,
    CONSTRAINT epochs_pkey PRIMARY KEY (project, epoch)
);

-- Per writer, the numbers that the collector has looked at.
CREATE TABLE rollup_arrivals (
    writer_id uuid PRIMARY KEY,
    landed    int8multirange NOT NULL
);

-- Minutes that must be computed again. Marks are never merged: one that is set while a pass runs outlives the pass.
CREATE TABLE rollup_dirty (
    project text NOT NULL,
    bucket  timestamptz NOT NULL,
    mark    uuid NOT NULL DEFAULT gen_random_uuid(),
    CONSTRAINT rollup_dirty_pkey PRIMARY KEY (project, bucket, mark)
);

-- Days whose documents must be counted again; the collector alone writes here.
CREATE TABLE rollup_dirty_days (
    project text NOT NULL,
    day     timestamptz NOT NULL,
    CONSTRAINT rollup_dirty_days_pkey PRIMARY KEY (project, day)
);

-- Corpora of a project whose documents or inventory have changed; the collector alone writes here.
CREATE TABLE rollup_dirty_corpora (
    project text NOT NULL,
    corpus  text NOT NULL,
    CONSTRAINT rollup_dirty_corpora_pkey PRIMARY KEY (project, corpus)
);

-- Minutes of which retention has taken rows: what was counted stays, and nobody can count it again.
CREATE TABLE rollup_sealed (
    project text NOT NULL,
    bucket  timestamptz NOT NULL,
    CONSTRAINT rollup_sealed_pkey PRIMARY KEY (project, bucket)
);

-- How many votes a comparison needs, written down before it is looked at, and every look that was taken.

CREATE TABLE plans (
    plan_id       uuid PRIMARY KEY,
    planned_at    timestamptz NOT NULL,
    planned_by    text NOT NULL,
    project       text,
    corpus        text,
    surface       text,
    epoch         text NOT NULL,
    voter         text NOT NULL,
    k             int4 NOT NULL,
    useful_from   text NOT NULL,
    share_from    float8 NOT NULL,
    share_to      float8 NOT NULL,
    power         float8 NOT NULL,
    alpha         float8 NOT NULL,
    design_effect float8 NOT NULL,
    votes         int8 NOT NULL,
    searches      int8 NOT NULL,
    CONSTRAINT plans_voter CHECK (voter IN ('human', 'agent', 'judge', 'system')),
    CONSTRAINT plans_k CHECK (k >= 1),
    CONSTRAINT plans_votes CHECK (votes >= 1 AND searches >= 1)
);

CREATE INDEX plans_by_epoch ON plans (epoch, planned_at);

CREATE TABLE plan_looks (
    plan_id   uuid NOT NULL,
    look_id   uuid NOT NULL,
    looked_at timestamptz NOT NULL,
    looked_by text NOT NULL,
    other     text NOT NULL,
    votes_a   int8 NOT NULL,
    votes_b   int8 NOT NULL,
    CONSTRAINT plan_looks_pkey PRIMARY KEY (plan_id, look_id)
);

-- The latest judgment of each actor on each hit: a double click counts once, a changed mind wins.
CREATE VIEW current_votes AS
SELECT DISTINCT ON (search_id, rank, actor_kind, actor_id)
    search_id, rank, actor_kind, actor_id, outcome, given_at, feedback_id
FROM feedback
WHERE stage = 'judged'
ORDER BY search_id, rank, actor_kind, actor_id, given_at DESC, feedback_id DESC;

-- Searches as measures count them: the outermost ones, a group of attempts once, by its last attempt.
CREATE VIEW logical_searches AS
SELECT s.*
FROM searches s
WHERE s.depth = 0
  AND NOT EXISTS (
      SELECT FROM searches later
      WHERE later.attempt_of = coalesce(s.attempt_of, s.search_id)
        AND later.depth = 0
        AND (later.started_at, later.search_id) > (s.started_at, s.search_id)
  );

-- Hits that were really found. Some lexical retrievers fill their list up to top_k with hits that do not match: what the
-- lexical signal alone scored, and with 0, is padding. An unknown score is not zero.
CREATE VIEW real_hits AS
SELECT search_id, rank
FROM hits
WHERE admitted
  AND NOT (
      lexical_score IS NOT DISTINCT FROM 0
      AND vector_score IS NULL
      AND coalesce(score, 0) = 0
      AND NOT coalesce(jsonb_path_exists(signals, '$.** ? (@.type() == "number")'), false)
  );

-- What the table can say about the fate of each writer's records (P5), as of its latest shipment; the journal knows the rest.
-- `waiting` includes what was unfinished. A gap is a number that left its journal and is nowhere.
CREATE VIEW writer_fates AS
SELECT f.*, greatest(f.attempted - f.shipped, 0) AS waiting,
    greatest(f.shipped - f.base - f.written - f.pending - f.rejected, 0) AS gaps
FROM (
    SELECT
        w.writer_id, w.project, w.host, w.pid, w.started_at, w.last_seen_at, w.finished_at, w.attempted,
        (SELECT coalesce(sum(value::int8), 0) FROM jsonb_each_text(w.refused)) AS refused,
        w.shipped,
        (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(w.landed) AS r) AS written,
        (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(w.removed) AS r) AS removed,
        (SELECT count(*) FROM pending_feedback p WHERE p.writer_id = w.writer_id) AS pending,
        (SELECT count(*) FROM rejected j WHERE j.writer_id = w.writer_id) AS rejected,
        w.base
    FROM writers w
) AS f;

-- The 97.5 % quantile of Student's t: 30 values from its tables, above them the expansion around the normal quantile.
CREATE FUNCTION t_quantile(degrees float8) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN degrees < 1 THEN NULL
    WHEN degrees <= 30 THEN (ARRAY[
        12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139, 2.200985,
        2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873,
        2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272])[degrees::int4]
    ELSE 1.959963985 + 2.372271230 / degrees + 2.822498616 / degrees ^ 2 + 2.555849680 / degrees ^ 3 + 1.589534054 / degrees ^ 4
END;

-- Wilson's score interval for a share of n trials; n need not be whole.
CREATE FUNCTION wilson_interval(share float8, n float8, quantile float8, OUT low float8, OUT high float8)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN centre - half < 0 THEN 0 ELSE centre - half END, CASE WHEN centre + half > 1 THEN 1 ELSE centre + half END
    FROM (SELECT quantile * quantile / nullif(n, 0) AS square) AS q
    CROSS JOIN LATERAL (
        SELECT (share + square / 2) / (1 + square) AS centre,
            sqrt(square * share * (1 - share) + square * square / 4) / (1 + square) AS half
    ) AS around;
END;

-- Of a share of searches: each is one trial.
CREATE FUNCTION share_interval(part numeric, n numeric, OUT low float8, OUT high float8)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT i.low, i.high FROM wilson_interval((part / nullif(n, 0))::float8, n::float8, 1.959963985) AS i;
END;

-- Of a precision, clustered by search, from the sums of rollup_judged; the formulas: ragledger/measures/interval.py.
CREATE FUNCTION precision_interval(
    searches numeric, useful numeric, judged numeric, useful_sq numeric, judged_sq numeric, useful_judged numeric,
    OUT low float8, OUT high float8
)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT i.low, i.high
    FROM (
        -- The nulls stand guard: what a condition excludes may be computed all the same when a statement is planned.
        SELECT (useful / nullif(judged, 0))::float8 AS p, nullif(judged, 0)::float8 AS j, searches::float8 AS s,
            CASE WHEN useful < judged - useful THEN useful ELSE judged - useful END::float8 AS rarer,
            1 + ((judged_sq / nullif(judged, 0))::float8 - 1) * 0.3 AS assumed
        WHERE searches >= 2 AND judged > 0
    ) AS told
    CROSS JOIN LATERAL (
        SELECT p * (1 - p) / j AS binomial,
            useful_sq::float8 - 2 * p * useful_judged::float8 + p * p * judged_sq::float8 AS spread
    ) AS spreads
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN rarer > 0 AND binomial > 0
            THEN rarer / (rarer + 1) * s / nullif(s - 1, 0) * greatest(spread, 0) / (j * j) / nullif(binomial, 0)
                + assumed / (rarer + 1)
            ELSE assumed
        END AS effect
    ) AS observed
    CROSS JOIN LATERAL wilson_interval(p, j / greatest(effect, 0.5), t_quantile(s - 1)) AS i;
END;

-- What a bin of rollup_latency stands for, in ms; the layout: ragledger/measures/histogram.py.
CREATE FUNCTION latency_ms(bin int4) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    (bin - 64 * greatest(bin / 64 - 1, 0)) * 2::float8 ^ greatest(bin / 64 - 1, 0) + (2::float8 ^ greatest(bin / 64 - 1, 0) - 1) / 2
) / 1e6;

-- Which rollups a dashboard reads, by the time range (in seconds since 1970) and the number of projects: minutes for up to
-- 6 hours and 2,000 buckets in all, hours for up to 8 days and 500 buckets, else days. So a query reads about as much for
-- twenty projects as for one.
CREATE FUNCTION rollup_grain(since int8, until int8, projects int4) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN until - since <= 21600 AND (until - since) / 60 * coalesce(projects, 1) <= 2000 THEN 'minute'
    WHEN until - since <= 691200 AND (until - since) / 3600 * coalesce(projects, 1) <= 500 THEN 'hour'
    ELSE 'day'
END;

-- The length of a bucket. 24 hours: a day of an interval would follow the clocks of the session's time zone.
CREATE FUNCTION rollup_step(grain text) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE grain WHEN 'minute' THEN interval '1 minute' WHEN 'hour' THEN interval '1 hour' ELSE interval '24 hours' END;

-- Whether a value is among those that the viewer of a dashboard chose.
CREATE FUNCTION is_chosen(value text, choices text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '(all)' = ANY (choices) OR coalesce(nullif(value, ''), '(none)') = ANY (choices);

-- How many records each writer could not keep, and why.
CREATE VIEW writer_refusals AS
SELECT w.project, w.writer_id, w.last_seen_at, r.key AS reason, r.value::int8 AS refused
FROM writers w CROSS JOIN LATERAL jsonb_each_text(w.refused) AS r;

-- Records that can never land.
CREATE VIEW rejections AS
SELECT w.project, j.writer_id, j.kind, j.reason, j.rejected_at
FROM rejected j LEFT JOIN writers w USING (writer_id);

-- Votes whose search has not arrived.
CREATE VIEW pending_votes AS
SELECT w.project, p.writer_id, p.stage, p.received_at
FROM pending_feedback p LEFT JOIN writers w USING (writer_id);

-- What the collector has not counted yet. `behind` are records that arrived since its latest pass, `arrived_at` is when the
-- first of them did (null: only assessments or texts, which it does not count).
CREATE VIEW collector_arrears AS
SELECT w.project, w.writer_id, (SELECT sum(upper(r) - lower(r)) FROM unnest(late.numbers) AS r) AS behind, (
        SELECT min(first.recorded_at)
        FROM (
            (SELECT recorded_at FROM searches s WHERE s.writer_id = w.writer_id AND s.writer_seq >= lower(late.numbers)
                ORDER BY s.writer_seq LIMIT 1)
            UNION ALL
            (SELECT recorded_at FROM deliveries d WHERE d.writer_id = w.writer_id AND d.writer_seq >= lower(late.numbers)
                ORDER BY d.writer_seq LIMIT 1)
            UNION ALL
            (SELECT recorded_at FROM feedback f WHERE f.writer_id = w.writer_id AND f.writer_seq >= lower(late.numbers)
                ORDER BY f.writer_seq LIMIT 1)
        ) AS first
    ) AS arrived_at
FROM writers w
LEFT JOIN rollup_arrivals a USING (writer_id)
CROSS JOIN LATERAL (SELECT w.landed - coalesce(a.landed, '{}') AS numbers) AS late
WHERE NOT coalesce(a.landed, '{}') @> w.landed;

-- Minutes that were touched and wait to be counted, and days whose documents do.
CREATE VIEW collector_waiting AS
SELECT project, bucket, 'minute' AS grain FROM rollup_dirty GROUP BY project, bucket
UNION ALL
SELECT project, day, 'day' FROM rollup_dirty_days;

-- How long the latest search of each writer at work took from its end to the table; below zero, clocks differ.
CREATE VIEW shipping_delays AS
SELECT w.project, w.writer_id, latest.recorded_at,
    extract(epoch FROM latest.recorded_at - latest.started_at)::float8 - coalesce(latest.latency_ms, 0) / 1000 AS delay_s
FROM writers w
CROSS JOIN LATERAL (
    SELECT s.recorded_at, s.started_at, s.latency_ms FROM searches s WHERE s.writer_id = w.writer_id
    ORDER BY s.writer_seq DESC LIMIT 1
) AS latest
WHERE w.finished_at IS NULL;

-- What could have been retrieved, for whoever may not read the table.
CREATE VIEW listed_documents AS
SELECT corpus, document_id, source_kind, first_seen_at FROM inventory;
