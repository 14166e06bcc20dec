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

-- name: left_before
SELECT count(*) FROM searches WHERE search_id < %(before)s

-- name: remove_up_to
WITH f AS (
    DELETE FROM feedback WHERE search_id <= %(last)s RETURNING writer_id, writer_seq
), p AS (
    DELETE FROM pending_feedback WHERE search_id <= %(last)s RETURNING writer_id, writer_seq
), d AS (
    DELETE FROM deliveries WHERE search_id <= %(last)s RETURNING writer_id, writer_seq
), a AS (
    DELETE FROM assessments WHERE search_id <= %(last)s RETURNING writer_id, writer_seq
), h AS (
    DELETE FROM hits WHERE search_id <= %(last)s RETURNING search_id
), s AS (
    DELETE FROM searches WHERE search_id <= %(last)s RETURNING writer_id, writer_seq
)

-- name: remove_searches
WITH f AS (
    DELETE FROM feedback WHERE search_id = ANY(%(ids)s) RETURNING writer_id, writer_seq
), p AS (
    DELETE FROM pending_feedback WHERE search_id = ANY(%(ids)s) RETURNING writer_id, writer_seq
), d AS (
    DELETE FROM deliveries WHERE search_id = ANY(%(ids)s) RETURNING writer_id, writer_seq
), a AS (
    DELETE FROM assessments WHERE search_id = ANY(%(ids)s) RETURNING writer_id, writer_seq
), h AS (
    DELETE FROM hits WHERE search_id = ANY(%(ids)s) RETURNING search_id
), s AS (
    DELETE FROM searches WHERE search_id = ANY(%(ids)s) RETURNING writer_id, writer_seq
)

-- name: remove_votes
-- Those of one actor, on whatever search.
WITH f AS (
    DELETE FROM feedback
    WHERE actor_kind = %(actor_kind)s AND coalesce(actor_id, '') = ANY(%(actors)s)
    RETURNING writer_id, writer_seq
), p AS (
    DELETE FROM pending_feedback
    WHERE actor_kind = %(actor_kind)s AND coalesce(actor_id, '') = ANY(%(actors)s)
    RETURNING writer_id, writer_seq
), d AS (SELECT NULL::uuid AS writer_id, NULL::int8 AS writer_seq WHERE false),
a AS (SELECT * FROM d), h AS (SELECT NULL::uuid AS search_id WHERE false), s AS (SELECT * FROM d)

-- name: account
-- Rows and their numbers go in one transaction. A pending vote had no fate yet: it gets one, and is removed.
, gone AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers
    FROM (SELECT * FROM f UNION ALL SELECT * FROM p UNION ALL SELECT * FROM d UNION ALL SELECT * FROM a
          UNION ALL SELECT * FROM s) AS rows
    GROUP BY writer_id
), accounted AS (
    UPDATE writers w
    SET landed = w.landed + gone.numbers, removed = w.removed + gone.numbers
    FROM gone
    WHERE gone.writer_id = w.writer_id
)
SELECT (SELECT count(*) FROM s), (SELECT count(*) FROM h), (SELECT count(*) FROM d), (SELECT count(*) FROM a),
    (SELECT count(*) FROM f), (SELECT count(*) FROM p)

-- name: oldest_texts
SELECT search_id
FROM (
    SELECT search_id FROM search_texts WHERE search_id < %(before)s AND rank = 0 ORDER BY search_id LIMIT %(batch)s
) AS batch
ORDER BY search_id DESC
LIMIT 1

-- name: texts_remove_up_to
WITH t AS (DELETE FROM search_texts WHERE search_id <= %(last)s RETURNING writer_id, writer_seq)

-- name: texts_remove_searches
WITH t AS (DELETE FROM search_texts WHERE search_id = ANY(%(ids)s) RETURNING writer_id, writer_seq)

-- name: account_texts
, gone AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers FROM t GROUP BY writer_id
), accounted AS (
    UPDATE writers w
    SET landed = w.landed + gone.numbers, removed = w.removed + gone.numbers
    FROM gone
    WHERE gone.writer_id = w.writer_id
)
SELECT count(*) FROM t

-- name: waiting_elsewhere
-- What a writer that is not finished has begun and not shipped.
SELECT count(*) FROM writers WHERE finished_at IS NULL AND attempted > shipped
