-- What assessments said beside what voters said. `sql/scope.sql` opens every query.
-- The latest one of a name and method counts. An assessment whose search is not here is in no scope.

-- name: stored
, latest AS (
    SELECT DISTINCT ON (a.search_id, a.name, a.method) a.search_id, a.name, a.method, a.value, s.epoch
    FROM assessments a
    JOIN scope s USING (search_id)
    WHERE s.status <> 'skipped'
    ORDER BY a.search_id, a.name, a.method, a.assessed_at DESC, a.assessment_id DESC
)
SELECT name, method, epoch, count(*) AS searches, count(*) FILTER (WHERE value IS NULL) AS null
FROM latest
GROUP BY name, method, epoch;

-- name: assessed
-- Searches with a value and with judged hits at the top; sessions are numbered, and searches outside of any.
, votes AS MATERIALIZED (
    SELECT search_id, rank, actor_kind AS voter,
           count(*) FILTER (WHERE outcome = ANY (%(useful)s::text[]))::numeric / count(*) AS useful
    FROM current_votes
    WHERE EXISTS (SELECT FROM assessments a WHERE a.search_id = current_votes.search_id)
    GROUP BY search_id, rank, actor_kind
),
judged AS MATERIALIZED (
    SELECT v.search_id, p.epoch, v.voter, round(sum(v.useful), 9)::float8 AS useful, count(*) AS judged
    FROM votes v
    JOIN positions p USING (search_id, rank)
    WHERE p.position <= %(top)s::int4
    GROUP BY v.search_id, p.epoch, v.voter
),
latest AS (
    SELECT DISTINCT ON (a.search_id, a.name, a.method) a.search_id, a.name, a.method, a.value
    FROM assessments a
    WHERE a.search_id IN (SELECT search_id FROM judged)
    ORDER BY a.search_id, a.name, a.method, a.assessed_at DESC, a.assessment_id DESC
)
SELECT l.name, l.method, j.epoch, j.voter,
       dense_rank() OVER (
           ORDER BY s.project, s.session_id, CASE WHEN s.session_id IS NULL THEN s.search_id END
       ) AS cluster,
       l.value, j.useful, j.judged
FROM judged j
JOIN latest l USING (search_id)
JOIN searches s USING (search_id)
WHERE l.value IS NOT NULL;
