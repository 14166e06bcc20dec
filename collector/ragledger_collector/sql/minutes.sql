-- One definition of every number, per minute of a project; hours and days are sums (sums.sql).
-- What the numbers mean is said in docs/collector.md; the rules are those of ragledger/sql/measure.sql.

-- name: minute
-- One statement, so that searches and hits are read once.
-- Not joined but one minute after the other: the planner cannot know how few searches a minute has.
WITH scope AS MATERIALIZED (
    SELECT s.*, due.bucket,
        md5(jsonb_build_array(s.project, s.corpus, s.surface, s.session_id IS NOT NULL, s.actor_kind, s.epoch)::text)::uuid
            AS series_id
    FROM unnest(%(buckets)s::timestamptz[]) AS due(bucket)
    CROSS JOIN LATERAL (
        SELECT * FROM logical_searches l
        WHERE l.project = %(project)s
          AND l.started_at >= due.bucket AND l.started_at < due.bucket + interval '1 minute'
        OFFSET 0
    ) AS s
), ordered AS MATERIALIZED (
    -- The order that is used: the latest delivery where there is one, else the retriever's.
    SELECT s.project, s.bucket, s.series_id, s.search_id, d.hit_ranks
    FROM scope s
    LEFT JOIN LATERAL (
        SELECT hit_ranks FROM deliveries WHERE search_id = s.search_id
        ORDER BY delivered_at DESC, delivery_id DESC LIMIT 1
    ) AS d ON true
    WHERE s.status = 'ok'
), there AS MATERIALIZED (
    SELECT o.project, o.bucket, o.series_id, h.source_kind,
        CASE WHEN o.hit_ranks IS NULL THEN h.rank ELSE array_position(o.hit_ranks, h.rank) END AS position
    FROM ordered o JOIN hits h ON h.search_id = o.search_id AND h.admitted
), said AS MATERIALIZED (
    SELECT o.project, o.bucket, o.series_id, o.search_id, h.rank, f.voter, f.accessed, f.actors, f.useful,
        CASE WHEN o.hit_ranks IS NULL THEN h.rank ELSE array_position(o.hit_ranks, h.rank) END AS position
    FROM ordered o
    CROSS JOIN LATERAL (
        SELECT rank, voter, bool_or(opened) AS accessed, count(outcome) AS actors,
            count(*) FILTER (WHERE outcome IN ('relevant', 'highly_relevant')) AS useful
        FROM (
            SELECT DISTINCT ON (rank, actor_kind, actor_id, stage)
                rank, actor_kind AS voter, stage = 'accessed' AS opened, outcome
            FROM feedback WHERE search_id = o.search_id
            ORDER BY rank, actor_kind, actor_id, stage, given_at DESC, feedback_id DESC
        ) AS latest
        GROUP BY rank, voter
    ) AS f
    JOIN hits h ON h.search_id = o.search_id AND h.rank = f.rank AND h.admitted
), new_series AS (
    INSERT INTO rollup_series (series_id, project, corpus, surface, has_session, actor_kind, epoch)
    SELECT DISTINCT series_id, project, corpus, surface, session_id IS NOT NULL, actor_kind, epoch FROM scope
    ON CONFLICT DO NOTHING
), counted AS (
    INSERT INTO rollup_searches
    SELECT 'minute', s.project, s.bucket, s.series_id,
        count(*),
        count(*) FILTER (WHERE status = 'ok'),
        count(*) FILTER (WHERE status = 'error'),
        count(*) FILTER (WHERE status = 'cancelled'),
        count(*) FILTER (WHERE status = 'skipped'),
        count(*) FILTER (WHERE degraded AND status <> 'skipped'),
        count(*) FILTER (WHERE vector_available),
        count(*) FILTER (WHERE NOT vector_available),
        count(*) FILTER (WHERE status = 'ok' AND admitted_count IS NULL AND NOT real_hit),
        count(*) FILTER (WHERE status = 'ok' AND admitted_count IS NOT NULL AND NOT any_hit),
        count(*) FILTER (WHERE status = 'ok' AND real_hit),
        count(*) FILTER (WHERE status = 'ok' AND delivered),
        coalesce(sum(candidate_count), 0),
        count(candidate_count),
        coalesce(sum(admitted_count), 0),
        count(admitted_count),
        coalesce(sum(round(top_candidate_score::numeric, 12)) FILTER (WHERE abs(top_candidate_score) < 'Infinity'), 0),
        count(*) FILTER (WHERE abs(top_candidate_score) < 'Infinity'),
        coalesce(sum(round(top_admitted_score::numeric, 12)) FILTER (WHERE abs(top_admitted_score) < 'Infinity'), 0),
        count(*) FILTER (WHERE abs(top_admitted_score) < 'Infinity'),
        count(latency_ms) FILTER (WHERE status = 'ok'),
        min(started_at) FILTER (WHERE status <> 'skipped'),
        max(started_at) FILTER (WHERE status <> 'skipped')
    FROM scope s
    CROSS JOIN LATERAL (
        SELECT EXISTS (SELECT FROM hits h WHERE h.search_id = s.search_id AND h.admitted) AS any_hit,
            EXISTS (SELECT FROM real_hits r WHERE r.search_id = s.search_id) AS real_hit,
            EXISTS (SELECT FROM deliveries d WHERE d.search_id = s.search_id) AS delivered
    ) AS answer
    GROUP BY s.project, s.bucket, s.series_id
), timed AS (
    -- Nanoseconds: up to 127 a bin each, from there 64 bins per power of two.
    SELECT project, bucket, series_id, least(round(latency_ms * 1e6), 9e18)::int8 AS ns
    FROM scope WHERE status = 'ok' AND latency_ms IS NOT NULL
), sized AS (
    SELECT *, greatest(length(ltrim(ns::bit(64)::text, '0')) - 7, 0) AS shift FROM timed
), latency AS (
    INSERT INTO rollup_latency
    SELECT 'minute', project, bucket, series_id, shift * 64 + (ns >> shift)::int4 AS bin, count(*)
    FROM sized
    GROUP BY project, bucket, series_id, bin
), words AS (
    INSERT INTO rollup_words
    SELECT 'minute', project, bucket, series_id, what, word, count(*)
    FROM (
        SELECT project, bucket, series_id, 'skip_reason' AS what, coalesce(skip_reason, '') AS word
        FROM scope WHERE status = 'skipped'
        UNION ALL
        SELECT project, bucket, series_id, 'degraded_reason', coalesce(degraded_reason, '')
        FROM scope WHERE degraded AND status <> 'skipped'
        UNION ALL
        SELECT project, bucket, series_id, 'source_kind', coalesce(source_kind, '') FROM there
    ) AS said
    GROUP BY project, bucket, series_id, what, word
), shown AS (
    INSERT INTO rollup_shown
    SELECT 'minute', project, bucket, series_id,
        CASE WHEN position IS NULL THEN 0 WHEN position > 20 THEN 21 ELSE position END AS place, sum(shown), sum(accessed)
    FROM (
        SELECT project, bucket, series_id, position, 1 AS shown, 0 AS accessed FROM there
        UNION ALL
        SELECT project, bucket, series_id, position, 0, 1
        FROM said WHERE accessed GROUP BY project, bucket, series_id, search_id, rank, position
    ) AS hits
    GROUP BY project, bucket, series_id, place
), votes AS (
    INSERT INTO rollup_votes
    SELECT 'minute', project, bucket, series_id,
        CASE WHEN position IS NULL THEN 0 WHEN position > 20 THEN 21 ELSE position END AS place, voter,
        count(*) FILTER (WHERE accessed), count(*) FILTER (WHERE actors > 0),
        coalesce(sum(round(useful::numeric / actors, 12)) FILTER (WHERE actors > 0), 0)
    FROM said
    GROUP BY project, bucket, series_id, place, voter
), per_search AS (
    SELECT project, bucket, series_id, search_id, voter, k,
        sum(round(useful::numeric / actors, 12)) AS useful, count(*) AS judged
    FROM said CROSS JOIN unnest(ARRAY[1, 3, 5, 10]) AS k
    WHERE actors > 0 AND position <= k
    GROUP BY project, bucket, series_id, search_id, voter, k
), judged AS (
    INSERT INTO rollup_judged
    SELECT 'minute', project, bucket, series_id, voter, k, count(*), sum(useful), sum(judged), sum(useful * useful),
        sum(judged * judged), sum(useful * judged)
    FROM per_search
    GROUP BY project, bucket, series_id, voter, k
)
SELECT count(*) FROM scope
