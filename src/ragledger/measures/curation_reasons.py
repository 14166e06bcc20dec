"""The class of a document in plain words, with the counts that it rests on."""

from __future__ import annotations

from datetime import datetime, timezone

from .curation import Class, Least, Standing, verdicts
from .document_funnel import Funnel, Said

__all__ = ["CLASSES", "reason"]

CLASSES: dict[Class, str] = {
    Class.not_useful: "judged, not useful",
    Class.disputed: "votes disagree",
    Class.never_accessed: "shown but never accessed",
    Class.never_admitted: "retrieved but never admitted",
    Class.stale: "stale",
    Class.never_retrieved: "never retrieved",
    Class.useful: "useful",
    Class.few_votes: "too few votes to say",
    Class.shown_low: "never shown high enough to say",
    Class.seldom_retrieved: "too few retrievals to say",
    Class.not_known: "not known: rows are gone",
    Class.replaced: "replaced by a reindex",
    Class.gone: "not in the inventory any more",
}
"""What each class is called."""


def reason(found: Class, funnel: Funnel, standing: Standing, least: Least) -> str:
    """Why the document is in its class."""
    words = _WORDS[found](funnel, standing, least)
    earlier = standing.earlier
    if earlier is not None and found not in (Class.not_known, Class.replaced, Class.gone):
        words += f" (before rows were removed, rollups count {_n(earlier.retrieved, 'retrieval')} up to {_day(earlier.last_day)})"
    return words


def _not_useful(funnel: Funnel, standing: Standing, least: Least) -> str:
    return f"{_ballot(funnel, least)}: at least {least.ratio:.0%} say so"


def _disputed(funnel: Funnel, standing: Standing, least: Least) -> str:
    if any(
        said.not_useful >= least.ratio * said.votes and said.holds_its_place for said in funnel.said.values()
    ):
        return f"{_ballot(funnel, least)}: yet it is found useful no less than others at its ranks"
    return f"{_ballot(funnel, least)}: a part of it helps, or some of its readers"


def _useful(funnel: Funnel, standing: Standing, least: Least) -> str:
    return f"{_ballot(funnel, least)}: at least {least.ratio:.0%} found it useful"


def _never_accessed(funnel: Funnel, standing: Standing, least: Least) -> str:
    return (
        f"shown {_times(funnel.shown)}, best at rank {funnel.best_place}: others at these ranks would have been accessed about "
        f"{funnel.expected_accessed:.1f} times, it never was, and nobody voted{_kept(standing)}"
    )


def _never_admitted(funnel: Funnel, standing: Standing, least: Least) -> str:
    return f"considered {_times(funnel.retrieved)} and never good enough to be returned{_kept(standing)}"


def _stale(funnel: Funnel, standing: Standing, least: Least) -> str:
    last = funnel.last
    if last is None and standing.earlier is not None:
        last = standing.earlier.last_day
    return (
        f"last retrieved on {_day(last)}, and the newest search of its corpus was on {_day(standing.newest)}: more than "
        f"{least.stale_days} days; is it still right?"
    )


def _never_retrieved(funnel: Funnel, standing: Standing, least: Least) -> str:
    since = standing.known_since
    told = f" since {_day(since)}, when the inventory first had it," if since is not None else ""
    words = f"{_n(standing.searches, 'search', 'searches')} of its corpus{told} and none considered it"
    if standing.searches < least.searches:
        return f"{words}; fewer than {least.searches}, so too early to say more"
    return f"{words}: is it in the index, and does it say what people ask for?"


def _few_votes(funnel: Funnel, standing: Standing, least: Least) -> str:
    accessed = (
        f"accessed in {_n(funnel.accessed, 'search', 'searches')}" if funnel.accessed else "not accessed"
    )
    if not funnel.said:
        return f"{accessed}, and nobody voted"
    votes = "; ".join(f"{kind}: {_count(said)}" for kind, said in funnel.said.items())
    return f"{accessed}; {votes}: fewer than {least.votes} votes on one side, or too even, or not useful to fewer than {_n(least.actors, 'actor')}"


def _shown_low(funnel: Funnel, standing: Standing, least: Least) -> str:
    if not funnel.shown:
        return f"admitted {_times(funnel.admitted)}, and the delivery dropped it each time"
    if not funnel.expected_accessed:
        return f"shown {_times(funnel.shown)} where nobody's accesses are recorded, and nobody voted"
    return (
        f"shown {_times(funnel.shown)}, best at rank {funnel.best_place}: at these ranks only {funnel.expected_accessed:.1f} accesses "
        "were to be expected, so none says nothing"
    )


def _seldom_retrieved(funnel: Funnel, standing: Standing, least: Least) -> str:
    if not funnel.retrieved:
        return "not retrieved in the rows that are kept"
    return f"retrieved {_times(funnel.retrieved)}, fewer than {least.retrievals}, and nobody voted"


def _not_known(funnel: Funnel, standing: Standing, least: Least) -> str:
    if standing.earlier is not None and standing.earlier.admitted:
        return (
            f"not admitted in the rows that are kept, but {_times(standing.earlier.admitted)} before, up to "
            f"{_day(standing.earlier.last_day)}, by rollups"
        )
    if standing.newest is None:
        return "no search of its corpus is in the window"
    if not standing.matched:
        return "no id of the inventory is an id in the table: do they mean the same?"
    return "no search that is kept considered it, but rows were removed that may have"


def _replaced(funnel: Funnel, standing: Standing, least: Least) -> str:
    return "the newest index has its content under another id, and what was said of it counts there"


def _gone(funnel: Funnel, standing: Standing, least: Least) -> str:
    return f"retrieved {_times(funnel.retrieved)}, but the inventory does not have it any more"


_WORDS = {
    Class.not_useful: _not_useful,
    Class.disputed: _disputed,
    Class.never_accessed: _never_accessed,
    Class.never_admitted: _never_admitted,
    Class.stale: _stale,
    Class.never_retrieved: _never_retrieved,
    Class.useful: _useful,
    Class.few_votes: _few_votes,
    Class.shown_low: _shown_low,
    Class.seldom_retrieved: _seldom_retrieved,
    Class.not_known: _not_known,
    Class.replaced: _replaced,
    Class.gone: _gone,
}


def _ballot(funnel: Funnel, least: Least) -> str:
    """Only of those kinds of voters that voted enough."""
    return "; ".join(f"{kind}: {_count(funnel.said[kind])}" for kind in verdicts(funnel, least))


def _count(said: Said) -> str:
    return f"{said.not_useful} of {_n(said.votes, 'vote')} by {_n(said.actors, 'actor')} not useful"


def _kept(standing: Standing) -> str:
    return "; rows were removed, so this speaks of what is kept" if standing.missing_rows else ""


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _n(count: int, one: str, many: str | None = None) -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _day(moment: float | None) -> str:
    return "an unknown day" if moment is None else f"{datetime.fromtimestamp(moment, timezone.utc):%Y-%m-%d}"
