"""Scenarios that kill at one named point: a step of writing, shipping, adopting or promoting."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from faults.nursery import Nursery, by_itself
from faults.truth import Outcome, Truth, command, outcome_of, torn_in
from integration.shipping import World

from ragledger.testing import make_search

KILLS = 10


class Point(NamedTuple):
    """`function` of `place`; `latest` is the latest call that may be the last one before or after which to die.

    `inside` is where to die between two lines, when it is somewhere else.
    """

    place: str
    function: str
    latest: int
    inside: tuple[str, str] | None = None
    ship: str = "thread"


STORE, WRITER = "ragledger.postgres.store.Store", "ragledger.journal.writer.JournalWriter"
BACKLOG = "ragledger.journal.backlog.Backlog"
POINTS = {
    # Nobody ships there: the observer looks at what the victims left.
    "header": Point("ragledger.journal.frames", "write_frame", 60, ship="sidecar"),
    "rotate": Point("ragledger.journal.frames", "open_segment", 6, (WRITER, "_rotate")),
    "prepare": Point("ragledger.journal.frames", "prepare_segment", 6, (WRITER, "prepare")),
    "lock file": Point("ragledger.journal.state.WriterState", "create", 1),
    "copy": Point(STORE, "_land_together", 4),
    "commit": Point("psycopg.Transaction", "__exit__", 4),
    "unlink": Point(BACKLOG, "commit", 4),
    "segment file": Point("pathlib.Path", "unlink", 4),
    "adopt": Point(
        "ragledger.journal.state.WriterState", "adopt", 3, ("ragledger.shipper.Shipper", "_adopt")
    ),
    "finish": Point(STORE, "finish", 2),
    "remove": Point(BACKLOG, "remove", 2),
    "promote": Point(STORE, "promote_pending", 3),
}
MOMENTS = [
    (name, moment)
    for name, point in POINTS.items()
    for moment in ("before", "inside", "after")
    # One line, or called once in a life: there is no second call to die in.
    if moment != "inside" or name not in {"lock file", "segment file", "finish"}
]

PREPARE = """
import functools, importlib, itertools, threading
import ragledger, ragledger.schema, ragledger.postgres.store
from ragledger.testing import make_search
from ragledger import Candidate
from ragledger.ids import new_id
from ragledger.journal import writer
writer._FIRST_SEGMENT = 16 * 1024  # rotates often
writer._GROWTH = 1

def find(place, name):
    try:
        owner = importlib.import_module(place)
    except ModuleNotFoundError:
        module, _, cls = place.rpartition(".")
        owner = getattr(importlib.import_module(module), cls)
    raw = vars(owner)[name]
    return owner, raw, raw.__func__ if isinstance(raw, classmethod) else raw

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def die_around(place, name, moment, nth):
    owner, raw, found = find(place, name)
    calls = itertools.count(1)

    @functools.wraps(found)
    def deadly(*arguments, **options):
        last = next(calls) == nth
        if last and moment == "before":
            die()
        result = found(*arguments, **options)
        if last:
            die()
        return result

    setattr(owner, name, classmethod(deadly) if isinstance(raw, classmethod) else deadly)

def die_inside(place, name, share):
    "Before a line of the function: the first call shows which lines are run, a later one ends there."
    code = find(place, name)[2].__code__
    lines, learned = [], []

    def on_line(frame, event, _):
        if event == "return" and len(lines) > 1:
            learned[:] = lines
        elif event == "line" and learned and frame.f_lineno == learned[int(share * len(learned))]:
            die()
        elif event == "line" and not learned and frame.f_lineno not in lines:
            lines.append(frame.f_lineno)
        return on_line

    def on_call(frame, event, _):
        return on_line if frame.f_code is code else None

    threading.settrace(on_call)
    sys.settrace(on_call)
"""

VICTIM = """
    tell("started")
    {die}
    ledger = ragledger.open(ship={ship!r})
    for done in range(1, 3001):
        chunks = [f"{{done}}-{{rank}}" for rank in range(done % 5 + 1)]
        with ledger.search(corpus="c") as search:
            search.candidates(*[Candidate(chunk, score=done / 8) for chunk in chunks])
        report(search.receipt.search_id, [[chunk, done / 8] for chunk in chunks])
        if done % 10 == 0:
            ledger.vote(search.receipt.search_id, rank=1, outcome="relevant", actor="human:ana")
            voted(search.receipt.search_id, 1)
        if done % 100 == 0 and {ship!r} == "thread":
            early = new_id()  # a vote before its search, as from another process
            ledger.vote(early, rank=1, outcome="relevant", actor="human:ana")
            voted(early, 1)
            ledger.flush(1)
            assert ledger._parts.backend.journal.put(make_search("early", search_id=early)) is None
            report(early, [["early", None]])
            ledger.flush(1)
            ledger._parts.backend.thread.shipper.rush()
    raise AssertionError("the point was never reached")
"""


def play(world: World, name: str, moment: str, package: Path | None = None) -> tuple[Truth, Outcome]:
    """Kills at the point ten times beside 20 dead writers that wait to be adopted; then ships what is left."""
    point = POINTS[name]
    place, function = point.inside or point[:2]
    die = {
        "before": f"die_around({point.place!r}, {point.function!r}, 'before', 1 + number % {point.latest})",
        "after": f"die_around({point.place!r}, {point.function!r}, 'after', 1 + number % {point.latest})",
        "inside": f"die_inside({place!r}, {function!r}, number / {KILLS})",
    }[moment]
    earlier = leave_behind(world, 20)
    victim = VICTIM.format(die=die, ship=point.ship)
    truth = Nursery(PREPARE, victim, KILLS, at_once=2, package=package).run(world.database.dsn, by_itself)
    truth.searches[os.getpid()] = earlier
    return truth, ship_and_compare(world, truth, package)


def leave_behind(world: World, count: int) -> dict[object, list[list[object]]]:
    """So many dead writers of one search each, for the victims to adopt."""
    given = {}
    for _ in range(count):
        search = make_search("left")
        journal = world.journal()
        journal.put(search)
        journal.release()
        given[search.search_id] = [["left", None]]
    return given


def ship_and_compare(world: World, truth: Truth, package: Path | None = None) -> Outcome:
    """What the observer finds when everybody is dead and `ragledger ship` has run once."""
    torn = torn_in(world.directory)
    shipped = command(world, "ship", package=package)
    return outcome_of(world, truth, torn=torn, shipped=shipped.returncode)
