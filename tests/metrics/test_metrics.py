"""Counters as OpenTelemetry metrics, by the real SDK: what is exported equals what was counted."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from fix_otlp import Receiver
from fix_pg import Database
from integration.shipping import World, run, wait_until
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, PeriodicExportingMetricReader

import ragledger
from ragledger import Candidate, Ledger
from ragledger.testing import make_search

pytestmark = pytest.mark.pg

MakeLedger = Callable[..., Ledger]

INSTRUMENTS = {
    "ragledger.rows": "{row}",
    "ragledger.faults": "{fault}",
    "ragledger.journal.rows": "{row}",
    "ragledger.journal.age": "s",
    "ragledger.journal.size": "By",
    "ragledger.journal.limit": "By",
    "ragledger.ship.duration": "s",
    "ragledger.feedback.votes": "{vote}",
    "gen_ai.retrieval.duration": "s",
}
ATTRIBUTES = {
    "ragledger.project", "ragledger.ledger", "ragledger.row.fate", "ragledger.refusal.reason", "ragledger.fault.kind",
    "ragledger.journal.state", "error.type", "gen_ai.operation.name", "ragledger.framework", "ragledger.surface",
    "ragledger.feedback.outcome", "ragledger.feedback.actor_kind",
}  # fmt: skip


class Meters:
    """A provider of the test's own, and what it says when asked."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider(metric_readers=[self.reader])

    def metrics(self) -> dict[str, Any]:
        data = self.reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if list(metric.data.data_points)
        }

    def points(self, name: str, **attributes: str) -> list[Any]:
        metric = self.metrics().get(name)
        wanted = {f"ragledger.{key}": value for key, value in attributes.items()}
        points = list(metric.data.data_points) if metric is not None else []
        return [point for point in points if wanted.items() <= dict(point.attributes).items()]

    def value(self, name: str, **attributes: str) -> Any:
        [point] = self.points(name, **attributes)
        return point.value

    def rows(self, ledger: str = "default") -> dict[str, int]:
        """By fate and reason."""
        found = {}
        for point in self.points("ragledger.rows", ledger=ledger):
            said = dict(point.attributes)
            found[said.get("ragledger.refusal.reason", said["ragledger.row.fate"])] = point.value
        return found


@pytest.fixture
def meters() -> Iterator[Meters]:
    made = Meters()
    yield made
    made.provider.shutdown()


def search(ledger: Ledger) -> Any:
    with ledger.search() as found:
        found.candidates()
    return found.receipt


def test_p5_rows_are_counted_by_fate(make_ledger: MakeLedger, meters: Meters, database: Database) -> None:
    ledger = make_ledger(meter_provider=meters.provider)
    for _ in range(5):
        search(ledger)
    assert ledger.flush()
    ledger._parts.backend.put(
        make_search(skip_reason="but it ran")
    )  # below the recorder: the database refuses it
    assert ledger.flush()
    wait_until(lambda: meters.rows() == {"written": 5, "rejected": 1})
    assert database.value("SELECT count(*) FROM searches") == 5

    [point] = meters.points("ragledger.ship.duration")
    assert point.count >= 2
    assert point.sum > 0
    assert dict(point.attributes) == {"ragledger.project": "test", "ragledger.ledger": "default"}
    assert list(point.explicit_bounds)[:2] == [0.005, 0.01], "seconds, not the SDK's milliseconds"


def test_p5_refusals_say_why(make_ledger: MakeLedger, meters: Meters, tmp_path: Path) -> None:
    (tmp_path / "journals").write_text("")
    ledger = make_ledger(meter_provider=meters.provider, journal_dir=tmp_path / "journals", strict=False)
    search(ledger), search(ledger)
    assert meters.rows() == {"written": 0, "rejected": 0, "no_journal": 2}
    assert meters.value("ragledger.faults", **{"fault.kind": "refused:no_journal"}) == 2
    assert (meters.value("ragledger.journal.rows", **{"journal.state": "waiting"})) == 0
    assert (meters.value("ragledger.journal.size"), meters.value("ragledger.journal.age")) == (0, 0.0)


