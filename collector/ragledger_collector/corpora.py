"""Counts how much of each corpus is in use, after the documents of days: `sql/corpora.sql`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from ragledger.postgres.connection import Connection
from ragledger.sql import named_queries

__all__ = ["changed", "count_corpora"]

Changed = list[tuple[str, int | None, int | None]]
Step = Callable[[], AbstractContextManager[None]]


def count_corpora(connection: Connection, step: Step) -> Iterator[None]:
    """Every corpus of a project whose documents or inventory have changed, each in a transaction of its own.

    What changes meanwhile is the next pass's: an inventory that is written all the time must not hold one up for ever.
    """
    with step():
        _mark_changed(connection)
        waiting: list[Any] = connection.execute(_query("waiting")).fetchall()
    yield
    for project, corpus in waiting:
        with step():
            # Again: what is counted and what is noted of the inventory must come from one snapshot.
            _mark_changed(connection, corpus)
            for name in ("clear_corpus", "corpus", "done"):
                connection.execute(_query(name), {"project": project, "corpus": corpus})
        yield


def changed(connection: Connection, corpus: str | None = None) -> Changed:
    """Corpora whose inventory is another than was noted, with how many documents it has and their fingerprint."""
    rows: list[Any] = connection.execute(_query("changed"), {"corpus": corpus}).fetchall()
    return rows


def _mark_changed(connection: Connection, corpus: str | None = None) -> None:
    if found := changed(connection, corpus):
        corpora, documents, fingerprints = map(list, zip(*found, strict=True))
        given = {"corpora": corpora, "documents": documents, "fingerprints": fingerprints}
        connection.execute(_query("mark_changed"), given)


def _query(name: str) -> Any:
    return named_queries("corpora", "ragledger_collector.sql")[name]
