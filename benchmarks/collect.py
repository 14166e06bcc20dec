"""What a pass of `ragledger collect` costs: searches a second at first, and a pass over a few new ones beside a growing history.

    python benchmarks/collect.py --searches 200000 --plot docs/collect.svg

History is loaded in parts, each is collected (that is the first figure), and then a pass over `--new` searches of the last
minutes is timed (that is the second). CPU is that of the server's process for the session, so that other work on the machine
hardly counts; of several sessions side by side the one that worked longest counts, as if each had a core of its own. Five projects with four surfaces, 10 hits, a vote on every tenth search, `--per-day` searches a day.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo
from rich.console import Console
from rich.table import Table

from ragledger import schema
from ragledger.embedded import EmbeddedServer
from ragledger.postgres.connection import Connection, connect
from ragledger_collector import Collector

ID = "('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid"
SEARCHES = f"""
INSERT INTO searches (search_id, started_at, project, corpus, surface, actor_kind, framework, root_id, depth, status, degraded,
    vector_available, latency_ms, candidate_count, admitted_count, top_candidate_score, top_admitted_score, weights, epoch,
    flags, writer_id, writer_seq)
SELECT {ID}, timestamptz '2026-01-01' + i * (interval '1 day' / %(per_day)s), 'p' || i %% 5, 'c', 's' || i %% 4, 'human', 'own',
    {ID}, 0, 'ok', false, true, 5 + 20 * random(), 20, 10, random(), random(), '{{}}', 'e' || i / 50000, '{{}}',
    '00000000-0000-0000-0000-000000000001', i
