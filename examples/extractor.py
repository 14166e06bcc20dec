"""A retriever of one's own: an extractor tells ragledger what shapes its ranking."""

from __future__ import annotations

import os
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

import ragledger
from ragledger import Call, Candidate, Reading, Weights, extractor
from ragledger_langchain import observe


class HybridRetriever(BaseRetriever):
    """Vector and words, mixed by `alpha`."""

    alpha: float = 0.7
    k: int = 2

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found = [("c1", 0.9, 0.1), ("c2", 0.2, 0.8), ("c3", 0.1, 0.1)]
        scored = [(self.alpha * vector + (1 - self.alpha) * words, name) for name, vector, words in found]
        best = sorted(scored, reverse=True)[: self.k]
        ragledger.current().candidates(*[Candidate(name, score=score) for score, name in best])
        return [Document(id=name, page_content=f"text of {name}") for _, name in best]


@extractor(f"{__name__}.HybridRetriever")
def read_hybrid(retriever: HybridRetriever, call: Call) -> Reading:
    settings = {"alpha": retriever.alpha, "k": retriever.k}
    weights = Weights(
        configured=settings,
        effective=settings,  # only what really changes the ranking
        source="extracted",
        ranking=frozenset({"alpha"}),  # another alpha is another epoch; the number of results is not
        extractor="acme.HybridRetriever/1",
    )
    return Reading(weights, top_k=retriever.k, dense=True)


ledger = ragledger.open(os.environ.get("RAGLEDGER_DSN", "embedded"), project="shop")
retriever = observe(HybridRetriever(), ledger, corpus="handbook")
with ragledger.capture() as receipts:
    retriever.invoke("How long may I wait?")
print(f"search {receipts[0].search_id}, weights of {type(retriever).__name__} are in its row")
ledger.close()
