"""A LangChain application with Ragledger. Run it with RAGLEDGER_DSN set, or nothing set for an embedded Postgres."""

from __future__ import annotations

import os

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

import ragledger
from ragledger_langchain import observe

texts = ["Refunds take five days.", "Shipping is free above 50.", "Returns need the receipt."]
store = InMemoryVectorStore.from_texts(texts, DeterministicFakeEmbedding(size=64))

ledger = ragledger.open(os.environ.get("RAGLEDGER_DSN", "embedded"), project="shop")
retriever = observe(store.as_retriever(search_kwargs={"k": 2}), ledger, corpus="handbook")

with ragledger.context(surface="chat", session_id="s-1", actor="human:ana"), ragledger.capture() as receipts:
    documents = retriever.invoke("How long do refunds take?")

receipt = receipts[0]
if receipt.search_id is not None:  # None: nothing was kept, so there is nothing to vote on
    ledger.vote(receipt.search_id, documents[0].id, "relevant", actor="human:ana")
print(f"{len(documents)} documents, search {receipt.search_id}")
ledger.close()
