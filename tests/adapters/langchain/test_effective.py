"""Every value that an extractor calls effective changes the ranking, on the real class; and there are no others.

A row of the table: the class, where the value stands in `effective`, two values, and a retriever for each.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adapters.langchain.world import Listed, document, vector_store
from langchain_core._api.beta_decorator import suppress_langchain_beta_warning
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing.in_memory import InMemoryDocumentIndex
from langchain_core.runnables import RunnableLambda
from langchain_core.stores import InMemoryStore
from langchain_core.structured_query import StructuredQuery
from langchain_core.vectorstores import VectorStoreRetriever

from ragledger_langchain.weights import read

pytest.importorskip("langchain_community", reason="needs langchain-community")
pytest.importorskip("langchain_classic.retrievers", reason="needs langchain-classic")

from langchain_classic.retrievers import (
    ContextualCompressionRetriever,
    EnsembleRetriever,
    MergerRetriever,
    MultiQueryRetriever,
    MultiVectorRetriever,
    RePhraseQueryRetriever,
    SelfQueryRetriever,
    TimeWeightedVectorStoreRetriever,
)
from langchain_classic.retrievers.document_compressors import (
    CrossEncoderReranker,
    DocumentCompressorPipeline,
    EmbeddingsFilter,
)
from langchain_community.document_transformers import EmbeddingsClusteringFilter, EmbeddingsRedundantFilter
from langchain_community.query_constructors.chroma import ChromaTranslator
from langchain_community.retrievers import BM25Retriever, KNNRetriever, SVMRetriever, TFIDFRetriever

QUERY = "alpha beta gamma"
STORE = vector_store()
WORDS = ["alpha", "beta", "gamma", "delta", "eta", "theta"]
# Not of a seed that was looked for: any corpus of uneven lengths and repetitions does.
_random = random.Random(7)
TEXTS = [
    " ".join(_random.choices(WORDS[: 2 + number % 5], k=3 + number * number % 23)) for number in range(30)
]


def _search(search_type: str = "similarity", **kwargs: Any) -> VectorStoreRetriever:
    return VectorStoreRetriever(vectorstore=STORE, search_type=search_type, search_kwargs=kwargs)


def _multi_vector(search_type: str = "similarity", id_key: str = "doc_id", **kwargs: Any) -> Any:
    parents: InMemoryStore[Document] = InMemoryStore()
    parents.mset([(f"d{number}", document(f"p{number}")) for number in range(9)])
    parents.mset([("none", document("none"))])
    return MultiVectorRetriever(
        vectorstore=STORE, docstore=parents, id_key=id_key, search_type=search_type, search_kwargs=kwargs
    )


def _self_query(search_type: str = "similarity", *, original: bool = False, **kwargs: Any) -> Any:
    rewritten = RunnableLambda(lambda _: StructuredQuery(query="another question", filter=None, limit=None))
    return SelfQueryRetriever(
        vectorstore=STORE,
        query_constructor=rewritten,
        structured_query_translator=ChromaTranslator(),
        search_type=search_type,
        search_kwargs=kwargs,
        use_original_query=original,
    )


def _time_weighted(**given: Any) -> Any:
    retriever = TimeWeightedVectorStoreRetriever(vectorstore=vector_store(0), **given)
    now = dt.datetime.now()  # noqa: DTZ005  the retriever's own clock has no zone
    retriever.add_documents(
        [
            document(
                f"c{number}",
                last_accessed_at=now - dt.timedelta(hours=number * number),
                importance=(number * 5 % 7) / 3,
            )
            for number in range(12)
        ]
    )
    return retriever


FIRST = Listed(found=[document(name, key=name.upper()) for name in "abcdefghij"])
SECOND = Listed(found=[document(name, key=name.upper()) for name in "kdlmnopqra"])
SAME_KEY = Listed(found=[document("z", key="A"), document("y", key="B")])


def _multi_query(inner: Any = None, *, original: bool = False, k: int = 3) -> Any:
    lines = RunnableLambda(lambda _: ["one", "two"])
    return MultiQueryRetriever(retriever=inner or _search(k=k), llm_chain=lines, include_original=original)


def _re_phrase(inner: Any) -> Any:
    return RePhraseQueryRetriever(retriever=inner, llm_chain=RunnableLambda(lambda _: "rephrased"))


def _inner(names: list[str]) -> Any:
    return FIRST if names == ["Listed"] else _search()


def _ensemble(*members: Any, **given: Any) -> Any:
    return EnsembleRetriever(retrievers=list(members) or [FIRST, SECOND], **given)


def _merger(*members: Any) -> Any:
    return MergerRetriever(retrievers=list(members))


class Lengths:
    """Stands for a cross-encoder's model, which wants a download."""

    def score(self, pairs: Any) -> Any:
        return np.array([len(text) for _, text in pairs])


