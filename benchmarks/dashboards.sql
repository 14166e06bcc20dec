-- Rollups as the collector would have made them, of searches that never were. %(...)s come from dashboards.py.
-- Rows lie in the order in which passes write them: by bucket, then by project.
-- Not derived from each other cell by cell: sizes and shapes are what a query's time depends on.

-- name: prepare
-- Keys are put back when the rows are there: building an index once is several times faster than row by row.
ALTER TABLE rollup_searches DROP CONSTRAINT rollup_searches_pkey;
ALTER TABLE rollup_latency DROP CONSTRAINT rollup_latency_pkey;
ALTER TABLE rollup_words DROP CONSTRAINT rollup_words_pkey;
ALTER TABLE rollup_judged DROP CONSTRAINT rollup_judged_pkey;
ALTER TABLE rollup_shown DROP CONSTRAINT rollup_shown_pkey;
ALTER TABLE rollup_votes DROP CONSTRAINT rollup_votes_pkey;
ALTER TABLE rollup_document_days DROP CONSTRAINT rollup_document_days_pkey;
DROP INDEX rollup_document_days_by_day;

-- name: series
-- One epoch of a project follows the other; three surfaces, two kinds of actors.
INSERT INTO rollup_series (series_id, project, corpus, surface, has_session, actor_kind, epoch)
SELECT gen_random_uuid(), 'project-' || lpad(p::text, 2, '0'), 'corpus-' || lpad(p::text, 2, '0'), surface, true, kind,
    md5(p || '-' || e)
FROM generate_series(1, %(projects)s) AS p, generate_series(0, %(epochs)s - 1) AS e,
    unnest(ARRAY['study', 'chat', 'tab']) AS surface, unnest(ARRAY['human', 'agent']) AS kind

-- name: epochs
INSERT INTO epochs (project, epoch, first_seen_at, last_seen_at, searches, weights, index_version, embedding_model)
SELECT 'project-' || lpad(p::text, 2, '0'), md5(p || '-' || e),
    %(start)s::timestamptz + e * span, %(start)s::timestamptz + (e + 1) * span, 1,
    jsonb_build_object('configured', w, 'effective', w, 'source', 'declared', 'unknown', '[]'::jsonb), 'index-1', 'model-1'
FROM generate_series(1, %(projects)s) AS p, generate_series(0, %(epochs)s - 1) AS e,
    (SELECT make_interval(secs => 86400.0 * %(days)s / %(epochs)s) AS span) AS length,
    LATERAL (SELECT jsonb_build_object('vector', round(e::numeric / 50, 2), 'lexical', 0.4, 'threshold', 0.2) AS w) AS weights

-- name: base
-- Which series had how many searches in which hour.
CREATE TEMP TABLE base AS
SELECT 'hour'::text AS grain, s.project, h.bucket, s.series_id,
    greatest(1, round(%(searches)s / (%(projects)s * %(days)s * 24 * 6.0) * (0.4 + 1.2 * random())))::int8 AS n
FROM generate_series(0, %(days)s * 24 - 1) AS number,
    LATERAL (SELECT %(start)s::timestamptz + number * interval '1 hour' AS bucket) AS h
JOIN epochs e ON h.bucket >= e.first_seen_at AND h.bucket < e.last_seen_at
JOIN rollup_series s ON s.project = e.project AND s.epoch = e.epoch
ORDER BY h.bucket, s.project

-- name: base_minutes
-- Of the last two days only: minutes are read for up to six hours at a time.
INSERT INTO base
SELECT 'minute', project, bucket + floor(random() * 60) * interval '1 minute', series_id, count(*)
FROM base, generate_series(1, n)
WHERE grain = 'hour' AND bucket >= %(start)s::timestamptz + (%(days)s - 2) * interval '1 day'
GROUP BY 2, 3, 4
ORDER BY 3, 2

-- name: base_days
INSERT INTO base
SELECT 'day', project, date_trunc('day', bucket, 'UTC'), series_id, sum(n)
FROM base WHERE grain = 'hour' GROUP BY 2, 3, 4
ORDER BY 3, 2

