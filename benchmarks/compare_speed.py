"""How long `ragledger compare` takes over a million searches of 10 hits with 200,000 votes, in two epochs.

    python benchmarks/compare_speed.py [--searches 1000000] [--rounds 2] [--dsn DSN]

One search in fourteen has votes: three, one of them on a hit that two people judged. One search in two repeats a question
that was asked before. The goal is 20 s on 2 cores; absolute times are of this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from ragledger import schema
from ragledger.analyses.comparison import Question, compare
from ragledger.analyses.sides import Asked
from ragledger.embedded import EmbeddedServer
from ragledger.measures.report import Window
from ragledger.postgres.connection import connect

DATABASE = "ragledger_bench_compare"
GOAL_S = 20.0
WEIGHTS = '{"configured": {}, "effective": {"vector": %s}, "source": "declared", "unknown": []}'

SEARCHES = """
INSERT INTO searches (search_id, started_at, project, corpus, surface, actor_kind, framework, root_id, depth, status, degraded,
    latency_ms, admitted_count, weights, epoch, flags, writer_id, writer_seq, query_key)
SELECT id, '2026-01-01'::timestamptz + n * interval '3 seconds', 'shop', 'handbook',
    (ARRAY['study', 'agent', 'tab'])[1 + n %% 3], 'human', 'core', id, 0, 'ok', n %% 50 = 0, 5 + n %% 97, 10,
    (CASE WHEN n <= %(half)s THEN %(before)s ELSE %(after)s END)::jsonb, CASE WHEN n <= %(half)s THEN 'e1' ELSE 'e2' END,
    '{}', '00000000-0000-0000-0000-00000000000a', n,
    decode(md5((CASE WHEN n %% 2 = 0 THEN n %% 5000 ELSE n END)::text), 'hex')
FROM (SELECT n, lpad(to_hex(n), 32, '0')::uuid AS id FROM generate_series(1, %(searches)s) AS n) AS numbers"""
HITS = """
INSERT INTO hits (search_id, rank, chunk_id, document_id, score, score_kind, vector_score, admitted)
SELECT lpad(to_hex(n), 32, '0')::uuid, rank, 'c' || rank, 'd', 0.5, 'fused', 0.5, true
FROM generate_series(1, %(searches)s) AS n, generate_series(1, 10) AS rank"""
VOTES = """
INSERT INTO feedback (search_id, feedback_id, rank, stage, outcome, actor_kind, actor_id, given_at, writer_id, writer_seq)
SELECT lpad(to_hex(n), 32, '0')::uuid, gen_random_uuid(), 1 + (n / 14 + vote / 2) %% 10, 'judged',
    CASE WHEN hashint4(n * 4 + vote) %% 10 < 1 THEN 'relevant' ELSE 'not_relevant' END, 'human',
    'p' || (n + vote) %% 300, now(), '00000000-0000-0000-0000-00000000000a', n
FROM generate_series(14, %(searches)s, 14) AS n, generate_series(1, 3) AS vote"""


@contextlib.contextmanager
def database(dsn: str | None) -> Iterator[str]:
    """A new database on that server, or on one of our own."""
    with contextlib.ExitStack() as stack:
        if dsn is None:
            base = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rl-bench-")))
            dsn = stack.enter_context(EmbeddedServer.acquire(base, throwaway=True, timeout_s=60)).dsn
        with psycopg.connect(dsn, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
            admin.execute(f"CREATE DATABASE {DATABASE}")
            try:
                yield make_conninfo(dsn, dbname=DATABASE)
            finally:
                admin.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


def load(dsn: str, searches: int) -> int:
    """Fills the table; returns the number of votes."""
    values = {"searches": searches, "half": searches // 2, "before": WEIGHTS % 0.6, "after": WEIGHTS % 0.4}
    with connect(dsn, "ragledger", statement_timeout_s=1800.0) as connection:
        schema.apply(connection, "ragledger")
        for statement in (SEARCHES, HITS, VOTES):
            connection.execute(statement, values)
        connection.execute("VACUUM ANALYZE")
        row = connection.execute("SELECT count(*) FROM feedback").fetchone()
    return int(str(row[0])) if row else 0


def main() -> None:
    """Prints the time of each round, and where it went."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--searches", type=int, default=1_000_000)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument(
        "--dsn", default=None, help="a server on which a database may be made; default an embedded one"
    )
    given = options.parse_args()
    window = Window()
    question = Question(
        a=Asked(name="A", window=window, epoch="e1"), b=Asked(name="B", window=window, epoch="e2")
    )
    with database(given.dsn) as dsn:
        votes = load(dsn, given.searches)
        print(f"{given.searches:,} searches, {votes:,} votes")
        rounds = []
        for _ in range(given.rounds):
            started = time.perf_counter()
            with connect(dsn, "ragledger", statement_timeout_s=600.0) as connection:
                found = compare(connection, question)
            rounds.append(time.perf_counter() - started)
            print(f"{rounds[-1]:.1f} s")
        print(found.voters["human"].verdict.text)
        print(f"median {statistics.median(rounds):.1f} s, goal {GOAL_S:.0f} s")


if __name__ == "__main__":
    main()
