"""Where journals live: one private directory per user and target, so that nobody ships another's rows elsewhere."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ragledger.digests import blake2b
from ragledger.errors import ConfigError

__all__ = [
    "leads_to",
    "lock_path",
    "locks",
    "open_directory",
    "reserve",
    "segment_path",
    "segments",
    "size_of",
    "sweep",
    "sync_names",
    "target_of",
    "writers_with_segments",
]

_HALF_MADE_S = 60.0
_SEGMENT = re.compile(r"([0-9a-f]{32})-(\d{8})\.seg")
_PAIR = re.compile(r"(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S+))")


def target_of(dsn: str, schema: str, environ: Mapping[str, str]) -> str:
    """A short name of host, port, database, schema and service: neither user nor password are part of it.

    The user counts only where no database is named, since then libpq takes the user's name for it.

    Raises:
        ConfigError: the dsn is neither a URI nor a conninfo string.
    """
    identity = "\0".join((*_endpoint(dsn, environ), schema))
    return blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _endpoint(dsn: str, environ: Mapping[str, str]) -> tuple[str, str, str, str]:
    values: dict[str, str] = {}
    if re.match(r"postgres(ql)?://", dsn):
        parts = urlsplit(dsn)
        values = dict(_query_pairs(parts.query))
        user, _, hosts = parts.netloc.rpartition("@")
        values.setdefault("user", unquote(user.partition(":")[0]))
        if hosts and "," not in hosts:
            host, _, port = hosts.rpartition(":") if re.search(r":\d*$", hosts) else (hosts, "", "")
            values.setdefault("host", unquote(host))
            values.setdefault("port", port)
        elif hosts:
            values.setdefault("host", unquote(hosts))
        values.setdefault("dbname", unquote(parts.path.lstrip("/")))
    elif "=" in dsn or not dsn.strip():
        values = {name: quoted or plain for name, quoted, plain in _PAIR.findall(dsn)}
    else:
        raise ConfigError("the dsn is neither a postgresql:// URI nor a string like `host=... dbname=...`")
    user = values.get("user") or environ.get("PGUSER", "")
    return (
        values.get("host")
        or values.get("hostaddr")
        or environ.get("PGHOST")
        or environ.get("PGHOSTADDR", ""),
        values.get("port") or environ.get("PGPORT", "5432"),
        values.get("dbname") or environ.get("PGDATABASE", user),
        values.get("service") or environ.get("PGSERVICE", ""),
    )


def _query_pairs(query: str) -> Iterator[tuple[str, str]]:
    for pair in query.split("&"):
        name, _, value = pair.partition("=")
        if value:
            yield name, unquote(value)


def open_directory(path: Path) -> Path:
    """The directory, made when missing, private to this user.

    Raises:
        OSError: it cannot be made or written.
        PermissionError: it belongs to somebody else, or others can enter it.
    """
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = path.stat()
    if found.st_uid != os.geteuid():
        raise PermissionError("the journal directory belongs to another user")
    if stat.S_IMODE(found.st_mode) & 0o077:
        path.chmod(0o700)
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError("the journal directory cannot be written")
    return path


def lock_path(directory: Path, writer: str) -> Path:
    """The lock and state file of a writer, given as 32 hex digits."""
    return directory / f"{writer}.lock"


def segment_path(directory: Path, writer: str, n: int) -> Path:
    """Segment `n` of a writer."""
    return directory / f"{writer}-{n:08d}.seg"


def locks(directory: Path) -> list[Path]:
    """The lock file of every writer, dead or alive, oldest first (writer ids are time-ordered)."""
    return sorted(directory.glob("*.lock"))


def sweep(directory: Path) -> None:
    """Removes what a process left that died while it made its lock file: nobody will ever look at it.

    Its age alone proves nothing, clocks step: one that is locked is being made.
    """
    for path in directory.glob("*.new"):
        with contextlib.suppress(OSError), path.open("rb") as file:
            if os.fstat(file.fileno()).st_mtime < time.time() - _HALF_MADE_S:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()


def segments(directory: Path, writer: str) -> list[tuple[int, Path]]:
    """The segments of a writer, in order; none where there is no directory."""
    found = []
    with contextlib.suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.startswith(writer) and (match := _SEGMENT.fullmatch(entry.name)):
                found.append((int(match[2]), directory / entry.name))
    return sorted(found)


def writers_with_segments(directory: Path) -> set[str]:
    """Every writer, as 32 hex digits, that has left a segment."""
    with os.scandir(directory) as entries:
        found = [_SEGMENT.fullmatch(entry.name) for entry in entries]
    return {match[1] for match in found if match}


def leads_to(path: Path, place: os.stat_result) -> bool:
    """Whether this name is (still) that file's."""
    try:
        return os.path.samestat(path.stat(), place)
    except OSError:
        return False


def sync_names(directory: Path) -> None:
    """Has the disk take the names of new files.

    Raises:
        OSError: it did not.
    """
    fd = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def reserve(fd: int, size: int) -> None:
    """Takes the space now: on a full disk, a hole in a mapped file is a SIGBUS.

    Raises:
        OSError: there is not so much.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
        return
    block = bytes(min(size, 1 << 16))
    for start in range(0, size, len(block)):
        os.pwrite(fd, block[: size - start], start)


def size_of(directory: Path) -> int:
    """Bytes that all segments take."""
    total = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(".seg"):
                try:
                    total += entry.stat().st_size
                except FileNotFoundError:
                    continue  # shipped and removed in between
    return total
