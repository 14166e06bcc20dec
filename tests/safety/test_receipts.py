"""P6: whatever is raised at a line of ours, the receipt has an id exactly when there is a row to vote on."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from safety.sweep import Boom, Line, Raising, lines_of
from safety.test_sweep import WAYS, ledger, sync_search

from ragledger import Candidate
from ragledger.observation import Observation
from ragledger.testing import MemoryLedger
from ragledger_llama_index.hooks import hooks

__all__ = ["ledger"]

AROUND_THE_SINK = {"ragledger/recorder.py", "ragledger/known.py", "ragledger/model.py"}


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Observation]]:
    """The observations, in the order in which they were opened: what a caller holds while Ctrl-C goes through it."""
    found: list[Observation] = []
    original = Observation.begun.__func__

    def begin(cls: type[Observation], *args: Any) -> Observation:
        found.append(original(cls, *args))
        return found[-1]

    monkeypatch.setattr(Observation, "begun", classmethod(begin))
    yield found
    for left in (hooks().searches.open, hooks().searches._of, hooks().searches._failing):
        left.clear()  # Ctrl-C between two lines of what stands around the guards may leave an entry


def disagreement(ledger: MemoryLedger, observation: Observation) -> str | None:
    receipt, rows = observation.receipt, [row.search_id for row in ledger.searches]
    kept = observation.search_id in rows
    if receipt.search_id not in (None, observation.search_id):
        return "another search's id"
    if kept and receipt.search_id is None:
        return f"a row, and the receipt says {receipt.status} ({receipt.reason})"
    if not kept and receipt.status in ("journalled", "written"):
        return f"no row, and the receipt says {receipt.status}"
    return None


@pytest.mark.parametrize("kind", [Boom, KeyboardInterrupt])
@pytest.mark.parametrize("way", WAYS)
def test_p6_row_and_receipt_agree_whatever_line_raises(
    ledger: MemoryLedger, begun: list[Observation], way: str, kind: type[BaseException]
):
    search = sync_search(way, ledger)
    search()
    lines = [line for line in lines_of(search) if kind is KeyboardInterrupt or line.module in AROUND_THE_SINK]
    wrong: list[str] = []
    unkept = with_row = 0

    def try_at(at: Line) -> None:
        nonlocal unkept, with_row
        begun.clear()
        ledger.backend.records.clear()
        raising = Raising(at, kind())
        with contextlib.suppress(BaseException), raising:
            search()
        for observation in begun[:1]:
            if (found := disagreement(ledger, observation)) is not None:
                wrong.append(f"{at}: {found}")
            with_row += observation.receipt.search_id is not None
            unkept += observation.receipt.search_id is None

    for at in lines:
        contextvars.copy_context().run(try_at, at)
    assert wrong == []
    assert with_row > 10
    assert unkept > 2


@pytest.mark.parametrize("kind", [Boom, KeyboardInterrupt])
def test_p6_a_search_whose_row_is_kept_has_its_id_when_the_rest_fails(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
):
    monkeypatch.setattr(ledger.recorder.known, "remember", raising(kind))
    before = dict(ledger.guard.faults)
    with contextlib.suppress(KeyboardInterrupt), ledger.search() as found:
        found.candidates(Candidate("a"))
    [row] = ledger.searches
    assert (found.receipt.search_id, found.receipt.status, found.receipt.hits) == (
        row.search_id,
        "journalled",
        (),
    )
    counted = {} if kind is KeyboardInterrupt else {"row": 1}
    assert {kind: n for kind, n in ledger.guard.faults.items() if kind not in before} == counted


def raising(kind: type[BaseException]) -> Callable[..., None]:
    def remember(*_: Any) -> None:
        raise kind

    return remember
