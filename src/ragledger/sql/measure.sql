-- What `ragledger measure` reads. `sql/scope.sql` opens every query.
-- A filter that is null filters nothing, a bound that is null is no bound.
--
-- Rules that hold throughout (what the numbers mean is in measures/report.py):
--   a group of attempts counts once, by its last attempt, in the window that the last attempt falls in;
--   only ok searches have hits to judge, and only admitted hits count;
--   the position of a hit is its place in the latest delivery where there is one (null: it was dropped there),
--   else the rank that the retriever gave it; all positions from %(beyond)s on are one;
--   nothing is sorted, because collations differ: measures/summary.py sorts;
--   votes are counted, not divided, so that shares are added up exactly in Python.
--
-- Votes are few and hits are many (benchmarks/measure.py): what is about votes starts from them, in a stored result that is
-- then joined, and one query alone reads all hits.

-- name: settings
-- For the transaction of a measurement: sorts and joins of a million searches in memory, and no compiling of plans, which
-- costs more than it saves here. A page elsewhere costs little more than the next one: hits of a search lie together, and the
-- default (4, for discs that turn) made Postgres read all searches in order to find those of a few votes or deliveries.
SELECT set_config('work_mem', '128MB', true), set_config('jit', 'off', true), set_config('random_page_cost', '1.1', true);

-- name: alone
-- For each of two sessions that read side by side: they are two processes already.
SELECT set_config('max_parallel_workers_per_gather', '0', true);

-- name: searches
-- One pass over the searches for all that is counted of them: how many have everything in common that is asked about. Their
-- sums are made in measures/tallies.py.
SELECT s.project, s.corpus, s.epoch, s.surface, s.in_session, s.actor_kind, s.status, s.skip_reason, s.degraded,
       s.degraded_reason, s.vector_available, d.search_id IS NOT NULL AS delivered,
       count(*) AS searches,
       min(s.started_at) AS first_search,
       max(s.started_at) AS last_search
FROM scope s
LEFT JOIN delivered d ON d.search_id = s.search_id AND s.status = 'ok'
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12;

-- name: latencies
SELECT CASE grouping(surface, in_session, actor_kind)
           WHEN 7 THEN 'all' WHEN 3 THEN 'surface' WHEN 5 THEN 'session' ELSE 'actor_kind'
       END AS grouped_by,
       surface,
       in_session,
       actor_kind,
       count(*) AS timed,
       percentile_disc(0.50) WITHIN GROUP (ORDER BY latency_ms) AS p50_ms,
       percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p95_ms
FROM scope
WHERE status = 'ok' AND latency_ms IS NOT NULL
GROUP BY GROUPING SETS ((), (surface), (in_session), (actor_kind));

-- name: weights
-- Searches of one epoch may differ in weights that shape no ranking: the latest search's are shown. `searches` told when it
-- began, so it is found by an index.
SELECT DISTINCT ON (e.epoch) e.epoch, w.weights, w.index_version, w.embedding_model
FROM unnest(%(projects)s::text[], %(epochs)s::text[], %(moments)s::timestamptz[]) AS e (project, epoch, moment)
JOIN scope s ON s.project = e.project AND s.epoch = e.epoch AND s.started_at = e.moment AND s.status <> 'skipped'
JOIN searches w USING (search_id)
ORDER BY e.epoch, s.search_id DESC;

-- name: answers
-- Ok searches by what came back. Found: at least one real hit (a view of schema.sql says what that is). Untold:
-- nobody knows what came back, because the result could not be read or was never handed over.
-- The first hit settles nearly all searches by one join; the rest are looked up one by one.
, unsettled AS MATERIALIZED (
    SELECT s.search_id, s.surface, s.in_session, s.actor_kind, s.admitted_count
    FROM scope s
    WHERE s.status = 'ok'
      AND NOT EXISTS (SELECT FROM real_hits r WHERE r.search_id = s.search_id AND r.rank = 1)
),
settled AS (
    SELECT u.*,
           EXISTS (SELECT FROM hits h WHERE h.search_id = u.search_id AND h.admitted) AS any_hit,
           EXISTS (SELECT FROM real_hits r WHERE r.search_id = u.search_id) AS real_hit
    FROM unsettled u
)
SELECT surface,
       in_session,
       actor_kind,
       count(*) FILTER (WHERE admitted_count IS NULL AND NOT real_hit) AS untold,
       count(*) FILTER (WHERE admitted_count IS NOT NULL AND NOT any_hit) AS empty,
       count(*) FILTER (WHERE admitted_count IS NOT NULL AND any_hit AND NOT real_hit) AS padded_only
