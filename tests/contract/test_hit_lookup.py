"""`ports.HitLookup`: what the table knows of a reference, and the kit's memory likewise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.backends import Subject, direct, memory, wait_until_it_takes
from fix_pg import Database

from ragledger.ids import new_id
from ragledger.ports import HitLookup
from ragledger.postgres.lookup import PostgresLookup
from ragledger.testing import make_hit, make_search

pytestmark = pytest.mark.pg


@pytest.fixture(params=["memory", "postgres"])
def known(
    request: pytest.FixtureRequest, database: Database, tmp_path: Path
) -> Iterator[tuple[Subject, HitLookup]]:
    subject = (memory if request.param == "memory" else direct)(database, tmp_path)
    backend: Any = subject.backend
    lookup = backend if request.param == "memory" else PostgresLookup(database.dsn, "ragledger")
    yield subject, lookup
    subject.backend.close(5)
    if lookup is not backend:
        lookup.close()


def test_the_hits_that_were_returned_are_found_best_first(known: tuple[Subject, HitLookup]):
    subject, lookup = known
    wait_until_it_takes(subject, make_search("x", "a"))
    below = make_hit(3, "c", admitted=False)
    nameless = make_hit(2, "b", chunk_id=None, chunk_id_source=None)
    wait_until_it_takes(subject, search := make_search(hits=(make_hit(1, "a"), nameless, below)))
    assert lookup.find(search.search_id) == ((1, "a"), (2, None))


def test_a_search_that_is_not_there_is_not_found(known: tuple[Subject, HitLookup]):
    subject, lookup = known
    wait_until_it_takes(subject, make_search("a"))
    assert lookup.find(new_id()) is None


def test_a_search_without_hits_is_found(known: tuple[Subject, HitLookup]):
    subject, lookup = known
    wait_until_it_takes(subject, search := make_search())
    assert lookup.find(search.search_id) == ()
