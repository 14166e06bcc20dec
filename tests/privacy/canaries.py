"""Strings that must turn up nowhere, and everywhere where one could turn up."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

from fix_pg import Database

CANARIES = ("ZEBRAQUERY", "ZEBRACHUNK", "ZEBRAMETA", "ZEBRAERROR", "ZEBRAFILTER", "ZEBRAVOTE")
QUERY, CHUNK, META, ERROR, FILTER, VOTE = CANARIES


def found_in(data: bytes | str) -> set[str]:
    """The canaries in it, whatever their case."""
    raw = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data
    return {canary for canary in CANARIES if re.search(canary.encode(), raw, re.IGNORECASE)}


def dump(database: Database) -> bytes:
    """Every row of every relation as COPY gives it, and the texts of the statements that sessions ran last."""
    relations = """
        SELECT quote_ident(nspname) || '.' || quote_ident(relname)
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
        WHERE relkind IN ('r', 'v', 'm', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema')"""
    statements = "SELECT query, application_name FROM pg_stat_activity WHERE datname = current_database()"
    parts: list[bytes] = []
    with database.connect() as connection:
        names = [str(row[0]) for row in connection.execute(relations)]
        for source in [*(f"SELECT * FROM {name}" for name in names), statements]:
            with connection.cursor().copy(f"COPY ({source}) TO STDOUT") as copy:
                parts += [bytes(block) for block in copy]
    assert {"ragledger.searches", "ragledger.hits", "ragledger.current_votes"} <= set(names)
    return b"".join(parts)


def files(*directories: Path) -> Iterator[tuple[str, bytes]]:
    """Every file below, with the records that `.rejected` files keep in base64."""
    for directory in directories:
        for path in sorted(directory.rglob("*")):
            if path.is_file():
                data = path.read_bytes()
                yield path.name, path.name.encode() + data
                if path.suffix == ".rejected":
                    for line in data.splitlines():
                        yield path.name, base64.b64decode(json.loads(line)["body"])
