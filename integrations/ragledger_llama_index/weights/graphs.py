"""Retrievers over a knowledge graph and over a property graph.

Most of their items are made anew for every search, each with a random id, and many of their scores are a constant:
those are stored with score_kind `none`.
"""

from __future__ import annotations

from typing import Any

from ragledger.extraction import Call, Reading, extractor

from .members import RANKING, members_of
from .settings import given, mode_of, read_as, without

_KNOWLEDGE = "llama_index.core.indices.knowledge_graph.retrievers"
_PROPERTY = "llama_index.core.indices.property_graph"
_BODY = ("_retrieve", "_aretrieve", "retrieve_from_graph", "aretrieve_from_graph", "_get_nodes_with_score")


# --- knowledge graphs --------------------------------------------------------------------------------------


@extractor(f"{_KNOWLEDGE}.KGTableRetriever", body=("_retrieve", "_aretrieve", "_get_keywords"))
def _kg_table(retriever: Any, call: Call) -> Reading:
    """The language model finds the keywords; how many is a wish in its prompt."""
    mode = mode_of(retriever._retriever_mode)
    configured = {
        "mode": mode,
        "num_chunks_per_query": retriever.num_chunks_per_query,
        "max_keywords_per_query": retriever.max_keywords_per_query,
        "include_text": bool(retriever._include_text),
        "similarity_top_k": retriever.similarity_top_k,
        "graph_store_query_depth": retriever.graph_store_query_depth,
        "use_global_node_triplets": bool(retriever.use_global_node_triplets),
        "max_knowledge_sequence": retriever.max_knowledge_sequence,
    }
    embedded = mode != "keyword" and len(retriever._index_struct.embedding_dict) > 0
    idle = ["max_keywords_per_query"]
    if not embedded:
        idle.append("similarity_top_k")
    if mode == "embedding":
        idle += ["graph_store_query_depth", "use_global_node_triplets"]
    if mode != "hybrid":
        idle.append("max_knowledge_sequence")
    effective = without(configured, *idle)
    return read_as(
        "KGTableRetriever/1",
        configured,
        effective,
        ranking=frozenset(without(configured, "num_chunks_per_query")),
        unknown=("llm", "max_keywords_per_query"),
        top_k=retriever.num_chunks_per_query,
        score_kind="none",
        dense=True if embedded else None if mode != "keyword" else False,
    )


@extractor(f"{_KNOWLEDGE}.KnowledgeGraphRAGRetriever")
def _kg_rag(retriever: Any, call: Call) -> Reading:
    """One item with everything that was found. Entities and synonyms are the language model's."""
    configured = {
        "mode": mode_of(retriever._retriever_mode),
        "graph_traversal_depth": retriever._graph_traversal_depth,
        "max_knowledge_sequence": retriever._max_knowledge_sequence,
        "max_entities": retriever._max_entities,
        "max_synonyms": retriever._max_synonyms,
        "entity_extract_policy": mode_of(retriever._entity_extract_policy),
        "synonym_expand_policy": mode_of(retriever._synonym_expand_policy),
        "with_nl2graphquery": bool(retriever._with_nl2graphquery),
    }
    effective = {name: configured[name] for name in ("graph_traversal_depth", "max_knowledge_sequence")}
    return read_as(
        "KnowledgeGraphRAGRetriever/1",
        configured,
        effective,
        ranking=frozenset(effective),
        unknown=("llm", *without(configured, *effective, "mode")),
        dense=False,
    )


# --- property graphs ---------------------------------------------------------------------------------------


@extractor(f"{_PROPERTY}.retriever.PGRetriever", body=("_retrieve", "_aretrieve", "_deduplicate"))
def _property_graph(retriever: Any, call: Call) -> Reading:
    """The lists of its members, one after the other; the first of equal texts is kept."""
    retrievers = retriever.sub_retrievers
    members = members_of(retrievers, call)
    return read_as(
        "PGRetriever/1",
        {},
        members.settings,
        ranking=RANKING,
        unknown=members.unknown,
        members=tuple(retrievers),
        key=_text,
    )


def _text(item: Any) -> Any:
    return item.text


def _of_triplets(retriever: Any) -> dict[str, Any]:
    return {
        "include_text": bool(retriever.include_text),
        "include_properties": bool(retriever.include_properties),
        "path_depth": retriever._path_depth,
        "limit": retriever._limit,
    }


@extractor(f"{_PROPERTY}.sub_retrievers.vector.VectorContextRetriever", body=_BODY)
def _vector_context(retriever: Any, call: Call) -> Reading:
    """So many nodes of the graph, then the triplets round them, with the similarity of the better end."""
    settings = given(
        **_of_triplets(retriever),
        similarity_top_k=retriever._similarity_top_k,
        similarity_score=retriever._similarity_score or None,  # 0 cuts nothing
    )
    unknown = [] if retriever._filters is None else ["filters"]
    if retriever._retriever_kwargs:
        unknown.append("vector_store_kwargs")
    return read_as(
        "VectorContextRetriever/1",
        settings,
        settings,
        ranking=frozenset(settings),
        unknown=tuple(unknown),
        dense=True,
    )


@extractor(f"{_PROPERTY}.sub_retrievers.llm_synonym.LLMSynonymRetriever", body=_BODY)
def _llm_synonym(retriever: Any, call: Call) -> Reading:
    """The language model gives the words; how many is a wish in its prompt."""
    settings = _of_triplets(retriever)
    return read_as(
        "LLMSynonymRetriever/1",
        {**settings, "max_keywords": retriever._max_keywords},
        settings,
        ranking=frozenset(settings),
        unknown=("llm", "max_keywords"),
        score_kind="none",
        dense=False,
    )


@extractor(
    f"{_PROPERTY}.sub_retrievers.cypher_template.CypherTemplateRetriever",
    f"{_PROPERTY}.sub_retrievers.text_to_cypher.TextToCypherRetriever",
    body=_BODY,
)
def _cypher(retriever: Any, call: Call) -> Reading:
    """One item with the answer of the graph store to a query that a language model filled in or wrote."""
    return read_as(
        "CypherRetriever/1", {}, {}, unknown=("llm", "cypher_query"), score_kind="none", dense=False
    )
