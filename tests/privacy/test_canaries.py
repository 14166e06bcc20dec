"""P9: no text by default. Canaries in every place where an application has text, looked for everywhere we write."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest
from privacy.canaries import CHUNK, ERROR, FILTER, META, QUERY, VOTE, found_in
from privacy.scene import Scene, asked
from privacy.world import langchain_searches, llama_index_searches

import ragledger
from ragledger import Candidate, Ledger, VoteRefused, schema
from ragledger.embedded import EmbeddedServer
from ragledger.ids import new_id
from ragledger.model import SearchRecord
from ragledger.postgres.connection import connect

pytestmark = pytest.mark.pg


@pytest.fixture
def scene(request: pytest.FixtureRequest, make_scene: Callable[..., Scene]) -> Scene:
    return make_scene(privacy=getattr(request, "param", "ids"))


def test_the_detector_finds_what_an_application_puts_into_an_id(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """An id is stored as given: that the canary is found in these places shows that the others are searched too."""
    with scene.ledger.search(corpus=f"about {QUERY.lower()}", surface=f"on {QUERY}") as search:
        search.candidates(Candidate(CHUNK))
    logging.getLogger("ragledger").info("%s", ERROR)
    scene.look(caplog)

    places = {place.partition(".")[2] or place for place, canary in scene.leaks if canary == QUERY}
    assert {"seg", "tail", "database", "otlp", "metrics"} <= places
    assert {place for place, canary in scene.leaks if canary == ERROR} == {"log ragledger"}
    assert ("database", CHUNK) in scene.leaks
    assert ("otlp", CHUNK) not in scene.leaks


def test_p9_own_code_leaves_no_text_anywhere(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    ledger = scene.ledger
    with ledger.search(corpus="handbook", surface="study", weights={"vector": 0.6}, top_k=3) as search:
        hits = [{"id": "c1", "text": CHUNK, "meta": META}]
        search.candidates(*[Candidate(hit["id"], score=0.5) for hit in hits])
    with pytest.raises(ValueError, match=QUERY), ledger.search(), ledger.search():
        raise ValueError(f"{ERROR}: {QUERY} with {FILTER}") from LookupError(META)
    with ledger.search() as degraded:
        try:
            raise ConnectionError(f"cannot embed {QUERY}")
        except ConnectionError:
            degraded.degrade("embedding_unavailable", vector_available=False)
    assert search.receipt.search_id is not None
    ledger.vote(search.receipt.search_id, "c1", "relevant", actor="human:ana")
    scene.look(caplog)

    assert scene.leaks == set()


@pytest.mark.parametrize("scene", ["keyed", "structure"], indirect=True)
def test_p9_at_the_stricter_levels_no_id_is_anywhere(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """Not in the journal either: ids are veiled before anything is written."""
    ledger = scene.ledger
    with ledger.search(session_id=META, actor=f"human:{VOTE}", query=QUERY) as search:
        search.candidates(Candidate(CHUNK, META, score=0.5), Candidate(f"{CHUNK}-2", META, admitted=False))
    found = search.receipt.search_id
    assert found is not None
    ledger.vote(found, rank=1, outcome="relevant", actor=f"human:{VOTE}")
    ledger.vote(new_id(), rank=1, outcome="relevant", actor=f"human:{VOTE}")  # stays pending
    for reference in (CHUNK, f"{CHUNK}-2"):
        with contextlib.suppress(VoteRefused):
            ledger.vote(found, reference, "relevant", actor=f"human:{VOTE}")
    scene.look(caplog)
    scene.written += [
        (path, asyncio.run(asked(ledger, path))) for path in (f"/v1/searches/{found}", "/v1/metrics")
    ]
    scene.written.append(("export", scene.run("export", "--search", str(found))))

    assert scene.database.value("SELECT count(*) FROM feedback") >= 1
    assert scene.database.value("SELECT count(*) FROM pending_feedback") == 1
    assert scene.leaks == set()


def test_p9_a_refused_vote_repeats_nothing_of_what_it_was_given(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    with scene.ledger.search() as search:
        search.candidates(Candidate("c1"))
    found = search.receipt.search_id
    for arguments in (
        (VOTE, "c1", "relevant"),
        (found, VOTE, "relevant"),
        (found, "c1", VOTE),
        (found, VOTE * 100, "relevant"),
    ):
        with pytest.raises(VoteRefused) as refused:
            scene.ledger.vote(*arguments)
        assert found_in(str(refused.value)) == set()
    with pytest.raises(VoteRefused) as refused:
        scene.ledger.vote(found, "c1", "relevant", actor=VOTE)  # type: ignore[arg-type]
    assert found_in(str(refused.value)) == set()
    scene.look(caplog)

    assert scene.leaks == set()


@pytest.mark.parametrize("searches", [langchain_searches, llama_index_searches])
def test_p9_a_framework_leaves_no_text_anywhere(
    scene: Scene, caplog: pytest.LogCaptureFixture, searches: Callable[[Ledger], Any]
) -> None:
    """Found, failed, nested, degraded, filtered, sync and async, with a vote."""
    asyncio.run(searches(scene.ledger))
    scene.look(caplog)

    outcomes = scene.database.rows("SELECT status, count(*) FROM searches GROUP BY 1 ORDER BY 1")
    assert dict(outcomes).keys() == {"cancelled", "error", "ok"}
    assert scene.database.value("SELECT max(depth) FROM searches") >= 1
    assert scene.database.value("SELECT count(*) FROM searches WHERE degraded") >= 1
    assert scene.database.value("SELECT count(*) FROM hits") >= 4
    assert scene.database.value("SELECT count(*) FROM current_votes") == 1
    assert scene.leaks == set()


def test_p9_a_record_that_the_database_refuses_is_not_quoted(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """Its payload stays in the journal directory, for a person; messages of the database quote it, ours do not."""
    ledger = scene.ledger
    with ledger.search() as search:
        pass
    good = _last_record(ledger)
    ledger.recorder.put(_replaced(good, corpus=f"{QUERY}\0"))
    ledger.recorder.put(_replaced(good, surface=f"{META}\ud800"))
    ledger.recorder.put(_replaced(good, weights=f'{{"broken": {CHUNK}'))
    scene.look(caplog)

    assert search.receipt.search_id is not None
    assert scene.database.value("SELECT count(*) FROM rejected") >= 2
    assert {place.rpartition(".")[2] for place, _ in scene.leaks} <= {"seg", "rejected"}
    assert any(place.endswith(".rejected") for place, _ in scene.leaks)


@pytest.fixture
def ground() -> Iterator[Path]:
    """A directory that the user of the server can enter, too."""
    with tempfile.TemporaryDirectory(prefix="rl-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_p9_the_servers_own_log_quotes_no_refused_row_however_talkative_it_is(
    ground: Path, tmp_path: Path
) -> None:
    """A refused COPY names table, line and column: rows go in binary, so there is no line of text to show.

    Only of a row that breaks a check does the server say all columns, those of the table and no others (docs/privacy.md).
    """
    with EmbeddedServer.acquire(ground / "pg", throwaway=True, timeout_s=60) as server:
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            for setting in (
                "log_min_messages = debug1",
                "log_min_error_statement = debug1",
                "log_error_verbosity = verbose",
            ):
                admin.execute(f"ALTER DATABASE {admin.info.dbname} SET {setting}")
        with connect(server.dsn, "ragledger") as connection:
            schema.apply(connection, "ragledger", roles=True)
        ledger = ragledger.open(server.dsn, project="test", strict=False, journal_dir=tmp_path / "journal")
        good = _last_record(ledger)
        ledger.recorder.put(_replaced(good, corpus=f"{QUERY}\0"))
        ledger.recorder.put(_replaced(good, error_type=CHUNK, error_origin=META))
        assert ledger.flush(60)
        rejected = ledger.facts()["shipper"]["rejected"]
        ledger.close()
    log = (ground / "pg" / "server.log").read_bytes()

    assert rejected >= 2
    assert b"COPY searches, line" in log
    assert found_in(log) == set()


def test_p9_a_fault_of_our_own_is_logged_by_its_type_alone(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    class Awkward:
        def __str__(self) -> str:
            raise RuntimeError(f"{META} cannot be text")

    def broken(*_: object) -> Any:
        raise RuntimeError(f"{QUERY} {CHUNK}")

    with scene.ledger.search(corpus=Awkward()) as search:  # type: ignore[arg-type]
        search.candidates(Candidate("c1", score=Awkward()))  # type: ignore[arg-type]
    scene.ledger.recorder.new_id = broken
    with scene.ledger.search() as none:
        pass
    scene.look(caplog)

    assert not none
    assert scene.ledger.facts()["faults"] == {"open": 1}
    assert any("RuntimeError" in record.getMessage() for record in caplog.records)
    assert scene.leaks == set()


def _last_record(ledger: Ledger) -> SearchRecord:
    records: list[Any] = []
    put = ledger.recorder._sink.put
    ledger.recorder._sink = _Tap(records, put)
    with ledger.search():
        pass
    return records[-1]  # type: ignore[no-any-return]


class _Tap:
    """Keeps what goes by."""

    def __init__(self, records: list[Any], put: Callable[[Any], str | None]) -> None:
        self._records = records
        self._put = put

    def put(self, record: Any) -> str | None:
        self._records.append(record)
        return self._put(record)


def _replaced(record: SearchRecord, **changes: Any) -> SearchRecord:
    return msgspec.structs.replace(record, search_id=new_id(), **changes)
