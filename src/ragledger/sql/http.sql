-- name: search
-- The structure of one search: what it was, not who asked.
SELECT search_id, started_at, project, corpus, surface, actor_kind, framework, retriever, parent_id, root_id, depth,
    attempt_of, served_from, status, skip_reason, error_type, error_origin, degraded, degraded_reason,
    vector_available, latency_ms, top_k, candidate_count, admitted_count, top_candidate_score, top_admitted_score,
    weights, epoch, index_version, embedding_model, extractor_version, signals, flags
FROM searches
WHERE search_id = %(search_id)s

-- name: hits
SELECT h.rank, h.chunk_id, h.chunk_id_source, h.document_id, h.source_kind, h.score, h.score_kind, h.score_source,
    h.vector_score, h.lexical_score, h.signals, h.admitted,
    EXISTS (
        SELECT FROM feedback f WHERE f.search_id = h.search_id AND f.rank = h.rank AND f.stage = 'accessed'
    ) AS accessed,
    (
        SELECT jsonb_object_agg(counted.outcome, counted.votes)
        FROM (
            SELECT v.outcome, count(*) AS votes
            FROM current_votes v
            WHERE v.search_id = h.search_id AND v.rank = h.rank
            GROUP BY v.outcome
        ) AS counted
    ) AS votes
FROM hits h
WHERE h.search_id = %(search_id)s
ORDER BY h.rank

-- name: delivery
SELECT by, hit_ranks, scores
FROM deliveries
WHERE search_id = %(search_id)s
ORDER BY delivery_id DESC
LIMIT 1

-- name: assessments
SELECT name, value, method, weights
FROM assessments
WHERE search_id = %(search_id)s
ORDER BY assessment_id
