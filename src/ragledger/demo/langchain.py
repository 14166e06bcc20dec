"""The demo's hybrid search as a LangChain retriever."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

__all__ = ["HybridRetriever"]


class HybridRetriever(BaseRetriever):
    """Knows nothing of Ragledger: `observe` marks it."""

    hybrid: Any  # a HybridSearch; pydantic would try to validate what it holds

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [
            Document(id=item.chunk_id, page_content=item.text, metadata={"document_id": item.document_id})
            for item in self.hybrid.search(query)
        ]
