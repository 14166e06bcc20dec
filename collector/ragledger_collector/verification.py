"""Promise P11 as a check: rollups against the raw rows, cell by cell, in one snapshot."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timezone
from itertools import groupby
from operator import itemgetter
from typing import Any
from uuid import UUID

import msgspec
from psycopg import sql

from ragledger.measures.documents import add_totals, corpora_of, corpus_days_of
from ragledger.measures.rollup import Cells, Counted, Key, add, cells_of, day_of, latency_parts_of
from ragledger.postgres.connection import Connection, by_name, reading
from ragledger.sql import named_queries

from . import arrivals
from .corpora import changed
from .raw import Attempts, Row, hits_of, logical

__all__ = ["Difference", "Sealed", "Verified", "verify"]

_OWN_KEY: dict[str, tuple[str, ...]] = {
    "rollup_searches": (),
    "rollup_latency": ("bin",),
    "rollup_words": ("what", "word"),
    "rollup_shown": ("position",),
    "rollup_votes": ("position", "voter"),
    "rollup_judged": ("voter", "k"),
}
_SERIES = ("corpus", "surface", "has_session", "actor_kind", "epoch")
_DOCUMENT = ("corpus", "document_id")
_WITHOUT_SERIES: dict[str, tuple[str, ...]] = {
    "rollup_latency_parts": ("part",),
    "rollup_document_days": _DOCUMENT,
    "rollup_corpus_days": ("corpus",),
}
_DERIVED = frozenset({"rollup_latency_parts", "rollup_corpus_days"})
_OF_DOCUMENTS = frozenset({"rollup_document_days", "rollup_corpus_days"})
_BUCKET = ("grain", "project", "bucket")
_KEYS = {*_BUCKET, *_SERIES, "series_id", "of_project"}
_COARSER: dict[Any, tuple[str, dict[str, Any]]] = {
    "minute": ("hour", {"minute": 0}),
    "hour": ("day", {"minute": 0, "hour": 0}),
}
_MISSING, _UNEXPECTED = "(missing)", "(unexpected)"


class Difference(msgspec.Struct, frozen=True):
    """A row of a rollup that is not what the table says, and in which columns."""

    table: str
    grain: str
    project: str
    bucket: str
    key: tuple[str, ...]
    columns: tuple[str, ...]


class Sealed(msgspec.Struct, frozen=True):
    """How many minutes of a project retention has sealed; `first` and `last` are two of them."""

    project: str
    first: str
    last: str
    minutes: int


class Verified(msgspec.Struct, frozen=True):
    """What was compared, what differs, and what could not be compared: of minutes, days of documents, and corpora."""

    rows: int
    differing: tuple[Difference, ...]
    sealed: tuple[Sealed, ...]
    waiting: int
    waiting_days: int
    waiting_corpora: int


def verify(connection: Connection, step: Callable[[int], None] = lambda _: None) -> Verified:
    """Compares every row of every rollup with what the raw rows say; `step` hears of each day of a project.

    A bucket is left out when retention has sealed a minute of it, or while it waits for the collector; what is a sum of
    other rollups, as hours and days are, is still held against these. A corpus that waits because its inventory is another than was counted is left
    out in what the inventory says.
    """
    with reading(connection):
        return _Check(connection).run(step)


class _Check:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._differing: list[Difference] = []
        self._rows = 0
        self._epochs: dict[tuple[str, str], Row] = {}
        self._latest: dict[tuple[str, str], tuple[datetime, UUID]] = {}
        self._loose: set[tuple[str, str]] = set()  # epochs that nobody can compare
        self._totals: Cells = {}

    def run(self, step: Callable[[int], None]) -> Verified:
        sealed, waiting = self._pairs("sealed"), self._pairs("dirty") | self._not_looked_at()
        excluded = sealed | waiting
        self._excluded = {("minute", project, bucket) for project, bucket in excluded}
        self._excluded |= {("hour", project, bucket.replace(minute=0)) for project, bucket in excluded}
        self._excluded |= {("day", project, day_of(bucket)) for project, bucket in excluded}
        self._no_documents = {(project, day_of(bucket)) for project, bucket in excluded}
        waiting_days = self._pairs("dirty_days")
        self._no_documents |= waiting_days
        attempts: Attempts = {}
        for row in self._all("attempts"):
            own = (row["started_at"], row["search_id"])
            attempts[row["attempt_of"]] = max(attempts.get(row["attempt_of"], own), own)
        for row in self._all("days"):
            self._day({"project": row["project"], "day": row["day"]}, attempts)
            step(1)
        self._rows += self._compare(
            self._totals, _cells("rollup_documents", ("project", *_DOCUMENT), self._all("rollup_documents"))
        )
        waiting_corpora = self._compare_corpora()
        self._compare_epochs()
        return Verified(
            rows=self._rows, differing=tuple(self._differing), sealed=tuple(_ranges(sealed)), waiting=len(waiting),
            waiting_days=len(waiting_days), waiting_corpora=waiting_corpora,
        )  # fmt: skip

    def _day(self, of: Row, attempts: Attempts) -> None:
        expected = cells_of(self._searches(of, attempts))
        expected |= _derived(expected)
        found: Cells = {}
        for table, own in _OWN_KEY.items():
            query = sql.SQL(_query("rollup")).format(table=sql.Identifier(table))
            rows = by_name(self._connection.execute(query, of))
            found |= _cells(table, (*_BUCKET, *_SERIES, *own), rows)
        for table, own in _WITHOUT_SERIES.items():
            found |= _cells(table, (*_BUCKET, *own), self._all(table, of))
        self._note_epochs(expected, found)
        self._rows += self._compare(expected, found, self._left_out)
        if (of["project"], _utc(of["day"])) in self._no_documents:
            self._compare_sums(found)
            add_totals(self._totals, found)
        else:
            add_totals(self._totals, expected)

    def _compare_sums(self, found: Cells) -> None:
        """What the table cannot say, held against other rollups, which it is the sum of."""
        self._compare(
            _derived(found) | _coarser(found), found, lambda key: _is_raw(key) or not self._left_out(key)
        )

    def _searches(self, of: Row, attempts: Attempts) -> list[Counted]:
        parts: dict[str, dict[UUID, list[Row]]] = {}
        for name in ("hits", "deliveries", "feedback"):
            parts[name] = defaultdict(list)
            for row in self._all(name, of):
                parts[name][row["search_id"]].append(row)
        searches = []
        for search_id, row in logical(self._all("searches", of), attempts):
            self._note_search(search_id, row)
            searches.append(hits_of(row, *(parts[name][search_id] for name in parts)))
        return searches

    def _note_search(self, search_id: UUID, row: Row) -> None:
        if row["status"] == "skipped":
            return
        of, own = (row["project"], row["epoch"]), (row["started_at"], search_id)
        epoch = self._epochs.setdefault(of, {"first_seen_at": own[0], "last_seen_at": own[0], "searches": 0})
        epoch["searches"] += 1
        epoch["first_seen_at"] = min(epoch["first_seen_at"], own[0])
        epoch["last_seen_at"] = max(epoch["last_seen_at"], own[0])
        if own >= self._latest.get(of, own):
            self._latest[of] = own
            epoch |= {name: row[name] for name in ("weights", "index_version", "embedding_model")}

    def _note_epochs(self, expected: Cells, found: Cells) -> None:
        for key in (*expected, *found):
            if key[0] == "rollup_searches" and key[1] == "day" and self._left_out(key):
                self._loose.add((key[2], key[8]))

    def _left_out(self, key: Key) -> bool:
        if key[0] in _OF_DOCUMENTS:
            return (key[2], _utc(key[3])) in self._no_documents
        return (key[1], key[2], _utc(key[3])) in self._excluded

    def _compare(
        self, expected: Cells, found: Cells, left_out: Callable[[Key], bool] = lambda _: False
    ) -> int:
        """Says how many rows there are that were expected."""
        rows = 0
        for key in expected.keys() | found.keys():
            if left_out(key):
                continue
            rows += key in expected
            if key not in found:
                self._differ(key, (_MISSING,))
            elif key not in expected:
                self._differ(key, (_UNEXPECTED,))
            elif columns := tuple(
                column for column, value in expected[key].items() if found[key][column] != value
            ):
                self._differ(key, columns)
        return rows

    def _compare_corpora(self) -> int:
        """Says how many wait: their documents or their inventory are others than those that were counted."""
        listed = {(row["corpus"], row["document_id"]) for row in self._all("inventory")}
        other = {corpus for corpus, _, _ in changed(self._connection)}
        waiting = {(row["project"], row["corpus"]) for row in self._all("dirty_corpora")}
        inventories: Cells = {
            ("rollup_inventories", "", corpus): {"documents": documents}
            for corpus, documents in Counter(corpus for corpus, _ in listed).items()
        }
        corpora = corpora_of(self._totals, listed)
        for key, cell in corpora.items():
            if key[2] in other:
                del cell["listed"]  # of an inventory that is gone; the other columns no inventory changes
        self._rows += self._compare(
            inventories | corpora,
            _cells("rollup_inventories", ("project", "corpus"), self._all("rollup_inventories"))
            | _cells("rollup_corpora", ("project", "corpus", "first_day"), self._all("rollup_corpora")),
            lambda key: (key[1], key[2]) in waiting or (key[0] == "rollup_inventories" and key[2] in other),
        )
        return len({corpus for _, corpus in waiting} | other)

    def _compare_epochs(self) -> None:
        found = _cells("epochs", ("project", "epoch"), self._all("epochs"))
        expected: Cells = {("epochs", *of): cell for of, cell in self._epochs.items()}
        self._rows += self._compare(expected, found, lambda key: key[1:] in self._loose)

    def _differ(self, key: Key, columns: tuple[str, ...]) -> None:
        table, *rest = key
        grain, project, bucket, own = "", rest[0], "", rest[1:]
        if table in _OWN_KEY or table in _WITHOUT_SERIES:
            grain, project, bucket, own = rest[0], rest[1], _utc(rest[2]).isoformat(), rest[3:]
        self._differing.append(Difference(table, grain, str(project), bucket, tuple(map(str, own)), columns))

    def _not_looked_at(self) -> set[tuple[str, datetime]]:
        behind = arrivals.given(arrivals.behind(self._connection))
        rows: Iterable[Any] = self._connection.execute(arrivals.query("touched"), behind)
        return {(project, _utc(bucket)) for project, bucket in rows}

    def _pairs(self, query: str) -> set[tuple[str, datetime]]:
        rows: Iterable[Any] = self._connection.execute(_query(query))
        return {(project, _utc(bucket)) for project, bucket in rows}

    def _all(self, query: str, of: Row | None = None) -> Iterable[Row]:
        return by_name(self._connection.execute(_query(query), of))


def _derived(cells: Cells) -> Cells:
    return corpus_days_of(cells) | latency_parts_of(cells)


def _is_raw(key: Key) -> bool:
    """Whether a row is made from the table alone, and not also the sum of other rollups."""
    return key[0] not in _DERIVED and (key[0] not in _OWN_KEY or key[1] == "minute")


def _coarser(cells: Cells) -> Cells:
    """Hours as sums of minutes, days of hours."""
    sums: Cells = {}
    for (table, grain, *rest), cell in cells.items():
        if table in _OWN_KEY and grain in _COARSER:
            project, bucket, *own = rest
            to, start = _COARSER[grain]
            key = (table, to, project, _utc(bucket).replace(**start), *own)
            amounts = {name: cell[name] for name in cell.keys() - _KEYS - {*_OWN_KEY[table]}}
            add(sums.setdefault(key, {}), amounts)
    return sums


def _query(name: str) -> Any:
    return named_queries("verify", "ragledger_collector.sql")[name]


def _cells(table: str, key: tuple[str, ...], rows: Iterable[Row]) -> Cells:
    """Rows by key. A series of another project is nobody's: it makes the key another one."""
    cells: Cells = {}
    for row in rows:
        of = tuple(row[name] for name in key)
        if row.get("of_project", row["project"]) != row["project"]:
            of = (*of, row["of_project"])
        key_of_row: Key = (table, *of)
        cells[key_of_row] = row
    return cells


def _ranges(sealed: set[tuple[str, datetime]]) -> Iterator[Sealed]:
    for project, of_project in groupby(sorted(sealed), key=itemgetter(0)):
        buckets = [bucket.isoformat() for _, bucket in of_project]
        yield Sealed(project, buckets[0], buckets[-1], len(buckets))


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(timezone.utc)
