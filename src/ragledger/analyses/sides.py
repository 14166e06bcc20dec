"""Which searches a side of a comparison is: an epoch, or a window; and what the table says about it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from ragledger.emptiness import nothing_in
from ragledger.errors import NotComparable
from ragledger.measures import comparison_facts as facts
from ragledger.measures.comparison_report import SideExtent
from ragledger.measures.facts import AnswersFact, VoterFact
from ragledger.measures.report import Window
from ragledger.model import Outcome
from ragledger.postgres.connection import Connection
from ragledger.scoped import ScopeReader

__all__ = ["Asked", "extent_of", "read_side", "resolved", "shared_searches"]

_SHOWN = 8
_RAN = "search that ran"
_WORDS = ("current", "previous")
_FEWEST = 2


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A side as it was asked for: all searches of `window`, or those of one epoch.

    `epoch` is an id, the beginning of one, `current` (whose weights run now: of the newest search that ended well
    with nothing missing, else of the newest that ran) or `previous` (the one before in the same corpus that has such a search).
    These two need a project to be named where several ran.
    """

    name: str
    window: Window
    epoch: str | None = None


def resolved(connection: Connection, asked: Asked, useful_from: Outcome) -> Asked:
    """The side with the whole id of its epoch.

    Raises:
        NotComparable: no epoch, or more than one, is meant; or several projects ran and none is named.
        NothingToMeasure: no search of the window ran.
    """
    if asked.epoch is None:
        return asked
    reader = ScopeReader(connection, asked.window, useful_from)
    running = reader.all("compare", "running", facts.RunningFact)
    if not running:
        raise nothing_in(connection, asked.window, "compare", kind=_RAN)
    return msgspec.structs.replace(asked, epoch=_meant(asked.epoch, running))


def read_side(connection: Connection, side: Asked, useful_from: Outcome) -> facts.SideFacts:
    """Everything about one side.

    Raises:
        NothingToMeasure: no search of it ran.
    """
    reader = ScopeReader(connection, side.window, useful_from, side.epoch)
    epochs = reader.epochs(reader.alike())
    if not epochs:
        raise nothing_in(connection, side.window, "compare", kind=_RAN, epoch=side.epoch)
    return facts.SideFacts(
        epochs=epochs,
        mix=reader.all("compare", "mix", facts.MixFact),
        latency=reader.one("compare", "latency", facts.LatencyFact),
        answers=reader.all("measure", "answers", AnswersFact),
        shown=reader.all("compare", "shown", facts.PositionFact),
        clusters=reader.all("compare", "clusters", facts.ClusterFact),
        actors=reader.all("compare", "actors", facts.ActorFact),
        questions=reader.all("compare", "questions", facts.QuestionFact),
        voters=reader.all("measure", "voters", VoterFact),
    )


def extent_of(side: Asked, found: facts.SideFacts) -> SideExtent:
    """What a side is and holds."""
    epochs = sorted(found.epochs, key=lambda fact: (fact.first_seen, fact.epoch))
    return SideExtent(
        name=side.name,
        epoch=side.epoch,
        since=side.window.since,
        until=side.window.until,
        first_search=min(fact.first_seen for fact in epochs),
        last_search=max(fact.last_seen for fact in epochs),
        searches=found.ran,
        ok=found.ok,
        epochs=tuple(fact.epoch for fact in epochs),
        index_versions=_different([fact.index_version for fact in epochs]),
        embedding_models=_different([fact.embedding_model for fact in epochs]),
    )


def shared_searches(connection: Connection, a: Asked, b: Asked, useful_from: Outcome) -> int:
    """How many searches are on both sides."""
    if a.epoch and b.epoch and a.epoch != b.epoch:
        return 0
    since = _latest(a.window.since, b.window.since)
    until = min((bound for bound in (a.window.until, b.window.until) if bound), default=None)
    if since and until and since >= until:
        return 0
    both = msgspec.structs.replace(a.window, since=since, until=until)
    reader = ScopeReader(connection, both, useful_from, a.epoch or b.epoch)
    return reader.one("compare", "shared", facts.SharedFact).searches


def _meant(text: str, running: Sequence[facts.RunningFact]) -> str:
    known = list(dict.fromkeys(fact.epoch for fact in running))
    if text in known:
        return text
    if text in _WORDS:
        return _by_word(text, running)
    found = [epoch for epoch in known if epoch.startswith(text)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join((found or known)[:_SHOWN]) or "none"
    if found:
        raise NotComparable(f"{text!r} is the beginning of {len(found)} epochs: {listed}")
    raise NotComparable(f"no epoch {text!r} ran in the window; the latest are: {listed}")


def _by_word(word: str, running: Sequence[facts.RunningFact]) -> str:
    projects = sorted({fact.project for fact in running})
    if len(projects) > 1:
        listed = ", ".join(projects[:_SHOWN])
        raise NotComparable(
            f"{word!r} of which project? {len(projects)} ran ({listed}): name one by --project"
        )
    here = [fact for fact in running if fact.corpus == running[0].corpus]
    if word == "current":
        return here[0].epoch
    # What searches only fell back to, or failed under, was an outage and no change that somebody made.
    healthy = [fact.epoch for fact in here if fact.last_healthy is not None]
    if len(healthy) < _FEWEST:
        raise NotComparable(
            f"there is no previous epoch of corpus {running[0].corpus!r}: {len(healthy)} ran in the window with a search "
            "that ended well and was not degraded"
        )
    return healthy[1]


def _latest(one: datetime | None, other: datetime | None) -> datetime | None:
    return max((bound for bound in (one, other) if bound), default=None)


def _different(values: Sequence[str | None]) -> tuple[str | None, ...]:
    return tuple(sorted(set(values), key=lambda value: (value is None, value or "")))
