"""`kill -9` anywhere in a backfill: whoever comes next goes on, and at the end the rollups are what the table says."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from collector_world import arrive, forget, rollups, verified
from collector_world import collect as one_pass
from fix_pg import Database
from measures.table_rows import START, TableRows, hit

pytestmark = [pytest.mark.pg, pytest.mark.processes]

# Forks a collector per life, so that the imports are paid once. Half of them die right before or after a statement, half
# at a random moment, also while the server works.
_VICTIMS = """
import os, random, signal, sys, threading, time
import psycopg
from ragledger.errors import CollectorBusy
from ragledger.postgres.connection import connect
from ragledger_collector import Collector

dsn, seed, kills = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
chance = random.Random(seed)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def at_statement(number):
    real, seen = psycopg.Connection.execute, [0]
    def execute(self, *args, **options):
        seen[0] += 1
        if seen[0] == number:
            die()
        answer = real(self, *args, **options)
        if seen[0] == -number:
            die()
        return answer
    psycopg.Connection.execute = execute

def at_moment(seconds):
    threading.Thread(target=lambda: (time.sleep(seconds), die()), daemon=True).start()

def life(doom):
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    connection = connect(dsn, "ragledger", role="ragledger_collector")
    another = lambda: connect(dsn, "ragledger", role="ragledger_collector")
    collector = Collector(connection, numbers=15, minutes=2, connect=another, sessions=2)
    while True:
        try:
            collector.lock()
            break
        except CollectorBusy:
            time.sleep(0.01)
    doom()
    collector.run()
    os._exit(0)

killed = 0
while killed < kills:
    n = chance.choice([1, -1]) * chance.randrange(1, 70)
    s = chance.uniform(0, 0.08)
    doom = (lambda: at_statement(n)) if chance.random() < 0.5 else (lambda: at_moment(s))
    code = life(doom)
    if code == 0:
        break
    assert code == -signal.SIGKILL, code
    killed += 1
assert life(lambda: None) == 0
print(killed)
"""


@pytest.mark.parametrize("seed", range(5))
def test_p11_a_backfill_that_is_killed_again_and_again_ends_as_one_that_is_not(
    database: Database, tmp_path: Path, seed: int
) -> None:
    rows = TableRows()
    for number in range(240):
        first = rows.search(
            hit(document_id=f"d{number % 7}"),
            hit("b"),
            project="pq"[number % 2],  # so that two sessions share the work
            started_at=START + timedelta(minutes=number * 11),
        )
        rows.vote(first, 1 + number % 2, "relevant")
        if number % 5 == 0:
            rows.search(
                hit(),
                project="pq"[number % 2],
                started_at=START + timedelta(minutes=number * 17),
                attempt_of=first,
            )
    with database.connect() as connection:
        arrive(connection, rows)
    program = tmp_path / "victims.py"
    program.write_text(_VICTIMS)
    done = subprocess.run(
        [sys.executable, str(program), database.dsn, str(seed), "10"],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) == 10
    found = verified(database)
    assert (found.differing, found.waiting) == ((), 0)
    after_kills = rollups(database)
    forget(database)
    one_pass(database)
    assert rollups(database) == after_kills
