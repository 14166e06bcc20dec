-- Documents per day of a project, and in total. A document counts once per search, in ok searches only.

-- name: next_day
SELECT d.day, EXISTS (
    SELECT FROM rollup_sealed s
    WHERE s.project = d.project AND s.bucket >= d.day AND s.bucket < d.day + interval '24 hours'
)
FROM rollup_dirty_days d
WHERE d.project = %(project)s AND d.day > %(day)s
ORDER BY d.day
LIMIT 1

-- name: done
DELETE FROM rollup_dirty_days WHERE project = %(project)s AND day = %(day)s

-- name: documents_of
SELECT corpus, document_id FROM rollup_document_days WHERE project = %(project)s AND day = %(day)s

-- name: clear_day
WITH corpora AS (
    DELETE FROM rollup_corpus_days WHERE project = %(project)s AND day = %(day)s
)
DELETE FROM rollup_document_days WHERE project = %(project)s AND day = %(day)s

-- name: day
-- Hits are read by index, search by search: a day costs by its searches, whatever the planner thinks of the table. What was
-- retrieved and what was said of it are counted apart, since of most hits nothing was said.
WITH scope AS MATERIALIZED (
    SELECT search_id, coalesce(corpus, '') AS corpus
    FROM logical_searches
    WHERE project = %(project)s AND started_at >= %(day)s AND started_at < %(day)s + interval '24 hours' AND status = 'ok'
), retrieved AS (
    SELECT s.corpus, h.document_id, bool_or(h.admitted) AS admitted, min(h.rank) FILTER (WHERE h.admitted) AS best_rank
    FROM scope s CROSS JOIN LATERAL (
        SELECT document_id, admitted, rank FROM hits WHERE search_id = s.search_id AND document_id IS NOT NULL OFFSET 0
    ) AS h
    GROUP BY s.corpus, h.document_id, s.search_id
), said AS (
    SELECT s.corpus, s.search_id, f.rank, true AS accessed, false AS useful, false AS not_useful
    FROM scope s CROSS JOIN LATERAL (
        SELECT rank FROM feedback WHERE search_id = s.search_id AND stage = 'accessed' OFFSET 0
    ) AS f
    UNION ALL
    SELECT s.corpus, s.search_id, v.rank, false,
        v.outcome IN ('relevant', 'highly_relevant'), v.outcome NOT IN ('relevant', 'highly_relevant')
    FROM scope s CROSS JOIN LATERAL (
        SELECT DISTINCT ON (rank, actor_kind, actor_id) rank, outcome
        FROM feedback f WHERE f.search_id = s.search_id AND f.stage = 'judged'
        ORDER BY rank, actor_kind, actor_id, given_at DESC, feedback_id DESC
    ) AS v
), told AS (
    SELECT s.corpus, h.document_id, bool_or(s.accessed) AS accessed, bool_or(s.useful OR s.not_useful) AS judged,
        bool_or(s.useful) AS useful, bool_or(s.not_useful) AS not_useful
    FROM said s CROSS JOIN LATERAL (
        SELECT document_id FROM hits
        WHERE search_id = s.search_id AND rank = s.rank AND admitted AND document_id IS NOT NULL OFFSET 0
    ) AS h
    GROUP BY s.corpus, h.document_id, s.search_id
), summed AS (
    SELECT corpus, document_id, count(*) AS retrieved, count(*) FILTER (WHERE admitted) AS admitted, 0 AS accessed, 0 AS judged,
        0 AS useful, 0 AS not_useful, min(best_rank) AS best_rank
    FROM retrieved
    GROUP BY corpus, document_id
    UNION ALL
    SELECT corpus, document_id, 0, 0, count(*) FILTER (WHERE accessed), count(*) FILTER (WHERE judged),
        count(*) FILTER (WHERE useful), count(*) FILTER (WHERE not_useful), NULL
    FROM told
    GROUP BY corpus, document_id
), counted AS (
    INSERT INTO rollup_document_days
    SELECT %(project)s::text, corpus, document_id, %(day)s::timestamptz, sum(retrieved), sum(admitted), sum(accessed),
        sum(judged), sum(useful), sum(not_useful), min(best_rank)
    FROM summed
    GROUP BY corpus, document_id
    RETURNING project, corpus, day, admitted, accessed, judged, useful
)
INSERT INTO rollup_corpus_days
SELECT project, corpus, day, count(*), count(*) FILTER (WHERE admitted > 0), count(*) FILTER (WHERE accessed > 0),
    count(*) FILTER (WHERE judged > 0), count(*) FILTER (WHERE useful > 0)
FROM counted
GROUP BY project, corpus, day

-- name: clear_totals
DELETE FROM rollup_documents d
USING unnest(%(corpora)s::text[], %(documents)s::text[]) AS due(corpus, document_id)
WHERE d.project = %(project)s AND d.corpus = due.corpus AND d.document_id = due.document_id

-- name: totals
WITH touched AS (
    INSERT INTO rollup_dirty_corpora
    SELECT DISTINCT %(project)s::text, corpus FROM unnest(%(corpora)s::text[]) AS due(corpus)
    ON CONFLICT DO NOTHING
)
INSERT INTO rollup_documents
SELECT d.project, d.corpus, d.document_id, sum(retrieved), sum(admitted), sum(accessed), sum(judged), sum(useful),
    sum(not_useful), min(best_rank), min(day)
FROM unnest(%(corpora)s::text[], %(documents)s::text[]) AS due(corpus, document_id)
JOIN rollup_document_days d ON d.project = %(project)s AND d.corpus = due.corpus AND d.document_id = due.document_id
GROUP BY d.project, d.corpus, d.document_id
