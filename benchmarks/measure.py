"""Seconds that `ragledger measure` takes over a million searches of 10 hits with 200,000 votes.

    python benchmarks/measure.py [--searches 1000000] [--votes 200000] [--rounds 3] [--dsn postgresql://...]

The rows go in by COPY into a database of their own; then `measure` runs, each round on a connection of its own, and the
whole command (`ragledger measure --json`) once. Goal: under 10 s on two cores. On a busy machine the CPU time tells more: that
of this process, and of all processes of the server where that is on this machine.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path

import psycopg

from ragledger.embedded import EmbeddedServer
from ragledger.measurement import Window, measure
from ragledger.postgres.connection import Connection, connect
from ragledger.schema import apply

DATABASE = "ragledger_bench_measure"
SCHEMA = "ragledger"
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
SPAN = timedelta(days=30)
HITS = 10
ACTORS = 300
OUTCOMES = ("not_relevant", "partially_relevant", "relevant", "highly_relevant")
WEIGHTS = (
    '{"configured":{"vector":0.6},"effective":{"lexical":0.4,"vector":0.6},"source":"declared","unknown":[]}'
)
GOAL_S = 10.0

COPIES = {
    "searches": "COPY searches (search_id, started_at, project, corpus, surface, session_id, actor_kind, actor_id, framework,"
    " retriever, root_id, depth, status, skip_reason, degraded, vector_available, latency_ms, top_k, candidate_count,"
    " admitted_count, top_candidate_score, top_admitted_score, weights, epoch, index_version, embedding_model, flags,"
    " writer_id, writer_seq) FROM STDIN",
    "hits": "COPY hits (search_id, rank, chunk_id, chunk_id_source, document_id, source_kind, score, score_kind,"
    " vector_score, lexical_score, admitted) FROM STDIN",
    "deliveries": "COPY deliveries (search_id, delivery_id, by, hit_ranks, delivered_at, writer_id, writer_seq) FROM STDIN",
    "assessments": "COPY assessments (search_id, assessment_id, name, value, method, assessed_at, writer_id, writer_seq)"
    " FROM STDIN",
    "feedback": "COPY feedback (search_id, feedback_id, rank, stage, outcome, actor_kind, actor_id, given_at, writer_id,"
    " writer_seq) FROM STDIN",
}


class Traffic:
    """Rows as lines of COPY text, table by table, from one seed."""

    def __init__(self, searches: int, votes: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._searches = searches
        self._votes = votes
        self._writer = uuid.UUID(int=1)
        self._ids = [self._id(number) for number in range(searches)]

    def lines(self, table: str) -> Iterator[str]:
        return {
            "searches": self._search_rows,
            "hits": self._hit_rows,
            "deliveries": self._delivery_rows,
            "assessments": self._assessment_rows,
            "feedback": self._feedback_rows,
        }[table]()

    def _at(self, number: int) -> datetime:
        return START + SPAN * (number / self._searches)

    def _id(self, number: int) -> uuid.UUID:
        milliseconds = int(self._at(number).timestamp() * 1000)
        return uuid.UUID(int=milliseconds << 80 | 7 << 76 | 2 << 62 | self._random.getrandbits(62))

    def _search_rows(self) -> Iterator[str]:
        pick = self._random.choice
        for number, search_id in enumerate(self._ids):
            skipped = number % 50 == 49
            epoch = f"epoch{number * 4 // self._searches:011d}"
            yield (
                f"{search_id}\t{self._at(number)}\tshop\thandbook\t{pick(('study', 'interview', 'agent'))}\ts{number // 5}\t"
                f"{pick(('human', 'human', 'agent'))}\tu{number % ACTORS}\tlangchain\tHybridRetriever\t{search_id}\t0\t"
                f"{'skipped' if skipped else 'ok'}\t{'no_goal' if skipped else chr(92) + 'N'}\tf\tt\t"
                f"{self._random.expovariate(0.02):.3f}\t10\t20\t{0 if skipped else HITS}\t0.9\t0.9\t{WEIGHTS}\t{epoch}\t"
                f"v1\twordllama\t{{}}\t{self._writer}\t{number}\n"
            )

    def _hit_rows(self) -> Iterator[str]:
        for number, search_id in enumerate(self._ids):
            if number % 50 != 49:
                for rank in range(1, HITS + 1):
                    chunk = (number * 7 + rank * 131) % 50_000
                    yield (
                        f"{search_id}\t{rank}\tchunk-{chunk:08d}\tframework\tdoc-{chunk // 8:06d}\tpdf\t{0.9 - rank / 100}\t"
                        f"fused\t0.8\t0.1\tt\n"
                    )

    def _delivery_rows(self) -> Iterator[str]:
        for number in range(0, self._searches, 20):
            if number % 50 != 49:
                order = ",".join(map(str, self._random.sample(range(1, HITS + 1), 5)))
                search_id = self._ids[number]
                yield (
                    f"{search_id}\t{self._new()}\treranker\t{{{order}}}\t{self._at(number)}\t{self._writer}\t{number}\n"
                )

    def _assessment_rows(self) -> Iterator[str]:
        for number in range(0, self._searches, 4):
            yield (
                f"{self._ids[number]}\t{self._new()}\tcitation_coverage\t{self._random.random():.3f}\tv1\t{self._at(number)}\t"
                f"{self._writer}\t{number}\n"
            )

    def _feedback_rows(self) -> Iterator[str]:
        seen = 0
        while seen < self._votes:
            number = self._random.randrange(self._searches)
            if number % 50 == 49:
                continue
            kind = self._random.choice(("human", "human", "human", "agent"))
            actor = (
                f"u{self._random.randrange(ACTORS)}" if kind == "human" else f"a{self._random.randrange(4)}"
            )
            for rank in self._random.sample(range(1, HITS + 1), self._random.randint(1, 3)):
                seen += 1
                yield (
                    f"{self._ids[number]}\t{self._new()}\t{rank}\tjudged\t{self._random.choice(OUTCOMES)}\t{kind}\t{actor}\t"
                    f"{self._at(number)}\t{self._writer}\t{seen}\n"
                )

    def _new(self) -> uuid.UUID:
        return uuid.UUID(int=self._random.getrandbits(128))


def load(connection: Connection, traffic: Traffic) -> None:
    for table, copy_from in COPIES.items():
        started = time.perf_counter()
        with connection.transaction(), connection.cursor().copy(copy_from) as copy:
            batch: list[str] = []
            for line in traffic.lines(table):
                batch.append(line)
                if len(batch) == 2_000:
                    copy.write("".join(batch))
                    batch.clear()
            copy.write("".join(batch))
        print(f"  {table} loaded in {time.perf_counter() - started:.0f} s", flush=True)
    connection.execute("VACUUM ANALYZE")


def run(server_dsn: str, options: argparse.Namespace) -> float:
    """The median seconds of a measurement."""
    dsn = psycopg.conninfo.make_conninfo(server_dsn, dbname=DATABASE)
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {DATABASE}")
        try:
            with connect(dsn, SCHEMA, statement_timeout_s=3600.0) as connection:
                apply(connection, SCHEMA)
                load(connection, Traffic(options.searches, options.votes, options.seed))
            return _timed(dsn, options)
        finally:
            admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


def _timed(dsn: str, options: argparse.Namespace) -> float:
    times = []
    for number in range(options.rounds):
        with connect(dsn, SCHEMA, statement_timeout_s=3600.0) as connection:
            server = _ServerClock(connection)
            started, here, there = time.perf_counter(), time.process_time(), server.cpu_s()
            found = measure(
                connection, Window(), connect=partial(connect, dsn, SCHEMA, statement_timeout_s=600.0)
            )
            times.append(time.perf_counter() - started)
            here, there = time.process_time() - here, server.cpu_s() - there
        votes = sum(voter.votes for voter in found.precision.overall.values())
        print(
            f"  measure, round {number + 1}: {times[-1]:.2f} s over {found.searches.searches:,} searches, {votes:,} votes; "
            f"CPU {here:.1f} s here, {there:.1f} s in the server"
        )
    started = time.perf_counter()
    command = (
        "-c",
        "from ragledger.cli import main; main()",
        "measure",
        "--json",
        "--since",
        "all",
        "--dsn",
        dsn,
    )
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    print(f"  the whole command: {time.perf_counter() - started:.2f} s")
    return statistics.median(times)


class _ServerClock:
    """CPU seconds of a server on this machine: its processes, and those of it that have ended, such as parallel workers."""

    def __init__(self, connection: Connection) -> None:
        backend = _stat(str(connection.info.backend_pid))
        self._server = backend and backend[1]

    def cpu_s(self) -> float:
        if not self._server:
            return float("nan")
        found = {process: _stat(process) for process in os.listdir("/proc") if process.isdigit()}
        ticks = [sum(map(int, one[11:13])) for one in found.values() if one and one[1] == self._server]
        own = found[self._server] or []
        return (sum(ticks) + sum(map(int, own[11:15]))) / os.sysconf("SC_CLK_TCK")


def _stat(process: str) -> list[str] | None:
    """The fields after the name: the parent is the second, CPU times are the twelfth to the fifteenth."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except OSError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dsn", help="a server to make a database on; default an embedded one of its own")
    parser.add_argument("--searches", type=int, default=1_000_000)
    parser.add_argument("--votes", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    if options.dsn:
        took = run(options.dsn, options)
    else:
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base,
            EmbeddedServer.acquire(Path(base)) as server,
        ):
            took = run(server.dsn, options)
    print(f"median {took:.2f} s, goal {GOAL_S:.0f} s")


if __name__ == "__main__":
    main()
