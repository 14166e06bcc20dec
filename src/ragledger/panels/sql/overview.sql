-- Is retrieval working: what ran, what came back, what it cost.

-- name: totals
WITH per_series AS (
    SELECT r.series_id, sum(r.searches) AS due, sum(r.searches - r.skipped) AS ran, max(r.last_ran_at) AS last_ran_at
    FROM rollup_searches r
    WHERE {scope}
    GROUP BY r.series_id
)
SELECT sum(due)::float8 AS searches,
    nullif(count(DISTINCT (s.project, s.epoch)) FILTER (WHERE ran > 0), 0)::float8 AS epochs,
    (extract(epoch FROM now() - max(last_ran_at)))::float8 AS "since the last"
FROM per_series
JOIN rollup_series s USING (series_id)

-- name: shares
WITH counted AS (
    SELECT sum(r.searches) AS due, sum(r.searches - r.skipped) AS ran, sum(r.ok - r.untold) AS told, sum(r.found) AS found,
        sum(r.error) AS error, sum(r.skipped) AS skipped, sum(r.degraded) AS degraded,
        sum(r.vector_unavailable) AS unavailable, sum(r.vector_available + r.vector_unavailable) AS knowable
    FROM rollup_searches r
    WHERE {scope}
)
SELECT what AS "share of searches", part::float8 / nullif(n, 0)::float8 AS share, i.low, i.high, n::float8 AS n
FROM counted
CROSS JOIN LATERAL (VALUES
    (1, 'with a hit, of those that ended well', found, told),
    (2, 'ended in an error, of those that ran', error, ran),
    (3, 'degraded, of those that ran', degraded, ran),
    (4, 'skipped, of those that were due', skipped, due),
    (5, 'without dense retrieval, where that is known', unavailable, knowable)
) AS rates(number, what, part, n)
CROSS JOIN LATERAL share_interval(part, n) AS i
ORDER BY number

-- name: latency_now
WITH pooled AS NOT MATERIALIZED (
    SELECT 0 AS of, r.part, r.searches, r.bins FROM rollup_latency_parts r WHERE {pooled}
), binned AS (
    SELECT 0 AS of, r.bin, r.searches FROM rollup_latency r WHERE {binned}
), {latency}
SELECT p50, p95, p99, n FROM (SELECT 0 AS of) AS one LEFT JOIN percentiles USING (of)

-- name: searches
WITH counted AS (
    SELECT r.bucket AS time, sum(r.found) AS found, sum(r.ok - r.found - r.untold) AS without, sum(r.untold) AS untold,
        sum(r.error) AS error, sum(r.cancelled) AS cancelled, sum(r.skipped) AS skipped
    FROM rollup_searches r
    WHERE {scope}
    GROUP BY r.bucket
)
SELECT time, found::float8 AS "with a hit", without::float8 AS "without a hit", untold::float8 AS "hits not told",
    error::float8 AS error, cancelled::float8 AS cancelled, skipped::float8 AS skipped
FROM {every}
LEFT JOIN counted USING (time)
ORDER BY time

-- name: hit_rate
WITH counted AS (
    SELECT r.bucket AS time, sum(r.found) AS found, sum(r.ok - r.untold) AS told
    FROM rollup_searches r
    WHERE {scope}
    GROUP BY r.bucket
)
SELECT time, found::float8 / nullif(told, 0)::float8 AS "hit rate", i.low, i.high, told::float8 AS n
FROM {every}
LEFT JOIN counted USING (time)
CROSS JOIN LATERAL share_interval(found, told) AS i
ORDER BY time

-- name: skips
SELECT coalesce(nullif(r.word, ''), '(none given)') AS reason, sum(r.n)::float8 AS skipped
FROM rollup_words r
WHERE r.what = 'skip_reason' AND {scope}
GROUP BY r.word
ORDER BY 2 DESC, 1
LIMIT 12

-- name: degradations
SELECT coalesce(nullif(r.word, ''), '(none given)') AS reason, sum(r.n)::float8 AS degraded
FROM rollup_words r
WHERE r.what = 'degraded_reason' AND {scope}
GROUP BY r.word
ORDER BY 2 DESC, 1
LIMIT 12

