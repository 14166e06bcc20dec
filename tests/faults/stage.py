"""A ledger of an ordinary role and whoever may change the server under it; an application that notes what it sees."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from faults.proxy import Proxy
from faults.truth import Outcome, Truth, outcome_of
from fix_pg import Database
from integration.shipping import World, wait_until

from ragledger import Candidate, Ledger
from ragledger.embedded import EmbeddedServer


class Application:
    """Searches, and notes what it was given."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.truth = Truth(searches={os.getpid(): {}})

    def search(self, count: int) -> None:
        for number in range(count):
            hits = [[f"chunk-{number}-{rank}", number / 8] for rank in range(number % 4 + 1)]
            try:
                with self.ledger.search(corpus="c") as observation:
                    observation.candidates(*[Candidate(chunk, score=score) for chunk, score in hits])
            except Exception:  # it must never happen: counted, and the test fails by the count
                self.truth.raised += 1
                continue
            self.truth.gave(os.getpid(), str(observation.receipt.search_id), hits)

    @contextmanager
    def busy(self) -> Iterator[Truth]:
        """Searches in a thread of its own for as long as the block runs."""
        done = threading.Event()

        def work() -> None:
            while not done.wait(0.002):
                self.search(5)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield self.truth
        finally:
            done.set()
            thread.join()

    @property
    def given(self) -> list[UUID]:
        return list(self.truth.all)


@dataclass
class Stage:
    """One ledger behind a proxy, and a superuser."""

    world: World
    ledger: Ledger
    admin: psycopg.Connection[Any]
    name: str
    role: str
    proxy: Proxy
    application: Application

    def terminate(self) -> None:
        """Ends every session of the application."""
        self.admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s AND usename = %s",
            [self.name, self.role],
        )

    def outcome(self) -> Outcome:
        """What the observer finds once everything was shipped; the application goes on, so files remain."""
        return settled(self.world, self.application)


def settled(world: World, application: Application) -> Outcome:
    """Every receipt in the table, once, and in the order in which it was given; nothing of ours went wrong."""
    outcome = outcome_of(world, application.truth, over=False)
    if not outcome.faults:
        assert world.stored() == application.given
    assert application.ledger.facts()["faults"] == {}
    assert (application.truth.refused, application.truth.raised) == (0, 0)
    return outcome


def world_of(dsn: str, ledger: Ledger) -> World:
    """The target of a ledger that came another way, such as through a proxy."""
    world = World(Database(dsn))
    world.directory = ledger._parts.backend.journal.directory
    return world


def is_up(dsn: str) -> bool:
    try:
        psycopg.connect(dsn, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def shut_down(server: EmbeddedServer, dsn: str) -> None:
    server.release()
    wait_until(lambda: not is_up(dsn))


def crash(server: EmbeddedServer, dsn: str) -> None:
    os.kill(postmaster(server), signal.SIGKILL)
    wait_until(lambda: not is_up(dsn))
    server.release()


def postmaster(server: EmbeddedServer) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])
