"""However a process ends, forks or is multiplied: its searches are in the table, once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from integration.shipping import SEARCH, World, balanced, ids, run, ship_command

import ragledger

pytestmark = [
    pytest.mark.pg,
    pytest.mark.processes,
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


ENDS: dict[str, tuple[str, int]] = {
    "at once": ("search(ragledger.open())", 0),
    "closed": ("with_ledger = ragledger.open(); search(with_ledger); with_ledger.close()", 0),
    "sys.exit": ("search(ragledger.open()); sys.exit(1)", 1),
    "exception": ("search(ragledger.open()); 1 / 0", 1),
    "KeyboardInterrupt": ("search(ragledger.open()); raise KeyboardInterrupt", 130),
    "in a thread": (
        "import threading; l = ragledger.open(); t = threading.Thread(target=search, args=(l,)); t.start()",
        0,
    ),
    "atexit before open": ("atexit.register(lambda: search(l)); l = ragledger.open()", 0),
    "atexit after open": ("l = ragledger.open(); atexit.register(lambda: search(l)); search(l)", 0),
    "garbage": ("import gc\nl = ragledger.open(); search(l); l.close(); del l; gc.collect()", 0),
    "search after close": ("l = ragledger.open(); search(l); l.close(); search(l)", 0),
    "os._exit": ("search(ragledger.open()); os._exit(3)", 3),
    "SIGTERM": ("search(ragledger.open()); os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", -15),
    "SIGTERM turned into an exit": (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(4)); search(ragledger.open());"
        " os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)",
        4,
    ),
    "search in a signal handler": (
        "l = ragledger.open(); signal.signal(signal.SIGALRM, lambda *_: search(l)); search(l);"
        " os.kill(os.getpid(), signal.SIGALRM); search(l); os._exit(0)",
        0,
    ),
    "search in the handler of its end": (
        "l = ragledger.open(); signal.signal(signal.SIGTERM, lambda *_: (search(l), os._exit(5))); search(l);"
        " os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)",
        5,
    ),
    "SIGKILL": ("search(ragledger.open()); os.kill(os.getpid(), signal.SIGKILL)", -9),
}
DRAINS = {"at once", "closed", "sys.exit", "exception", "in a thread", "atexit after open", "garbage"} | {
    "SIGTERM turned into an exit"
}


@pytest.mark.parametrize("how", ENDS)
def test_p5_d38_d40_however_a_process_ends_its_searches_are_in_the_table_once(world: World, how: str) -> None:
    code, expected = ENDS[how]
    done = run(SEARCH + code, world.database.dsn, check=False)
    assert done.returncode in ({1, 130, -2} if how == "KeyboardInterrupt" else {expected}), done.stderr
    given = ids(done.stdout)
    assert given
    if how in DRAINS:
        assert world.stored() == given, "the drain at exit"
        assert list(world.directory.glob("*.seg")) == []
    world.ship()
    assert sorted(world.stored()) == sorted(given)
    assert list(world.directory.iterdir()) == []
    assert balanced(world.database, world.directory).written == len(given)


def test_an_exit_with_the_database_away_is_bounded_and_leaves_everything_in_the_journal(
    world: World,
) -> None:
    dsn = psycopg.conninfo.make_conninfo(world.database.dsn, host="127.0.0.1", port=1)
    code = "import time; start = time.monotonic()\n" + SEARCH + "l = ragledger.open(); search(l); l.close()"
    done = run(code + "\nassert time.monotonic() - start < 20", dsn)
    [given] = ids(done.stdout)
    assert "Traceback" not in done.stderr
    elsewhere = ragledger.wiring.target_from(dsn=dsn).journal_dir
    world.directory.parent.mkdir(exist_ok=True, parents=True)
    elsewhere.rename(world.directory)
    assert ship_command(world.database.dsn).returncode == 0
    assert world.stored() == [given]


def test_p5_d35_after_a_fork_parent_and_child_are_both_in_the_table(world: World) -> None:
    code = """
