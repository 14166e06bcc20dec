"""The demo from start to end: serve, index, ask, vote, ship, measure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import Connection

import ragledger
from ragledger.measurement import Measurement, Window, measure
from ragledger.postgres.connection import connect
from ragledger.schema import apply
from ragledger.wiring import target_from

from .corpus import load_corpus
from .hybrid import HybridSearch, load_embedder
from .index import build
from .judgments import load_questions
from .traffic import ask_all, vote_all

if TYPE_CHECKING:
    from ragledger.cli.demo import Steps

__all__ = ["run"]


def run(dsn: str, project: str, limit: int, steps: Steps) -> Measurement:
    """Everything; what it gives back is the measurement, to be printed."""
    with steps.step("start Postgres") as step:
        target = target_from(dsn=dsn, project=project)
        with connect(target.dsn, target.schema) as connection:
            version = connection.info.server_version
            apply(connection, target.schema)
        step.note = f"version {version // 10000}.{version % 10000}, schema `{target.schema}`"
    try:
        ledger = ragledger.open(target.dsn, project=project, name=project)
        with connect(target.dsn, target.schema) as connection:
            _fill(ledger, connection, limit, steps)
            with steps.step("measure") as step:
                measurement = measure(connection, Window(project=project))
                step.note = "every number below is computed from the table"
        ledger.close()
    finally:
        target.release()
    return measurement


def _fill(
    ledger: ragledger.Ledger, connection: Connection[tuple[object, ...]], limit: int, steps: Steps
) -> None:
    with steps.step("load the embedding model") as step:
        embed = load_embedder()
        step.note = "wordllama, 256 dimensions, from its wheel"
    corpus = load_corpus()
    with steps.step("index the Python language reference", len(corpus)) as step:
        step.note = f"{build(connection, corpus, embed)} passages in pgvector"
    questions = load_questions()[:limit]
    hybrid = HybridSearch(connection=connection, embed=embed)
    with steps.step("ask through LangChain and LlamaIndex", len(questions)) as step:
        asked = list(ask_all(ledger, hybrid, questions, step.tick))
        step.note = f"{len(questions)} judged questions on two surfaces"
    with steps.step("vote from the judged set", len(asked)) as step:
        counts = vote_all(ledger, asked, {passage.chunk_id: passage for passage in corpus})
        step.note = f"{counts['votes']} votes, {counts['accessed']} passages opened"
    with steps.step("ship the journal to the table") as step:
        step.note = "everything is in" if ledger.flush(30) else "not all of it: see `ragledger doctor`"
