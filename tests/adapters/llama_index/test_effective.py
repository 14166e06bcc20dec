"""Every effective value changes the ranking of the real class, and one that does not is not called effective."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from adapters.llama_index import zoo, zoo_graphs, zoo_images
from llama_index.core import Settings
from llama_index.core.utils import globals_helper

from ragledger_llama_index.weights import read


class Case(NamedTuple):
    make: Any
    argument: str
    values: tuple[Any, Any]
    field: str | None = None
    query: str = "text of a"
    fixed: Mapping[str, Any] = MappingProxyType({})

    @property
    def name(self) -> str:
        return self.field or self.argument


LIST = "KEYWORDS cat dog bird cat dog cat"

EFFECTIVE = [
    Case(zoo.vector, "similarity_top_k", (1, 3)),
    Case(zoo.vector, "vector_store_query_mode", ("default", "mmr"), "mode", "q", {"similarity_top_k": 3}),
    Case(zoo.vector_mmr, "mmr_threshold", (0.2, 1.0)),
    Case(zoo.auto, "similarity_top_k", (1, 3)),
    Case(zoo.auto, "max_top_k", (1, 3), fixed={"similarity_top_k": 4}),
    Case(zoo.auto, "vector_store_query_mode", ("default", "mmr"), "mode", fixed={"similarity_top_k": 3}),
    Case(zoo.auto_blank, "empty_query_top_k", (1, 2)),
    Case(zoo_images.multi_modal, "similarity_top_k", (1, 3), query="aaa"),
    Case(zoo_images.multi_modal, "image_similarity_top_k", (1, 3), query="aaa"),
    Case(
        zoo_images.multi_modal,
        "vector_store_query_mode",
        ("default", "mmr"),
        "mode",
        "aaa",
        {"similarity_top_k": 3},
    ),
    Case(
        zoo_images.multi_modal,
        "vector_store_kwargs",
        ({"mmr_threshold": 0.1}, {"mmr_threshold": 1.0}),
        "mmr_threshold",
        "aaa",
        {"vector_store_query_mode": "mmr", "similarity_top_k": 3},
    ),
    Case(zoo.bm25, "similarity_top_k", (1, 3), query="boat"),
    Case(zoo.bm25, "k1", (0.01, 5.0), query="run boat lake"),
    Case(zoo.bm25, "b", (0.0, 1.0), query="run boat lake"),
    Case(zoo.bm25, "delta", (0.01, 9.0), query="run boat lake", fixed={"method": "bm25l"}),
    Case(zoo.bm25, "method", ("lucene", "bm25+"), query="run boat lake"),
    Case(zoo.bm25, "idf_method", ("lucene", "robertson"), query="run boat lake"),
    Case(zoo.bm25, "skip_stemming", (False, True), query="running"),
    Case(zoo.fusion, "mode", ("relative_score", "simple"), fixed={"weights": [9.0, 1.0]}),
    Case(zoo.fusion, "weights", ([9.0, 1.0], [1.0, 9.0]), "retriever_weights"),
    Case(
        zoo.fusion,
        "weights",
        ([9.0, 1.0], [1.0, 9.0]),
        "retriever_weights",
        fixed={"mode": "dist_based_score"},
    ),
    Case(zoo.fusion, "similarity_top_k", (1, 3)),
    Case(zoo.fusion_of_stores, "num_queries", (1, 3), query="a"),
    Case(zoo.fusion_of_stores, "member_top_k", (1, 3), "member_settings", query="a"),
    Case(zoo.auto_merging, "simple_ratio_thresh", (0.1, 0.9), query="a"),
    Case(
        zoo.auto_merging,
        "member_top_k",
        (1, 3),
        "member_settings",
        query="a",
        fixed={"simple_ratio_thresh": 1.0},
    ),
    Case(zoo.router_of_stores, "member_top_k", (1, 3), "member_settings"),
    Case(zoo.recursive, "member_top_k", (1, 3), "member_settings"),
    Case(zoo.transform, "member_top_k", (1, 3), "member_settings"),
    Case(zoo.keywords, "num_chunks_per_query", (1, 2), query=LIST),
    Case(zoo.keywords, "max_keywords_per_query", (1, 3), query=LIST),
    Case(zoo.keywords, "num_chunks_per_query", (1, 2), query=LIST, fixed={"mode": "default"}),
    Case(zoo.summary_embedding, "similarity_top_k", (1, 3)),
    Case(zoo.summary_llm, "choice_batch_size", (2, 3)),
    Case(zoo.document_summary_llm, "choice_batch_size", (2, 3), fixed={"choice_top_k": 4}),
    Case(zoo.document_summary_llm, "choice_top_k", (1, 3)),
    Case(zoo.document_summary_embedding, "similarity_top_k", (1, 3)),
    Case(zoo.tree, "child_branch_factor", (1, 2)),
    Case(zoo.tree_embedding, "child_branch_factor", (1, 2)),
    Case(zoo_graphs.kg_table, "mode", ("keyword", "embedding"), query="Cleo owns Dog"),
    Case(zoo_graphs.kg_table, "num_chunks_per_query", (1, 2)),
    Case(zoo_graphs.kg_table, "include_text", (True, False)),
    Case(zoo_graphs.kg_table, "similarity_top_k", (1, 2), query="Cleo", fixed={"mode": "embedding"}),
    Case(zoo_graphs.kg_table, "graph_store_query_depth", (1, 2)),
    Case(zoo_graphs.kg_table, "use_global_node_triplets", (False, True), fixed={"num_chunks_per_query": 1}),
    Case(zoo_graphs.kg_table, "max_knowledge_sequence", (1, 9), fixed={"mode": "hybrid"}),
    Case(zoo_graphs.kg_rag, "graph_traversal_depth", (1, 2)),
    Case(zoo_graphs.kg_rag, "max_knowledge_sequence", (1, 9)),
    Case(zoo_graphs.vector_context, "similarity_top_k", (1, 3), query="Ana", fixed={"include_text": False}),
    Case(zoo_graphs.vector_context, "path_depth", (1, 2), query="Ana", fixed={"include_text": False}),
    Case(zoo_graphs.vector_context, "limit", (1, 9), query="Ana", fixed={"include_text": False}),
    Case(
        zoo_graphs.vector_context,
        "similarity_score",
        (None, 0.999),
        query="Ana",
        fixed={"include_text": False},
    ),
    Case(zoo_graphs.vector_context, "include_text", (True, False), query="Ana"),
    Case(
        zoo_graphs.vector_context,
        "include_properties",
        (True, False),
        query="Ana",
        fixed={"include_text": False},
    ),
    Case(zoo_graphs.synonyms, "path_depth", (1, 2), fixed={"include_text": False}),
    Case(zoo_graphs.synonyms, "limit", (1, 9), fixed={"include_text": False}),
    Case(zoo_graphs.synonyms, "include_text", (True, False)),
    Case(zoo_graphs.synonyms, "include_properties", (True, False), fixed={"include_text": False}),
    Case(zoo_graphs.property_graph, "member_depth", (1, 2), "member_settings"),
    Case(zoo.sql, "return_raw", (True, False), query="SELECT name FROM pets"),
    Case(zoo.sql_from_words, "return_raw", (True, False)),
    Case(zoo.sql_from_words, "sql_only", (True, False)),
]

IDLE = [
    Case(zoo.vector, "alpha", (0.1, 0.9)),
    Case(zoo.vector, "sparse_top_k", (1, 9)),
    Case(zoo.vector, "hybrid_top_k", (1, 9)),
    Case(zoo.bm25, "delta", (0.01, 9.0), query="run boat lake"),
    Case(zoo.fusion, "weights", ([9.0, 1.0], [1.0, 9.0]), "retriever_weights", fixed={"mode": "simple"}),
    Case(
        zoo.fusion,
        "weights",
        ([9.0, 1.0], [1.0, 9.0]),
        "retriever_weights",
        fixed={"mode": "reciprocal_rerank"},
    ),
    Case(zoo.keywords, "max_keywords_per_query", (1, 3), query=LIST, fixed={"mode": "default"}),
    Case(zoo_graphs.kg_table, "similarity_top_k", (1, 9)),
    Case(zoo_graphs.kg_table, "max_keywords_per_query", (1, 9)),
    Case(zoo_graphs.kg_table, "max_knowledge_sequence", (1, 9)),
    Case(zoo_graphs.kg_table, "graph_store_query_depth", (1, 2), query="Cleo", fixed={"mode": "embedding"}),
    Case(zoo_graphs.kg_rag, "max_entities", (1, 9)),
    Case(zoo_graphs.kg_rag, "max_synonyms", (1, 9)),
    Case(zoo_graphs.synonyms, "max_keywords", (1, 9)),
    Case(zoo.sql_from_words, "return_raw", (True, False), fixed={"sql_only": True}),
]


def _ids(case: Case) -> str:
    fixed = "".join(f"-{value}" for value in case.fixed.values())
    return f"{case.make.__name__}-{case.name}{fixed}"


def _made(case: Case) -> tuple[Any, Any]:
    first, second = ({**case.fixed, case.argument: value} for value in case.values)
    return case.make(**first), case.make(**second)


@pytest.fixture(autouse=True)
def _models(monkeypatch: pytest.MonkeyPatch) -> None:
    # Not NLTK's: where packages are hard links, it refuses to read its own files.
    monkeypatch.setattr(globals_helper, "_stopwords", ["of"])
    Settings._embed_model = zoo.WordEmbedding()
    Settings._llm = zoo.scripted("none")


@pytest.mark.parametrize("case", EFFECTIVE, ids=_ids)
def test_an_effective_value_changes_the_ranking(case):
    first, second = _made(case)
    told = [read(retriever).weights.effective.get(case.name) for retriever in (first, second)]
    assert told[0] != told[1], "the reading must tell them apart"
    assert zoo.answer(first, case.query) != zoo.answer(second, case.query)


@pytest.mark.parametrize("case", IDLE, ids=_ids)
def test_a_value_that_changes_nothing_is_configured_and_not_effective(case):
    first, second = _made(case)
    configured = [read(retriever).weights.configured[case.name] for retriever in (first, second)]
    assert configured[0] != configured[1]
    assert not any(case.name in read(retriever).weights.effective for retriever in (first, second))
    assert zoo.answer(first, case.query) == zoo.answer(second, case.query)


def test_every_effective_field_of_every_class_is_in_the_table():
    """A field that an extractor learns to call effective must be shown to be."""
    shown: dict[str, set[str]] = {}
    told: dict[str, set[str]] = {}
    for case in EFFECTIVE:
        for retriever in _made(case):
            name = type(retriever).__name__
            shown.setdefault(name, set()).add(case.name)
            told.setdefault(name, set()).update(read(retriever).weights.effective)
    constants = {"rrf_k", "members"}  # of the code, and the classes of the members: nothing one can set
    assert {name: fields - shown[name] - constants for name, fields in told.items()} == {
        name: set() for name in told
    }
