-- Hits that were really found. Some lexical retrievers fill their list up to top_k with hits that do not match: what the
-- lexical signal alone scored, and with 0, is padding. An unknown score is not zero.
CREATE VIEW real_hits AS
SELECT search_id, rank
FROM hits
WHERE admitted
  AND NOT (
      lexical_score IS NOT DISTINCT FROM 0
      AND vector_score IS NULL
      AND coalesce(score, 0) = 0
      AND NOT coalesce(jsonb_path_exists(signals, '$.** ? (@.type() == "number")'), false)
  );
