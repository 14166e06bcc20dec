"""A database with something in every panel and one with nothing, each made once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from dashboards.world import fill
from fix_pg import Admin, Database, a_database

_READER = "ragledger_reader"


@pytest.fixture(scope="session")
def filled(admin: Admin, template: str) -> Iterator[Database]:
    made = a_database(admin, template)
    database = next(made)
    fill(database)
    yield database
    next(made, None)


@pytest.fixture(scope="session")
def nothing(admin: Admin, template: str) -> Iterator[Database]:
    made = a_database(admin, template)
    yield next(made)
    next(made, None)


@pytest.fixture(scope="session")
def reader(filled: Database) -> Iterator[psycopg.Connection[Any]]:
    with filled.connect(role=_READER) as connection:
        yield connection


@pytest.fixture(scope="session")
def empty_reader(nothing: Database) -> Iterator[psycopg.Connection[Any]]:
    with nothing.connect(role=_READER) as connection:
        yield connection