FROM settled
GROUP BY surface, in_session, actor_kind;

-- name: shown
-- The one query that reads every hit: all of them by rank, which Postgres can do in parallel; then what deliveries moved is
-- taken from where it was and added where it stood.
-- Ten million times one number is grouped by, not three texts: the part of the searches that a search belongs to, by its name.
-- OFFSET 0: once per search, not per hit.
, parts AS MATERIALIZED (
    SELECT *, epoch || '/' || actor_kind || coalesce('/' || surface, '') AS name
    FROM unnest(%(epochs)s::text[], %(actor_kinds)s::text[], %(surfaces)s::text[])
        WITH ORDINALITY AS of (epoch, actor_kind, surface, part)
),
numbered AS (
    SELECT search_id,
           ((SELECT jsonb_object_agg(name, part) FROM parts)
               ->> (epoch || '/' || actor_kind || coalesce('/' || surface, '')))::int4 AS part
    FROM scope
    WHERE status = 'ok'
    OFFSET 0
),
by_rank AS (
    SELECT n.part, least(h.rank, %(beyond)s::int4) AS position, count(*) AS hits
    FROM numbered n
    JOIN hits h USING (search_id)
    WHERE h.admitted
    GROUP BY 1, 2
),
moved AS (
    SELECT s.epoch, s.actor_kind, s.surface,
           least(h.rank, %(beyond)s::int4) AS was,
           array_position(d.hit_ranks, h.rank) AS position,
           count(*) AS hits
    FROM delivered d
    JOIN scope s USING (search_id)
    JOIN hits h USING (search_id)
    WHERE s.status = 'ok' AND h.admitted
    GROUP BY 1, 2, 3, 4, 5
),
counted AS (
    SELECT p.epoch, p.actor_kind, p.surface, r.position, r.hits FROM by_rank r JOIN parts p USING (part)
    UNION ALL
    SELECT epoch, actor_kind, surface, was, -hits FROM moved
    UNION ALL
    SELECT epoch, actor_kind, surface,
           CASE WHEN position > %(beyond)s::int4 THEN %(beyond)s::int4 ELSE position END,
           hits
    FROM moved
)
SELECT epoch, actor_kind, surface, position, sum(hits)::int8 AS hits
FROM counted
GROUP BY epoch, actor_kind, surface, position
HAVING sum(hits) > 0;

-- name: opened
-- By anyone (a null voter), and by the actors of each kind.
, opened AS MATERIALIZED (
    SELECT DISTINCT f.search_id, f.rank, f.actor_kind
    FROM feedback f
    WHERE f.stage = 'accessed'
),
standing AS (
    SELECT o.search_id, o.rank, o.actor_kind AS voter, p.position
    FROM opened o
    JOIN placed p USING (search_id, rank)
)
SELECT NULL AS voter, position, count(DISTINCT (search_id, rank)) AS hits
FROM standing
GROUP BY position
UNION ALL
SELECT voter, position, count(*)
FROM standing
GROUP BY voter, position;

