"""P7 on a real table: what is accepted is there once, what is refused left nothing, what waits is promoted or rejected."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fix_pg import Database

from ragledger import Candidate, HitNotReturned, Ledger, MalformedReference, Receipt, UnknownSearch
from ragledger.assessments import score_quality
from ragledger.known import KnownSearches
from ragledger.shipper import Shipper
from ragledger.wiring import target_from

pytestmark = pytest.mark.pg

MakeLedger = Callable[..., Ledger]


def search(ledger: Ledger, *chunks: str) -> UUID:
    """A search that returned these chunks, and considered one more."""
    with ledger.search(corpus="c") as found:
        found.candidates(*map(Candidate, chunks), Candidate("considered", admitted=False))
    assert found.receipt.search_id is not None
    return found.receipt.search_id


def ship(ledger: Ledger, database: Database, **options: Any) -> None:
    """Takes what the ledger's journal holds to the table, as a sidecar does, and settles what waits there."""
    shipper = Shipper(
        Path(ledger.facts()["journal"]), target_from(dsn=database.dsn).connect, live_writers=True, **options
    )
    try:
        shipper.ship()
    finally:
        shipper.close()


def votes(database: Database) -> list[tuple[Any, ...]]:
    return database.rows(
        "SELECT rank, stage, outcome, actor_kind, actor_id FROM feedback ORDER BY feedback_id"
    )


def counts(database: Database) -> dict[str, int]:
    tables = ("feedback", "pending_feedback", "rejected")
    return {table: database.value(f"SELECT count(*) FROM {table}") for table in tables}


def balance(database: Database) -> None:
    """P5 as the table can say it: every number that was begun has ended somewhere."""
    rows = database.rows("SELECT attempted, shipped, written + pending + rejected FROM writer_fates")
    assert rows
    assert all(attempted == shipped == fates for attempted, shipped, fates in rows)


@pytest.fixture
def elsewhere(make_ledger: MakeLedger, tmp_path: Path) -> Ledger:
    """Another process's ledger as far as votes go: its searches wait in a journal of their own until `ship`."""
    return make_ledger(name="elsewhere", ship="sidecar", journal_dir=tmp_path / "elsewhere")


def test_p7_votes_on_its_own_search_are_rows_once_it_is_shipped(ledger: Ledger, database: Database):
    search_id = search(ledger, "a", "b")
    assert ledger.vote(search_id, "b", "highly_relevant", actor="human:ana").status == "journalled"
    assert ledger.vote(str(search_id), rank=1, outcome="not_relevant", actor="agent").status == "journalled"
    assert ledger.accessed(search_id, rank=2, actor="human:ana").status == "journalled"
    assert ledger.flush()
    assert votes(database) == [
        (2, "judged", "highly_relevant", "human", "ana"),
        (1, "judged", "not_relevant", "agent", None),
        (2, "accessed", None, "human", "ana"),
    ]
    assert counts(database) == {"feedback": 3, "pending_feedback": 0, "rejected": 0}
    balance(database)


@pytest.mark.parametrize("whose", ["its own", "another's"])
def test_p7_d47_the_three_refusals_store_nothing(
    ledger: Ledger, elsewhere: Ledger, database: Database, whose: str
):
    maker = ledger if whose == "its own" else elsewhere
    search_id = search(maker, "a")
    ship(elsewhere, database)
    assert ledger.flush()
    offered = ledger.facts()["attempted"]
    old = UUID(
        int=(int((datetime.now(timezone.utc) - timedelta(days=2)).timestamp() * 1000) << 80)
        | (7 << 76)
        | (2 << 62)
    )
    refused: list[tuple[type[Exception], tuple[Any, ...], dict[str, Any]]] = [
        (MalformedReference, ("yesterday", "a", "relevant"), {}),
        (MalformedReference, (search_id, "a", "good"), {}),
        (MalformedReference, (search_id, "a", "relevant"), {"actor": "ana"}),
        (UnknownSearch, (uuid.uuid4(), "a", "relevant"), {}),
        (UnknownSearch, (old, "a", "relevant"), {}),
        (HitNotReturned, (search_id, "zz", "relevant"), {}),
        (HitNotReturned, (search_id, "considered", "relevant"), {}),
        (HitNotReturned, (search_id, None, "relevant"), {"rank": 2}),
    ]
    for kind, args, more in refused:
        with pytest.raises(kind):
            ledger.vote(*args, **more)
    assert ledger.facts()["attempted"] == offered
    assert ledger.flush()
    assert counts(database) == {"feedback": 0, "pending_feedback": 0, "rejected": 0}
    balance(database)


