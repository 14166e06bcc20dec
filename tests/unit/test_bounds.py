"""P4: what grows with the number of different values it has seen has an end."""

from __future__ import annotations

import gc
import logging
from typing import Any
from uuid import UUID

import pytest
from unit.core import World

import ragledger
from ragledger import Candidate, composition, registry
from ragledger import ledger as ledgers
from ragledger.guard import Guard, _guards
from ragledger.known import KnownSearches
from ragledger.testing import MemoryBackend, memory_ledger

MANY = 100_000


def test_the_known_searches_of_a_process():
    known = KnownSearches()
    for number in range(MANY):
        known.remember(UUID(int=number), ((1, "a"),))
    assert len(known._hits) <= 2048


def test_every_cache_of_the_composition_has_an_end():
    caches = [found for found in vars(composition).values() if hasattr(found, "cache_parameters")]
    assert all(cache.cache_parameters()["maxsize"] is not None for cache in caches)


class Forgetful(MemoryBackend):
    """Keeps nothing: what grows is ours."""

    def put(self, record: Any) -> str | None:
        super().put(record)
        self.records.clear()
        return None


def test_what_a_ledger_holds_after_searches_that_are_all_different():
    with memory_ledger(backend=Forgetful()) as ledger:
        for number in range(MANY // 10):
            with (
                ragledger.context(surface=f"s{number}", session_id=f"{number}", actor=f"human:{number}"),
                ledger.search(corpus=f"c{number}", weights={"vector": number}, top_k=number) as search,
            ):
                search.candidates(Candidate(f"chunk{number}"))
        assert sum(map(len, (ledger.guard.faults, ledger.guard._sections))) < 20
        assert len(ledger.recorder.known._hits) <= 2048
        sizes = {
            name: len(value) for name, value in vars(ledger.recorder).items() if hasattr(value, "__len__")
        }
        assert all(size < 100 for size in sizes.values()), sizes


def test_candidates_beyond_the_caps_are_counted_and_not_kept(world: World):
    with world.ledger.search() as search:
        search.candidates(*[Candidate(f"c{number}", score=1.0) for number in range(MANY)])
    row = world.sink.row
    assert (row.candidate_count, row.admitted_count) == (MANY, MANY)
    assert len(row.hits) == 1000
    assert "hits_capped" in row.flags
    assert search.receipt.search_id is not None
    assert len(search.receipt.hits) == 1000


def test_the_faults_of_a_guard_are_as_many_as_its_kinds(caplog: pytest.LogCaptureFixture):
    guard = Guard()
    with caplog.at_level(logging.WARNING):
        for number in range(MANY):
            with guard("row"):
                raise ValueError(number)
    assert guard.faults == {"row": MANY}
    assert len(caplog.records) == 6  # the first, the tenth, ... the hundred-thousandth


def test_ledgers_that_were_closed_are_forgotten():
    def sizes() -> tuple[int, int, int]:
        gc.collect()
        return len(registry._ledgers), len(ledgers._every_ledger), len(_guards)

    before = sizes()
    for number in range(300):
        with memory_ledger(name=f"l{number}") as ledger:
            ledger.skip(reason="no_goal")
    del ledger
    assert sizes() == before


def test_a_scope_that_was_left_is_not_kept(world: World):
    """Each open search holds the one around it: a chain that is not cut would hold every search there was."""
    for _ in range(2000):
        with world.ledger.search() as search:
            pass
    assert search.outer is None  # type: ignore[union-attr]
