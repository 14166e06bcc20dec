"""Text, only where it was asked for twice: a table that `init --with-text` makes, and a switch of the application."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
import pytest
from fix_pg import Database
from integration.shipping import World
from integration.test_roles import _GRANTED, ALL
from psycopg.conninfo import make_conninfo

from ragledger import Candidate, Ledger, schema
from ragledger.balance import balances
from ragledger.cli import main
from ragledger.ids import new_id
from ragledger.model import SearchRecord, Text, TextsRecord
from ragledger.removal import _first_id_at, remove_searches, retain, retain_texts
from ragledger.testing import make_search
from ragledger.wiring import target_from

pytestmark = pytest.mark.pg

NOW = datetime.now(timezone.utc)
TEXTS = "SELECT rank, text, cut FROM search_texts ORDER BY search_id, rank"
FOUND = [(0, "what is it", False), (1, "text of a", False), (2, "text of b", False)]


def with_text(database: Database, *, roles: bool | None = True) -> None:
    with database.connect() as connection:
        assert schema.apply(connection, "ragledger", roles=roles, with_text=True).texts


def search(ledger: Ledger, actor: str = "human:ana") -> UUID:
    with ledger.search(query="what is it", actor=actor) as found:
        found.candidates(Candidate("a"), Candidate("b"), Candidate("below", admitted=False))
        found.tell(chunks=["text of a", "text of b"])
    assert found.receipt.search_id is not None
    return found.receipt.search_id


class Ran(NamedTuple):
    returncode: int | str | None
    stdout: str
    stderr: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs `ragledger ...` in this process."""

    def ran(database: Database, *arguments: str, dsn: str | None = None) -> Ran:
        monkeypatch.setattr(sys, "argv", ["ragledger", *arguments, "--dsn", dsn or database.dsn])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        return Ran(left.value.code or 0, *capsys.readouterr())

    return ran


def adds_up(world: World) -> tuple[int, int, int]:
    """Records that were offered, that were rejected, and that were removed; fails when a record has no fate or two."""
    with world.database.connect() as connection:
        found = balances(connection, world.directory)
    assert [balance.faults for balance in found] == [()] * len(found)
    return (
        sum(balance.offered for balance in found),
        sum(balance.rejected for balance in found),
        sum(balance.removed for balance in found),
    )


# --- both switches -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", ["journal", "direct"])
def test_with_table_and_switch_the_texts_are_kept_by_rank(
    world: World, database: Database, make_ledger: Callable[..., Ledger], write: str
) -> None:
    with_text(database)
    ledger = make_ledger(store_text=True, write=write)
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
    assert database.rows("SELECT kind, reason, count(*) FROM rejected GROUP BY 1, 2") == [
        ("texts", "no_text_table", 3)
    ]
    assert adds_up(world) == (6, 3, 0)
    assert list(world.directory.glob("*.rejected")) == []
    segments = b"".join(path.read_bytes() for path in world.directory.glob("*.seg"))
    assert b"what is it" not in segments

    monkeypatch.setenv("RAGLEDGER_STORE_TEXT", "1")
    said = run(database, "doctor")
    assert said.returncode == 1
    assert (
        "RAGLEDGER_STORE_TEXT is on and there is no table for them: rejected (no_text_table)" in said.stdout
    )
    assert "3 record(s) of texts were rejected" in said.stdout

    with_text(database)  # a table that is made later is used at once
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
        search(ledger)
        assert ledger.flush(60)
    ledger.close()
    assert database.value("SELECT count(*) FROM rejected") == 3
    said = [line for line in caplog.messages if "rejected" in line]
    assert len(said) == 1
    assert "(no_text_table); see `ragledger doctor`" in said[0]