def _reranker(top_n: int) -> Any:
    return CrossEncoderReranker.model_construct(model=Lengths(), top_n=top_n)


def _compressed(*steps: Any, k: int = 12) -> Any:
    compressor = steps[0] if len(steps) == 1 else DocumentCompressorPipeline(transformers=list(steps))
    return ContextualCompressionRetriever(base_retriever=_search(k=k), base_compressor=compressor)


def _filtered(**given: Any) -> Any:
    return _compressed(EmbeddingsFilter(embeddings=STORE.embedding, **given))


def _redundant(threshold: float) -> Any:
    return _compressed(
        EmbeddingsRedundantFilter(embeddings=STORE.embedding, similarity_threshold=threshold), _reranker(50)
    )


def _clustered(**given: Any) -> Any:
    given = {"num_clusters": 8, "num_closest": 4} | given
    clustering = EmbeddingsClusteringFilter(embeddings=STORE.embedding, **given)
    return ContextualCompressionRetriever(
        base_retriever=_search(k=20), base_compressor=DocumentCompressorPipeline(transformers=[clustering])
    )


def _bm25(variant: str = "BM25Okapi", k: int = 30, **given: Any) -> Any:
    rank_bm25 = pytest.importorskip("rank_bm25")
    words = [text.split() for text in TEXTS]
    return BM25Retriever(
        vectorizer=getattr(rank_bm25, variant)(words, **given),
        docs=[document(f"t{number}", text) for number, text in enumerate(TEXTS)],
        k=k,
    )


def _tfidf(k: int = 30, **given: Any) -> Any:
    pytest.importorskip("sklearn")
    return TFIDFRetriever.from_texts(TEXTS, tfidf_params=given, k=k)


def _embedded(cls: Any, **given: Any) -> Any:
    pytest.importorskip("sklearn")
    return cls.from_texts(
        [f"text {number}" for number in range(12)], DeterministicFakeEmbedding(size=8), **given
    )


def _index(top_k: int) -> Any:
    with suppress_langchain_beta_warning():
        index = InMemoryDocumentIndex(top_k=top_k)
    index.upsert([document(f"t{number}", text) for number, text in enumerate(TEXTS)])
    return index


