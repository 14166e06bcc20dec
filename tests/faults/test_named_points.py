"""`kill -9` exactly where it hurts: each step of writing, shipping and adopting, before and after it."""

from __future__ import annotations

import os

import pytest
from faults.harness import Nursery, check
from fix_pg import Database
from integration.shipping import World, make_search

from ragledger.model import SearchRecord

pytestmark = [pytest.mark.pg, pytest.mark.faults]

KILLS = 10

POINTS = {
    "header": ("ragledger.journal.frames", "write_frame", 60),
    "rotate": ("ragledger.journal.frames", "open_segment", 6),
    "prepare": ("ragledger.journal.frames", "prepare_segment", 6),
    "lock file": ("ragledger.journal.state.WriterState", "create", 1),
    "copy": ("ragledger.postgres.store.Store", "_land_together", 4),
    "commit": ("psycopg.Transaction", "__exit__", 4),
    "unlink": ("ragledger.journal.backlog.Backlog", "commit", 4),
    "segment file": ("pathlib.Path", "unlink", 4),
    "adopt": ("ragledger.journal.state.WriterState", "adopt", 3),
    "finish": ("ragledger.postgres.store.Store", "finish", 2),
    "remove": ("ragledger.journal.backlog.Backlog", "remove", 2),
    "promote": ("ragledger.postgres.store.Store", "promote_pending", 3),
}
"""Where, and the latest call that may be the last one: the victims die at the first, the second and so on."""

PREPARE = """
import functools, importlib, itertools
import ragledger, ragledger.schema, ragledger.postgres.store
from ragledger import Candidate
from ragledger.journal import writer
writer._FIRST_SEGMENT = 16 * 1024  # rotates often
writer._GROWTH = 1

def die_at(place, name, moment, nth):
    try:
        owner = importlib.import_module(place)
    except ModuleNotFoundError:
        module, _, cls = place.rpartition(".")
        owner = getattr(importlib.import_module(module), cls)
    raw = vars(owner)[name]
    found = raw.__func__ if isinstance(raw, classmethod) else raw
    calls = itertools.count(1)

    @functools.wraps(found)
    def deadly(*arguments, **options):
        last = next(calls) == nth
        if last and moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = found(*arguments, **options)
        if last:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, classmethod(deadly) if isinstance(raw, classmethod) else deadly)
"""

VICTIM = """
    tell("started")
    die_at({place!r}, {name!r}, {moment!r}, 1 + number % {latest})
    ledger = ragledger.open()
    done = 0
    while done < 3000:
        done += 1
        chunks = [f"{{done}}-{{rank}}" for rank in range(done % 5 + 1)]
        with ledger.search(corpus="c") as search:
            search.candidates(*[Candidate(chunk, score=0.3) for chunk in chunks])
        report(search.receipt.search_id, chunks)
        if done % 100 == 0:
            ledger.flush(1)
            ledger._parts.backend.thread.shipper.rush()
    raise AssertionError("the point was never reached")
"""


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


def leave_behind(world: World, count: int) -> list[SearchRecord]:
    """So many dead writers, for the victims to adopt."""
    searches = []
    for _ in range(count):
        searches.append(make_search("left"))
        journal = world.journal()
        journal.put(searches[-1])
        journal.release()
    return searches


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("point", POINTS)
def test_p5_killed_at_a_named_point_every_receipt_is_in_the_table_once(
    world: World, point: str, moment: str
) -> None:
    place, name, latest = POINTS[point]
    earlier = {search.search_id: ["left"] for search in leave_behind(world, 20)}
    victims = VICTIM.format(place=place, name=name, moment=moment, latest=latest)
    nursery = Nursery(prepare=PREPARE, victim=victims, count=KILLS, at_once=2)
    truth = nursery.run(world.database.dsn, lambda _: None)
    truth.receipts[os.getpid()] = earlier
    world.ship()
    check(world, truth, kills=KILLS)
