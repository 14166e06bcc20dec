-- name: rows
-- Where every number of every writer ended. The rows themselves are counted, not the counters alone.
WITH rows AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers, count(*) AS n
    FROM (
        SELECT writer_id, writer_seq FROM searches
        UNION ALL SELECT writer_id, writer_seq FROM deliveries
        UNION ALL SELECT writer_id, writer_seq FROM assessments
        UNION ALL SELECT writer_id, writer_seq FROM feedback

-- name: of_texts
-- Only where that table exists. Its rows of rank 0 are one for each record.
        UNION ALL SELECT writer_id, writer_seq FROM search_texts WHERE rank = 0

-- name: fates
    ) AS landed
    GROUP BY writer_id
), pending AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers, count(*) AS n
    FROM pending_feedback GROUP BY writer_id
), refused AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers, count(*) AS n
    FROM rejected GROUP BY writer_id
), every AS (
    SELECT writer_id FROM writers
    UNION SELECT writer_id FROM rows
    UNION SELECT writer_id FROM pending
    UNION SELECT writer_id FROM refused
), fates AS (
    -- A writer whose own row is gone has offered nothing that could be proved: all its rows are unexpected.
    SELECT writer_id, coalesce(w.project, 'unknown') AS project, coalesce(w.host, 'unknown') AS host,
        coalesce(w.pid, 0) AS pid, w.writer_id IS NULL OR w.finished_at IS NOT NULL AS finished,
        coalesce(w.attempted, 0) AS attempted, coalesce(w.refused, '{}') AS refused, coalesce(w.base, 0) AS base,
        coalesce(w.shipped, 0) AS shipped, coalesce(w.landed, '{}') AS landed, coalesce(w.removed, '{}') AS removed,
        int8multirange(int8range(coalesce(w.base, 0), coalesce(w.shipped, 0), '(]')) AS due,
        coalesce(r.numbers, '{}') AS present, coalesce(r.n, 0) AS rows,
        coalesce(p.numbers, '{}') AS pending, coalesce(p.n, 0) AS pending_n,
        coalesce(j.numbers, '{}') AS rejected, coalesce(j.n, 0) AS rejected_n
    FROM every
    LEFT JOIN writers w USING (writer_id)
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
    (removed - landed)::text AS never_landed,
    rows - (SELECT coalesce(sum(upper(r) - lower(r)), 0)::int8 FROM unnest(present) AS r) AS doubled
FROM fates
WHERE %(writer_id)s::uuid IS NULL OR writer_id = %(writer_id)s
ORDER BY writer_id
