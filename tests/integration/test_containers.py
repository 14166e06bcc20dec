"""Containers on one volume: every one of them has a process 1, and only the lock says who lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from fix_pg import Database
from integration.shipping import World, balanced, wait_until

from ragledger.journal import directory as files
from ragledger.journal.state import WriterState, lock_is_free

pytestmark = pytest.mark.pg

CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")

PROGRAM = """
import os, sys
import ragledger
from ragledger import Candidate
ledger = ragledger.open(ship=sys.argv[1], strict=True)
for line in sys.stdin:
    with ledger.search(corpus="c") as found:
        found.candidates(Candidate("a", score=0.5))
    print(os.getpid(), ledger._parts.backend.journal.writer.writer_id, found.receipt.search_id, flush=True)
assert ledger.flush(60) if sys.argv[1] == "thread" else True
ledger.close()
"""


class Container:
    """An application that is process 1 of its own pid namespace and searches when it is asked."""

    def __init__(self, dsn: str, ship: str) -> None:
        self.process = subprocess.Popen(
            [*CONTAINER, sys.executable, "-c", PROGRAM, ship],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ) | {"RAGLEDGER_DSN": dsn, "RAGLEDGER_PROJECT": "test"},
        )
        self.receipts: list[UUID] = []
        self.pid = 0
        self.writer = ""

    def search(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        pid, writer, receipt = self.process.stdout.readline().split()
        self.pid, self.writer = int(pid), UUID(writer).hex
        self.receipts.append(UUID(receipt))

    def kill(self) -> None:
        """`--kill-child`: the whole container with it."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def leave(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(120)


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.fixture
def start(world: World) -> Iterator[Callable[[str], Container]]:
    started: list[Container] = []
    try:
        allowed = subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        allowed = False
    if not allowed:
        pytest.skip("no pid namespaces here")

    def start(ship: str) -> Container:
        started.append(Container(world.database.dsn, ship))
        return started[-1]

    yield start
    for container in started:
        container.kill()
        for stream in (container.process.stdin, container.process.stdout):
            assert stream is not None
            stream.close()


def test_p5_of_two_containers_with_the_same_pid_the_dead_one_is_adopted_and_the_living_one_is_not(
    world: World, start: Callable[[str], Container]
) -> None:
    dead, living = start("sidecar"), start("sidecar")
    for container in (dead, living):
        for _ in range(5):
            container.search()
    assert dead.pid == living.pid == 1
    state = WriterState.peek(files.lock_path(world.directory, dead.writer))
    assert state is not None
    assert state.pid == 1
    state.close()
    dead.kill()
    wait_until(lambda: lock_is_free(files.lock_path(world.directory, dead.writer)))
    shipper = world.shipper()
    shipper.ship()
    shipper.close()
    assert world.stored() == dead.receipts, "the living one's are its own to ship"
    assert [path.stem for path in files.locks(world.directory)] == [living.writer]
    living.search()
    assert living.leave() == 0
    world.ship()
    assert sorted(world.stored()) == sorted(dead.receipts + living.receipts)
    assert list(world.directory.iterdir()) == []
    assert balanced(world.database, world.directory).written == 11


def test_p5_a_pid_that_is_used_again_adopts_its_predecessor_while_it_writes(
    world: World, start: Callable[[str], Container]
) -> None:
    """A container that is restarted: the same pid, the same directory, the predecessor's journal still there."""
    dead = start("sidecar")
    for _ in range(5):
        dead.search()
    dead.kill()
    successor = start("thread")
    successor.search()
    assert successor.pid == dead.pid == 1
    wait_until(lambda: set(dead.receipts) <= set(world.stored()))
    successor.search()
    assert successor.leave() == 0
    world.ship()
    assert sorted(world.stored()) == sorted(dead.receipts + successor.receipts)
    assert list(world.directory.iterdir()) == []
    assert balanced(world.database, world.directory).written == 7
