"""`write="direct"`: no journal; the receipt says what the table said, and a bound keeps the caller free."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from faults.proxy import Proxy
from fix_pg import Database
from integration.shipping import wait_until

import ragledger
from ragledger import Candidate, Ledger, Receipt
from ragledger.balance import WriterBalance, balances
from ragledger.direct import Direct
from ragledger.errors import ConfigError, HitNotReturned, UnknownSearch
from ragledger.testing import make_search, make_vote


@pytest.fixture
def proxy(database: Database) -> Iterator[Proxy]:
    with Proxy(database.dsn) as proxy:
        yield proxy


@pytest.fixture
def direct(make_ledger: Callable[..., Ledger], proxy: Proxy) -> Ledger:
    ledger = make_ledger(dsn=proxy.dsn, write="direct")
    wait_until(lambda: _backend(ledger)._store is not None)
    return ledger


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where time is not the subject, a busy machine must not decide."""
    monkeypatch.setattr("ragledger.direct._BOUND_S", 30.0)


def _backend(ledger: Ledger) -> Direct:
    backend = ledger._parts.backend
    assert isinstance(backend, Direct)
    return backend


def _search(ledger: Ledger, *chunks: str) -> Receipt:
    with ledger.search(corpus="handbook") as search:
        search.candidates(*(Candidate(chunk, score=0.5) for chunk in chunks or ("a",)))
    return search.receipt


def _stored(database: Database) -> list[UUID]:
    return [row[0] for row in database.rows("SELECT search_id FROM searches ORDER BY writer_seq")]


def _balance(database: Database, tmp_path: Path) -> WriterBalance:
    with database.connect() as connection:
        (found,) = balances(connection, tmp_path / "no journal")
    return found


@pytest.mark.usefixtures("patient")
def test_p6_a_receipt_that_says_written_is_in_the_table(direct: Ledger, database: Database) -> None:
    receipts = [_search(direct, "a", "b") for _ in range(5)]
    assert [receipt.status for receipt in receipts] == ["written"] * 5
    assert _stored(database) == [receipt.search_id for receipt in receipts]
    assert database.value("SELECT count(*) FROM hits") == 10


@pytest.mark.usefixtures("patient")
def test_there_is_no_journal_and_no_place_for_one_is_needed(
    make_ledger: Callable[..., Ledger], database: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "absent"))
    ledger = make_ledger(write="direct")
    wait_until(lambda: _search(ledger).status == "written")
    assert not (tmp_path / "absent").exists()
    assert ledger.facts()["journal"] is None


@pytest.mark.usefixtures("patient")
def test_votes_skips_and_the_rest_are_written_too(direct: Ledger, database: Database) -> None:
    receipt = _search(direct, "a", "b")
    assert receipt.search_id is not None
    assert direct.vote(receipt.search_id, "a", "relevant", actor="human:ana").status == "written"
    assert direct.accessed(receipt.search_id, rank=2, actor="human:ana").status == "written"
    assert direct.deliver(receipt.search_id, [2, 1]).status == "written"
    assert direct.assess(receipt.search_id, "coverage", 0.5).status == "written"
    assert direct.skip(reason="no_goal").status == "written"
    for table, count in {"feedback": 2, "deliveries": 1, "assessments": 1, "searches": 2}.items():
        assert database.value(f"SELECT count(*) FROM {table}") == count
    with pytest.raises(HitNotReturned):
        direct.vote(receipt.search_id, "z", "relevant", actor="human:ana")
    with pytest.raises(UnknownSearch):
        direct.vote(UUID(int=1), "z", "relevant", actor="human:ana")


def test_p6_during_an_outage_searches_are_refused_at_once_and_recorded_again_afterwards(
    direct: Ledger, proxy: Proxy, database: Database, tmp_path: Path
) -> None:
    first = _search(direct)
    proxy.refuse()
    wait_until(lambda: _search(direct).reason == "no_database")
    receipt = _search(direct)
    assert (receipt.search_id, receipt.status) == (None, "refused")
    proxy.refuse(on=False)
    wait_until(lambda: _search(direct).status == "written")
    assert direct.flush()
    direct.close()
    stored = _stored(database)
    assert stored[0] == first.search_id
    balance = _balance(database, tmp_path)
    refused = direct.facts()["refused"]
    assert balance.refused == sum(refused.values()) > 0
    assert (balance.difference, balance.faults, balance.written) == (0, (), len(stored))


