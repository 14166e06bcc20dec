"""Processes that use an embedded server, and a look at what runs on its behalf."""

from __future__ import annotations

import contextlib
import os
import pwd
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import ragledger

IS_ROOT = os.geteuid() == 0

HOLD = """
import sys
from pathlib import Path
from ragledger.embedded import EmbeddedServer
from ragledger.errors import EmbeddedError
try:
    server = EmbeddedServer.acquire(Path(sys.argv[1]), throwaway=True, timeout_s=20)
except EmbeddedError as error:
    sys.stdout.write(f"refused {error}\\n")
    sys.exit(3)
sys.stdout.write(f"ready {server.dsn}\\n")
sys.stdout.flush()
sys.stdin.read()
server.release()
"""


@dataclass(frozen=True)
class Running:
    """What runs for one base directory."""

    keepers: list[int]
    postgres: list[int]

    def __bool__(self) -> bool:
        return bool(self.keepers or self.postgres)


def running(base: Path) -> Running:
    keepers, postgres = [], []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            where = os.readlink(entry / "cwd")
        except OSError:
            continue
        if b"keeper.py" in command and f'"base": "{base}"'.encode() in command:
            keepers.append(int(entry.name))
        elif where.startswith(f"{base}/") or f"{base}/data".encode() in command:
            postgres.append(int(entry.name))
    return Running(keepers, postgres)


def program_of(pid: int) -> str | None:
    """The path of its program; None when it is gone: backends come and go."""
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return None


def owner_of(pid: int) -> int | None:
    """The user id it runs as; None when it is gone."""
    try:
        return Path(f"/proc/{pid}").stat().st_uid
    except OSError:
        return None


def wait_until(condition: Callable[[], object], timeout_s: float = 30.0) -> float:
    """Seconds until `condition` held."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > timeout_s:
            pytest.fail(f"not within {timeout_s} s: {condition}")
        time.sleep(0.02)
    return time.monotonic() - start


def wait_until_gone(base: Path) -> float:
    return wait_until(lambda: not running(base))


def slay(pid: int) -> None:
    """`kill -9`, and wait until it is dead: a killed process lives on until it is scheduled."""
    os.kill(pid, signal.SIGKILL)
    stat_file = Path(f"/proc/{pid}/stat")
    with contextlib.suppress(OSError):
        wait_until(lambda: stat_file.read_text().rpartition(")")[2].split()[0] in {"Z", "X"})


def kill_all(base: Path) -> None:
    found = running(base)
    for pid in [*found.keepers, *found.postgres]:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


class User:
    """A process that acquires the server and holds it until `leave`, a kill or the end of its block."""

    def __init__(self, base: Path, script: str = HOLD, **options: object) -> None:
        self.process = subprocess.Popen(
            [str(options.pop("python", sys.executable)), "-c", script, str(base)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            **options,  # type: ignore[call-overload]
        )

    def answer(self) -> str:
        """The next line that it says: "ready DSN" or "refused MESSAGE"."""
        return self.process.stdout.readline().strip()

    def dsn(self) -> str:
        answer = self.answer()
        assert answer.startswith("ready "), answer
        return answer.removeprefix("ready ")

    def refusal(self) -> str:
        answer = self.answer()
        assert answer.startswith("refused "), answer
        return answer.removeprefix("refused ")

    def kill(self) -> None:
        self.process.kill()
        self.close()

    def leave(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(20) == 0
        self.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def __enter__(self) -> User:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.close()


@contextlib.contextmanager
def users(base: Path, count: int = 1, **options: object) -> Iterator[list[User]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(User(base, **options)) for _ in range(count)]


def as_user(name: str) -> dict[str, object]:
    """Options that run a `User` under another account, with a Python that this account can read."""
    if not IS_ROOT:
        pytest.skip("only root can start processes as somebody else")
    return as_uid(pwd.getpwnam(name).pw_uid)


def as_uid(uid: int) -> dict[str, object]:
    paths = [Path(ragledger.__file__).parent.parent, Path(pytest.__file__).parents[1]]
    for path in paths:
        if not _is_open(path):
            pytest.skip(f"{path} is closed to other users")
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    candidates = [Path(sys.executable), Path("/usr/bin") / minor, Path("/usr/local/bin") / minor]
    python = next((path for path in candidates if path.exists() and _is_open(path)), None)
    if python is None:
        pytest.skip(f"no {minor} that other users can run")
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "HOME": "/nonexistent",
    }
    return {
        "python": python,
        "user": uid,
        "group": 65534,
        "extra_groups": [],
        "cwd": "/",
        "env": environment,
    }


def _is_open(path: Path) -> bool:
    # Both the way that the links take and where it leads.
    return all(
        directory.stat().st_mode & stat.S_IXOTH
        for way in (path.absolute(), path.resolve())
        for directory in (way, *way.parents)
    )
