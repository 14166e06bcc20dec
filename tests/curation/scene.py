"""A curation of a test's database, read as the collector's role."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from collector_world import arrive
from fix_pg import Database
from measures.table_rows import START, TableRows, hit

from ragledger.analyses.curated import report
from ragledger.analyses.curation import Curated, curate
from ragledger.measures.report import Window
from ragledger.removal import _first_id_at


def curated(database: Database, **options: Any) -> Curated:
    given = {name: options.pop(name) for name in list(options) if name in Window.__struct_fields__}
    with database.connect(role="ragledger_collector") as connection:
        return curate(connection, Window(**given), **options)


def classes(database: Database, **options: Any) -> dict[str, str]:
    return {one.id: one.found.value for one in curated(database, **options).documents}


def shown(database: Database, **options: Any) -> dict[str, Any]:
    """The report as its JSON."""
    found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(report(curated(database, **options))))
    return found


def of(found: dict[str, Any], document: str) -> dict[str, Any]:
    return next(one for one in found["documents"] if one["id"] == document)


def store(rows: TableRows, database: Database) -> None:
    """With the numbers of the records, so that a removal leaves its trace."""
    with database.connect() as connection:
        arrive(connection, rows)


def id_at(moment: datetime, salt: int = 1) -> UUID:
    return UUID(int=_first_id_at(moment).int + salt)


def days(count: float) -> datetime:
    return START + timedelta(days=count)


def doc(name: str, **given: Any) -> dict[str, Any]:
    return hit(f"{name}#1", document_id=name, **given)


def list_documents(
    database: Database, *names: str, corpus: str = "handbook", since: datetime = START
) -> None:
    with database.connect() as connection:
        connection.cursor().executemany(
            "INSERT INTO inventory (corpus, document_id, first_seen_at) VALUES (%s, %s, %s)",
            [(corpus, name, since) for name in names],
        )