def test_p4_a_database_that_does_not_answer_costs_the_bound_and_the_receipt_says_unknown(
    direct: Ledger, proxy: Proxy, database: Database, tmp_path: Path
) -> None:
    wait_until(lambda: _search(direct).status == "written")  # the worker has nothing else to ask for a while
    before = _stored(database)
    proxy.freeze()
    begun = _search(direct, "a")
    queued = _search(direct, "b")
    assert (begun.status, begun.reason) == ("unknown", "fate_unknown")
    assert begun.search_id is not None
    assert (queued.search_id, queued.status, queued.reason) == (None, "refused", "timeout")
    proxy.thaw()
    assert direct.flush(60)
    assert _stored(database) == [*before, begun.search_id]
    vote = direct.vote(begun.search_id, "a", "relevant", actor="human:ana")
    assert vote.status == "written"
    direct.close()
    balance = _balance(database, tmp_path)
    assert (balance.written, balance.refused, balance.difference) == (len(before) + 2, 1, 0)


@pytest.mark.parametrize("words", [b"COPY searches", b"COMMIT"])
@pytest.mark.parametrize("lost", ["question", "answer"])
def test_p5_a_connection_lost_around_the_commit_writes_once_or_says_that_it_does_not_know(
    direct: Ledger, proxy: Proxy, database: Database, words: bytes, lost: str
) -> None:
    _search(direct)
    (proxy.cut_before if lost == "question" else proxy.lose_answer_to)(words)
    receipt = _search(direct)
    assert proxy.cuts == 1
    assert receipt.status in {"written", "unknown"}
    assert direct.flush(60)
    assert _stored(database).count(receipt.search_id) == 1
    wait_until(lambda: _search(direct).status == "written")


