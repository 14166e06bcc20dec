"""Counters as OpenTelemetry metrics, by the API alone: without an SDK in the application they cost nothing.

Read at collection time from what is counted anyway; the path of a search knows nothing of them. Narration, like spans: no
number that the product reports is computed from them. Low cardinality: no ids, no text.

Counters are of this process. The gauges `ragledger.journal.*` are of the whole journal directory, as this process sees
it: every process that shares the directory says the same, so take their maximum, not their sum.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation

from .spans import SCOPE_NAME, scope_version
from .spans.names import ERROR_TYPE, FRAMEWORK, OPERATION, SURFACE
from .waiting import oldest_in, size_in, waiting_in

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider

    from .ledger import Ledger
    from .model import FeedbackRecord, SearchRecord
    from .shipper import Shipper

__all__ = [
    "Counters",
    "Instruments",
    "LedgerSource",
    "Measuring",
    "ShipperSource",
    "Source",
    "instruments_for",
]

PROJECT = "ragledger.project"
LEDGER = "ragledger.ledger"
FATE = "ragledger.row.fate"
REASON = "ragledger.refusal.reason"
FAULT = "ragledger.fault.kind"
STATE = "ragledger.journal.state"
OUTCOME = "ragledger.feedback.outcome"
ACTOR_KIND = "ragledger.feedback.actor_kind"

_RETRIEVAL_SECONDS = tuple(0.01 * 2**n for n in range(14))
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 30.0)


_REAL = "_real_instrument"  # of the API's stand-in; None until a provider is set


class Source(Protocol):
    """What is counted: a ledger, or a shipper with a process of its own."""

    @property
    def metric_attributes(self) -> Mapping[str, str]:
        """What tells it from others of this process."""
        ...

    @property
    def journal(self) -> tuple[Path, int] | None:
        """Its directory and how many bytes that may take; None without one."""
        ...

    def counters(self) -> Counters | None:
        """None when it is closed."""
        ...


class Counters(NamedTuple):
    """What a source has counted since it began."""

    written: int
    rejected: int
    refused: Mapping[str, int]
    faults: Mapping[str, int]


class LedgerSource:
    """A ledger that may be closed or collected at any time."""

    def __init__(self, ledger: Ledger, said: Mapping[str, str], *, cap_bytes: int) -> None:
        self._ledger = weakref.ref(ledger)
        self.metric_attributes = said
        directory = ledger.facts()["journal"]
        self.journal = (Path(directory), cap_bytes) if directory is not None else None

    def counters(self) -> Counters | None:
        ledger = self._ledger()
        if ledger is None or ledger.closed:
            return None
        facts = ledger.facts()
        shipper = facts["shipper"]
        return Counters(shipper["landed"], shipper["rejected"], facts["refused"], facts["faults"])


class ShipperSource:
    """A shipper with a process of its own. Which applications it ships for it does not say: they are in the rows."""

    metric_attributes: Mapping[str, str] = {}

    def __init__(self, shipper: Shipper, *, cap_bytes: int) -> None:
        self._shipper = shipper
        self.journal = (shipper.directory, cap_bytes)

    def counters(self) -> Counters | None:
        return Counters(self._shipper.landed, self._shipper.rejected, {}, {})


class Instruments:
    """All instruments of one meter, over every source that is open."""

    def __init__(self, provider: MeterProvider | None) -> None:
        self._sources: list[Source] = []
        meter = metrics.get_meter(SCOPE_NAME, scope_version() or "", provider)
        counter, gauge = meter.create_observable_counter, meter.create_observable_gauge
        counter("ragledger.rows", [self._rows], "{row}", "Records by what became of them")
        counter("ragledger.faults", [self._faults], "{fault}", "Faults of our own, which no search felt")
        gauge("ragledger.journal.rows", [self._waiting_rows], "{row}", "Records that wait in the journal")
        gauge("ragledger.journal.age", [self._age], "s", "Age of the oldest record that waits")
        gauge("ragledger.journal.size", [self._size], "By", "Bytes that the journal takes")
        gauge("ragledger.journal.limit", [self._limit], "By", "Bytes that the journal may take")
        self._duration = meter.create_histogram(
            "ragledger.ship.duration",
            "s",
            "Time that the table took for a batch",
            explicit_bucket_boundaries_advisory=_SECONDS,
        )
        self._retrieval = meter.create_histogram(
            "gen_ai.retrieval.duration",
            "s",
            "Duration of a search that a caller made",
            explicit_bucket_boundaries_advisory=_RETRIEVAL_SECONDS,
        )
        self._votes = meter.create_counter("ragledger.feedback.votes", "{vote}", "Votes that were kept")

    def watch(self, source: Source) -> None:
        """From here on its counters are exported, until it is closed."""
        for _ in self._open():
            pass  # forgets what was closed: without an SDK nobody else asks
        self._sources.append(source)

    def shipped(self, attributes: Mapping[str, str], seconds: float, failure: str | None) -> None:
        """A batch was taken, or was not: `failure` is the class of the exception. Never raises."""
        said = {**attributes, ERROR_TYPE: failure} if failure is not None else attributes
        with contextlib.suppress(Exception):  # a fault of an SDK must not stop shipping
            self._duration.record(seconds, said)

    def searched(self, record: SearchRecord) -> None:
        """A search has ended. Nothing happens while nobody has set a meter provider. Never raises."""
        if getattr(self._retrieval, _REAL, self) is None or record.depth or record.latency_ms is None:
            return
        said = {OPERATION: "retrieval", FRAMEWORK: record.framework}
        if record.surface is not None:
            said[SURFACE] = record.surface
        if record.error_type is not None:
            said[ERROR_TYPE] = record.error_type
        with contextlib.suppress(Exception):  # a fault of an SDK must not cost the search
            self._retrieval.record(record.latency_ms / 1000, said)

    def voted(self, record: FeedbackRecord, said: Mapping[str, str]) -> None:
        """A vote was kept. Never raises."""
        if record.outcome is not None:
            with contextlib.suppress(Exception):
                self._votes.add(1, {**said, OUTCOME: record.outcome, ACTOR_KIND: record.actor_kind})

    def _open(self) -> Iterator[tuple[Source, Counters]]:
        for source in list(self._sources):
            counters = source.counters()
            if counters is not None:
                yield source, counters
            else:
                with contextlib.suppress(ValueError):  # another reader was faster
                    self._sources.remove(source)

    def _rows(self, _: CallbackOptions) -> Iterator[Observation]:
        for source, counters in self._open():
            said = source.metric_attributes
            yield Observation(counters.written, {**said, FATE: "written"})
            yield Observation(counters.rejected, {**said, FATE: "rejected"})
            for reason, number in counters.refused.items():
                yield Observation(number, {**said, FATE: "refused", REASON: reason})

    def _faults(self, _: CallbackOptions) -> Iterator[Observation]:
        for source, counters in self._open():
            for kind, number in counters.faults.items():
                yield Observation(number, {**source.metric_attributes, FAULT: kind})

    def _journals(self) -> Iterator[tuple[Mapping[str, str], Path, int]]:
        for source, _ in self._open():
            if source.journal is not None:
                yield (source.metric_attributes, *source.journal)

    def _waiting_rows(self, _: CallbackOptions) -> Iterator[Observation]:
        for said, directory, _cap in self._journals():
            waiting = waiting_in(directory)
            yield Observation(waiting.records, {**said, STATE: "waiting"})
            yield Observation(waiting.unfinished, {**said, STATE: "unfinished"})

    def _age(self, _: CallbackOptions) -> Iterator[Observation]:
        for said, directory, _cap in self._journals():
            oldest_us = oldest_in(directory)
            age_s = time.time() - oldest_us / 1e6 if oldest_us is not None else 0.0
            yield Observation(max(0.0, age_s), said)  # a clock may have been set back

    def _size(self, _: CallbackOptions) -> Iterator[Observation]:
        for said, directory, _cap in self._journals():
            yield Observation(size_in(directory), said)

    def _limit(self, _: CallbackOptions) -> Iterator[Observation]:
        for said, _directory, cap_bytes in self._journals():
            yield Observation(cap_bytes, said)


class Measuring:
    """Implements `ports.Listener` for the ledger that `said` tells from others."""

    def __init__(self, instruments: Instruments, said: Mapping[str, str]) -> None:
        self.searched = instruments.searched
        self._instruments = instruments
        self._said = said

    def voted(self, record: FeedbackRecord) -> None:
        """Counts it."""
        self._instruments.voted(record, self._said)


def instruments_for(provider: MeterProvider | None) -> Instruments:
    """Those of a provider; None is the global one, now or once it is set. Made once: a second set would be a conflict."""
    if provider is None:
        if None not in _default:
            _default[None] = Instruments(None)
        return _default[None]
    if (made := _by_provider.get(provider)) is None:
        made = _by_provider[provider] = Instruments(provider)
    return made


_default: dict[None, Instruments] = {}
_by_provider: weakref.WeakKeyDictionary[MeterProvider, Instruments] = weakref.WeakKeyDictionary()
