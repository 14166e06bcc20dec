-- The one table that holds text, made by `ragledger init --with-text` alone: no migration makes it, and `schema.sql` does
-- not have it. Repeatable.
CREATE TABLE IF NOT EXISTS search_texts (
    search_id   uuid NOT NULL,
    rank        int4 NOT NULL, -- 0: what was asked, a row that every record has; else the rank of the hit
    text        text,
    cut         bool NOT NULL,
    writer_id   uuid NOT NULL,
    writer_seq  int8 NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT search_texts_pkey PRIMARY KEY (search_id, rank),
    -- A text whose search was erased meanwhile, or was rejected, must not land: nobody could erase it any more.
    CONSTRAINT search_texts_search FOREIGN KEY (search_id) REFERENCES searches
);
