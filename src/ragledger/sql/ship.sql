-- name: register_writer
-- `shipped` is the journal's own memory of the watermark: a database made anew does not ask for what went to the old one.
INSERT INTO writers (writer_id, project, host, pid, started_at, base, shipped)
VALUES (%(writer_id)s, %(project)s, %(host)s, %(pid)s, %(started_at)s, %(shipped)s, %(shipped)s)
ON CONFLICT DO NOTHING

-- name: watermark
SELECT shipped FROM writers WHERE writer_id = %(writer_id)s

-- name: advance
-- Exactly once: whoever ships the same numbers a second time finds the watermark moved and updates no row.
UPDATE writers
SET shipped = %(last)s,
    landed = landed + %(landed)s::int8multirange,
    attempted = greatest(attempted, %(attempted)s),
    refused = %(refused)s,
    last_seen_at = now()
WHERE writer_id = %(writer_id)s AND shipped = %(shipped)s

-- name: report_counters
UPDATE writers
SET attempted = greatest(attempted, %(attempted)s), refused = %(refused)s, last_seen_at = now()
WHERE writer_id = %(writer_id)s AND finished_at IS NULL

-- name: finish_writer
UPDATE writers
SET attempted = greatest(attempted, %(attempted)s), refused = %(refused)s, last_seen_at = now(),
    finished_at = now()
WHERE writer_id = %(writer_id)s

-- name: copy_searches
COPY searches (
    search_id, started_at, project, corpus, surface, session_id, actor_kind, actor_id, framework, retriever,
    parent_id, root_id, depth, attempt_of, served_from, status, skip_reason, error_type, error_origin,
    degraded, degraded_reason, vector_available, latency_ms, top_k, candidate_count, admitted_count,
    top_candidate_score, top_admitted_score, weights, epoch, index_version, embedding_model,
    extractor_version, signals, query_key, flags, trace_id, span_id, sampled, span_owner, external_run_id,
    writer_id, writer_seq
) FROM STDIN (FORMAT BINARY)

-- name: copy_hits
COPY hits (
    search_id, rank, chunk_id, chunk_id_source, document_id, source_kind, score, score_kind, score_source,
    vector_score, lexical_score, signals, admitted, content_key
) FROM STDIN (FORMAT BINARY)

-- name: copy_deliveries
COPY deliveries (search_id, delivery_id, by, hit_ranks, scores, delivered_at, writer_id, writer_seq)
FROM STDIN (FORMAT BINARY)

-- name: copy_assessments
COPY assessments (search_id, assessment_id, name, value, method, weights, assessed_at, writer_id, writer_seq)
FROM STDIN (FORMAT BINARY)

-- name: copy_feedback
COPY feedback (
    search_id, feedback_id, rank, stage, outcome, actor_kind, actor_id, given_at, writer_id, writer_seq
) FROM STDIN (FORMAT BINARY)

-- name: copy_pending_feedback
COPY pending_feedback (
    search_id, feedback_id, rank, chunk_id, stage, outcome, actor_kind, actor_id, given_at, writer_id, writer_seq
) FROM STDIN (FORMAT BINARY)

-- name: copy_search_texts
COPY search_texts (search_id, rank, text, cut, writer_id, writer_seq) FROM STDIN (FORMAT BINARY)

-- name: keeps_texts
-- The table is optional, and rows of searches must not wait for it, nor for a right on it.
SELECT to_regclass('search_texts') IS NOT NULL,
    coalesce(has_table_privilege(to_regclass('search_texts'), 'INSERT'), false)

-- name: copy_rejected
COPY rejected (writer_id, writer_seq, kind, reason) FROM STDIN (FORMAT BINARY)

-- name: promotion_lock
-- One promoter at a time: two could lock each other's writers in opposite order.
SELECT pg_try_advisory_xact_lock(1919903852)

-- name: has_pending
SELECT EXISTS (SELECT FROM pending_feedback)

-- name: promote
WITH due AS (
    DELETE FROM pending_feedback p
    USING hits h
    WHERE h.search_id = p.search_id
      AND h.admitted
      AND (h.rank = p.rank OR (p.rank IS NULL AND h.chunk_id = p.chunk_id))
    RETURNING p.search_id, p.feedback_id, h.rank, p.stage, p.outcome, p.actor_kind, p.actor_id, p.given_at,
        p.writer_id, p.writer_seq
), stored AS (
    INSERT INTO feedback (
        search_id, feedback_id, rank, stage, outcome, actor_kind, actor_id, given_at, writer_id, writer_seq
    )
    SELECT search_id, feedback_id, rank, stage, outcome, actor_kind, actor_id, given_at, writer_id, writer_seq
    FROM due
), landed AS (
    SELECT writer_id, range_agg(int8range(writer_seq, writer_seq, '[]')) AS numbers
    FROM due GROUP BY writer_id
)
UPDATE writers w SET landed = w.landed + landed.numbers
FROM landed WHERE landed.writer_id = w.writer_id

-- name: reject_overdue
-- What is still pending although its search is here names a hit that was not returned. The rest waits for its search
-- until the deadline, counted from the time in the search's own id (UUIDv7); an id of another version or from the
-- future is none of ours. Votes that come late themselves, after an outage, wait a little for those searches that do.
WITH late AS (
    DELETE FROM pending_feedback p
    WHERE (
           EXISTS (SELECT FROM searches s WHERE s.search_id = p.search_id)
           -- Asked again: the search may have landed since the statement that promotes.
           AND NOT EXISTS (
               SELECT FROM hits h
               WHERE h.search_id = p.search_id
                 AND h.admitted
                 AND (h.rank = p.rank OR (p.rank IS NULL AND h.chunk_id = p.chunk_id))
           )
       )
       OR (
           p.received_at < now() - interval '10 minutes'
           AND (
               substr(p.search_id::text, 15, 1) <> '7'
               OR to_timestamp(
                      ('x' || substr(replace(p.search_id::text, '-', ''), 1, 12))::bit(48)::int8 / 1000.0
                  ) NOT BETWEEN now() - make_interval(secs => %(deadline_s)s) AND now() + interval '1 hour'
           )
       )
    RETURNING p.search_id, p.writer_id, p.writer_seq
)
INSERT INTO rejected (writer_id, writer_seq, kind, reason)
SELECT writer_id, writer_seq, 'feedback',
    CASE WHEN EXISTS (SELECT FROM searches s WHERE s.search_id = late.search_id)
         THEN 'hit_not_returned' ELSE 'unknown_search' END
FROM late

-- name: find_trace
SELECT trace_id, span_id, sampled, span_owner FROM searches
WHERE search_id = %(search_id)s AND span_owner IS NOT NULL

-- name: find_hits
SELECT h.rank, h.chunk_id
FROM searches s LEFT JOIN hits h ON h.search_id = s.search_id AND h.admitted
WHERE s.search_id = %(search_id)s
ORDER BY h.rank
