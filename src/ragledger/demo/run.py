"""The demo from start to end: serve, index, ask, vote, ship, collect, measure, draw."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from psycopg import Connection

import ragledger
from ragledger.errors import CollectorBusy
from ragledger.measurement import Measurement, Window, measure
from ragledger.panels import dashboards
from ragledger.postgres.connection import connect
from ragledger.report.picture import Choice
from ragledger.report.writing import write_report
from ragledger.schema import apply
from ragledger.wiring import Target, target_from
from ragledger_collector import Collector

from .corpus import load_corpus
from .hybrid import HybridSearch, load_embedder
from .index import build
from .judgments import load_questions
from .traffic import ask_all, vote_all

if TYPE_CHECKING:
    from ragledger.cli.demo import Steps

__all__ = ["run"]


_REPORTED = timedelta(minutes=20)


def run(dsn: str, project: str, limit: int, html: Path, steps: Steps) -> Measurement:
    """Everything, the page in the file `html` included; what it gives back is the measurement, to be printed."""
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
            _collect(connection, steps)
            with steps.step("measure") as step:
                measurement = measure(connection, Window(project=project))
                step.note = "every number below is computed from the table"
        ledger.close()
        _draw(target, project, html, steps)
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


def _collect(connection: Connection[tuple[object, ...]], steps: Steps) -> None:
    with steps.step("collect rollups for the dashboards") as step:
        collector = Collector(connection)
        try:
            collector.lock()
        except CollectorBusy as exc:
            step.note = str(exc)
            return
        passed = collector.run()
        step.note = f"{passed.records} records, {passed.minutes} minutes"


def _draw(target: Target, project: str, html: Path, steps: Steps) -> None:
    now = datetime.now(timezone.utc)
    panels = sum(len(dashboard.panels()) for dashboard in dashboards())
    html.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with steps.step("draw the report", panels) as step:
        write_report(
            target.connect, html, Choice(project=project, since=now - _REPORTED), now, lambda _: step.tick()
        )
        step.note = str(html)