def test_what_waits_is_seen_by_number_size_and_age(make_ledger: MakeLedger, meters: Meters) -> None:
    ledger = make_ledger(meter_provider=meters.provider, ship="sidecar", journal_cap_mb=7)
    assert meters.value("ragledger.journal.age") == 0.0
    before = time.time()
    search(ledger)
    time.sleep(0.2)
    search(ledger)
    least, age, most = 0.2, meters.value("ragledger.journal.age"), time.time() - before + 0.001
    assert least <= age <= most, "the age of the oldest, not of the latest"
    assert meters.value("ragledger.journal.rows", **{"journal.state": "waiting"}) == 2
    assert meters.value("ragledger.journal.rows", **{"journal.state": "unfinished"}) == 0
    assert meters.value("ragledger.journal.size") > 0
    assert meters.value("ragledger.journal.limit") == 7 * 1024 * 1024


def test_the_age_is_that_of_the_first_record_that_has_not_left(
    make_ledger: MakeLedger, meters: Meters, database: Database
) -> None:
    """Records of one segment that the table has are passed over, and a dead writer's are seen as well."""
    world = World(database)
    ledger = make_ledger(meter_provider=meters.provider, ship="sidecar")
    journal = world.journal()
    for seconds in (4000, 3000, 2000):
        journal.put(make_search(started_at=int((time.time() - seconds) * 1e6)))
    assert journal.writer is not None
    journal.writer.state.shipped = 1
    assert 3000 <= meters.value("ragledger.journal.age") < 3900
    journal.release()
    assert 3000 <= meters.value("ragledger.journal.age") < 3900
    world.ship()
    assert meters.value("ragledger.journal.age") == 0.0
    del ledger


def test_faults_are_counted_by_kind(make_ledger: MakeLedger, meters: Meters) -> None:
    ledger = make_ledger(meter_provider=meters.provider, strict=False)
    ledger.guard.count("langchain.extract")
    ledger.guard.count("langchain.extract")
    ledger.guard.count("row")
    kinds = {
        dict(point.attributes)["ragledger.fault.kind"]: point.value
        for point in meters.points("ragledger.faults")
    }
    assert kinds == {"langchain.extract": 2, "row": 1}


def test_two_ledgers_are_told_apart_and_a_closed_or_collected_one_says_nothing(
    database: Database, meters: Meters
) -> None:
    def make(name: str) -> Ledger:
        return ragledger.open(database.dsn, name=name, project=f"p-{name}", meter_provider=meters.provider)

    first, second = make("a"), make("b")
    search(first)
    assert first.flush()
    wait_until(lambda: meters.rows("a")["written"] == 1)
    assert meters.rows("b")["written"] == 0
    assert len(meters.points("ragledger.rows", project="p-a", ledger="a")) == 2
    first.close()
    assert meters.points("ragledger.rows", ledger="a") == []
    assert len(meters.points("ragledger.rows", ledger="b")) == 2

    hiding = make("b")  # the registry holds the latest of a name only
    del second
    gc.collect()
    assert len(meters.points("ragledger.rows", ledger="b")) == 2
    hiding.close()
    kept = {"ragledger.ship.duration", "gen_ai.retrieval.duration"}
    assert meters.metrics().keys() <= kept, "a histogram keeps what it has seen"


def test_names_units_and_attributes_are_the_documented_ones(
    make_ledger: MakeLedger, meters: Meters, tmp_path: Path
) -> None:
    ledger = make_ledger(meter_provider=meters.provider, strict=False)
    with ledger.search(surface="study") as found_one:
        found_one.candidates(Candidate("c1"))
    ledger.vote(found_one.receipt.search_id, "c1", "relevant", actor="human:ana")
    ledger.guard.count("row")
    assert ledger.flush()
    (tmp_path / "none").write_text("")
    search(
        make_ledger(
            meter_provider=meters.provider, name="refused", journal_dir=tmp_path / "none", strict=False
        )
    )
    found = meters.metrics()
    assert {name: metric.unit for name, metric in found.items()} == INSTRUMENTS
    used = {key for metric in found.values() for point in metric.data.data_points for key in point.attributes}
    assert used == ATTRIBUTES - {"error.type"}
    page = (Path(__file__).parents[2] / "docs/operations.md").read_text(encoding="utf-8")
    assert [name for name in (*INSTRUMENTS, *ATTRIBUTES) if f"`{name}`" not in page] == []


