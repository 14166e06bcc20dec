-- What is told to OpenTelemetry and Prometheus after a pass: the rollups of the last ten minutes, hour and week, and what
-- the table knows of records. Read project by project, so that every read is a range of the primary key.

-- name: searches
SELECT of.span, k.project, k.surface,
    sum(r.ok)::int8 AS ok, sum(r.error)::int8 AS error, sum(r.cancelled)::int8 AS cancelled,
    sum(r.skipped)::int8 AS skipped, sum(r.degraded)::int8 AS degraded,
    sum(r.vector_available)::int8 AS vector_available, sum(r.vector_unavailable)::int8 AS vector_unavailable,
    sum(r.ok - r.untold)::int8 AS told, sum(r.found)::int8 AS found,
    count(DISTINCT k.epoch) AS epochs
FROM (SELECT DISTINCT project FROM rollup_series) AS p
CROSS JOIN (VALUES
    ('10m', 'minute', %(recent)s::timestamptz), ('1h', 'minute', %(hour)s::timestamptz), ('7d', 'day', %(week)s::timestamptz)
) AS of(span, grain, first)
CROSS JOIN LATERAL (
    SELECT * FROM rollup_searches WHERE grain = of.grain AND project = p.project AND bucket >= of.first OFFSET 0
) AS r
JOIN rollup_series k USING (series_id)
GROUP BY of.span, k.project, k.surface

-- name: judged
SELECT k.project, k.surface, r.voter, r.k,
    sum(r.searches)::int8 AS searches, sum(r.useful)::float8 AS useful, sum(r.judged)::int8 AS judged,
    sum(r.useful_sq)::float8 AS useful_sq, sum(r.judged_sq)::int8 AS judged_sq,
    sum(r.useful_judged)::float8 AS useful_judged
FROM (SELECT DISTINCT project FROM rollup_series) AS p
CROSS JOIN LATERAL (
    SELECT * FROM rollup_judged WHERE grain = 'day' AND project = p.project AND bucket >= %(week)s OFFSET 0
) AS r
JOIN rollup_series k USING (series_id)
GROUP BY k.project, k.surface, r.voter, r.k

-- name: shown
SELECT k.project, k.surface, r.position, sum(r.shown)::int8 AS shown
FROM (SELECT DISTINCT project FROM rollup_series) AS p
CROSS JOIN LATERAL (
    SELECT * FROM rollup_shown
    WHERE grain = 'day' AND project = p.project AND bucket >= %(week)s AND position BETWEEN 1 AND 10 OFFSET 0
) AS r
JOIN rollup_series k USING (series_id)
GROUP BY k.project, k.surface, r.position

-- name: records
-- Rejected texts that had no table or no search are no defect, and not counted here; doctor says them. Votes that name what
-- never came are the caller's, and have a fate of their own.
SELECT w.project,
    coalesce(sum((SELECT sum(upper(r) - lower(r)) FROM unnest(w.landed) AS r)), 0)::int8 AS written,
    coalesce(sum((SELECT sum(value::int8) FROM jsonb_each_text(w.refused))), 0)::int8 AS refused,
    coalesce(sum(j.rejected), 0)::int8 AS rejected, coalesce(sum(j.expired), 0)::int8 AS expired,
    coalesce(sum((SELECT count(*) FROM pending_feedback v WHERE v.writer_id = w.writer_id)), 0)::int8 AS pending
FROM writers w
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE reason IN ('unknown_search', 'hit_not_returned')) AS expired,
        count(*) FILTER (WHERE reason NOT IN (
            'unknown_search', 'hit_not_returned', 'no_text_table', 'no_text_right', 'no_search'
        )) AS rejected
    FROM rejected WHERE writer_id = w.writer_id
) AS j
GROUP BY w.project
ORDER BY min(w.started_at), w.project

-- name: waiting
SELECT (SELECT count(DISTINCT (project, bucket)) FROM rollup_dirty) AS minutes, (SELECT count(*) FROM rollup_dirty_days) AS days
