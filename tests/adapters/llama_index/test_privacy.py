"""P9, D20, D21: no query, chunk, metadata or exception text anywhere."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from adapters.llama_index.doubles import BodyRetriever, FailingEmbedding, ListRetriever, vector_index
from llama_index.core.callbacks import CallbackManager
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters
from llama_index_instrumentation.dispatcher import instrument_tags

from ragledger import Ledger
from ragledger_llama_index import LedgerCallbackHandler, LlamaIndexInstrumentor

pytestmark = pytest.mark.pg
CANARY = "SECRET"


def secret_node(name: str) -> TextNode:
    return TextNode(
        id_=name,
        text="SECRET-C chunk",
        metadata={"note": "SECRET-M", "doc_id": ["SECRET-M"], "document_id": "d"},
    )


def fails(_: Any) -> Any:
    raise ValueError("SECRET-E no rows for SECRET-jane@x.org")


class SecretNode(NodeWithScore):
    def __getattribute__(self, name: str) -> Any:
        if name == "score":
            raise RuntimeError("SECRET-S")
        return super().__getattribute__(name)


class Unchecked(ListRetriever):
    def retrieve(self, str_or_query_bundle: Any) -> Any:
        return self.result


async def test_d20_d21_canaries_are_nowhere(
    make_ledger: Callable[..., Ledger], database: Any, spans: Any, tmp_path: Path, caplog: Any, capfd: Any
):
    caplog.set_level(logging.DEBUG)
    ledger = make_ledger(strict=False, tracer_provider=spans.provider, journal_dir=tmp_path / "journal")
    manager = CallbackManager([LedgerCallbackHandler(ledger)])
    LlamaIndexInstrumentor().instrument(ledger=ledger)
    good = ListRetriever([NodeWithScore(node=secret_node("n1"), score=0.5)], callback_manager=manager)
    odd = Unchecked([SecretNode(node=secret_node("n2"))], callback_manager=manager)
    bad = BodyRetriever(fails, callback_manager=manager)
    nested = QueryFusionRetriever([good, bad], num_queries=1, use_async=False, callback_manager=manager)
    filters = MetadataFilters(filters=[MetadataFilter(key="SECRET-K", value="SECRET-V")])
    index = vector_index(manager=manager)
    unreachable = index.as_retriever(embed_model=FailingEmbedding(embed_dim=36))
    with instrument_tags({"step.input_summary": "SECRET-T", "ragledger.surface": "study"}):
        good.retrieve("SECRET-Q")
        await good.aretrieve("SECRET-Q")
        odd.retrieve("SECRET-Q")
        index.as_retriever(filters=filters).retrieve("SECRET-Q")
        for failing in (bad, nested):
            with pytest.raises(ValueError, match="SECRET-E"):
                failing.retrieve("SECRET-Q")
            with pytest.raises(ValueError, match="SECRET-E"):
                await failing.aretrieve("SECRET-Q")
        with pytest.raises(ConnectionError, match="SECRET-Q"):
            unreachable.retrieve("SECRET-Q")
    assert ledger.flush()
    assert database.value("SELECT count(*) FROM searches") >= 11
    assert spans.finished
    nowhere_in_the_database(database)
    nowhere_in_spans_and_journal(spans, tmp_path / "journal")
    ours = [record for record in caplog.records if record.name.startswith("ragledger")]
    assert CANARY not in "".join(record.getMessage() + str(record.exc_text) for record in ours)
    written = capfd.readouterr()
    assert CANARY not in written.out + written.err


def nowhere_in_the_database(database: Any) -> None:
    tables = database.rows(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = 'ragledger'"
    )
    assert tables
    for (table,) in tables:
        assert CANARY not in str(database.rows(f'SELECT t::text FROM "{table}" t')), table


def nowhere_in_spans_and_journal(spans: Any, journal: Path) -> None:
    for span in spans.finished:
        assert CANARY not in span.to_json()
        assert CANARY not in json.dumps([[event.name, str(event.attributes)] for event in span.events])
    files = [path for path in journal.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert CANARY.encode() not in path.read_bytes(), path