def test_p7_a_search_of_another_process_that_is_in_the_table_is_checked_there(
    ledger: Ledger, elsewhere: Ledger, database: Database
):
    search_id = search(elsewhere, "a", "nul\0", "b", "x" * 600)
    ship(elsewhere, database)
    for name in ({"rank": 1}, {"chunk_id": "nul\0"}, {"chunk_id": "b"}, {"chunk_id": "x" * 600}):
        receipt = ledger.vote(search_id, outcome="relevant", actor="judge", **name)  # type: ignore[arg-type]
        assert receipt == Receipt(search_id=search_id, status="journalled")
    assert ledger.flush()
    assert [row[0] for row in votes(database)] == [1, 2, 3, 4]


def test_p7_a_search_that_this_process_has_forgotten_is_checked_in_the_table(
    ledger: Ledger, database: Database
):
    search_id = search(ledger, "a")
    assert ledger.flush()
    ledger.recorder.known = KnownSearches()
    assert ledger.vote(search_id, "a", "relevant").status == "journalled"
    with pytest.raises(HitNotReturned):
        ledger.vote(search_id, "b", "relevant")


VOTER = """
import sys, ragledger
ledger = ragledger.open(sys.argv[1], project="test", strict=True)
receipt = ledger.vote(sys.argv[2], rank=1, outcome="relevant", actor="human:ana")
assert ledger.flush()
ledger.close()
print(receipt.status, receipt.search_id)
"""


