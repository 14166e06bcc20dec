-- What dashboards need beside the rollups: intervals and latencies computed in SQL.

-- The 97.5 % quantile of Student's t: 30 values from its tables, above them the expansion around the normal quantile.
CREATE FUNCTION t_quantile(degrees float8) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN degrees < 1 THEN NULL
    WHEN degrees <= 30 THEN (ARRAY[
        12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139, 2.200985,
        2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963, 2.079614, 2.073873,
        2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272])[degrees::int4]
    ELSE 1.959963985 + 2.372271230 / degrees + 2.822498616 / degrees ^ 2 + 2.555849680 / degrees ^ 3 + 1.589534054 / degrees ^ 4
END;

-- Wilson's score interval for a share of n trials; n need not be whole.
CREATE FUNCTION wilson_interval(share float8, n float8, quantile float8, OUT low float8, OUT high float8)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN centre - half < 0 THEN 0 ELSE centre - half END, CASE WHEN centre + half > 1 THEN 1 ELSE centre + half END
    FROM (SELECT quantile * quantile / nullif(n, 0) AS square) AS q
    CROSS JOIN LATERAL (
        SELECT (share + square / 2) / (1 + square) AS centre,
            sqrt(square * share * (1 - share) + square * square / 4) / (1 + square) AS half
    ) AS around;
END;

-- Of a share of searches: each is one trial.
CREATE FUNCTION share_interval(part numeric, n numeric, OUT low float8, OUT high float8)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT i.low, i.high FROM wilson_interval((part / nullif(n, 0))::float8, n::float8, 1.959963985) AS i;
END;

-- Of a precision, clustered by search, from the sums of rollup_judged; the formulas: ragledger/measures/interval.py.
CREATE FUNCTION precision_interval(
    searches numeric, useful numeric, judged numeric, useful_sq numeric, judged_sq numeric, useful_judged numeric,
    OUT low float8, OUT high float8
)
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT i.low, i.high
    FROM (
        -- The nulls stand guard: what a condition excludes may be computed all the same when a statement is planned.
        SELECT (useful / nullif(judged, 0))::float8 AS p, nullif(judged, 0)::float8 AS j, searches::float8 AS s,
            CASE WHEN useful < judged - useful THEN useful ELSE judged - useful END::float8 AS rarer,
            1 + ((judged_sq / nullif(judged, 0))::float8 - 1) * 0.3 AS assumed
        WHERE searches >= 2 AND judged > 0
    ) AS told
    CROSS JOIN LATERAL (
        SELECT p * (1 - p) / j AS binomial,
            useful_sq::float8 - 2 * p * useful_judged::float8 + p * p * judged_sq::float8 AS spread
    ) AS spreads
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN rarer > 0 AND binomial > 0
            THEN rarer / (rarer + 1) * s / nullif(s - 1, 0) * greatest(spread, 0) / (j * j) / nullif(binomial, 0)
                + assumed / (rarer + 1)
            ELSE assumed
        END AS effect
    ) AS observed
    CROSS JOIN LATERAL wilson_interval(p, j / greatest(effect, 0.5), t_quantile(s - 1)) AS i;
END;

-- What a bin of rollup_latency stands for, in ms; the layout: ragledger/measures/histogram.py.
CREATE FUNCTION latency_ms(bin int4) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    (bin - 64 * greatest(bin / 64 - 1, 0)) * 2::float8 ^ greatest(bin / 64 - 1, 0) + (2::float8 ^ greatest(bin / 64 - 1, 0) - 1) / 2
) / 1e6;

-- Which rollups a dashboard reads, by the time range (in seconds since 1970) and the number of projects: minutes for up to
-- 6 hours and 2,000 buckets in all, hours for up to 8 days and 500 buckets, else days. So a query reads about as much for
-- twenty projects as for one.
CREATE FUNCTION rollup_grain(since int8, until int8, projects int4) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN until - since <= 21600 AND (until - since) / 60 * coalesce(projects, 1) <= 2000 THEN 'minute'
    WHEN until - since <= 691200 AND (until - since) / 3600 * coalesce(projects, 1) <= 500 THEN 'hour'
    ELSE 'day'
END;

-- The length of a bucket. 24 hours: a day of an interval would follow the clocks of the session's time zone.
CREATE FUNCTION rollup_step(grain text) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE grain WHEN 'minute' THEN interval '1 minute' WHEN 'hour' THEN interval '1 hour' ELSE interval '24 hours' END;

