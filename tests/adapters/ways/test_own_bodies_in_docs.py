"""The pages of both adapters show a retriever with a body of its own: it does what they say."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever as Chain
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import BaseRetriever as Index
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

import ragledger
from ragledger import Candidate
from ragledger.testing import MemoryLedger
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler

_DOCS = Path(__file__).parents[3] / "docs"
_SCORED = [("a", 0.9, 0.1, 0.6), ("b", 0.5, 0.7, 0.6), ("c", 0.4, 0.2, 0.3), ("d", 0.2, 0.0, 0.1)]


def _shown(page: str, **known: Any) -> Any:
    blocks = re.findall(r"```python\n(.*?)```", (_DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    [block] = [block for block in blocks if "ragledger.current()" in block]
    names: dict[str, Any] = {"Any": Any, "Candidate": Candidate, "ragledger": ragledger, **known}
    exec(block, names)
    return names["HybridRetriever"]


def _langchain(ledger: MemoryLedger) -> list[str]:
    def rank(query: str, alpha: float) -> list[Any]:
        return [(Document(id=name, page_content=name), *scores) for name, *scores in _SCORED]

    shown = _shown("adapters-langchain.md", BaseRetriever=Chain, Document=Document, rank=rank)
    return [found.id for found in observe(shown(), ledger).invoke("q")]


def _llama_index(ledger: MemoryLedger) -> list[str]:
    def rank(query: str, alpha: float) -> list[Any]:
        return [(TextNode(id_=name, text=name), *scores) for name, *scores in _SCORED]

    shown = _shown(
        "adapters-llama-index.md",
        BaseRetriever=Index,
        QueryBundle=QueryBundle,
        NodeWithScore=NodeWithScore,
        rank=rank,
    )
    manager = CallbackManager([LedgerCallbackHandler(ledger)])
    return [found.node.node_id for found in shown(callback_manager=manager).retrieve("q")]


@pytest.mark.parametrize("search", [_langchain, _llama_index])
def test_the_body_that_the_page_shows_hands_over_what_it_says(search: Any) -> None:
    ledger = MemoryLedger()
    assert search(ledger) == ["a", "b", "c"]
    row = ledger.row
    assert (json.loads(row.weights)["effective"], row.top_k) == ({"alpha": 0.6}, 3)
    said = [(hit.chunk_id, hit.vector_score, hit.lexical_score, hit.score) for hit in row.hit_rows]
    assert said == _SCORED
    assert [hit.admitted for hit in row.hit_rows] == [True, True, True, False]
    assert ledger.guard.faults == {}
    ledger.close()
