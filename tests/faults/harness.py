"""Victims and their observer: processes that report every receipt they were given, and die when they are told.

A nursery imports what the victims need and forks them one after another, a few at a time. Each victim writes a line
per receipt to the pipe of the observer, who alone decides when it is killed and alone knows what must be in the table.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

NURSERY = """
import json, os, signal, sys

def tell(*words):  # shorter than PIPE_BUF, so whole
    os.write(1, (json.dumps([os.getpid(), *words]) + "\\n").encode())

def report(search_id, chunks):
    tell(str(search_id), chunks)

%(prepare)s

def victim():
%(victim)s

alive = 0
for number in range(%(count)d):
    child = os.fork()
    if child == 0:
        try:
            victim()
        except BaseException as exc:
            import traceback
            tell("failed", traceback.format_exc()[-2000:])
        os._exit(1)
    alive += 1
    if alive == %(at_once)d:
        os.wait()
        alive -= 1
while alive:
    os.wait()
    alive -= 1
"""


class Truth(NamedTuple):
    """What an observer saw: per victim, the receipts in the order in which they were given, with the chunks."""

    receipts: dict[int, dict[UUID, list[str]]]

    @property
    def all(self) -> dict[UUID, list[str]]:
        return {search: chunks for given in self.receipts.values() for search, chunks in given.items()}


class Nursery(NamedTuple):
    """A program: `prepare` runs once, `victim` (indented by four) in each of `count` processes.

    A victim says `tell("started")` when it may be killed, and then `report(search_id, chunks)` for each receipt.
    """

    prepare: str
    victim: str
    count: int
    at_once: int = 4

    def run(self, dsn: str, kill: Callable[[int], None], **environ: str) -> Truth:
        """Runs all victims; `kill` is called in a thread of its own for each one that has started."""
        code = NURSERY % self._asdict()
        receipts: dict[int, dict[UUID, list[str]]] = {}
        killers: list[threading.Thread] = []
        env = dict(os.environ) | {"RAGLEDGER_DSN": dsn, "RAGLEDGER_PROJECT": "test"} | environ
        with subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, env=env
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                pid, *words = json.loads(line)
                if words == ["started"]:
                    receipts[pid] = {}
                    killers.append(threading.Thread(target=kill, args=(pid,)))
                    killers[-1].start()
                elif words[0] == "failed":
                    process.kill()
                    raise AssertionError(words[1])
                else:
                    receipts[pid][UUID(words[0])] = words[1]
        for killer in killers:
            killer.join()
        assert process.returncode == 0
        assert len(receipts) == self.count
        return Truth(receipts)


def at_random(seed: int, longest_s: float) -> Callable[[int], None]:
    """Kills each victim after a delay of its own, the same ones in every run."""
    delays = random.Random(seed)
    lock = threading.Lock()

    def kill(pid: int) -> None:
        with lock:
            delay = delays.uniform(0.0, longest_s)
        time.sleep(delay)
        os.kill(pid, signal.SIGKILL)

    return kill


def check(world: Any, truth: Truth, *, kills: int) -> None:
    """Table = receipts, exactly once, no row with wrong content; at most one row more per kill."""
    from integration.shipping import balanced

    rows = world.database.rows(
        "SELECT s.search_id, w.pid, array_agg(h.chunk_id ORDER BY h.rank) FROM searches s"
        " JOIN writers w USING (writer_id) LEFT JOIN hits h ON h.search_id = s.search_id AND h.admitted"
        " WHERE s.depth = 0 GROUP BY s.search_id, w.pid"
    )
    stored = {search: chunks for search, _, chunks in rows}
    for search, chunks in truth.all.items():
        assert stored.get(search) == chunks, f"receipt {search} was given out"
    for pid, given in truth.receipts.items():
        extra = {search for search, owner, _ in rows if owner == pid} - set(given)
        assert len(extra) <= 1, "more rows than one kill can leave without a receipt"
    assert len(stored) - len(truth.all) <= kills
    assert world.rejected() == {}
    balanced(world.database, world.directory, unfinished=kills)
    # A process that died while it made its lock file: swept away a minute later.
    left = [path.name for path in Path(world.directory).iterdir() if path.suffix != ".new"]
    assert left == []
