-- What `ragledger verify` reads: raw rows and rollups of one day of a project, side by side in one snapshot. Nothing is
-- counted here: that is done in Python (ragledger/measures/rollup.py).

-- name: days
SELECT project, date_trunc('day', started_at, 'UTC') AS day FROM searches
UNION SELECT project, date_trunc('day', bucket, 'UTC') FROM rollup_searches
UNION SELECT project, date_trunc('day', bucket, 'UTC') FROM rollup_latency
UNION SELECT project, date_trunc('day', bucket, 'UTC') FROM rollup_latency_parts
UNION SELECT project, date_trunc('day', bucket, 'UTC') FROM rollup_words
UNION SELECT project, date_trunc('day', bucket, 'UTC') FROM rollup_shown
UNION SELECT project, date_trunc('day', bucket, 'UTC') FROM rollup_votes
UNION SELECT project, date_trunc('day', bucket, 'UTC') FROM rollup_judged
UNION SELECT project, date_trunc('day', day, 'UTC') FROM rollup_document_days
UNION SELECT project, date_trunc('day', day, 'UTC') FROM rollup_corpus_days
ORDER BY project, day

-- name: dirty
SELECT DISTINCT project, bucket FROM rollup_dirty

-- name: dirty_days
SELECT project, day FROM rollup_dirty_days

-- name: dirty_corpora
SELECT project, corpus FROM rollup_dirty_corpora

-- name: sealed
SELECT project, bucket FROM rollup_sealed

-- name: attempts
SELECT attempt_of, started_at, search_id FROM searches WHERE attempt_of IS NOT NULL AND depth = 0

-- name: searches
SELECT search_id, started_at, project, corpus, surface, session_id, actor_kind, epoch, status, skip_reason, degraded,
    degraded_reason, vector_available, latency_ms, candidate_count, admitted_count, top_candidate_score,
    top_admitted_score, depth, attempt_of, weights, index_version, embedding_model
FROM searches
WHERE project = %(project)s AND started_at >= %(day)s AND started_at < %(day)s + interval '24 hours'

-- name: hits
SELECT h.search_id, h.rank, h.document_id, h.source_kind, h.admitted, h.score, h.vector_score, h.lexical_score, h.signals
FROM searches s JOIN hits h USING (search_id)
WHERE s.project = %(project)s AND s.started_at >= %(day)s AND s.started_at < %(day)s + interval '24 hours'

-- name: deliveries
SELECT d.search_id, d.delivered_at, d.delivery_id, d.hit_ranks
FROM searches s JOIN deliveries d USING (search_id)
WHERE s.project = %(project)s AND s.started_at >= %(day)s AND s.started_at < %(day)s + interval '24 hours'

-- name: feedback
SELECT f.search_id, f.rank, f.stage, f.outcome, f.actor_kind, f.actor_id, f.given_at, f.feedback_id
FROM searches s JOIN feedback f USING (search_id)
WHERE s.project = %(project)s AND s.started_at >= %(day)s AND s.started_at < %(day)s + interval '24 hours'

-- name: rollup
SELECT k.*, r.* FROM {table} r LEFT JOIN (
    SELECT series_id, project AS of_project, corpus, surface, has_session, actor_kind, epoch FROM rollup_series
) AS k USING (series_id)
WHERE r.project = %(project)s AND r.bucket >= %(day)s AND r.bucket < %(day)s + interval '24 hours'

-- name: rollup_latency_parts
SELECT * FROM rollup_latency_parts
WHERE project = %(project)s AND bucket >= %(day)s AND bucket < %(day)s + interval '24 hours'

-- name: rollup_document_days
SELECT 'day' AS grain, day AS bucket, d.* FROM rollup_document_days d
WHERE project = %(project)s AND day >= %(day)s AND day < %(day)s + interval '24 hours'

-- name: rollup_corpus_days
SELECT 'day' AS grain, day AS bucket, d.* FROM rollup_corpus_days d
WHERE project = %(project)s AND day >= %(day)s AND day < %(day)s + interval '24 hours'

-- name: rollup_documents
SELECT * FROM rollup_documents

-- name: rollup_corpora
SELECT * FROM rollup_corpora

-- name: rollup_inventories
SELECT '' AS project, corpus, documents FROM rollup_inventories

-- name: inventory
SELECT corpus, document_id FROM inventory

-- name: epochs
SELECT * FROM epochs
