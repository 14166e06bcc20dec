-- name: fill_searches
INSERT INTO searches (search_id, started_at, project, corpus, surface, actor_kind, framework, root_id, depth, status,
    degraded, vector_available, latency_ms, top_k, candidate_count, admitted_count, weights, epoch, index_version,
    embedding_model, signals, query_key, flags, writer_id, writer_seq)
SELECT id, timestamptz '2026-01-01' + n * interval '5 seconds', 'bench', 'handbook', 'chat', 'human', 'application', id, 0,
    'ok', n %% 50 = 0, true, 12, 10, %(hits)s, least(%(hits)s, 10),
    '{"configured": {}, "effective": {"vector": 0.9, "lexical": 0.1, "threshold": 0.2}, "source": "declared", "unknown": []}',
    'e' || n / (%(searches)s / 4), 'v1', 'm1',
    ('{"vector": {"min": 0.1, "max": 0.9, "count": ' || %(hits)s || ', "complete": true}, '
     || '"lexical": {"min": 0.1, "max": 0.9, "count": ' || %(hits)s || ', "complete": true}}')::jsonb,
    decode(md5((n %% (%(searches)s / 3))::text), 'hex'), '{}', '00000000-0000-0000-0000-000000000001', n
FROM (SELECT n, md5('s' || n)::uuid AS id FROM generate_series(1, %(searches)s) AS n) AS numbered

-- name: fill_hits
-- Useful hits have more of both signals; see fill_votes, which knows them by the same hash.
INSERT INTO hits (search_id, rank, chunk_id, document_id, score, score_kind, vector_score, lexical_score, admitted)
SELECT md5('s' || n)::uuid, r, 'c' || (n * 7 + r) %% 50000, 'd' || (n * 7 + r) %% 5000, 0.5, 'fused',
    0.3 + 0.1 * (hashint8(n * 31 + r) %% 3 = 0)::int4 + random() * 0.3,
    0.2 + 0.1 * (hashint8(n * 31 + r) %% 3 = 0)::int4 + random() * 0.3, r <= 10
FROM generate_series(1, %(searches)s) AS n, generate_series(1, %(hits)s) AS r

-- name: fill_votes
INSERT INTO feedback (search_id, feedback_id, rank, stage, outcome, actor_kind, actor_id, given_at, writer_id, writer_seq)
SELECT md5('s' || n)::uuid, md5('v' || n || '-' || r)::uuid, r, 'judged',
    CASE WHEN hashint8(n * 31 + r) %% 3 = 0 THEN 'relevant' ELSE 'not_relevant' END, 'human', 'a' || n %% 40,
    timestamptz '2026-03-01', '00000000-0000-0000-0000-000000000001', %(searches)s + n * 10 + r
FROM generate_series(1, %(searches)s, %(searches)s / (%(votes)s / 3)) AS n, (VALUES (1), (3), (6)) AS ranks (r)
