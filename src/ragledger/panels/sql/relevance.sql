-- Was what came back useful: votes, with what they rest on. Every precision is of one kind of voter.

-- name: by_k
WITH judged AS (
    SELECT r.k, sum(r.searches) AS searches, sum(r.useful) AS useful, sum(r.judged) AS judged, sum(r.useful_sq) AS useful_sq,
        sum(r.judged_sq) AS judged_sq, sum(r.useful_judged) AS useful_judged
    FROM rollup_judged r
    WHERE r.voter = ${voter:sqlstring} AND {scope}
    GROUP BY r.k
), shown AS MATERIALIZED (
    SELECT r.position, sum(r.shown) AS shown
    FROM rollup_shown r
    WHERE r.position BETWEEN 1 AND 10 AND {scope}
    GROUP BY r.position
)
SELECT k::float8 AS k, (useful / nullif(judged, 0))::float8 AS precision, i.low, i.high,
    (judged / nullif((SELECT sum(shown) FROM shown WHERE position <= k), 0))::float8 AS "judged share",
    judged::float8 AS "judged hits", searches::float8 AS searches
FROM judged
CROSS JOIN LATERAL precision_interval(searches, useful, judged, useful_sq, judged_sq, useful_judged) AS i
ORDER BY k

-- name: over_time
WITH counted AS (
    SELECT r.bucket AS time, sum(r.searches) AS searches, sum(r.useful) AS useful, sum(r.judged) AS judged,
        sum(r.useful_sq) AS useful_sq, sum(r.judged_sq) AS judged_sq, sum(r.useful_judged) AS useful_judged
    FROM rollup_judged r
    WHERE r.k = (${k:sqlstring})::int4 AND r.voter = ${voter:sqlstring} AND {scope}
    GROUP BY r.bucket
)
SELECT time, (useful / nullif(judged, 0))::float8 AS precision, i.low, i.high, judged::float8 AS "judged hits"
FROM {every}
LEFT JOIN counted USING (time)
CROSS JOIN LATERAL precision_interval(searches, useful, judged, useful_sq, judged_sq, useful_judged) AS i
ORDER BY time

-- name: judged_share
-- Where something was shown and nobody voted the share is 0, which is known; where nothing was shown there is none.
WITH counted AS (
    SELECT r.bucket AS time, sum(r.shown) AS shown
    FROM rollup_shown r
    WHERE r.position BETWEEN 1 AND (${k:sqlstring})::int4 AND {scope}
    GROUP BY r.bucket
), votes AS (
    SELECT r.bucket AS time, sum(r.judged) AS judged
    FROM rollup_judged r
    WHERE r.k = (${k:sqlstring})::int4 AND r.voter = ${voter:sqlstring} AND {scope}
    GROUP BY r.bucket
)
SELECT time, (coalesce(judged, 0) / nullif(shown, 0))::float8 AS "judged share", shown::float8 AS "shown hits"
FROM {every}
LEFT JOIN counted USING (time)
LEFT JOIN votes USING (time)
ORDER BY time

-- name: ranks
-- What was not delivered has no position, and is left out at the end: sooner it costs more.
WITH shown AS MATERIALIZED (
    SELECT r.position, sum(r.shown) AS shown FROM rollup_shown r WHERE {scope} GROUP BY r.position
), votes AS (
    SELECT r.position, sum(r.judged) AS judged, sum(r.useful) AS useful
    FROM rollup_votes r
    WHERE r.voter = ${voter:sqlstring} AND {scope}
    GROUP BY r.position
)
SELECT CASE WHEN position > 20 THEN 'beyond 20' ELSE position::text END AS rank,
    (shown / nullif(sum(shown) OVER (), 0))::float8 AS "of all shown",
    (coalesce(judged, 0) / nullif(sum(judged) OVER (), 0))::float8 AS "of all judged",
    (coalesce(useful, 0) / nullif(sum(useful) OVER (), 0))::float8 AS "of all useful"
FROM shown
LEFT JOIN votes USING (position)
WHERE position >= 1
ORDER BY shown.position

-- name: funnel
-- Nobody said that a hit was accessed, or judged one: not measured, which is not none. Nor are candidates of which a search that
-- ended well did not tell: their sum would be held against what all admitted.
WITH considered AS (
    SELECT sum(r.candidates) AS hits, sum(r.candidates_known) AS known, sum(r.ok) AS ok FROM rollup_searches r WHERE {scope}
), shown AS (
    SELECT sum(r.shown) AS admitted, sum(r.shown) FILTER (WHERE r.position >= 1) AS reached, sum(r.accessed) AS accessed
    FROM rollup_shown r
    WHERE {scope}
), votes AS (
    SELECT sum(r.judged) AS judged, sum(r.useful) AS useful FROM rollup_votes r WHERE r.voter = ${voter:sqlstring} AND {scope}
)
SELECT stage, came::float8 AS hits, (came / nullif(admitted, 0))::float8 AS "of the admitted"
FROM considered, shown, votes
CROSS JOIN LATERAL (VALUES
    (1, 'considered (candidates)', CASE WHEN known > 0 AND known >= ok THEN considered.hits END),
    (2, 'admitted', admitted),
    (3, 'in the prompt or shown', reached),
    (4, 'accessed', nullif(accessed, 0)),
    (5, 'judged', nullif(judged, 0)),
    (6, 'useful', CASE WHEN judged > 0 THEN useful END)
) AS stages(number, stage, came)
ORDER BY number

