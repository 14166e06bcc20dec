from __future__ import annotations

import time
from pathlib import Path

import psycopg
from embedded.world import User, wait_until_gone

from ragledger.embedded import status

# The child outlives its parent, until our end of its standard input closes. With "ensure" it first takes a lease of
# its own.
PARENT = """
import os, sys, time
from pathlib import Path
from ragledger.embedded import EmbeddedServer
server = EmbeddedServer.acquire(Path(sys.argv[1]), throwaway=True)
gate, opened = os.pipe()
if os.fork() == 0:
    os.close(opened)
    server.release()   # the parent's, so this does nothing
    if MODE == "ensure":
        server.ensure()
    os.write(1, f"ready {server.dsn}\\n".encode())
    os.read(gate, 1)   # until the parent is dead
    if MODE == "ensure":
        time.sleep(1.0)    # for a keeper that would stop the server now
        import psycopg
        with psycopg.connect(server.dsn) as connection:
            connection.execute("CREATE TABLE from_child ()")
        os.write(1, b"done\\n")
    sys.stdin.read()
    os._exit(0)
os.wait()
"""


def test_a_forked_child_does_not_keep_the_lease_of_its_killed_parent(used_base: Path) -> None:
    with User(used_base, 'MODE = "nothing"\n' + PARENT) as parent:
        parent.dsn()
        assert status(used_base)["running"], "release() in the child must not give back the parent's lease"
        time.sleep(0.3)
        assert status(used_base)["running"]
        parent.process.kill()
        wait_until_gone(used_base)  # while the child still runs


def test_a_forked_child_that_ensures_has_a_lease_of_its_own(used_base: Path) -> None:
    with User(used_base, 'MODE = "ensure"\n' + PARENT) as parent:
        dsn = parent.dsn()
        pid = status(used_base)["postgres_pid"]
        parent.process.kill()
        parent.process.wait()
        time.sleep(0.5)
        assert status(used_base)["postgres_pid"] == pid
        assert parent.answer() == "done"
        with psycopg.connect(dsn) as connection:
            assert connection.execute("SELECT count(*) FROM from_child").fetchone() == (0,)
        parent.process.stdin.close()
        wait_until_gone(used_base)
