"""The demo's hybrid search as a LlamaIndex retriever."""

from __future__ import annotations

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from .hybrid import HybridSearch

__all__ = ["HybridNodeRetriever"]


class HybridNodeRetriever(BaseRetriever):
    """Knows nothing of Ragledger: the callback handler of the application's Settings says which ledger."""

    def __init__(self, hybrid: HybridSearch) -> None:
        super().__init__()
        self._hybrid = hybrid

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=item.chunk_id,
                    text=item.text,
                    relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=item.document_id)},
                ),
                score=item.score,
            )
            for item in self._hybrid.search(query_bundle.query_str)
        ]
