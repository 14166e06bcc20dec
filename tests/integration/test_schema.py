"""The schema: its two sources are equal, applying it is safe, and a wrong version says what to do."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from fix_pg import Database
from fix_roles import Bare
from psycopg import sql

import ragledger
from ragledger import SchemaError, schema
from ragledger.postgres.connection import acting_as, connect
from ragledger.sql import migrations, script
from ragledger.wiring import target_from

pytestmark = pytest.mark.pg

EVERY = tuple(version for version, _, _ in migrations())

_CATALOG = {
    "columns": """
        SELECT c.relname, c.relkind::text, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            pg_get_expr(d.adbin, d.adrelid)
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'ragledger'::regnamespace ORDER BY 1, 3""",
    "constraints": """
        SELECT conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'ragledger'::regnamespace ORDER BY 1, 2""",
    "indexes": """
        SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'ragledger' ORDER BY 1, 2""",
    "functions": "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'ragledger'::regnamespace ORDER BY 1",
    "views": "SELECT viewname, definition FROM pg_views WHERE schemaname = 'ragledger' ORDER BY 1",
}


def test_the_sum_of_the_migrations_equals_schema_sql(database: Database, empty_database: Database) -> None:
    with connect(empty_database.dsn, "ragledger") as connection:
        connection.execute("CREATE SCHEMA ragledger")
        connection.execute(script("schema.sql"))

    for what, query in _CATALOG.items():
        migrated = [row for row in database.rows(query) if not row[0].startswith("schema_migrations")]
        assert migrated == empty_database.rows(query), what
        assert migrated, what


def test_every_key_starts_with_the_search_where_there_is_one(database: Database) -> None:
    """Citus distributes by it, and UUIDv7 makes ranges of time out of it."""
    keys = database.rows("""
        SELECT i.indrelid::regclass::text, a.attname FROM pg_index i
        JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indisunique AND EXISTS (
            SELECT FROM pg_attribute s JOIN pg_class c ON c.oid = s.attrelid AND c.relkind = 'r'
            WHERE s.attrelid = i.indrelid AND s.attname = 'search_id'
              AND c.relnamespace = 'ragledger'::regnamespace)""")

    assert {column for _, column in keys} == {"search_id"}
    assert {"searches", "hits", "deliveries", "assessments", "feedback"} <= {table for table, _ in keys}


def test_there_are_no_triggers_and_no_serial_keys(database: Database) -> None:
    assert database.rows("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal") == []
    assert database.rows("SELECT relname FROM pg_class WHERE relkind = 'S' AND relname !~ '^pg_'") == []


def test_p9_no_column_takes_text_that_is_not_listed_here(database: Database) -> None:
    """Ids, names of settings and words of a closed list; never a query, a chunk, a message."""
    columns = database.rows("""
        SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum) FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        WHERE c.relnamespace = 'ragledger'::regnamespace AND c.relkind = 'r'
          AND a.atttypid IN ('text'::regtype, 'text[]'::regtype, 'jsonb'::regtype, 'bytea'::regtype)
        GROUP BY 1""")

    assert {table: set(names) for table, names in columns} == {
        "searches": {
            *(
                "project",
                "corpus",
                "surface",
                "session_id",
                "actor_kind",
                "actor_id",
                "framework",
                "retriever",
            ),
            *("status", "skip_reason", "error_type", "error_origin", "degraded_reason", "weights", "epoch"),
            *("index_version", "embedding_model", "extractor_version", "signals", "query_key", "flags"),
            *("trace_id", "span_id", "span_owner", "external_run_id"),
        },
        "hits": {
            *("chunk_id", "chunk_id_source", "document_id", "source_kind", "score_kind", "score_source"),
            *("signals", "content_key"),
        },
        "deliveries": {"by"},
        "assessments": {"name", "method", "weights"},
        "feedback": {"stage", "outcome", "actor_kind", "actor_id"},
        "pending_feedback": {"chunk_id", "stage", "outcome", "actor_kind", "actor_id"},
        "writers": {"project", "host", "refused"},
        "rejected": {"kind", "reason"},
        "inventory": {"corpus", "document_id", "source_kind"},
        "schema_migrations": {"name"},
        "rollup_series": {"project", "corpus", "surface", "actor_kind", "epoch"},
        "rollup_words": {"grain", "project", "what", "word"},
        **{f"rollup_document{s}": {"project", "corpus", "document_id"} for s in ("_days", "s")},
        "rollup_inventories": {"corpus"},
        "epochs": {"project", "epoch", "weights", "index_version", "embedding_model"},
        "plans": {"planned_by", "project", "corpus", "surface", "epoch", "voter", "useful_from"},
        "plan_looks": {"looked_by", "other"},
        **{f"rollup_{t}": {"grain", "project"} for t in ("searches", "latency", "latency_parts", "shown")},
        **{f"rollup_{table}": {"grain", "project", "voter"} for table in ("judged", "votes")},
        **{f"rollup_{table}": {"project", "corpus"} for table in ("corpus_days", "corpora", "dirty_corpora")},
        **{table: {"project"} for table in ("rollup_dirty", "rollup_dirty_days", "rollup_sealed")},
    }


# --- applying it -------------------------------------------------------------------------------------------


def test_applying_twice_changes_nothing(empty_database: Database) -> None:
    with empty_database.connect() as connection:
        first = schema.apply(connection, "ragledger")
        second = schema.apply(connection, "ragledger")

    assert first.applied == EVERY == tuple(sorted(set(EVERY)))
    assert (second.applied, second.version) == ((), schema.latest_version())
    assert first.roles == second.roles == "granted"


def test_two_processes_may_apply_it_at_once(empty_database: Database) -> None:
    command = [
        str(Path(sys.executable).with_name("ragledger")),
        "init",
        "--json",
        "--dsn",
        empty_database.dsn,
    ]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    answers = [process.communicate(timeout=60) for process in started]

    assert [process.returncode for process in started] == [0, 0, 0], answers
    assert sorted(json.loads(out)["applied"] for out, _ in answers) == [[], [], list(EVERY)]


def test_threads_may_apply_it_at_once(empty_database: Database) -> None:
    outcomes = _together(*[empty_database] * 4)

    assert sorted(outcome.applied for outcome in outcomes) == [(), (), (), EVERY]


def test_two_databases_of_one_server_may_make_the_group_roles_at_once(bare: Bare) -> None:
    outcomes = _together(bare.database(), bare.database())

    assert [outcome.roles for outcome in outcomes] == ["granted", "granted"]
    assert bare.roles() == set(schema.ROLES)


@pytest.mark.parametrize("roles_exist", [False, True])
@pytest.mark.parametrize("owner", ["SUPERUSER", "CREATEROLE"])
def test_an_init_that_finds_its_group_roles_being_made_elsewhere_goes_on(
    bare: Bare, owner: str, *, roles_exist: bool
) -> None:
    if roles_exist:
        _apply(bare.database())
    login = bare.login(owner)
    ours, other = bare.database(owner=login), bare.database(owner=login)
    outcomes: list[Any] = []

    with connect(other.dsn, "ragledger") as connection:
        with connection.transaction():
            schema.apply(connection, "ragledger")  # made, not committed
            thread = threading.Thread(target=lambda: outcomes.append(_apply(ours)))
            thread.start()
            _wait_until_blocked(thread, other)
        thread.join(30)

    assert [outcome.roles for outcome in outcomes] == ["granted"]
    assert acting_as_writer(ours) == acting_as_writer(other)
    if not roles_exist:
        assert acting_as_writer(ours) == "ragledger_writer"


def _together(*databases: Database) -> list[Any]:
    barrier = threading.Barrier(len(databases))
    outcomes: list[Any] = []

    def work(database: Database) -> None:
        barrier.wait()
        outcomes.append(_apply(database))

    threads = [threading.Thread(target=work, args=[database]) for database in databases]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


def _apply(database: Database) -> Any:
    with database.connect() as connection:
        return schema.apply(connection, "ragledger")


def _wait_until_blocked(thread: threading.Thread, database: Database) -> None:
    """Or done: where there was nothing left to make, nothing waits."""
    # Of any database of the bare server, which is ours alone.
    blocked = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    while thread.is_alive() and not database.value(blocked):
        thread.join(0.01)


def acting_as_writer(database: Database) -> str:
    with connect(database.dsn, "ragledger", role="ragledger_writer") as connection:
        return acting_as(connection)


# --- versions ----------------------------------------------------------------------------------------------


def test_a_newer_schema_is_refused_and_left_alone(database: Database) -> None:
    with database.connect() as connection:
        connection.execute("INSERT INTO schema_migrations (version, name) VALUES (99, 'of the future')")
        with pytest.raises(SchemaError, match=r"at version 99, newer than .* \(\d+\); upgrade ragledger"):
            schema.check(connection, "ragledger")
        with pytest.raises(SchemaError, match="upgrade ragledger"):
            schema.apply(connection, "ragledger")

    assert database.value("SELECT max(version) FROM schema_migrations") == 99


def test_an_older_schema_says_to_run_init(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "latest_version", lambda: 99)
    with (
        database.connect() as connection,
        pytest.raises(SchemaError, match=r"version \d+, .* needs 99; run `ragledger init`"),
    ):
        schema.check(connection, "ragledger")


def test_a_missing_schema_says_to_run_init(empty_database: Database) -> None:
    with empty_database.connect() as connection:
        with pytest.raises(SchemaError, match=r"no schema `ragledger` .* run `ragledger init`"):
            schema.check(connection, "ragledger")
        connection.execute("CREATE SCHEMA ragledger")
        with pytest.raises(SchemaError, match="run `ragledger init`"):
            schema.check(connection, "ragledger")
        connection.execute("CREATE TABLE schema_migrations (version int4, name text)")
        with pytest.raises(SchemaError, match="run `ragledger init`"):
            schema.check(connection, "ragledger")


def test_a_failed_migration_leaves_nothing_behind(
    empty_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = (*migrations(), (EVERY[-1] + 1, "broken", "CREATE TABLE half (a int); SELECT 1/0"))
    monkeypatch.setattr(schema, "migrations", lambda: broken)
    with empty_database.connect() as connection, pytest.raises(SchemaError, match="DivisionByZero"):
        schema.apply(connection, "ragledger")

    assert empty_database.rows("SELECT FROM pg_namespace WHERE nspname = 'ragledger'") == []


def test_indexes_that_were_made_before_the_upgrade_are_taken(
    empty_database: Database, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with empty_database.connect() as connection:
        with monkeypatch.context() as before:
            before.setattr(schema, "migrations", lambda: migrations()[:1])
            schema.apply(connection, "ragledger", roles=False)
        for table in ("searches", "deliveries", "feedback"):
            columns = f"{table} (writer_id, writer_seq)"
            connection.execute(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {table}_by_arrival ON {columns}")
        assert schema.apply(connection, "ragledger").applied == EVERY[1:]
    assert empty_database.rows(_CATALOG["indexes"]) == database.rows(_CATALOG["indexes"])


# --- names and rights --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["telemetry_2", "user"])  # the second is a reserved word
def test_the_schema_may_have_another_name(
    empty_database: Database, make_ledger: Callable[..., ragledger.Ledger], name: str
) -> None:
    with empty_database.connect() as connection:
        schema.apply(connection, name)
    ledger = make_ledger(dsn=empty_database.dsn, schema=name)
    with ledger.search() as search:
        pass

    assert ledger.flush()
    with psycopg.connect(empty_database.dsn) as connection:
        query = sql.SQL("SELECT search_id FROM {}.searches").format(sql.Identifier(name))
        assert connection.execute(query).fetchall() == [(search.receipt.search_id,)]
        assert connection.execute("SELECT to_regnamespace('ragledger')").fetchone() == (None,)


def test_a_plain_owner_may_not_make_roles_and_the_ledger_works_all_the_same(
    bare: Bare, make_ledger: Callable[..., ragledger.Ledger]
) -> None:
    database = bare.database(owner=bare.login())

    assert _apply(database).roles == "not permitted"
    assert bare.roles() == set()
    _works(make_ledger(dsn=database.dsn), database)


def test_a_plain_owner_where_the_group_roles_exist_grants_to_them_and_keeps_its_own_rights(
    bare: Bare, make_ledger: Callable[..., ragledger.Ledger]
) -> None:
    _apply(bare.database())
    database = bare.database(owner=bare.login())

    assert _apply(database).roles == "granted"
    granted = "SELECT has_table_privilege('ragledger_writer', 'searches', 'INSERT')"
    assert database.value(granted) is True
    _works(make_ledger(dsn=database.dsn), database)


def test_an_owner_with_createrole_acts_as_the_writer(
    bare: Bare, make_ledger: Callable[..., ragledger.Ledger]
) -> None:
    database = bare.database(owner=bare.login("CREATEROLE"))

    assert _apply(database).roles == "granted"
    assert acting_as_writer(database) == "ragledger_writer"
    _works(make_ledger(dsn=database.dsn), database)


def test_a_membership_that_only_administers_is_not_acted_on(bare: Bare) -> None:
    """Since Postgres 16 whoever makes a role is a member of it that may not SET ROLE."""
    login = bare.login("CREATEROLE")
    database = bare.database(owner=login)
    with database.connect() as connection:
        connection.execute("CREATE ROLE ragledger_writer")

    assert acting_as_writer(database) in {login, "ragledger_writer"}  # the latter before Postgres 16


def test_demanded_roles_that_cannot_be_made_are_an_error_and_nothing_is_applied(bare: Bare) -> None:
    database = bare.database(owner=bare.login())
    with database.connect() as connection, pytest.raises(SchemaError, match="may not make the group roles"):
        schema.apply(connection, "ragledger", roles=True)

    assert database.rows("SELECT FROM pg_namespace WHERE nspname = 'ragledger'") == []


def test_roles_can_be_left_out(bare: Bare) -> None:
    database = bare.database()
    with database.connect() as connection:
        assert schema.apply(connection, "ragledger", roles=False).roles == "skipped"
    assert bare.roles() == set()


def test_a_schema_that_an_administrator_made_beforehand_is_used(bare: Bare) -> None:
    """Its owner need not have the right to create schemas in the database."""
    login = bare.login()
    database = bare.database()
    with database.connect() as connection:
        connection.execute(f"CREATE SCHEMA ragledger AUTHORIZATION {login}")
    own = Database(psycopg.conninfo.make_conninfo(database.dsn, user=login))

    assert _apply(own).applied == EVERY


def test_a_user_without_rights_gets_one_clear_line(bare: Bare) -> None:
    stranger = bare.login()
    database = bare.database()
    theirs = Database(psycopg.conninfo.make_conninfo(database.dsn, user=stranger))
    with (
        theirs.connect() as connection,
        pytest.raises(SchemaError, match="run `ragledger init` as the database's owner"),
    ):
        schema.apply(connection, "ragledger")

    _apply(database)
    with pytest.raises(SchemaError, match=r"may not read the schema .*`GRANT ragledger_writer"):
        target_from(dsn=theirs.dsn).connect()


def _works(ledger: ragledger.Ledger, database: Database) -> None:
    with ledger.search() as search:
        search.candidates(ragledger.Candidate("c1", score=0.5))
    found = search.receipt.search_id
    assert found is not None
    ledger.vote(found, rank=1, outcome="relevant", actor="human:ana")
    assert ledger.flush()
    assert database.value("SELECT count(*) FROM current_votes WHERE search_id = %s", found) == 1
