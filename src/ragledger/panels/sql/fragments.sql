-- Parts that queries share: `{scope}` in a query stands for the part of that name. `r` is the rollup.

-- name: grain
rollup_grain($__unixEpochFrom(), $__unixEpochTo(), cardinality(ARRAY[${project:sqlstring}]::text[]))

-- name: every
-- A row for each bucket from the first to the last that has one: what is missing between them is a gap, not a line across.
(SELECT generate_series(min(time), max(time), rollup_step({grain})) AS time FROM counted) AS every

-- name: projects
ANY (ARRAY[${project:sqlstring}]::text[])

-- name: scope
-- Whole buckets: the one in which the time range begins is counted from its start. With every choice at "All" the planner
-- sees a constant, and nobody looks at the series.
r.grain = {grain}
    AND r.project = {projects}
    AND r.bucket >= date_trunc({grain}, $__timeFrom()::timestamptz, 'UTC')
    AND r.bucket <= $__timeTo()::timestamptz
    AND (
        '(all)' = ALL (ARRAY[${corpus:sqlstring}, ${surface:sqlstring}, ${epoch:sqlstring}, ${actor_kind:sqlstring}]::text[])
        OR r.series_id IN (
            SELECT s.series_id FROM rollup_series s
            WHERE s.project = {projects}
                AND is_chosen(s.corpus, ARRAY[${corpus:sqlstring}]::text[])
                AND is_chosen(s.surface, ARRAY[${surface:sqlstring}]::text[])
                AND is_chosen(s.epoch, ARRAY[${epoch:sqlstring}]::text[])
                AND is_chosen(s.actor_kind, ARRAY[${actor_kind:sqlstring}]::text[])
        )
    )

-- name: documents
is_chosen(d.corpus, ARRAY[${corpus:sqlstring}]::text[])

-- name: inventory
-- The corpora that these projects have searched: an inventory belongs to no project.
i.corpus = ANY (ARRAY(
        SELECT s.corpus FROM rollup_series s WHERE s.project = {projects} AND s.corpus IS NOT NULL GROUP BY s.corpus
    ))
    AND is_chosen(i.corpus, ARRAY[${corpus:sqlstring}]::text[])
