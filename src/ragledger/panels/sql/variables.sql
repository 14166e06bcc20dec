-- What the viewer may choose, and the moments that are drawn across time series.

-- name: project
SELECT DISTINCT project FROM rollup_series ORDER BY 1

-- name: corpus
SELECT DISTINCT coalesce(corpus, '(none)') FROM rollup_series WHERE project = {projects} ORDER BY 1

-- name: surface
SELECT DISTINCT coalesce(surface, '(none)') FROM rollup_series WHERE project = {projects} ORDER BY 1

-- name: epoch
SELECT epoch FROM epochs WHERE project = {projects} GROUP BY epoch ORDER BY max(last_seen_at) DESC, epoch

-- name: actor_kind
SELECT DISTINCT actor_kind FROM rollup_series WHERE project = {projects} ORDER BY 1

-- name: epochs
-- A change is where the searches of one corpus and surface use an epoch that they did not use in the bucket before; those of a
-- project and day are one. Where they go to and fro, nothing changed: two settings are in use at a time.
WITH used AS (
    SELECT s.project, s.corpus, s.surface, s.epoch, r.bucket, min(coalesce(r.first_ran_at, r.bucket)) AS time
    FROM rollup_searches r
    JOIN rollup_series s USING (series_id)
    WHERE {scope} AND r.searches > r.skipped
    GROUP BY s.project, s.corpus, s.surface, s.epoch, r.bucket
), numbered AS (
    SELECT u.*, dense_rank() OVER (PARTITION BY project, corpus, surface ORDER BY bucket) AS number,
        lag(epoch) OVER (PARTITION BY project, corpus, surface ORDER BY bucket, time, epoch) AS former
    FROM used u
), known AS (
    SELECT n.*, lag(number) OVER (PARTITION BY project, corpus, surface, epoch ORDER BY bucket) AS before FROM numbered n
)
SELECT min(k.time) AS time,
    k.project || ': ' || coalesce(nullif(concat_ws(', ',
        CASE WHEN e.weights -> 'effective' IS DISTINCT FROM f.weights -> 'effective' THEN 'weights' END,
        CASE WHEN e.index_version IS DISTINCT FROM f.index_version THEN 'index' END,
        CASE WHEN e.embedding_model IS DISTINCT FROM f.embedding_model THEN 'embedding model' END
    ), ''), 'epoch') || CASE WHEN count(*) > count(DISTINCT (k.corpus, k.surface)) THEN ' to and fro' ELSE ' changed' END AS title,
    'epoch ' || e.epoch || coalesce(' ' || (e.weights -> 'effective')::text, '') AS text,
    k.project AS tags
FROM known k
JOIN epochs e ON e.project = k.project AND e.epoch = k.epoch
JOIN epochs f ON f.project = k.project AND f.epoch = k.former
WHERE k.number > 1 AND k.before IS DISTINCT FROM k.number - 1
GROUP BY k.project, date_trunc('day', k.time, 'UTC'), e.project, e.epoch, f.project, f.epoch
ORDER BY 1, 2
