"""Spans over the wire: the real SDK, its real exporters, a real receiver."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import pytest
from fix_otlp import Receiver, attributes_of
from fix_pg import Database
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from ragledger import Candidate, Ledger
from ragledger.observation import Opening
from ragledger.spans import ATTRIBUTES

pytestmark = pytest.mark.pg

WEIGHTS = {"vector": 0.6, "lexical": 0.4, "threshold": 0.2, "candidates_per_signal": 20}
HITS = [Candidate(f"chunk-{n}", score=1 / (n + 1), vector=0.5) for n in range(10)]


@pytest.fixture(params=["http", "grpc"])
def provider(request: pytest.FixtureRequest, otlp: Receiver) -> Iterator[TracerProvider]:
    exporter: Any = (
        HttpExporter(endpoint=otlp.http_endpoint)
        if request.param == "http"
        else GrpcExporter(endpoint=otlp.grpc_endpoint, insecure=True)
    )
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    yield provider
    provider.shutdown()


def test_a_span_arrives_with_the_id_of_its_row(
    make_ledger: Callable[..., Ledger], provider: TracerProvider, otlp: Receiver, database: Database
) -> None:
    ledger = make_ledger(tracer_provider=provider)
    _search(ledger)
    _search(ledger)
    assert provider.force_flush()
    assert ledger.flush()

    arrived = {
        (attributes_of(span)["ragledger.search.id"], span.trace_id, span.span_id) for span in otlp.spans
    }
    rows = database.rows("SELECT search_id::text, trace_id, span_id FROM searches")
    assert arrived == set(rows)
    assert len(rows) == 2
    assert otlp.scopes == {("ragledger", version("ragledger"))}


def test_p9_nothing_but_the_listed_attributes_is_on_the_wire(
    make_ledger: Callable[..., Ledger], provider: TracerProvider, otlp: Receiver
) -> None:
    ledger = make_ledger(tracer_provider=provider)
    _search(ledger)
    with pytest.raises(ValueError, match="ZEBRA"), ledger.search():
        raise ValueError("ZEBRA")
    assert provider.force_flush()

    assert len(otlp.spans) == 2
    for span in otlp.spans:
        assert set(attributes_of(span)) <= ATTRIBUTES
        assert (len(span.events), len(span.links), span.status.message) == (0, 0, "")
    assert not any(b"ZEBRA" in body for body in otlp.bodies)


def test_the_span_of_an_observed_retriever_takes_at_most_600_bytes(
    make_ledger: Callable[..., Ledger], provider: TracerProvider, otlp: Receiver
) -> None:
    """What an adapter says of a plain retriever that found ten hits: the case that DESIGN section 8 measures."""
    ledger = make_ledger(tracer_provider=provider)
    opening = Opening(
        framework="llama_index", retriever="VectorIndexRetriever", top_k=10, said={"corpus": "handbook"}
    )
    ledger.recorder.open(opening).finish(HITS)
    assert provider.force_flush()

    (span,) = otlp.spans
    assert attributes_of(span)["ragledger.admitted.count"] == 10
    assert span.ByteSize() <= 600


def test_a_span_with_all_weights_takes_at_most_600_bytes(
    make_ledger: Callable[..., Ledger], provider: TracerProvider, otlp: Receiver
) -> None:
    ledger = make_ledger(tracer_provider=provider)
    _search(ledger)
    assert provider.force_flush()

    (span,) = otlp.spans
    assert len(attributes_of(span)) == 13
    assert span.ByteSize() <= 600


def _search(ledger: Ledger) -> None:
    with ledger.search(corpus="handbook", surface="study", top_k=10, weights=WEIGHTS) as search:
        search.candidates(*HITS)
