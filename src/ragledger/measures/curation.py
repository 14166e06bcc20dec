"""Which class a document is in, and what that suggests. Every document is in exactly one.

Unknown is not useless (promise P8). What makes a document *not useful* is votes that say so and nothing else: neither how
often it was shown without a vote, nor how seldom it was retrieved. So more exposures without a vote never make it useless,
and a useful vote never moves it towards `retire`: each bound below is on the votes that say *not useful*, on their share, on who
gave them, and on what else was found useful at the same ranks where there was a vote.

Voters of different kinds are judged apart and never added up. Where kinds with enough votes disagree, the document is
`disputed`, so no kind alone retires what another one found useful.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias

from ragledger.model import ActorKind

from .document_funnel import Funnel, Said

__all__ = [
    "SUGGESTIONS",
    "Class",
    "Earlier",
    "Least",
    "Standing",
    "Suggestion",
    "Verdict",
    "classify",
    "suggestion_of",
    "verdicts",
]

Suggestion: TypeAlias = Literal["confirm", "revise", "retire"]
Verdict: TypeAlias = Literal["useful", "disputed", "not_useful"]


class Class(str, Enum):
    """In the order that they are listed in: most actionable first."""

    not_useful = "not_useful"
    disputed = "disputed"
    never_accessed = "never_accessed"
    never_admitted = "never_admitted"
    stale = "stale"
    never_retrieved = "never_retrieved"
    useful = "useful"
    few_votes = "few_votes"
    shown_low = "shown_low"
    seldom_retrieved = "seldom_retrieved"
    not_known = "not_known"
    replaced = "replaced"
    gone = "gone"


SUGGESTIONS: Mapping[Class, Suggestion] = {
    Class.not_useful: "retire",
    Class.disputed: "revise",
    Class.never_accessed: "revise",
    Class.never_admitted: "revise",
    Class.stale: "revise",
    Class.never_retrieved: "revise",
    Class.useful: "confirm",
}
"""What is not here suggests nothing: not enough is known, or there is nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Least:
    """How much it takes to say something of a document."""

    retrievals: int = 3
    votes: int = 3
    actors: int = 2
    """Who say not useful: what one actor says retires nothing."""
    ratio: float = 0.7
    """The share of the votes that decides. Above one half, so that they cannot decide both ways."""
    stale_days: int = 90
    searches: int = 30
    """Searches of the corpus, before `never retrieved` suggests anything."""
    expected_accesses: float = 3.0
    """How many accesses its places must have let expect before none means something: with 3 expected, none at all happens by
    chance in 5 of 100 cases."""

    def __post_init__(self) -> None:
        if min(self.retrievals, self.votes, self.actors, self.stale_days, self.searches) < 1:
            raise ValueError("a minimum is at least 1")
        if not 0.5 < self.ratio <= 1:
            raise ValueError("the ratio is above 0.5 and at most 1")
        if self.expected_accesses <= 0:
            raise ValueError("the expected accesses are above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What the collector counted on days of which rows are gone. Votes of all kinds together, useful from `relevant` on."""

    retrieved: int
    admitted: int
    accessed: int
    judged: int
    useful: int
    not_useful: int
    last_day: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of a document beside its funnel. Moments are seconds since 1970."""

    newest: float | None
    """The newest search of its corpus; None: no search of this corpus is in the window."""
    searches: int
    """Searches of its corpus since it is known to be there."""
    known_since: float | None = None
    """When the inventory first had it, where that is told."""
    listed: bool | None = None
    """Whether the inventory has it; None: no inventory speaks for its corpus."""
    matched: bool = True
    """Whether the inventory and the table have any id in common."""
    replaced: bool = False
    """Its content has another id now, and the newest index does not have it any more."""
    missing_rows: bool = False
    """Rows that may have retrieved it were removed."""
    earlier: Earlier | None = None


def classify(funnel: Funnel, standing: Standing, least: Least) -> Class:
    """The class of one document."""
    if standing.replaced:
        return Class.replaced
    if standing.listed is False:
        return Class.gone
    if not funnel.retrieved:
        return _unseen(standing, least)
    return _by_votes(funnel, standing, least)


def suggestion_of(found: Class, standing: Standing, least: Least) -> Suggestion | None:
    """None: leave it, not enough is known to say more."""
    if found is Class.never_retrieved and standing.searches < least.searches:
        return None
    return SUGGESTIONS.get(found)


def verdicts(funnel: Funnel, least: Least) -> dict[ActorKind, Verdict]:
    """What each kind of voter says; no entry: too few votes to say."""
    found = {kind: _verdict(said, least) for kind, said in funnel.said.items()}
    return {kind: verdict for kind, verdict in found.items() if verdict is not None}


def _unseen(standing: Standing, least: Least) -> Class:
    earlier = standing.earlier
    if earlier is not None and earlier.retrieved:
        return Class.stale if _is_stale(earlier.last_day, standing, least) else Class.seldom_retrieved
    if standing.newest is None or standing.missing_rows or not standing.matched:
        return Class.not_known
    return Class.never_retrieved


def _by_votes(funnel: Funnel, standing: Standing, least: Least) -> Class:
    said = set(verdicts(funnel, least).values())
    if said == {"not_useful"}:
        return Class.not_useful
    if funnel.last is not None and _is_stale(funnel.last, standing, least):
        return Class.stale
    if said:
        return Class.useful if said == {"useful"} else Class.disputed
    return _without_verdict(funnel, standing.earlier, least)


def _without_verdict(funnel: Funnel, earlier: Earlier | None, least: Least) -> Class:
    """Nobody said enough of it. What happened before rows were removed still happened."""
    if funnel.accessed or funnel.said or (earlier is not None and (earlier.accessed or earlier.judged)):
        return Class.few_votes
    if funnel.retrieved < least.retrievals:
        return Class.seldom_retrieved
    if not funnel.admitted:
        return Class.not_known if earlier is not None and earlier.admitted else Class.never_admitted
    return Class.never_accessed if funnel.expected_accessed >= least.expected_accesses else Class.shown_low


def _verdict(said: Said, least: Least) -> Verdict | None:
    if not said.votes:
        return None
    share = said.not_useful / said.votes
    if said.not_useful >= least.votes and said.against >= least.actors:
        if share >= least.ratio:
            return "disputed" if said.holds_its_place else "not_useful"
        if said.useful / said.votes < least.ratio:
            return "disputed"
    return "useful" if said.useful >= least.votes and said.useful / said.votes >= least.ratio else None


def _is_stale(last: float, standing: Standing, least: Least) -> bool:
    """Measured at the corpus's own newest search: an application that rests makes nothing stale."""
    return standing.newest is not None and standing.newest - last > least.stale_days * 86400
