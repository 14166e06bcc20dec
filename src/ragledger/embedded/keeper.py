"""The keeper: one detached process that owns PostgreSQL for as long as anybody holds the lease.

Run as a script by its path, in an isolated interpreter without site-packages: it starts in 30 ms, takes 12 MB, and no
`sitecustomize` (such as that of `opentelemetry-instrument`) gets into it. So it imports the standard library only and
stays single-threaded, which the parent-death signal needs: that signal is sent when the creating *thread* ends.

It is given the locked `keeper.lock` by whoever started it. Everything it starts inherits `server.lock`, so a free
`server.lock` proves that no process of an earlier server is left in the data directory.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import glob
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Keeper"]

_LOG_LIMIT_BYTES = 16 * 1024 * 1024
_STARTING_POLL_S, _WATCHING_POLL_S = 0.005, 0.1
_PREDECESSOR_LIMIT_S = 20.0
# Fast shutdown, then immediate shutdown (the next start recovers from the log), then none at all. PostgreSQL 18.4 hangs
# in a fast shutdown that comes while it restarts after the crash of a backend (15 of 25 runs; immediate: 0 of 25).
_STOP_STEPS = ((signal.SIGINT, 6.0), (signal.SIGQUIT, 7.0), (signal.SIGKILL, 5.0))

_SETTINGS = {
    "timezone": "UTC",
    "log_timezone": "UTC",
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "logging_collector": "off",
    "log_checkpoints": "off",
    # Statements and values of failed statements are text of the application: the client gets them, the log must not.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
_THROWAWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class _Failure(Exception):
    """The keeper cannot go on. `facts` are put into words by the waiting user's process, see `reasons`."""

    def __init__(self, **facts: object) -> None:
        super().__init__(str(facts))
        self.facts = facts


class _Unused(Exception):
    """Nobody holds the lease any more, or the system asks us to end."""


