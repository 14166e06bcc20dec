-- Hours are sums of minutes, days are sums of hours. `buckets` are those of a project, `grain` theirs and `finer` the one
-- below. Nothing is read but the rollups, so what a sealed minute says stays in its hour and its day.

-- name: clear
DELETE FROM {table} WHERE grain = %(grain)s AND project = %(project)s AND bucket = ANY (%(buckets)s)

-- name: finer
-- What the statements below add up: the rows of the grain below, read by index bucket by bucket.
WITH r AS (
    SELECT of.due, f.*
    FROM unnest(%(buckets)s::timestamptz[]) AS of(due)
    CROSS JOIN LATERAL (
        SELECT * FROM {table}
        WHERE grain = %(finer)s AND project = %(project)s AND bucket >= of.due AND bucket < of.due + %(length)s::interval
        OFFSET 0
    ) AS f
)

-- name: sum_searches
INSERT INTO rollup_searches
SELECT %(grain)s::text, project, due, series_id,
    sum(searches), sum(ok), sum(error), sum(cancelled), sum(skipped), sum(degraded),
    sum(vector_available), sum(vector_unavailable), sum(untold), sum(empty), sum(found),
    sum(delivered), sum(candidates), sum(candidates_known), sum(admitted), sum(admitted_known),
    sum(top_candidate_sum), sum(top_candidate_known), sum(top_admitted_sum), sum(top_admitted_known),
    sum(timed), min(first_ran_at), max(last_ran_at)
FROM r
GROUP BY project, due, series_id

-- name: sum_latency
-- And over all series, in parts of 16 bins.
, parts AS (
    INSERT INTO rollup_latency_parts
    SELECT %(grain)s::text, project, due, bin / 16 AS part, sum(searches), ARRAY[
            coalesce(sum(searches) FILTER (WHERE bin %% 16 = 0), 0), coalesce(sum(searches) FILTER (WHERE bin %% 16 = 1), 0),
            coalesce(sum(searches) FILTER (WHERE bin %% 16 = 2), 0), coalesce(sum(searches) FILTER (WHERE bin %% 16 = 3), 0),
            coalesce(sum(searches) FILTER (WHERE bin %% 16 = 4), 0), coalesce(sum(searches) FILTER (WHERE bin %% 16 = 5), 0),
            coalesce(sum(searches) FILTER (WHERE bin %% 16 = 6), 0), coalesce(sum(searches) FILTER (WHERE bin %% 16 = 7), 0),
            coalesce(sum(searches) FILTER (WHERE bin %% 16 = 8), 0), coalesce(sum(searches) FILTER (WHERE bin %% 16 = 9), 0),
            coalesce(sum(searches) FILTER (WHERE bin %% 16 = 10), 0), coalesce(sum(searches) FILTER (WHERE bin %% 16 = 11), 0),
            coalesce(sum(searches) FILTER (WHERE bin %% 16 = 12), 0), coalesce(sum(searches) FILTER (WHERE bin %% 16 = 13), 0),
            coalesce(sum(searches) FILTER (WHERE bin %% 16 = 14), 0), coalesce(sum(searches) FILTER (WHERE bin %% 16 = 15), 0)
        ]
    FROM r
    GROUP BY project, due, part
)
INSERT INTO rollup_latency
SELECT %(grain)s::text, project, due, series_id, bin,
    sum(searches)
FROM r
GROUP BY project, due, series_id, bin

-- name: sum_words
INSERT INTO rollup_words
SELECT %(grain)s::text, project, due, series_id, what, word,
    sum(n)
FROM r
GROUP BY project, due, series_id, what, word

-- name: sum_shown
INSERT INTO rollup_shown
SELECT %(grain)s::text, project, due, series_id, position,
    sum(shown), sum(accessed)
FROM r
GROUP BY project, due, series_id, position

-- name: sum_votes
INSERT INTO rollup_votes
SELECT %(grain)s::text, project, due, series_id, position, voter,
    sum(accessed), sum(judged), sum(useful)
FROM r
GROUP BY project, due, series_id, position, voter

-- name: sum_judged
INSERT INTO rollup_judged
SELECT %(grain)s::text, project, due, series_id, voter, k,
    sum(searches), sum(useful), sum(judged), sum(useful_sq), sum(judged_sq), sum(useful_judged)
FROM r
GROUP BY project, due, series_id, voter, k

-- name: epochs_of
-- Whose days these are.
SELECT DISTINCT k.epoch
FROM rollup_searches r
JOIN rollup_series k USING (series_id)
WHERE r.grain = 'day' AND r.project = %(project)s AND r.bucket = ANY (%(buckets)s)

-- name: clear_epochs
DELETE FROM epochs e
WHERE e.project = %(project)s AND e.epoch = ANY (%(epochs)s)
  AND NOT EXISTS (
      SELECT FROM rollup_series k
      JOIN rollup_searches r ON r.grain = 'day' AND r.project = k.project AND r.series_id = k.series_id
      WHERE k.project = e.project AND k.epoch = e.epoch AND r.first_ran_at IS NOT NULL
  )

-- name: epochs
-- Searches that ran; a skipped one ran under no weights. The latest search's weights are kept, also when retention has
-- taken it since.
INSERT INTO epochs AS e (project, epoch, first_seen_at, last_seen_at, searches, weights, index_version, embedding_model)
SELECT seen.*, latest.weights, latest.index_version, latest.embedding_model
FROM (
    SELECT k.project, k.epoch, min(r.first_ran_at) AS first_seen_at, max(r.last_ran_at) AS last_seen_at,
        sum(r.searches - r.skipped)
    FROM rollup_series k
    JOIN rollup_searches r ON r.grain = 'day' AND r.project = k.project AND r.series_id = k.series_id
    WHERE k.project = %(project)s AND k.epoch = ANY (%(epochs)s)
    GROUP BY k.project, k.epoch
    HAVING min(r.first_ran_at) IS NOT NULL
) AS seen
LEFT JOIN LATERAL (
    SELECT search_id, weights, index_version, embedding_model
    FROM logical_searches l
    WHERE l.project = seen.project AND l.started_at = seen.last_seen_at AND l.epoch = seen.epoch
      AND l.status <> 'skipped'
    ORDER BY search_id DESC LIMIT 1
) AS latest ON true
ON CONFLICT (project, epoch) DO UPDATE SET
    first_seen_at = excluded.first_seen_at,
    last_seen_at = excluded.last_seen_at,
    searches = excluded.searches,
    weights = CASE WHEN excluded.weights IS NULL THEN e.weights ELSE excluded.weights END,
    index_version = CASE WHEN excluded.weights IS NULL THEN e.index_version ELSE excluded.index_version END,
    embedding_model = CASE WHEN excluded.weights IS NULL THEN e.embedding_model ELSE excluded.embedding_model END
