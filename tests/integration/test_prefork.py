"""gunicorn with uvicorn's worker, run for real: a ledger opened at import, workers forked, stopped and killed."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest
from fix_pg import Database
from integration.shipping import World, balanced, wait_until

pytestmark = [pytest.mark.pg, pytest.mark.processes]
pytest.importorskip("gunicorn")
pytest.importorskip("uvicorn_worker")

APPLICATION = """
import os
import ragledger
from ragledger import Candidate

ledger = ragledger.open()

async def app(scope, receive, send):
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": message["type"] + ".complete"})
            if message["type"] == "lifespan.shutdown":
                return
    with ledger.search(corpus="c") as found:
        found.candidates(Candidate("a", score=0.5))
    body = f"{os.getpid()} {found.receipt.search_id}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})
"""


class Server:
    """Two workers. `receipts` holds what was answered; `pids` by whom."""

    def __init__(self, directory: Path, dsn: str, *arguments: str) -> None:
        (directory / "application.py").write_text(APPLICATION)
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.receipts: list[UUID] = []
        self.pids: set[int] = set()
        command = [
            *(sys.executable, "-m", "gunicorn", "application:app", "--workers", "2", "--timeout", "120"),
            *("--worker-class", "uvicorn_worker.UvicornWorker", "--bind", f"127.0.0.1:{self.port}"),
            *("--graceful-timeout", "60", *arguments),
        ]
        self.log = (directory / "log").open("w+")
        self.process = subprocess.Popen(
            command,
            cwd=directory,
            stdout=self.log,
            stderr=self.log,
            env=dict(os.environ) | {"RAGLEDGER_DSN": dsn, "RAGLEDGER_PROJECT": "test"},
        )

    def ask(self) -> bool:
        """One search; False when nobody answered, as while a worker is being replaced."""
        assert self.process.poll() is None, Path(self.log.name).read_text()[-2000:]
        try:
            with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
                connection.request("GET", "/")
                pid, receipt = connection.getresponse().read().split()
        except (OSError, http.client.HTTPException, ValueError):
            return False
        self.receipts.append(UUID(receipt.decode()))
        self.pids.add(int(pid))
        return True

    def ask_many(self, count: int) -> None:
        """From several clients at once."""

        def work() -> None:
            for _ in range(count // 4):
                wait_until(self.ask)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.fixture
def serve(tmp_path: Path, world: World) -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def start(*arguments: str) -> Server:
        started.append(Server(tmp_path, world.database.dsn, *arguments))
        wait_until(started[-1].ask)
        return started[-1]

    yield start
    for server in started:
        if server.process.poll() is None:
            server.process.terminate()
            server.process.wait(120)
        server.log.close()


@pytest.mark.parametrize("arguments", [[], ["--preload"]], ids=["import in each worker", "preload"])
def test_p5_d36_every_answered_search_is_in_the_table_once_after_a_graceful_stop(
    world: World, serve: Callable[..., Server], arguments: list[str]
) -> None:
    server = serve(*arguments)
    wait_until(lambda: server.ask() and len(server.pids) == 2)
    server.ask_many(200)
    assert server.stop() == 0
    world.ship()  # what a worker had no time to drain
    assert sorted(world.stored()) == sorted(server.receipts)
    assert world.database.value("SELECT count(DISTINCT pid) FROM writers WHERE attempted > 0") == 2
    assert [path.name for path in world.directory.iterdir() if path.suffix != ".new"] == []
    assert balanced(world.database, world.directory).written == len(server.receipts)


@pytest.mark.parametrize("arguments", [[], ["--preload"]], ids=["import in each worker", "preload"])
def test_p5_a_killed_worker_loses_no_answered_search(
    world: World, serve: Callable[..., Server], arguments: list[str]
) -> None:
    server = serve(*arguments)
    wait_until(lambda: server.ask() and len(server.pids) == 2)
    asking = threading.Thread(target=server.ask_many, args=(200,))
    before = set(server.pids)
    asking.start()
    wait_until(lambda: len(server.receipts) > 40)
    os.kill(min(before), signal.SIGKILL)
    asking.join()
    wait_until(lambda: server.ask() and bool(server.pids - before))  # its successor
    assert server.stop() == 0
    world.ship()
    stored = world.stored()
    assert len(stored) == len(set(stored))
    assert set(server.receipts) <= set(stored)
    # A search may be in the table whose answer the kill cut off: one that the worker was answering just then.
    assert len(set(stored) - set(server.receipts)) <= 4
    assert [path.name for path in world.directory.iterdir() if path.suffix != ".new"] == []
    balanced(world.database, world.directory, unfinished=1)
