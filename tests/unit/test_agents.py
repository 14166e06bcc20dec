"""What an agent reads: references only where there is something to vote on."""

from __future__ import annotations

from typing import Any

import pytest

from ragledger import Receipt
from ragledger.agents import found_text
from ragledger.ids import new_id

KEPT = new_id()


def _receipt(*hits: tuple[int, str | None], **changes: Any) -> Receipt:
    return Receipt(**({"search_id": KEPT, "status": "journalled", "hits": hits} | changes))


def test_a_passage_has_its_id_else_its_rank_and_one_that_came_twice_has_none() -> None:
    text = found_text(["A", "B", "A"], [_receipt((1, "a"), (2, None))], feedback="feedback")
    blocks = text.split("\n\n")
    assert blocks[:4] == [f"search_id: {KEPT}", "[1] chunk_id: a\nA", "[2] rank: 2\nB", "[3]\nA"]
    assert blocks[4].startswith("Once you know what was useful, call feedback with the search_id")


@pytest.mark.parametrize(
    ("receipts", "feedback"),
    [
        ([], "feedback"),
        ([Receipt(search_id=None, status="refused", reason="cap")], "feedback"),
        ([_receipt((1, "a"))], None),
    ],
)
def test_p6_without_a_row_or_a_tool_there_is_nothing_to_vote_with(
    receipts: list[Receipt], feedback: str | None
) -> None:
    assert found_text(["A", "B"], receipts, feedback=feedback) == "[1]\nA\n\n[2]\nB"


def test_nothing_found_is_said() -> None:
    assert found_text([], [_receipt()], feedback="feedback") == "Nothing was found."


def test_after_a_fallback_the_search_that_answered_is_the_one_to_vote_on() -> None:
    last = new_id()
    text = found_text(["A"], [_receipt(), _receipt((1, "x"), search_id=last)], feedback="feedback")
    assert f"search_id: {last}" in text
    assert str(KEPT) not in text
