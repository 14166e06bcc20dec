-- name: create
CREATE SCHEMA IF NOT EXISTS ragledger_demo;
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
CREATE TABLE IF NOT EXISTS ragledger_demo.passages (
    chunk_id    text PRIMARY KEY,
    document_id text NOT NULL,
    body        text NOT NULL,
    embedding   public.vector(256) NOT NULL,
    words       tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED
);

-- name: empty
TRUNCATE ragledger_demo.passages

-- name: fill
COPY ragledger_demo.passages (chunk_id, document_id, body, embedding) FROM STDIN

-- name: index
CREATE INDEX IF NOT EXISTS passages_words ON ragledger_demo.passages USING gin (words);
CREATE INDEX IF NOT EXISTS passages_embedding ON ragledger_demo.passages
    USING hnsw (embedding public.vector_cosine_ops);
ANALYZE ragledger_demo.passages;

-- name: inventory
INSERT INTO inventory (corpus, document_id, source_kind)
SELECT DISTINCT %(corpus)s, document_id, 'reference' FROM ragledger_demo.passages
ON CONFLICT DO NOTHING

-- name: hybrid
-- Both signals for every candidate of the union: a leg that was not scored could never be calibrated.
WITH question AS (
    SELECT %(embedding)s::public.vector AS point,
        replace(plainto_tsquery('english', %(query)s)::text, '&', '|')::tsquery AS words
), dense AS (
    SELECT chunk_id FROM ragledger_demo.passages, question
    ORDER BY embedding OPERATOR(public.<=>) question.point LIMIT %(candidates)s
), sparse AS (
    SELECT chunk_id FROM ragledger_demo.passages p, question
    WHERE p.words @@ question.words
    ORDER BY ts_rank_cd(p.words, question.words, 32) DESC, chunk_id LIMIT %(candidates)s
)
SELECT p.chunk_id, p.document_id, p.body,
    (1 - (p.embedding OPERATOR(public.<=>) question.point))::float8 AS vector,
    ts_rank_cd(p.words, question.words, 32)::float8 AS lexical
FROM ragledger_demo.passages p, question
WHERE p.chunk_id IN (SELECT chunk_id FROM dense UNION SELECT chunk_id FROM sparse)

-- name: lexical
WITH question AS (
    SELECT replace(plainto_tsquery('english', %(query)s)::text, '&', '|')::tsquery AS words
)
SELECT p.chunk_id, p.document_id, p.body, NULL::float8 AS vector,
    ts_rank_cd(p.words, question.words, 32)::float8 AS lexical
FROM ragledger_demo.passages p, question
WHERE p.words @@ question.words
ORDER BY lexical DESC, chunk_id LIMIT %(candidates)s