-- name: voters
WITH judged AS (
    SELECT r.voter, sum(r.searches) AS searches, sum(r.useful) AS useful, sum(r.judged) AS judged,
        sum(r.useful_sq) AS useful_sq, sum(r.judged_sq) AS judged_sq, sum(r.useful_judged) AS useful_judged
    FROM rollup_judged r
    WHERE r.k = (${k:sqlstring})::int4 AND {scope}
    GROUP BY r.voter
)
SELECT voter, (useful / nullif(judged, 0))::float8 AS precision, i.low, i.high, judged::float8 AS "judged hits",
    searches::float8 AS searches
FROM judged
CROSS JOIN LATERAL precision_interval(searches, useful, judged, useful_sq, judged_sq, useful_judged) AS i
ORDER BY judged DESC, voter

-- name: epochs
-- The latest hundred first, and of their votes only those since the first of them was seen.
WITH ran AS (
    SELECT r.series_id, sum(r.searches - r.skipped) AS ran, sum(r.found) AS found, sum(r.ok - r.untold) AS told
    FROM rollup_searches r
    WHERE {scope}
    GROUP BY r.series_id
), latest AS MATERIALIZED (
    SELECT s.project, s.epoch, e.first_seen_at, e.last_seen_at, array_agg(s.series_id) AS series, sum(ran) AS ran,
        sum(found) AS found, sum(told) AS told
    FROM ran
    JOIN rollup_series s USING (series_id)
    LEFT JOIN epochs e USING (project, epoch)
    GROUP BY s.project, s.epoch, e.first_seen_at, e.last_seen_at
    ORDER BY e.last_seen_at DESC, s.project, s.epoch
    LIMIT 100
), judged AS (
    SELECT r.series_id, sum(r.searches) AS searches, sum(r.useful) AS useful, sum(r.judged) AS judged,
        sum(r.useful_sq) AS useful_sq, sum(r.judged_sq) AS judged_sq, sum(r.useful_judged) AS useful_judged
    FROM rollup_judged r
    WHERE r.k = (${k:sqlstring})::int4 AND r.voter = ${voter:sqlstring} AND {scope} AND r.bucket >= (SELECT date_trunc({grain}, min(first_seen_at), 'UTC') FROM latest)
    GROUP BY r.series_id
), shown AS (
    SELECT r.series_id, sum(r.shown) AS shown
    FROM rollup_shown r
    WHERE r.position BETWEEN 1 AND (${k:sqlstring})::int4 AND {scope} AND r.bucket >= (SELECT date_trunc({grain}, min(first_seen_at), 'UTC') FROM latest)
    GROUP BY r.series_id
), counted AS (
    SELECT l.project, l.epoch, l.first_seen_at, l.last_seen_at, l.ran, l.found, l.told, sum(shown) AS shown,
        sum(searches) AS searches, sum(useful) AS useful, sum(judged) AS judged, sum(useful_sq) AS useful_sq,
        sum(judged_sq) AS judged_sq, sum(useful_judged) AS useful_judged
    FROM latest l
    CROSS JOIN LATERAL unnest(l.series) AS of(series_id)
    LEFT JOIN shown USING (series_id)
    LEFT JOIN judged USING (series_id)
    GROUP BY l.project, l.epoch, l.first_seen_at, l.last_seen_at, l.ran, l.found, l.told
)
SELECT project, epoch, c.first_seen_at AS "first seen", c.last_seen_at AS "last seen", c.ran::float8 AS searches,
    (c.useful / nullif(c.judged, 0))::float8 AS precision, i.low, i.high, c.judged::float8 AS "judged hits",
    (c.judged / nullif(c.shown, 0))::float8 AS "judged share", c.found::float8 / nullif(c.told, 0)::float8 AS "hit rate",
    (e.weights -> 'effective')::text AS "effective weights", e.index_version AS index, e.embedding_model AS "embedding model"
FROM counted c
LEFT JOIN epochs e USING (project, epoch)
CROSS JOIN LATERAL precision_interval(c.searches, c.useful, c.judged, c.useful_sq, c.judged_sq, c.useful_judged) AS i
ORDER BY c.last_seen_at DESC, project, epoch
