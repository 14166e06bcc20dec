-- Which documents do the work, and which never do. Counts of documents are since counting began, not of the time range.

-- name: corpora
-- An inventory belongs to no project, so each project is held against the whole of it. Where no retrieved id is a listed one,
-- ids are not told, or are not those of the inventory: then nobody knows what was never retrieved.
WITH searched AS (
    SELECT s.project, s.corpus FROM rollup_series s WHERE s.project = {projects} AND s.corpus IS NOT NULL GROUP BY 1, 2
), listed AS (
    SELECT i.corpus, count(*) AS documents FROM listed_documents i WHERE {inventory} GROUP BY i.corpus
), counted AS (
    SELECT d.project, d.corpus, count(*) AS retrieved, count(i.document_id) AS listed,
        count(*) FILTER (WHERE d.admitted > 0) AS admitted, count(*) FILTER (WHERE d.accessed > 0) AS accessed,
        count(*) FILTER (WHERE d.judged > 0) AS judged, count(*) FILTER (WHERE d.useful > 0) AS useful
    FROM rollup_documents d
    LEFT JOIN listed_documents i ON i.corpus = d.corpus AND i.document_id = d.document_id AND {inventory}
    WHERE d.project = {projects} AND {documents}
    GROUP BY d.project, d.corpus
)
SELECT project, coalesce(nullif(corpus, ''), '(none)') AS corpus, l.documents::float8 AS listed,
    (l.documents - nullif(c.listed, 0))::float8 AS "never retrieved", nullif(c.listed, 0)::float8 / l.documents::float8 AS coverage,
    c.retrieved::float8 AS retrieved, c.admitted::float8 AS admitted, nullif(c.accessed, 0)::float8 AS accessed,
    nullif(c.judged, 0)::float8 AS judged, CASE WHEN c.judged > 0 THEN c.useful END::float8 AS useful
FROM counted c
FULL JOIN (searched JOIN listed l USING (corpus)) USING (project, corpus)
ORDER BY 1, 2

-- name: over_time
WITH counted AS (
    SELECT d.day AS time, count(*)::float8 AS retrieved, count(*) FILTER (WHERE d.admitted > 0)::float8 AS admitted,
        nullif(count(*) FILTER (WHERE d.accessed > 0), 0)::float8 AS accessed,
        CASE WHEN sum(d.judged) > 0 THEN count(*) FILTER (WHERE d.useful > 0) END::float8 AS useful
    FROM rollup_document_days d
    WHERE d.project = {projects} AND d.day >= date_trunc('day', $__timeFrom()::timestamptz, 'UTC')
        AND d.day <= $__timeTo()::timestamptz AND {documents}
    GROUP BY d.day
)
SELECT time, retrieved, admitted, accessed, useful
FROM (SELECT generate_series(min(time), max(time), rollup_step('day')) AS time FROM counted) AS every
LEFT JOIN counted USING (time)
ORDER BY time

-- name: coverage
-- The first day of each listed document, of the corpora in which a retrieved id is a listed one: see above.
WITH listed AS (
    SELECT i.corpus, min(first.day) AS day
    FROM listed_documents i
    JOIN (SELECT s.project, s.corpus FROM rollup_series s WHERE s.project = {projects} GROUP BY 1, 2) AS searched USING (corpus)
    LEFT JOIN LATERAL (
        SELECT d.day FROM rollup_document_days d
        WHERE d.project = searched.project AND d.corpus = i.corpus AND d.document_id = i.document_id
        ORDER BY d.day
        LIMIT 1
    ) AS first ON true
    WHERE {inventory}
    GROUP BY i.corpus, i.document_id
), counted AS (
    SELECT day, count(*) AS documents, sum(count(*)) OVER () AS listed
    FROM listed
    WHERE corpus IN (SELECT corpus FROM listed WHERE day IS NOT NULL)
    GROUP BY day
)
SELECT time, (sum(documents) FILTER (WHERE day <= time) / max(listed))::float8 AS coverage, max(listed)::float8 AS listed
FROM counted
CROSS JOIN (
    SELECT generate_series(
        greatest(date_trunc('day', $__timeFrom()::timestamptz, 'UTC'), (SELECT min(day) FROM counted)),
        least($__timeTo()::timestamptz, (SELECT max(r.bucket) FROM rollup_searches r WHERE r.grain = 'day' AND r.project = {projects})),
        rollup_step('day')
    ) AS time
) AS every
GROUP BY time
ORDER BY time

-- name: never
-- Only of corpora in which a retrieved id is a listed one: see above.
WITH named AS MATERIALIZED (
    SELECT DISTINCT d.corpus
    FROM rollup_documents d
    JOIN listed_documents l USING (corpus, document_id)
    WHERE d.project = {projects}
)
SELECT i.corpus, i.document_id AS document, i.source_kind AS "source kind", i.first_seen_at AS "listed since"
FROM listed_documents i
WHERE {inventory} AND i.corpus IN (SELECT corpus FROM named) AND NOT EXISTS (
    SELECT FROM rollup_documents d
    WHERE d.project = {projects} AND d.corpus = i.corpus AND d.document_id = i.document_id
)
ORDER BY i.corpus, i.document_id
LIMIT 100

-- name: unused
-- Only where anybody says what is accessed or useful at all; elsewhere nothing is known of any document.
SELECT d.project, coalesce(nullif(d.corpus, ''), '(none)') AS corpus, d.document_id AS document, d.admitted::float8 AS admitted,
    d.judged::float8 AS judged, d.best_rank::float8 AS "best rank"
FROM rollup_documents d
WHERE d.project = {projects}
    AND (d.project, d.corpus) IN (
        SELECT o.project, o.corpus FROM rollup_documents o WHERE o.project = {projects} AND o.accessed + o.judged > 0
    )
    AND {documents} AND d.admitted > 0 AND d.accessed = 0 AND d.useful = 0
ORDER BY d.admitted DESC, d.project, d.document_id
LIMIT 50

-- name: disliked
SELECT d.project, coalesce(nullif(d.corpus, ''), '(none)') AS corpus, d.document_id AS document, d.admitted::float8 AS admitted,
    d.accessed::float8 AS accessed, d.not_useful::float8 AS "not useful", d.useful::float8 AS useful,
    d.judged::float8 AS judged, d.best_rank::float8 AS "best rank"
FROM rollup_documents d
WHERE d.project = {projects} AND {documents} AND d.not_useful > d.useful
ORDER BY d.not_useful - d.useful DESC, d.project, d.document_id
LIMIT 50

-- name: workhorses
SELECT d.project, coalesce(nullif(d.corpus, ''), '(none)') AS corpus, d.document_id AS document, d.admitted::float8 AS admitted,
    d.accessed::float8 AS accessed, d.useful::float8 AS useful, d.not_useful::float8 AS "not useful",
    d.judged::float8 AS judged, d.best_rank::float8 AS "best rank"
FROM rollup_documents d
WHERE d.project = {projects} AND {documents} AND d.useful > 0
ORDER BY d.useful DESC, d.project, d.document_id
LIMIT 50