FROM generate_series(%(first)s::int, %(last)s::int) AS i
"""  # noqa: S608  made of this file's own constants
HITS = f"""
INSERT INTO hits (search_id, rank, chunk_id, document_id, source_kind, score, score_kind, vector_score, lexical_score, admitted)
SELECT {ID}, r, 'ch' || (i * 7 + r) %% 20000, 'd' || (i * 7 + r) %% 2000, 'page', random(), 'fused', random(), random(), true
FROM generate_series(%(first)s::int, %(last)s::int) AS i, generate_series(1, 10) AS r
"""  # noqa: S608
FEEDBACK = f"""
INSERT INTO feedback (search_id, feedback_id, rank, stage, outcome, actor_kind, given_at, writer_id, writer_seq)
SELECT {ID}, gen_random_uuid(), 1 + i %% 10, 'judged', 'relevant', 'human', now(), '00000000-0000-0000-0000-000000000002', i
FROM generate_series(%(first)s::int, %(last)s::int) AS i WHERE i %% 10 = 0
"""  # noqa: S608
LANDED = """
INSERT INTO writers AS w (writer_id, project, host, pid, started_at, landed)
SELECT ('00000000-0000-0000-0000-00000000000' || n)::uuid, 'p', 'h', 1, now(), int8multirange(int8range(1, %(last)s, '[]'))
FROM generate_series(1, 2) AS n
ON CONFLICT (writer_id) DO UPDATE SET landed = excluded.landed
"""


@dataclass(frozen=True)
class Cost:
    """What was measured beside `history` searches."""

    history: int
    first: float
    passes: list[float]
    documents: list[float]


class Bench:
    """A table that grows, and a collector."""

    def __init__(self, dsn: str, per_day: int, sessions: int = 1) -> None:
        self._table = connect(dsn, "ragledger", statement_timeout_s=3600)
        schema.apply(self._table, "ragledger")
        self._session = connect(dsn, "ragledger", statement_timeout_s=3600)
        self._others: list[float] = []
        self._collector = Collector(self._session, connect=lambda: self._another(dsn), sessions=sessions)
        self._collector.lock()
        self._per_day = per_day
        self._last = 0

    def grow(self, searches: int) -> None:
        """So many more arrive."""
        given = {"first": self._last + 1, "last": self._last + searches, "per_day": self._per_day}
        with self._table.transaction():
            for statement in (SEARCHES, HITS, FEEDBACK, LANDED):
                self._table.execute(statement, given)
        self._last += searches

    def collect(self) -> tuple[float, float]:
        """The seconds of CPU that a pass took in the server: for minutes, and for the documents of the days concerned."""
        return self._longest(lambda: self._collector.run(documents=False)), self._longest(
            self._collector.count_documents
        )

    def _longest(self, work: Callable[[], object]) -> float:
        self._others.clear()
        before = _cpu(self._session)
        work()
        return max(_cpu(self._session) - before, *self._others, 0.0)

    def _another(self, dsn: str) -> Connection:
        """A session of which it is known at its end how long it worked."""
        session = connect(dsn, "ragledger", statement_timeout_s=3600)
        close = session.close

        def noted() -> None:
            if not session.closed:
                self._others.append(_cpu(session))
            close()

        session.close = noted  # type: ignore[method-assign]
        return session

    def settle(self) -> None:
        """What autovacuum does in time."""
        self._table.execute("VACUUM ANALYZE")


def measure(bench: Bench, options: argparse.Namespace) -> list[Cost]:
    """A cost beside each part of the history."""
    part = options.searches // options.parts
    found = []
    for number in range(1, options.parts + 1):
        bench.grow(part)
        bench.settle()
        first = part / sum(bench.collect())
        later = []
        for _ in range(options.rounds):
            bench.grow(options.new)
            later.append(bench.collect())
        passes, documents = zip(*later, strict=True)
        found.append(Cost(history=number * part, first=first, passes=[*passes], documents=[*documents]))
        print(
            f"{number * part:>10,} searches: {first:,.0f}/s; then {statistics.median(passes):.3f} s",
            flush=True,
        )
    return found


def show(costs: list[Cost], options: argparse.Namespace) -> None:
    """The table."""
    table = Table(
        "history", "first pass, searches/s", f"minutes of {options.new:,} new, s", "documents of their day, s"
    )
    for cost in costs:
        table.add_row(
            f"{cost.history:,}", f"{cost.first:,.0f}", _spread(cost.passes), _spread(cost.documents)
        )
    console = Console(width=110)
    console.print(table)
    console.print("Seconds of CPU of the session in the server: median, least to most.")


def _spread(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.3f} ({min(seconds):.3f} to {max(seconds):.3f})"


def plot(costs: list[Cost], options: argparse.Namespace) -> None:
    """Cost against history, with what growing in step with it would look like."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "ragledger"
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    history = [cost.history for cost in costs]
    middle = [statistics.median(cost.passes) for cost in costs]
    axes.fill_between(
        history, [min(cost.passes) for cost in costs], [max(cost.passes) for cost in costs], alpha=0.2
    )
    axes.plot(history, middle, marker="o", label=f"minutes of {options.new:,} new searches")
    day = [statistics.median(cost.documents) for cost in costs]
    axes.plot(history, day, marker="s", label=f"documents of their day, {options.per_day:,} searches at most")
    in_step = [middle[0] * cost.history / history[0] for cost in costs]
    axes.plot(history, in_step, linestyle=":", color="grey", label="in step with history")
    axes.set(xlabel="searches in the table", ylabel="seconds of CPU", ylim=(0, None))
    axes.legend(frameon=False)
    figure.savefig(options.plot, metadata={"Date": None})


def _cpu(connection: Connection) -> float:
    ran = Path(f"/proc/{connection.info.backend_pid}/schedstat").read_text().split()[0]
    return int(ran) / 1e9


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--searches", type=int, default=200_000)
    parser.add_argument("--parts", type=int, default=5)
    parser.add_argument("--new", type=int, default=500, help="searches of a later pass")
    parser.add_argument("--rounds", type=int, default=5, help="later passes per part")
    parser.add_argument("--per-day", type=int, default=30_000)
    parser.add_argument("--sessions", type=int, default=1, help="side by side in a first pass, at most")
    parser.add_argument("--plot", type=Path, help="an .svg of cost against history")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base,
        EmbeddedServer.acquire(Path(base), throwaway=True, timeout_s=60) as server,
    ):
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute("CREATE DATABASE collect")
        costs = measure(
            Bench(make_conninfo(server.dsn, dbname="collect"), options.per_day, options.sessions), options
        )
    show(costs, options)
    if options.plot:
        plot(costs, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