ledger = ragledger.open(strict=True)
search(ledger, "parent before")
child = os.fork()
search(ledger, "parent" if child else "child")
assert ledger.flush(60), ledger.facts()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    search(ledger, "parent after")
"""
    done = run(SEARCH + code, world.database.dsn, PYTHONWARNINGS="ignore")
    assert sorted(world.stored()) == sorted(ids(done.stdout))
    found = world.database.rows("SELECT chunk_id FROM hits ORDER BY 1")
    assert [chunk for (chunk,) in found] == ["child", "parent", "parent after", "parent before"]
    assert world.database.value("SELECT count(DISTINCT pid) FROM writers") == 2
    assert balanced(world.database, world.directory).written == 4


def test_p5_searching_threads_beside_forks_and_searches_in_the_children_are_all_in_the_table_once(
    world: World,
) -> None:
    code = """
import threading
ledger = ragledger.open()
stop = threading.Event()

def work():
    while not stop.is_set():
        search(ledger, "parent")

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
children = []
for number in range(8):
    children.append(os.fork())
    if children[-1] == 0:
        for _ in range(3):
            search(ledger, "child")
        if number % 2:
            assert ledger.flush(60)
        os._exit(0)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
stop.set()
for thread in threads:
    thread.join()
assert codes == [0] * 8, codes
os._exit(0)
"""
    done = run(SEARCH + code, world.database.dsn, PYTHONWARNINGS="ignore")
    given = ids(done.stdout)
    world.ship()
    assert sorted(world.stored()) == sorted(given)
    assert world.database.value("SELECT count(*) FROM hits WHERE chunk_id = 'child'") == 24
    assert list(world.directory.iterdir()) == []
    assert balanced(world.database, world.directory).written == len(given)


@pytest.mark.parametrize("end", ["sys.exit()", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"])
def test_p5_a_process_that_ends_while_its_threads_search_leaves_at_most_their_last_without_a_receipt(
    world: World, end: str
) -> None:
    code = f"""
import threading
ledger = ragledger.open()

def work():
    while True:
        search(ledger)

for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
{end}
"""
    done = run(SEARCH + code, world.database.dsn, check=False)
    given = ids(done.stdout)
    assert given
    world.ship()
    stored = world.stored()
    assert set(given) <= set(stored)
    assert len(given) <= len(stored) <= len(given) + 4
    assert len(set(stored)) == len(stored)
    # A thread may have been stopped while it made a lock file: swept away a minute later.
    assert [path for path in world.directory.iterdir() if path.suffix != ".new"] == []
    balanced(world.database, world.directory, unfinished=1)


def test_a_child_forked_while_the_driver_is_imported_can_import_it_too(world: World) -> None:
    """The import lock of a module stays taken for ever in a child, when another thread held it at the fork."""
    code = """
ledger = ragledger.open()
children = []
for _ in range(12):  # the shipper's thread imports psycopg just now
    children.append(os.fork())
    if children[-1] == 0:
        signal.alarm(30)
        import psycopg, asyncio
        os._exit(0)
    time.sleep(0.02)
assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 12
"""
    run(SEARCH + code, world.database.dsn, PYTHONWARNINGS="ignore")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_p5_workers_of_multiprocessing_keep_their_searches(world: World, tmp_path: Path, method: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        SEARCH
        + f"""
import multiprocessing

def work(number):
    ledger = ragledger.open(name=f"worker-{{number}}")
    search(ledger, f"w{{number}}")

if __name__ == "__main__":
    ledger = ragledger.open()
    search(ledger, "main")
    context = multiprocessing.get_context({method!r})
    workers = [context.Process(target=work, args=(n,)) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
"""
    )
    code = f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')" if method == "fork" else ""
    command = [sys.executable, "-W", "ignore", *(["-c", code] if code else [str(program)])]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=dict(os.environ) | {"RAGLEDGER_DSN": world.database.dsn},
    )
    assert done.returncode == 0, done.stderr
    world.ship()
    assert sorted(world.stored()) == sorted(ids(done.stdout))
    assert len(world.stored()) == 4
    assert balanced(world.database, world.directory).written == 4
