"""Votes over HTTP: how many a second `ragledger serve` takes, and that every accepted one is in the table exactly once.

A server of its own process takes votes on loopback from a few connections that stay open; the votes are for searches
of another process, so that each is checked against the table. What was accepted is compared with the table, vote by vote.

    python benchmarks/votes.py [--dsn postgresql://...] [--rate 2000] [--seconds 60] [--connections 8]

Exit code 1 when an accepted vote is missing or there twice.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import ragledger
from ragledger import Candidate
from ragledger.wiring import target_from

HITS = 10
SEARCHES = 500
OUTCOMES = ("relevant", "not_relevant")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dsn", default="embedded")
    parser.add_argument("--rate", type=int, default=2000, help="votes a second that are sent")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    searches = _searches(options.dsn)
    project = f"votes-{os.getpid()}"
    with _serving(options.dsn, project) as address:
        sent = asyncio.run(_Load(address, searches, options).run())
    _report(sent, _stored(options.dsn, project), options)


def _searches(dsn: str) -> list[str]:
    with_ids = []
    ledger = ragledger.open(dsn, project="votes")
    for number in range(SEARCHES):
        with ledger.search(corpus="bench") as search:
            search.candidates(*[Candidate(f"{number}-{rank}", score=0.5) for rank in range(HITS)])
        with_ids.append(str(search.receipt.search_id))
    assert ledger.flush(60)
    ledger.close()
    return with_ids


@contextmanager
def _serving(dsn: str, project: str) -> Iterator[tuple[str, int]]:
    command = [
        sys.executable,
        "-c",
        "from ragledger.cli import main; main()",
        "serve",
        "--dsn",
        dsn,
        "--port",
        "0",
    ]
    environ = os.environ | {"RAGLEDGER_PROJECT": project}
    with subprocess.Popen(
        [*command, "--rate", "1000000"], env=environ, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        found = re.search(r"http://([\d.]+):(\d+)", process.stderr.readline())
        assert found
        yield found[1], int(found[2])
        process.send_signal(signal.SIGTERM)


class _Load:
    """Sends at a steady rate; one that falls behind sends as fast as the server answers."""

    def __init__(self, address: tuple[str, int], searches: list[str], options: argparse.Namespace) -> None:
        self.address = address
        self.searches = searches
        self.options = options
        self.accepted: Counter[str] = Counter()
        self.codes: Counter[str] = Counter()
        self.times: list[float] = []

    async def run(self) -> _Load:
        self.started = time.perf_counter()
        count = self.options.connections
        await asyncio.gather(*[self._connection(number, count) for number in range(count)])
        self.took = time.perf_counter() - self.started
        return self

    async def _connection(self, first: int, step: int) -> None:
        reader, writer = await asyncio.open_connection(*self.address)
        for number in range(first, self.options.rate * self.options.seconds, step):
            due = self.started + number / self.options.rate
            if (wait := due - time.perf_counter()) > 0.001:
                await asyncio.sleep(wait)
            actor = f"v{number}"
            sent = time.perf_counter()
            writer.write(self._request(number, actor))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
            await reader.readexactly(length)
            self.times.append(time.perf_counter() - sent)
            code = head[9:12].decode()
            self.codes[code] += 1
            if code == "201":
                self.accepted[actor] += 1
        writer.close()

    def _request(self, number: int, actor: str) -> bytes:
        vote = {
            "search_id": self.searches[number % SEARCHES],
            "rank": number % HITS + 1,
            "outcome": OUTCOMES[number % 2],
            "actor": f"human:{actor}",
        }
        body = json.dumps(vote).encode()
        head = f"POST /v1/feedback HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        return head.encode() + body


def _stored(dsn: str, project: str) -> Counter[str]:
    target = target_from(dsn=dsn)
    try:
        with target.connect(role=None) as connection:
            rows = connection.execute(
                "SELECT actor_id, count(*)::int4 FROM feedback JOIN writers USING (writer_id) WHERE project = %s GROUP BY 1",
                [project],
            )
            return Counter(dict(rows.fetchall()))  # type: ignore[arg-type]
    finally:
        target.release()


def _report(load: _Load, stored: Counter[str], options: argparse.Namespace) -> None:
    load.times.sort()
    total = len(load.times)
    print(f"{total:,} votes in {load.took:.1f} s: {total / load.took:,.0f}/s of {options.rate:,}/s asked for")
    print(
        f"answers: {dict(load.codes)}; p50 {load.times[total // 2] * 1e3:.1f} ms, p99 {load.times[total * 99 // 100] * 1e3:.1f} ms"
    )
    missing, more = load.accepted - stored, stored - load.accepted
    print(
        f"accepted {load.accepted.total():,}, in the table {stored.total():,}, missing {missing.total()}, more {more.total()}"
    )
    sys.exit(1 if missing or more else 0)


if __name__ == "__main__":
    main()
