"""Small real retrievers and embeddings: no network, deterministic, picklable by name."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode


def node(name: str, *, document: str | None = None, **fields: Any) -> TextNode:
    relations = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)} if document else {}
    return TextNode(id_=name, text=f"text of {name}", relationships=relations, **fields)


def scored(*pairs: tuple[str, Any]) -> list[NodeWithScore]:
    return [NodeWithScore(node=node(name), score=score) for name, score in pairs]


class ListRetriever(BaseRetriever):
    """Returns what it was given."""

    def __init__(self, result: Any, **kwargs: Any) -> None:
        self.result = result
        super().__init__(**kwargs)

    def _retrieve(self, query_bundle: QueryBundle) -> Any:
        return list(self.result) if isinstance(self.result, list) else self.result


class BodyRetriever(BaseRetriever):
    """Runs a function as the body of the search."""

    def __init__(self, body: Callable[[QueryBundle], Any], **kwargs: Any) -> None:
        self.body = body
        super().__init__(**kwargs)

    def _retrieve(self, query_bundle: QueryBundle) -> Any:
        return self.body(query_bundle)


class SlowRetriever(BaseRetriever):
    """Waits, then returns one node."""

    def __init__(self, seconds: float, **kwargs: Any) -> None:
        self.seconds = seconds
        super().__init__(**kwargs)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        threading.Event().wait(self.seconds)
        return scored(("a", 0.5))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(self.seconds)
        return scored(("a", 0.5))


class FailingEmbedding(MockEmbedding):
    """A provider that is down."""

    def _get_query_embedding(self, query: str) -> list[float]:
        raise ConnectionError(f"cannot embed {query}")

    async def _aget_query_embedding(self, query: str) -> list[float]:
        raise ConnectionError(f"cannot embed {query}")


class WordEmbedding(BaseEmbedding):
    """Counts letters: equal texts are nearest to themselves."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def vector_index(
    names: Sequence[str] = tuple("abcdef"), manager: CallbackManager | None = None, embedding: Any = None
) -> VectorStoreIndex:
    nodes = [node(name, document=f"doc-{name}") for name in names]
    return VectorStoreIndex(nodes, embed_model=embedding or WordEmbedding(), callback_manager=manager)
