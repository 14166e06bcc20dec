"""The user's side of the embedded server: hold the lease, start a keeper when there is none, wait for the server."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, cast

from ragledger.embedded.launch import PORT, check_throwaway, start_keeper
from ragledger.embedded.layout import Layout, locate, refuse_platform, server_account
from ragledger.embedded.lease import FileLock
from ragledger.embedded.reasons import clear_line, start_failure
from ragledger.errors import EmbeddedError
from ragledger.forks import unforked

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["EmbeddedServer"]

_POLL_S = 0.01
_MAX_SILENT_DEATHS = 3


class EmbeddedServer:
    """One user's share of the PostgreSQL server of a base directory.

    The server runs as long as any process holds a lease. This one is held until `release`, or until the process ends in
    whatever way. A forked child holds none: what it calls before its own `ensure` (or `acquire`) works only as long as
    somebody else holds one.
    """

    def __init__(self, layout: Layout, *, version: int | None, throwaway: bool) -> None:
        self._layout = layout
        self._wanted_version = version
        self._throwaway = throwaway
        self._lease = FileLock(layout.lease)
        self.base = layout.base
        self.data = layout.data
        self.dsn = ""
        self.version = 0

    @classmethod
    def acquire(
        cls,
        base: Path | None = None,
        *,
        timeout_s: float = 30.0,
        version: int | None = None,
        throwaway: bool = False,
    ) -> EmbeddedServer:
        """Take a lease on the server of `base`, and start the server when it does not run.

        `version` (16 or 18) counts when the data directory is made; `throwaway` makes one that trades every promise
        about crashes for speed.
        """
        refuse_platform()
        server = cls(locate(base), version=version, throwaway=throwaway)
        server.ensure(timeout_s=timeout_s)
        return server

    def ensure(self, *, timeout_s: float = 30.0) -> None:
        """Have a lease in this process and a server that answers: after a fork, or when the server was killed.

        When it fails, no lease is held.
        """
        deadline = time.monotonic() + timeout_s
        try:
            self._layout.prepare_base(server_account())
            self._take_lease(deadline, timeout_s)
            facts = self._wait_for_server(deadline, timeout_s)
        except OSError as exc:
            self.release()
            raise EmbeddedError(clear_line(exc, self._layout)) from exc
        except BaseException:
            self.release()
            raise
        with unforked:
            from ragledger.embedded.database import make_dsn

        self.dsn = make_dsn(cast("str", facts["socket_dir"]), cast("int", facts.get("port", PORT)))
        self.version = cast("int", facts["version"])

    def release(self) -> None:
        """Give the lease back; the last one stops the server. Doing it twice, or in a forked child, does nothing."""
        self._lease.release()

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<EmbeddedServer {self.base} PostgreSQL {self.version} {'held' if self._lease.held else 'released'}>"

    def __getstate__(self) -> object:
        raise TypeError("an EmbeddedServer belongs to its process; acquire one there instead")

    def _take_lease(self, deadline: float, timeout_s: float) -> None:
        while not self._lease.take(shared=True):
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"the embedded PostgreSQL in {self.base} was still being stopped after {timeout_s:g} s; try again"
                )
            time.sleep(_POLL_S)

    def _wait_for_server(self, deadline: float, timeout_s: float) -> dict[str, object]:
        """Watch the one keeper; become its starter whenever there is none."""
        lock, reason = FileLock(self._layout.keeper_lock), "it is still starting"
        waiting_for_one, deaths = False, 0
        while True:
            if lock.take(shared=False):
                if waiting_for_one:
                    deaths += 1
                self._start(lock, died=waiting_for_one, deaths=deaths)
            elif (facts := self._layout.read_ready()) is not None:
                self._check(facts)
                failed = self._try(facts)
                if failed is None:
                    return facts
                reason = failed
            waiting_for_one = True
            if time.monotonic() > deadline:
                raise EmbeddedError(
                    f"the embedded PostgreSQL in {self.base} did not answer within {timeout_s:g} s: {reason}; "
                    f"see {self._layout.log}"
                )
            time.sleep(_POLL_S)

    def _start(self, lock: FileLock, *, died: bool, deaths: int) -> None:
        try:
            if died and (reason := start_failure(self._layout)):
                raise EmbeddedError(reason)
            if deaths >= _MAX_SILENT_DEATHS:
                raise EmbeddedError(
                    f"the keeper of the embedded PostgreSQL is killed again and again; see {self._layout.log}"
                )
            start_keeper(self._layout, lock, version=self._wanted_version, throwaway=self._throwaway)
        finally:
            lock.let_go()
        # Takes 0.1 s and will be needed: now, while the server starts.
        with unforked:
            import ragledger.embedded.database  # noqa: F401

    def _check(self, facts: dict[str, object]) -> None:
        check_throwaway(self._layout, made_throwaway=bool(facts.get("throwaway")), wanted=self._throwaway)
        if self._wanted_version not in {None, facts["version"]}:
            raise EmbeddedError(
                f"{self.base} runs PostgreSQL {facts['version']}, not {self._wanted_version}; "
                "leave the version out or choose another base"
            )

    def _try(self, facts: dict[str, object]) -> str | None:
        with unforked:
            from ragledger.embedded.database import try_connect

        return try_connect(cast("str", facts["socket_dir"]), cast("int", facts.get("port", PORT)))
