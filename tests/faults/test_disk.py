"""A disk that is really full: records are refused and counted, nothing that had a receipt is lost, and it heals by itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faults.page import Facts
from faults.proxy import Proxy
from faults.stage import Application, world_of
from faults.truth import Outcome, outcome_of
from fix_pg import Database
from integration.shipping import World, balanced, wait_until

from ragledger import Ledger

pytestmark = [pytest.mark.pg, pytest.mark.faults]

_SIZE_MB = 4


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small tmpfs")
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE_MB}m", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("this container may not mount")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_p5_a_full_disk_refuses_loses_nothing_and_heals_when_there_is_room(
    small_disk: Path, database: Database, make_ledger: Callable[..., Ledger], facts: Facts
) -> None:
    with Proxy(database.dsn) as proxy:
        proxy.refuse()
        ledger = make_ledger(dsn=proxy.dsn, journal_dir=small_disk, strict=False)
        application = Application(ledger)
        truth = application.truth
        wait_until(lambda: (application.search(100), truth.refused > 200)[1])
        assert ledger.facts()["refused"] == {"no_space": truth.refused}
        kept = truth.receipts

        proxy.refuse(on=False)
        wait_until(lambda: (application.search(1), truth.receipts > kept + 100)[1])
        assert ledger.flush(60), ledger.facts()
        outcome = settled_with_refusals(world_of(database.dsn, ledger), application)
        how = f"a tmpfs of {_SIZE_MB} MB, the database away until it is full, then back"
        facts("outages", "disk full", how, truth, outcome, times=1)
        assert outcome.faults == ()
        ledger.close()


def settled_with_refusals(world: World, application: Application) -> Outcome:
    """Nothing raised, and as many refusals are counted as the application saw."""
    truth = application.truth
    outcome = outcome_of(world, truth, over=False)
    assert truth.raised == 0
    assert balanced(world.database, world.directory).refused == truth.refused
    return outcome
