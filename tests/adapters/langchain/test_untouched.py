"""P3: telemetry never breaks a search. Result, exception, identity, signature, pickling, cancellation as without us."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import threading
from collections.abc import Callable
from typing import Any

import pytest
from adapters.langchain.world import (
    Calling,
    Listed,
    Raising,
    Slow,
    Table,
    documents,
    generated,
    vector_store,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStoreRetriever
from pydantic import ConfigDict

from ragledger import ConfigError, Ledger, extractor
from ragledger_langchain import observe
from ragledger_langchain.installed import mark_of


class Frozen(Listed):
    model_config = ConfigDict(frozen=True)


class Broken:
    """A document that raises from a property."""

    id = "b"
    metadata = {"doc_id": "d"}  # noqa: RUF012

    @property
    def page_content(self) -> str:
        raise RuntimeError("SECRET")


def test_p3_d28_the_retriever_is_what_it_was(ledger: Ledger) -> None:
    retriever = vector_store().as_retriever(metadata={"owner": "me"})
    given = retriever.metadata
    before = (type(retriever), retriever.get_name(), retriever.lc_id(), retriever.search_kwargs)
    assert observe(retriever, ledger, corpus="handbook") is retriever
    assert before == (type(retriever), retriever.get_name(), retriever.lc_id(), retriever.search_kwargs)
    assert isinstance(retriever, VectorStoreRetriever)
    assert isinstance(retriever, BaseRetriever)
    assert given == {"owner": "me"}
    assert retriever.metadata == {
        "owner": "me",
        "ragledger.ledger": "default",
        "ragledger.corpus": "handbook",
    }


@pytest.mark.parametrize("name", ["invoke", "ainvoke"])
@pytest.mark.parametrize("cls", [BaseRetriever, VectorStoreRetriever, Listed])
def test_p3_d28_wrapped_methods_look_as_before(cls: type, name: str, ledger: Ledger) -> None:
    observe(Listed(found=[]), ledger)
    wrapped = getattr(cls, name)
    mark = mark_of(wrapped)
    assert mark is not None
    assert inspect.signature(wrapped) == inspect.signature(mark.original)
    assert (wrapped.__name__, wrapped.__qualname__, wrapped.__module__, wrapped.__doc__) == (
        mark.original.__name__,
        mark.original.__qualname__,
        mark.original.__module__,
        mark.original.__doc__,
    )
    assert inspect.iscoroutinefunction(wrapped) == inspect.iscoroutinefunction(mark.original)


@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        lambda given: given.model_copy(),
        lambda given: given.model_copy(deep=True),
        lambda given: pickle.loads(pickle.dumps(given)),
        lambda given: type(given)(**dict(given)),
    ],
)
def test_p3_d28_copies_are_observed_too(again: Callable[[Any], Any], ledger: Ledger, table: Table) -> None:
    retriever = again(observe(Listed(found=documents("a")), ledger, corpus="handbook"))
    assert retriever.invoke("q") == documents("a")
    assert table.one()["corpus"] == "handbook"


def test_p3_a_frozen_retriever_can_be_observed(ledger: Ledger, table: Table) -> None:
    observe(Frozen(found=documents("a")), ledger).invoke("q")
    assert table.one()["retriever"] == "Frozen"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Listed(found=[]).bind(k=1),
        lambda: Listed(found=[]).with_retry(),
        lambda: Listed(found=[]) | len,
        lambda: Listed,
        lambda: None,
    ],
)
def test_what_is_no_retriever_is_refused_with_the_remedy(wrong: Callable[[], Any], ledger: Ledger) -> None:
    with pytest.raises(TypeError, match=r"observe the retriever before \.bind\(\)/\.with_retry\(\)"):
        observe(wrong(), ledger)


def test_a_ledger_that_its_name_does_not_lead_to_is_refused(
    make_ledger: Callable[..., Ledger], ledger: Ledger
) -> None:
    make_ledger(project="another")
    with pytest.raises(ConfigError, match="give each its name="):
        observe(Listed(found=[]), ledger)
    closed = make_ledger(name="closed")
    closed.close()
    with pytest.raises(ConfigError, match="is closed"):
        observe(Listed(found=[]), closed)


def test_p3_a_mark_of_a_ledger_that_is_not_open_passes_through(
    make_ledger: Callable[..., Ledger], caplog: pytest.LogCaptureFixture
) -> None:
    gone = make_ledger(name="gone")
    retriever = observe(Listed(found=documents("a")), gone)
    gone.close()
    assert retriever.invoke("q") == documents("a")
    assert retriever.invoke("q") == documents("a")
    assert [record.levelname for record in caplog.records if "gone" in record.getMessage()] == ["WARNING"]


# --- results and exceptions --------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["invoke", "ainvoke"])
async def test_p3_the_result_is_the_very_object(method: str, ledger: Ledger, table: Table) -> None:
    found = documents("a", "b")
    before = [(item.id, item.page_content, dict(item.metadata)) for item in found]
    result = getattr(observe(Listed(found=found), ledger), method)("q")
    result = await result if inspect.isawaitable(result) else result
    assert result is found
    assert [(item.id, item.page_content, dict(item.metadata)) for item in result] == before
    assert len(table.hits()) == 2


@pytest.mark.parametrize(
    ("given", "admitted", "flags"),
    [
        (None, None, ["result_unreadable"]),
        ("a text", None, ["result_unreadable"]),
        ([], 0, []),
        (tuple(documents("a", "b")), 2, []),
        ([{"page_content": "SECRET"}, {"id": "x"}], 2, ["result_unreadable"]),
        (["a text", "another"], 2, []),
        ([None, *documents("a")], 2, ["result_unreadable"]),
        ({"a": 1}, None, ["result_unreadable"]),
    ],
)
def test_p3_odd_results_come_back_and_have_a_row(
    given: Any, admitted: int | None, flags: list[str], ledger: Ledger, table: Table
) -> None:
    assert observe(Listed(found=given), ledger).invoke("q") is given
    row = table.one()
    assert (row["status"], row["admitted_count"], row["flags"]) == ("ok", admitted, flags)
    assert "SECRET" not in str(table.hits())


def test_p3_a_generator_is_not_taken_from_the_application(ledger: Ledger, table: Table) -> None:
    result = observe(Calling(body=lambda _: generated()), ledger).invoke("q")
    assert [item.id for item in result] == ["a", "b"]
    assert table.one()["flags"] == ["result_unreadable"]


@pytest.mark.parametrize("method", ["invoke", "ainvoke"])
async def test_p3_the_exception_is_the_very_object(method: str, ledger: Ledger, table: Table) -> None:
    fault = ValueError("no rows for jane@x.org")
    retriever = observe(Raising(fault=fault), ledger)
    with pytest.raises(ValueError) as raised:
        if method == "invoke":
            retriever.invoke("q")
        else:
            await retriever.ainvoke("q")
    assert raised.value is fault
    assert (fault.__cause__, fault.__context__, fault.args) == (None, None, ("no rows for jane@x.org",))
    row = table.one()
    assert (row["status"], row["error_type"], row["admitted_count"]) == ("error", "ValueError", None)


@pytest.mark.parametrize("fault", [KeyboardInterrupt(), SystemExit(3)])
def test_p3_what_ends_the_program_is_a_cancelled_search(
    fault: BaseException, ledger: Ledger, table: Table
) -> None:
    with pytest.raises(type(fault)) as raised:
        observe(Raising(fault=fault), ledger).invoke("q")
    assert raised.value is fault
    assert table.one()["status"] == "cancelled"


async def test_p3_d30_a_timeout_is_a_cancelled_search_with_its_latency(ledger: Ledger, table: Table) -> None:
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(observe(Slow(), ledger).ainvoke("q"), 0.05)
    row = table.one()
    assert (row["status"], row["admitted_count"], row["vector_available"]) == ("cancelled", None, None)
    assert 45 <= row["latency_ms"] < 5000  # the search itself would have taken longer


async def test_p3_a_coroutine_closed_early_is_cancelled_and_one_never_awaited_is_nothing(
    ledger: Ledger, table: Table
) -> None:
    retriever = observe(Slow(), ledger)
    coroutine = retriever.ainvoke("q")
    coroutine.close()
    assert table.searches() == []
    coroutine = retriever.ainvoke("q")
    coroutine.send(None)
    coroutine.close()
    assert table.one()["status"] == "cancelled"


# --- our own faults ----------------------------------------------------------------------------------------


def test_p3_d27_a_document_that_raises_costs_its_id_and_nothing_else(
    make_ledger: Callable[..., Ledger], database: Any
) -> None:
    lenient = make_ledger(strict=False)
    broken = Broken()
    broken.id = None  # type: ignore[assignment]
    given = [*documents("a"), broken, *documents("c")]
    assert observe(Calling(body=lambda _: given), lenient).invoke("q") is given
    table = Table(database).of(lenient)
    assert [hit["chunk_id"] for hit in table.hits()] == ["a", None, "c"]
    assert table.one()["flags"] == ["incomplete"]
    assert lenient.facts()["faults"] == {"langchain.extract": 1}


def test_p3_d27_an_extractor_that_raises_leaves_the_weights_unknown(
    make_ledger: Callable[..., Ledger], database: Any
) -> None:
    def fail(retriever: Any, call: Any) -> Any:
        raise RuntimeError("SECRET")

    class Unreadable(Listed):
        pass

    extractor(f"{Unreadable.__module__}.{Unreadable.__qualname__}")(fail)
    lenient = make_ledger(strict=False)
    assert observe(Unreadable(found=documents("a")), lenient).invoke("q") == documents("a")
    row = Table(database).of(lenient).one()
    assert (row["weights"]["source"], row["flags"]) == ("unknown", ["weights_unreadable"])
    assert lenient.facts()["faults"] == {"langchain.weights": 1}


@pytest.mark.parametrize("metadata", [7, "text", ["a"]])
def test_p3_d27_marks_that_cannot_be_read_are_no_marks(
    metadata: Any, instrumented: Table, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = Listed(found=documents("a"))
    retriever.__dict__["metadata"] = metadata
    plain = mark_of(BaseRetriever.invoke)
    assert plain is not None
    try:
        expected: Any = plain.original(retriever, "q")
    except Exception as fault:
        with pytest.raises(type(fault)):
            retriever.invoke("q")
    else:
        assert retriever.invoke("q") == expected


def test_p3_the_query_may_be_a_keyword_or_missing(ledger: Ledger, table: Table) -> None:
    retriever = observe(Listed(found=documents("a")), ledger)
    assert retriever.invoke(input="q", config=None) == documents("a")
    with pytest.raises(TypeError):
        retriever.invoke()
    assert [row["status"] for row in table.searches()] == ["ok", "error"]


def test_p3_d23_what_cannot_be_copied_is_never_copied(ledger: Ledger, table: Table) -> None:
    class Uncopyable:
        def __deepcopy__(self, memo: Any) -> Any:
            raise AssertionError("copied")

        def __copy__(self) -> Any:
            raise AssertionError("copied")

    class Store(type(vector_store())):  # type: ignore[misc]
        def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
            return super().similarity_search(query, k)

    store = Store(vector_store().embedding)
    store.add_documents(documents("a", "b", "c", "d"))
    retriever = store.as_retriever(search_kwargs={"k": 3, "client": threading.Lock()})
    observe(retriever, ledger)
    retriever.metadata["thing"] = Uncopyable()
    assert len(retriever.invoke("q")) == 3
    assert table.one()["weights"]["configured"] == {"k": 3, "search_type": "similarity"}
