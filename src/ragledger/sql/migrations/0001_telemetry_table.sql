-- The telemetry table. Names are unqualified: the runner sets search_path to the configured schema.
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

-- What the table can say about the fate of each writer's records (P5); the journal knows the rest.
CREATE VIEW writer_fates AS
SELECT
    w.writer_id, w.project, w.host, w.pid, w.started_at, w.last_seen_at, w.finished_at, w.attempted,
    (SELECT coalesce(sum(value::int8), 0) FROM jsonb_each_text(w.refused)) AS refused,
    w.shipped,
    (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(w.landed) AS r) AS written,
    (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(w.removed) AS r) AS removed,
    (SELECT count(*) FROM pending_feedback p WHERE p.writer_id = w.writer_id) AS pending,
    (SELECT count(*) FROM rejected j WHERE j.writer_id = w.writer_id) AS rejected
FROM writers w;