@pytest.mark.usefixtures("patient")
def test_p5_a_poison_record_is_rejected_alone(
    direct: Ledger, database: Database, proxy: Proxy, tmp_path: Path
) -> None:
    records = [make_search("a"), make_search("b\0"), make_search("c")]
    answers: dict[UUID, str | None] = {}
    proxy.delay_s = 0.01  # so that they meet in one batch
    put = direct._parts.backend.put
    threads = [
        threading.Thread(target=lambda each=each: answers.update({each.search_id: put(each)}))
        for each in records
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert direct.flush(60)
    proxy.delay_s = 0.0
    expected = {records[0].search_id: None, records[1].search_id: "rejected", records[2].search_id: None}
    assert all(answers[key] in {value, "fate_unknown"} for key, value in expected.items())
    assert sorted(_stored(database)) == sorted([records[0].search_id, records[2].search_id])
    assert database.rows("SELECT reason FROM rejected") == [("database:22021",)]
    direct.close()
    balance = _balance(database, tmp_path)
    assert (balance.written, balance.rejected, balance.difference) == (2, 1, 0)


@pytest.mark.usefixtures("patient")
def test_many_threads_share_one_connection_and_every_row_is_right(direct: Ledger, database: Database) -> None:
    receipts: list[Receipt] = []
    threads = [
        threading.Thread(target=lambda name=name: receipts.extend(_search(direct, name) for _ in range(20)))
        for name in map(str, range(16))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert direct.flush(60)
    kept = {receipt.search_id: receipt.hits for receipt in receipts if receipt.status == "written"}
    hits = dict(database.rows("SELECT search_id, chunk_id FROM hits"))
    assert len(receipts) == 320
    assert kept
    assert all(hits[search_id] == chunks[0][1] for search_id, chunks in kept.items())


@pytest.mark.usefixtures("patient")
def test_a_forked_child_is_a_writer_of_its_own(direct: Ledger, database: Database) -> None:
    _search(direct, "parent")
    child = os.fork()
    if not child:
        status = 1
        try:
            wait_until(lambda: _search(direct, "child").status == "written")
            direct.close()
            status = 0
        finally:
            os._exit(status)
    _search(direct, "parent")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    wait_until(lambda: _search(direct, "parent").status == "written")
    writers = dict(
        database.rows(
            "SELECT chunk_id, count(DISTINCT writer_id) FROM hits JOIN searches USING (search_id) GROUP BY 1"
        )
    )
    assert writers == {"parent": 1, "child": 1}
    assert database.value("SELECT count(*) FROM writers") == 2


@pytest.mark.usefixtures("patient")
def test_a_search_in_a_signal_handler_meets_no_lock(direct: Ledger) -> None:
    direct.guard.strict = False
    received: list[Receipt] = []

    def handle(*_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)  # one at a time
        received.append(_search(direct, "handler"))
        signal.setitimer(signal.ITIMER_REAL, 0.002)

    previous = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.002)
    try:
        own = [_search(direct, "main") for _ in range(30)]
        wait_until(lambda: len(received) > 5)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    # Each by its worker, none because its time was up: nobody was kept waiting by whoever was interrupted.
    assert [receipt.status for receipt in own] == ["written"] * 30
    assert {receipt.status for receipt in received} == {"written"}


def test_after_close_a_search_is_refused_and_counted(direct: Ledger) -> None:
    direct.guard.strict = False
    direct.close()
    receipt = _search(direct)
    assert (receipt.search_id, receipt.reason) == (None, "closed")
    assert direct.facts()["refused"] == {"closed": 1}


_AT_EXIT = """
import atexit, sys, time, ragledger
ledger = ragledger.open(write="direct")
def search():
    with ledger.search() as found:
        pass
    return found.receipt
deadline = time.monotonic() + 60
while search().status != "written" and time.monotonic() < deadline:
    time.sleep(0.01)
atexit.register(lambda: print(search().status))
"""


def test_a_search_at_exit_has_an_honest_receipt(database: Database) -> None:
    environ = os.environ | {"RAGLEDGER_DSN": database.dsn}
    done = subprocess.run(
        [sys.executable, "-c", _AT_EXIT], env=environ, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() in {"refused", "written"}
    assert "Traceback" not in done.stderr


def test_p5_a_killed_process_leaves_nothing_that_was_said_to_be_written_out(database: Database) -> None:
    code = (
        _AT_EXIT.rpartition("atexit.register")[0]
        + "while True: receipt = search(); print(receipt.status, receipt.search_id, flush=True)"
    )
    environ = os.environ | {"RAGLEDGER_DSN": database.dsn}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environ, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        given = [process.stdout.readline() for _ in range(20)]
        process.kill()
        given += process.stdout.readlines()
    told = {UUID(line.split()[1]) for line in given if line.startswith("written ") and line.endswith("\n")}
    assert told
    assert told <= set(_stored(database))


def test_it_cannot_be_combined_with_a_sidecar() -> None:
    with pytest.raises(ConfigError, match="no journal that a sidecar could ship"):
        ragledger.open("postgresql://127.0.0.1:1/none", write="direct", ship="sidecar")


def test_the_environment_names_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGLEDGER_WRITE", "direct")
    ledger = ragledger.open(database.dsn)
    try:
        assert isinstance(ledger._parts.backend, Direct)
    finally:
        ledger.close()


def test_a_server_that_is_away_at_the_start_is_found_later(
    make_ledger: Callable[..., Any], proxy: Proxy
) -> None:
    proxy.refuse()
    ledger = make_ledger(dsn=proxy.dsn, write="direct")
    wait_until(lambda: _search(ledger).reason == "no_database")
    proxy.refuse(on=False)
    wait_until(lambda: _search(ledger).status == "written")


def test_p3_what_a_signal_handler_raises_while_we_wait_is_the_callers(direct: Ledger, proxy: Proxy) -> None:
    class Late(Exception):
        pass

    def handle(*_: object) -> None:
        raise Late

    direct.guard.strict = False
    wait_until(lambda: _search(direct).status == "written")
    proxy.freeze()
    previous = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(Late), direct.search() as search:
            pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        proxy.thaw()
    assert search.receipt.status == "unknown"
    assert not ragledger.current()
    assert direct.flush(60)


@pytest.mark.usefixtures("patient")
def test_p5_a_table_that_lost_what_it_had_is_written_by_a_new_writer(
    direct: Ledger, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    """A standby that lagged was promoted, or a backup was put back."""
    before = [_search(direct) for _ in range(3)]
    database.rows("UPDATE writers SET shipped = 1 RETURNING 1")
    after = [_search(direct) for _ in range(3)]
    assert [receipt.status for receipt in before + after] == ["written"] * 6
    assert len(_stored(database)) == 6
    assert database.value("SELECT count(*) FROM writers") == 2
    assert "going on as a new writer" in caplog.text


@pytest.mark.usefixtures("patient")
def test_votes_that_wait_are_promoted_under_steady_traffic_too(
    direct: Ledger, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragledger.direct._TEND_S", 0.1)
    late = make_search("a")
    assert _backend(direct).put(make_vote(late.search_id, checked=False)) is None
    assert database.value("SELECT count(*) FROM pending_feedback") == 1
    assert _backend(direct).put(late) is None
    wait_until(lambda: _search(direct) and database.value("SELECT count(*) FROM feedback") == 1)


def test_what_is_closed_stays_closed_in_a_forked_child(direct: Ledger) -> None:
    direct.guard.strict = False
    direct.close()
    child = os.fork()
    if not child:
        os._exit(0 if _search(direct).reason == "closed" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
