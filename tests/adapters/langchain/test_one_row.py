"""P10: one logical search, one depth-0 row, by whatever way it comes in."""

from __future__ import annotations

import asyncio
import functools
import importlib
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from adapters.langchain.world import Calling, Keywords, Listed, Table, documents, vector_store
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnableParallel

from ragledger import Ledger
from ragledger_langchain import LangChainInstrumentor, observe


def test_p10_wrapped_in_other_runnables_it_stays_observed(ledger: Ledger, table: Table) -> None:
    retriever = observe(vector_store().as_retriever(), ledger, corpus="handbook")
    configurable = retriever.configurable_fields(search_kwargs=ConfigurableField(id="how"))
    retriever.bind(k=2).invoke("q")
    retriever.with_config(tags=["t"]).invoke("q")
    (retriever | RunnableLambda(len)).invoke("q")
    configurable.invoke("q")
    configurable.invoke("q", config={"configurable": {"how": {"k": 7}}})
    retriever.model_copy().invoke("q")
    rows = table.searches()
    assert [row["depth"] for row in rows] == [0] * 6
    assert {row["corpus"] for row in rows} == {"handbook"}
    assert [row["top_k"] for row in rows] == [2, 4, 4, 4, 7, 4]


def test_p10_d01_alone_and_under_a_run_that_nobody_knows(instrumented: Table) -> None:
    retriever = Listed(found=documents("a"))
    retriever.invoke("q")
    from langchain_core.callbacks import CallbackManager

    manager = CallbackManager(handlers=[], parent_run_id=uuid.uuid4())
    retriever.invoke("q", config={"callbacks": manager})
    assert [(row["depth"], row["status"]) for row in instrumented.searches()] == [(0, "ok"), (0, "ok")]


def test_p10_d05_parallel_retrievers_are_two_roots(instrumented: Table) -> None:
    chain = RunnableParallel(a=Listed(found=documents("a")), b=Listed(found=documents("b"))) | RunnableLambda(
        lambda found: found["a"] + found["b"]
    )
    assert len(chain.invoke("q")) == 2
    rows = instrumented.searches()
    assert [(row["depth"], row["status"], row["parent_id"]) for row in rows] == [(0, "ok", None)] * 2


def test_p10_d08_instrumented_twice_and_by_a_second_copy(
    instrument: Callable[..., Any], ledger: Ledger, table: Table
) -> None:
    from ragledger_langchain import instrumentor, recording, wrap

    instrument(ledger=ledger)
    instrument(ledger=ledger)
    for module in (recording, wrap, instrumentor):
        importlib.reload(module)
    again = instrumentor.LangChainInstrumentor()
    again.instrument(ledger=ledger)
    again.instrument()
    try:
        Listed(found=documents("a")).invoke("q")
    finally:
        again.uninstrument()
    assert len(table.searches()) == 1
    assert again is not LangChainInstrumentor()


def test_p10_one_row_per_distinct_ledger(
    instrument: Callable[..., Any], make_ledger: Callable[..., Ledger], ledger: Ledger, database: Any
) -> None:
    """Marked for one, watched by another: two rows. The same ledger opened a second time: no third."""
    other = make_ledger(name="other", project="theirs")
    table = Table(database).of(ledger).of(other)
    instrument(ledger=other)
    retriever = observe(Listed(found=documents("a")), ledger)
    retriever.invoke("q")
    assert [(row["project"], row["depth"]) for row in table.searches()] == [("test", 0), ("theirs", 0)]
    observe(retriever, other).invoke("q")
    assert [row["project"] for row in table.searches()] == ["test", "theirs", "theirs"]


def test_p10_a_ledger_opened_twice_under_one_name_is_one_ledger(
    instrument: Callable[..., Any], make_ledger: Callable[..., Ledger], ledger: Ledger, table: Table
) -> None:
    """As under `opentelemetry-instrument` in an application that also opens its own."""
    again = make_ledger()
    instrument(ledger=again)
    observe(Listed(found=documents("a")), ledger).invoke("q")
    Listed(found=documents("a")).invoke("q")
    assert len(table.of(again).searches()) == 2


# --- overrides ---------------------------------------------------------------------------------------------