-- name: searches
INSERT INTO rollup_searches
SELECT grain, project, bucket, series_id, n, n - n / 50, n / 200, n / 500, n / 100, n / 60, n - n / 80, n / 80, 0, n / 20,
    n - n / 50 - n / 20, n / 2, n * 20, n, n * 8, n, n * 0.71, n, n * 0.66, n, n - n / 50, bucket, bucket
FROM base

-- name: latency
INSERT INTO rollup_latency
SELECT b.grain, b.project, b.bucket, b.series_id, bins.bin, bins.n
FROM base b
CROSS JOIN LATERAL (
    -- Around 23 ms, one bin a 64th of an octave: p95 about three times the median.
    SELECT round(1184 + 70 * random_normal())::int4 AS bin, count(*) AS n FROM generate_series(1, b.n) GROUP BY 1
) AS bins
WHERE b.grain <> 'day'

-- name: latency_days
INSERT INTO rollup_latency
SELECT 'day', project, date_trunc('day', bucket, 'UTC'), series_id, bin, sum(searches)
FROM rollup_latency WHERE grain = 'hour' GROUP BY 2, 3, 4, 5
ORDER BY 3, 2

-- name: latency_parts
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
GROUP BY grain, project, bucket, part
ORDER BY grain, bucket, project

-- name: words
INSERT INTO rollup_words
SELECT grain, project, bucket, series_id, what, word, greatest(1, (n * share)::int8)
FROM base, (VALUES ('source_kind', 'page', 5.0), ('source_kind', 'faq', 2.0), ('source_kind', 'ticket', 0.8),
    ('source_kind', '', 0.2), ('degraded_reason', 'retry', 0.01), ('degraded_reason', 'embedding_unavailable', 0.005),
    ('skip_reason', 'no_goal', 0.01)) AS of(what, word, share)
WHERE n * share >= 1 OR random() < n * share

-- name: judged
INSERT INTO rollup_judged
SELECT grain, project, bucket, series_id, voter, k, s, s * least(k, 2) * 0.6, s * least(k, 2), s * least(k, 2) ^ 2 * 0.4,
    s * (least(k, 2) ^ 2)::int8, s * least(k, 2) ^ 2 * 0.6
FROM base, LATERAL (SELECT greatest(1, n / 10) AS s) AS voted, unnest(ARRAY['human', 'judge']) AS voter,
    unnest(ARRAY[1, 3, 5, 10]) AS k
WHERE n >= 10 OR random() < n / 10.0

-- name: shown
INSERT INTO rollup_shown
SELECT grain, project, bucket, series_id, position, n, n / (position + 2)
FROM base, generate_series(0, 10) AS position

-- name: votes
INSERT INTO rollup_votes
SELECT grain, project, bucket, series_id, position, voter, n / 10, greatest(1, n / 40), greatest(1, n / 40) * 0.6
FROM base, generate_series(1, 10) AS position, unnest(ARRAY['human', 'judge']) AS voter
WHERE n >= 40 OR random() < n / 40.0

-- name: document_days
-- A few documents are in most searches, most are in few (about half of a project's are considered on a day, others on
-- another: the sum with zero makes each row a chance of its own).
INSERT INTO rollup_document_days
SELECT 'project-' || lpad(p::text, 2, '0'), 'corpus-' || lpad(p::text, 2, '0'), 'document-' || d,
    %(start)s::timestamptz + day * interval '1 day', 1 + 3000 / d, 1 + 1000 / d, 100 / d, 50 / d, 30 / d, 20 / d, 1 + d %% 10
FROM generate_series(1, %(projects)s) AS p, generate_series(1, %(documents)s / %(projects)s) AS d,
    generate_series(0, %(days)s - 1) AS day
WHERE d <= %(documents)s / %(projects)s * 0.9 AND random() + 0 * (p + day) < least(1, 1500.0 / d)
ORDER BY day, p

