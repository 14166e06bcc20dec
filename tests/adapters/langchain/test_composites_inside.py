"""A composite inside a composite: what shapes its ranking shapes that of the one around it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from adapters.langchain.world import Keywords, Listed, documents, vector_store

from ragledger.testing import memory_ledger
from ragledger_langchain import observe

pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")

from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever, MergerRetriever
from langchain_classic.retrievers.document_compressors import DocumentCompressorPipeline, EmbeddingsFilter


def _words(*names: str) -> Keywords:
    return Keywords(docs=documents(*names))


def _dense(k: int = 3, **more: Any) -> Any:
    return vector_store().as_retriever(search_kwargs={"k": k, **more})


def _inner(weights: Any = (0.7, 0.3), k: int = 3, c: int = 60) -> EnsembleRetriever:
    return EnsembleRetriever(retrievers=[_dense(k), _words("c7", "c8")], weights=list(weights), c=c)


def _outer(inner: Any) -> EnsembleRetriever:
    return EnsembleRetriever(retrievers=[inner, _words("c8", "c9")], weights=[0.6, 0.4])


def _searched(retriever: Any) -> tuple[list[Any], dict[str, Any], str]:
    with memory_ledger() as ledger:
        found = observe(retriever, ledger).invoke("q")
        [root] = [row for row in ledger.searches if row.depth == 0]
        return [item.id for item in found], msgspec.json.decode(root.weights), root.epoch


def test_its_parameters_are_effective_in_the_one_around_it() -> None:
    _, weights, _ = _searched(_outer(_inner()))
    [inner, words] = weights["effective"]["member_settings"]
    assert words is None
    assert inner == {
        "fusion": "reciprocal_rank",
        "weights": [0.7, 0.3],
        "c": 60,
        "id_key": None,
        "members": ["VectorStoreRetriever", "Keywords"],
        "member_settings": [{"search_type": "similarity", "k": 3}, None],
    }
    assert weights["unknown"] == ["member_1.member_2", "member_2"]


@pytest.mark.parametrize(
    "other",
    [_inner(weights=(0.1, 0.9)), _inner(k=1), _inner(c=0)],
    ids=["weights", "k of its member", "c"],
)
def test_another_value_in_it_is_another_ranking_and_another_epoch(other: Any) -> None:
    order, _, epoch = _searched(MergerRetriever(retrievers=[_inner(), _words("c1")]))
    changed, _, other_epoch = _searched(MergerRetriever(retrievers=[other, _words("c1")]))
    assert epoch != other_epoch
    if other.c:  # with two members in two ranks the constant turns nothing round
        assert order != changed


def test_what_cannot_be_said_of_a_member_is_named_with_its_place() -> None:
    filtered = _inner()
    filtered.retrievers[0] = _dense(filter=lambda document: True)
    _, weights, _ = _searched(_outer(filtered))
    assert weights["unknown"] == ["member_1.member_1.filter", "member_1.member_2", "member_2"]


@pytest.mark.parametrize("around", [_outer, lambda inner: MergerRetriever(retrievers=[inner])])
def test_the_compressor_of_a_member_is_part_of_it(around: Any) -> None:
    pytest.importorskip("langchain_community", reason="EmbeddingsFilter needs it")

    def compressing(k: int) -> Any:
        base = _dense(8)
        steps = [EmbeddingsFilter(embeddings=base.vectorstore.embedding, k=k)]
        return ContextualCompressionRetriever(
            base_retriever=base, base_compressor=DocumentCompressorPipeline(transformers=steps)
        )

    found, weights, epoch = _searched(around(compressing(4)))
    assert weights["effective"]["member_settings"][0]["compressor"][0]["k"] == 4
    fewer, _, other_epoch = _searched(around(compressing(1)))
    assert found != fewer
    assert epoch != other_epoch


def test_so_many_levels_are_read_and_the_next_is_named() -> None:
    inner: Any = MergerRetriever(retrievers=[_dense()])
    for _ in range(3):
        inner = MergerRetriever(retrievers=[inner])
    _, weights, _ = _searched(inner)
    assert weights["unknown"] == ["member_1.member_1.member_1.member_settings"]
    effective = weights["effective"]
    for _ in range(3):
        [effective] = effective["member_settings"]
    assert effective == {"fusion": "interleaved", "members": ["VectorStoreRetriever"]}
    _, weights, _ = _searched(MergerRetriever(retrievers=[MergerRetriever(retrievers=[_inner()])]))
    assert weights["unknown"] == ["member_1.member_1.member_2"]


def test_one_that_holds_itself_is_read_to_an_end() -> None:
    knot = MergerRetriever(retrievers=[Listed(found=documents("a"))])
    knot.retrievers.append(knot)
    from ragledger.extraction import read

    assert "member_2.member_2.member_2.member_settings" in read(knot).weights.unknown
