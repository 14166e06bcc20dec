"""Something in every panel: two projects, three days, a change of weights, every way to end, votes, and writers in every state."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import psycopg
from collector_world import arrive, collect
from fix_pg import Database
from measures.table_rows import START, TableRows, hit

from ragledger.panels import dashboards
from ragledger.panels.choices import ALL
from ragledger.panels.macros import TimeRange, expand
from ragledger.panels.panel import Dashboard

EVERYTHING = TimeRange(start=START - timedelta(hours=1), end=START + timedelta(days=3))
RANGES = {
    "minutes": TimeRange(start=START - timedelta(minutes=5), end=START + timedelta(hours=5)),
    "hours": EVERYTHING,
    "days": TimeRange(start=START - timedelta(days=60), end=START + timedelta(days=30)),
}
WEIGHTS = [
    {"configured": {"vector": v}, "effective": {"vector": v}, "source": "declared", "unknown": []}
    for v in (0.6, 0.8)
]
_DOCUMENTS = [f"d{number}" for number in range(12)]


def choices(projects: Sequence[str] = ("default", "shop"), **given: Any) -> dict[str, Any]:
    """Values of all variables: every one of everything, but what is given."""
    fixed = {
        variable.name: variable.options[0]
        for dashboard in dashboards()
        for variable in dashboard.variables
        if variable.options
    }
    every = dict.fromkeys(("corpus", "surface", "epoch", "actor_kind"), ALL)
    return {"project": list(projects), **every, **fixed, **given}


def fill(database: Database) -> None:
    """Writes it all, and lets the collector count it."""
    rows = TableRows()
    draw = random.Random(7)
    for number in range(120):
        _search(rows, draw, number)
    with database.connect() as connection:
        arrive(connection, rows)
        _pipeline(connection)
    collect(database)
    with database.connect() as connection:  # what no pass has seen yet
        late = TableRows()
        late.rows["searches"].clear()
        late.search(hit(), search_id=UUID(int=10**9), started_at=START + timedelta(days=2))
        late.rows["searches"][0]["writer_seq"] = 10**6
        arrive(connection, late)


def _search(rows: TableRows, draw: random.Random, number: int) -> None:
    started_at = START + timedelta(minutes=number * 30 + draw.randrange(10))
    second = number >= 60
    status = draw.choices(["ok", "error", "cancelled", "skipped"], [90, 4, 2, 4])[0]
    found = [
        hit(f"c{place}", document_id=draw.choice(_DOCUMENTS), source_kind=draw.choice(["page", None, "faq"]))
        for place in range(draw.choice([0, 3, 8]) if status == "ok" else 0)
    ] + [hit("quiet", document_id="nobody-opens-this")] * (status == "ok" and number % 10 == 0)
    degraded = draw.random() < 0.1
    search_id = rows.search(
        *found,
        started_at=started_at,
        project=draw.choice(["default", "default", "shop"]),
        corpus=draw.choice(["handbook", None]),
        surface=draw.choice(["study", "agent", None]),
        actor_kind=draw.choice(["human", "agent"]),
        epoch="e2" if second else "e1",
        weights=WEIGHTS[second],
        status=status,
        skip_reason=draw.choice(["no_goal", "off"]) if status == "skipped" else None,
        degraded=degraded and status != "skipped",
        degraded_reason=draw.choice(["retry", None]) if degraded else None,
        vector_available=draw.choice([True, True, False, None]),
        latency_ms=draw.lognormvariate(3, 1) if status != "skipped" else None,
        candidate_count=len(found) * 3 if status == "ok" else None,
        top_candidate_score=0.9 if found else None,
        top_admitted_score=0.8 if found else None,
    )
    for rank in (rank for rank, one in enumerate(found, start=1) if one["chunk_id"] != "quiet"):
        if draw.random() < 0.5:
            rows.opened(search_id, rank)
        if draw.random() < 0.4:
            outcome = draw.choice(["not_relevant", "relevant", "highly_relevant"])
            rows.vote(search_id, rank, outcome, draw.choice(["human:ana", "human:ben", "agent:7"]))


def _pipeline(connection: psycopg.Connection[Any]) -> None:
    """Documents that could have been found, and writers that wait, were refused, rejected, have a gap, or are done."""
    connection.execute(
        "INSERT INTO inventory (corpus, document_id)"
        " SELECT c, 'd' || n FROM unnest(ARRAY['handbook', 'archive']) AS c, generate_series(0, 19) AS n"
    )
    connection.execute(
        "INSERT INTO writers (writer_id, project, host, pid, started_at, last_seen_at, finished_at, attempted, refused,"
        " shipped, landed) VALUES"
        " (%(waits)s, 'default', 'h', 2, %(at)s, %(at)s, NULL, 9, '{\"cap\": 2}', 5, '{[1,6)}'),"
        " (%(gap)s, 'shop', 'h', 3, %(at)s, %(at)s, NULL, 5, '{}', 5, '{[1,3)}'),"
        " (%(done)s, 'shop', 'h', 4, %(at)s, %(at)s, %(at)s, 0, '{}', 0, '{}')",
        {"waits": UUID(int=11), "gap": UUID(int=12), "done": UUID(int=13), "at": START},
    )
    connection.execute(
        "INSERT INTO rejected (writer_id, writer_seq, kind, reason, rejected_at) VALUES (%s, 4, 'vote', 'unknown_search', %s)",
        [UUID(int=12), START],
    )
    connection.execute(
        "INSERT INTO pending_feedback (search_id, feedback_id, rank, stage, actor_kind, given_at, writer_id, writer_seq,"
        " received_at) VALUES (%s, %s, 1, 'accessed', 'human', %s, %s, 5, %s)",
        [UUID(int=5), UUID(int=6), START, UUID(int=12), START],
    )


def run(
    connection: psycopg.Connection[Any], query: str, when: TimeRange = EVERYTHING, **given: Any
) -> tuple[list[str], list[Any], list[tuple[Any, ...]]]:
    """The names and types of the columns, and the rows."""
    cursor = connection.execute(expand(query, when, choices(**given)))  # type: ignore[arg-type]
    described = cursor.description or []
    return [one.name for one in described], [one.type_code for one in described], cursor.fetchall()


def every_panel() -> list[Any]:
    return [(board, panel) for board in dashboards() for panel in board.panels()]


def named(uid: str) -> Dashboard:
    return next(board for board in dashboards() if board.uid == uid)


def moment(value: datetime) -> float:
    return value.timestamp()