-- name: documents
INSERT INTO rollup_documents
SELECT project, corpus, document_id, sum(retrieved), sum(admitted), sum(accessed), sum(judged), sum(useful), sum(not_useful),
    min(best_rank), min(day)
FROM rollup_document_days GROUP BY 1, 2, 3

-- name: corpus_days
INSERT INTO rollup_corpus_days
SELECT project, corpus, day, count(*), count(*) FILTER (WHERE admitted > 0), count(*) FILTER (WHERE accessed > 0),
    count(*) FILTER (WHERE judged > 0), count(*) FILTER (WHERE useful > 0)
FROM rollup_document_days GROUP BY project, corpus, day
ORDER BY day, project

-- name: corpora
-- The collector itself counts these.
INSERT INTO rollup_dirty_corpora SELECT DISTINCT project, corpus FROM rollup_documents

-- name: inventory
INSERT INTO inventory (corpus, document_id)
SELECT 'corpus-' || lpad(p::text, 2, '0'), 'document-' || d
FROM generate_series(1, %(projects)s) AS p, generate_series(1, %(documents)s / %(projects)s) AS d

-- name: writers
-- Four processes per project, started anew every day.
INSERT INTO writers (writer_id, project, host, pid, started_at, last_seen_at, finished_at, attempted, refused, shipped, landed)
SELECT gen_random_uuid(), 'project-' || lpad(p::text, 2, '0'), 'host-' || w, w, at, at + interval '1 day',
    CASE WHEN day < %(days)s - 1 THEN at + interval '1 day' END, 5000, '{"cap": 3}', 4990, '{[1,4900),[4905,4991)}'
FROM generate_series(1, %(projects)s) AS p, generate_series(1, 4) AS w, generate_series(0, %(days)s - 1) AS day,
    LATERAL (SELECT %(start)s::timestamptz + day * interval '1 day' AS at) AS began

-- name: arrivals
INSERT INTO rollup_arrivals SELECT writer_id, landed - '{[4990,4991)}' FROM writers WHERE finished_at IS NULL
UNION ALL SELECT writer_id, landed FROM writers WHERE finished_at IS NOT NULL

-- name: rejected
INSERT INTO rejected (writer_id, writer_seq, kind, reason, rejected_at)
SELECT writer_id, n, 'vote', 'unknown_search', started_at + n * interval '4 hours' FROM writers, generate_series(1, 5) AS n

-- name: pending
INSERT INTO pending_feedback (search_id, feedback_id, rank, stage, actor_kind, given_at, writer_id, writer_seq)
SELECT gen_random_uuid(), gen_random_uuid(), 1, 'accessed', 'human', now(), writer_id, n
FROM writers, generate_series(10, 30) AS n WHERE finished_at IS NULL

-- name: dirty
INSERT INTO rollup_dirty (project, bucket)
SELECT project, max(bucket) FROM base WHERE grain = 'minute' GROUP BY project

-- name: finish
ALTER TABLE rollup_searches ADD CONSTRAINT rollup_searches_pkey PRIMARY KEY (grain, project, bucket, series_id);
ALTER TABLE rollup_latency ADD CONSTRAINT rollup_latency_pkey PRIMARY KEY (grain, project, bucket, series_id, bin);
ALTER TABLE rollup_words ADD CONSTRAINT rollup_words_pkey PRIMARY KEY (grain, project, bucket, series_id, what, word);
ALTER TABLE rollup_judged ADD CONSTRAINT rollup_judged_pkey PRIMARY KEY (grain, project, bucket, series_id, voter, k);
ALTER TABLE rollup_shown ADD CONSTRAINT rollup_shown_pkey PRIMARY KEY (grain, project, bucket, series_id, position);
ALTER TABLE rollup_votes ADD CONSTRAINT rollup_votes_pkey PRIMARY KEY (grain, project, bucket, series_id, position, voter);
ALTER TABLE rollup_document_days ADD CONSTRAINT rollup_document_days_pkey PRIMARY KEY (project, corpus, document_id, day);
CREATE INDEX rollup_document_days_by_day ON rollup_document_days (project, day)
