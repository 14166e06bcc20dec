-- Documents per day of a project, and in total. A document counts once per search, in ok searches only.

-- name: next_day
SELECT d.project, d.day, EXISTS (
    SELECT FROM rollup_sealed s
    WHERE s.project = d.project AND s.bucket >= d.day AND s.bucket < d.day + interval '24 hours'
)
FROM rollup_dirty_days d
WHERE (d.project, d.day) > (%(project)s, %(day)s)
ORDER BY d.project, d.day
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
WITH scope AS (
    SELECT search_id, coalesce(corpus, '') AS corpus
    FROM logical_searches
    WHERE project = %(project)s AND started_at >= %(day)s AND started_at < %(day)s + interval '24 hours' AND status = 'ok'
), there AS (
    SELECT s.corpus, h.document_id, s.search_id, h.admitted, CASE WHEN h.admitted THEN h.rank END AS rank,
        false AS accessed, false AS useful, false AS not_useful
    FROM scope s JOIN hits h USING (search_id)
    WHERE h.document_id IS NOT NULL
    UNION ALL
    SELECT s.corpus, h.document_id, s.search_id, true, NULL, true, false, false
    FROM scope s JOIN feedback f USING (search_id) JOIN hits h USING (search_id, rank)
    WHERE f.stage = 'accessed' AND h.admitted AND h.document_id IS NOT NULL
    UNION ALL
    SELECT s.corpus, h.document_id, s.search_id, true, NULL, false,
        v.outcome IN ('relevant', 'highly_relevant'), v.outcome NOT IN ('relevant', 'highly_relevant')
    FROM scope s CROSS JOIN LATERAL (
        SELECT DISTINCT ON (rank, actor_kind, actor_id) rank, outcome
        FROM feedback f WHERE f.search_id = s.search_id AND f.stage = 'judged'
        ORDER BY rank, actor_kind, actor_id, given_at DESC, feedback_id DESC
    ) AS v
    JOIN hits h ON h.search_id = s.search_id AND h.rank = v.rank
    WHERE h.admitted AND h.document_id IS NOT NULL
), per_search AS (
    SELECT corpus, document_id, bool_or(admitted) AS admitted, bool_or(accessed) AS accessed,
        bool_or(useful OR not_useful) AS judged, bool_or(useful) AS useful, bool_or(not_useful) AS not_useful,
        min(rank) AS best_rank
    FROM there
    GROUP BY corpus, document_id, search_id
), counted AS (
    INSERT INTO rollup_document_days
    SELECT %(project)s::text, corpus, document_id, %(day)s::timestamptz, count(*), count(*) FILTER (WHERE admitted),
        count(*) FILTER (WHERE accessed), count(*) FILTER (WHERE judged), count(*) FILTER (WHERE useful),
        count(*) FILTER (WHERE not_useful), min(best_rank)
    FROM per_search
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