def test_a_batch_that_the_table_did_not_take_is_timed_as_an_error(
    make_ledger: MakeLedger, meters: Meters, database: Database
) -> None:
    ledger = make_ledger(meter_provider=meters.provider, strict=False)
    search(ledger)
    assert ledger.flush()
    with database.connect() as connection:
        connection.execute("DROP TABLE feedback, hits CASCADE")
    search(ledger)
    wait_until(
        lambda: any("error.type" in dict(p.attributes) for p in meters.points("ragledger.ship.duration"))
    )
    [failed] = [p for p in meters.points("ragledger.ship.duration") if "error.type" in dict(p.attributes)]
    assert dict(failed.attributes)["error.type"] == "psycopg.errors.UndefinedTable"


def test_direct_mode_has_rows_and_no_journal(make_ledger: MakeLedger, meters: Meters) -> None:
    ledger = make_ledger(meter_provider=meters.provider, write="direct", strict=False)
    written = sum(search(ledger).status == "written" for _ in range(5))
    wait_until(lambda: meters.rows()["written"] >= written)
    assert meters.rows()["rejected"] == 0
    assert not {name for name in meters.metrics() if name.startswith("ragledger.journal.")}


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_metrics_arrive_over_otlp(make_ledger: MakeLedger, otlp: Receiver, protocol: str) -> None:
    exporter: Any = (
        HttpExporter(endpoint=otlp.http_metrics_endpoint)
        if protocol == "http"
        else GrpcExporter(endpoint=otlp.grpc_endpoint, insecure=True)
    )
    provider = MeterProvider(metric_readers=[PeriodicExportingMetricReader(exporter)])
    ledger = make_ledger(meter_provider=provider)
    search(ledger)
    assert ledger.flush()
    assert provider.force_flush()
    unheard_of = {"ragledger.faults", "ragledger.feedback.votes"}
    assert {metric.name for metric in otlp.metrics} >= set(INSTRUMENTS) - unheard_of
    assert otlp.scopes == {("ragledger", version("ragledger"))}
    provider.shutdown()


_LATE = """
import json, sys
import ragledger
assert not [name for name in sys.modules if name.startswith("opentelemetry.metrics")]
ledger = ragledger.open()
with ledger.search() as found:
    found.candidates()
assert ledger.flush()
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider(metric_readers=[reader]))
with ledger.search() as found:
    found.candidates()
assert ledger.flush()
def written():
    data = reader.get_metrics_data()
    return [
        point.value
        for scope in data.resource_metrics[0].scope_metrics for metric in scope.metrics
        if metric.name == "ragledger.rows"
        for point in metric.data.data_points if point.attributes["ragledger.row.fate"] == "written"
    ]
"""


def test_a_provider_that_is_set_after_the_ledger_was_opened_works(database: Database) -> None:
    done = run(_LATE + "print(json.dumps(written())); ledger.close()", database.dsn)
    assert json.loads(done.stdout) == [2]


_FORKED = """
import os
ledger.guard.count("row")
sys.stdout.flush()
if not os.fork():
    with ledger.search() as found:
        found.candidates()
    assert ledger.flush(30)
    print(json.dumps([written(), ledger.facts()["faults"]]), flush=True)
    ledger.close()
    os._exit(0)
os.wait()
print(json.dumps([written(), ledger.facts()["faults"]]))
ledger.close()
"""


def test_a_forked_child_counts_from_nothing(database: Database) -> None:
    """Also what it never did itself: the parent's faults are the parent's to report."""
    done = run(_LATE + _FORKED, database.dsn)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [[[1], {}], [[2], {"row": 1}]]
