"""`ports.Backend`: one set of promises, kept by the journal, by the direct way and by the kit's memory."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.backends import MAKERS, Subject, wait_until_it_takes
from fix_pg import Database

from ragledger.ids import new_id
from ragledger.model import AssessmentRecord, DeliveryRecord
from ragledger.ports import FATE_UNKNOWN
from ragledger.testing import make_search, make_vote

pytestmark = pytest.mark.pg

MAY_PASS = {"timeout", "no_database", FATE_UNKNOWN}  # what direct says on a machine that is loaded
REASONS = MAY_PASS | {
    *("cap", "no_space", "no_journal", "io_error", "too_large", "reentry", "closed", "rejected"),
}


@pytest.fixture(params=MAKERS)
def subject(request: pytest.FixtureRequest, database: Database, tmp_path: Path) -> Iterator[Subject]:
    found = MAKERS[request.param](database, tmp_path / "journal")
    wait_until_it_takes(found, make_search("first"))
    yield found
    found.backend.close(5)


def put_all(subject: Subject, records: list[Any]) -> list[Any]:
    """The ids of those that were kept, or whose fate was open and which the drain decides."""
    kept = []
    for record in records:
        refusal = subject.backend.put(record)
        assert refusal is None or refusal in MAY_PASS
        if refusal is None or refusal == FATE_UNKNOWN:
            kept.append(record.search_id)
    return kept


def test_a_kept_record_is_there_after_a_drain(subject: Subject):
    kept = put_all(subject, [make_search("a", "b") for _ in range(20)])
    assert subject.backend.drain(60)
    assert kept
    assert subject.stored()[1:] == kept


def test_every_kind_of_record_is_taken(subject: Subject):
    search = make_search("a", "b")
    search_id = search.search_id
    for record in (
        search,
        make_vote(search_id, 2),
        make_vote(new_id(), None, "x", checked=False),
        DeliveryRecord(search_id, new_id(), "application", (2, 1), (0.5, None), 1),
        AssessmentRecord(search_id, new_id(), "coverage", None, None, None, 1),
    ):
        wait_until_it_takes(subject, record)
    assert subject.backend.drain(60)
    assert search_id in subject.stored()


def test_what_a_kept_record_is_called_is_said(subject: Subject):
    assert subject.backend.kept_as in {"journalled", "written"}


def test_facts_have_the_same_names_everywhere(subject: Subject):
    facts = subject.backend.facts()
    assert set(facts) >= {"journal", "attempted", "published", "shipped", "refused", "shipper"}
    assert facts["attempted"] >= 1
    assert all(isinstance(count, int) for count in facts["refused"].values())
    assert set(facts["shipper"]) >= {"running", "landed", "last_error"}


def test_a_refusal_is_a_known_reason_and_is_counted(subject: Subject):
    reason = subject.refuse()
    before = subject.backend.facts()["refused"].get(reason, 0)
    lost = make_search("a")
    assert subject.backend.put(lost) == reason
    assert reason in REASONS
    assert subject.backend.facts()["refused"][reason] == before + 1
    assert lost.search_id not in subject.stored()


@pytest.mark.parametrize("at", ["chunk_id", "corpus", "weights"])
@pytest.mark.parametrize("value", ["a\0b", "x" * 100_000, ""])
def test_put_never_raises_for_a_record_that_can_be_encoded(subject: Subject, at: str, value: str):
    """Below the sanitiser: what no recorder lets through is the backend's to survive."""
    record = make_search(value) if at == "chunk_id" else make_search("a", **{at: value})
    refusal = subject.backend.put(record)
    assert refusal is None or refusal in REASONS
    wait_until_it_takes(subject, after := make_search("b"))
    assert subject.backend.drain(60)
    assert after.search_id in subject.stored()


def test_after_close_nothing_raises_and_the_answer_is_true(subject: Subject):
    assert subject.backend.drain(60)
    subject.backend.close(5)
    subject.backend.close(5)
    refusal = subject.backend.put(make_search("late"))
    assert refusal is None or refusal in REASONS
    assert isinstance(subject.backend.facts(), dict)
    assert subject.backend.drain(0.0) in {True, False}


def test_threads_put_at_once_and_each_record_is_there_once(subject: Subject):
    kept: list[Any] = []
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            kept.extend(put_all(subject, [make_search("a") for _ in range(25)]))
        except BaseException as exc:
            wrong.append(exc)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert wrong == []
    assert subject.backend.drain(60)
    assert sorted(subject.stored()[1:]) == sorted(kept)


def test_put_in_a_signal_handler_is_answered_and_never_a_deadlock(subject: Subject):
    """A handler runs between two steps of the thread that is itself in the middle of a `put`."""
    answers: list[tuple[Any, str | None]] = []
    inside: list[int] = []

    def handler(number: int, frame: Any) -> None:
        if not inside:  # a way that waits takes longer than the timer
            inside.append(number)
            record = make_search("in a handler")
            answers.append((record.search_id, subject.backend.put(record)))
            inside.pop()

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        kept: list[Any] = []
        while len(kept) < 300 or not answers:
            kept += put_all(subject, [make_search("a") for _ in range(300)])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(refusal is None or refusal in REASONS for _, refusal in answers)
    kept += [search_id for search_id, refusal in answers if refusal is None or refusal == FATE_UNKNOWN]
    assert subject.backend.drain(60)
    assert sorted(subject.stored()[1:]) == sorted(kept)


def test_a_forked_child_keeps_its_own_records_and_the_parent_goes_on(subject: Subject, database: Database):
    """In the child nothing hangs on a thread, a lock or a connection of the parent."""
    from_child, to_parent = os.pipe()
    pid = os.fork()
    if pid == 0:
        told = b"?"
        try:
            subject.backend.after_fork()
            record = make_search("of the child")
            wait_until_it_takes(subject, record)
            told = record.search_id.bytes if subject.backend.drain(60) else b"not drained"
            if record.search_id not in subject.stored():
                told = b"not there"
            subject.backend.close(5)
        finally:
            os.write(to_parent, told)
            os._exit(0)
    os.close(to_parent)
    with os.fdopen(from_child, "rb") as pipe:
        told = pipe.read()
    os.waitpid(pid, 0)
    assert len(told) == 16, told
    wait_until_it_takes(subject, mine := make_search("of the parent"))
    assert subject.backend.drain(60)
    assert mine.search_id in subject.stored()
