-- What `ragledger golden` reads. `sql/scope.sql` opens the first three queries.
-- Searches that `golden run` itself made are left out everywhere: a set must not be made of, or kept alive by, its own runs.

-- name: votes
-- The latest judgment of each voter on each chunk of a question, over all searches of the window that asked it.
SELECT DISTINCT ON (q.query_key, h.chunk_id, v.actor_kind, v.actor_id)
       encode(q.query_key, 'hex') AS question,
       h.chunk_id,
       h.document_id,
       v.actor_kind AS voter,
       v.actor_id AS actor,
       v.outcome,
       s.search_id
FROM scope s
JOIN searches q USING (search_id)
JOIN current_votes v USING (search_id)
JOIN hits h USING (search_id, rank)
WHERE s.status = 'ok' AND s.surface IS DISTINCT FROM 'golden'
  AND h.admitted AND q.query_key IS NOT NULL AND h.chunk_id IS NOT NULL
ORDER BY q.query_key, h.chunk_id, v.actor_kind, v.actor_id, v.given_at DESC, v.feedback_id DESC;

-- name: unusable
-- Votes that no golden set can be made of.
SELECT v.actor_kind AS voter,
       count(*) AS votes,
       count(*) FILTER (WHERE q.query_key IS NULL) AS without_query_key,
       count(*) FILTER (WHERE q.query_key IS NOT NULL AND h.chunk_id IS NULL) AS without_chunk_id
FROM scope s
JOIN searches q USING (search_id)
JOIN current_votes v USING (search_id)
JOIN hits h USING (search_id, rank)
WHERE s.status = 'ok' AND s.surface IS DISTINCT FROM 'golden' AND h.admitted
GROUP BY v.actor_kind;

-- name: asked
SELECT encode(q.query_key, 'hex') AS question, count(*) AS searches
FROM scope s
JOIN searches q USING (search_id)
WHERE s.status <> 'skipped' AND s.surface IS DISTINCT FROM 'golden'
GROUP BY 1;

-- name: texts
-- A text that was cut would ask something else.
SELECT search_id, text FROM search_texts
WHERE search_id = ANY (%(ids)s) AND rank = 0 AND text IS NOT NULL AND NOT cut;

-- name: inventory
SELECT document_id FROM inventory WHERE corpus = %(corpus)s;
