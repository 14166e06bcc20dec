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
    -- Of texts there are reasons that are no defect: half switched on, or the search was erased before they came.
    (SELECT count(*) FROM rejected WHERE reason NOT IN ('no_text_table', 'no_text_right', 'no_search')),
    (SELECT count(*) FROM rejected
     WHERE reason IN ('no_text_table', 'no_text_right') AND rejected_at > now() - interval '1 day'),
    (SELECT count(DISTINCT epoch) FROM searches WHERE started_at > now() - interval '1 day')

-- name: by_project
-- `attempted` is what a writer told last. What a finished one began and never numbered is unfinished; what another one has
-- not shipped still waits, in a journal that may be on another host.
SELECT w.project,
    count(*) FILTER (WHERE w.finished_at IS NULL),
    coalesce(sum(w.attempted - w.shipped) FILTER (WHERE w.finished_at IS NULL), 0)::int8,
    count(*) FILTER (
        WHERE w.finished_at IS NULL AND w.attempted > w.shipped AND w.last_seen_at < now() - interval '1 day'
    ),
    coalesce(sum(w.attempted - w.shipped) FILTER (WHERE w.finished_at IS NOT NULL), 0)::int8,
    (SELECT jsonb_object_agg(reason, times) FROM (
        SELECT r.key AS reason, sum(r.value::int8)::int8 AS times
        FROM writers o, jsonb_each_text(o.refused) AS r
        WHERE o.project = w.project
        GROUP BY r.key
    ) AS reasons)
FROM writers w
GROUP BY w.project
ORDER BY w.project
