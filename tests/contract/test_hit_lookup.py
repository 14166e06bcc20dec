"""`ports.HitLookup`: what the table knows of a reference, and the kit's memory likewise."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from contract.backends import Subject, direct, memory, wait_until_it_takes
from fix_pg import Database

from ragledger.ids import new_id
from ragledger.ports import HitLookup, Lookup
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


def test_an_admitted_hit_is_found_by_rank_and_by_chunk_id(known: tuple[Subject, HitLookup]):
    subject, lookup = known
    wait_until_it_takes(subject, make_search("x", "a"))
    wait_until_it_takes(subject, search := make_search("a", "b"))
    assert lookup.find(search.search_id, rank=2, chunk_id=None) == Lookup(search_found=True, rank=2)
    assert lookup.find(search.search_id, rank=None, chunk_id="a") == Lookup(search_found=True, rank=1)


def test_a_hit_that_was_not_returned_is_not_a_hit(known: tuple[Subject, HitLookup]):
    subject, lookup = known
    below = make_hit(3, "c", admitted=False)
    nameless = make_hit(2, "b", chunk_id=None, chunk_id_source=None)
    search = make_search(hits=(make_hit(1, "a"), nameless, below))
    wait_until_it_takes(subject, search)
    found_nothing = Lookup(search_found=True, rank=None)
    assert lookup.find(search.search_id, rank=3, chunk_id=None) == found_nothing
    assert lookup.find(search.search_id, rank=None, chunk_id="c") == found_nothing
    assert lookup.find(search.search_id, rank=9, chunk_id=None) == found_nothing
    assert lookup.find(search.search_id, rank=None, chunk_id="z") == found_nothing
    assert lookup.find(search.search_id, rank=2, chunk_id=None).rank == 2


def test_a_search_that_is_not_there_is_not_found(known: tuple[Subject, HitLookup]):
    subject, lookup = known
    wait_until_it_takes(subject, make_search("a"))
    assert lookup.find(new_id(), rank=1, chunk_id=None) == Lookup(search_found=False, rank=None)


def test_a_search_without_hits_is_found(known: tuple[Subject, HitLookup]):
    subject, lookup = known
    wait_until_it_takes(subject, search := make_search())
    assert lookup.find(search.search_id, rank=1, chunk_id=None) == Lookup(search_found=True, rank=None)
