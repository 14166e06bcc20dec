"""What shaped a ranking, read from a retriever by the extractor of its class: for every framework the same registry.

An extractor reads an allow-list of numbers, modes and short words. Never `vars()`, never a filter, never a document:
a config can hold query text and personal data. It is found by the qualified name of a class among the retriever's
bases, so that nothing is imported for it. Third parties add theirs with the decorator, or by an entry point of the
group `ragledger_extractors` whose name is the class and whose value is the function.
"""

from __future__ import annotations

import inspect
import logging
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from .forks import unforked
from .model import ScoreKind
from .weights import UNKNOWN, Weights

__all__ = [
    "BODY",
    "ENTRY_POINTS",
    "MOST_LEVELS",
    "UNREAD",
    "Call",
    "Extractor",
    "Reading",
    "extractor",
    "load_entry_points",
    "plain_number",
    "read",
    "unknown_within",
]

_logger = logging.getLogger(__name__)
ENTRY_POINTS = "ragledger_extractors"
BODY = (
    "_get_relevant_documents",
    "_aget_relevant_documents",
    "invoke",
    "ainvoke",
    "_retrieve",
    "_aretrieve",
)
MOST_LEVELS = 3
"""A composite so far inside of others does not say what its members are set to: a row has its limits."""
_CACHE_SIZE = 1024


class Call(NamedTuple):
    """How the retriever was called: per-call keyword arguments can override what it is configured with.

    `level`: how many composites it is a member of. What the innermost ones that are read hold is not read.
    """

    kwargs: Mapping[str, Any] = {}
    asynchronous: bool = False
    level: int = 0


class Reading(NamedTuple):
    """What an extractor knows of a retriever at this moment, by value.

    `score_kind` says what the scores of its items are, where it has any, and `signal` which of the two usual
    signals they are, where they are one. `dense`: an answer means that dense retrieval answered; None when that is
    not known. `members` are the retrievers whose answers it fuses, in the order of their weights, and `key` by what
    it matches their items.
    """

    weights: Weights = UNKNOWN
    top_k: Any = None
    score_kind: ScoreKind | None = None
    signal: Literal["vector", "lexical"] | None = None
    dense: bool | None = None
    members: Sequence[object] = ()
    key: Callable[[Any], Hashable] | None = None


Extractor: TypeAlias = Callable[[Any, Call], Reading]
_E = TypeVar("_E", bound=Extractor)

UNREAD = Reading()
_NO_CALL = Call()


class _Registered(NamedTuple):
    extract: Extractor
    body: tuple[str, ...]


class _Plan(NamedTuple):
    """The extractor of one class; `trusted` unless the class has its own body, which may do anything."""

    extract: Extractor
    trusted: bool


_registered: dict[str, _Registered] = {}
_plans: dict[type, _Plan | None] = {}
_loaded = False


def extractor(*class_names: str, body: tuple[str, ...] = BODY) -> Callable[[_E], _E]:
    """Registers a reader for classes of retrievers and those derived from them; a later one replaces an earlier.

    Args:
        class_names: module and class, such as `my_package.retrievers.HybridRetriever`.
        body: the methods that do the ranking. A subclass with its own may do anything: of it, what is read is
            configured, and what takes effect is unknown.
    """

    def register(extract: _E) -> _E:
        for name in class_names:
            _registered[name] = _Registered(extract, body)
        _plans.clear()
        return extract

    return register


def read(retriever: Any, call: Call = _NO_CALL) -> Reading:
    """The weights in force for this call, by value. A class that nobody can read is unknown.

    May raise whatever an extractor raises, and TypeError when it gives back something else than a Reading.
    """
    cls = type(retriever)
    try:
        plan = _plans[cls]
    except KeyError:
        plan = _plan(cls)
    if plan is None:
        return UNREAD
    reading = plan.extract(retriever, call)
    if not isinstance(reading, Reading):
        raise TypeError("an extractor gives back a Reading")
    # An extractor that was loaded by this very reading may have named a body of its own.
    trusted = plan.trusted or ((again := _plans.get(cls)) is not None and again.trusted)
    return reading if trusted else _of_override(reading)


def unknown_within(number: int, unknown: Iterable[str]) -> tuple[str, ...]:
    """What a composite says of what its member cannot say: `member_2.filter`."""
    return tuple([f"member_{number}.{name}" for name in unknown])


def load_entry_points() -> None:
    """Registers what other packages offer, once; an adapter calls it when it is installed. Loads none of them yet."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    with unforked:
        from importlib.metadata import entry_points

    for offered in entry_points(group=ENTRY_POINTS):
        if offered.name not in _registered:  # what the application registered by hand wins
            extractor(offered.name)(_on_first_use(offered))


def plain_number(value: Any) -> int | float | None:
    """A number by value, numpy's too; None for anything else."""
    kind = type(value)
    if kind is int or kind is float:
        return value  # type: ignore[no-any-return]
    if kind is bool:
        return None
    if isinstance(value, numbers.Integral):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) else None


def _on_first_use(offered: Any) -> Extractor:
    def extract(retriever: Any, call: Call) -> Reading:
        before = _registered.get(offered.name)
        try:
            found: Extractor = offered.load()
        except Exception as exc:
            _logger.warning("ragledger: an extractor cannot be loaded (%s)", type(exc).__name__)
            extractor(offered.name)(_unreadable)
            raise
        if _registered.get(offered.name) is before:  # its own decorator may name the methods that rank
            extractor(offered.name)(found)
        return read(retriever, call)

    return extract


def _unreadable(retriever: Any, call: Call) -> Reading:
    """Stands where an extractor could not be loaded."""
    return UNREAD


def _plan(cls: type) -> _Plan | None:
    plan = None
    derived: list[type] = []
    for base in cls.__mro__:
        found = _registered.get(f"{base.__module__}.{base.__qualname__}")
        if found is not None:
            own = any(_overrides(above, base, name) for above in derived for name in found.body)
            plan = _Plan(found.extract, not own)
            break
        derived.append(base)
    if len(_plans) >= _CACHE_SIZE:
        _plans.clear()
    _plans[cls] = plan
    return plan


def _overrides(cls: type, base: type, name: str) -> bool:
    """Whether the class has a method of its own, and not what it inherits with somebody's wrapper around it."""
    own = vars(cls).get(name)
    return own is not None and inspect.unwrap(own) is not inspect.unwrap(getattr(base, name, _overrides))


def _of_override(reading: Reading) -> Reading:
    """A subclass with a search of its own: the settings are read, what it does with them is not known."""
    weights = reading.weights
    return Reading(
        Weights(
            configured=weights.configured,
            unknown=("effective",),
            extractor=weights.extractor,
        )
    )
