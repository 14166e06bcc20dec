-- name: balance
-- Where every number of every writer ended. The rows themselves are counted, not the counters alone.
WITH rows AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers, count(*) AS n
    FROM (
        SELECT writer_id, writer_seq FROM searches
        UNION ALL SELECT writer_id, writer_seq FROM deliveries
        UNION ALL SELECT writer_id, writer_seq FROM assessments
        UNION ALL SELECT writer_id, writer_seq FROM feedback
    ) AS landed
    GROUP BY writer_id
), pending AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers, count(*) AS n
    FROM pending_feedback GROUP BY writer_id
), refused AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers, count(*) AS n
    FROM rejected GROUP BY writer_id
), fates AS (
    SELECT w.writer_id, w.project, w.host, w.pid, w.finished_at IS NOT NULL AS finished, w.attempted, w.refused,
        w.base, w.shipped, w.landed, w.removed,
        int8multirange(int8range(w.base, w.shipped, '(]')) AS due,
        coalesce(r.numbers, '{}') AS present, coalesce(r.n, 0) AS rows,
        coalesce(p.numbers, '{}') AS pending, coalesce(p.n, 0) AS pending_n,
        coalesce(j.numbers, '{}') AS rejected, coalesce(j.n, 0) AS rejected_n
    FROM writers w
    LEFT JOIN rows r USING (writer_id)
    LEFT JOIN pending p USING (writer_id)
    LEFT JOIN refused j USING (writer_id)
)
SELECT writer_id, project, host, pid, finished, attempted,
    (SELECT coalesce(sum(value::int8), 0)::int8 FROM jsonb_each_text(refused)) AS refused,
    base, shipped,
    (SELECT coalesce(sum(upper(r) - lower(r)), 0)::int8 FROM unnest(landed) AS r) AS written,
    (SELECT coalesce(sum(upper(r) - lower(r)), 0)::int8 FROM unnest(removed) AS r) AS removed,
    pending_n AS pending, rejected_n AS rejected,
    (due - (landed + pending + rejected))::text AS gaps,
    ((landed * pending) + (landed * rejected) + (pending * rejected))::text AS overlaps,
    ((landed - removed) - present)::text AS missing,
    (present - (landed - removed))::text AS unexpected,
    rows - (SELECT coalesce(sum(upper(r) - lower(r)), 0)::int8 FROM unnest(present) AS r) AS doubled
FROM fates
WHERE %(writer_id)s::uuid IS NULL OR writer_id = %(writer_id)s
ORDER BY writer_id
