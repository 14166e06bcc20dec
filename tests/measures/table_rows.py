"""Rows for the telemetry table, said in words: what a test does not name has an unremarkable value."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

START = datetime(2026, 3, 1, 9, 0, tzinfo=timezone.utc)
WRITER = UUID(int=0xABC)
WEIGHTS = {
    "configured": {"vector": 0.6, "lexical": 0.4},
    "effective": {"vector": 0.6, "lexical": 0.4},
    "source": "declared",
    "unknown": [],
}


def minutes(count: float) -> datetime:
    return START + timedelta(minutes=count)


class TableRows:
    """Collects rows and inserts them. Ids count upwards, so that they order as they were made."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {
            "searches": [],
            "hits": [],
            "deliveries": [],
            "feedback": [],
            "assessments": [],
        }
        self._numbers = itertools.count(1)

    def search(self, *hits: dict[str, Any], **given: Any) -> UUID:
        """A search with these hits, at ranks 1, 2, ... unless they say otherwise."""
        search_id = given.pop("search_id", None) or UUID(int=next(self._numbers))
        row = {
            "search_id": search_id,
            "started_at": minutes(len(self.rows["searches"])),
            "project": "default",
            "corpus": "handbook",
            "surface": "study",
            "session_id": None,
            "actor_kind": "human",
            "framework": "core",
            "root_id": search_id,
            "depth": 0,
            "attempt_of": None,
            "status": "ok",
            "skip_reason": None,
            "degraded": False,
            "degraded_reason": None,
            "vector_available": True,
            "latency_ms": 12.5,
            "admitted_count": sum(hit["admitted"] for hit in hits),
            "weights": WEIGHTS,
            "epoch": "e1",
            "index_version": None,
            "embedding_model": None,
            "flags": [],
            **given,
        }
        self.rows["searches"].append({**row, **self._writer()})
        for rank, hit in enumerate(hits, start=1):
            self.rows["hits"].append({"search_id": search_id, "rank": rank, **hit})
        return search_id

    def vote(
        self, search_id: UUID, rank: int, outcome: str, by: str = "human:ana", at: datetime | None = None
    ) -> None:
        self._feedback(search_id, rank, by, at, stage="judged", outcome=outcome)

    def opened(self, search_id: UUID, rank: int, by: str = "human:ana", at: datetime | None = None) -> None:
        self._feedback(search_id, rank, by, at, stage="accessed", outcome=None)

    def deliver(self, search_id: UUID, hit_ranks: Sequence[int], at: datetime | None = None) -> None:
        self.rows["deliveries"].append(
            {
                "search_id": search_id,
                "delivery_id": UUID(int=next(self._numbers)),
                "by": "reranker",
                "hit_ranks": list(hit_ranks),
                "delivered_at": at or START,
                **self._writer(),
            }
        )

    def assess(
        self,
        search_id: UUID,
        name: str,
        value: float | None,
        method: str | None = "v1",
        at: datetime | None = None,
    ) -> None:
        self.rows["assessments"].append(
            {
                "search_id": search_id,
                "assessment_id": UUID(int=next(self._numbers)),
                "name": name,
                "value": value,
                "method": method,
                "assessed_at": at or START,
                **self._writer(),
            }
        )

    def insert(self, connection: psycopg.Connection[Any]) -> None:
        with connection.transaction(), connection.cursor() as cursor:
            for table, rows in self.rows.items():
                for row in rows:
                    values = {name: Jsonb(v) if isinstance(v, dict) else v for name, v in row.items()}
                    cursor.execute(_insert(table, list(values)), values)

    def _feedback(self, search_id: UUID, rank: int, by: str, at: datetime | None, **what: Any) -> None:
        kind, _, name = by.partition(":")
        self.rows["feedback"].append(
            {
                "search_id": search_id,
                "feedback_id": UUID(int=next(self._numbers)),
                "rank": rank,
                "actor_kind": kind,
                "actor_id": name or None,
                "given_at": at or START,
                **what,
                **self._writer(),
            }
        )

    def _writer(self) -> dict[str, Any]:
        return {"writer_id": WRITER, "writer_seq": next(self._numbers)}


def hit(chunk_id: str = "c", **given: Any) -> dict[str, Any]:
    """An admitted hit with a score of each signal."""
    return {
        "chunk_id": chunk_id,
        "document_id": "d1",
        "score": 0.5,
        "score_kind": "fused",
        "vector_score": 0.6,
        "lexical_score": 0.3,
        "signals": None,
        "admitted": True,
        **given,
    }


def padding(chunk_id: str = "c", **given: Any) -> dict[str, Any]:
    """What a lexical retriever fills its list with."""
    return hit(chunk_id, **{"score": 0.0, "vector_score": None, "lexical_score": 0.0, **given})


def _insert(table: str, columns: list[str]) -> sql.Composed:
    return sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, columns)),
        sql.SQL(", ").join(map(sql.Placeholder, columns)),
    )
