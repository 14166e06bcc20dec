"""What the members of a fusing retriever said, by item: ranks and scores as they were before fusion."""

from __future__ import annotations

from typing import Any

from ragledger.fusion import Fusion, member_names
from ragledger.model import Candidate, Signal


class Vector: ...


class Keyword: ...


def _answer(*items: tuple[str, float | None]) -> list[tuple[Any, Candidate]]:
    return [({"key": name}, Candidate(f"id-{name}", score=score)) for name, score in items]


def _key(item: Any) -> Any:
    return item["key"]


def test_members_are_named_by_class_and_place() -> None:
    assert member_names([Vector(), Keyword(), Vector()]) == ["Vector", "Keyword", "Vector#2"]


def test_every_item_has_the_score_and_rank_of_each_member_that_gave_it() -> None:
    vector, keyword = Vector(), Keyword()
    fusion = Fusion([vector, keyword], _key)
    # As they come: the second member answered first.
    fusion.take("Keyword", _answer(("b", None), ("c", None), ("b", None)))
    fusion.take("Vector", _answer(("a", 0.9), ("b", 0.5)))
    found = fusion.candidates(())
    assert [(item.chunk_id, item.signals) for item in found] == [
        ("id-a", {"Vector": Signal(0.9, 1)}),
        ("id-b", {"Vector": Signal(0.5, 2), "Keyword": Signal(None, 1)}),
        ("id-c", {"Keyword": Signal(None, 2)}),
    ]
    assert not any(item.admitted for item in found)
    assert all(item.score is None for item in found)  # a member's score is no score of the fused search


def test_an_item_has_the_id_under_which_it_was_returned() -> None:
    fusion = Fusion([Vector()], _key)
    fusion.take("Vector", _answer(("a", 0.9)))
    [found] = fusion.candidates([({"key": "a"}, Candidate("returned", "document"))])
    assert (found.chunk_id, found.document_id) == ("returned", "document")


def test_the_same_object_twice_is_two_members_and_a_stranger_is_none() -> None:
    twice = Vector()
    fusion = Fusion([twice, twice], _key)
    assert fusion.name_of(Vector()) is None
    assert fusion.name_of(twice) == "Vector"
    fusion.take("Vector", ())
    assert fusion.name_of(twice) == "Vector#2"
    fusion.take("Vector#2", ())
    assert fusion.name_of(twice) is None


def test_every_query_of_a_member_is_a_signal_and_the_same_query_again_is_the_same() -> None:
    vector, keyword = Vector(), Keyword()
    fusion = Fusion([vector, keyword, vector], _key)
    asked = [(member, query) for query in ("q", "r", "q") for member in (vector, keyword, vector)]
    assert [fusion.name_for(*one) for one in asked] == [
        "Vector", "Keyword", "Vector#2", "Vector@2", "Keyword@2", "Vector#2@2", "Vector", "Keyword", "Vector#2",
    ]  # fmt: skip
    assert fusion.name_for(Vector(), "q") is None
    assert "q" not in "".join(fusion.names)


def test_signals_come_query_by_query_and_member_by_member_whoever_answers_first() -> None:
    fusion = Fusion([Vector(), Keyword()], _key)
    for name in ("Keyword@2", "Vector@10", "Keyword", "Vector@2", "Vector"):
        fusion.take(name, _answer(("a", 0.5)))
    [found] = fusion.candidates(())
    assert found.signals is not None
    assert list(found.signals) == ["Vector", "Keyword", "Vector@2", "Keyword@2", "Vector@10"]


def test_an_item_that_a_member_gave_twice_keeps_the_better_rank_and_is_noted() -> None:
    fusion = Fusion([Vector()], _key)
    fusion.take("Vector", _answer(("a", 0.9), ("b", 0.5)))
    assert not fusion.repeats
    fusion.take("Vector", _answer(("a", 0.9), ("a", 0.5)))
    assert fusion.repeats
    assert [item.signals for item in fusion.candidates(())] == [{"Vector": Signal(0.9, 1)}]
