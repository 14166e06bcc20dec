"""P9 with `store_text` on: text is in `search_texts`, in the journal until it is shipped, and nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from fix_pg import Database
from privacy.canaries import CHUNK, QUERY, dump, files, found_in
from privacy.scene import Scene, asked
from privacy.world import langchain_searches, llama_index_searches

from ragledger import Candidate, Ledger, schema

pytestmark = pytest.mark.pg

KEPT = {QUERY, CHUNK}
TEXTS = "SELECT rank, text FROM search_texts"


async def own_searches(ledger: Ledger) -> None:
    with ledger.search(query=f"{QUERY} own") as search:
        search.candidates(Candidate("c1"))
        search.tell(chunks=[f"{CHUNK} own"])
    assert search.receipt.search_id is not None
    ledger.vote(search.receipt.search_id, "c1", "relevant", actor="human:ana")


@pytest.fixture
def scene(request: pytest.FixtureRequest, make_scene: Callable[..., Scene], database: Database) -> Scene:
    """The table is there unless the test is told otherwise; the application's switch is on."""
    if getattr(request, "param", "table") == "table":
        with database.connect() as connection:
            schema.apply(connection, "ragledger", roles=True, with_text=True)
    return make_scene(store_text=True)


def everything_but_texts(scene: Scene) -> bytes:
    """The database without its one table of text: whatever else has it is still found."""
    with scene.database.connect() as connection:
        connection.execute("CREATE TEMP TABLE kept AS SELECT * FROM search_texts")
        connection.execute("TRUNCATE search_texts")
        try:
            return dump(scene.database)
        finally:
            connection.execute("INSERT INTO search_texts SELECT * FROM kept")


@pytest.mark.parametrize("searches", [own_searches, langchain_searches, llama_index_searches])
def test_p9_text_is_in_its_table_and_nowhere_else(
    scene: Scene, caplog: pytest.LogCaptureFixture, searches: Callable[[Ledger], Any]
) -> None:
    asyncio.run(searches(scene.ledger))
    before = {name: found_in(data) for name, data in files(scene.state)}
    assert {name.rpartition(".")[2] for name, found in before.items() if found} == {"seg"}
    assert set().union(*before.values()) == KEPT  # no metadata, no filter, no exception: not even on the way

    scene.look(caplog)
    texts = scene.database.rows(TEXTS)
    assert all(QUERY in text for rank, text in texts if rank == 0)
    assert {rank > 0 for rank, text in texts if CHUNK in text} == {True}
    assert found_in(dump(scene.database)) == KEPT
    scene.written = [entry for entry in scene.written if entry[0] != "database"]
    scene.written = [
        entry for entry in scene.written if entry[0] not in before
    ]  # as they were before shipping
    scene.written += files(scene.state)  # as they are now: the same files, blanked
    scene.written.append(("database", everything_but_texts(scene)))
    found = scene.database.value("SELECT search_id::text FROM searches WHERE status = 'ok' LIMIT 1")
    for path in (f"/v1/searches/{found}", "/v1/metrics"):
        scene.written.append((path, asyncio.run(asked(scene.ledger, path))))
    for command in (["verify", "--writers"], ["retain"], ["export", "--session", "nobody"]):
        scene.written.append((" ".join(command), scene.run(*command)))
    assert any(name.endswith(".seg") for name, _ in scene.written)
    assert scene.leaks == set()

    assert found_in(scene.run("export", "--search", found)) <= KEPT
    scene.run("retain", "--texts-days", "0")
    assert found_in(dump(scene.database)) == set()
    assert "every record has one fate" in scene.run("verify", "--writers")


@pytest.mark.parametrize("scene", ["no table"], indirect=True)
def test_p9_without_the_table_text_is_nowhere_once_it_was_rejected(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    asyncio.run(own_searches(scene.ledger))
    scene.look(caplog)
    scene.written = [entry for entry in scene.written if not entry[0].endswith(".seg")]
    scene.written += files(scene.state)
    assert scene.database.rows("SELECT kind, reason FROM rejected") == [("texts", "no_text_table")]
    assert scene.leaks == set()
