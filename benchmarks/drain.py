"""What one search pays while other things go on: the database is down, a Python thread computes, a backlog drains.

A search is a LangChain retriever that waits 1 ms, as for a vector store, and returns 10 documents; so the time to get
the interpreter lock back after that wait counts too. Added is the time with a journalled row (no span) minus the
time without ragledger, percentile by percentile; the busy one minus the busy one. Every variant runs in a fresh process, in alternated rounds; a
figure is the median over rounds. A backlog is what a process that was killed left behind, with 10 hits a row; calls
count as long as it drains.

    python benchmarks/drain.py [--dsn postgresql://...] [--backlog 100000] [--calls 2000] [--rounds 3] [--quick]

Goals while a backlog drains: added p99 at most 10 ms with the thread and 0.5 ms with the sidecar.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
from append import busy_thread, search_of
from psycopg.conninfo import make_conninfo
from retriever import make_retriever

import ragledger
from ragledger.embedded import EmbeddedServer
from ragledger.journal.journal import Journal
from ragledger.journal.state import WriterState
from ragledger.postgres.connection import connect
from ragledger.schema import apply
from ragledger.wiring import target_from

NOBODY = "postgresql://127.0.0.1:1/none"
BASES = ("without", "without, busy")
VARIANTS = {
    "idle": "without",
    "database down": "without",
    "beside a busy thread": "without, busy",
    "backlog drains, thread": "without",
    "backlog drains, sidecar": "without",
}
"""What runs, and what it is compared with."""


@contextmanager
def server(dsn: str | None) -> Iterator[str]:
    """The given server, or an embedded one of its own."""
    if dsn is not None:
        yield dsn
        return
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as base,
        EmbeddedServer.acquire(Path(base)) as embedded,
    ):
        yield embedded.dsn


@contextmanager
def fresh_database(dsn: str) -> Iterator[str]:
    """An empty database with the schema."""
    name = f"ragledger_bench_{os.getpid()}"
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        try:
            made = make_conninfo(dsn, dbname=name)
            with connect(made, "ragledger") as connection:
                apply(connection, "ragledger")
            yield made
        finally:
            admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def time_calls(search: Callable[[], Any], calls: int, goes_on: Callable[[], bool]) -> list[float]:
    """Microseconds of each call, sorted."""
    times = []
    while len(times) < calls and (len(times) % 20 or goes_on()):
        started = time.perf_counter_ns()
        search()
        times.append((time.perf_counter_ns() - started) / 1e3)
    return sorted(times)


def leave_backlog(directory: Path, rows: int) -> Path:
    """So many rows of a writer that is dead; its lock file, which goes when all of them are in the table."""
    from msgspec.structs import replace

    from ragledger.ids import new_id

    journal = Journal(directory, project="bench", cap_bytes=1 << 33)
    record = search_of(10)
    for _ in range(rows):
        search_id = new_id()
        if journal.put(replace(record, search_id=search_id, root_id=search_id)) is not None:
            raise SystemExit("the journal refused a record")
    writer = journal.release()
    if writer is None:
        raise SystemExit("no backlog was asked for")
    return writer.state.path


def shipped(path: Path) -> int | None:
    """How much of a backlog is in the table; None when it is done and gone."""
    state = WriterState.peek(path)
    if state is None:
        return None
    number = state.shipped
    state.close()
    return number


@contextmanager
def sidecar(dsn: str, home: Path) -> Iterator[None]:
    """`ragledger ship --follow`."""
    command = [sys.executable, "-c", "from ragledger.cli import main; main()", "ship", "--follow"]
    environ = os.environ | {"RAGLEDGER_DSN": dsn, "RAGLEDGER_JOURNAL_DIR": str(home)}
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def child(variant: str, dsn: str, options: argparse.Namespace) -> dict[str, float]:
    """One variant in this process."""
    retriever = make_retriever(0.001)
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        search, path = lambda: retriever.invoke("how long do refunds take"), None
        for _ in range(100):
            search()
        if variant not in BASES:
            from ragledger_langchain import observe

            dsn = NOBODY if variant == "database down" else dsn
            if "drains" in variant:
                path = leave_backlog(target_from(dsn=dsn, journal_dir=home).journal_dir, options.backlog)
            ship = "sidecar" if variant.endswith("sidecar") else "thread"
            ledger = ragledger.open(dsn, ship=ship, journal_dir=home, exit_drain_s=0.0)
            stack.callback(ledger.close)  # before its directory goes
            observe(retriever, ledger)
            if ship == "sidecar":
                stack.enter_context(sidecar(dsn, home))
        stack.enter_context(busy_thread(on="busy" in variant))
        for _ in range(100):
            search()
        while path is not None and shipped(path) == 0:
            search()
        times = time_calls(search, options.calls, lambda: path is None or shipped(path) is not None)
    if not times:
        raise SystemExit("the backlog was gone before a call was timed: ask for a larger one")
    return {"calls": len(times), "p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100]}


def measure(variant: str, dsn: str, options: argparse.Namespace) -> dict[str, float]:
    """One variant in a fresh process."""
    command = [sys.executable, __file__, "--child", variant, "--dsn", dsn]
    command += ["--backlog", str(options.backlog), "--calls", str(options.calls)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{variant}: {done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def report(found: dict[str, list[dict[str, float]]], backlog: int) -> None:
    """A plain table."""
    middle = {
        variant: {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        for variant, runs in found.items()
    }
    base = middle["without"]
    print(f"a search of 1 ms and 10 documents, microseconds; a backlog is {backlog:,} rows")
    print(f"without ragledger: p50 {base['p50']:.0f}, p99 {base['p99']:.0f}\n")
    print(f"{'':26}{'calls':>8}{'added p50':>12}{'added p99':>12}")
    for variant, compared in VARIANTS.items():
        added = {name: middle[variant][name] - middle[compared][name] for name in ("p50", "p99")}
        print(f"{variant:26}{middle[variant]['calls']:8.0f}{added['p50']:12.1f}{added['p99']:12.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dsn", help="a server to make a database on; default an embedded one of its own")
    parser.add_argument("--backlog", type=int, default=100_000, help="rows")
    parser.add_argument("--calls", type=int, default=2000, help="per variant and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a small run that proves nothing")
    parser.add_argument("--child", metavar="VARIANT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(options.child, options.dsn, options)))
        return
    if options.quick:
        options.backlog, options.calls, options.rounds = 5000, 100, 1
    found: dict[str, list[dict[str, float]]] = {variant: [] for variant in (*BASES, *VARIANTS)}
    with server(options.dsn) as server_dsn:
        for _ in range(options.rounds):
            for variant, runs in found.items():
                with fresh_database(server_dsn) as dsn:
                    runs.append(measure(variant, dsn, options))
    report(found, options.backlog)


if __name__ == "__main__":
    main()
