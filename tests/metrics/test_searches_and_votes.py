"""What a search and a vote add to metrics when they happen, and that they add nothing while nobody asks."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from fix_pg import Database
from metrics.test_metrics import Meters
from opentelemetry import metrics as api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from ragledger import Candidate, HitNotReturned, Ledger
from ragledger.metrics import Instruments
from ragledger.testing import make_search

pytestmark = pytest.mark.pg

DURATION, VOTES = "gen_ai.retrieval.duration", "ragledger.feedback.votes"


@pytest.fixture
def meters() -> Meters:
    return Meters()


@pytest.fixture
def ledger(make_ledger: Callable[..., Ledger], meters: Meters) -> Ledger:
    return make_ledger(meter_provider=meters.provider)


def said_by(meters: Meters, name: str) -> list[dict[str, Any]]:
    return [dict(point.attributes) for point in meters.points(name)]


def test_a_search_is_timed_by_framework_and_surface(
    ledger: Ledger, meters: Meters, database: Database
) -> None:
    for _ in range(3):
        with ledger.search(surface="study", corpus="handbook", session_id="s"):
            pass
    (point,) = meters.points(DURATION)
    assert dict(point.attributes) == {
        "gen_ai.operation.name": "retrieval",
        "ragledger.framework": "application",
        "ragledger.surface": "study",
    }
    assert ledger.flush()
    assert point.count == 3
    assert point.sum == pytest.approx(database.value("SELECT sum(latency_ms) / 1000 FROM searches"))
    assert point.explicit_bounds == pytest.approx([0.01 * 2**n for n in range(14)])
    assert point.explicit_bounds[-1] == pytest.approx(81.92)


def test_a_failed_search_says_its_error_and_a_cancelled_one_too(ledger: Ledger, meters: Meters) -> None:
    for fault in (LookupError("ZEBRA"), asyncio.CancelledError()):
        with pytest.raises(type(fault)), ledger.search():
            raise fault
    assert {said["error.type"] for said in said_by(meters, DURATION)} == {
        "LookupError",
        "asyncio.exceptions.CancelledError",
    }
    assert "ZEBRA" not in repr(said_by(meters, DURATION))


def test_p10_members_of_a_composite_and_skips_are_not_timed_again(ledger: Ledger, meters: Meters) -> None:
    with ledger.search(), ledger.search():
        pass
    ledger.skip(reason="no_goal")
    (point,) = meters.points(DURATION)
    assert point.count == 1


def test_a_vote_is_counted_by_what_it_says_and_who_gave_it(ledger: Ledger, meters: Meters) -> None:
    with ledger.search() as search:
        search.candidates(Candidate("a"))
    found = search.receipt.search_id
    ledger.vote(found, "a", "relevant", actor="human:ana")
    ledger.vote(found, "a", "relevant", actor="human:bob")
    ledger.vote(found, "a", "not_relevant")
    ledger.accessed(found, "a")
    with pytest.raises(HitNotReturned):
        ledger.vote(found, "z", "relevant")
    counted = {tuple(sorted(dict(p.attributes).items())): p.value for p in meters.points(VOTES)}
    named = (("ragledger.ledger", "default"), ("ragledger.project", "test"))
    assert counted == {
        tuple(
            sorted([*named, ("ragledger.feedback.outcome", outcome), ("ragledger.feedback.actor_kind", kind)])
        ): number
        for outcome, kind, number in (("relevant", "human", 2), ("not_relevant", "system", 1))
    }


def test_p4_while_there_is_no_provider_nothing_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    if not isinstance(api.get_meter_provider(), api._internal._ProxyMeterProvider):
        pytest.skip("a provider is set in this process")
    instruments = Instruments(None)
    recorded: list[Any] = []
    monkeypatch.setattr(instruments._retrieval, "record", lambda *said: recorded.append(said), raising=False)
    instruments.searched(make_search("a"))
    assert recorded == []
    with_one = Instruments(MeterProvider(metric_readers=[InMemoryMetricReader()]))
    monkeypatch.setattr(with_one._retrieval, "record", lambda *said: recorded.append(said))
    with_one.searched(make_search("a"))
    assert len(recorded) == 1


def test_p3_an_instrument_that_raises_costs_nothing(
    ledger: Ledger, meters: Meters, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragledger.metrics import instruments_for

    def broken(*_: Any) -> None:
        raise RuntimeError("SDK")

    instruments = instruments_for(meters.provider)
    monkeypatch.setattr(instruments._retrieval, "record", broken)
    monkeypatch.setattr(instruments._votes, "add", broken)
    with ledger.search() as search:
        search.candidates(Candidate("a"))
    assert ledger.vote(search.receipt.search_id, "a", "relevant").status == "journalled"
    assert ledger.guard.faults == {}


_LATE_PROVIDER = """
import sys, ragledger
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

ledger = ragledger.open(sys.argv[1], strict=True)
with ledger.search():
    pass
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
for _ in range(2):
    with ledger.search():
        pass
found = [metric for resource in reader.get_metrics_data().resource_metrics for scope in resource.scope_metrics
         for metric in scope.metrics if metric.name == "gen_ai.retrieval.duration"]
assert [point.count for metric in found for point in metric.data.data_points] == [2], found
"""


def test_a_provider_that_is_set_after_the_ledger_was_opened_is_used(database: Database) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", _LATE_PROVIDER, database.dsn],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