class Keeper:
    """Starts one server, waits until nobody needs it, stops it."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec = spec
        self._base: str = spec["base"]
        self._data = os.path.join(self._base, "data")
        self._lease = os.open(os.path.join(self._base, "lease"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._server_lock = os.open(
            os.path.join(self._base, "server.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        self._postgres: subprocess.Popen[bytes] | None = None
        self._asked_to_end = False
        self._idle_since: float | None = None
        self._log_start = 0

    def ask_to_end(self, *_: object) -> None:
        """Handle SIGTERM and SIGINT: the system goes down, so the server stops although it is in use."""
        self._asked_to_end = True

    def run(self) -> None:
        """Serve until unused; leaves no PostgreSQL process behind, whatever happens."""
        try:
            self._outwait_predecessor()
            _remove_stale_locks(self._data, self._spec["socket_dir"])
            self._remove_leftovers()
            if not os.path.exists(self._data):
                self._initialise()
            self._start()
            self._watch()
        except _Unused:
            pass
        finally:
            self._stop()

    # -- before the start

    def _outwait_predecessor(self) -> None:
        started = time.monotonic()
        while not _lock(self._server_lock):
            self._leave_when_unused()
            waited = time.monotonic() - started
            if waited > _PREDECESSOR_LIMIT_S:
                raise _Failure(
                    message=f"processes of an earlier server still use {self._base}; fuser server.lock there names them"
                )
            # Its own keeper is dead, so on Linux it is stopping already; elsewhere nobody told it.
            _signal_predecessor(self._data, signal.SIGQUIT if waited < 8 else signal.SIGKILL)
            time.sleep(0.02)

    def _remove_leftovers(self) -> None:
        for leftover in glob.glob(os.path.join(glob.escape(self._base), "data.init-*")):
            _remove_tree(leftover)

    def _initialise(self) -> None:
        """Make the data directory beside its place and rename it, so that a kill leaves nothing half made."""
        partial = os.path.join(self._base, f"data.init-{os.getpid()}")
        os.mkdir(partial, 0o700)
        mark = os.path.join(self._base, "throwaway")
        throwaway: bool = self._spec["throwaway"]
        try:
            if self._spec["uid"] is not None:
                os.chown(partial, self._spec["uid"], self._spec["gid"])
            self._run_initdb(partial, ["--no-sync"] if throwaway else [])
            if throwaway:
                _write(mark, b"")
            elif os.path.exists(mark):
                os.unlink(mark)
            os.rename(partial, self._data)
            _sync_directory(self._base)
        except BaseException:
            _remove_tree(partial)
            raise

    def _run_initdb(self, directory: str, options: list[str]) -> None:
        settings = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C"]
        # A dead keeper leaves nobody who would rename the directory: no need for a clean end.
        initdb = self._spawn(["initdb", "-D", directory, *settings, *options], signal.SIGKILL)
        try:
            while (code := initdb.poll()) is None:
                self._leave_when_unused()
                time.sleep(_STARTING_POLL_S)
        finally:
            if initdb.poll() is None:
                initdb.kill()
                initdb.wait()
        if code != 0:
            raise _Failure(program="initdb", returncode=code, log_start=self._log_start)

    # -- the server

    def _spawn(self, command: list[str], on_death: signal.Signals) -> subprocess.Popen[bytes]:
        self._log_start = os.fstat(1).st_size
        user: dict[str, Any] = {}
        if self._spec["uid"] is not None:
            user = {"user": self._spec["uid"], "group": self._spec["gid"], "extra_groups": []}
        program = os.path.join(self._spec["bin"], command[0])
        try:
            return subprocess.Popen(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                cwd="/",
                pass_fds=(self._server_lock,),
                preexec_fn=_die_with_parent(on_death),
                **user,
            )
        except OSError as exc:
            raise _Failure(message=f"{program} cannot be run: {exc.strerror}") from exc

    def _start(self) -> None:
        settings = dict(_SETTINGS)
        if os.path.exists(os.path.join(self._base, "throwaway")):
            settings.update(_THROWAWAY)
        quoted = '"' + self._spec["socket_dir"].replace('"', '""') + '"'
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self._postgres = self._spawn(
            ["postgres", "-D", self._data, "-k", quoted, "-p", str(self._spec["port"]), *options],
            signal.SIGQUIT,  # not SIGINT, which can hang (see _STOP_STEPS) when nobody is left who would insist
        )

    def _watch(self) -> None:
        assert self._postgres is not None
        announced = False
        while True:
            code = self._postgres.poll()
            if code is not None:
                raise _Failure(
                    program="postgres", returncode=code, log_start=self._log_start, served=announced
                )
            if not announced and self._answers():
                self._announce()
                announced = True
            self._leave_when_unused()
            if os.fstat(1).st_size > _LOG_LIMIT_BYTES:
                os.ftruncate(1, 0)
            time.sleep(_WATCHING_POLL_S if announced else _STARTING_POLL_S)

    def _answers(self) -> bool:
        assert self._postgres is not None
        lines = _pid_file(self._data)
        return len(lines) > 7 and lines[0] == str(self._postgres.pid) and lines[7].startswith("ready")

    def _announce(self) -> None:
        assert self._postgres is not None
        facts = {
            "keeper_pid": os.getpid(),
            "postgres_pid": self._postgres.pid,
            "version": self._spec["version"],
            "socket_dir": self._spec["socket_dir"],
            "port": self._spec["port"],
            "throwaway": os.path.exists(os.path.join(self._base, "throwaway")),
        }
        _write(os.path.join(self._base, "ready.json"), json.dumps(facts).encode())

    def _leave_when_unused(self) -> None:
        """Raise when nobody holds the lease; from then on we hold it, and newcomers wait until we are gone."""
        if self._asked_to_end:
            raise _Unused
        if not _lock(self._lease):
            self._idle_since = None
            return
        now = time.monotonic()
        self._idle_since = now if self._idle_since is None else self._idle_since
        if now - self._idle_since >= self._spec["linger_s"]:
            raise _Unused
        fcntl.flock(self._lease, fcntl.LOCK_UN)

    def _stop(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self._base, "ready.json"))
        if self._postgres is not None:
            for number, patience_s in _STOP_STEPS:
                if self._postgres.poll() is None:
                    self._postgres.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._postgres.wait(patience_s)
                    break
        if os.path.dirname(self._spec["socket_dir"]) != self._base:
            with contextlib.suppress(OSError):
                os.rmdir(self._spec["socket_dir"])
                os.rmdir(os.path.dirname(self._spec["socket_dir"]))


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _die_with_parent(number: signal.Signals) -> Callable[[], None] | None:
    """For a child between fork and exec: be signalled when the keeper dies, however it dies (Linux)."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def bind() -> None:
        prctl(1, int(number), 0, 0, 0)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:  # it died before the call
            os._exit(1)

    return bind


