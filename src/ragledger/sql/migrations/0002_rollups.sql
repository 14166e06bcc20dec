-- Rollups: what dashboards read, made from the table by `ragledger collect`, and the collector's bookkeeping.

-- What arrived is found by its number in its journal.
CREATE INDEX IF NOT EXISTS searches_by_arrival ON searches (writer_id, writer_seq);
CREATE INDEX IF NOT EXISTS deliveries_by_arrival ON deliveries (writer_id, writer_seq);
CREATE INDEX IF NOT EXISTS feedback_by_arrival ON feedback (writer_id, writer_seq);

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
    CONSTRAINT rollup_documents_pkey PRIMARY KEY (project, corpus, document_id)
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

-- Minutes of which retention has taken rows: what was counted stays, and nobody can count it again.
CREATE TABLE rollup_sealed (
    project text NOT NULL,
    bucket  timestamptz NOT NULL,
    CONSTRAINT rollup_sealed_pkey PRIMARY KEY (project, bucket)
);
