-- What the report asks beside the panels' own questions; parts, macros and variables as in panels/sql.

-- name: grain
SELECT {grain}

-- name: extent
SELECT min(r.bucket), max(r.last_ran_at)
FROM rollup_searches r
WHERE r.grain = 'day' AND r.project = {projects}

-- name: first
-- From which hour on there is anything at all.
SELECT date_trunc('hour', min(coalesce(r.first_ran_at, r.bucket)), 'UTC') FROM rollup_searches r WHERE {scope}

-- name: searches
SELECT coalesce(sum(r.searches), 0)::int8 FROM rollup_searches r WHERE {scope}

-- name: voters
SELECT r.voter
FROM rollup_judged r
WHERE {scope}
GROUP BY r.voter
HAVING sum(r.judged) > 0
ORDER BY (r.voter = 'human') DESC, sum(r.judged) DESC, r.voter

-- name: arrived
SELECT coalesce(sum(written), 0)::int8 FROM writer_fates

-- name: counted
-- What there is to show at all, whatever was chosen.
SELECT coalesce(sum(r.searches), 0)::int8, min(coalesce(r.first_ran_at, r.bucket)), max(coalesce(r.last_ran_at, r.bucket)),
    array_agg(DISTINCT s.project), array_agg(DISTINCT s.corpus)
FROM rollup_searches r
JOIN rollup_series s USING (series_id)
WHERE r.grain = 'day'

-- name: behind
SELECT (SELECT coalesce(sum(behind), 0)::int8 FROM collector_arrears WHERE project = {projects}),
    count(*) FILTER (WHERE grain = 'minute'), count(*) FILTER (WHERE grain = 'day')
FROM collector_waiting WHERE project = {projects}
