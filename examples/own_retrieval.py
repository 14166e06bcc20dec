"""Retrieval code of one's own: hand over every candidate with the score of each signal."""

from __future__ import annotations

import os

import ragledger
from ragledger import Candidate

WEIGHTS = {"vector": 0.6, "lexical": 0.4, "threshold": 0.2, "candidates_per_signal": 20}

ledger = ragledger.open(os.environ.get("RAGLEDGER_DSN", "embedded"), project="shop")

with ledger.search(corpus="handbook", surface="study", top_k=10, weights=WEIGHTS) as search:
    rows = [("c1", "refunds", 0.71, 0.12), ("c2", "shipping", 0.40, 0.02), ("c3", "returns", 0.11, 0.00)]
    for chunk_id, document_id, vector, lexical in rows:
        score = WEIGHTS["vector"] * vector + WEIGHTS["lexical"] * lexical
        search.candidates(
            Candidate(
                chunk_id,
                document_id,
                vector=vector,
                lexical=lexical,
                score=score,
                admitted=score >= WEIGHTS["threshold"],
            )
        )

ledger.skip(surface="study", reason="no_goal")
print(f"search {search.receipt.search_id}, {len(search.receipt.hits)} hits may be voted on")
ledger.close()
