from __future__ import annotations

from collections.abc import Iterator

import pytest
from fix_pg import Database
from integration.shipping import World


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    """Journals beside a database of their own."""
    made = World(database)
    yield made
    for journal in made.journals:
        journal.release()
