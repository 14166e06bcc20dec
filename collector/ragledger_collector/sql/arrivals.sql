-- What is new, and which minutes must be counted again for it. Every read is by index, by OFFSET 0 also where the planner
-- would rather read a table: a pass costs by what arrived.

-- name: schema
SELECT current_schema()

-- name: lock
SELECT pg_try_advisory_lock(1919903853, hashtext(current_schema()))

-- name: unlock
SELECT pg_advisory_unlock(1919903853, hashtext(current_schema()))

-- name: alone
SELECT CASE WHEN pg_try_advisory_lock(1919903854, hashtext(current_schema()))
    THEN pg_advisory_unlock(1919903854, hashtext(current_schema())) ELSE false END

-- name: join
SELECT pg_try_advisory_lock_shared(1919903854, hashtext(current_schema()))

-- name: leads
SELECT EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND classid = 1919903853::oid AND objid = (hashtext(current_schema())::int8 & 4294967295)::oid AND objsubid = 2
      AND granted AND pid = %(runner)s
)

-- name: behind
SELECT w.writer_id, w.landed - coalesce(a.landed, '{}')
FROM writers w
LEFT JOIN rollup_arrivals a USING (writer_id)
WHERE NOT coalesce(a.landed, '{}') @> w.landed
ORDER BY w.writer_id

-- name: mark
INSERT INTO rollup_dirty (project, bucket)

-- name: touched
-- A search and the others of its group of attempts: what arrived may have made another one the last.
WITH fresh AS (
    SELECT of.writer_id, lower(r) AS first, upper(r) AS past
    FROM unnest(%(writers)s::uuid[], %(numbers)s::text[]) AS of(writer_id, numbers),
        unnest(of.numbers::int8multirange) AS r
), about AS (
    SELECT n.search_id FROM fresh f CROSS JOIN LATERAL (
        SELECT search_id FROM searches
        WHERE writer_id = f.writer_id AND writer_seq >= f.first AND writer_seq < f.past OFFSET 0
    ) AS n
    UNION
    SELECT n.search_id FROM fresh f CROSS JOIN LATERAL (
        SELECT search_id FROM deliveries
        WHERE writer_id = f.writer_id AND writer_seq >= f.first AND writer_seq < f.past OFFSET 0
    ) AS n
    UNION
    SELECT n.search_id FROM fresh f CROSS JOIN LATERAL (
        SELECT search_id FROM feedback
        WHERE writer_id = f.writer_id AND writer_seq >= f.first AND writer_seq < f.past OFFSET 0
    ) AS n
), counted AS (
    SELECT s.* FROM about CROSS JOIN LATERAL (
        SELECT project, started_at, coalesce(attempt_of, search_id) AS first_attempt, attempt_of IS NOT NULL AS is_later
        FROM searches WHERE search_id = about.search_id AND depth = 0 OFFSET 0
    ) AS s
), touched AS (
    SELECT project, started_at FROM counted
    UNION ALL
    SELECT o.* FROM counted c CROSS JOIN LATERAL (
        SELECT project, started_at FROM searches WHERE c.is_later AND search_id = c.first_attempt OFFSET 0
    ) AS o
    UNION ALL
    SELECT o.* FROM counted c CROSS JOIN LATERAL (
        SELECT project, started_at FROM searches WHERE attempt_of = c.first_attempt OFFSET 0
    ) AS o
)
SELECT DISTINCT project, date_trunc('minute', started_at, 'UTC') FROM touched

-- name: looked_at
INSERT INTO rollup_arrivals AS a (writer_id, landed)
SELECT writer_id, numbers::int8multirange
FROM unnest(%(writers)s::uuid[], %(numbers)s::text[]) AS of(writer_id, numbers)
ON CONFLICT (writer_id) DO UPDATE SET landed = a.landed + excluded.landed

-- name: waiting_minutes
SELECT project, count(*) FROM rollup_dirty GROUP BY project ORDER BY count(*) DESC, project

-- name: waiting_days
SELECT project, count(*) FROM rollup_dirty_days GROUP BY project ORDER BY count(*) DESC, project

-- name: batch
-- Of one project, so that every read and every deletion is a range of an index.
SELECT d.bucket, EXISTS (
    SELECT FROM rollup_sealed s WHERE s.project = d.project AND s.bucket = d.bucket
)
FROM rollup_dirty d
WHERE d.project = %(project)s
GROUP BY d.project, d.bucket
ORDER BY d.bucket
LIMIT %(limit)s

-- name: done
-- Only the marks that this snapshot sees: one that was set since stays.
DELETE FROM rollup_dirty WHERE project = %(project)s AND bucket = ANY (%(buckets)s)

-- name: mark_days
INSERT INTO rollup_dirty_days (project, day)
SELECT DISTINCT %(project)s::text, date_trunc('day', bucket, 'UTC') FROM unnest(%(buckets)s::timestamptz[]) AS due(bucket)
ON CONFLICT DO NOTHING