TABLE: list[tuple[str, Any, Any, Callable[[Any], Any]]] = [
    ("search_type", "similarity", "mmr", lambda v: _search(v)),
    ("k", 3, 4, lambda v: _search(k=v)),
    ("score_threshold", 0.0, 0.74, lambda v: _search("similarity_score_threshold", score_threshold=v)),
    ("fetch_k", 5, 20, lambda v: _search("mmr", fetch_k=v, lambda_mult=0.0)),
    ("lambda_mult", 0.0, 1.0, lambda v: _search("mmr", lambda_mult=v)),
    ("weights", [0.9, 0.1], [0.1, 0.9], lambda v: _ensemble(weights=v)),
    ("c", 1, 1000, lambda v: _ensemble(c=v, weights=[0.5, 0.5])),
    ("id_key", None, "key", lambda v: _ensemble(FIRST, SAME_KEY, id_key=v)),
    ("member_settings", [{"search_type": "similarity", "k": 2}, None],
     [{"search_type": "similarity", "k": 5}, None],
     lambda v: _ensemble(_search(k=v[0]["k"]), FIRST)),
    ("members", ["Listed", "VectorStoreRetriever"], ["VectorStoreRetriever", "Listed"],
     lambda v: _ensemble(*([FIRST, _search()] if v[0] == "Listed" else [_search(), FIRST]))),
    ("fusion", "reciprocal_rank", "interleaved",
     lambda v: _ensemble(FIRST, SECOND) if v == "reciprocal_rank" else _merger(FIRST, SECOND)),
    ("members", ["Listed", "VectorStoreRetriever"], ["VectorStoreRetriever", "Listed"],
     lambda v: _merger(*([FIRST, _search()] if v[0] == "Listed" else [_search(), FIRST]))),
    ("member_settings", [{"search_type": "similarity", "k": 2}, None],
     [{"search_type": "similarity", "k": 5}, None],
     lambda v: _merger(_search(k=v[0]["k"]), FIRST)),
    ("include_original", False, True, lambda v: _multi_query(original=v)),
    ("member_settings", [{"search_type": "similarity", "k": 2}], [{"search_type": "similarity", "k": 5}],
     lambda v: _multi_query(k=v[0]["k"])),
    ("member_settings", [{"search_type": "similarity", "k": 2}], [{"search_type": "similarity", "k": 5}],
     lambda v: _re_phrase(_search(k=v[0]["k"]))),
    ("members", ["VectorStoreRetriever"], ["Listed"], lambda v: _multi_query(_inner(v))),
    ("members", ["VectorStoreRetriever"], ["Listed"], lambda v: _re_phrase(_inner(v))),
    ("search_type", "similarity", "mmr", lambda v: _multi_vector(v, k=6)),
    ("candidates", 2, 9, lambda v: _multi_vector(k=v)),
    ("id_key", "doc_id", "nothing", lambda v: _multi_vector(id_key=v)),
    ("score_threshold", 0.0, 0.76,
     lambda v: _multi_vector("similarity_score_threshold", k=9, score_threshold=v)),
    ("fetch_k", 6, 20, lambda v: _multi_vector("mmr", fetch_k=v, lambda_mult=0.0)),
    ("lambda_mult", 0.0, 1.0, lambda v: _multi_vector("mmr", lambda_mult=v)),
    ("search_type", "similarity", "mmr", lambda v: _self_query(v)),
    ("score_threshold", 0.0, 0.74, lambda v: _self_query("similarity_score_threshold", score_threshold=v)),
    ("fetch_k", 5, 20, lambda v: _self_query("mmr", fetch_k=v, lambda_mult=0.0)),
    ("lambda_mult", 0.0, 1.0, lambda v: _self_query("mmr", lambda_mult=v)),
    ("use_original_query", False, True, lambda v: _self_query(original=v)),
    ("k", 2, 5, lambda v: _time_weighted(k=v)),
    ("decay_rate", 0.0, 0.9, lambda v: _time_weighted(decay_rate=v)),
    ("default_salience", 0.0, 9.0,
     lambda v: _time_weighted(default_salience=v, search_kwargs={"k": 2}, decay_rate=0.0)),
    ("other_score_keys", [], ["importance"], lambda v: _time_weighted(other_score_keys=v)),
    ("candidates", 1, 12, lambda v: _time_weighted(k=6, search_kwargs={"k": v}, decay_rate=0.0)),
    ("score_threshold", 0.0, 0.99,
     lambda v: _time_weighted(search_kwargs={"k": 12, "score_threshold": v}, decay_rate=0.0)),
    ("k", 3, 30, lambda v: _bm25(k=v)),
    ("k1", 0.1, 9.0, lambda v: _bm25(k1=v)),
    ("b", 0.0, 1.0, lambda v: _bm25(b=v)),
    ("epsilon", 0.0, 5.0, lambda v: _bm25(epsilon=v)),
    ("delta", 0.0, 9.0, lambda v: _bm25("BM25L", delta=v)),
    ("variant", "BM25Okapi", "BM25L", lambda v: _bm25(v)),
    ("k", 3, 30, lambda v: _tfidf(k=v)),
    ("sublinear_tf", False, True, lambda v: _tfidf(sublinear_tf=v)),
    ("use_idf", False, True, lambda v: _tfidf(use_idf=v)),
    ("k", 2, 5, lambda v: _embedded(KNNRetriever, k=v)),
    ("relevancy_threshold", 0.0, 0.8, lambda v: _embedded(KNNRetriever, relevancy_threshold=v)),
    ("k", 2, 5, lambda v: _embedded(SVMRetriever, k=v)),
    ("relevancy_threshold", 0.0, 0.8, lambda v: _embedded(SVMRetriever, relevancy_threshold=v)),
    ("top_k", 2, 5, _index),
    ("members", ["VectorStoreRetriever"], ["Listed"],
     lambda v: ContextualCompressionRetriever(
         base_retriever=_inner(v), base_compressor=_reranker(3))),
    ("member_settings", [{"search_type": "similarity", "k": 4}], [{"search_type": "similarity", "k": 7}],
     lambda v: _compressed(_reranker(20), k=v[0]["k"])),
    ("compressor", [{"class": "EmbeddingsFilter", "k": 2}], [{"class": "EmbeddingsFilter", "k": 5}],
     lambda v: _filtered(k=v[0]["k"])),
    ("compressor", [{"class": "EmbeddingsFilter", "k": 20, "similarity_threshold": 0.0}],
     [{"class": "EmbeddingsFilter", "k": 20, "similarity_threshold": 0.45}],
     lambda v: _filtered(similarity_threshold=v[0]["similarity_threshold"])),
    ("compressor", [{"class": "CrossEncoderReranker", "top_n": 2}],
     [{"class": "CrossEncoderReranker", "top_n": 5}], lambda v: _compressed(_reranker(v[0]["top_n"]))),
    ("compressor",
     [{"class": "EmbeddingsRedundantFilter", "similarity_threshold": 0.1},
      {"class": "CrossEncoderReranker", "top_n": 50}],
     [{"class": "EmbeddingsRedundantFilter", "similarity_threshold": 0.9},
      {"class": "CrossEncoderReranker", "top_n": 50}],
     lambda v: _redundant(v[0]["similarity_threshold"])),
]  # fmt: skip
CLUSTERED = [
    ("num_clusters", 2, 4),
    ("num_closest", 1, 2),
    ("sorted", False, True),
    ("remove_duplicates", False, True),
]


