-- name: of_session
SELECT search_id FROM searches WHERE session_id = ANY(%(sessions)s)

-- name: of_actor
-- An empty name is nobody's: of it the kind alone is known.
SELECT search_id FROM searches
WHERE actor_kind = %(actor_kind)s AND coalesce(actor_id, '') = ANY(%(actors)s)

-- name: below
-- Members of a composite search are parts of it.
SELECT search_id FROM searches WHERE root_id = ANY(%(ids)s)

-- name: searches
SELECT * FROM searches WHERE search_id = ANY(%(ids)s) ORDER BY search_id

-- name: hits
SELECT * FROM hits WHERE search_id = ANY(%(ids)s) ORDER BY search_id, rank

-- name: deliveries
SELECT * FROM deliveries WHERE search_id = ANY(%(ids)s) ORDER BY search_id, delivery_id

-- name: assessments
SELECT * FROM assessments WHERE search_id = ANY(%(ids)s) ORDER BY search_id, assessment_id

-- name: search_texts
SELECT * FROM search_texts WHERE search_id = ANY(%(ids)s) ORDER BY search_id, rank

-- name: may_read_texts
SELECT has_table_privilege('search_texts', 'SELECT')

-- name: votes_of
SELECT * FROM feedback
WHERE actor_kind = %(actor_kind)s AND coalesce(actor_id, '') = ANY(%(actors)s)
ORDER BY search_id, feedback_id

-- name: pending_votes_of
SELECT * FROM pending_feedback
WHERE actor_kind = %(actor_kind)s AND coalesce(actor_id, '') = ANY(%(actors)s)
ORDER BY search_id, feedback_id

-- name: votes_on
-- Without the names of those who voted: they are not the ones who are asked about.
SELECT search_id, rank, stage, outcome, actor_kind, given_at FROM feedback WHERE search_id = ANY(%(ids)s)
ORDER BY search_id, feedback_id