class Override(Listed):
    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        return super().invoke(input, config, **kwargs)

    async def ainvoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        return await super().ainvoke(input, config, **kwargs)


class Twice(Override):
    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        return super().invoke(input + "1", config) + super().invoke(input + "2", config)


class WithoutSuper(Listed):
    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        return self.found


class Bridge(Listed):
    async def ainvoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        return self.invoke(input, config, **kwargs)


class ThreadBridge(Listed):
    async def ainvoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        return await asyncio.to_thread(self.invoke, input, config, **kwargs)


@pytest.mark.parametrize("kind", [Override, Twice, WithoutSuper, Bridge, ThreadBridge])
async def test_p10_overrides_are_recorded_once(kind: type[Listed], ledger: Ledger, table: Table) -> None:
    retriever = observe(kind(found=documents("a")), ledger)
    result = retriever.invoke("q")
    await retriever.ainvoke("q")
    rows = table.searches()
    assert [row["depth"] for row in rows] == [0, 0]
    assert rows[0]["retriever"] == kind.__name__
    assert len(table.hits(rows[0])) == len({found.id for found in result})


class Answering:
    """A mixin that is no retriever and answers by itself."""

    async def ainvoke(self, input: str, config: Any = None, **kwargs: Any) -> Any:
        return self.found  # type: ignore[attr-defined]

    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> Any:
        return self.found  # type: ignore[attr-defined]


class Cooperating:
    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> Any:
        return super().invoke(input + "!", config, **kwargs)  # type: ignore[misc]


class Mixed(Answering, Listed):
    pass


class Cooperative(Cooperating, Listed):
    pass


@pytest.mark.parametrize("kind", [Mixed, Cooperative])
async def test_p10_mixins_are_recorded_once(kind: type[Listed], ledger: Ledger, table: Table) -> None:
    retriever = observe(kind(found=documents("a")), ledger)
    assert retriever.invoke("q") == await retriever.ainvoke("q") == documents("a")
    assert [row["depth"] for row in table.searches()] == [0, 0]


def test_p3_a_mixin_keeps_its_place_in_the_order_of_calls(instrumented: Table) -> None:
    """Derived later, another mixin comes between a class and the mixin whose method it has."""
    seen = []

    class Base(Cooperating, Listed):
        pass

    class Noting(Cooperating):
        def invoke(self, input: str, config: Any = None, **kwargs: Any) -> Any:
            seen.append(input)
            return super().invoke(input, config, **kwargs)

    class Late(Base, Noting):
        pass

    assert [cls.__name__ for cls in Late.__mro__[1:5]] == ["Base", "Noting", "Cooperating", "Listed"]
    assert Late(found=documents("a")).invoke("q") == documents("a")
    assert seen == ["q"]
    assert len(instrumented.searches()) == 1


