"""A scenario: writers that live while somebody else ships, and are killed a little later."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from faults.nursery import Nursery
from faults.points import ship_and_compare
from faults.truth import Outcome, Truth, command
from integration.shipping import World, wait_until

WRITERS = 10

PREPARE = """
import pathlib, time
import ragledger, ragledger.schema, ragledger.postgres.store
from ragledger import Candidate
"""

VICTIM = """
    tell("started")
    ledger = ragledger.open(ship="sidecar")
    def search(count):
        for done in range(count):
            with ledger.search(corpus="c") as search:
                search.candidates(Candidate(f"chunk-{{done}}", score=done / 8))
            report(search.receipt.search_id, [[f"chunk-{{done}}", done / 8]])
    search(20)
    pathlib.Path({signs!r}, f"{{os.getpid()}}.ready").touch()
    # All the time: a writer soon notices that its files are gone, and what it keeps from then on is safe.
    while not pathlib.Path({signs!r}, "go").exists():
        search(1)
        time.sleep(0.005)  # slower than one shipper ships: taken for dead, they are shipped until there is no more
    search(20)
    pathlib.Path({signs!r}, f"{{os.getpid()}}.done").touch()
    time.sleep(600)
"""


def play_beside_a_shipper(world: World, signs: Path, package: Path | None = None) -> tuple[Truth, Outcome]:
    """Ten writers append while `ragledger ship` runs, and are killed a little later; then ships what is left."""
    signs.mkdir()

    def ship_between() -> None:
        wait_until(lambda: len(list(signs.glob("*.ready"))) == WRITERS)
        try:
            shipped.append(command(world, "ship", package=package).returncode)
        finally:
            (signs / "go").touch()

    def kill(pid: int) -> None:
        try:
            wait_until((signs / f"{pid}.done").exists)
        finally:
            os.kill(pid, signal.SIGKILL)

    shipped: list[int] = []
    thread = threading.Thread(target=ship_between)
    thread.start()
    nursery = Nursery(PREPARE, VICTIM.format(signs=str(signs)), WRITERS, at_once=WRITERS, package=package)
    truth = nursery.run(world.database.dsn, kill)
    thread.join()
    assert shipped == [0]
    return truth, ship_and_compare(world, truth, package)
