"""Ids, ranks and scores: where they come from, and P8: unknown is not zero."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from adapters.langchain.world import Calling, Listed, Table, document, documents, vector_store
from fix_spans import Spans
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.vectorstores import InMemoryVectorStore

import ragledger
from ragledger import Candidate, Ledger
from ragledger_langchain import observe


@pytest.mark.parametrize(
    ("metadata", "score", "kind", "source", "flags"),
    [
        ({"relevance_score": np.float32(0.25)}, 0.25, "rerank", "metadata.relevance_score", []),  # D11
        ({"relevance_score": 0.0}, 0.0, "rerank", "metadata.relevance_score", []),  # D13
        ({"score": 0.7}, 0.7, "similarity", "metadata.score", []),
        ({"score": 3}, 3.0, "similarity", "metadata.score", []),
        ({"score": np.int64(3)}, 3.0, "similarity", "metadata.score", []),
        ({"score": "0.5"}, 0.5, "similarity", "metadata.score", []),
        ({"score": 0.1, "relevance_score": 0.9}, 0.9, "rerank", "metadata.relevance_score", []),
        ({"score": 0.1, "relevance_score": None}, 0.1, "similarity", "metadata.score", []),
        ({"score": -1.5}, -1.5, "similarity", "metadata.score", []),
        ({"score": "VERY_HIGH"}, None, "none", "unavailable", ["unreadable_score"]),
        ({"score": True}, None, "none", "unavailable", ["unreadable_score"]),
        ({"score": [0.5]}, None, "none", "unavailable", ["unreadable_score"]),
        ({"score": math.nan}, None, "none", "metadata.score", ["nonfinite_score"]),
        ({"score": np.float64("inf")}, None, "none", "metadata.score", ["nonfinite_score"]),
        ({"score": None}, None, "none", "unavailable", []),
        ({"_score": 12.5}, 12.5, "similarity", "metadata._score", []),
        ({"_score": np.float32(0.5), "score": None}, 0.5, "similarity", "metadata._score", []),
        ({"distance": 0.2}, 0.2, "distance", "metadata.distance", []),
        ({"distance": 0.0}, 0.0, "distance", "metadata.distance", []),
        ({"distance": 0.2, "relevance_score": 0.8}, 0.8, "rerank", "metadata.relevance_score", []),
        ({"distance": "far"}, None, "none", "unavailable", ["unreadable_score"]),
        ({"distance": math.inf}, None, "none", "metadata.distance", ["nonfinite_score"]),
        ({}, None, "none", "unavailable", []),
    ],
)
def test_p8_a_score_is_a_number_from_a_known_place_or_null(
    metadata: dict[str, Any],
    score: float | None,
    kind: str,
    source: str,
    flags: list[str],
    ledger: Ledger,
    table: Table,
) -> None:
    observe(Listed(found=[document("a", **metadata)]), ledger).invoke("q")
    (hit,) = table.hits()
    assert (hit["score"], hit["score_kind"], hit["score_source"]) == (score, kind, source)
    row = table.one()
    assert (row["flags"], row["top_admitted_score"]) == (flags, score)


def test_p8_d12_a_vector_store_retriever_drops_its_scores(ledger: Ledger, table: Table) -> None:
    retriever = vector_store().as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.0}
    )
    observe(retriever, ledger).invoke("q")
    assert {(hit["score"], hit["score_source"]) for hit in table.hits()} == {(None, "unavailable")}
    assert len(table.hits()) == 4


def test_scores_that_the_retriever_hands_over_reach_the_hits(ledger: Ledger, table: Table) -> None:
    def body(query: str) -> list[Document]:
        ragledger.current().candidates(
            Candidate("a", "d1", vector=0.9, lexical=0.1, score=0.58),
            Candidate("b", "d1", vector=0.2, lexical=None, score=0.12),
            Candidate("c", "d2", vector=0.1, score=0.06, admitted=False),
        )
        return documents("a", "b")

    observe(Calling(body=body), ledger).invoke("q")
    hits = table.hits()
    assert [(hit["chunk_id"], hit["vector_score"], hit["score"], hit["admitted"]) for hit in hits] == [
        ("a", 0.9, 0.58, True),
        ("b", 0.2, 0.12, True),
        ("c", 0.1, 0.06, False),
    ]
    assert "unavailable" not in {hit["score_source"] for hit in hits}
    row = table.one()
    assert (row["candidate_count"], row["admitted_count"], row["vector_available"]) == (3, 2, True)


class Forgetful(BaseDocumentCompressor):
    """Gives new documents for old ones, as filters and extractors do."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return [Document(page_content=item.page_content, metadata=item.metadata) for item in documents[:2]]


# --- ids ---------------------------------------------------------------------------------------------------


def test_d15_an_integer_id_keeps_every_digit(ledger: Ledger, table: Table) -> None:
    found = document("x")
    found.id = 1034556054119387216  # type: ignore[assignment]
    other = document("y")
    other.id = uuid.UUID(int=7)  # type: ignore[assignment]
    observe(Listed(found=[found, other]), ledger).invoke("q")
    assert [(hit["chunk_id"], hit["chunk_id_source"]) for hit in table.hits()] == [
        ("1034556054119387216", "framework"),
        (str(uuid.UUID(int=7)), "framework"),
    ]


