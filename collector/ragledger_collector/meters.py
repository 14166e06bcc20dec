"""The instruments of OpenTelemetry over the latest points. Narration: no number that the product reports comes from here."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version

from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

from .points import Point

__all__ = ["COUNTERS", "GAUGES", "Board", "instrument"]

GAUGES = (
    ("ragledger.searches", "{search}", "Searches of the window by how they ended"),
    ("ragledger.searches.degraded", "{search}", "Searches that ran with something missing"),
    (
        "ragledger.searches.vector",
        "{search}",
        "Searches of which it is known whether dense retrieval answered",
    ),
    (
        "ragledger.searches.told",
        "{search}",
        "Searches that the hit rate is of: ended ok, and their hits are known",
    ),
    ("ragledger.epochs", "{epoch}", "Epochs that are pooled in the readings of the window"),
    ("ragledger.degraded_share", "1", "Degraded searches of those that ran"),
    ("ragledger.hit_rate", "1", "Ok searches with at least one admitted hit"),
    ("ragledger.hit_rate.low", "1", "Lower end of its 95 % interval"),
    ("ragledger.hit_rate.high", "1", "Upper end of its 95 % interval"),
    ("ragledger.judged", "{hit}", "Judged hits at positions of at most k"),
    ("ragledger.judged.searches", "{search}", "Searches with a judged hit at positions of at most k"),
    ("ragledger.judged_share", "1", "Judged hits of those that were shown at positions of at most k"),
    ("ragledger.precision", "1", "precision@k: useful hits of those that were judged"),
    ("ragledger.precision.low", "1", "Lower end of its 95 % interval, clustered by search"),
    ("ragledger.precision.high", "1", "Upper end of its 95 % interval, clustered by search"),
    ("ragledger.table.pending", "{vote}", "Votes that wait for their search"),
    ("ragledger.collector.backlog", "{record}", "Records in the table that the collector has not looked at"),
    ("ragledger.collector.waiting.minutes", "{minute}", "Minutes that must be counted again"),
    ("ragledger.collector.waiting.days", "{day}", "Days whose documents must be counted again"),
)
COUNTERS = (
    ("ragledger.table.records", "{record}", "Records since the table was made, by what became of them"),
)


class Board:
    """The latest points of the collector that is at work, and how far behind it is. Read from other threads."""

    def __init__(self, every_s: float | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.every_s = every_s  # None: there is one pass
        self._clock = clock
        self._lock = threading.Lock()
        self._points: dict[str, list[Point]] = {}
        self._up_to: float | None = None

    @property
    def silent(self) -> bool:
        """Nobody is at work here, so there is nothing to say."""
        return self._up_to is None

    def work(self) -> None:
        """This process is the collector. Until its first pass has ended, it is behind by as long as that takes."""
        with self._lock:
            if self._up_to is None:
                self._up_to = self._clock()

    def passed(self, began: float) -> None:
        """A pass has ended: everything that had arrived when it began is counted."""
        with self._lock:
            self._up_to = began

    def show(self, points: Iterable[Point]) -> None:
        """These are the points now, and no others."""
        by_name = _by_name(points)
        with self._lock:
            self._points = by_name

    def renew(self, points: Iterable[Point]) -> None:
        """These are the points of their instruments now; the other instruments keep theirs."""
        by_name = _by_name(points)
        with self._lock:
            self._points = self._points | by_name

    def rest(self) -> None:
        """Another process is the collector: this one says nothing more."""
        with self._lock:
            self._points, self._up_to = {}, None

    def of(self, name: str) -> list[Point]:
        """The points of one instrument."""
        with self._lock:
            return self._points.get(name, [])

    def lag_s(self) -> float | None:
        """How long ago the last pass that ended began; None when nobody is at work here."""
        with self._lock:
            return None if self._up_to is None else max(0.0, self._clock() - self._up_to)


def _by_name(points: Iterable[Point]) -> dict[str, list[Point]]:
    by_name = defaultdict(list)
    for point in points:
        by_name[point.name].append(point)
    return dict(by_name)


def instrument(provider: MeterProvider, board: Board, failures: Callable[[], int]) -> None:
    """Makes the instruments. `failures` counts what an OTLP endpoint did not take."""
    meter = provider.get_meter("ragledger.collector", version("ragledger"))
    for name, unit, description in GAUGES:
        meter.create_observable_gauge(name, [_points(board, name)], unit, description)
    for name, unit, description in COUNTERS:
        meter.create_observable_counter(name, [_points(board, name)], unit, description)

    def lag(_: CallbackOptions) -> Iterator[Observation]:
        seconds = board.lag_s()
        if seconds is not None:
            yield Observation(seconds)

    def interval(_: CallbackOptions) -> Iterator[Observation]:
        if board.every_s is not None and not board.silent:
            yield Observation(board.every_s)

    def failed(_: CallbackOptions) -> Iterator[Observation]:
        if not board.silent:
            yield Observation(failures())

    said = "How long ago the last pass that ended began: what arrived before is counted"
    meter.create_observable_gauge("ragledger.collector.lag", [lag], "s", said)
    said = "How long after the begin of a pass the next one begins, where passes are not longer"
    meter.create_observable_gauge("ragledger.collector.interval", [interval], "s", said)
    said = "Exports that the OTLP endpoint did not take"
    meter.create_observable_counter("ragledger.collector.failed_exports", [failed], "{export}", said)


def _points(board: Board, name: str) -> Callable[[CallbackOptions], Iterator[Observation]]:
    def observed(_: CallbackOptions) -> Iterator[Observation]:
        for point in board.of(name):
            yield Observation(point.value, point.attributes)

    return observed
