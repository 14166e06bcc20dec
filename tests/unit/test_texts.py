"""Texts of a search: handed over only where that is switched on, in a record of their own, bounded."""

from __future__ import annotations

from typing import Any

import pytest

from ragledger import Candidate
from ragledger.ids import new_id
from ragledger.model import SearchRecord, Text, TextsRecord, encode_record
from ragledger.observation import Opening
from ragledger.testing import MemoryLedger, make_hit, make_search, memory_ledger
from ragledger.texts import ASK_AGAIN_S, LONGEST_TEXT, MOST_TEXTS, Told, texts_of
from ragledger.waiting import _made_us


def texts(ledger: MemoryLedger) -> list[tuple[Text, ...]]:
    return [record.texts for record in ledger.backend.records if isinstance(record, TextsRecord)]


def search(ledger: MemoryLedger, **said: Any) -> Any:
    with ledger.search(**said) as found:
        found.candidates(Candidate("a"), Candidate("b"), Candidate("below", admitted=False))
        found.tell(chunks=["text of a", "text of b"])
    return found


def test_p9_without_the_switch_nothing_is_kept_of_what_is_handed_over() -> None:
    with memory_ledger(query_keys=True) as ledger:
        found = search(ledger, query="what is it")
        found.tell(query="asked")
    assert not ledger.tells_text
    assert found.told is None
    assert [type(record) for record in ledger.backend.records] == [SearchRecord]


def test_with_it_the_search_is_followed_by_its_texts_and_stays_free_of_them() -> None:
    with memory_ledger(store_text=True) as ledger:
        found = search(ledger, query="what is it")
    assert texts(ledger) == [(Text(0, "what is it"), Text(1, "text of a"), Text(2, "text of b"))]
    assert [type(record) for record in ledger.backend.records] == [SearchRecord, TextsRecord]
    assert ledger.backend.records[1].search_id == found.receipt.search_id
    assert "what is it" not in repr(ledger.row)
    assert found.told is None  # an application that keeps the observation keeps no text by it


def test_p9_a_search_that_was_given_up_or_whose_row_failed_keeps_no_text() -> None:
    with memory_ledger(store_text=True) as ledger:
        with ledger.search(query="what is it") as late:
            pass
        late.tell(query="too late", chunks=["too late"])
        given_up = ledger.recorder.open(Opening(framework="x"))
        given_up.tell(query="what is it")
        given_up.abandon()
        ledger.backend.put = _interrupted  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt), ledger.search(query="what is it") as interrupted:
            pass
    assert [each.told for each in (late, given_up, interrupted)] == [None] * 3


def _interrupted(record: object) -> str | None:
    raise KeyboardInterrupt


def test_while_the_table_takes_none_no_text_is_put_and_then_it_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr("ragledger.texts.time.monotonic", lambda: now[0])
    with memory_ledger(store_text=True) as ledger:
        ledger.recorder.texts_pause.begin()
        search(ledger, query="first")
        now[0] += ASK_AGAIN_S
        search(ledger, query="second")
    assert [found[0].text for found in texts(ledger)] == ["second"]


def test_p8_an_unknown_question_is_null_and_not_empty() -> None:
    with memory_ledger(store_text=True) as ledger:
        search(ledger)
    assert texts(ledger)[0][0] == Text(0, None)


def test_a_search_of_which_nobody_told_a_text_has_no_record_of_them() -> None:
    with memory_ledger(store_text=True) as ledger, ledger.search() as found:
        found.candidates(Candidate("a"))
    ledger.skip(reason="no_goal")
    assert texts(ledger) == []


def test_what_was_asked_of_a_search_that_failed_is_kept() -> None:
    with (
        memory_ledger(store_text=True) as ledger,
        pytest.raises(ValueError, match="no"),
        ledger.search(query="asked"),
    ):
        raise ValueError("no")
    assert texts(ledger) == [(Text(0, "asked"),)]


def test_what_is_said_later_adds_to_what_was_said() -> None:
    with memory_ledger(store_text=True) as ledger, ledger.search(query="first") as found:
        found.candidates(Candidate("a"))
        found.tell(chunks=["a"])
        found.tell(query="second")
    assert texts(ledger) == [(Text(0, "second"), Text(1, "a"))]


def test_p6_of_a_search_that_was_refused_no_text_is_offered() -> None:
    with memory_ledger(store_text=True) as ledger:
        ledger.backend.refusal = "cap"
        search(ledger, query="asked")
    assert ledger.backend.refused == {"cap": 1}


def test_p3_a_refused_text_costs_nothing_but_itself() -> None:
    with memory_ledger(store_text=True) as ledger:
        put = ledger.backend.put
        ledger.recorder._sink = _Refusing(put)  # type: ignore[assignment]
        found = search(ledger, query="asked")
    assert found.receipt.status == "journalled"
    assert ledger.facts()["faults"] == {"refused:cap": 1}


def test_p3_a_pause_that_raises_costs_the_text_alone() -> None:
    with memory_ledger(store_text=True, strict=False) as ledger:
        ledger.recorder.texts_pause = None  # type: ignore[assignment]
        found = search(ledger, query="asked")
    assert found.receipt.status == "journalled"
    assert ledger.facts()["faults"] == {"texts": 1}


class _Refusing:
    """Takes everything but texts."""

    def __init__(self, put: Any) -> None:
        self._put = put

    def put(self, record: Any) -> Any:
        return "cap" if isinstance(record, TextsRecord) else self._put(record)


def test_what_is_no_text_says_nothing() -> None:
    with memory_ledger(store_text=True) as ledger, ledger.search(query=7) as found:  # type: ignore[arg-type]
        found.candidates(Candidate("a"), Candidate("b"))
        found.tell(chunks=[None, 3.5])  # type: ignore[list-item]
    assert texts(ledger) == []


@pytest.mark.parametrize(
    ("given", "kept", "cut"),
    [
        ("x" * LONGEST_TEXT, "x" * LONGEST_TEXT, False),
        ("x" * LONGEST_TEXT + "y", "x" * LONGEST_TEXT, True),
        ("\0" * LONGEST_TEXT, "\\u0000" * (LONGEST_TEXT // 6) + "\\u", True),
        ("a\0b\ud800", "a\\u0000b\\ud800", False),
        ("", "", False),
    ],
)
def test_a_text_is_cut_with_a_flag_and_made_fit_for_the_database(given: str, kept: str, cut: bool) -> None:
    found = texts_of(make_search("a"), Told(given))
    assert found is not None
    assert found.texts == (Text(0, kept, cut),)


def test_texts_go_by_rank_to_the_first_admitted_hits() -> None:
    hits = tuple(make_hit(rank, f"c{rank}", admitted=rank <= 300) for rank in range(1, 400) if rank != 2)
    found = texts_of(make_search(hits=hits), Told("q", tuple(str(rank) for rank in range(1, 400))))
    assert found is not None
    kept = found.texts[1:]
    assert len(kept) == MOST_TEXTS
    assert all(text.text == str(text.rank) for text in kept)
    assert [text.rank for text in kept[:3]] == [1, 3, 4]  # 2 was the same chunk as 1


def test_the_age_of_a_record_of_texts_is_that_of_its_search() -> None:
    search_id = new_id()
    made = _made_us(encode_record(TextsRecord(search_id, (Text(0, "asked"),))))
    assert made == (search_id.int >> 80) * 1000
