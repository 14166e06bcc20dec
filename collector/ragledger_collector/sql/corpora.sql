-- How much of a corpus is in use: its documents by the day that they were first retrieved, held against the inventory. An
-- application writes the inventory as it likes and tells nobody, so its ids are read anew each time documents are counted.

-- name: changed
SELECT corpus, now.documents, now.fingerprint
FROM (
    SELECT corpus, count(*) AS documents, bit_xor(hashtextextended(document_id, 0)) AS fingerprint
    FROM inventory WHERE %(corpus)s::text IS NULL OR corpus = %(corpus)s
    GROUP BY corpus
) AS now
FULL JOIN (
    SELECT * FROM rollup_inventories WHERE %(corpus)s::text IS NULL OR corpus = %(corpus)s
) AS counted USING (corpus)
WHERE now.fingerprint IS DISTINCT FROM counted.fingerprint

-- name: mark_changed
WITH changed AS (
    SELECT * FROM unnest(%(corpora)s::text[], %(documents)s::int8[], %(fingerprints)s::int8[]) AS of(corpus, documents, fingerprint)
), gone AS (
    DELETE FROM rollup_inventories i USING changed c WHERE i.corpus = c.corpus AND c.fingerprint IS NULL
), listed AS (
    INSERT INTO rollup_inventories
    SELECT corpus, documents, fingerprint FROM changed WHERE fingerprint IS NOT NULL
    ON CONFLICT (corpus) DO UPDATE SET documents = excluded.documents, fingerprint = excluded.fingerprint
)
INSERT INTO rollup_dirty_corpora
SELECT DISTINCT project, corpus FROM rollup_corpora JOIN changed USING (corpus)
ON CONFLICT DO NOTHING

-- name: waiting
SELECT project, corpus FROM rollup_dirty_corpora ORDER BY project, corpus

-- name: clear_corpus
DELETE FROM rollup_corpora WHERE project = %(project)s AND corpus = %(corpus)s

-- name: corpus
INSERT INTO rollup_corpora
SELECT d.project, d.corpus, d.first_day, count(*), count(i.document_id), count(*) FILTER (WHERE d.admitted > 0),
    count(*) FILTER (WHERE d.accessed > 0), count(*) FILTER (WHERE d.judged > 0), count(*) FILTER (WHERE d.useful > 0)
FROM rollup_documents d
LEFT JOIN inventory i ON i.corpus = d.corpus AND i.document_id = d.document_id
WHERE d.project = %(project)s AND d.corpus = %(corpus)s
GROUP BY d.project, d.corpus, d.first_day

-- name: done
DELETE FROM rollup_dirty_corpora WHERE project = %(project)s AND corpus = %(corpus)s
