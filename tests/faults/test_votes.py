"""Votes whose search is in another process's journal, and records that no database takes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from faults.nursery import Nursery
from faults.page import Facts
from faults.stage import Application, world_of
from faults.truth import outcome_of
from fix_pg import Database
from integration.shipping import World, encode, wait_until

from ragledger import Ledger
from ragledger.ids import new_id
from ragledger.testing import make_hit, make_search

pytestmark = [pytest.mark.pg, pytest.mark.faults]

SEARCHERS = Nursery(
    prepare="""
import pathlib, time
import ragledger, ragledger.schema, ragledger.postgres.store
from ragledger import Candidate
""",
    victim="""
    tell("started")
    ledger = ragledger.open(ship="sidecar")
    given = []
    for done in range(5):
        with ledger.search(corpus="c") as search:
            search.candidates(Candidate("chunk", score=0.5))
        report(search.receipt.search_id, [["chunk", 0.5]])
        given.append(str(search.receipt.search_id))
    path = pathlib.Path(os.environ["SIGNS"], str(os.getpid()))
    path.with_suffix(".new").write_text(json.dumps(given))
    path.with_suffix(".new").rename(path)
    time.sleep(600)
""",
    count=10,
    at_once=1,
)


def test_p7_votes_for_searches_in_a_journal_of_a_process_that_is_killed_then_are_promoted(
    database: Database, make_ledger: Callable[..., Ledger], facts: Facts, tmp_path: Path
) -> None:
    ledger = make_ledger()
    given: list[str] = []
    waited: list[int] = []

    def vote_then_kill(pid: int) -> None:
        wait_until((tmp_path / str(pid)).exists)
        for search_id in json.loads((tmp_path / str(pid)).read_text()):
            given.append(ledger.vote(search_id, rank=1, outcome="relevant", actor="human:ana").status)
        assert ledger.flush(60)
        waited.append(database.value("SELECT count(*) FROM pending_feedback"))
        os.kill(pid, signal.SIGKILL)

    truth = SEARCHERS.run(database.dsn, vote_then_kill, SIGNS=str(tmp_path))
    truth.votes = {(search_id, 1): os.getpid() for search_id in truth.all}
    assert given == ["pending"] * 50
    assert len(waited) == 10
    assert min(waited) >= 5, "in the table before their searches"
    wait_until(lambda: database.value("SELECT count(*) FROM feedback") == 50)
    outcome = outcome_of(world_of(database.dsn, ledger), truth, over=False)
    how = (
        "the search in the journal of a process that is killed later, the vote by another process before that"
    )
    facts("votes", "vote before its search", how, truth, outcome, saw=f", {given.count('pending')} pending")
    assert outcome.faults == ()


def test_p7_votes_whose_search_never_comes_are_rejected_after_the_deadline(
    database: Database, make_ledger: Callable[..., Ledger], facts: Facts
) -> None:
    ledger = make_ledger(vote_deadline_h=0.001)
    application = Application(ledger)
    application.search(100)
    given = [ledger.vote(new_id(), rank=1, outcome="relevant", actor="human:ana").status for _ in range(20)]
    assert given == ["pending"] * 20
    application.search(100)
    assert ledger.flush(60)
    assert database.value("SELECT count(*) FROM pending_feedback") == 20
    with database.connect() as connection:  # ten minutes of grace, see docs/decisions.md
        connection.execute("UPDATE pending_feedback SET received_at = received_at - interval '11 minutes'")
    wait_until(lambda: database.value("SELECT count(*) FROM rejected") == 20)
    outcome = outcome_of(
        world_of(database.dsn, ledger), application.truth, over=False, rejected={"unknown_search": 20}
    )
    how = "a vote for an id that no process ever writes; the deadline passes"
    saw = f", {given.count('pending')} votes pending and later rejected as unknown_search"
    facts("votes", "vote without a search", how, application.truth, outcome, times=20, saw=saw)
    assert outcome.faults == ()


def surrogate() -> bytes:
    return encode(make_search(surface="\ue000\ue000")).replace("\ue000".encode(), b"\xed\xa0\x80")


POISON: dict[str, tuple[Callable[[], bytes], str]] = {
    "NUL": (lambda: encode(make_search("a\0b")), "database:22021"),
    "lone surrogate": (surrogate, "undecodable"),
    "out of range": (lambda: encode(make_search(hits=(make_hit(2**33 + 5, "a"),))), "undecodable"),
}


@pytest.mark.parametrize("name", POISON)
def test_p5_poison_below_the_sanitiser_is_rejected_alone_and_its_neighbours_land(
    database: Database, make_ledger: Callable[..., Ledger], facts: Facts, name: str
) -> None:
    make_body, reason = POISON[name]
    ledger = make_ledger()
    application = Application(ledger)
    for _ in range(10):
        application.search(20)
        writer = ledger._parts.backend.journal.writer
        assert writer is not None
        assert writer.append(make_body()) is None
    application.search(20)
    assert ledger.flush(60)
    world: World = world_of(database.dsn, ledger)
    outcome = outcome_of(world, application.truth, over=False, rejected={reason: 10})
    how = "put into the journal by hand between searches"
    saw = f"; poison rejected alone as {reason}"
    facts("votes", f"poison: {name}", how, application.truth, outcome, times=10, saw=saw)
    assert outcome.faults == ()
