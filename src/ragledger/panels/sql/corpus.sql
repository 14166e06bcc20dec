-- Which documents do the work, and which never do. Counts of documents are since counting began, not of the time range.

-- name: corpora
-- An inventory belongs to no project, so each project is held against the whole of it. Where no retrieved id is a listed one,
-- ids are not told, or are not those of the inventory: then nobody knows what was never retrieved.
WITH searched AS (
    SELECT s.project, s.corpus, i.documents
    FROM rollup_series s
    JOIN rollup_inventories i USING (corpus)
    WHERE s.project = {projects} AND is_chosen(s.corpus, ARRAY[${corpus:sqlstring}]::text[])
    GROUP BY s.project, s.corpus, i.documents
), counted AS (
    SELECT d.project, d.corpus, sum(d.retrieved) AS retrieved, sum(d.listed) AS listed, sum(d.admitted) AS admitted,
        sum(d.accessed) AS accessed, sum(d.judged) AS judged, sum(d.useful) AS useful
    FROM rollup_corpora d
    WHERE d.project = {projects} AND {documents}
    GROUP BY d.project, d.corpus
)
SELECT project, coalesce(nullif(corpus, ''), '(none)') AS corpus, l.documents::float8 AS listed,
    (l.documents - nullif(c.listed, 0))::float8 AS "never retrieved", nullif(c.listed, 0)::float8 / l.documents::float8 AS coverage,
    c.retrieved::float8 AS retrieved, c.admitted::float8 AS admitted, nullif(c.accessed, 0)::float8 AS accessed,
    nullif(c.judged, 0)::float8 AS judged, CASE WHEN c.judged > 0 THEN c.useful END::float8 AS useful
FROM counted c
FULL JOIN searched l USING (project, corpus)
ORDER BY 1, 2

-- name: over_time
WITH counted AS (
    SELECT d.day AS time, sum(d.retrieved)::float8 AS retrieved, sum(d.admitted)::float8 AS admitted,
        nullif(sum(d.accessed), 0)::float8 AS accessed, CASE WHEN sum(d.judged) > 0 THEN sum(d.useful) END::float8 AS useful
    FROM rollup_corpus_days d
    WHERE d.project = {projects} AND d.day >= date_trunc('day', $__timeFrom()::timestamptz, 'UTC')
        AND d.day <= $__timeTo()::timestamptz AND {documents}
    GROUP BY d.day
)
SELECT time, retrieved, admitted, accessed, useful
FROM (SELECT generate_series(min(time), max(time), rollup_step('day')) AS time FROM counted) AS every
LEFT JOIN counted USING (time)
ORDER BY time

-- name: coverage
-- Of the corpora in which a retrieved id is a listed one: see above.
WITH counted AS (
    SELECT d.project, d.corpus, d.first_day AS day, d.listed, i.documents, sum(d.listed) OVER (PARTITION BY d.project, d.corpus) AS ever
    FROM rollup_corpora d
    JOIN rollup_inventories i USING (corpus)
    WHERE d.project = {projects} AND {documents}
), known AS (
    SELECT day, sum(listed) AS listed FROM counted WHERE ever > 0 GROUP BY day
), whole AS (
    SELECT sum(documents) AS documents
    FROM (SELECT DISTINCT project, corpus, documents FROM counted WHERE ever > 0) AS corpora
)
SELECT time, (sum(k.listed) / max(w.documents))::float8 AS coverage, max(w.documents)::float8 AS listed
FROM whole w
CROSS JOIN (
    SELECT generate_series(
        greatest(date_trunc('day', $__timeFrom()::timestamptz, 'UTC'), (SELECT min(day) FROM known WHERE listed > 0)),
        least($__timeTo()::timestamptz, (SELECT max(r.bucket) FROM rollup_searches r WHERE r.grain = 'day' AND r.project = {projects})),
        rollup_step('day')
    ) AS time
) AS every
JOIN known k ON k.day <= time
GROUP BY time
ORDER BY time

-- name: never
-- Only of corpora in which a retrieved id is a listed one: see above; the first of these that have a hundred for sure.
WITH known AS MATERIALIZED (
    SELECT d.project, d.corpus, i.documents, sum(d.listed) AS listed
    FROM rollup_corpora d
    JOIN rollup_inventories i USING (corpus)
    WHERE d.project = {projects} AND {documents}
    GROUP BY d.project, d.corpus, i.documents
    HAVING sum(d.listed) > 0
), short AS (
    SELECT corpus, sum(greatest(documents - sum(listed), 0)) OVER (ORDER BY corpus) - greatest(documents - sum(listed), 0) AS before
    FROM known
    GROUP BY corpus, documents
    HAVING max(listed) < documents
), due AS MATERIALIZED (
    SELECT k.project, k.corpus FROM known k JOIN short USING (corpus) WHERE before < 100
)
SELECT i.corpus, i.document_id AS document, i.source_kind AS "source kind", i.first_seen_at AS "listed since"
FROM listed_documents i
WHERE i.corpus = ANY (ARRAY(SELECT corpus FROM due)) AND NOT EXISTS (
    SELECT FROM due k
    JOIN rollup_documents d USING (project, corpus)
    WHERE k.corpus = i.corpus AND d.document_id = i.document_id
)
ORDER BY i.corpus, i.document_id
LIMIT 100

-- name: unused
-- Only where anybody says what is accessed or useful at all; elsewhere nothing is known of any document.
WITH told AS (
    SELECT d.project, d.corpus
    FROM rollup_corpora d
    WHERE d.project = {projects} AND {documents}
    GROUP BY d.project, d.corpus
    HAVING sum(d.accessed) + sum(d.judged) > 0
)
SELECT d.project, coalesce(nullif(d.corpus, ''), '(none)') AS corpus, d.document_id AS document, d.admitted::float8 AS admitted,
    d.judged::float8 AS judged, d.best_rank::float8 AS "best rank"
FROM told t
CROSS JOIN LATERAL (
    SELECT * FROM rollup_documents r
    WHERE r.project = t.project AND r.corpus = t.corpus AND r.admitted > 0 AND r.accessed = 0 AND r.useful = 0
    ORDER BY r.admitted DESC, r.document_id
    LIMIT 50
) AS d
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