-- name: degraded
WITH counted AS (
    SELECT r.bucket AS time, sum(r.degraded) AS degraded, sum(r.vector_unavailable) AS unavailable,
        sum(r.vector_available + r.vector_unavailable) AS knowable, sum(r.error) AS error, sum(r.searches - r.skipped) AS ran
    FROM rollup_searches r
    WHERE {scope}
    GROUP BY r.bucket
)
SELECT time, degraded::float8 / nullif(ran, 0)::float8 AS degraded,
    unavailable::float8 / nullif(knowable, 0)::float8 AS "without dense retrieval",
    error::float8 / nullif(ran, 0)::float8 AS error, ran::float8 AS n
FROM {every}
LEFT JOIN counted USING (time)
ORDER BY time

-- name: candidates
WITH counted AS (
    SELECT r.bucket AS time, sum(r.candidates) AS candidates, sum(r.candidates_known) AS candidates_known,
        sum(r.admitted) AS admitted, sum(r.admitted_known) AS admitted_known
    FROM rollup_searches r
    WHERE {scope}
    GROUP BY r.bucket
)
SELECT time, candidates::float8 / nullif(candidates_known, 0)::float8 AS candidates,
    admitted::float8 / nullif(admitted_known, 0)::float8 AS admitted, admitted_known::float8 AS n
FROM {every}
LEFT JOIN counted USING (time)
ORDER BY time

-- name: scores
WITH counted AS (
    SELECT r.bucket AS time, sum(r.top_candidate_sum) AS candidate, sum(r.top_candidate_known) AS candidate_known,
        sum(r.top_admitted_sum) AS admitted, sum(r.top_admitted_known) AS admitted_known
    FROM rollup_searches r
    WHERE {scope}
    GROUP BY r.bucket
)
SELECT time, (candidate / nullif(candidate_known, 0))::float8 AS "top candidate",
    (admitted / nullif(admitted_known, 0))::float8 AS "top admitted", admitted_known::float8 AS n
FROM {every}
LEFT JOIN counted USING (time)
ORDER BY time

-- name: latency
WITH pooled AS NOT MATERIALIZED (
    SELECT r.bucket AS of, r.part, r.searches, r.bins FROM rollup_latency_parts r WHERE {pooled}
), binned AS (
    SELECT r.bucket AS of, r.bin, r.searches FROM rollup_latency r WHERE {binned}
), {latency}, counted AS (
    SELECT of AS time, p50, p95, p99, n FROM percentiles
)
SELECT time, p50, p95, p99, n
FROM {every}
LEFT JOIN counted USING (time)
ORDER BY time

-- name: source_kinds
SELECT coalesce(nullif(r.word, ''), '(not known)') AS "source kind", sum(r.n)::float8 AS admitted
FROM rollup_words r
WHERE r.what = 'source_kind' AND {scope}
GROUP BY r.word
ORDER BY 2 DESC, 1
LIMIT 12

-- name: surfaces
WITH per_series AS (
    SELECT r.series_id, sum(r.searches) AS due, sum(r.searches - r.skipped) AS ran, sum(r.ok - r.untold) AS told,
        sum(r.found) AS found, sum(r.error) AS error, sum(r.degraded) AS degraded, sum(r.skipped) AS skipped
    FROM rollup_searches r
    WHERE {scope}
    GROUP BY r.series_id
), counted AS (
    SELECT s.project, coalesce(s.surface, '(none)') AS surface, sum(due) AS due, sum(ran) AS ran, sum(told) AS told,
        sum(found) AS found, sum(error) AS error, sum(degraded) AS degraded, sum(skipped) AS skipped
    FROM per_series
    JOIN rollup_series s USING (series_id)
    GROUP BY 1, 2
)
SELECT project, surface, due::float8 AS searches, found::float8 / nullif(told, 0)::float8 AS "hit rate", i.low, i.high,
    told::float8 AS n, error::float8 / nullif(ran, 0)::float8 AS errors, degraded::float8 / nullif(ran, 0)::float8 AS degraded,
    skipped::float8 / nullif(due, 0)::float8 AS skipped
FROM counted
CROSS JOIN LATERAL share_interval(found, told) AS i
ORDER BY due DESC, project, surface
LIMIT 200