def test_p7_a_vote_of_a_real_other_process(ledger: Ledger, database: Database):
    search_id = search(ledger, "a")
    assert ledger.flush()
    found = subprocess.run(
        [sys.executable, "-c", VOTER, database.dsn, str(search_id)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["journalled", str(search_id)]
    assert votes(database) == [(1, "judged", "relevant", "human", "ana")]
    balance(database)


def test_p7_a_vote_that_comes_before_its_search_waits_and_is_promoted(
    ledger: Ledger, elsewhere: Ledger, database: Database
):
    search_id = search(elsewhere, "a", "b")
    assert ledger.vote(search_id, "b", "relevant", actor="human:ana") == Receipt(
        search_id=search_id, status="pending"
    )
    assert ledger.vote(search_id, rank=1, outcome="not_relevant", actor="human:ana").status == "pending"
    assert ledger.accessed(search_id, "b", actor="human:ana").status == "pending"
    assert ledger.flush()
    assert counts(database) == {"feedback": 0, "pending_feedback": 3, "rejected": 0}
    balance(database)
    ship(elsewhere, database)
    assert votes(database) == [
        (2, "judged", "relevant", "human", "ana"),
        (1, "judged", "not_relevant", "human", "ana"),
        (2, "accessed", None, "human", "ana"),
    ]
    assert counts(database) == {"feedback": 3, "pending_feedback": 0, "rejected": 0}
    balance(database)


@pytest.mark.parametrize(
    "name", [{"chunk_id": "zz"}, {"chunk_id": "considered"}, {"rank": 2}, {"rank": 9}], ids=str
)
def test_p7_a_waiting_vote_on_a_hit_that_was_not_returned_is_rejected_by_name(
    ledger: Ledger, elsewhere: Ledger, database: Database, name: dict[str, Any]
):
    search_id = search(elsewhere, "a")
    assert ledger.vote(search_id, outcome="relevant", **name).status == "pending"
    assert ledger.flush()
    ship(elsewhere, database)
    assert counts(database) == {"feedback": 0, "pending_feedback": 0, "rejected": 1}
    assert database.rows("SELECT kind, reason FROM rejected") == [("feedback", "hit_not_returned")]
    balance(database)


def test_p7_a_waiting_vote_whose_search_never_comes_is_rejected_after_the_deadline(
    ledger: Ledger, elsewhere: Ledger, database: Database
):
    lost = search(elsewhere, "a")
    assert ledger.vote(lost, "a", "relevant").status == "pending"
    assert ledger.flush()
    ship(ledger, database)
    assert counts(database)["pending_feedback"] == 1, "its search may still come"
    with database.connect() as connection:  # the vote has waited long enough for stragglers
        connection.execute("UPDATE pending_feedback SET received_at = received_at - interval '1 day'")
    ship(ledger, database)
    assert counts(database)["pending_feedback"] == 1, "its search may still come"
    ship(ledger, database, vote_deadline_h=0.0)
    assert database.rows("SELECT kind, reason FROM rejected") == [("feedback", "unknown_search")]
    assert counts(database) == {"feedback": 0, "pending_feedback": 0, "rejected": 1}
    balance(database)


@contextmanager
def down(database: Database) -> Iterator[None]:
    """Nobody gets into the database, and who is in is thrown out."""
    name = psycopg.conninfo.conninfo_to_dict(database.dsn)["dbname"]
    elsewhere = psycopg.conninfo.make_conninfo(database.dsn, dbname="postgres")
    with psycopg.connect(elsewhere, autocommit=True) as admin:
        allow = "ALTER DATABASE {} WITH ALLOW_CONNECTIONS {}"
        identifier = psycopg.sql.Identifier(str(name))
        admin.execute(psycopg.sql.SQL(allow).format(identifier, psycopg.sql.SQL("false")))
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield
        finally:
            admin.execute(psycopg.sql.SQL(allow).format(identifier, psycopg.sql.SQL("true")))


def test_p7_while_the_database_is_down_a_vote_waits_in_the_journal(
    make_ledger: MakeLedger, elsewhere: Ledger, database: Database
):
    ledger = make_ledger(
        ship="sidecar"
    )  # what ships must not meet the outage: it would wait before it tries again
    good, bad = search(elsewhere, "a"), search(elsewhere, "a")
    ship(elsewhere, database)
    with down(database):
        assert ledger.vote(good, "a", "relevant", actor="human:ana").status == "pending"
        assert ledger.vote(bad, "zz", "relevant", actor="human:ana").status == "pending"
        with pytest.raises(UnknownSearch):
            ledger.vote(uuid.uuid4(), "a", "relevant")
        with pytest.raises(MalformedReference):
            ledger.vote(good, rank=0, outcome="relevant")
    ship(ledger, database)
    assert votes(database) == [(1, "judged", "relevant", "human", "ana")]
    assert database.rows("SELECT kind, reason FROM rejected") == [("feedback", "hit_not_returned")]
    balance(database)


def test_the_latest_judgment_of_each_actor_counts(ledger: Ledger, database: Database):
    search_id = search(ledger, "a", "b")
    for outcome in ("relevant", "relevant", "not_relevant"):
        ledger.vote(search_id, "a", outcome, actor="human:ana")
    ledger.vote(search_id, "a", "relevant", actor="human:bob")
    ledger.vote(search_id, "a", "highly_relevant", actor="judge:ana")
    ledger.vote(search_id, "b", "relevant", actor="human:ana")
    ledger.vote(search_id, "b", "partially_relevant")
    ledger.vote(search_id, "b", "relevant")
    assert ledger.flush()
    current = database.rows(
        "SELECT rank, actor_kind, actor_id, outcome FROM current_votes ORDER BY rank, actor_kind, actor_id"
    )
    assert current == [
        (1, "human", "ana", "not_relevant"),
        (1, "human", "bob", "relevant"),
        (1, "judge", "ana", "highly_relevant"),
        (2, "human", "ana", "relevant"),
        (2, "system", None, "relevant"),
    ]
    assert counts(database)["feedback"] == 8, "what was said before stays in the table"


def test_opening_a_chunk_after_judging_it_erases_nothing(ledger: Ledger, database: Database):
    search_id = search(ledger, "a")
    ledger.accessed(search_id, "a", actor="human:ana")
    ledger.vote(search_id, "a", "highly_relevant", actor="human:ana")
    ledger.accessed(search_id, "a", actor="human:ana")
    assert ledger.flush()
    assert database.rows("SELECT outcome FROM current_votes") == [("highly_relevant",)]
    assert [row[1] for row in votes(database)] == ["accessed", "judged", "accessed"]


def test_a_vote_that_waited_counts_by_the_time_it_was_given(
    ledger: Ledger, elsewhere: Ledger, database: Database
):
    """A later vote may land first: the first one waited for its search in the meantime."""
    search_id = search(elsewhere, "a")
    assert ledger.vote(search_id, "a", "relevant", actor="human:ana").status == "pending"
    elsewhere.vote(search_id, "a", "not_relevant", actor="human:ana")
    ship(elsewhere, database)
    assert ledger.flush()
    ship(ledger, database)
    assert database.rows("SELECT outcome FROM current_votes") == [("not_relevant",)]
    assert counts(database)["feedback"] == 2


def test_what_reached_the_prompt_and_what_was_assessed_are_rows(ledger: Ledger, database: Database):
    search_id = search(ledger, "a", "b")
    ledger.deliver(search_id, [2, 1], by="reranker", scores=[0.9, None])
    ledger.deliver(search_id, [2])
    ledger.assess(search_id, "citation_coverage", 0.6, method="blend/1", weights={"a": 0.70000000001, "b": 1})
    ledger.assess(search_id, "confidence", None)
    ledger.assess(search_id, score_quality([0.35]))
    assert ledger.flush()
    assert database.rows("SELECT by, hit_ranks, scores FROM deliveries ORDER BY delivery_id") == [
        ("reranker", [2, 1], [0.9, None]),
        ("application", [2], None),
    ]
    assert database.rows("SELECT name, value, method, weights FROM assessments ORDER BY assessment_id") == [
        ("citation_coverage", 0.6, "blend/1", {"a": 0.7, "b": 1}),
        ("confidence", None, None, None),
        ("score_quality", 0.5, "mean_over_reference/1", {"reference": 0.7}),
    ]
    balance(database)


def test_p2_what_a_hostile_retriever_hands_over_lands_in_the_table(
    make_ledger: MakeLedger, database: Database
):
    """Whatever had to be changed is flagged; nothing is rejected by the database."""
    ledger = make_ledger(strict=False)
    odd: Any = {
        "score_kind": "odd",
        "chunk_id_source": "odd",
        "score_source": "nul\0",
        "source_kind": "\ud800",
    }
    with ledger.search(
        surface="nul\0", session_id="\ud800", actor="robot\0", served_from="x", top_k=2**40
    ) as found:  # type: ignore[arg-type]
        found.candidates(
            Candidate(
                "nul\0", "\ud800", score=float("nan"), vector=float("inf"), signals={"nul\0": 1e308}, **odd
            ),
            Candidate("\ud800", score=10**400, admitted=False),
            Candidate(7, vector="0.5"),  # type: ignore[arg-type]
        )
        found.degrade("nul\0", vector_available="no")  # type: ignore[arg-type]
        found.declare(weights={"vector": 0.6, "text": "x" * 5000, "big": 2**70}, index_version="x" * 5000)
        found.flag("nul\0")
    ledger.skip(reason=None)  # type: ignore[arg-type]
    assert ledger.flush()
    assert counts(database)["rejected"] == 0
    assert database.value("SELECT count(*) FROM searches") == 2
    assert database.rows("SELECT chunk_id, vector_score, admitted FROM hits ORDER BY rank") == [
        ("nul\\u0000", None, True),
        ("7", 0.5, True),
        ("\\ud800", None, False),
    ]
    assert ledger.vote(found.receipt.search_id or "", "nul\0", "relevant").status == "journalled"
    assert ledger.guard.faults == {}
    balance(database)
