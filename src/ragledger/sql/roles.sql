-- What each group role may do; reference: docs/data.md. Run after every migration, repeatable.
-- Writer: INSERT alone suffices for COPY, for foreign keys and for ON CONFLICT DO NOTHING without a target.
-- It may read only the key columns that the check of a vote needs, and the span that a vote is told to, and update only its own progress.

GRANT INSERT ON searches, hits, deliveries, assessments, feedback, rejected TO ragledger_writer;
GRANT SELECT (search_id, trace_id, span_id, sampled, span_owner) ON searches TO ragledger_writer;
GRANT SELECT (search_id, rank, chunk_id, admitted) ON hits TO ragledger_writer;
GRANT SELECT (search_id, feedback_id) ON feedback TO ragledger_writer;
GRANT SELECT, INSERT, DELETE ON pending_feedback TO ragledger_writer;
GRANT SELECT, INSERT ON writers TO ragledger_writer;
GRANT UPDATE (last_seen_at, finished_at, attempted, refused, shipped, landed) ON writers TO ragledger_writer;
GRANT SELECT ON schema_migrations TO ragledger_writer;

GRANT SELECT ON writer_fates, writer_refusals, rejections, pending_votes, collector_arrears, collector_waiting,
    shipping_delays, listed_documents, schema_migrations TO ragledger_reader;

GRANT SELECT ON searches, hits, deliveries, assessments, feedback, pending_feedback, writers, rejected,
    inventory, schema_migrations, current_votes, logical_searches, real_hits, writer_fates, writer_refusals, rejections,
    pending_votes, collector_arrears, collector_waiting, shipping_delays, listed_documents TO ragledger_collector;

GRANT SELECT ON rollup_series, rollup_searches, rollup_latency, rollup_latency_parts, rollup_words, rollup_judged,
    rollup_shown, rollup_votes, rollup_document_days, rollup_documents, rollup_corpus_days, rollup_corpora,
    rollup_inventories, epochs, rollup_sealed TO ragledger_reader;

GRANT SELECT, INSERT, UPDATE, DELETE ON rollup_series, rollup_searches, rollup_latency, rollup_latency_parts,
    rollup_words, rollup_judged, rollup_shown, rollup_votes, rollup_document_days, rollup_documents, rollup_corpus_days,
    rollup_corpora, rollup_inventories, epochs, rollup_arrivals, rollup_dirty, rollup_dirty_days, rollup_dirty_corpora
    TO ragledger_collector;
GRANT SELECT ON rollup_sealed TO ragledger_collector;

GRANT SELECT ON plans, plan_looks TO ragledger_reader;
GRANT SELECT, INSERT ON plans, plan_looks TO ragledger_collector;