async def test_p10_a_class_defined_after_the_wrap_is_recorded_once(instrumented: Table) -> None:
    class Late(Override):
        def invoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
            return super().invoke(input, config, **kwargs)

    class LateWithoutSuper(Listed):
        def invoke(self, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
            return self.found

    for kind in (Late, LateWithoutSuper):
        kind(found=documents("a")).invoke("q")
        await kind(found=documents("a")).ainvoke("q")
    assert [row["retriever"] for row in instrumented.searches()] == ["Late"] * 2 + ["LateWithoutSuper"] * 2


def test_p10_a_method_replaced_after_the_wrap_is_recorded_once(instrumented: Table, ledger: Ledger) -> None:
    class Patched(Listed):
        pass

    def through(self: Any, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        return BaseRetriever.invoke(self, input, config, **kwargs)

    def around(self: Any, input: str, config: Any = None, **kwargs: Any) -> list[Document]:
        return self.found

    Patched.invoke = through
    Patched(found=documents("a")).invoke("q")
    Patched.invoke = around
    observe(Patched(found=documents("a")), ledger).invoke("q")
    assert len(instrumented.searches()) == 2


def test_p10_another_librarys_wrapper_on_top_changes_nothing(
    instrumented: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrapt = pytest.importorskip("wrapt")
    for cls in (BaseRetriever, Override):
        wrapper = wrapt.FunctionWrapper(cls.__dict__["invoke"], lambda call, _, args, kw: call(*args, **kw))
        monkeypatch.setattr(cls, "invoke", wrapper)
    Override(found=documents("a")).invoke("q")
    Listed(found=documents("a")).invoke("q")
    assert [row["depth"] for row in instrumented.searches()] == [0, 0]


def test_p10_an_override_that_copies_our_attributes_is_recorded_once(
    instrumented: Table, ledger: Ledger
) -> None:
    class Copying(Listed):
        @functools.wraps(BaseRetriever.invoke)
        def invoke(self, *args: Any, **kwargs: Any) -> list[Document]:
            return self.found

    class CopyingSuper(Override):
        @functools.wraps(Override.invoke)
        def invoke(self, *args: Any, **kwargs: Any) -> list[Document]:
            return super().invoke(*args, **kwargs)

    Copying(found=documents("a")).invoke("q")
    CopyingSuper(found=documents("a")).invoke("q")
    CopyingSuper.invoke = functools.wraps(Override.invoke)(lambda self, query: Override.invoke(self, query))
    observe(CopyingSuper(found=documents("a")), ledger).invoke("q")
    assert [row["depth"] for row in instrumented.searches()] == [0, 0, 0]


def test_p10_recursion_is_a_child(ledger: Ledger, table: Table) -> None:
    def body(query: str) -> list[Document]:
        return retriever.invoke(query + "!") if len(query) < 3 else documents(query)

    retriever = observe(Calling(body=body), ledger)
    assert retriever.invoke("q")[0].id == "q!!"
    rows = table.searches()
    assert [row["depth"] for row in rows] == [0, 1, 2]
    assert [row["parent_id"] for row in rows] == [None, rows[0]["search_id"], rows[1]["search_id"]]


# --- nesting -----------------------------------------------------------------------------------------------


async def test_p10_d04_an_ensemble_is_one_root_with_its_members_below(instrumented: Table) -> None:
    ensemble = _ensemble()
    ensemble.invoke("q")
    await ensemble.ainvoke("q")
    rows = instrumented.searches()
    for root, members in ((rows[0], rows[1:3]), (rows[3], rows[4:])):
        assert (root["retriever"], root["depth"], root["root_id"]) == (
            "EnsembleRetriever",
            0,
            root["search_id"],
        )
        assert sorted(row["retriever"] for row in members) == ["Keywords", "VectorStoreRetriever"]
        for row in members:
            assert (row["depth"], row["parent_id"], row["root_id"]) == (
                1,
                root["search_id"],
                root["search_id"],
            )


def test_p10_members_of_an_observed_composite_are_seen_without_marks(ledger: Ledger, table: Table) -> None:
    observe(_ensemble(), ledger, corpus="handbook").invoke("q")
    assert [(row["depth"], row["corpus"]) for row in table.searches()] == [
        (0, "handbook"),
        (1, None),
        (1, None),
    ]


def test_p10_a_retriever_in_a_search_of_the_application_is_its_child(ledger: Ledger, table: Table) -> None:
    with ledger.search(corpus="handbook"):
        Listed(found=documents("a")).invoke("q")
    assert [row["depth"] for row in table.searches()] == [0, 1]


def test_p10_depth_is_counted_per_ledger(
    make_ledger: Callable[..., Ledger], ledger: Ledger, table: Table
) -> None:
    other = make_ledger(name="other", project="theirs")
    inner = observe(Listed(found=documents("a")), other)
    observe(Calling(body=inner.invoke), ledger).invoke("q")
    assert [(row["project"], row["depth"]) for row in table.of(other).searches()] == [
        ("test", 0),
        ("theirs", 0),
    ]


def test_p10_nobody_observes_nothing_is_written(ledger: Ledger, table: Table) -> None:
    observe(Listed(found=documents("a")), ledger)
    Listed(found=documents("a")).invoke("q")
    assert table.searches() == []


def _ensemble() -> Any:
    classic = pytest.importorskip("langchain_classic.retrievers")
    vector = vector_store().as_retriever(search_kwargs={"k": 3})
    return classic.EnsembleRetriever(
        retrievers=[vector, Keywords(docs=documents("c1", "x", "y"))], weights=[0.7, 0.3]
    )
