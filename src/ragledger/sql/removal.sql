-- name: lock
-- One remover at a time, and none beside the promotion of pending votes, which changes the same rows of `writers`.
SELECT pg_advisory_xact_lock(1919903852)

-- name: oldest
-- How far the next batch of retention goes: a UUIDv7 sorts by the time in it.
SELECT search_id
FROM (
    SELECT search_id FROM searches WHERE search_id < %(before)s ORDER BY search_id LIMIT %(batch)s
) AS batch
ORDER BY search_id DESC
LIMIT 1

-- name: remove_up_to
WITH f AS (
    DELETE FROM feedback WHERE search_id <= %(last)s RETURNING search_id, writer_id, writer_seq
), p AS (
    DELETE FROM pending_feedback WHERE search_id <= %(last)s RETURNING writer_id, writer_seq
), d AS (
    DELETE FROM deliveries WHERE search_id <= %(last)s RETURNING writer_id, writer_seq
), a AS (
    DELETE FROM assessments WHERE search_id <= %(last)s RETURNING writer_id, writer_seq
), h AS (
    DELETE FROM hits WHERE search_id <= %(last)s RETURNING search_id
), s AS (
    DELETE FROM searches WHERE search_id <= %(last)s
    RETURNING search_id, writer_id, writer_seq, project, started_at, depth
), sealed AS (
    -- What rollups say of these minutes stays: nobody can count them again.
    INSERT INTO rollup_sealed (project, bucket)
    SELECT DISTINCT project, date_trunc('minute', started_at, 'UTC') FROM s WHERE depth = 0
    ON CONFLICT DO NOTHING
)

-- name: remove_searches
WITH f AS (
    DELETE FROM feedback WHERE search_id = ANY(%(ids)s) RETURNING search_id, writer_id, writer_seq
), p AS (
    DELETE FROM pending_feedback WHERE search_id = ANY(%(ids)s) RETURNING writer_id, writer_seq
), d AS (
    DELETE FROM deliveries WHERE search_id = ANY(%(ids)s) RETURNING writer_id, writer_seq
), a AS (
    DELETE FROM assessments WHERE search_id = ANY(%(ids)s) RETURNING writer_id, writer_seq
), h AS (
    DELETE FROM hits WHERE search_id = ANY(%(ids)s) RETURNING search_id
), s AS (
    DELETE FROM searches WHERE search_id = ANY(%(ids)s) RETURNING search_id, writer_id, writer_seq
)

-- name: remove_votes
-- Those of one actor, on whatever search.
WITH f AS (
    DELETE FROM feedback
    WHERE actor_kind = %(actor_kind)s AND coalesce(actor_id, '') = ANY(%(actors)s)
    RETURNING search_id, writer_id, writer_seq
), p AS (
    DELETE FROM pending_feedback
    WHERE actor_kind = %(actor_kind)s AND coalesce(actor_id, '') = ANY(%(actors)s)
    RETURNING writer_id, writer_seq
), d AS (SELECT NULL::uuid AS writer_id, NULL::int8 AS writer_seq WHERE false),
a AS (SELECT * FROM d), h AS (SELECT NULL::uuid AS search_id WHERE false),
s AS (SELECT h.search_id, d.writer_id, d.writer_seq FROM d, h)

-- name: account
-- Rows and their numbers go in one transaction. A pending vote had no fate yet: it gets one, and is removed.
, gone AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers
    FROM (SELECT writer_id, writer_seq FROM f UNION ALL SELECT * FROM p UNION ALL SELECT * FROM d
          UNION ALL SELECT * FROM a UNION ALL SELECT writer_id, writer_seq FROM s) AS rows
    GROUP BY writer_id
), counted AS (
    -- As they were before this statement. Rollups count them again, and their groups of attempts.
    SELECT project, started_at, coalesce(attempt_of, search_id) AS first_attempt
    FROM searches
    WHERE depth = 0 AND search_id IN (SELECT search_id FROM f UNION ALL SELECT search_id FROM s)
), marked AS (
    INSERT INTO rollup_dirty (project, bucket)
    SELECT project, date_trunc('minute', started_at, 'UTC')
    FROM (
        SELECT project, started_at FROM counted
        UNION SELECT o.project, o.started_at FROM counted c JOIN searches o ON o.search_id = c.first_attempt
        UNION SELECT o.project, o.started_at FROM counted c JOIN searches o ON o.attempt_of = c.first_attempt
    ) AS touched
    GROUP BY 1, 2
), accounted AS (
    UPDATE writers w
    SET landed = w.landed + gone.numbers, removed = w.removed + gone.numbers
    FROM gone
    WHERE gone.writer_id = w.writer_id
)
SELECT (SELECT count(*) FROM s), (SELECT count(*) FROM h), (SELECT count(*) FROM d), (SELECT count(*) FROM a),
    (SELECT count(*) FROM f), (SELECT count(*) FROM p)

-- name: oldest_texts
-- What was emptied is behind: `after` is where the batch before ended, and the condition skips what earlier runs emptied.
SELECT search_id
FROM (
    SELECT DISTINCT search_id FROM search_texts
    WHERE search_id > %(after)s AND search_id < %(before)s AND (rank > 0 OR text IS NOT NULL)
    ORDER BY search_id LIMIT %(batch)s
) AS batch
ORDER BY search_id DESC
LIMIT 1

-- name: empty_texts
-- The row of rank 0 stays without its text, until its search goes: it holds the number. Else every search would be a hole
-- of its own in `writers.removed`.
WITH t AS (
    DELETE FROM search_texts WHERE search_id > %(after)s AND search_id <= %(last)s AND rank > 0 RETURNING search_id
), asked AS (
    UPDATE search_texts SET text = NULL, cut = true
    WHERE search_id > %(after)s AND search_id <= %(last)s AND rank = 0 AND (text IS NOT NULL OR NOT cut)
    RETURNING search_id
)
SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM asked)

-- name: texts_remove_up_to
WITH t AS (
    DELETE FROM search_texts WHERE search_id <= %(last)s
    RETURNING writer_id, writer_seq, text IS NULL AND cut AS emptied
)

-- name: texts_remove_searches
WITH t AS (
    DELETE FROM search_texts WHERE search_id = ANY(%(ids)s)
    RETURNING writer_id, writer_seq, text IS NULL AND cut AS emptied
)

-- name: account_texts
, gone AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers FROM t GROUP BY writer_id
), accounted AS (
    UPDATE writers w
    SET landed = w.landed + gone.numbers, removed = w.removed + gone.numbers
    FROM gone
    WHERE gone.writer_id = w.writer_id
)
SELECT count(*) FROM t WHERE NOT emptied

-- name: waiting_elsewhere
-- What a writer that is not finished has begun and not shipped.
SELECT count(*) FROM writers WHERE finished_at IS NULL AND attempted > shipped
