"""The system's clock steps back while a process records: set for that process alone, below everything of ours."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from integration.shipping import World, balanced, wait_until

from ragledger.ids import new_id
from ragledger.journal import directory as files
from ragledger.journal.state import Identity, WriterState
from ragledger.testing import make_search

pytestmark = pytest.mark.pg

# Interposed before libc: what Python, Rust and anybody else in the process reads as the time of day.
SHIM = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static void step(struct timespec *at) {
    struct stat found;
    const char *path = getenv("STEP_FILE");
    if (path && stat(path, &found) == 0) at->tv_sec += found.st_size ? STEP : 0;
}
int clock_gettime(clockid_t id, struct timespec *at) {
    int code = syscall(SYS_clock_gettime, id, at);
    if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE) step(at);
    return code;
}
int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""

PROGRAM = """
import os, sys, time
import ragledger
from ragledger import Candidate

def search():
    start = time.time()
    with ledger.search(corpus="c") as found:
        found.candidates(Candidate("a", score=0.5))
        if len(receipts) == 5:  # in the middle of a search
            with open(os.environ["STEP_FILE"], "w") as file:
                file.write("now")
            assert abs(time.time() - start) > 1800, "the clock did not step"
    receipts.append(found.receipt.search_id)

receipts = []
ledger = ragledger.open(strict=True)
for _ in range(10):
    search()
assert ledger.vote(receipts[0], "a", "relevant", actor="human:ana").search_id
assert ledger.vote(receipts[-1], "a", "relevant", actor="human:ana").search_id
assert ledger.flush(60), ledger.facts()
ledger.close()
print(*receipts, sep="\\n")
"""


def shim(directory: Path, step_s: int) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler to step the clock with")
    source, library = directory / "step.c", directory / "step.so"
    source.write_text(SHIM)
    subprocess.run(
        [compiler, "-shared", "-fPIC", f"-DSTEP={step_s}", "-o", str(library), str(source)], check=True
    )
    return library


@pytest.mark.parametrize("step_s", [-3600, 3600], ids=["back", "ahead"])
def test_p5_a_clock_that_steps_loses_doubles_and_delays_nothing(
    world: World, tmp_path: Path, step_s: int
) -> None:
    environ = {"LD_PRELOAD": str(shim(tmp_path, step_s)), "STEP_FILE": str(tmp_path / "step")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=dict(os.environ) | environ | {"RAGLEDGER_DSN": world.database.dsn},
    )
    assert done.returncode == 0, done.stderr
    given = [UUID(line) for line in done.stdout.split()]
    assert len(set(given)) == 10
    assert world.stored() == given
    assert world.database.value("SELECT count(*) FROM feedback") == 2
    assert list(world.directory.iterdir()) == []
    rows = world.database.rows("SELECT started_at, latency_ms FROM searches ORDER BY writer_seq")
    stepped = timedelta(seconds=step_s)
    for before, after in zip(rows[:6], rows[6:], strict=False):
        moved = after[0] - before[0]
        assert abs(moved - stepped) < timedelta(minutes=5), "started_at is the clock's, not corrected"
    # A search of an hour, or of less than nothing, would be the wall clock's.
    assert all(0 <= latency < 300_000 for _, latency in rows)
    assert balanced(world.database, world.directory).written == 12


def test_a_lock_file_that_is_being_made_is_not_swept_away_by_a_clock_ahead(tmp_path: Path) -> None:
    """Its age says an hour; that it is locked says the truth."""
    writer = new_id()
    path = files.lock_path(tmp_path, writer.hex)

    def sweep_now() -> bool:
        os.utime(path.with_suffix(".new"), (0, 0))
        files.sweep(tmp_path)
        return True

    identity = Identity(project="test", host="here")
    state = WriterState.create(path, writer, identity, 1, still=sweep_now)
    assert path.exists()
    state.close()


def test_a_half_made_lock_file_from_the_future_waits_and_harms_nobody(world: World) -> None:
    journal = world.journal()
    record = make_search("a")
    journal.put(record)
    half_made = world.directory / f"{new_id().hex}.new"
    half_made.write_bytes(b"")
    os.utime(half_made, (time.time() + 3600, time.time() + 3600))
    journal.release()
    world.ship()
    assert world.stored() == [record.search_id]
    assert list(world.directory.iterdir()) == [half_made]


def test_a_writer_from_the_future_is_adopted_like_any_other(world: World) -> None:
    """Its clock was an hour ahead: its id and its start sort after everything, its lock is free."""
    ahead = UUID(int=new_id().int + ((3600 * 1000) << 80))
    from ragledger.journal.writer import JournalWriter

    world.directory.mkdir(parents=True)
    writer = JournalWriter(world.directory, ahead, Identity(project="test", host="here"), 1 << 30)
    writer.close()
    wait_until(lambda: world.ship() and list(world.directory.iterdir()) == [])
    assert world.database.value("SELECT count(*) FROM writers") == 1
