"""`kill -9` at random points in every mode of fsync: the promise about the process holds in all of them."""

from __future__ import annotations

import pytest
from faults.harness import at_random, check
from faults.test_kills import KILLS, OWN
from fix_pg import Database
from integration.shipping import World, ship_command

pytestmark = [pytest.mark.pg, pytest.mark.faults]


@pytest.mark.parametrize("mode", ["batch", "always"])
def test_p5_every_receipt_holds_whatever_is_synced_when(database: Database, mode: str) -> None:
    world = World(database)
    truth = OWN.run(database.dsn, at_random(11, 0.5), SHIP="thread", RAGLEDGER_JOURNAL_FSYNC=mode)
    assert sum(map(len, truth.receipts.values())) > KILLS
    assert ship_command(database.dsn).returncode == 0
    check(world, truth, kills=KILLS)
