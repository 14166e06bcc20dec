"""How long `ragledger calibrate` takes over a large table, the whole command.

    python benchmarks/calibration_speed.py [--searches 1000000] [--votes 200000] [--hits 10] [--rounds 2]

The rows are made inside Postgres. Goal: a million searches with 200,000 votes in under 60 s on 2 cores.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from ragledger.embedded import EmbeddedServer
from ragledger.postgres.connection import connect
from ragledger.schema import apply

DATABASE = "ragledger_speed"
_QUERIES = re.findall(
    r"^-- name: (\w+)\n(.*?)(?=^-- name: |\Z)",
    (Path(__file__).parent / "calibration_speed.sql").read_text("utf-8"),
    re.DOTALL | re.MULTILINE,
)


def fill(dsn: str, sizes: dict[str, int]) -> None:
    """The table, with its planner's statistics."""
    with connect(dsn, "ragledger", statement_timeout_s=3600) as connection:
        apply(connection, "ragledger")
        for name, query in _QUERIES:
            began = time.perf_counter()
            # Into the text: the planner of generate_series and the types of literals are then what they look like.
            psycopg.ClientCursor(connection).execute(query, sizes)
            print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)
        connection.execute("VACUUM (ANALYZE) searches, hits, feedback")


def timed(dsn: str) -> tuple[float, str]:
    """Seconds of the whole command, and what it said."""
    command = [
        str(Path(sys.executable).with_name("ragledger")),
        "calibrate",
        "--dsn",
        dsn,
        "--since",
        "all",
        "--json",
    ]
    began, cpu = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    own = after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime
    said = json.loads(done.stdout)
    return (
        took,
        f"{own:.1f} s of CPU in the command, the rest in Postgres or waiting; {said['verdict']}: {said['used']}, {said['estimate']}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--searches", type=int, default=1_000_000)
    parser.add_argument("--votes", type=int, default=200_000)
    parser.add_argument("--hits", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=2)
    given = parser.parse_args()
    base = Path(tempfile.gettempdir()) / f"ragledger-bench-{os.getuid()}"
    with EmbeddedServer.acquire(base, throwaway=True, timeout_s=60) as server:
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
            admin.execute(f"CREATE DATABASE {DATABASE}")
        try:
            dsn = make_conninfo(server.dsn, dbname=DATABASE)
            fill(dsn, {"searches": given.searches, "votes": given.votes, "hits": given.hits})
            for _ in range(given.rounds):
                took, said = timed(dsn)
                print(
                    f"{given.searches:,} searches, {given.votes:,} votes: {took:.1f} s ({said})", flush=True
                )
        finally:
            with psycopg.connect(server.dsn, autocommit=True) as admin:
                admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")


if __name__ == "__main__":
    main()
