"""The composition root: builds a ledger from settings. The only place that knows every part."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from .clock import SystemClock
from .errors import ConfigError
from .forks import unforked
from .guard import Guard
from .journal.directory import target_of
from .journal.journal import Journal
from .journalled import Journalled
from .keys import load_key
from .ledger import Ledger
from .parts import Parts
from .settings import Settings, config_home, state_home
from .shipper import Shipper
from .spans import OtelNarrator, narrator_for
from .texts import TextsPause

if TYPE_CHECKING:
    from pathlib import Path

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from .annotations import Annotations
    from .direct import Direct
    from .embedded import EmbeddedServer
    from .model import Votable
    from .ports import Listener, TraceIds
    from .postgres.connection import Connection
    from .postgres.lookup import PostgresLookup
    from .push import Push

__all__ = ["Target", "open", "target_from"]

_DIRECT_STATEMENT_TIMEOUT_S = 5.0
_PUSH_S = 1.0


class Target:
    """Where the table is: a dsn that the driver takes, and the journal directory that belongs to it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.schema = settings.schema
        self.release: Callable[[], None] = lambda: None
        self._server: EmbeddedServer | None = None
        self.dsn = settings.dsn
        if settings.dsn == "embedded":
            self._embed()
        try:
            self._name = target_of(self.dsn, settings.schema, os.environ)
        except ValueError:
            raise ConfigError("the dsn is a URI that cannot be read") from None

    @property
    def journal_dir(self) -> Path:
        """Where its journal is. Raises ConfigError when nothing says where."""
        return (self.settings.journal_dir or state_home(os.environ)) / self._name

    def connect(
        self, *, role: str | None = "ragledger_writer", statement_timeout_s: float = 30.0
    ) -> Connection:
        """A checked connection: the schema fits this release.

        Raises:
            DatabaseUnavailable, SchemaError, EmbeddedError
        """
        with unforked:
            from .postgres.connection import connect
            from .schema import check

        if self._server is not None:
            self._server.ensure()  # a forked child holds no lease, and a killed server does not come back by itself
        connection = connect(self.dsn, self.schema, role=role, statement_timeout_s=statement_timeout_s)
        try:
            check(connection, self.schema)
        except BaseException:
            connection.close()
            raise
        return connection

    def _embed(self) -> None:
        with unforked:
            from .embedded import EmbeddedServer
            from .postgres.connection import connect
            from .schema import apply

        self._server = server = EmbeddedServer.acquire()
        self.release = server.release
        self.dsn = server.dsn
        try:
            with connect(self.dsn, self.schema) as connection:
                apply(connection, self.schema)
        except BaseException:
            server.release()
            raise


def target_from(**given: Any) -> Target:
    """The target that arguments and environment name. Raises ConfigError, EmbeddedError."""
    return Target(Settings.from_env(os.environ, **given))


def open(
    dsn: str | None = None,
    *,
    name: str = "default",
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    **settings: Any,
) -> Ledger:
    """Opens a ledger. Needs no database to be up: records wait in the journal until there is one.

    Args:
        dsn: a libpq URI or conninfo, or `embedded`; default RAGLEDGER_DSN.
        name: how marked retrievers find this ledger again in another process.
        tracer_provider, meter_provider: default the global one, now or once it is set.
        settings: any field of `Settings`, such as project, ship, journal_dir, strict.

    Raises:
        ConfigError: a setting cannot be used, or no database was named.
        EmbeddedError: the embedded server could not be started.
    """
    target = target_from(dsn=dsn, **settings)
    try:
        return _assemble(target, name, tracer_provider, meter_provider)
    except BaseException:
        target.release()
        raise


