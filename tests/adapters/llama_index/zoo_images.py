"""MultiModalVectorIndexRetriever, with an embedding that reads a letter from text and image alike."""

from __future__ import annotations

import base64
from typing import Any

from adapters.llama_index.doubles import WordEmbedding
from llama_index.core.embeddings import MultiModalEmbedding
from llama_index.core.indices import MultiModalVectorStoreIndex
from llama_index.core.schema import ImageNode, TextNode
from llama_index.core.vector_stores import SimpleVectorStore

_words = WordEmbedding()


class Images(MultiModalEmbedding):
    """An image says in letters what it shows."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return _words._get_text_embedding(text)

    _get_query_embedding = _get_text_embedding

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    def _get_image_embedding(self, img_file_path: Any) -> list[float]:
        return self._get_text_embedding(img_file_path.read().decode())

    async def _aget_image_embedding(self, img_file_path: Any) -> list[float]:
        return self._get_image_embedding(img_file_path)


_NAMES = ("aaaa", "aaab", "aabb", "xyzw")


def multi_modal(**settings: Any) -> Any:
    index = MultiModalVectorStoreIndex(
        [TextNode(id_=f"t-{name}", text=name) for name in _NAMES],
        embed_model=_words,
        image_embed_model=Images(),
        image_vector_store=SimpleVectorStore(),
    )
    # As an index does it with images; from its constructor it takes only those that have a text.
    images = [ImageNode(id_=f"i-{name}", image=base64.b64encode(name.encode()).decode()) for name in _NAMES]
    index._add_nodes_to_index(index.index_struct, images)
    index._is_text_vector_store_empty = index._is_image_vector_store_empty = False
    return index.as_retriever(**settings)
