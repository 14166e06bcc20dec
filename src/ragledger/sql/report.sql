-- What the report asks beside the panels' own questions; parts, macros and variables as in panels/sql.

-- name: grain
SELECT {grain}

-- name: extent
SELECT min(r.bucket), max(r.last_ran_at), coalesce(sum(r.searches), 0)::int8
FROM rollup_searches r
WHERE r.grain = 'day' AND r.project = {projects}

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

-- name: behind
SELECT coalesce(sum(behind), 0)::int8 FROM collector_arrears WHERE project = {projects}
