"""The retrievers over graphs of `zoo`."""

from __future__ import annotations

import warnings
from typing import Any

from adapters.llama_index.doubles import WordEmbedding
from adapters.llama_index.zoo import scripted
from llama_index.core import StorageContext
from llama_index.core.graph_stores import SimpleGraphStore, SimplePropertyGraphStore
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, Relation
from llama_index.core.indices.property_graph import LLMSynonymRetriever, PGRetriever, VectorContextRetriever
from llama_index.core.retrievers import KGTableRetriever
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import SimpleVectorStore

_TRIPLETS = (("Ana", "knows", "Ben"), ("Ben", "likes", "Cleo"), ("Cleo", "owns", "Dog"))


def kg_table(*, mode: str = "keyword", with_embeddings: bool = True, **settings: Any) -> Any:
    from llama_index.core import KnowledgeGraphIndex

    store = SimpleGraphStore()
    nodes = [TextNode(id_=f"n{place}", text=" ".join(triplet)) for place, triplet in enumerate(_TRIPLETS)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        index = KnowledgeGraphIndex(
            nodes=[],
            llm=scripted("KEYWORDS: Ana"),
            embed_model=WordEmbedding(),
            storage_context=StorageContext.from_defaults(graph_store=store),
        )
        for held, triplet in zip(nodes, _TRIPLETS, strict=True):
            index.upsert_triplet_and_node(triplet, held, include_embeddings=with_embeddings)
        index.docstore.add_documents(nodes)
        return KGTableRetriever(
            index,
            retriever_mode=mode,
            llm=scripted("KEYWORDS: Ana, Ben"),
            embed_model=WordEmbedding(),
            **settings,
        )


def kg_rag(**settings: Any) -> Any:
    from llama_index.core.retrievers import KnowledgeGraphRAGRetriever

    store = SimpleGraphStore()
    for triplet in _TRIPLETS:
        store.upsert_triplet(*triplet)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return KnowledgeGraphRAGRetriever(
            storage_context=StorageContext.from_defaults(graph_store=store),
            llm=scripted(lambda prompt: "SYNONYMS: Ben" if "SYNONYMS" in prompt else "KEYWORDS: Ana"),
            **settings,
        )


def _graph() -> tuple[SimplePropertyGraphStore, SimpleVectorStore]:
    store, vectors = SimplePropertyGraphStore(), SimpleVectorStore()
    people = {
        name: EntityNode(name=name, label="PERSON", properties={"triplet_source_id": f"chunk-{name}"})
        for name in ("Ana", "Ben", "Cleo", "Dog")
    }
    store.upsert_nodes(list(people.values()))
    store.upsert_relations(
        [
            Relation(
                label=label, source_id=people[first].id, target_id=people[second].id, properties={"w": 1}
            )
            for first, label, second in _TRIPLETS
        ]
    )
    chunks = [TextNode(id_=f"chunk-{name}", text=f"about {name}", metadata={"page": name}) for name in people]
    store.upsert_llama_nodes(chunks)
    assert not isinstance(people["Ana"], ChunkNode)
    embedding = WordEmbedding()
    vectors.add(
        [
            TextNode(id_=person.id, text=name, embedding=embedding._get_text_embedding(name))
            for name, person in people.items()
        ]
    )
    return store, vectors


def vector_context(**settings: Any) -> Any:
    store, vectors = _graph()
    return VectorContextRetriever(store, vector_store=vectors, embed_model=WordEmbedding(), **settings)


def synonyms(**settings: Any) -> Any:
    return LLMSynonymRetriever(_graph()[0], llm=scripted("ana^ben"), **settings)


def property_graph(*, member_depth: int) -> Any:
    return PGRetriever([synonyms(path_depth=member_depth, include_text=False)], use_async=False)
