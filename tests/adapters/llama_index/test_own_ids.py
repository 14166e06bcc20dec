"""A node that makes its id itself: its hits, its votes and its deliveries know it by the same one."""

from __future__ import annotations

from adapters.llama_index.doubles import ListRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms.mock import MockLLM
from llama_index.core.postprocessor import LongContextReorder
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode
from llama_index.core.schema import NodeWithScore, TextNode

from ragledger.testing import MemoryLedger
from ragledger_llama_index import LedgerCallbackHandler


class Versioned(TextNode):
    """Has an id of its own making."""

    @property
    def node_id(self) -> str:
        return f"v2:{self.id_}"


def nodes() -> list[NodeWithScore]:
    return [
        NodeWithScore(node=Versioned(id_="a", text="text of a"), score=0.9),
        NodeWithScore(node=TextNode(id_="b", text="text of b"), score=0.4),
        NodeWithScore(node=Versioned(id_="c", text="text of c"), score=0.2),
    ]


def test_its_hits_and_its_deliveries_have_the_same_id(memory_ledger: MemoryLedger):
    handler = LedgerCallbackHandler(memory_ledger)
    marked = ListRetriever(nodes(), callback_manager=CallbackManager([handler]))
    engine = RetrieverQueryEngine.from_args(
        marked, llm=MockLLM(), node_postprocessors=[LongContextReorder()], response_mode=ResponseMode.COMPACT
    )
    answer = engine.query("q")

    known = [node.node.node_id for node in nodes()]
    assert [hit.chunk_id for hit in memory_ledger.hits] == known == ["v2:a", "b", "v2:c"]
    [delivery] = memory_ledger.deliveries
    delivered = [node.node.node_id for node in answer.source_nodes]
    assert [known[rank - 1] for rank in delivery.hit_ranks] == delivered
    [row] = memory_ledger.searches
    assert memory_ledger.vote(row.search_id, delivered[0], "relevant").status == "journalled"
