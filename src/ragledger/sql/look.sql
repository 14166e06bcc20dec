-- name: latest
SELECT s.search_id, s.started_at, s.project, s.corpus, s.surface, s.depth, s.framework, s.retriever, s.status,
    s.skip_reason, s.error_type, s.degraded, s.degraded_reason, s.candidate_count, s.admitted_count, s.latency_ms,
    s.epoch, (SELECT count(*) FROM current_votes v WHERE v.search_id = s.search_id) AS votes
FROM searches s
ORDER BY s.search_id DESC
LIMIT %(count)s

-- name: fates
SELECT writer_id, project, host, pid, started_at, last_seen_at, finished_at, attempted, refused, shipped, written,
    removed, pending, rejected
FROM writer_fates
ORDER BY started_at

-- name: totals
SELECT
    (SELECT coalesce(sum(written), 0) FROM writer_fates),
    (SELECT count(*) FROM pending_feedback),
    (SELECT count(*) FROM rejected),
    (SELECT count(DISTINCT epoch) FROM searches WHERE started_at > now() - interval '1 day')
