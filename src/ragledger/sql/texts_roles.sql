-- Who may do what with texts; run wherever the table exists, after `roles.sql`, repeatable.
-- The collector needs the numbers for `ragledger verify --writers`, and may not read the texts.

GRANT INSERT ON search_texts TO ragledger_writer;
GRANT SELECT ON search_texts TO ragledger_texts;
GRANT SELECT (search_id, rank, writer_id, writer_seq) ON search_texts TO ragledger_collector;
