"""Text, only where it was asked for twice: a table that `init --with-text` makes, and a switch of the application."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fix_pg import Database
from integration.shipping import World
from integration.test_roles import _GRANTED, ALL
from integration.texts import TEXTS, Ran, adds_up, texts_for, with_text
from psycopg.conninfo import make_conninfo

from ragledger import Candidate, Ledger, schema
from ragledger.errors import ConfigError
from ragledger.model import Text, TextsRecord
from ragledger.testing import make_search
from ragledger.wiring import target_from

pytestmark = pytest.mark.pg

FOUND = [(0, "what is it", False), (1, "text of a", False), (2, "text of b", False)]


def search(ledger: Ledger, actor: str = "human:ana") -> UUID:
    with ledger.search(query="what is it", actor=actor) as found:
        found.candidates(Candidate("a"), Candidate("b"), Candidate("below", admitted=False))
        found.tell(chunks=["text of a", "text of b"])
    assert found.receipt.search_id is not None
    return found.receipt.search_id


def ask_again(ledger: Ledger) -> None:
    """As it is some minutes later."""
    ledger.recorder.texts_pause.until = 0.0


# --- both switches -----------------------------------------------------------------------------------------


def test_with_table_and_switch_the_texts_are_kept_by_rank(
    world: World, database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    with_text(database)
    ledger = make_ledger(store_text=True)
    search_id = search(ledger)
    assert ledger.flush(60)
    assert database.rows(TEXTS) == FOUND
    joined = "SELECT h.chunk_id, t.text FROM hits h JOIN search_texts t USING (search_id, rank) WHERE search_id = %s"
    assert set(database.rows(joined, search_id)) == {("a", "text of a"), ("b", "text of b")}
    ledger.close()
    assert adds_up(world) == (2, 0, 0)


def test_p9_the_table_alone_switches_nothing_on(
    database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    with_text(database)
    ledger = make_ledger()
    search(ledger)
    assert ledger.flush(60)
    assert database.rows(TEXTS) == []
    assert database.value("SELECT attempted FROM writers") == 1


def test_p5_the_switch_alone_rejects_texts_with_a_reason_and_keeps_them_nowhere(
    run: Callable[..., Ran],
    world: World,
    database: Database,
    make_ledger: Callable[..., Ledger],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ledger = make_ledger(store_text=True)
    for _ in range(3):
        search(ledger)
        assert ledger.flush(60)
    assert database.value("SELECT count(*) FROM searches") == 3
    # The first: from then on none is put for a while, or there would be one for every search, for ever.
    assert database.rows("SELECT kind, reason FROM rejected") == [("texts", "no_text_table")]
    assert adds_up(world) == (4, 1, 0)
    assert list(world.directory.glob("*.rejected")) == []
    segments = b"".join(path.read_bytes() for path in world.directory.glob("*.seg"))
    assert b"what is it" not in segments

    monkeypatch.setenv("RAGLEDGER_STORE_TEXT", "1")
    said = run(database, "doctor")
    assert said.returncode == 1
    assert (
        "RAGLEDGER_STORE_TEXT is on and there is no table for them: rejected (no_text_table)" in said.stdout
    )
    assert "1 record(s) of texts were rejected" in said.stdout
    assert "rejected: 1" not in said.stdout  # one finding for one cause
    monkeypatch.delenv("RAGLEDGER_STORE_TEXT")
    with database.connect() as connection:
        connection.execute("UPDATE rejected SET rejected_at = now() - interval '25 hours'")
    assert "of texts were rejected" not in run(database, "doctor").stdout  # it was yesterday
    monkeypatch.setenv("RAGLEDGER_STORE_TEXT", "1")

    with_text(database)
    ask_again(ledger)
    search(ledger)
    assert ledger.flush(60)
    assert database.rows(TEXTS) == FOUND
    assert (
        "[ok  ] texts: `search_texts` is there; RAGLEDGER_STORE_TEXT is on here"
        in run(database, "doctor").stdout
    )


def test_why_no_text_is_kept_is_logged_once(
    database: Database, make_ledger: Callable[..., Ledger], caplog: pytest.LogCaptureFixture
) -> None:
    ledger = make_ledger(store_text=True)
    for _ in range(3):
        ask_again(ledger)
        search(ledger)
        assert ledger.flush(60)
    ledger.close()
    assert database.value("SELECT count(*) FROM rejected") == 3
    said = [line for line in caplog.messages if "rejected" in line]
    assert len(said) == 1
    assert "(no_text_table); see `ragledger doctor`" in said[0]


def test_written_directly_texts_are_refused_when_the_ledger_is_opened(
    make_ledger: Callable[..., Ledger],
) -> None:
    with pytest.raises(ConfigError, match="store_text needs the journal"):
        make_ledger(store_text=True, write="direct")


def test_a_missing_right_on_the_table_costs_the_texts_and_no_search(
    run: Callable[..., Ran],
    make_login: Callable[..., str],
    database: Database,
    make_ledger: Callable[..., Ledger],
) -> None:
    dsn = make_conninfo(database.dsn, user=make_login(member_of=("ragledger_writer",)))
    with_text(database, roles=False)
    ledger = make_ledger(dsn=dsn, store_text=True)
    search(ledger)
    assert ledger.flush(60)
    assert database.value("SELECT count(*) FROM searches") == 1
    assert database.rows("SELECT reason FROM rejected") == [("no_text_right",)]
    assert (
        "may not write to it: texts are rejected (no_text_right)" in run(database, "doctor", dsn=dsn).stdout
    )


def test_a_text_that_the_database_refuses_is_rejected_alone(world: World, database: Database) -> None:
    with_text(database)
    journal = world.journal()
    one, two = make_search("a"), make_search("a")
    twice = TextsRecord(two.search_id, (Text(0, "what is it"), Text(0, "what is it")))
    for record in (one, two, texts_for(one.search_id), twice, texts_for(two.search_id), make_search("a")):
        assert journal.put(record) is None
    world.ship()
    assert world.rejected() == {4: "database:23505"}
    assert database.value("SELECT count(*) FROM search_texts WHERE rank = 0") == 2
    assert adds_up(world) == (6, 1, 0)
    assert list(world.directory.glob("*.rejected")) == []


# --- rights ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        ("ragledger_writer", {"INSERT": ALL}),
        ("ragledger_texts", {"SELECT": ALL}),
        ("ragledger_collector", {"SELECT": {"search_id", "rank", "writer_id", "writer_seq"}}),
        ("ragledger_reader", None),
    ],
)
@pytest.mark.parametrize("later", [False, True], ids=["", "and after a plain init"])
def test_p9_a_group_role_has_exactly_these_rights_on_texts(
    database: Database, role: str, rights: dict[str, Any] | None, later: bool
) -> None:
    with_text(database)
    if later:
        with database.connect() as connection:
            connection.execute(
                "REVOKE ALL ON search_texts FROM ragledger_writer, ragledger_texts, ragledger_collector"
            )
            assert schema.apply(connection, "ragledger", roles=True).texts
    found: dict[str, Any] = {}
    others = set()
    for relation, privilege, column in psycopg_rows(database, role):
        if relation != "search_texts":
            others.add(relation)
        elif column is None:
            found[privilege] = ALL
        else:
            found.setdefault(privilege, set()).add(column)
    assert found == (rights or {})
    assert role != "ragledger_texts" or others == set()


def psycopg_rows(database: Database, role: str) -> list[tuple[Any, ...]]:
    with database.connect() as connection:
        return connection.execute(_GRANTED, {"role": role}).fetchall()


def test_p9_who_may_read_texts_and_who_may_not(
    make_login: Callable[..., str], database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    logins = {role: make_login(member_of=(role,)) for role in schema.ROLES}
    with_text(database)
    ledger = make_ledger(dsn=make_conninfo(database.dsn, user=logins["ragledger_writer"]), store_text=True)
    search(ledger)
    assert ledger.flush(60)
    for role, login in logins.items():
        with psycopg.connect(make_conninfo(database.dsn, user=login), autocommit=True) as connection:
            connection.execute("SET search_path TO ragledger")
            for statement, may in (
                (TEXTS, role in {"ragledger_texts", "ragledger_owner"}),
                ("SELECT status FROM searches", role in {"ragledger_collector", "ragledger_owner"}),
                ("UPDATE search_texts SET text = NULL", role == "ragledger_owner"),
                ("DELETE FROM search_texts", role == "ragledger_owner"),
            ):
                if may:
                    connection.execute(statement)
                    continue
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    connection.execute(statement)


# --- init --------------------------------------------------------------------------------------------------


def test_init_makes_the_table_when_asked_and_says_whether_it_is_there(
    run: Callable[..., Ran], empty_database: Database
) -> None:
    plain = run(empty_database, "init", "--json")
    assert (plain.returncode, json.loads(plain.stdout)["texts"]) == (0, False)
    for _ in range(2):
        assert json.loads(run(empty_database, "init", "--with-text", "--json").stdout)["texts"] is True
    said = run(empty_database, "init").stdout
    assert "queries and chunks may be kept in `search_texts`" in said
    with target_from(dsn=empty_database.dsn).connect() as connection:
        connection.execute("SELECT FROM schema_migrations")
