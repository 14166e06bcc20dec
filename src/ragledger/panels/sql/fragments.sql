-- Parts that queries share: `{scope}` in a query stands for the part of that name. `r` is the rollup.

-- name: grain
rollup_grain($__unixEpochFrom(), $__unixEpochTo(), cardinality(ARRAY[${project:sqlstring}]::text[]))

-- name: every
-- A row for each bucket from the first to the last that has one: what is missing between them is a gap, not a line across.
(SELECT generate_series(min(time), max(time), rollup_step({grain})) AS time FROM counted) AS every

-- name: projects
ANY (ARRAY[${project:sqlstring}]::text[])

-- name: unchosen
-- Every choice is at "All". The planner sees a constant: of what depends on it, it keeps one side.
('(all)' = ALL (ARRAY[${corpus:sqlstring}, ${surface:sqlstring}, ${epoch:sqlstring}, ${actor_kind:sqlstring}]::text[]))

-- name: range
-- Whole buckets: the one in which the time range begins is counted from its start.
r.grain = {grain}
    AND r.project = {projects}
    AND r.bucket >= date_trunc({grain}, $__timeFrom()::timestamptz, 'UTC')
    AND r.bucket <= $__timeTo()::timestamptz

-- name: scope
-- Nobody looks at the series where nothing is chosen.
{range}
    AND (
        {unchosen}
        OR r.series_id IN (
            SELECT s.series_id FROM rollup_series s
            WHERE s.project = {projects}
                AND is_chosen(s.corpus, ARRAY[${corpus:sqlstring}]::text[])
                AND is_chosen(s.surface, ARRAY[${surface:sqlstring}]::text[])
                AND is_chosen(s.epoch, ARRAY[${epoch:sqlstring}]::text[])
                AND is_chosen(s.actor_kind, ARRAY[${actor_kind:sqlstring}]::text[])
        )
    )

-- name: pooled
-- Of rollup_latency_parts: latency of all series, which is not there by minutes.
{range} AND {unchosen}

-- name: binned
-- Of rollup_latency: where the other one cannot tell.
{scope} AND NOT ({unchosen} AND {grain} <> 'minute')

-- name: latency
-- The bins of `binned` and the parts of `pooled`, each in a group, as percentiles of the group. Parts and bins are ranked
-- together: only the parts that hold a percentile are taken apart, of the others the last bin stands for all.
parts AS (
    SELECT of, part, sum(searches::float8) AS n FROM pooled GROUP BY of, part
), placed AS (
    SELECT of, part, n, sum(n) OVER (PARTITION BY of ORDER BY part) AS upto, sum(n) OVER (PARTITION BY of) AS total FROM parts
), halved AS (
    SELECT of, part, n, EXISTS (
        SELECT FROM unnest(ARRAY[50, 95, 99]) AS percent
        WHERE 100 * upto >= percent * total AND 100 * (upto - n) < percent * total
    ) AS taken_apart
    FROM placed
), bins AS (
    SELECT of, bin, sum(searches::float8) AS n FROM binned GROUP BY of, bin
    UNION ALL
    SELECT of, 16 * part + 15, n FROM halved WHERE NOT taken_apart
    UNION ALL
    SELECT of, 16 * part + place::int4 - 1, sum(bin.n::float8)
    FROM pooled CROSS JOIN LATERAL unnest(bins) WITH ORDINALITY AS bin(n, place)
    WHERE ((of, part) IN (SELECT of, part FROM halved WHERE taken_apart)) IS TRUE
    GROUP BY of, part, place
), ranked AS (
    SELECT of, bin, sum(n) OVER (PARTITION BY of ORDER BY bin) AS upto, sum(n) OVER (PARTITION BY of) AS total
    FROM bins
    WHERE n > 0
), percentiles AS (
    SELECT of, latency_ms(min(bin) FILTER (WHERE 100 * upto >= 50 * total)) AS p50,
        latency_ms(min(bin) FILTER (WHERE total >= 20 AND 100 * upto >= 95 * total)) AS p95,
        latency_ms(min(bin) FILTER (WHERE total >= 100 AND 100 * upto >= 99 * total)) AS p99,
        max(total) AS n
    FROM ranked
    GROUP BY of
)

-- name: documents
is_chosen(d.corpus, ARRAY[${corpus:sqlstring}]::text[])
