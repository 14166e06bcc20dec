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
-- An epoch is new when the weights, the index or the embedding model changed; the first one of a project is no change.
SELECT first_seen_at AS time,
    project || ': ' || concat_ws(', ',
        CASE WHEN weights -> 'effective' IS DISTINCT FROM former_weights -> 'effective' THEN 'weights' END,
        CASE WHEN index_version IS DISTINCT FROM former_index THEN 'index' END,
        CASE WHEN embedding_model IS DISTINCT FROM former_model THEN 'embedding model' END
    ) || ' changed' AS title,
    'epoch ' || epoch || coalesce(' ' || (weights -> 'effective')::text, '') AS text,
    project AS tags
FROM (
    SELECT e.*, row_number() OVER past AS number, lag(weights) OVER past AS former_weights,
        lag(index_version) OVER past AS former_index, lag(embedding_model) OVER past AS former_model
    FROM epochs e
    WHERE project = {projects}
    WINDOW past AS (PARTITION BY project ORDER BY first_seen_at, epoch)
) AS known
WHERE number > 1 AND $__timeFilter(first_seen_at)
ORDER BY first_seen_at
