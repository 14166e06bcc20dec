-- Which searches an analysis is about, their hits, and where these stood. It opens every query that reads a window.
-- A filter that is null filters nothing, a bound that is null is no bound.

-- name: scope
-- Not materialized: the planner knows the tables, not a stored result (10 s and not 17 over 300,000 searches).
WITH scope AS NOT MATERIALIZED (
    SELECT search_id, started_at, project, corpus, surface, session_id IS NOT NULL AS in_session, actor_kind,
           status, skip_reason, degraded, degraded_reason, vector_available, latency_ms, admitted_count, epoch,
           index_version, query_key, top_admitted_score
    FROM logical_searches
    WHERE (%(project)s::text IS NULL OR project = %(project)s)
      AND (%(corpus)s::text IS NULL OR corpus = %(corpus)s)
      AND (%(surface)s::text IS NULL OR surface = %(surface)s)
      AND (%(since)s::timestamptz IS NULL OR started_at >= %(since)s)
      AND (%(until)s::timestamptz IS NULL OR started_at < %(until)s)
      AND (%(epoch)s::text IS NULL OR epoch = %(epoch)s)
),
-- Of each search the latest one. Said without a sort or a limit, so that the planner may look up those of a few searches, or
-- join those of all.
delivered AS NOT MATERIALIZED (
    SELECT d.search_id, d.hit_ranks
    FROM deliveries d
    WHERE NOT EXISTS (
        SELECT FROM deliveries later
        WHERE later.search_id = d.search_id
          AND (later.delivered_at, later.delivery_id) > (d.delivered_at, d.delivery_id)
    )
),
-- Not materialized, or a query that looks at both this and the next one would store every hit first.
positions AS NOT MATERIALIZED (
    SELECT h.search_id, h.rank, s.epoch, s.actor_kind, s.surface,
           CASE WHEN d.search_id IS NULL THEN h.rank ELSE array_position(d.hit_ranks, h.rank) END AS position
    FROM scope s
    JOIN hits h USING (search_id)
    LEFT JOIN delivered d USING (search_id)
    WHERE s.status = 'ok' AND h.admitted
),
placed AS (
    -- Not least(): it would take a null for the last position.
    SELECT search_id, rank, epoch, actor_kind, surface,
           CASE WHEN position > %(beyond)s::int4 THEN %(beyond)s::int4 ELSE position END AS position
    FROM positions
)
