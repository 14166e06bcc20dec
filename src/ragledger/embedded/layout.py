"""Where an embedded server lives and as whom it runs.

Never changes a directory that it did not make, except that root opens its own base directory for the user who runs
PostgreSQL; never trusts a directory that somebody else could have put in its place.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from ragledger.errors import EmbeddedError

try:
    import pwd
except ImportError:  # Windows, see `refuse_platform`
    pwd = None  # type: ignore[assignment]

__all__ = [
    "ROOT_BASE",
    "Account",
    "Layout",
    "closed_directory",
    "default_base",
    "locate",
    "make_directories",
    "name_of",
    "refuse_platform",
    "server_account",
]

# A Unix socket address holds 107 bytes on Linux and 103 on macOS.
_SOCKET_PATH_LIMIT = 103
_SOCKET_NAME = ".s.PGSQL.5432"
ROOT_BASE = Path("/var/lib/ragledger/embedded")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The operating system user that runs PostgreSQL."""

    uid: int
    gid: int
    name: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The files below one base directory."""

    base: Path

    @property
    def lease(self) -> Path:
        """Locked shared by every user of the server."""
        return self.base / "lease"

    @property
    def keeper_lock(self) -> Path:
        """Locked by the one keeper."""
        return self.base / "keeper.lock"

    @property
    def ready(self) -> Path:
        """Facts about the server, there while it answers."""
        return self.base / "ready.json"

    @property
    def error(self) -> Path:
        """Why the last keeper ended, in one line; blank when it had no reason."""
        return self.base / "keeper.error"

    @property
    def log(self) -> Path:
        """What initdb, PostgreSQL and the keeper say."""
        return self.base / "server.log"

    @property
    def data(self) -> Path:
        """PostgreSQL's data directory."""
        return self.base / "data"

    @property
    def throwaway_mark(self) -> Path:
        """There when the data directory was made without any care for durability."""
        return self.base / "throwaway"

    @property
    def socket_parent(self) -> Path:
        """Where the socket directory goes: the base, or a short private place when its path does not fit."""
        # libpq and PostgreSQL both take a list here, separated by commas that libpq has no way to quote.
        path = str(self.base / "run" / _SOCKET_NAME)
        if len(os.fsencode(path)) <= _SOCKET_PATH_LIMIT and "," not in path:
            return self.base
        digest = hashlib.sha256(os.fsencode(self.base)).hexdigest()[:12]
        return Path("/tmp") / f"ragledger-{os.geteuid()}-{digest}"

    def read_ready(self) -> dict[str, object] | None:
        """The facts of `ready`, or None when no server answers."""
        try:
            facts: dict[str, object] = json.loads(self.ready.read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return facts

    def data_version(self) -> int | None:
        """The major version that the data directory was made by; None when there is none yet."""
        if not self.data.exists():
            return None
        try:
            return int((self.data / "PG_VERSION").read_text().strip())
        except (FileNotFoundError, NotADirectoryError, ValueError) as exc:
            raise EmbeddedError(
                f"{self.data} is not a PostgreSQL data directory; move it away or choose another base"
            ) from exc

    def prepare_base(self, account: Account) -> None:
        """Make the base directory, or check that an existing one can be trusted and used."""
        make_directories(self.base, _base_mode())
        _trust(self.base)
        closed = closed_directory(self.base.parent, account)
        if closed is not None:
            raise EmbeddedError(
                f"PostgreSQL does not run as root, and user {account.name}, who runs it instead, cannot enter {closed}; "
                f"set RAGLEDGER_HOME to a directory that everybody can enter, for example {ROOT_BASE.parent}"
            )
        if _is_root() and not self.base.stat().st_mode & stat.S_IXOTH:
            self.base.chmod(stat.S_IMODE(self.base.stat().st_mode) | 0o011)

    def prepare_socket_directory(self, account: Account) -> Path:
        """Make or check the 0700 directory of the Unix socket, which is all that guards the server."""
        parent = self.socket_parent
        if parent != self.base:
            with contextlib.suppress(FileExistsError):
                parent.mkdir(mode=0o700)
            _trust(parent)
            parent.chmod(_base_mode())
        directory = parent / "run"
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        if not stat.S_ISDIR(directory.lstat().st_mode):
            raise EmbeddedError(f"{directory} is not a directory; remove it")
        if directory.stat().st_uid != account.uid:
            os.chown(directory, account.uid, account.gid)
        directory.chmod(0o700)
        return directory


def default_base() -> Path:
    """`$RAGLEDGER_HOME/embedded`, else `ragledger/embedded` in the XDG data directory.

    For root, whose home is usually closed to the user that runs PostgreSQL, /var/lib/ragledger/embedded in that case.
    """
    home = os.environ.get("RAGLEDGER_HOME")
    if home:
        return Path(home).expanduser() / "embedded"
    data_home = os.environ.get("XDG_DATA_HOME")
    if data_home and os.path.isabs(data_home):
        base = Path(data_home) / "ragledger" / "embedded"
    else:
        try:
            base = Path.home() / ".local" / "share" / "ragledger" / "embedded"
        except RuntimeError as exc:
            raise EmbeddedError("this user has no home directory; set RAGLEDGER_HOME to a directory") from exc
    if _is_root() and closed_directory(base.parent, server_account()) is not None:
        return ROOT_BASE
    return base


def locate(base: Path | None) -> Layout:
    """The files of `base`, or of the default base."""
    try:
        return Layout((default_base() if base is None else Path(base)).expanduser().resolve())
    except RuntimeError as exc:  # ~somebody who does not exist, or links that go round
        raise EmbeddedError(
            f"the base directory cannot be found: {exc}; set RAGLEDGER_HOME to a directory"
        ) from exc


def refuse_platform(platform: str = sys.platform) -> None:
    """Raise on a platform where the embedded server cannot be shared safely."""
    if platform not in {"linux", "darwin"}:
        raise EmbeddedError(
            f"the embedded PostgreSQL runs on Linux and macOS, not on {platform}; "
            "start a PostgreSQL server and set RAGLEDGER_DSN to it"
        )


def server_account() -> Account:
    """Who runs PostgreSQL: this user, or nobody when this user is root, because PostgreSQL refuses root."""
    uid = os.geteuid()
    try:
        entry = pwd.getpwnam("nobody") if uid == 0 else pwd.getpwuid(uid)
    except KeyError as exc:
        if uid == 0:
            message = "PostgreSQL does not run as root, and there is no user 'nobody' to run it; run as a normal user"
        else:
            message = (
                f"user id {uid} has no name, which PostgreSQL needs; add it to /etc/passwd "
                "or run as a user that has one"
            )
        raise EmbeddedError(message) from exc
    return Account(uid=entry.pw_uid, gid=entry.pw_gid if uid == 0 else os.getegid(), name=entry.pw_name)


def closed_directory(path: Path, account: Account) -> Path | None:
    """The first directory on the way down to `path`, itself included, that `account` may not enter.

    Asked only for root, which itself may enter everything, about the user that PostgreSQL runs as.
    """
    if account.uid == os.geteuid():
        return None
    path = path.resolve()
    for directory in [*reversed(path.parents), path]:
        try:
            found = directory.stat()
        except FileNotFoundError:
            return None
        bit = stat.S_IXOTH
        if found.st_uid == account.uid:
            bit = stat.S_IXUSR
        elif found.st_gid == account.gid:
            bit = stat.S_IXGRP
        if not found.st_mode & bit:
            return directory
    return None


def make_directories(path: Path, mode: int) -> None:
    """Make `path` and its missing parents with exactly `mode`, whatever the umask; existing ones stay as they are."""
    if path.is_dir():
        return
    make_directories(path.parent, mode)
    try:
        path.mkdir(mode=mode)
    except FileExistsError:
        return
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def name_of(uid: int) -> str:
    """The user's name for a message, or the number when it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _trust(directory: Path) -> None:
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise EmbeddedError(f"{directory} is not a directory; remove it or choose another base")
    if found.st_uid != os.geteuid():
        raise EmbeddedError(
            f"{directory} belongs to user {name_of(found.st_uid)}, not to {name_of(os.geteuid())}; "
            "choose another base (RAGLEDGER_HOME)"
        )
    if found.st_mode & 0o022:
        raise EmbeddedError(f"{directory} can be written by others; run: chmod go-w {directory}")


def _base_mode() -> int:
    return 0o711 if _is_root() else 0o700


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0
