"""Replay: on every class that fuses, the recorded weights and what each member said reproduce the recorded order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from typing import Any

import msgspec
import pytest
from adapters.langchain.world import Calling, Keywords, Listed, document, documents, vector_store
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.runnables import ConfigurableField, RunnableLambda

import ragledger
from ragledger import Candidate
from ragledger.model import SearchRecord, Signal
from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_langchain import observe

pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")

from langchain_classic.retrievers import EnsembleRetriever, MergerRetriever

_lists = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), min_size=2, max_size=4)


class Turns(Listed):
    """Gives way to the others so often before it answers."""

    turns: int = 0

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        for _ in range(self.turns):
            await asyncio.sleep(0)
        return self.found


def _replayed(search: SearchRecord) -> list[str | None]:
    """The order of the hits, from what the row itself says."""
    effective = msgspec.json.decode(search.weights)["effective"]
    names = effective["members"]
    ranks = {
        hit.chunk_id: [(hit.signals or {}).get(name, Signal()).rank for name in names]
        for hit in search.hit_rows
    }
    # Among equal scores: first the members in their order, then the rank there.
    first = {
        chunk_id: next((place, rank) for place, rank in enumerate(of_members) if rank is not None)
        for chunk_id, of_members in ranks.items()
    }
    if effective["fusion"] == "interleaved":
        turn = {
            chunk_id: min((rank, place) for place, rank in enumerate(of_members) if rank is not None)
            for chunk_id, of_members in ranks.items()
        }
        return sorted(ranks, key=turn.__getitem__)
    scores = {
        chunk_id: sum(
            weight / (effective["c"] + rank)
            for weight, rank in zip(effective["weights"], of_members, strict=True)
            if rank is not None
        )
        for chunk_id, of_members in ranks.items()
    }
    return sorted(ranks, key=lambda chunk_id: (-scores[chunk_id], first[chunk_id]))


def _root(ledger: MemoryLedger) -> SearchRecord:
    [root] = [search for search in ledger.searches if search.depth == 0]
    return root


def _order(search: SearchRecord) -> list[str | None]:
    return [hit.chunk_id for hit in search.hit_rows if hit.admitted]


@pytest.mark.parametrize("asynchronous", [False, True])
@settings(max_examples=60)
@given(data=st.data(), lists=_lists, c=st.integers(0, 200), id_key=st.sampled_from([None, "key"]))
def test_an_ensemble_can_be_replayed(
    asynchronous: bool, data: Any, lists: list[list[str]], c: int, id_key: str | None
) -> None:
    weights = data.draw(
        st.lists(st.integers(1, 1000).map(lambda n: n / 1000), min_size=len(lists), max_size=len(lists))
    )
    members = [
        Turns(found=[document(name, key=name) for name in names], turns=len(lists) - place)
        for place, names in enumerate(lists)
    ]
    ensemble = EnsembleRetriever(retrievers=members, weights=weights, c=c, id_key=id_key)
    with memory_ledger() as ledger:
        observe(ensemble, ledger)
        found = asyncio.run(ensemble.ainvoke("q")) if asynchronous else ensemble.invoke("q")
        root = _root(ledger)
        assert _replayed(root) == _order(root) == [item.id for item in found]
        assert len(ledger.searches) == len(lists) + 1


@pytest.mark.parametrize("asynchronous", [False, True])
@settings(max_examples=40)
@given(lists=_lists)
def test_a_merger_can_be_replayed(asynchronous: bool, lists: list[list[str]]) -> None:
    merger = MergerRetriever(
        retrievers=[
            Turns(found=documents(*names), turns=len(lists) - place) for place, names in enumerate(lists)
        ]
    )
    with memory_ledger() as ledger:
        observe(merger, ledger)
        found = asyncio.run(merger.ainvoke("q")) if asynchronous else merger.invoke("q")
        root = _root(ledger)
        once = list(dict.fromkeys(item.id for item in found))
        assert _replayed(root) == _order(root) == once


def test_members_that_are_one_object_are_told_apart_in_whatever_order_they_end() -> None:
    """A bound member stands for the same object as another; the tag of the call tells them apart."""
    store = vector_store().as_retriever(search_kwargs={"k": 5})
    ensemble = EnsembleRetriever(retrievers=[store, store.bind(k=1), store], weights=[0.2, 0.5, 0.3])

    async def searched() -> None:
        await ensemble.ainvoke("q")

    with memory_ledger() as ledger:
        observe(ensemble, ledger)
        asyncio.run(searched())
        root = _root(ledger)
        assert _replayed(root) == _order(root)
        counts = {name: known.count for name, known in (root.signals or {}).items()}
        assert counts == {"VectorStoreRetriever": 5, "VectorStoreRetriever#2": 1, "VectorStoreRetriever#3": 5}


def _configurable(member: Any) -> Any:
    return member.configurable_fields(k=ConfigurableField(id="k"))


@pytest.mark.parametrize(
    "around",
    [
        lambda member: member.bind(),
        lambda member: member.with_config(tags=["mine"]),
        lambda member: member.with_retry(),
        lambda member: Calling(body=_raise).with_fallbacks([member]),
        _configurable,
    ],
    ids=["bind", "with_config", "with_retry", "with_fallbacks", "configurable_fields"],
)
def test_a_member_may_be_wrapped(around: Any) -> None:
    member = Keywords(docs=documents("a", "b"))
    ensemble = EnsembleRetriever(retrievers=[Listed(found=documents("b", "c")), around(member)])
    with memory_ledger() as ledger:
        observe(ensemble, ledger).invoke("q")
        root = _root(ledger)
        said = {
            hit.chunk_id: [signal.rank for signal in (hit.signals or {}).values()] for hit in root.hit_rows
        }
        assert said == {"b": [1, 2], "a": [1], "c": [2]}


def _raise(query: str) -> list[Document]:
    raise ConnectionError("down")


def test_a_member_that_is_no_retriever_leaves_its_signal_absent() -> None:
    inner = Listed(found=documents("x", "a"))
    given = [inner, RunnableLambda(lambda query: inner.invoke(query)[:1])]
    with memory_ledger() as ledger:
        observe(EnsembleRetriever(retrievers=given), ledger).invoke("q")
        root = _root(ledger)
        assert [list(hit.signals or {}) for hit in root.hit_rows] == [["Listed"], ["Listed"]]
        assert [hit.chunk_id for hit in root.hit_rows] == ["x", "a"]


def test_scores_of_members_are_theirs_and_no_score_of_the_fused_search() -> None:
    dense = vector_store().as_retriever(search_kwargs={"k": 2})
    with memory_ledger() as ledger:
        observe(dense, ledger, scores=True)
        other = Listed(found=[document("c3", score=12.0)])
        observe(EnsembleRetriever(retrievers=[dense, other]), ledger).invoke("q")
        root = _root(ledger)
        assert {hit.score for hit in root.hit_rows if hit.chunk_id != "c3"} == {None}
        [shared] = [hit for hit in root.hit_rows if hit.chunk_id == "c3"]
        assert shared.signals is not None
        assert shared.signals["Listed"] == Signal(12.0, 1)
        cosine = shared.signals["VectorStoreRetriever"]
        assert cosine.rank == 2
        assert cosine.score == pytest.approx(0.4987213598851625)


def test_an_item_that_a_member_gives_twice_counts_at_its_best_rank() -> None:
    """The class adds both; the row has one rank per member. docs/adapters-langchain.md says so."""
    ensemble = EnsembleRetriever(retrievers=[Listed(found=documents("a", "b", "a")), Listed(found=[])])
    with memory_ledger() as ledger:
        observe(ensemble, ledger).invoke("q")
        ranks = {hit.chunk_id: hit.signals for hit in _root(ledger).hit_rows}
        assert ranks == {"a": {"Listed": Signal(None, 1)}, "b": {"Listed": Signal(None, 2)}}


def test_a_composite_in_a_composite_is_a_member_like_any_other() -> None:
    inner = EnsembleRetriever(retrievers=[Listed(found=documents("a", "b")), Listed(found=documents("b"))])
    outer = EnsembleRetriever(retrievers=[inner, Keywords(docs=documents("c"))])
    with memory_ledger() as ledger:
        observe(outer, ledger).invoke("q")
        root = _root(ledger)
        assert _replayed(root) == _order(root)
        assert [list(hit.signals or {}) for hit in root.hit_rows] == [
            ["EnsembleRetriever"],
            ["Keywords"],
            ["EnsembleRetriever"],
        ]
        assert sorted(search.depth for search in ledger.searches) == [0, 1, 1, 2, 2]


def test_the_same_text_under_two_ids_is_the_one_that_was_returned() -> None:
    first, second = document("id-1", "the same"), document("id-2", "the same")
    with memory_ledger() as ledger:
        observe(
            EnsembleRetriever(retrievers=[Listed(found=[first]), Keywords(docs=[second])]), ledger
        ).invoke("q")
        [hit] = _root(ledger).hit_rows
        assert (hit.chunk_id, sorted(hit.signals or {})) == ("id-1", ["Keywords", "Listed"])


def test_what_the_application_hands_over_itself_wins() -> None:
    def body(query: str) -> list[Document]:
        ragledger.current().parent.candidates(Candidate("a", vector=0.25))  # type: ignore[union-attr]
        return documents("a")

    with memory_ledger() as ledger:
        observe(
            EnsembleRetriever(retrievers=[Calling(body=body), Listed(found=documents("a"))]), ledger
        ).invoke("q")
        [hit] = _root(ledger).hit_rows
        assert (hit.vector_score, hit.signals) == (0.25, None)


def test_a_fault_costs_the_signals_and_not_the_row() -> None:
    class Unequal(str):
        __slots__ = ()

        def __hash__(self) -> int:
            raise RuntimeError("no hash")

    odd = document("a")
    odd.__dict__["page_content"] = Unequal("a")
    merger = MergerRetriever(retrievers=[Listed(found=[odd]), Listed(found=documents("b"))])
    odd.__dict__["id"] = None
    with memory_ledger(strict=False) as ledger:
        observe(merger, ledger).invoke("q")
        root = _root(ledger)
        assert (root.status, len(root.hit_rows)) == ("ok", 2)
        assert ledger.facts()["faults"].get("langchain.nesting", 0) >= 1


def test_no_text_is_kept_once_the_search_is_closed() -> None:
    kept: list[Any] = []

    def body(query: str) -> list[Document]:
        kept.append(ragledger.current().parent)  # type: ignore[union-attr]
        return [document(None, "SECRET")]

    ensemble = EnsembleRetriever(retrievers=[Calling(body=body), Listed(found=[])])
    with memory_ledger() as ledger:
        observe(ensemble, ledger).invoke("q")
        [parent] = kept
        assert parent.closed
        assert parent.fusion is None
        assert "SECRET" not in repr([msgspec.to_builtins(search) for search in ledger.searches])


def test_p9_a_search_that_somebody_keeps_keeps_no_query_alive() -> None:
    class Query(str):
        __slots__ = ("__weakref__",)

    def body(query: str) -> list[Document]:
        kept.append(ragledger.current())
        if query.startswith("down"):
            raise ConnectionError
        return documents("a")

    kept: list[Any] = []
    asked: list[weakref.ref[Any]] = []
    with memory_ledger() as ledger:
        retriever = observe(Calling(body=body), ledger)
        for text in ("q", "down"):
            query, config = Query(text), {"metadata": {"owner": Query("SECRET")}}
            asked += [weakref.ref(query), weakref.ref(config["metadata"]["owner"])]
            with contextlib.suppress(ConnectionError):
                retriever.invoke(query, config)
            del query, config
        gc.collect()
        assert [search.closed for search in kept] == [True, True]
        assert [ref() for ref in asked] == [None] * 4
