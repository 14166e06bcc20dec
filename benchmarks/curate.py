"""Seconds that a curation takes, and the CPU time of this process and of the server in it.

Searches of 12 hits over documents of which few are found often, 4 in 10 with an access or a vote, half with a key of their
question; an inventory with a tenth more documents. Goal: a million searches over 200,000 documents in about 20 s.

    python benchmarks/curate.py [--searches 200000] [--documents 100000]
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from ragledger.analyses.curated import report
from ragledger.analyses.curation import curate
from ragledger.embedded import EmbeddedServer
from ragledger.measures.report import Window
from ragledger.postgres.connection import Connection, connect
from ragledger.schema import apply

DATABASE = "ragledger_bench_curate"
SEARCHES = """
INSERT INTO searches (search_id, started_at, project, corpus, surface, actor_kind, framework, root_id, depth, status, degraded,
    latency_ms, admitted_count, top_admitted_score, weights, epoch, query_key, flags, writer_id, writer_seq)
SELECT id, timestamptz '2026-01-01' + n * (interval '120 days' / %(searches)s), 'bench', 'handbook',
    (ARRAY['study', 'tab', 'agent'])[1 + n %% 3], 'human', 'core', id, 0, 'ok', false, 12, 10, random(), '{}',
    'e' || n * 4 / %(searches)s, CASE WHEN n %% 2 = 0 THEN decode(md5((n %% 20000)::text), 'hex') END, '{}', id, n
FROM (SELECT n, lpad(to_hex(n), 32, '0')::uuid AS id FROM generate_series(1, %(searches)s) n) AS numbered
"""
HITS = """
INSERT INTO hits (search_id, rank, chunk_id, document_id, score, score_kind, vector_score, lexical_score, admitted)
SELECT search_id, rank, d || '#' || rank, 'document-' || d, 0.5, 'fused', 0.5, 0.1, rank <= 10
FROM (
    SELECT search_id, rank, floor(power(random(), 2) * %(documents)s)::int AS d FROM searches, generate_series(1, 12) rank
) AS found
"""
FEEDBACK = """
INSERT INTO feedback (search_id, feedback_id, rank, stage, outcome, actor_kind, actor_id, given_at, writer_id, writer_seq)
SELECT search_id, gen_random_uuid(), rank, CASE WHEN outcome IS NULL THEN 'accessed' ELSE 'judged' END, outcome, kind,
    'a' || (random() * 50)::int, now(), search_id, 1
FROM (
    SELECT search_id, 1 + floor(random() * 10)::int AS rank, CASE WHEN random() < 0.7 THEN 'human' ELSE 'agent' END AS kind,
        CASE WHEN random() < 0.5 THEN (ARRAY['not_relevant', 'relevant'])[1 + floor(random() * 2)::int] END AS outcome
    FROM searches WHERE random() < 0.4
) AS said
"""
INVENTORY = """
INSERT INTO inventory (corpus, document_id)
SELECT 'handbook', 'document-' || d FROM generate_series(1, %(documents)s * 11 / 10) d
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--searches", type=int, default=200_000)
    parser.add_argument("--documents", type=int, default=100_000)
    options = parser.parse_args()
    with EmbeddedServer.acquire() as server:
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
            admin.execute(f"CREATE DATABASE {DATABASE}")
        dsn = make_conninfo(server.dsn, dbname=DATABASE)
        with connect(dsn, "ragledger", statement_timeout_s=3600) as connection:
            _fill(connection, vars(options))
            _measure(connection)
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def _fill(connection: Connection, options: dict[str, int]) -> None:
    apply(connection, "ragledger")
    connection.execute("SELECT setseed(0.5)")
    for text in (SEARCHES, HITS, FEEDBACK, INVENTORY):
        connection.execute(text.encode(), options)
    connection.execute("VACUUM ANALYZE")


def _measure(connection: Connection) -> None:
    backend = Path(f"/proc/{connection.info.backend_pid}/stat")
    begin, mine, its = time.perf_counter(), time.process_time(), _cpu_s(backend)
    found = report(curate(connection, Window()), limit=20)
    took = time.perf_counter() - begin
    print(
        f"{'searches':>12} {'documents':>12} {'seconds':>9} {'CPU here':>9} {'CPU server':>11} {'peak MB':>8}"
    )
    print(
        f"{found.searches:12,} {found.total:12,} {took:9.1f} {time.process_time() - mine:9.1f} "
        f"{_cpu_s(backend) - its:11.1f} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f}"
    )


def _cpu_s(stat: Path) -> float:
    fields = stat.read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
