"""P9 with every other instrumentor at work beside us: theirs may carry text, ours may not, nor anything we write."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fix_pg import Database
from fix_spans import Spans
from integration.shipping import ship_command
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from privacy.canaries import CANARIES, CHUNK, ERROR, META, QUERY, dump, files, found_in
from privacy.world import langchain_searches, llama_index_searches
from spans.others import LANGCHAIN, LLAMA_INDEX, instrumented, model_package, of_others, of_ours

from ragledger import Ledger
from ragledger.spans import ATTRIBUTES

pytestmark = pytest.mark.pg

OURS = {
    "langchain": "ragledger_langchain.instrumentor:LangChainInstrumentor",
    "llama_index": "ragledger_llama_index.instrumentor:LlamaIndexInstrumentor",
}
LOGGERS = ("ragledger", "psycopg", "opentelemetry.context", "opentelemetry.sdk")


@pytest.fixture(autouse=True)
def _process_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    from langchain_core.callbacks import BaseCallbackManager
    from llama_index_instrumentation import get_dispatcher

    model_package(tmp_path / "models", monkeypatch)
    root, init, token = get_dispatcher(), BaseCallbackManager.__init__, otel_context.attach(Context())
    handlers, events = list(root.span_handlers), list(root.event_handlers)
    yield
    root.span_handlers, root.event_handlers = handlers, events
    BaseCallbackManager.__init__ = init  # type: ignore[method-assign]
    otel_context.detach(token)


@pytest.mark.parametrize("ours", ["first", "last"])
@pytest.mark.parametrize(
    ("framework", "others", "searches"),
    [
        ("langchain", LANGCHAIN, langchain_searches),
        ("llama_index", LLAMA_INDEX, llama_index_searches),
    ],
)
def test_p9_d20_beside_all_the_others_nothing_of_ours_has_a_text(
    make_ledger: Callable[..., Ledger],
    database: Database,
    spans: Spans,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    framework: str,
    others: dict[str, str],
    searches: Callable[[Ledger], Any],
    ours: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    ledger = make_ledger(ship="sidecar", tracer_provider=spans.provider, span_document_ids=False)
    order = [(where, {"tracer_provider": spans.provider}) for where in others.values()]
    order.insert(0 if ours == "first" else len(order), (OURS[framework], {"ledger": ledger}))
    with instrumented(order):
        asyncio.run(searches(ledger))

    written: list[tuple[str, bytes | str]] = list(files(tmp_path))
    assert any(name.endswith(".seg") for name, _ in written)
    assert ship_command(database.dsn).returncode == 0
    written += [*files(tmp_path), ("database", dump(database))]
    written += [("span", span.to_json()) for span in of_ours(spans)]
    written += [
        (record.name, f"{record.getMessage()} {record.exc_info} {record.args}")
        for record in caplog.records
        if record.name.startswith(LOGGERS)
    ]
    assert {(place, canary) for place, data in written for canary in found_in(data)} == set()
    assert len(of_ours(spans)) >= 8
    assert {name for span in of_ours(spans) for name in span.attributes} <= ATTRIBUTES
    assert database.value("SELECT count(*) FROM searches") == len(of_ours(spans))
    theirs = {canary for span in of_others(spans) for canary in found_in(span.to_json())}
    assert theirs >= {QUERY, CHUNK, META, ERROR}, "the canaries were not there to be found"
    assert theirs <= set(CANARIES)
    assert ledger.guard.faults == {}


@pytest.mark.parametrize("name", ["openinference", "traceloop", "official"])
@pytest.mark.parametrize("framework", ["langchain", "llama_index"])
def test_the_switches_that_doctor_names_stop_queries_and_chunks(
    spans: Spans, monkeypatch: pytest.MonkeyPatch, framework: str, name: str
) -> None:
    """What they export regardless, an exception's message, is not made here."""
    from ragledger.instrumentors import _SWITCHES

    for switch in _SWITCHES[name].split():
        monkeypatch.setenv(*switch.split("="))
    where = (LANGCHAIN if framework == "langchain" else LLAMA_INDEX)[name]
    with instrumented([(where, {"tracer_provider": spans.provider})]):
        found_by(framework)
    assert spans.finished
    assert {canary for span in spans.finished for canary in found_in(span.to_json())} == set()


def found_by(framework: str) -> None:
    if framework == "langchain":
        from langchain_core.documents import Document
        from langchain_core.embeddings import DeterministicFakeEmbedding
        from langchain_core.vectorstores import InMemoryVectorStore

        store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
        store.add_documents([Document(CHUNK, metadata={"note": META})])
        store.as_retriever().invoke(QUERY)
    else:
        from llama_index.core import MockEmbedding, VectorStoreIndex
        from llama_index.core.schema import TextNode

        index = VectorStoreIndex(
            [TextNode(text=CHUNK, metadata={"note": META})], embed_model=MockEmbedding(embed_dim=4)
        )
        index.as_retriever().retrieve(QUERY)
