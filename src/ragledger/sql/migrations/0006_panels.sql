-- What panels of many projects and months read: latency without series, and documents counted per corpus.

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

-- Corpora of a project whose documents or inventory have changed; the collector alone writes here.
CREATE TABLE rollup_dirty_corpora (
    project text NOT NULL,
    corpus  text NOT NULL,
    CONSTRAINT rollup_dirty_corpora_pkey PRIMARY KEY (project, corpus)
);

ALTER TABLE rollup_documents ADD COLUMN first_day timestamptz;

-- No panel reads documents by day any more.
DROP INDEX rollup_document_days_by_day;
CREATE INDEX rollup_document_days_by_day ON rollup_document_days (project, day);

-- What was counted before. Corpora are left to the collector.
INSERT INTO rollup_latency_parts
SELECT grain, project, bucket, bin / 16 AS part, sum(searches), ARRAY[
        coalesce(sum(searches) FILTER (WHERE bin % 16 = 0), 0), coalesce(sum(searches) FILTER (WHERE bin % 16 = 1), 0),
        coalesce(sum(searches) FILTER (WHERE bin % 16 = 2), 0), coalesce(sum(searches) FILTER (WHERE bin % 16 = 3), 0),
        coalesce(sum(searches) FILTER (WHERE bin % 16 = 4), 0), coalesce(sum(searches) FILTER (WHERE bin % 16 = 5), 0),
        coalesce(sum(searches) FILTER (WHERE bin % 16 = 6), 0), coalesce(sum(searches) FILTER (WHERE bin % 16 = 7), 0),
        coalesce(sum(searches) FILTER (WHERE bin % 16 = 8), 0), coalesce(sum(searches) FILTER (WHERE bin % 16 = 9), 0),
        coalesce(sum(searches) FILTER (WHERE bin % 16 = 10), 0), coalesce(sum(searches) FILTER (WHERE bin % 16 = 11), 0),
        coalesce(sum(searches) FILTER (WHERE bin % 16 = 12), 0), coalesce(sum(searches) FILTER (WHERE bin % 16 = 13), 0),
        coalesce(sum(searches) FILTER (WHERE bin % 16 = 14), 0), coalesce(sum(searches) FILTER (WHERE bin % 16 = 15), 0)
    ]
FROM rollup_latency
WHERE grain <> 'minute'
GROUP BY grain, project, bucket, part;

INSERT INTO rollup_corpus_days
SELECT project, corpus, day, count(*), count(*) FILTER (WHERE admitted > 0), count(*) FILTER (WHERE accessed > 0),
    count(*) FILTER (WHERE judged > 0), count(*) FILTER (WHERE useful > 0)
FROM rollup_document_days
GROUP BY project, corpus, day;

UPDATE rollup_documents d SET first_day = f.first_day
FROM (
    SELECT project, corpus, document_id, min(day) AS first_day FROM rollup_document_days GROUP BY project, corpus, document_id
) AS f
WHERE (f.project, f.corpus, f.document_id) = (d.project, d.corpus, d.document_id);

ALTER TABLE rollup_documents ALTER COLUMN first_day SET NOT NULL;

INSERT INTO rollup_dirty_corpora SELECT DISTINCT project, corpus FROM rollup_documents;
