"""A class that ranks by a method of its own: what is set on it need not take effect."""

from __future__ import annotations

from typing import Any

import pytest
from adapters.langchain.world import Listed, documents, vector_store
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import VectorStoreRetriever

from ragledger import extraction
from ragledger.extraction import Call, Reading, extractor, read
from ragledger.weights import Weights
from ragledger_langchain import install, weights

pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")

from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MultiQueryRetriever,
    TimeWeightedVectorStoreRetriever,
)
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker

assert weights.FAMILIES


class Reversed(VectorStoreRetriever):
    def invoke(self, input: str, config: Any = None, **kwargs: Any) -> Any:
        return super().invoke(input, config, **kwargs)[::-1]


class First(EnsembleRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return super()._get_relevant_documents(query, run_manager=run_manager)[:1]


class One(MultiQueryRetriever):
    def unique_union(self, documents: Any) -> Any:
        return documents[:1]


class Relevance(TimeWeightedVectorStoreRetriever):
    def _get_combined_score(self, document: Any, vector_relevance: Any, current_time: Any) -> float:
        return vector_relevance or 0.0


class Plain(VectorStoreRetriever):
    pass


def _of_own_bodies() -> list[BaseRetriever]:
    members: Any = [Listed(found=documents("a"))]
    return [
        Reversed(vectorstore=vector_store()),
        First(retrievers=members, weights=[1.0]),
        One(retriever=members[0], llm_chain=RunnableLambda(lambda _: ["a"])),
        Relevance(vectorstore=vector_store()),
    ]


def test_what_takes_effect_in_a_class_with_its_own_ranking_is_unknown() -> None:
    install()
    for retriever in _of_own_bodies():
        found = read(retriever, Call()).weights
        assert found.configured, type(retriever)
        assert (found.effective, found.unknown) == ({}, ("effective",)), type(retriever)


def test_a_wrapper_of_somebody_around_what_is_inherited_is_no_body_of_its_own() -> None:
    import functools

    install()

    @functools.wraps(VectorStoreRetriever.invoke)
    def traced(self: Any, *args: Any, **kwargs: Any) -> Any:
        return super(Plain, self).invoke(*args, **kwargs)

    Plain.invoke = traced  # type: ignore[method-assign]
    found = read(Plain(vectorstore=vector_store()), Call()).weights
    assert found.effective == {"search_type": "similarity", "k": 4}


def test_what_is_set_on_a_compressor_with_its_own_body_need_not_take_effect() -> None:
    class Straight(CrossEncoderReranker):
        def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> Any:
            return documents

    def effective(compressor: Any) -> Any:
        base = Listed(found=documents("a"))
        retriever = ContextualCompressionRetriever.model_construct(
            base_retriever=base, base_compressor=compressor
        )
        found = read(retriever, Call()).weights
        return found.effective["compressor"], [
            name for name in found.unknown if name.startswith("compressor")
        ]

    own = Straight.model_construct(top_n=1)
    assert effective(own) == ([{"class": "Straight"}], ["compressor.Straight"])
    usual = CrossEncoderReranker.model_construct(top_n=1)
    assert effective(usual) == ([{"class": "CrossEncoderReranker", "top_n": 1}], [])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("/home/ana/models/small", "small"),
        ("hub/small", "hub/small"),
        ("two words", None),
        ("C:\\ana\\m", "m"),
    ],
)
def test_p9_of_a_model_that_is_a_path_the_last_segment_is_kept(given: str, kept: str | None) -> None:
    class Encoder:
        model_name = given

    retriever = ContextualCompressionRetriever.model_construct(
        base_retriever=Listed(found=documents("a")),
        base_compressor=CrossEncoderReranker.model_construct(model=Encoder(), top_n=1),
    )
    found = read(retriever, Call()).weights
    assert found.configured["compressor"][0].get("model") == kept
    assert "compressor.model" in found.unknown
    assert "ana" not in repr(found)


class Offered(Listed):
    pass


class Derived(Offered):
    def score_them(self) -> int:
        return 0


class _EntryPoint:
    name = f"{__name__}.Offered"

    def load(self) -> Any:
        @extractor(self.name, body=("score_them",))
        def found(retriever: Any, call: Call) -> Reading:
            return Reading(Weights(configured={"k": 1}, effective={"k": 1}, source="extracted"))

        return found


def test_an_offered_extractor_keeps_the_body_that_its_own_decorator_named() -> None:
    extractor(_EntryPoint.name)(extraction._on_first_use(_EntryPoint()))
    first, second = [read(Derived(), Call()).weights for _ in range(2)]
    assert first.unknown == second.unknown == ("effective",)
    assert read(Offered(), Call()).weights.effective == {"k": 1}
