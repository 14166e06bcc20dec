"""Who listens hears of searches and votes, and whatever goes wrong there costs nobody anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from unit.core import SECRET, World

from ragledger import Candidate
from ragledger.ports import Narration
from ragledger.testing import MemoryNarrator


class Hearing:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def searched(self, record: Any) -> None:
        self.heard.append(record)

    def voted(self, record: Any) -> None:
        self.heard.append(record)


class Deaf:
    def searched(self, record: Any) -> None:
        raise RuntimeError(SECRET)

    def voted(self, record: Any) -> None:
        raise RuntimeError(SECRET)


class Reading(MemoryNarrator):
    """Fails at the text that it is handed."""

    def open(self, facts: Callable[[], Any]) -> Narration | None:
        narration: Any = super().open(facts)
        narration.hear = Deaf().searched
        return narration  # type: ignore[no-any-return]


def _search(world: World) -> Any:
    with world.ledger.search() as search:
        search.tell(query=SECRET, chunks=[SECRET])
        search.candidates(Candidate("a"))
    return search.receipt


def test_a_search_and_a_vote_are_heard_once(world: World) -> None:
    listener = Hearing()
    world.ledger.recorder.listen([listener])
    receipt = _search(world)
    world.ledger.vote(receipt.search_id, "a", "relevant")
    with pytest.raises(ValueError, match="no"), world.ledger.search():
        raise ValueError("no")
    assert [type(record).__name__ for record in listener.heard] == [
        "SearchRecord",
        "FeedbackRecord",
        "SearchRecord",
    ]


def test_p3_a_listener_that_raises_costs_neither_the_search_nor_the_vote(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    world = make_world(strict=False)
    world.ledger.recorder.listen([Deaf()])
    receipt = _search(world)
    assert world.ledger.vote(receipt.search_id, "a", "relevant").status == "journalled"
    assert (len(world.ledger.searches), len(world.ledger.votes)) == (1, 1)
    assert world.faults == {"listeners": 2}
    assert SECRET not in caplog.text


def test_p9_text_is_handed_over_only_where_it_is_wanted(
    make_world: Callable[..., World], world: World
) -> None:
    _search(world)
    assert "hear" not in [entry[0] for entry in world.narrator.log if isinstance(entry, tuple)]
    wanting = MemoryNarrator(wants_text=True)
    _search(make_world(narrator=wanting, name="wanting"))
    assert ("hear", True, 1) in wanting.log
    assert SECRET not in repr(wanting.log)


def test_p3_a_narration_that_cannot_hear_costs_its_text_alone(
    make_world: Callable[..., World], caplog: pytest.LogCaptureFixture
) -> None:
    world = make_world(strict=False, narrator=Reading(wants_text=True))
    assert _search(world).status == "journalled"
    assert world.faults == {"span": 1}
    assert SECRET not in caplog.text
