from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fix_spans import Spans

from ragledger import Ledger


def test_a_span_ends_also_where_no_row_could_be_made(
    make_ledger: Callable[..., Ledger], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr("ragledger.recorder.search_row", broken)
    monkeypatch.setattr("ragledger.recorder.bare_row", broken)
    ledger = make_ledger(strict=False, tracer_provider=spans.provider)
    with ledger.search() as search:
        pass
    assert search.receipt.reason == "fault"
    [span] = spans.finished
    assert "ragledger.row.status" not in span.attributes
    assert ledger.facts()["faults"] == {"row": 2}


def test_a_span_ends_also_where_a_weight_fits_no_float(
    make_ledger: Callable[..., Ledger], spans: Spans
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    with ledger.search(weights={"threshold": 10**400, "vector": 0.5}):
        pass
    [span] = spans.finished
    assert "ragledger.weights.threshold" not in span.attributes
    assert span.attributes["ragledger.weights.vector"] == 0.5


def test_a_provider_that_cannot_be_loaded_costs_the_spans_only(
    make_ledger: Callable[..., Ledger], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_PYTHON_TRACER_PROVIDER", "there_is_no_such_provider")
    ledger = make_ledger()
    with ledger.search() as search:
        pass
    assert search.receipt.status == "journalled"
    assert "cannot be loaded" in caplog.text