def test_p3_directly_written_too_a_missing_table_costs_the_texts_alone(
    world: World, database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    ledger = make_ledger(store_text=True, write="direct")
    search(ledger)
    assert ledger.flush(60)
    assert database.value("SELECT count(*) FROM searches") == 1
    assert database.rows("SELECT kind, reason FROM rejected") == [("texts", "no_text_table")]
    ledger.close()
    assert adds_up(world) == (2, 1, 0)


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
    twice = TextsRecord(new_id(), (Text(0, "what is it"), Text(0, "what is it")))
    for record in (make_search("a"), texts_for(new_id()), twice, texts_for(new_id()), make_search("a")):
        assert journal.put(record) is None
    world.ship()
    assert world.rejected() == {3: "database:23505"}
    assert database.value("SELECT count(*) FROM search_texts WHERE rank = 0") == 2
    assert adds_up(world) == (5, 1, 0)
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


# --- retention, erasure, export ----------------------------------------------------------------------------


def texts_for(search_id: UUID) -> TextsRecord:
    return TextsRecord(search_id, (Text(0, "asked"), Text(1, "found")))


def put(world: World, *searches: SearchRecord) -> None:
    journal = world.journal()
    for each in searches:
        assert journal.put(each) is None
        assert journal.put(texts_for(each.search_id)) is None
    world.ship()


def aged(days: int, number: int) -> UUID:
    return UUID(int=_first_id_at(NOW - timedelta(days=days)).int + number)


def test_texts_go_before_their_searches_do(run: Callable[..., Ran], world: World, database: Database) -> None:
    with_text(database)
    put(world, *[make_search("a", search_id=aged(days, days)) for days in (1, 29, 31, 40, 50, 91)])
    done = run(database, "retain", "--batch", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "searches": 1, "hits": 1, "deliveries": 0, "assessments": 0, "feedback": 0, "pending_feedback": 0,
        "search_texts": 8,
    }  # fmt: skip
    left = "SELECT DISTINCT search_id FROM search_texts ORDER BY 1 DESC"
    assert [row[0] for row in database.rows(left)] == [aged(1, 1), aged(29, 29)]
    assert database.value("SELECT count(*) FROM searches") == 5
    assert adds_up(world) == (12, 0, 5)
    assert run(database, "retain").stdout == "nothing to remove\n"
    assert run(database, "retain", "--texts-days", "0").stdout == "removed 4 search texts\n"
    assert adds_up(world) == (12, 0, 7)


def test_retention_of_texts_goes_in_bounded_batches_and_needs_no_table(
    world: World, database: Database
) -> None:
    with database.connect(role="ragledger_owner") as connection:
        assert list(retain_texts(connection, NOW)) == []
    with_text(database)
    put(world, *[make_search("a", search_id=aged(9, number)) for number in range(7)])
    with database.connect(role="ragledger_owner") as connection:
        parts = [part.search_texts for part in retain_texts(connection, NOW, batch=3)]
    assert parts == [6, 6, 2]
    assert adds_up(world) == (14, 0, 7)


def test_general_retention_takes_texts_also_those_whose_search_never_came(
    world: World, database: Database
) -> None:
    with_text(database)
    put(world, *[make_search("a", search_id=aged(9, number)) for number in range(5)])
    assert world.journals[0].put(texts_for(aged(20, 0))) is None
    world.ship()
    with database.connect(role="ragledger_owner") as connection:
        assert sum(part.search_texts for part in retain(connection, NOW, batch=2)) == 12
    assert database.rows(TEXTS) == []
    assert adds_up(world) == (11, 0, 11)


def test_texts_are_erased_with_their_search_and_only_they(
    run: Callable[..., Ran], world: World, database: Database
) -> None:
    with_text(database)
    ana = make_search("a", actor_kind="human", actor_id="ana")
    bob = make_search("a", actor_kind="human", actor_id="bob")
    put(world, ana, bob)
    done = run(database, "erase", "--actor", "human:ana", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["removed"]["search_texts"] == 2
    assert {row[0] for row in database.rows("SELECT search_id FROM search_texts")} == {bob.search_id}
    assert adds_up(world) == (4, 0, 2)
    with database.connect(role="ragledger_owner") as connection:
        assert [part.search_texts for part in remove_searches(connection, [bob.search_id])] == [2]


def test_texts_are_exported_to_who_may_read_them_and_the_others_are_told(
    run: Callable[..., Ran], make_login: Callable[..., str], world: World, database: Database
) -> None:
    both = make_login(member_of=("ragledger_collector", "ragledger_texts"))
    one = make_login(member_of=("ragledger_collector",))
    with_text(database)
    ana = make_search("a", actor_kind="human", actor_id="ana")
    put(world, ana, make_search("a", actor_kind="human", actor_id="bob"))
    words = "queries and chunks kept as text are not in it: this user may not read them; GRANT ragledger_texts TO it"
    for dsn, may in (
        (make_conninfo(database.dsn, user=both), True),
        (make_conninfo(database.dsn, user=one), False),
        (None, True),
    ):
        done = run(database, "export", "--actor", "human:ana", dsn=dsn)
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        texts = [
            (row["search_id"], row["rank"], row["text"]) for row in rows if row["table"] == "search_texts"
        ]
        wanted = [(str(ana.search_id), 0, "asked"), (str(ana.search_id), 1, "found")]
        assert texts == (wanted if may else [])
        assert (words in done.stderr) is not may
        assert {row["table"] for row in rows} >= {"searches", "hits"}
