from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fix_spans import Spans

from ragledger import Ledger
from ragledger.recorder import Recorder


def test_a_span_ends_also_where_no_row_could_be_made(
    make_ledger: Callable[..., Ledger], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(Recorder, "_row", broken)
    monkeypatch.setattr(Recorder, "_bare_row", broken)
    ledger = make_ledger(strict=False, tracer_provider=spans.provider)
    with ledger.search() as search:
        pass
    assert search.receipt.reason == "fault"
    [span] = spans.finished
    assert "ragledger.row.status" not in span.attributes
    assert ledger.facts()["faults"] == {"row": 2}