-- Whether a value is among those that the viewer of a dashboard chose.
CREATE FUNCTION is_chosen(value text, choices text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '(all)' = ANY (choices) OR coalesce(nullif(value, ''), '(none)') = ANY (choices);

-- What the table can say about the fate of each writer's records (P5), as of its latest shipment; the journal knows the rest.
-- `waiting` includes what was unfinished. A gap is a number that left its journal and is nowhere.
CREATE OR REPLACE VIEW writer_fates AS
SELECT f.*, greatest(f.attempted - f.shipped, 0) AS waiting,
    greatest(f.shipped - f.base - f.written - f.pending - f.rejected, 0) AS gaps
FROM (
    SELECT
        w.writer_id, w.project, w.host, w.pid, w.started_at, w.last_seen_at, w.finished_at, w.attempted,
        (SELECT coalesce(sum(value::int8), 0) FROM jsonb_each_text(w.refused)) AS refused,
        w.shipped,
        (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(w.landed) AS r) AS written,
        (SELECT coalesce(sum(upper(r) - lower(r)), 0) FROM unnest(w.removed) AS r) AS removed,
        (SELECT count(*) FROM pending_feedback p WHERE p.writer_id = w.writer_id) AS pending,
        (SELECT count(*) FROM rejected j WHERE j.writer_id = w.writer_id) AS rejected,
        w.base
    FROM writers w
) AS f;

-- How many records each writer could not keep, and why.
CREATE VIEW writer_refusals AS
SELECT w.project, w.writer_id, w.last_seen_at, r.key AS reason, r.value::int8 AS refused
FROM writers w CROSS JOIN LATERAL jsonb_each_text(w.refused) AS r;

-- Records that can never land.
CREATE VIEW rejections AS
SELECT w.project, j.writer_id, j.kind, j.reason, j.rejected_at
FROM rejected j LEFT JOIN writers w USING (writer_id);

-- Votes whose search has not arrived.
CREATE VIEW pending_votes AS
SELECT w.project, p.writer_id, p.stage, p.received_at
FROM pending_feedback p LEFT JOIN writers w USING (writer_id);

-- What the collector has not counted yet. `behind` are records that arrived since its latest pass, `arrived_at` is when the
-- first of them did (null: only assessments or texts, which it does not count).
CREATE VIEW collector_arrears AS
SELECT w.project, w.writer_id, (SELECT sum(upper(r) - lower(r)) FROM unnest(late.numbers) AS r) AS behind, (
        SELECT min(first.recorded_at)
        FROM (
            (SELECT recorded_at FROM searches s WHERE s.writer_id = w.writer_id AND s.writer_seq >= lower(late.numbers)
                ORDER BY s.writer_seq LIMIT 1)
            UNION ALL
            (SELECT recorded_at FROM deliveries d WHERE d.writer_id = w.writer_id AND d.writer_seq >= lower(late.numbers)
                ORDER BY d.writer_seq LIMIT 1)
            UNION ALL
            (SELECT recorded_at FROM feedback f WHERE f.writer_id = w.writer_id AND f.writer_seq >= lower(late.numbers)
                ORDER BY f.writer_seq LIMIT 1)
        ) AS first
    ) AS arrived_at
FROM writers w
LEFT JOIN rollup_arrivals a USING (writer_id)
CROSS JOIN LATERAL (SELECT w.landed - coalesce(a.landed, '{}') AS numbers) AS late
WHERE NOT coalesce(a.landed, '{}') @> w.landed;

-- Minutes that were touched and wait to be counted, and days whose documents do.
CREATE VIEW collector_waiting AS
SELECT project, bucket, 'minute' AS grain FROM rollup_dirty GROUP BY project, bucket
UNION ALL
SELECT project, day, 'day' FROM rollup_dirty_days;

-- How long the latest search of each writer at work took from its end to the table; below zero, clocks differ.
CREATE VIEW shipping_delays AS
SELECT w.project, w.writer_id, latest.recorded_at,
    extract(epoch FROM latest.recorded_at - latest.started_at)::float8 - coalesce(latest.latency_ms, 0) / 1000 AS delay_s
FROM writers w
CROSS JOIN LATERAL (
    SELECT s.recorded_at, s.started_at, s.latency_ms FROM searches s WHERE s.writer_id = w.writer_id
    ORDER BY s.writer_seq DESC LIMIT 1
) AS latest
WHERE w.finished_at IS NULL;

-- What could have been retrieved, for whoever may not read the table.
CREATE VIEW listed_documents AS
SELECT corpus, document_id, source_kind, first_seen_at FROM inventory;

-- The fates of a writer count its pending votes, and the dashboards its documents by day without reading the table.
CREATE INDEX pending_feedback_by_writer ON pending_feedback (writer_id);
DROP INDEX rollup_document_days_by_day;
CREATE INDEX rollup_document_days_by_day ON rollup_document_days (project, day)
    INCLUDE (corpus, admitted, accessed, judged, useful);