def _ids(retriever: Any) -> list[Any]:
    return [item.id or item.page_content for item in retriever.invoke(QUERY)]


@pytest.mark.parametrize(
    ("field", "one", "other", "make"),
    TABLE,
    ids=[f"{number}-{row[0]}" for number, row in enumerate(TABLE)],
)
def test_an_effective_value_changes_what_comes_back(
    field: str, one: Any, other: Any, make: Callable[[Any], Any]
) -> None:
    first, second = make(one), make(other)
    effective = read(first).weights.effective, read(second).weights.effective
    assert (effective[0].get(field), effective[1].get(field)) == (one, other)
    assert type(first) is type(second) or field == "fusion"
    changed = {
        name for name in effective[0] | effective[1] if effective[0].get(name) != effective[1].get(name)
    }
    assert field in changed
    assert _ids(first) != _ids(second)
    assert _ids(make(one)) == _ids(make(one))  # it was not chance


@pytest.mark.parametrize(("field", "one", "other"), CLUSTERED)
def test_an_effective_value_of_a_clustering_filter_changes_what_comes_back(
    field: str, one: Any, other: Any
) -> None:
    pytest.importorskip("sklearn")
    first, second = _clustered(**{field: one}), _clustered(**{field: other})
    values = [read(each).weights.effective["compressor"][0][field] for each in (first, second)]
    assert values == [one, other]
    assert _ids(first) != _ids(second)


def test_every_effective_value_has_a_row() -> None:
    """A value that an extractor begins to call effective needs a row here first."""
    shown: dict[str, set[str]] = {}
    said: dict[str, set[str]] = {}
    for field, one, other, make in TABLE:
        for value in (one, other):
            retriever = make(value)
            name = type(retriever).__name__
            shown.setdefault(name, set()).add(field)
            said.setdefault(name, set()).update(read(retriever).weights.effective)
    assert {name: sorted(fields - shown[name]) for name, fields in said.items() if fields - shown[name]} == {}
