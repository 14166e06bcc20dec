"""What could have been retrieved, from where the application knows it: a file, a query, a table, or the table `inventory`.

A query and a table are read in a read-only transaction, with the rights of the user of their dsn and not with ours.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from ragledger.errors import ConfigError
from ragledger.postgres.connection import reading
from ragledger.sql import named_queries

from .sightings import CurateReader

if TYPE_CHECKING:
    from ragledger.postgres.connection import Connection

__all__ = ["Inventory", "Item", "from_file", "from_query", "from_store", "from_table"]

_ID_COLUMNS = ("document_id", "id", "chunk_id")


@dataclass(frozen=True, slots=True)
class Item:
    """`corpus` None: not said, so it is looked for in every corpus. `since`: when it is known to have been there."""

    id: str
    corpus: str | None = None
    since: datetime | None = None


@dataclass(frozen=True)
class Inventory:
    """`source` says in words where it is from."""

    source: str
    items: tuple[Item, ...]


def from_file(path: Path, corpus: str | None) -> Inventory:
    """One id a line; or CSV or JSON lines with `document_id` (or `id`, `chunk_id`) and, if they like, `corpus`.

    Raises:
        ConfigError: the file cannot be read as what its suffix says.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            items = tuple(dict.fromkeys(_items(path.suffix.lower(), file, corpus)))
    except (OSError, UnicodeError, csv.Error, json.JSONDecodeError) as exc:
        raise ConfigError(f"the inventory file cannot be read ({type(exc).__name__})") from None
    return Inventory(f"the file {path.name}", items)


def from_query(connection: Connection, query: str, corpus: str | None) -> Inventory:
    """The first column of a query is the id, a second one the corpus.

    Raises:
        ConfigError: the database refuses it, or it gives no rows or more than two columns.
    """
    with _refused("query"), reading(connection):
        # Prepared: the server then takes one statement and no second one that would end our transaction.
        cursor = connection.execute(query.strip().rstrip(";").encode(), prepare=True)
        width = len(cursor.description or ())
        if width not in (1, 2):
            raise ConfigError(
                "the inventory query must give one column, the id, or two, the id and the corpus"
            )
        rows: Iterable[Any] = cursor.fetchall()
    items = (
        Item(str(row[0]), str(row[1]) if width == 2 and row[1] is not None else corpus)
        for row in rows
        if row[0] is not None
    )
    return Inventory("a query", tuple(dict.fromkeys(items)))


def from_table(connection: Connection, table: str, column: str, corpus: str | None) -> Inventory:
    """The ids of a table of the application, such as that of a vector store: `schema.table` and its column.

    Raises:
        ConfigError: the database refuses to read it.
    """
    text = sql.SQL(named_queries("curate")["listed"]).format(
        table=sql.Identifier(*table.split(".")), column=sql.Identifier(column)
    )
    with _refused("table"), reading(connection):
        rows: Iterable[Any] = connection.execute(text).fetchall()
    return Inventory(f"column {column} of {table}", tuple(Item(row[0], corpus) for row in rows))


def from_store(reader: CurateReader) -> Inventory | None:
    """The table `inventory`; None while it is empty."""
    rows = reader.rows("inventory", scoped=False)
    items = tuple(Item(document, corpus, since) for corpus, document, since in rows)
    return Inventory("the table inventory", items) if items else None


@contextmanager
def _refused(what: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as exc:
        # Its type alone: the message quotes the query.
        raise ConfigError(f"the inventory {what} was refused ({type(exc).__name__})") from None


def _items(suffix: str, lines: Iterable[str], corpus: str | None) -> Iterator[Item]:
    if suffix == ".csv":
        rows: Iterable[Any] = csv.DictReader(lines)
    elif suffix in (".jsonl", ".ndjson"):
        rows = (json.loads(line) for line in lines if line.strip())
    else:
        yield from (Item(line.strip(), corpus) for line in lines if line.strip())
        return
    for row in rows:
        if isinstance(row, str):
            row = {"id": row}
        found = (
            next((row[name] for name in _ID_COLUMNS if row.get(name)), None)
            if isinstance(row, dict)
            else None
        )
        if not isinstance(found, str):
            raise ConfigError("each row of the inventory file needs a text `document_id`")
        named = row.get("corpus") or corpus
        if corpus is None or named == corpus:
            yield Item(found, named)