-- name: votes
-- All that is asked of votes, from one join of them. Two kinds of rows:
-- `ballot`: what was judged in a search, and how many searches (`n`) were judged exactly so. For each hit and kind of voters:
--   rank, position, the number of the kind, actors, useful votes, and the sum of 2^y - 1 for y = 0 .. 3.
-- `all`, `epoch`, `actor_kind`, `surface`: of everything or of one of these, the sums of measures/interval.py within k with the
--   actors (`n`) for clusters; a hit that several judged is divided among them. k null: delivered or not, anywhere.
-- Actors without an id cannot be told apart: together they are one actor, as in current_votes.
, votes AS MATERIALIZED (
    SELECT v.search_id, v.rank, v.actor_kind AS voter, v.actor_id,
           (v.outcome = ANY (%(useful)s::text[]))::int4 AS useful,
           CASE v.outcome
               WHEN 'not_relevant' THEN 0 WHEN 'partially_relevant' THEN 1 WHEN 'relevant' THEN 3 ELSE 7
           END AS gain,
           count(*) OVER (PARTITION BY v.search_id, v.rank, v.actor_kind) AS actors
    FROM current_votes v
),
standing AS MATERIALIZED (
    SELECT v.*, p.epoch, p.actor_kind, p.surface, p.position
    FROM votes v
    JOIN positions p USING (search_id, rank)
),
judged AS (
    SELECT search_id, epoch, actor_kind, surface, rank, position,
           array_position(ARRAY['human', 'agent', 'judge', 'system'], voter) AS voter,
           count(*)::int4 AS actors, sum(useful)::int4 AS useful, sum(gain)::int4 AS gain
    FROM standing
    GROUP BY search_id, epoch, actor_kind, surface, rank, position, voter
),
papers AS (
    SELECT epoch, actor_kind, surface,
           array_agg(ARRAY[rank, position, voter, actors, useful, gain] ORDER BY rank, voter) AS hits
    FROM judged
    GROUP BY search_id, epoch, actor_kind, surface
),
by_position AS (
    SELECT epoch, actor_kind, surface, voter, actor_id, position,
           sum(useful::float8 / actors) AS useful,
           sum(1 / actors::float8) AS judged
    FROM standing
    GROUP BY epoch, actor_kind, surface, voter, actor_id, position
),
shares AS (
    SELECT p.*, k.k
    FROM by_position p
    JOIN unnest(%(cuts)s::int4[]) AS k ON k.k IS NULL OR p.position <= k.k
),
sums AS (
    SELECT CASE grouping(epoch, actor_kind, surface)
               WHEN 7 THEN 'all' WHEN 3 THEN 'epoch' WHEN 5 THEN 'actor_kind' ELSE 'surface'
           END AS grouped_by,
           epoch, actor_kind, surface, voter, k, sum(useful) AS useful, sum(judged) AS judged
    FROM shares
    GROUP BY voter, actor_id, k, GROUPING SETS ((), (epoch), (actor_kind), (surface))
)
SELECT 'ballot' AS grouped_by, epoch, actor_kind, surface, hits, count(*) AS n,
       NULL::text AS voter, NULL::int4 AS k, NULL::float8 AS useful, NULL::float8 AS judged, NULL::float8 AS useful_sq,
       NULL::float8 AS judged_sq, NULL::float8 AS useful_judged
FROM papers
GROUP BY epoch, actor_kind, surface, hits
UNION ALL
SELECT grouped_by, epoch, actor_kind, surface, NULL, count(*), voter, k, sum(useful), sum(judged), sum(useful * useful),
       sum(judged * judged), sum(useful * judged)
FROM sums
GROUP BY grouped_by, epoch, actor_kind, surface, voter, k;

-- name: voters
-- For `ragledger compare`; a measurement has them from `votes`.
-- Actors without an id cannot be told apart: together they are one actor, as in current_votes.
, votes AS MATERIALIZED (
    SELECT search_id, rank, actor_kind AS voter, actor_id FROM current_votes
)
SELECT v.voter,
       count(*) AS votes,
       count(DISTINCT v.actor_id) + (count(*) > count(v.actor_id))::int4 AS actors,
       count(DISTINCT v.search_id) AS searches
FROM votes v
JOIN scope s USING (search_id)
JOIN hits h USING (search_id, rank)
WHERE s.status = 'ok' AND h.admitted
GROUP BY v.voter;
