-- What `ragledger compare` reads of one side, beside `searches`, `answers` and `voters` of `measure.sql`. `sql/scope.sql` opens every query.

-- name: running
-- The epochs that ran, by project and corpus, with when a search of each last ended well with nothing missing; first the one whose
-- weights run now, as `current` of calibrate.sql has it: what searches only fell back to, or failed under, comes last.
SELECT epoch, project, corpus, max(started_at) FILTER (WHERE status = 'ok' AND NOT degraded) AS last_healthy
FROM scope
WHERE status <> 'skipped'
GROUP BY epoch, project, corpus
ORDER BY last_healthy DESC NULLS LAST, max(started_at) DESC, epoch, project, corpus;

-- name: shared
SELECT count(*) AS searches FROM scope;

-- name: mix
SELECT project, corpus, surface, actor_kind,
       count(*) AS ran,
       count(*) FILTER (WHERE status = 'ok') AS ok,
       count(*) FILTER (WHERE degraded) AS degraded
FROM scope
WHERE status <> 'skipped'
GROUP BY project, corpus, surface, actor_kind;

-- name: latency
SELECT count(latency_ms) AS timed,
       percentile_disc(0.50) WITHIN GROUP (ORDER BY latency_ms) AS p50_ms,
       percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p95_ms
FROM scope
WHERE status = 'ok';

-- name: shown
SELECT position, count(*) AS hits
FROM placed
WHERE position <= 10
GROUP BY position;

-- name: clusters
-- One row per search and voter kind, with U and J at each k: what is dealt anew is whole searches.
, judgments AS MATERIALIZED (
    SELECT search_id, rank, actor_kind AS voter,
           avg((outcome = ANY (%(useful)s::text[]))::int4)::float8 AS useful
    FROM current_votes
    GROUP BY search_id, rank, actor_kind
)
SELECT j.voter,
       s.project,
       s.corpus,
       s.surface,
       coalesce(sum(j.useful) FILTER (WHERE p.position <= 1), 0) AS useful_1,
       count(*) FILTER (WHERE p.position <= 1) AS judged_1,
       coalesce(sum(j.useful) FILTER (WHERE p.position <= 3), 0) AS useful_3,
       count(*) FILTER (WHERE p.position <= 3) AS judged_3,
       coalesce(sum(j.useful) FILTER (WHERE p.position <= 5), 0) AS useful_5,
       count(*) FILTER (WHERE p.position <= 5) AS judged_5,
       sum(j.useful) AS useful_10,
       count(*) AS judged_10,
       s.query_key
FROM judgments j
JOIN placed p USING (search_id, rank)
JOIN searches s USING (search_id)
WHERE p.position <= 10
GROUP BY j.voter, s.search_id, s.project, s.corpus, s.surface, s.query_key;

-- name: actors
-- The same U and J by who voted on which question; a hit that several of a kind judged is divided among them, as in `votes` of measure.sql.
, votes AS MATERIALIZED (
    SELECT search_id, rank, actor_kind AS voter, actor_id,
           (outcome = ANY (%(useful)s::text[]))::int4::float8 AS useful,
           count(*) OVER (PARTITION BY search_id, rank, actor_kind)::float8 AS actors
    FROM current_votes
)
SELECT v.voter,
       s.project,
       s.corpus,
       s.surface,
       coalesce(sum(v.useful / v.actors) FILTER (WHERE p.position <= 1), 0) AS useful_1,
       coalesce(sum(1 / v.actors) FILTER (WHERE p.position <= 1), 0) AS judged_1,
       coalesce(sum(v.useful / v.actors) FILTER (WHERE p.position <= 3), 0) AS useful_3,
       coalesce(sum(1 / v.actors) FILTER (WHERE p.position <= 3), 0) AS judged_3,
       coalesce(sum(v.useful / v.actors) FILTER (WHERE p.position <= 5), 0) AS useful_5,
       coalesce(sum(1 / v.actors) FILTER (WHERE p.position <= 5), 0) AS judged_5,
       sum(v.useful / v.actors) AS useful_10,
       sum(1 / v.actors) AS judged_10,
       v.actor_id,
       s.query_key
FROM votes v
JOIN placed p USING (search_id, rank)
JOIN searches s USING (search_id)
WHERE p.position <= 10
GROUP BY v.voter, s.project, s.corpus, s.surface, v.actor_id, s.query_key;

-- name: questions
-- How often each question was asked; a null key counts the searches whose question cannot be told apart.
SELECT q.query_key, count(*) AS searches
FROM scope s
JOIN searches q USING (search_id)
WHERE s.status = 'ok'
GROUP BY q.query_key;
