-- Can the numbers be believed: what is on its way, what was lost on it, how far the collector is.

-- name: collector
SELECT CASE WHEN known.n > 0 THEN coalesce(late.behind, 0) END::float8 AS "records behind",
    CASE WHEN known.n > 0 THEN coalesce(extract(epoch FROM now() - late.arrived_at), 0) END::float8 AS "lag",
    CASE WHEN known.n > 0 THEN waiting.minutes END::float8 AS "minutes waiting",
    CASE WHEN known.n > 0 THEN waiting.days END::float8 AS "days of documents waiting"
FROM (SELECT count(*) AS n FROM writer_fates WHERE project = {projects}) AS known,
    (SELECT sum(behind) AS behind, min(arrived_at) AS arrived_at FROM collector_arrears WHERE project = {projects}) AS late,
    (SELECT count(*) FILTER (WHERE grain = 'minute') AS minutes, count(*) FILTER (WHERE grain = 'day') AS days
        FROM collector_waiting WHERE project = {projects}) AS waiting

-- name: writers_now
SELECT nullif(count(*) FILTER (WHERE finished_at IS NULL), 0)::float8 AS "at work",
    count(*) FILTER (WHERE finished_at IS NULL AND last_seen_at < now() - interval '15 minutes')::float8 AS quiet,
    (SELECT max(delay_s) FROM shipping_delays
        WHERE project = {projects} AND recorded_at >= $__timeFrom()::timestamptz) AS "slowest shipment",
    sum(waiting)::float8 AS backlog, sum(pending)::float8 AS "pending votes"
FROM writer_fates
WHERE project = {projects} AND last_seen_at >= $__timeFrom()::timestamptz
HAVING count(*) > 0

-- name: lost
SELECT sum(rejected)::float8 AS rejected, sum(refused)::float8 AS refused, sum(gaps)::float8 AS gaps
FROM writer_fates
WHERE project = {projects} AND last_seen_at >= $__timeFrom()::timestamptz
HAVING count(*) > 0

-- name: writers
WITH fates AS (
    SELECT * FROM writer_fates
    WHERE project = {projects} AND last_seen_at >= $__timeFrom()::timestamptz
    ORDER BY gaps DESC, refused DESC, rejected DESC, waiting DESC, last_seen_at DESC
    LIMIT 100
)
SELECT f.project, host, pid::text AS pid, started_at AS started, last_seen_at AS "last seen", finished_at AS finished,
    attempted::float8 AS attempted, waiting::float8 AS backlog, d.delay_s AS delay, written::float8 AS written,
    removed::float8 AS removed, pending::float8 AS pending, rejected::float8 AS rejected, refused::float8 AS refused,
    gaps::float8 AS gaps
FROM fates f
LEFT JOIN shipping_delays d USING (writer_id)
ORDER BY gaps DESC, refused DESC, rejected DESC, waiting DESC, last_seen_at DESC

-- name: refused
SELECT reason, sum(refused)::float8 AS refused
FROM writer_refusals
WHERE project = {projects} AND last_seen_at >= $__timeFrom()::timestamptz
GROUP BY reason
ORDER BY 2 DESC, 1
LIMIT 12

-- name: rejected
SELECT coalesce(project, '(none)') AS project, kind, reason, count(*)::float8 AS rejected, max(rejected_at) AS latest
FROM rejections
WHERE (project = {projects} OR project IS NULL) AND $__timeFilter(rejected_at)
GROUP BY 1, 2, 3
ORDER BY 4 DESC, 1, 2, 3
LIMIT 50

-- name: rejected_over_time
SELECT date_trunc({grain}, rejected_at, 'UTC') AS time, count(*)::float8 AS rejected
FROM rejections
WHERE (project = {projects} OR project IS NULL) AND $__timeFilter(rejected_at)
GROUP BY 1
ORDER BY 1

-- name: pending
SELECT coalesce(project, '(none)') AS project, stage, count(*)::float8 AS votes, min(received_at) AS oldest,
    extract(epoch FROM now() - min(received_at))::float8 AS "waiting for"
FROM pending_votes
WHERE project = {projects} OR project IS NULL
GROUP BY 1, 2
ORDER BY 4, 1, 2

-- name: counted
SELECT p.project, newest.bucket AS "latest minute", coalesce(late.behind, known.none)::float8 AS "records behind",
    coalesce(extract(epoch FROM now() - late.arrived_at), known.none)::float8 AS lag,
    coalesce(waiting.minutes, known.none)::float8 AS "minutes waiting",
    sealed.bucket AS "sealed up to"
FROM unnest(ARRAY[${project:sqlstring}]::text[]) AS p(project)
CROSS JOIN LATERAL (SELECT max(bucket) AS bucket FROM rollup_searches r WHERE r.grain = 'minute' AND r.project = p.project) AS newest
CROSS JOIN LATERAL (SELECT CASE WHEN newest.bucket IS NOT NULL THEN 0 END AS none) AS known
CROSS JOIN LATERAL (SELECT max(bucket) AS bucket FROM rollup_sealed s WHERE s.project = p.project) AS sealed
LEFT JOIN (SELECT project, sum(behind) AS behind, min(arrived_at) AS arrived_at FROM collector_arrears GROUP BY project) AS late
    ON late.project = p.project
LEFT JOIN (SELECT project, count(*) AS minutes FROM collector_waiting WHERE grain = 'minute' GROUP BY project) AS waiting
    ON waiting.project = p.project
ORDER BY p.project
