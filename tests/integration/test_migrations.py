"""A migration of a large table takes as long as it takes; whom it waits for, it waits for in bounds."""

from __future__ import annotations

from typing import Any

import pytest
from fix_pg import Database

from ragledger import SchemaError, schema
from ragledger.postgres.connection import connect

pytestmark = pytest.mark.pg

_LONG = "CREATE TABLE first (); SELECT pg_sleep(1.5); SELECT pg_sleep(1.5); CREATE TABLE last ()"


def brief(database: Database, timeout_s: float) -> Any:
    connection: Any = connect(database.dsn, "ragledger", statement_timeout_s=timeout_s)
    connection.longest_s = 2 * timeout_s
    return connection


def test_a_migration_may_take_longer_than_any_other_statement(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = (*schema.migrations(), (99, "of a large table", _LONG))
    monkeypatch.setattr(schema, "migrations", lambda: following)
    steps: list[int] = []
    with brief(database, 1.0) as connection:
        assert schema.apply(connection, "ragledger", roles=False, step=steps.append).applied == (99,)
        assert steps == [1]
        shown = [
            connection.execute(f"SHOW {name}").fetchone() for name in ("statement_timeout", "lock_timeout")
        ]
        assert (shown, connection.longest_s) == ([("1s",), ("0",)], 2.0)
    assert database.value("SELECT to_regclass('last') IS NOT NULL")


def test_a_migration_does_not_wait_without_end_for_somebody_else(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    following = (*schema.migrations(), (99, "of a table in use", "CREATE TABLE half (); LOCK TABLE searches"))
    monkeypatch.setattr(schema, "migrations", lambda: following)
    with database.connect() as other, other.transaction(), brief(database, 1.0) as connection:
        other.execute("SELECT count(*) FROM searches")
        with pytest.raises(SchemaError, match=r"LockNotAvailable.*nothing was changed"):
            schema.apply(connection, "ragledger", roles=False)
        assert connection.longest_s == 2.0
    assert database.value("SELECT to_regclass('half')") is None
