"""A retriever for benchmarks. Imports nothing of ours: whoever measures memory starts from here."""

from __future__ import annotations

import time
from typing import Any


def make_retriever(wait_s: float) -> Any:
    """A retriever that waits and returns 10 documents."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    documents = [
        Document(id=f"chunk-{n}", page_content="x" * 500, metadata={"document_id": f"doc-{n % 3}"})
        for n in range(10)
    ]

    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            time.sleep(wait_s)
            return list(documents)

    return Fixed()
