-- What there is where a command found nothing. `sql/scope.sql` opens it; of that it takes the searches alone, so that a slip of the
-- pen in a filter costs one pass over them.

-- name: there
SELECT project, corpus, count(*) AS searches, min(started_at) AS first_search, max(started_at) AS last_search
FROM scope
GROUP BY project, corpus;
