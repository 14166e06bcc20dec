-- What `ragledger calibrate` reads. `sql/scope.sql` opens every query.
--
-- Rules that hold throughout (what the numbers mean is in measures/calibration.py):
--   only ok searches and admitted hits; votes of one kind of voters, %(voter)s, the latest of each actor on a hit;
--   a signal that was not scored is null, and stays null;
--   %(names)s are the signals that have a weight, in the order of the weights.

-- name: kinds
, judged AS (SELECT DISTINCT search_id, rank, actor_kind AS voter FROM feedback WHERE stage = 'judged')
SELECT j.voter, count(*) AS hits
FROM judged j
JOIN scope s USING (search_id)
WHERE s.status = 'ok'
GROUP BY j.voter;

-- name: searches
, voted AS (SELECT DISTINCT search_id FROM feedback WHERE stage = 'judged' AND actor_kind = %(voter)s)
SELECT w.search_id, w.epoch, w.index_version, w.embedding_model, w.degraded, 'hits_capped' = ANY (w.flags) AS capped,
       w.query_key, w.signals, f.candidates
FROM voted v
JOIN scope s USING (search_id)
JOIN searches w USING (search_id)
CROSS JOIN LATERAL (
    -- Not the fused score and not the rank: other weights give others. Where nothing else is kept, the score has to do.
    SELECT md5(string_agg(one, E'\n' ORDER BY one)) AS candidates
    FROM hits h
    CROSS JOIN LATERAL (
        SELECT concat_ws(' ', h.chunk_id, 'v', round(h.vector_score::numeric, 4), 'l', round(h.lexical_score::numeric, 4),
            (SELECT string_agg(concat_ws(' ', e.key, round((e.value ->> 'score')::numeric, 4)), ' ' ORDER BY e.key)
             FROM jsonb_each(CASE WHEN jsonb_typeof(h.signals) = 'object' THEN h.signals END) AS e),
            CASE WHEN h.vector_score IS NULL AND h.lexical_score IS NULL AND h.signals IS NULL
                THEN round(h.score::numeric, 4) END) AS one
    ) t
    WHERE h.search_id = w.search_id
) f
WHERE s.status = 'ok'
ORDER BY w.search_id;

-- name: hits
, judged AS (
    SELECT search_id, rank,
           count(*) AS votes,
           count(*) FILTER (WHERE outcome = ANY (%(useful)s::text[])) AS useful,
           array_agg(actor_id) AS actors
    FROM current_votes
    WHERE actor_kind = %(voter)s
    GROUP BY search_id, rank
)
SELECT j.search_id, j.rank, j.votes, j.useful, j.actors,
       (SELECT array_agg(CASE n.name WHEN 'vector' THEN h.vector_score WHEN 'lexical' THEN h.lexical_score
                             ELSE (h.signals -> n.name ->> 'score')::float8 END ORDER BY n.place)
        FROM unnest(%(names)s::text[]) WITH ORDINALITY AS n (name, place)) AS said
FROM judged j
JOIN scope s USING (search_id)
JOIN hits h USING (search_id, rank)
WHERE s.status = 'ok' AND h.admitted
ORDER BY j.search_id, j.rank;

-- name: places
-- As `hits`, with a hit's rank in each signal's own list in place of the score: as the member of an ensemble gave it, else
-- by score among all candidates of the search.
, judged AS (
    SELECT search_id, rank,
           count(*) AS votes,
           count(*) FILTER (WHERE outcome = ANY (%(useful)s::text[])) AS useful,
           array_agg(actor_id) AS actors
    FROM current_votes
    WHERE actor_kind = %(voter)s
    GROUP BY search_id, rank
),
legs AS (
    SELECT h.search_id, h.rank, n.place,
           (h.signals -> n.name ->> 'rank')::float8 AS told,
           CASE n.name WHEN 'vector' THEN h.vector_score WHEN 'lexical' THEN h.lexical_score
               ELSE (h.signals -> n.name ->> 'score')::float8 END AS score
    FROM (SELECT DISTINCT search_id FROM judged) j
    JOIN hits h USING (search_id)
    CROSS JOIN unnest(%(names)s::text[]) WITH ORDINALITY AS n (name, place)
),
ranked AS (
    SELECT search_id, rank, place,
           coalesce(told, CASE WHEN score IS NOT NULL THEN
               rank() OVER (PARTITION BY search_id, place ORDER BY score DESC NULLS LAST) END)::float8 AS said
    FROM legs
),
placed_hits AS (
    SELECT search_id, rank, array_agg(said ORDER BY place) AS said FROM ranked GROUP BY search_id, rank
)
SELECT j.search_id, j.rank, j.votes, j.useful, j.actors, p.said
FROM judged j
JOIN scope s USING (search_id)
JOIN hits h USING (search_id, rank)
JOIN placed_hits p USING (search_id, rank)
WHERE s.status = 'ok' AND h.admitted
ORDER BY j.search_id, j.rank;

-- name: candidates
-- Everything that some searches considered, admitted or not.
SELECT h.search_id,
       (SELECT array_agg(CASE n.name WHEN 'vector' THEN h.vector_score WHEN 'lexical' THEN h.lexical_score
                             ELSE (h.signals -> n.name ->> 'score')::float8 END ORDER BY n.place)
        FROM unnest(%(names)s::text[]) WITH ORDINALITY AS n (name, place)) AS said
FROM hits h
WHERE h.search_id = ANY (%(searches)s::uuid[]);

-- name: ranks
-- Of the searches that voters of the kind judged at all.
, voted AS (SELECT DISTINCT search_id FROM feedback WHERE stage = 'judged' AND actor_kind = %(voter)s),
judged AS (
    SELECT search_id, rank, avg((outcome = ANY (%(useful)s::text[]))::int4)::float8 AS useful
    FROM current_votes
    WHERE actor_kind = %(voter)s
    GROUP BY search_id, rank
)
SELECT h.rank, count(*) AS shown, count(j.rank) AS judged, coalesce(sum(j.useful), 0) AS useful
FROM voted v
JOIN scope s USING (search_id)
JOIN searches w USING (search_id)
JOIN hits h USING (search_id)
LEFT JOIN judged j USING (search_id, rank)
WHERE s.status = 'ok' AND h.admitted AND NOT w.degraded
  AND w.index_version IS NOT DISTINCT FROM %(index_version)s::text
  AND w.embedding_model IS NOT DISTINCT FROM %(embedding_model)s::text
GROUP BY h.rank;

-- name: current
-- Whose weights run now, voted on or not: the newest search that ended well with nothing missing, else the newest that ran.
-- A search that fell back to one signal, or failed, ran under what was left of them.
SELECT s.epoch, w.top_k
FROM scope s
JOIN searches w USING (search_id)
WHERE s.status <> 'skipped'
ORDER BY (s.status = 'ok' AND NOT s.degraded) DESC, s.started_at DESC, s.search_id DESC
LIMIT 1;

-- name: logged
-- The signals that the latest searches of an epoch scored. One that is new has no votes yet, and a weight all the same.
, latest AS (
    SELECT s.search_id FROM scope s
    WHERE s.epoch = %(running)s AND s.status = 'ok'
    ORDER BY s.started_at DESC, s.search_id DESC
    LIMIT 100
)
SELECT DISTINCT k.name
FROM latest l
JOIN searches w USING (search_id)
CROSS JOIN LATERAL jsonb_object_keys(CASE WHEN jsonb_typeof(w.signals) = 'object' THEN w.signals END) AS k (name)
ORDER BY k.name;
