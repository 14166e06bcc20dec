"""P8: whether dense retrieval answered is known on the row of depth 0, whichever framework the member is of."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from adapters.langchain.world import Calling, vector_store
from adapters.llama_index.doubles import BodyRetriever, FailingEmbedding, ListRetriever, vector_index
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import MockEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, TextNode

import ragledger
from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler


class SearchError(Exception):
    """What an application makes of a provider's error."""


class Down:
    """A provider that is down, of which nobody hears directly."""

    def embed_query(self, text: str) -> list[float]:
        try:
            raise ConnectionError("down")
        except ConnectionError as exc:
            raise SearchError from exc

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[0.0] for _ in texts]


@pytest.fixture
def ledger() -> Iterator[MemoryLedger]:
    with memory_ledger() as found:
        yield found
        assert found.guard.faults == {}


@pytest.fixture
def manager(ledger: MemoryLedger) -> CallbackManager:
    return CallbackManager([LedgerCallbackHandler(ledger)])


def _chain(*, down: bool) -> Any:
    store = InMemoryVectorStore(Down()) if down else vector_store()  # type: ignore[arg-type]
    return store.as_retriever()


def _index(*, down: bool) -> Any:
    index = vector_index("ab", embedding=MockEmbedding(embed_dim=4))
    if not down:
        return index.as_retriever()
    return index.as_retriever(embed_model=FailingEmbedding(embed_dim=4))


def _nodes(found: list[Document]) -> list[NodeWithScore]:
    return [NodeWithScore(node=TextNode(id_=each.id or "", text=each.page_content)) for each in found]


def _documents(found: list[NodeWithScore]) -> list[Document]:
    return [Document(id=each.node.node_id, page_content=each.node.get_content()) for each in found]


def _wrapped(search: Callable[[], Any]) -> Any:
    try:
        return search()
    except Exception as exc:
        raise SearchError from exc


def _root(ledger: MemoryLedger) -> Any:
    [row] = [row for row in ledger.searches if row.depth == 0]
    return row


def _search(retriever: Any, *, asynchronous: bool) -> None:
    sync, native = ("invoke", "ainvoke") if hasattr(retriever, "invoke") else ("retrieve", "aretrieve")
    with contextlib.suppress(SearchError):
        if asynchronous:
            asyncio.run(getattr(retriever, native)("q"))
        else:
            getattr(retriever, sync)("q")


both = pytest.mark.parametrize("asynchronous", [False, True])
either = pytest.mark.parametrize("down", [False, True])


@both
@either
def test_p8_of_langchain_inside_llama_index(
    ledger: MemoryLedger, manager: Any, down: bool, asynchronous: bool
) -> None:
    inner = _chain(down=down)
    outer = BodyRetriever(
        lambda query: _wrapped(lambda: _nodes(observe(inner, ledger).invoke(query.query_str))),
        callback_manager=manager,
    )
    _search(outer, asynchronous=asynchronous)
    assert [row.framework for row in ledger.searches] == ["langchain", "llama_index"]
    assert [row.vector_available for row in ledger.searches] == [not down] * 2


@both
@either
def test_p8_of_llama_index_inside_langchain(
    ledger: MemoryLedger, manager: Any, down: bool, asynchronous: bool
) -> None:
    inner = _index(down=down)
    outer = Calling(body=lambda query: _wrapped(lambda: _documents(inner.retrieve(query))))
    _search(observe(outer, ledger), asynchronous=asynchronous)
    assert _root(ledger).framework == "langchain"
    assert [row.vector_available for row in ledger.searches] == [not down] * 2


@pytest.mark.parametrize("first", ["chain", "index"])
def test_p8_an_answer_anywhere_below_is_one_also_after_a_failure(
    ledger: MemoryLedger, manager: Any, first: str
) -> None:
    def body(query: Any) -> Any:
        answers = [
            lambda: _chain(down=first == "chain").invoke("q"),
            lambda: _index(down=first == "index").retrieve("q"),
        ]
        for answer in answers if first == "chain" else reversed(answers):
            with contextlib.suppress(SearchError, ConnectionError):
                answer()
        return []

    observe(_chain(down=False), ledger)  # LangChain's classes are wrapped from here on
    BodyRetriever(body, callback_manager=manager).retrieve("q")
    assert _root(ledger).vector_available is True


