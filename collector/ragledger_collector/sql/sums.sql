-- Hours are sums of minutes, days are sums of hours. `buckets` are those of a project, `grain` theirs and `finer` the one
-- below. Nothing is read but the rollups, so what a sealed minute says stays in its hour and its day.

-- name: clear_searches
DELETE FROM rollup_searches WHERE grain = %(grain)s AND project = %(project)s AND bucket = ANY (%(buckets)s)

-- name: sum_searches
INSERT INTO rollup_searches
SELECT %(grain)s::text, r.project, due.bucket, r.series_id,
    sum(r.searches), sum(r.ok), sum(r.error), sum(r.cancelled), sum(r.skipped), sum(r.degraded),
    sum(r.vector_available), sum(r.vector_unavailable), sum(r.untold), sum(r.empty), sum(r.found),
    sum(r.delivered), sum(r.candidates), sum(r.candidates_known), sum(r.admitted), sum(r.admitted_known),
    sum(r.top_candidate_sum), sum(r.top_candidate_known), sum(r.top_admitted_sum), sum(r.top_admitted_known),
    sum(r.timed), min(r.first_ran_at), max(r.last_ran_at)
FROM unnest(%(buckets)s::timestamptz[]) AS due(bucket)
CROSS JOIN LATERAL (
    SELECT * FROM rollup_searches
    WHERE grain = %(finer)s AND project = %(project)s AND bucket >= due.bucket AND bucket < due.bucket + %(length)s::interval
    OFFSET 0
) AS r
GROUP BY r.project, due.bucket, r.series_id

-- name: clear_latency
DELETE FROM rollup_latency WHERE grain = %(grain)s AND project = %(project)s AND bucket = ANY (%(buckets)s)

-- name: sum_latency
INSERT INTO rollup_latency
SELECT %(grain)s::text, r.project, due.bucket, r.series_id, r.bin,
    sum(r.searches)
FROM unnest(%(buckets)s::timestamptz[]) AS due(bucket)
CROSS JOIN LATERAL (
    SELECT * FROM rollup_latency
    WHERE grain = %(finer)s AND project = %(project)s AND bucket >= due.bucket AND bucket < due.bucket + %(length)s::interval
    OFFSET 0
) AS r
GROUP BY r.project, due.bucket, r.series_id, r.bin

-- name: clear_words
DELETE FROM rollup_words WHERE grain = %(grain)s AND project = %(project)s AND bucket = ANY (%(buckets)s)

-- name: sum_words
INSERT INTO rollup_words
SELECT %(grain)s::text, r.project, due.bucket, r.series_id, r.what, r.word,
    sum(r.n)
FROM unnest(%(buckets)s::timestamptz[]) AS due(bucket)
CROSS JOIN LATERAL (
    SELECT * FROM rollup_words
    WHERE grain = %(finer)s AND project = %(project)s AND bucket >= due.bucket AND bucket < due.bucket + %(length)s::interval
    OFFSET 0
) AS r
GROUP BY r.project, due.bucket, r.series_id, r.what, r.word

-- name: clear_shown
DELETE FROM rollup_shown WHERE grain = %(grain)s AND project = %(project)s AND bucket = ANY (%(buckets)s)

-- name: sum_shown
INSERT INTO rollup_shown
SELECT %(grain)s::text, r.project, due.bucket, r.series_id, r.position,
    sum(r.shown), sum(r.accessed)
FROM unnest(%(buckets)s::timestamptz[]) AS due(bucket)
CROSS JOIN LATERAL (
    SELECT * FROM rollup_shown
    WHERE grain = %(finer)s AND project = %(project)s AND bucket >= due.bucket AND bucket < due.bucket + %(length)s::interval
    OFFSET 0
) AS r
GROUP BY r.project, due.bucket, r.series_id, r.position

-- name: clear_votes
DELETE FROM rollup_votes WHERE grain = %(grain)s AND project = %(project)s AND bucket = ANY (%(buckets)s)

-- name: sum_votes
INSERT INTO rollup_votes
SELECT %(grain)s::text, r.project, due.bucket, r.series_id, r.position, r.voter,
    sum(r.accessed), sum(r.judged), sum(r.useful)
FROM unnest(%(buckets)s::timestamptz[]) AS due(bucket)
CROSS JOIN LATERAL (
    SELECT * FROM rollup_votes
    WHERE grain = %(finer)s AND project = %(project)s AND bucket >= due.bucket AND bucket < due.bucket + %(length)s::interval
    OFFSET 0
) AS r
GROUP BY r.project, due.bucket, r.series_id, r.position, r.voter

-- name: clear_judged
DELETE FROM rollup_judged WHERE grain = %(grain)s AND project = %(project)s AND bucket = ANY (%(buckets)s)

-- name: sum_judged
INSERT INTO rollup_judged
SELECT %(grain)s::text, r.project, due.bucket, r.series_id, r.voter, r.k,
    sum(r.searches), sum(r.useful), sum(r.judged), sum(r.useful_sq), sum(r.judged_sq), sum(r.useful_judged)
FROM unnest(%(buckets)s::timestamptz[]) AS due(bucket)
CROSS JOIN LATERAL (
    SELECT * FROM rollup_judged
    WHERE grain = %(finer)s AND project = %(project)s AND bucket >= due.bucket AND bucket < due.bucket + %(length)s::interval
    OFFSET 0
) AS r
GROUP BY r.project, due.bucket, r.series_id, r.voter, r.k

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
