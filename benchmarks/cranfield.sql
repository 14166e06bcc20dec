-- BM25 as the lexical half of the demo's hybrid search: `ts_rank_cd` knows nothing of how rare a word is.

-- name: index
DROP TABLE IF EXISTS ragledger_demo.postings;
CREATE TABLE ragledger_demo.postings AS
WITH terms AS (
    SELECT chunk_id, lexeme, cardinality(positions)::float8 AS tf FROM ragledger_demo.passages, unnest(words)
), lengths AS (
    SELECT chunk_id, sum(tf) AS length FROM terms GROUP BY chunk_id
), rarity AS (
    SELECT lexeme, ln(1 + ((SELECT count(*) FROM lengths) - count(*) + 0.5) / (count(*) + 0.5)) AS idf
    FROM terms GROUP BY lexeme
)
SELECT chunk_id, lexeme,
       (idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / (SELECT avg(length) FROM lengths))))::float8 AS weight
FROM terms JOIN lengths USING (chunk_id) JOIN rarity USING (lexeme);
CREATE INDEX ON ragledger_demo.postings (lexeme);
ANALYZE ragledger_demo.postings;
-- An exact vector search, so that what is simulated on top of its scores is what it would return.
DROP INDEX IF EXISTS ragledger_demo.passages_embedding;

-- name: hybrid
-- Both signals for every candidate of the union.
WITH question AS (
    SELECT %(embedding)s::public.vector AS point, tsvector_to_array(to_tsvector('english', %(query)s)) AS words
), matched AS (
    SELECT chunk_id, sum(weight) AS bm25 FROM ragledger_demo.postings, question WHERE lexeme = ANY (words) GROUP BY chunk_id
), dense AS (
    SELECT chunk_id FROM ragledger_demo.passages, question
    ORDER BY embedding OPERATOR(public.<=>) question.point, chunk_id LIMIT %(candidates)s
), sparse AS (
    SELECT chunk_id FROM matched ORDER BY bm25 DESC, chunk_id LIMIT %(candidates)s
)
SELECT p.chunk_id, p.document_id, p.body,
       (1 - (p.embedding OPERATOR(public.<=>) question.point))::float8 AS vector,
       coalesce(m.bm25 / (m.bm25 + 10), 0)::float8 AS lexical
FROM ragledger_demo.passages p
CROSS JOIN question
LEFT JOIN matched m USING (chunk_id)
WHERE p.chunk_id IN (SELECT chunk_id FROM dense UNION SELECT chunk_id FROM sparse)
