-- What `ragledger curate` reads. `sql/scope.sql` opens the queries that read a window.
-- A unit is what is curated: a document, or with %(by_chunk)s a chunk. An empty corpus: the search named none.

-- name: versions
-- Index versions of each corpus. Where there is more than one, votes may have to follow their content.
SELECT coalesce(corpus, '') AS corpus, index_version, max(started_at) AS last_seen, count(*) AS searches
FROM scope
WHERE status = 'ok'
GROUP BY 1, 2

-- name: epochs
SELECT epoch, count(*) AS searches, min(started_at) AS first_seen, max(started_at) AS last_seen
FROM scope
WHERE status = 'ok'
GROUP BY epoch

-- name: searches
-- One pass over the hits, one row per ok search: its hits as arrays. A rank below 0: considered and not admitted. The id only
-- where somebody reacted to the search, or where it stands for its question (%(ids)s); content keys only of corpora that were
-- indexed again (%(reindexed)s); how good the answer was only where the question is known again.
-- LATERAL: it reads the hits of these searches and no others, in the order of the key, without a sort.
SELECT CASE WHEN r.search_id IS NOT NULL OR (%(ids)s AND s.query_key IS NULL) THEN s.search_id::text END,
       coalesce(s.corpus, '') AS corpus,
       s.surface,
       s.epoch,
       s.index_version,
       extract(epoch FROM s.started_at)::float8 AS started_at,
       d.hit_ranks,
       l.units,
       l.ranks,
       l.content_keys,
       s.query_key,
       CASE WHEN s.query_key IS NULL THEN NULL
            WHEN EXISTS (SELECT FROM real_hits r WHERE r.search_id = s.search_id) THEN 'found'
            WHEN s.admitted_count IS NULL THEN 'untold'
            WHEN l.any_hit THEN 'padded'
            ELSE 'empty'
       END AS answer,
       -- Better is larger.
       CASE l.score_kind WHEN 'distance' THEN -s.top_admitted_score WHEN 'none' THEN NULL ELSE s.top_admitted_score END
           AS top_score
FROM scope s
LEFT JOIN delivered d USING (search_id)
LEFT JOIN (SELECT DISTINCT search_id FROM feedback) r USING (search_id)
LEFT JOIN LATERAL (
    SELECT array_agg(CASE WHEN %(by_chunk)s THEN h.chunk_id ELSE h.document_id END) AS units,
           array_agg(CASE WHEN h.admitted THEN h.rank ELSE -h.rank END) AS ranks,
           CASE WHEN coalesce(s.corpus, '') = ANY (%(reindexed)s::text[]) AND count(h.content_key) > 0
                THEN array_agg(h.content_key)
           END AS content_keys,
           bool_or(h.admitted) FILTER (WHERE s.query_key IS NOT NULL) AS any_hit,
           min(h.score_kind) FILTER (WHERE h.admitted AND s.query_key IS NOT NULL) AS score_kind
    FROM hits h
    WHERE h.search_id = s.search_id
) l ON true
WHERE s.status = 'ok'

-- name: reactions
-- Who opened a hit, and what each actor said of it at last, as a number: 1 is the worst outcome. Null: opened.
SELECT v.search_id::text, v.rank, v.actor_kind, v.actor_id, array_position(%(outcomes)s::text[], v.outcome) AS outcome
FROM (
    SELECT DISTINCT search_id, rank, actor_kind, actor_id, NULL::text AS outcome
    FROM feedback
    WHERE stage = 'accessed'
    UNION ALL
    SELECT search_id, rank, actor_kind, actor_id, outcome FROM current_votes
) AS v
JOIN scope s USING (search_id)
JOIN hits h USING (search_id, rank)
WHERE s.status = 'ok' AND h.admitted

-- name: removed
-- Until when rows may be missing. A removed number was given before the one of the next search of its writer that is still
-- here, and before its writer was last heard of. The project of a salvaged writer may be unknown.
SELECT coalesce(sum(removed), 0)::int8, max(until)
FROM (
    SELECT (SELECT sum(upper(r) - lower(r)) FROM unnest(w.removed) AS r) AS removed,
           coalesce(
               (
                   SELECT n.started_at + coalesce(n.latency_ms, 0) * interval '1 millisecond'
                   FROM searches n
                   WHERE n.writer_id = w.writer_id AND n.writer_seq >= upper(w.removed)
                   ORDER BY n.writer_seq
                   LIMIT 1
               ),
               w.last_seen_at
           ) AS until
    FROM writers w
    WHERE NOT isempty(w.removed) AND (%(project)s::text IS NULL OR w.project IN (%(project)s, 'unknown'))
) AS missing

-- name: kept
-- Of each project the earliest search that is kept, what retention has sealed, and the first day that documents were counted.
SELECT p.project,
       (SELECT min(started_at) FROM searches s WHERE s.project = p.project) AS first_kept,
       (SELECT max(bucket) + interval '1 minute' FROM rollup_sealed r WHERE r.project = p.project) AS sealed_until,
       (SELECT min(day) FROM rollup_document_days d WHERE d.project = p.project) AS first_counted
FROM (
    SELECT DISTINCT project FROM searches
    UNION
    SELECT DISTINCT project FROM rollup_document_days
    UNION
    SELECT DISTINCT project FROM rollup_sealed
) AS p
WHERE %(project)s::text IS NULL OR p.project = %(project)s

-- name: earlier
-- Documents on days of which rows are gone, as the collector counted them. %(days)s: of each project the last such day.
SELECT d.corpus, d.document_id,
       sum(d.retrieved)::int8, sum(d.admitted)::int8, sum(d.accessed)::int8, sum(d.judged)::int8, sum(d.useful)::int8,
       sum(d.not_useful)::int8, max(d.day)
FROM unnest(%(projects)s::text[], %(days)s::timestamptz[]) AS gone (project, last_day)
JOIN rollup_document_days d ON d.project = gone.project AND d.day <= gone.last_day
WHERE (%(corpus)s::text IS NULL OR d.corpus = %(corpus)s)
  AND (%(since)s::timestamptz IS NULL OR d.day >= date_trunc('day', %(since)s, 'UTC'))
  AND (%(until)s::timestamptz IS NULL OR d.day < %(until)s)
GROUP BY 1, 2

-- name: inventory
SELECT corpus, document_id, first_seen_at
FROM inventory
WHERE %(corpus)s::text IS NULL OR corpus = %(corpus)s

-- name: listed
-- The ids of a table of the application, such as that of a vector store.
SELECT DISTINCT {column}::text FROM {table} WHERE {column} IS NOT NULL
