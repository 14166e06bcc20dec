"""Victims: processes that report every receipt they were given to a pipe, and die when they are told.

A nursery imports what the victims need and forks them one after another, a few at a time. The observer at the other
end of the pipe alone decides when a victim is killed, and alone knows what must be in the table.
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
from typing import NamedTuple
from uuid import UUID

from faults.truth import Truth

NURSERY = """
import json, os, signal, sys

def tell(*words, pid=0):  # shorter than PIPE_BUF, so whole
    os.write(1, (json.dumps([pid or os.getpid(), *words]) + "\\n").encode())

def report(search_id, hits):
    tell("search", str(search_id), hits)

def voted(search_id, rank):
    tell("vote", str(search_id), rank)

def bury():
    pid, status = os.wait()
    tell("ended", os.waitstatus_to_exitcode(status), pid=pid)

%(prepare)s

def victim(number):
%(victim)s

alive = 0
tell("package", os.path.dirname(ragledger.__file__))
for number in range(%(count)d):
    child = os.fork()
    if child == 0:
        try:
            victim(number)
            tell("failed", "a victim outlived its scenario")
        except BaseException:
            import traceback
            tell("failed", traceback.format_exc()[-2000:])
        os._exit(1)
    alive += 1
    if alive == %(at_once)d:
        bury()
        alive -= 1
while alive:
    bury()
    alive -= 1
"""

TESTS = Path(__file__).parents[1]


class Nursery(NamedTuple):
    """A program: `prepare` runs once, `victim` (indented by four, knows its `number`) in each of `count` processes.

    A victim says `tell("started")` when it may be killed, `report(search_id, hits)` for each receipt of a search and
    `voted(search_id, rank)` for each receipt of a vote. `package` is a directory with a ragledger to use instead.
    """

    prepare: str
    victim: str
    count: int
    at_once: int = 4
    package: Path | None = None

    def run(self, dsn: str, kill: Callable[[int], None], **environ: str) -> Truth:
        """Runs all victims; `kill` is called in a thread of its own for each one that has started, and must not fail."""
        truth = Truth()
        killers: list[threading.Thread] = []
        with subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", NURSERY % self._asdict()],
            stdout=subprocess.PIPE,
            env=self._environ(dsn, environ),
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                match json.loads(line):
                    case [pid, "started"]:
                        truth.searches.setdefault(pid, {})
                        killers.append(threading.Thread(target=kill, args=(pid,)))
                        killers[-1].start()
                    case [pid, "search", search_id, hits]:
                        truth.gave(pid, search_id, hits)
                    case [pid, "vote", search_id, rank]:
                        truth.votes[UUID(search_id), rank] = pid
                    case [_, "ended", code]:
                        truth.kills += code == -signal.SIGKILL
                    case [_, "package", path]:
                        assert self.package is None or Path(path).parent == self.package
                    case [_, "failed", words]:
                        process.kill()
                        raise AssertionError(words)
        for killer in killers:
            killer.join()
        assert process.returncode == 0
        assert len(truth.searches) == self.count
        assert truth.kills == self.count, "a victim ended in another way"
        return truth

    def _environ(self, dsn: str, more: dict[str, str]) -> dict[str, str]:
        path = [str(self.package)] if self.package is not None else []
        return (
            dict(os.environ)
            | {"RAGLEDGER_DSN": dsn, "RAGLEDGER_PROJECT": "test"}
            | {"PYTHONPATH": os.pathsep.join([*path, str(TESTS)])}
            | more
        )


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


def by_itself(pid: int) -> None:
    """For victims that know their moment."""
