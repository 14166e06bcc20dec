-- What `ragledger measure` reads. `sql/scope.sql` opens every query.
-- A filter that is null filters nothing, a bound that is null is no bound.
--
-- Rules that hold throughout (what the numbers mean is in measures/report.py):
--   a group of attempts counts once, by its last attempt, in the window that the last attempt falls in;
--   only ok searches have hits to judge, and only admitted hits count;
--   the position of a hit is its place in the latest delivery where there is one (null: it was dropped there),
--   else the rank that the retriever gave it; all positions from %(beyond)s on are one;
--   nothing is sorted, because collations differ: measures/summary.py sorts;
--   sums of useful votes are grouped by the number of actors who voted, so that shares are added up exactly.

-- name: extent
SELECT count(*) AS searches,
       min(started_at) AS first_search,
       max(started_at) AS last_search,
       array_agg(DISTINCT project) AS projects,
       array_agg(DISTINCT corpus) AS corpora
FROM scope;

-- name: groups
-- A hit that only the lexical signal scored, and with 0, is padding: measures/rates.py says why.
-- EXISTS and not an aggregate over hits: it reads one or two hits of a search, not all (3 times faster, measured).
, answered AS (
    SELECT s.surface, s.in_session, s.actor_kind, s.status, s.latency_ms, s.admitted_count,
           EXISTS (SELECT FROM hits h WHERE h.search_id = s.search_id AND h.admitted) AS any_hit,
           EXISTS (
               SELECT FROM hits h
               WHERE h.search_id = s.search_id
                 AND h.admitted
                 AND NOT (
                     h.lexical_score IS NOT DISTINCT FROM 0
                     AND h.vector_score IS NULL
                     AND coalesce(h.score, 0) = 0
                     AND NOT coalesce(jsonb_path_exists(h.signals, '$.** ? (@.type() == "number")'), false)
                 )
           ) AS real_hit
    FROM scope s
)
SELECT CASE grouping(surface, in_session, actor_kind)
           WHEN 7 THEN 'all' WHEN 3 THEN 'surface' WHEN 5 THEN 'session' ELSE 'actor_kind'
       END AS grouped_by,
       surface,
       in_session,
       actor_kind,
       count(*) FILTER (WHERE status = 'ok') AS ok,
       count(*) FILTER (WHERE status = 'error') AS error,
       count(*) FILTER (WHERE status = 'cancelled') AS cancelled,
       count(*) FILTER (WHERE status = 'skipped') AS skipped,
       -- Nobody knows what came back: the result could not be read, or was never handed over.
       count(*) FILTER (WHERE status = 'ok' AND admitted_count IS NULL AND NOT real_hit) AS untold,
       count(*) FILTER (WHERE status = 'ok' AND admitted_count IS NOT NULL AND NOT any_hit) AS empty,
       count(*) FILTER (WHERE status = 'ok' AND real_hit) AS found,
       count(latency_ms) FILTER (WHERE status = 'ok') AS timed,
       percentile_disc(0.50) WITHIN GROUP (ORDER BY latency_ms) FILTER (WHERE status = 'ok') AS p50_ms,
       percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms) FILTER (WHERE status = 'ok') AS p95_ms
FROM answered
GROUP BY GROUPING SETS ((), (surface), (in_session), (actor_kind));

-- name: conditions
SELECT count(*) FILTER (WHERE degraded AND status <> 'skipped') AS degraded,
       count(*) FILTER (WHERE vector_available) AS vector_available,
       count(*) FILTER (WHERE NOT vector_available) AS vector_unavailable,
       count(*) FILTER (WHERE vector_available IS NULL) AS vector_unknown,
       (SELECT count(*) FROM delivered) AS delivered
FROM scope;

-- name: reasons
SELECT 'skipped' AS what, skip_reason AS reason, count(*) AS searches
FROM scope
WHERE status = 'skipped'
GROUP BY skip_reason
UNION ALL
SELECT 'degraded', degraded_reason, count(*)
FROM scope
WHERE degraded AND status <> 'skipped'
GROUP BY degraded_reason;

-- name: epochs
-- Searches of one epoch may differ in weights that shape no ranking: the latest search's are shown.
, seen AS (
    SELECT epoch,
           count(*) AS searches,
           count(*) FILTER (WHERE status = 'ok') AS ok,
           min(started_at) AS first_seen,
           max(started_at) AS last_seen
    FROM scope
    WHERE status <> 'skipped'
    GROUP BY epoch
),
latest AS (
    SELECT DISTINCT ON (e.epoch) e.epoch, s.search_id
    FROM seen e
    JOIN scope s ON s.epoch = e.epoch AND s.started_at = e.last_seen AND s.status <> 'skipped'
    ORDER BY e.epoch, s.search_id DESC
)
SELECT e.epoch, e.searches, e.ok, e.first_seen, e.last_seen, w.weights, w.index_version, w.embedding_model
FROM seen e
JOIN latest l USING (epoch)
JOIN searches w USING (search_id);

-- name: shown
, opened AS (
    SELECT DISTINCT search_id, rank FROM feedback WHERE stage = 'accessed'
)
SELECT p.epoch,
       p.actor_kind,
       p.position,
       count(*) AS hits,
       count(o.rank) AS accessed
FROM placed p
LEFT JOIN opened o USING (search_id, rank)
GROUP BY 1, 2, 3;

-- name: accessed
, opened AS (
    SELECT DISTINCT search_id, rank, actor_kind FROM feedback WHERE stage = 'accessed'
)
SELECT o.actor_kind AS voter, p.position, count(*) AS hits
FROM opened o
JOIN placed p USING (search_id, rank)
GROUP BY 1, 2;

-- name: judged
, judgments AS (
    SELECT search_id, rank, actor_kind AS voter,
           count(*) AS actors,
           count(*) FILTER (WHERE outcome = ANY (%(useful)s::text[])) AS useful
    FROM current_votes
    GROUP BY search_id, rank, actor_kind
)
SELECT p.epoch,
       p.actor_kind,
       j.voter,
       p.position,
       j.actors,
       sum(j.useful)::int8 AS useful_votes,
       count(*) AS hits
FROM judgments j
JOIN placed p USING (search_id, rank)
GROUP BY 1, 2, 3, 4, 5;

-- name: voters
-- Actors without an id cannot be told apart: together they are one actor, as in current_votes.
SELECT v.actor_kind AS voter,
       count(*) AS votes,
       count(DISTINCT v.actor_id) + (count(*) > count(v.actor_id))::int4 AS actors,
       count(DISTINCT v.search_id) AS searches
FROM current_votes v
JOIN scope s USING (search_id)
JOIN hits h USING (search_id, rank)
WHERE s.status = 'ok' AND h.admitted
GROUP BY v.actor_kind;
