"""A LlamaIndex application with Ragledger. Run it with RAGLEDGER_DSN set, or nothing set for an embedded Postgres."""

from __future__ import annotations

import os

from llama_index.core import Document, MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.callbacks import CallbackManager

import ragledger
from ragledger_llama_index import LedgerCallbackHandler

ledger = ragledger.open(os.environ.get("RAGLEDGER_DSN", "embedded"), project="shop")
Settings.callback_manager = CallbackManager([LedgerCallbackHandler(ledger, corpus="handbook")])
Settings.embed_model = MockEmbedding(embed_dim=8)

texts = ["Refunds take five days.", "Shipping is free above 50.", "Returns need the receipt."]
retriever = VectorStoreIndex.from_documents([Document(text=text) for text in texts]).as_retriever()

with ragledger.context(surface="chat", session_id="s-1", actor="human:ana"), ragledger.capture() as receipts:
    nodes = retriever.retrieve("How long do refunds take?")

receipt = receipts[0]
if receipt.search_id is not None:  # None: nothing was kept, so there is nothing to vote on
    ledger.vote(receipt.search_id, nodes[0].node.node_id, "relevant", actor="human:ana")
print(f"{len(nodes)} nodes, search {receipt.search_id}")
ledger.close()
