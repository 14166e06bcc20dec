"""A reranker of a compressing retriever has a span of its own, inside that of its search."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from adapters.langchain.world import Listed, documents, vector_store
from fix_spans import Spans
from langchain_core.documents import BaseDocumentCompressor, Document
from opentelemetry import trace
from pydantic import Field

from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_langchain import observe, wrap

pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")

from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
    EmbeddingsFilter,
)
from langchain_classic.retrievers.document_compressors.cross_encoder import BaseCrossEncoder


class SomeReranker(BaseDocumentCompressor):
    model: str = "/home/ana/some-model"
    top_n: int = 1
    fails: bool = False
    native: bool = True

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        self.seen.append(trace.get_current_span().get_span_context().span_id)
        if self.fails:
            raise RuntimeError("SECRET")
        return list(documents)[-self.top_n :]

    seen: list[int] = Field(default_factory=list)


class Native(SomeReranker):
    async def acompress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        await asyncio.sleep(0)
        return self.compress_documents(documents, query, callbacks)


class Derived(SomeReranker):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return super().compress_documents(documents, query, callbacks)


# As of a package of LangChain's: of a class of the application no word is read.
for _kind in (SomeReranker, Native, Derived):
    _kind.__module__ = "langchain_some.rerank"


class OwnReranker(SomeReranker):
    """Of the application."""


class Kept(BaseDocumentCompressor):
    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
        return documents


@pytest.fixture
def ledger(spans: Spans) -> Iterator[MemoryLedger]:
    with memory_ledger(tracer_provider=spans.provider) as found:
        yield found
        assert found.guard.faults == {}


def _over(compressor: Any) -> ContextualCompressionRetriever:
    return ContextualCompressionRetriever(
        base_retriever=Listed(found=documents("a", "b")), base_compressor=compressor
    )


def _named(spans: Spans, name: str) -> list[Any]:
    return [span for span in spans.finished if span.name == name]


@pytest.mark.parametrize("kind", [SomeReranker, Native, Derived])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_reranker_is_a_child_of_the_search_and_says_exactly_this(
    ledger: MemoryLedger, spans: Spans, kind: Any, asynchronous: bool
) -> None:
    retriever = observe(_over(reranker := kind()), ledger)
    found = asyncio.run(retriever.ainvoke("q")) if asynchronous else retriever.invoke("q")
    assert [item.id for item in found] == ["b"]
    [step] = _named(spans, "rerank")
    search = spans.finished[-1]
    assert step.parent.span_id == search.context.span_id
    assert step.context.trace_id == search.context.trace_id
    said = dict(step.attributes)
    assert said.pop("ragledger.search.id") == search.attributes["ragledger.search.id"]
    assert said == {
        "openinference.span.kind": "RERANKER",
        "reranker.model_name": "some-model",
        "reranker.top_k": 1,
        "ragledger.rerank.candidate.count": 2,
    }
    assert reranker.seen[-1] == step.context.span_id
    assert trace.get_current_span() is trace.INVALID_SPAN
    assert [row.depth for row in ledger.searches] == [1, 0]


def test_every_reranker_of_a_pipeline_has_one_and_a_filter_has_none(
    ledger: MemoryLedger, spans: Spans
) -> None:
    pytest.importorskip("langchain_community", reason="EmbeddingsFilter needs it")
    embeddings = vector_store(0).embedding
    steps = [EmbeddingsFilter(embeddings=embeddings, k=2), SomeReranker(top_n=2), Kept(), OwnReranker()]
    observe(_over(DocumentCompressorPipeline(transformers=steps)), ledger).invoke("q")
    said = [dict(span.attributes) for span in _named(spans, "rerank")]
    assert [(each.get("reranker.model_name"), each["reranker.top_k"]) for each in said] == [
        ("some-model", 2),
        (None, 1),
    ]
    observe(_over(Kept()), ledger).invoke("q")
    assert len(_named(spans, "rerank")) == 2


def test_the_real_cross_encoder_reranker(ledger: MemoryLedger, spans: Spans) -> None:
    class Encoder(BaseCrossEncoder):
        model_name = "hub/encoder"

        def score(self, text_pairs: Any) -> Any:
            return [float(len(spans.finished)) for _ in text_pairs]

    observe(_over(CrossEncoderReranker(model=Encoder(), top_n=2)), ledger).invoke("q")
    [step] = _named(spans, "rerank")
    assert (step.attributes["reranker.model_name"], step.attributes["reranker.top_k"]) == ("hub/encoder", 2)


def test_p9_one_that_fails_ends_its_span_and_says_no_message(ledger: MemoryLedger, spans: Spans) -> None:
    with pytest.raises(RuntimeError):
        observe(_over(SomeReranker(fails=True)), ledger).invoke("q")
    [step] = _named(spans, "rerank")
    assert step.attributes["error.type"] == "RuntimeError"
    assert (step.status.status_code.name, step.status.description, step.events) == ("ERROR", None, ())
    assert "SECRET" not in step.to_json()


def test_searches_at_once_have_each_their_own(ledger: MemoryLedger, spans: Spans) -> None:
    async def at_once() -> None:
        await asyncio.gather(*(retriever.ainvoke(f"q{number}") for number in range(20)))

    retriever = observe(_over(Native()), ledger)
    asyncio.run(at_once())
    steps = _named(spans, "rerank")
    roots = {
        span.attributes["ragledger.search.id"]: span.context.span_id for span in _named(spans, "retrieval")
    }
    assert len({step.attributes["ragledger.search.id"] for step in steps}) == 20
    assert all(roots[step.attributes["ragledger.search.id"]] == step.parent.span_id for step in steps)


def test_a_call_outside_of_a_search_has_none(ledger: MemoryLedger, spans: Spans) -> None:
    reranker = SomeReranker()
    retriever = observe(_over(reranker), ledger)
    retriever.invoke("q")
    reranker.compress_documents(documents("a"), "q")
    with ledger.search():
        reranker.compress_documents(documents("a"), "q")
    assert len(_named(spans, "rerank")) == 1


def test_without_anybody_who_traces_the_class_is_as_it_was() -> None:
    class Untraced(SomeReranker):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
            return documents

    before = dict(vars(Untraced))
    with memory_ledger() as ledger:
        observe(_over(Untraced()), ledger).invoke("q")
        assert len(ledger.searches) == 2
    assert dict(vars(Untraced)) == before


def test_p3_signatures_stay_and_uninstalling_puts_the_class_back(ledger: MemoryLedger, spans: Spans) -> None:
    class Mine(SomeReranker):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
            return documents

    before = dict(vars(Mine))
    parameters = inspect.signature(Mine().acompress_documents)
    observe(_over(Mine()), ledger).invoke("q")
    assert Mine.compress_documents is not before["compress_documents"]
    assert inspect.signature(Mine().acompress_documents) == parameters
    assert len(_named(spans, "rerank")) == 1
    wrap.uninstall()
    assert dict(vars(Mine)) == before


def test_p3_a_wrapped_method_keeps_its_own_parameter_names(ledger: MemoryLedger) -> None:
    class Renaming(BaseDocumentCompressor):
        top_n: int = 1

        def compress_documents(self, docs: Any, query: str, callbacks: Any = None) -> Any:  # type: ignore[override]
            return docs[: self.top_n]

    Renaming.__module__ = "langchain_some.rerank"
    Renaming.__name__ = "RenamingReranker"
    observe(_over(reranker := Renaming()), ledger).invoke("q")
    assert reranker.compress_documents(docs=[1, 2], query="q") == [1]  # type: ignore[call-arg]