def _assemble(
    target: Target, name: str, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None
) -> Ledger:
    with unforked:  # 9 ms that `import ragledger` does without
        from . import metrics
        from .spans.contents import contents_from

        instruments = metrics.instruments_for(meter_provider)
    chosen = target.settings
    said = {metrics.PROJECT: chosen.project, metrics.LEDGER: name}
    lookup = _LazyLookup(target)
    key = load_key(chosen.key, config_home(os.environ))
    narrator = narrator_for(tracer_provider, contents_from(chosen, os.environ))
    guard = Guard(strict=chosen.strict)
    push = _push(chosen, guard)
    listeners: list[Listener] = [metrics.Measuring(instruments, said)]
    if push is not None or chosen.span_feedback:
        listeners.append(_annotations(narrator if chosen.span_feedback else None, push, lookup, guard))
    texts_pause = TextsPause()
    parts = Parts(
        guard=guard,
        # Last of what can fail: its background work has begun.
        backend=_direct(target)
        if chosen.write == "direct"
        else _journalled(target, partial(instruments.shipped, said), texts_pause.begin),
        lookup=lookup,
        key=key,
        narrator=narrator,
        clock=SystemClock(),
        release=partial(_release, lookup, target, push),
        listeners=listeners,
        texts_pause=texts_pause,
    )
    ledger = Ledger(chosen, parts, name=name)
    instruments.watch(metrics.LedgerSource(ledger, said, cap_bytes=_cap_bytes(chosen)))
    return ledger


def _direct(target: Target) -> Direct:
    with unforked:
        from .direct import Direct

    chosen = target.settings
    connect = partial(target.connect, statement_timeout_s=_DIRECT_STATEMENT_TIMEOUT_S)
    return Direct(connect, project=chosen.project, vote_deadline_h=chosen.vote_deadline_h)


def _journalled(
    target: Target, on_batch: Callable[[float, str | None], None], on_no_texts: Callable[[], None]
) -> Journalled:
    chosen, directory = target.settings, target.journal_dir
    journal = Journal(
        directory, project=chosen.project, cap_bytes=_cap_bytes(chosen), fsync=chosen.journal_fsync
    )

    def make_shipper() -> Shipper:
        return Shipper(
            directory,
            target.connect,
            vote_deadline_h=chosen.vote_deadline_h,
            gentle=True,
            on_batch=on_batch,
            on_no_texts=on_no_texts,
        )

    return Journalled(journal, make_shipper if chosen.ship == "thread" else None)


def _cap_bytes(settings: Settings) -> int:
    return settings.journal_cap_mb * 1024 * 1024


def _push(settings: Settings, guard: Guard) -> Push | None:
    if not settings.push_targets:
        return None
    with unforked:
        from .push import Push, targets_from

    return Push(targets_from(settings.push_targets, os.environ), guard)


def _annotations(
    narrator: OtelNarrator | None, push: Push | None, lookup: _LazyLookup, guard: Guard
) -> Annotations:
    with unforked:
        from .annotations import Annotations, Teller
        from .spans.feedback import FeedbackSpans

    tellers: list[Teller] = [FeedbackSpans(narrator)] if narrator is not None else []
    if push is not None:
        tellers.append(push)
    return Annotations(tellers, lookup.find_trace, guard)


def _release(lookup: _LazyLookup, target: Target, push: Push | None) -> None:
    if push is not None:
        push.close(_PUSH_S)
    lookup.close()
    target.release()


class _LazyLookup:
    """Brings the driver in at the first vote that needs it, and again in a forked child."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._lookup: PostgresLookup | None = None
        self._pid = os.getpid()

    def find(self, search_id: UUID) -> Votable | None:
        return self._opened().find(search_id)

    def find_trace(self, search_id: UUID) -> TraceIds | None:
        return self._opened().find_trace(search_id)

    def _opened(self) -> PostgresLookup:
        if self._lookup is None or self._pid != os.getpid():
            with unforked:
                from .postgres.lookup import PostgresLookup

            self._lookup, self._pid = PostgresLookup(self._target.dsn, self._target.schema), os.getpid()
        return self._lookup

    def close(self) -> None:
        if (
            self._lookup is not None and self._pid == os.getpid()
        ):  # the parent's lock may be held for ever here
            self._lookup.close()
