"""Ledgers by name: a marked retriever finds its own again, and a closed one is forgotten."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

from unit.core import NOWHERE_ID, World

from ragledger.registry import ledger_named, ledgers, register, unregister


def test_an_open_ledger_is_found_by_its_name_until_it_is_closed(make_world: Callable[..., World]):
    ledger = make_world(name="here").ledger
    assert ledger_named("here") is ledger
    assert ledger in ledgers()
    assert ledger_named("elsewhere") is None
    ledger.close()
    assert ledger_named("here") is None
    ledger.close()


def test_the_latest_of_a_name_wins_and_closing_the_older_leaves_it(make_world: Callable[..., World]):
    older, newer = make_world(name="here").ledger, make_world(name="here").ledger
    assert ledger_named("here") is newer
    older.close()
    assert ledger_named("here") is newer
    newer.close()
    assert ledger_named("here") is None


def test_an_open_ledger_stays_although_nobody_holds_it(make_world: Callable[..., World]):
    ledger = make_world(name="here").ledger
    unregister(ledger)
    assert ledger_named("here") is None
    register(ledger)
    held = weakref.ref(ledger)
    del ledger
    gc.collect()
    assert ledger_named("here") is held()
    assert held() is not None


def test_a_ledger_says_who_it_is_and_what_went_wrong(world: World):
    assert repr(world.ledger) == "Ledger(name='default', project='test', schema='ragledger')"
    world.ledger.guard.count("row")
    facts = world.ledger.facts()
    assert (facts["name"], facts["project"], facts["faults"]) == ("default", "test", {"row": 1})


def test_a_search_after_the_end_is_still_recorded(world: World):
    world.ledger.close()
    with world.ledger.search() as search:
        pass
    assert search.receipt.search_id == world.sink.row.search_id != NOWHERE_ID


def test_derived_ids_are_keyed(make_world: Callable[..., World]):
    one, same, other = (make_world(key=key).ledger for key in ("k" * 16, "k" * 16, "K" * 16))
    assert one.derive_id("text") == same.derive_id("text") != other.derive_id("text")
    assert "text" not in one.derive_id("text")
    assert len(one.derive_id("\ud800")) == 32