def _pid_file(data: str) -> list[str]:
    try:
        with open(os.path.join(data, "postmaster.pid"), encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _postmaster_of(data: str) -> int | None:
    """The living process that the pid file of `data` names, if it is a postmaster of this directory."""
    lines = _pid_file(data)
    if not lines or not lines[0].isdigit():
        return None
    pid = int(lines[0])
    try:
        if sys.platform == "linux":
            # Its working directory is its data directory; a zombie has none, and a reused pid another.
            return pid if os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(data) else None
        os.kill(pid, 0)
    except OSError:
        return None
    return pid


def _signal_predecessor(data: str, number: signal.Signals) -> None:
    pid = _postmaster_of(data)
    if pid is not None:
        with contextlib.suppress(OSError):
            os.kill(pid, number)


def _remove_stale_locks(data: str, socket_dir: str) -> None:
    """Remove PostgreSQL's lock files that name a dead process.

    PostgreSQL believes any living process of its user, and any zombie: after `kill -9` in a container, where pids come
    again and nobody reaps, it would never start.
    """
    if _postmaster_of(data) is not None:
        return  # started by somebody else: PostgreSQL's own check says so
    for path in [
        os.path.join(data, "postmaster.pid"),
        *glob.glob(os.path.join(glob.escape(socket_dir), ".s.PGSQL.*")),
    ]:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _write(path: str, content: bytes) -> None:
    with open(path + ".new", "wb") as file:
        file.write(content)
    os.replace(path + ".new", path)


def _sync_directory(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_tree(path: str) -> None:
    import shutil  # imports four compression modules, for a rare case

    shutil.rmtree(path, ignore_errors=True)


def _tell(base: str, facts: dict[str, object]) -> None:
    # In place: whoever started us has written blanks there, so that this works on a full disk too.
    with contextlib.suppress(OSError), open(os.path.join(base, "keeper.error"), "r+b") as file:
        file.write(json.dumps(facts).encode())


def _detach() -> None:
    if os.fork() > 0:
        os._exit(0)
    os.chdir("/")
    os.umask(0o077)
    # Whoever started us may have blocked or ignored any of them.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def main(spec: dict[str, Any]) -> int:
    """Run one keeper; every reason to fail ends in `keeper.error`."""
    _detach()
    try:
        keeper = Keeper(spec)
        signal.signal(signal.SIGTERM, keeper.ask_to_end)
        signal.signal(signal.SIGINT, keeper.ask_to_end)
        keeper.run()
    except _Failure as exc:
        _tell(spec["base"], exc.facts)
        return 1
    except OSError as exc:
        _tell(spec["base"], {"errno": exc.errno, "path": str(exc.filename or spec["base"])})
        return 1
    except Exception as exc:  # noqa: BLE001 - nobody waits for this process: the reason must reach the user's
        traceback.print_exc()
        _tell(
            spec["base"],
            {"message": f"the keeper failed with {type(exc).__name__}; see server.log in {spec['base']}"},
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))
