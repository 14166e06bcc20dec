"""`ragledger ship --follow` says when it is ready: to systemd, and by a file for probes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from faults.stage import shut_down
from fix_pg import Database
from integration.shipping import RAGLEDGER, wait_until
from psycopg.conninfo import make_conninfo

from ragledger.embedded import EmbeddedServer

pytestmark = pytest.mark.pg


@pytest.fixture(params=["path", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, socket.socket]]:
    """The socket that systemd listens at, and its name in NOTIFY_SOCKET."""
    name = f"@ragledger-{tmp_path}" if request.param == "abstract" else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(name.replace("@", "\0", 1))
        listener.settimeout(60)
        yield name, listener


@contextmanager
def _follow(dsn: str, *arguments: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*RAGLEDGER, "ship", "--follow", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ) | {"RAGLEDGER_DSN": dsn} | environ,
    ) as sidecar:
        try:
            yield sidecar
        finally:
            sidecar.kill()


def test_systemd_hears_when_the_table_takes_records_and_when_it_ends(
    database: Database, systemd: tuple[str, socket.socket]
) -> None:
    name, listener = systemd
    with _follow(database.dsn, NOTIFY_SOCKET=name) as sidecar:
        assert listener.recv(100) == b"READY=1"
        sidecar.send_signal(signal.SIGTERM)
        assert listener.recv(100) == b"STOPPING=1"
        assert sidecar.wait(60) == 0


def test_the_file_for_probes_is_there_while_it_is_ready(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "ready"
    with _follow(database.dsn, "--ready-file", str(file)) as sidecar:
        wait_until(file.exists)
        sidecar.send_signal(signal.SIGTERM)
        assert sidecar.wait(60) == 0
        assert not file.exists()


def test_it_is_not_ready_before_the_database_and_a_file_of_an_earlier_life_does_not_say_so(
    database: Database, tmp_path: Path
) -> None:
    file = tmp_path / "ready"
    file.touch()
    dsn = psycopg.conninfo.make_conninfo(database.dsn, host="127.0.0.1", port=1)
    with _follow(dsn, "--ready-file", str(file), NOTIFY_SOCKET=str(tmp_path / "nobody")) as sidecar:
        assert sidecar.stderr is not None
        assert sidecar.stderr.readline() == "ragledger ship: following\n"
        assert sidecar.stderr.readline().startswith("ragledger ship: waiting for the database")
        assert not file.exists()
        sidecar.send_signal(signal.SIGTERM)
        assert sidecar.stderr.readline().startswith("ragledger ship: systemd cannot be told")
        assert sidecar.wait(60) == 0


def test_it_is_not_ready_while_the_database_is_away_and_is_again_when_it_is_back(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    file, dsn = tmp_path / "ready", make_conninfo(own_server.dsn, dbname="app")
    with _follow(dsn, "--ready-file", str(file)) as sidecar:
        for _ in range(2):
            wait_until(file.exists)
            shut_down(own_server, dsn)
            wait_until(lambda: not file.exists())
            own_server.ensure(timeout_s=60)
        wait_until(file.exists)
        sidecar.send_signal(signal.SIGTERM)
        assert sidecar.wait(60) == 0
        assert not file.exists()


@pytest.mark.skipif(not hasattr(os, "sched_getscheduler"), reason="niceness alone, elsewhere")
@pytest.mark.parametrize(("arguments", "expected"), [((), (10, True)), (("--nice", "0"), (0, False))])
def test_it_stands_back_unless_told_otherwise(
    database: Database, tmp_path: Path, arguments: tuple[str, ...], expected: tuple[int, bool]
) -> None:
    file, own = tmp_path / "ready", os.getpriority(os.PRIO_PROCESS, 0)
    with _follow(database.dsn, "--ready-file", str(file), *arguments) as sidecar:
        wait_until(file.exists)
        added = os.getpriority(os.PRIO_PROCESS, sidecar.pid) - own
        is_batch = os.sched_getscheduler(sidecar.pid) == os.SCHED_BATCH
        assert (added, is_batch) == expected


_REFUSED = """
import os, sys
def refuse(*_): raise OSError(38, "Function not implemented")
setattr(os, sys.argv[1], refuse)
from ragledger.cli.following import stand_back
before = os.getpriority(os.PRIO_PROCESS, 0)
print(stand_back(3), os.getpriority(os.PRIO_PROCESS, 0) - before)
"""


@pytest.mark.parametrize(
    ("refused", "expected"), [("sched_setscheduler", "True 3\n"), ("nice", "False 0\n")], ids=str
)
def test_what_the_system_refuses_keeps_it_from_nothing_else(refused: str, expected: str) -> None:
    found = subprocess.run(
        [sys.executable, "-c", _REFUSED, refused], capture_output=True, text=True, check=True
    )
    assert found.stdout == expected


def test_beside_the_embedded_server_it_does_not_stand_back(
    own_server: EmbeddedServer, tmp_path: Path
) -> None:
    """A server that it has to start again would be slow for good: niceness is inherited and cannot be taken back."""
    file, own = tmp_path / "ready", os.getpriority(os.PRIO_PROCESS, 0)
    (tmp_path / "embedded").symlink_to(own_server.base)
    home = {"RAGLEDGER_HOME": str(tmp_path)}
    with _follow("embedded", "--ready-file", str(file), "--nice", "10", **home) as sidecar:
        wait_until(file.exists)
        assert os.getpriority(os.PRIO_PROCESS, sidecar.pid) == own
        assert sidecar.stderr is not None
        said = sidecar.stderr.readline()
        assert said == "ragledger ship: --nice does nothing with the embedded server\n"
