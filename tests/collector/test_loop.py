"""`ragledger collect --every`: works until it is told to stop, and the one that waits takes over when it is killed."""

from __future__ import annotations

import signal
import subprocess
from datetime import timedelta

import pytest
from collector_world import arrive, verified
from fix_pg import Database
from integration.shipping import RAGLEDGER, wait_until
from measures.table_rows import START, TableRows, hit

pytestmark = [pytest.mark.pg, pytest.mark.processes]


def start(database: Database) -> subprocess.Popen[str]:
    command = [*RAGLEDGER, "collect", "--every", "0.1s", "--dsn", database.dsn]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def searches(database: Database) -> int:
    return int(database.value("SELECT coalesce(sum(searches), 0) FROM rollup_searches WHERE grain = 'day'"))


def test_the_one_that_waits_takes_over_from_the_one_that_was_killed(database: Database) -> None:
    rows = TableRows()
    with database.connect() as connection:
        rows.search(hit(), started_at=START)
        arrive(connection, rows)
        first = start(database)
        second = None
        try:
            wait_until(lambda: searches(database) == 1)
            second = start(database)
            assert second.stderr is not None
            assert "another collector is at work" in second.stderr.readline()
            once = subprocess.run(
                [*RAGLEDGER, "collect", "--once", "--dsn", database.dsn],
                capture_output=True,
                text=True,
                check=False,
            )
            assert (once.returncode, once.stdout) == (2, "")
            first.kill()
            rows.search(hit(), started_at=START + timedelta(minutes=5))
            arrive(connection, rows)
            wait_until(lambda: searches(database) == 2)
            assert "at work" in second.stderr.readline()
            second.send_signal(signal.SIGTERM)
            assert second.wait(60) == 0
        finally:
            for process in (first, second):
                if process is not None:
                    process.kill()
                    process.communicate()
    found = verified(database)
    assert found.differing == ()