@either
def test_p8_of_an_application_s_own_search_around_either(
    ledger: MemoryLedger, manager: Any, down: bool
) -> None:
    chain, index = observe(_chain(down=down), ledger), _index(down=down)
    for search in (lambda: chain.invoke("q"), lambda: index.retrieve("q")):
        with contextlib.suppress(SearchError, ConnectionError), ledger.search():
            search()
    assert [row.vector_available for row in ledger.searches if row.depth == 0] == [not down] * 2


@pytest.mark.parametrize("around", ["langchain", "llama_index", "application"])
def test_p8_a_body_that_embeds_by_itself_and_fails(ledger: MemoryLedger, manager: Any, around: str) -> None:
    """Of whichever framework the embedding is, and though the error that comes out is another one."""
    for embed in (Down().embed_query, FailingEmbedding(embed_dim=4).get_query_embedding):

        def body(query: Any, embed: Any = embed) -> Any:
            return _wrapped(lambda: embed("q"))

        if around == "langchain":
            _search(observe(Calling(body=body), ledger), asynchronous=False)
        elif around == "llama_index":
            _search(BodyRetriever(body, callback_manager=manager), asynchronous=False)
        else:
            with contextlib.suppress(SearchError), ledger.search():
                body("q")
    assert [(row.status, row.vector_available) for row in ledger.searches] == [("error", False)] * 2


def test_p8_a_search_after_somebody_else_s_failure_knows_nothing_of_it(
    ledger: MemoryLedger, manager: Any
) -> None:
    def failing(query: Any) -> Any:
        raise SearchError

    for retriever in (
        observe(Calling(body=failing), ledger),
        BodyRetriever(failing, callback_manager=manager),
    ):
        try:
            Down().embed_query("q")
        except SearchError:
            _search(retriever, asynchronous=False)
    assert [(row.status, row.vector_available) for row in ledger.searches] == [("error", None)] * 2


def test_p8_what_the_application_says_wins_and_is_handed_up(ledger: MemoryLedger, manager: Any) -> None:
    def body(query: Any) -> Any:
        ragledger.current().degrade("embedding_unavailable", vector_available=False)
        return []

    inner = BodyRetriever(body, callback_manager=manager)
    observe(Calling(body=lambda query: _documents(inner.retrieve(query))), ledger).invoke("q")
    assert [row.vector_available for row in ledger.searches] == [False] * 2


def test_p8_without_any_vector_it_is_unknown(ledger: MemoryLedger, manager: Any) -> None:
    inner = ListRetriever([], callback_manager=manager)
    observe(Calling(body=lambda query: _documents(inner.retrieve(query))), ledger).invoke("q")
    assert [row.vector_available for row in ledger.searches] == [None] * 2


def test_p8_a_text_that_is_embedded_inside_of_a_search_says_nothing_of_it(
    ledger: MemoryLedger, manager: CallbackManager
) -> None:
    """As postprocessors and ingestion do; and a question that was embedded is not yet an answer."""
    embedding = MockEmbedding(embed_dim=4, callback_manager=manager)
    with ledger.search():
        embedding.get_text_embedding("a text")
    with contextlib.suppress(SearchError), ledger.search():
        embedding.get_query_embedding("q")
        raise SearchError
    assert [row.vector_available for row in ledger.searches] == [None, None]


def test_p8_an_own_search_after_a_failed_embedding_fails_by_itself(ledger: MemoryLedger) -> None:
    try:
        Down().embed_query("q")
    except SearchError:
        with contextlib.suppress(KeyError), ledger.search():
            raise KeyError  # noqa: B904  as fallbacks do
    assert _root(ledger).vector_available is None