def test_d17_a_document_without_an_id_has_the_same_one_each_time(ledger: Ledger, table: Table) -> None:
    retriever = observe(Listed(found=[document(None, "SECRET-C"), document("", "SECRET-D")]), ledger)
    retriever.invoke("q")
    retriever.found = [document(None, "SECRET-C")]
    receipt_row = retriever.invoke("q")
    assert receipt_row[0].id is None
    first, other, again = table.hits()
    assert first["chunk_id"] == again["chunk_id"] != other["chunk_id"]
    assert {hit["chunk_id_source"] for hit in table.hits()} == {"derived"}
    assert "SECRET" not in str(table.hits())


def test_ids_come_from_the_configured_keys(ledger: Ledger, table: Table) -> None:
    ledger.chunk_id_key = "chunk"
    ledger.source_kind_key = "kind"
    given = [
        document(None, "1", chunk="m1", source_id="s1", doc_id="d1", kind="pdf"),
        document("own", "2", chunk="m2", source_id=7),
        document(None, "3", chunk={"text": "SECRET"}, doc_id=["SECRET"], kind=None),
        document(None, "4", chunk=np.int64(12)),
    ]
    observe(Listed(found=given), ledger).invoke("q")
    hits = table.hits()
    assert [(hit["chunk_id"], hit["chunk_id_source"]) for hit in hits[:2]] == [
        ("m1", "metadata"),
        ("m2", "metadata"),  # the configured key wins, as in LlamaIndex
    ]
    assert (hits[2]["chunk_id_source"], hits[3]["chunk_id"]) == ("derived", "12")
    assert [(hit["document_id"], hit["source_kind"]) for hit in hits] == [
        ("d1", "pdf"),
        ("7", None),
        (None, None),
        (None, None),
    ]


def test_d16_a_compressor_that_loses_ids_leaves_the_base_s_or_derived_ones(
    ledger: Ledger, table: Table
) -> None:
    classic = pytest.importorskip("langchain_classic.retrievers")

    def searched(base: Any) -> list[tuple[str, str, bool]]:
        retriever = classic.ContextualCompressionRetriever(base_compressor=Forgetful(), base_retriever=base)
        assert {item.id for item in observe(retriever, ledger).invoke("q")} == {None}
        root, _ = table.searches()[-2:]
        return [(hit["chunk_id"], hit["chunk_id_source"], hit["admitted"]) for hit in table.hits(root)]

    base = vector_store().as_retriever()
    found = [item.id for item in base.invoke("q")]
    assert searched(base) == [(each, "framework", place < 2) for place, each in enumerate(found)]
    nameless = searched(
        Listed(found=[document(None, "SECRET-A"), document("", "SECRET-B"), document(None, "c")])
    )
    assert [(source, admitted) for _, source, admitted in nameless] == [
        ("derived", True),
        ("derived", True),
        ("derived", False),
    ]
    assert "SECRET" not in str(nameless)


def test_d18_a_chunk_returned_twice_is_one_hit_at_its_best_rank(ledger: Ledger, table: Table) -> None:
    observe(Listed(found=documents("a", "b", "a")), ledger).invoke("q")
    assert [(hit["rank"], hit["chunk_id"]) for hit in table.hits()] == [(1, "a"), (2, "b")]
    assert table.one()["flags"] == ["duplicate_hit"]


def test_d19_ids_that_postgres_refuses_cost_nobody_a_row(ledger: Ledger, table: Table) -> None:
    retriever = observe(Listed(found=documents("fine")), ledger)
    retriever.invoke("q")
    bad = documents("x", "y")
    bad[0].id, bad[1].id = "a\u0000b", "\ud800"
    retriever.found = bad
    retriever.invoke("q")
    retriever.found = documents("fine")
    retriever.invoke("q")
    assert [row["flags"] for row in table.searches()] == [[], ["sanitised_id"], []]
    assert [hit["chunk_id"] for hit in table.hits()] == ["fine", "a\\u0000b", "\\ud800", "fine"]


def test_d22_thousands_of_heavy_hits_stay_small(
    make_ledger: Callable[..., Ledger], database: Any, spans: Spans
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    heavy = "x" * 1_000_000
    given = [document(f"c{number}", "text", blob=heavy) for number in range(5000)]
    observe(Listed(found=given), ledger).invoke("q")
    table = Table(database).of(ledger)
    row = table.one()
    assert (row["admitted_count"], len(table.hits()), row["flags"]) == (5000, 1000, ["hits_capped"])
    (span,) = spans.finished
    assert len(span.to_json()) < 8192


def test_hits_are_a_snapshot(ledger: Ledger, table: Table) -> None:
    found = [document("a", score=0.9), document("b", score=0.5)]
    result = observe(Listed(found=found), ledger).invoke("q")
    result[0].metadata["score"] = 12
    result[0].id = "changed"
    result.reverse()
    assert [(hit["chunk_id"], hit["score"]) for hit in table.hits()] == [("a", 0.9), ("b", 0.5)]


def test_an_empty_result_is_an_ok_search_with_nothing(ledger: Ledger, table: Table) -> None:
    store = InMemoryVectorStore(vector_store().embedding)
    assert observe(store.as_retriever(), ledger).invoke("q") == []
    row = table.one()
    assert (row["status"], row["candidate_count"], row["admitted_count"]) == ("ok", 0, 0)
    assert row["top_admitted_score"] is None
