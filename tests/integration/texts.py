"""What tests of texts need."""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from fix_pg import Database
from integration.shipping import World

from ragledger import schema
from ragledger.balance import balances
from ragledger.model import Text, TextsRecord

TEXTS = "SELECT rank, text, cut FROM search_texts ORDER BY search_id, rank"


def with_text(database: Database, *, roles: bool | None = True) -> None:
    with database.connect() as connection:
        assert schema.apply(connection, "ragledger", roles=roles, with_text=True).texts


class Ran(NamedTuple):
    returncode: int | str | None
    stdout: str
    stderr: str


def adds_up(world: World) -> tuple[int, int, int]:
    """Records that were offered, that were rejected, and that were removed; fails when a record has no fate or two."""
    with world.database.connect() as connection:
        found = balances(connection, world.directory)
    assert [balance.faults for balance in found] == [()] * len(found)
    return (
        sum(balance.offered for balance in found),
        sum(balance.rejected for balance in found),
        sum(balance.removed for balance in found),
    )


def texts_for(search_id: UUID) -> TextsRecord:
    return TextsRecord(search_id, (Text(0, "asked"), Text(1, "found")))
