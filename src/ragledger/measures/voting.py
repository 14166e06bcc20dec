"""From ballots to what a report says of votes: precision within every part, ranks, funnel, agreement, diagnosis, worth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, TypeAlias, TypeVar

from ragledger.model import ActorKind

from . import diagnosis, precision, ranks, voted
from .actors import wider
from .ballots import KINDS, Ballot, Figures, ballots, usefulness
from .facts import AssessedFact, Facts, ShownFact, StoredFact, VoteFact, VotesFact
from .interval import Interval, Sums
from .kappa import agreed, pairs
from .macro import mean
from .precision import CUTS
from .ranges import range_of
from .rates import rate
from .worth import worth

__all__ = ["EVERYTHING", "Votes", "assessments"]

_THIN_HITS, _THIN_SEARCHES = 30, 20

PartKey = tuple[str, Any]
"""Which part of the searches: ("all", None), ("epoch", name), ("actor_kind", kind) or ("surface", name)."""

EVERYTHING: PartKey = ("all", None)

_T = TypeVar("_T")
Counted: TypeAlias = "dict[_T, int]"
"""How many searches were judged so, or came to this."""


class Votes:
    """What the votes of a window say."""

    def __init__(self, facts: Facts) -> None:
        papers = [fact for fact in facts.votes if fact.what == "ballot"]
        self._shared = [fact for fact in papers if len({vote.voter for vote in fact.hits or ()}) > 1]
        self._shown = facts.shown
        self._opened = facts.opened
        self._actors = {
            (_part_of(fact), fact.voter, fact.k): _sums_of_actors(fact)
            for fact in facts.votes
            if fact.what != "ballot"
        }
        self._by_part = _by_part(papers)

    def voter(self, kind: ActorKind, ok: int) -> voted.Voter:
        """All that voters of one kind said."""
        said = self._by_part[EVERYTHING][kind]
        everybody = self._by_actor(EVERYTHING, kind, None)
        return voted.Voter(
            **_fields(self._voted(EVERYTHING, kind, ok)),
            votes=sum(vote.actors * searches for one, searches in said.items() for vote in one.votes),
            actors=everybody.clusters if everybody else 0,
            searches=sum(said.values()),
            not_delivered=sum((len(one.votes) - len(one.placed)) * n for one, n in said.items()),
        )

    def part(self, part: PartKey, ok: int) -> dict[str, Any]:
        """The same of one part, as the values of a `Part`."""
        return {"ok": ok, "voters": {kind: self._voted(part, kind, ok) for kind in KINDS}}

    def _by_actor(self, part: PartKey, kind: ActorKind, k: int | None) -> Sums | None:
        return self._actors.get((part, kind, k))

    def _voted(self, part: PartKey, kind: ActorKind, ok: int) -> voted.Voted:
        found = _figures(self._by_part[part][kind])
        shown = [fact for fact in self._shown if part == EVERYTHING or getattr(fact, part[0]) == part[1]]
        return voted.Voted(
            at={k: self._at(k, found, _within(shown, k), self._by_actor(part, kind, k), ok) for k in CUTS},
            ndcg=_mean((figures.ndcg, searches) for figures, searches in found.items()),
            bpref=_mean((figures.bpref, searches) for figures, searches in found.items()),
        )

    def _at(self, k: int, found: Counted[Figures], shown: int, by_actor: Sums | None, ok: int) -> voted.At:
        rows = _alike(found, k)
        sums = precision.sums_of(rows)
        interval, clustered_by = wider(sums, by_actor)
        own = [(float(useful) / judged, searches) for useful, judged, searches in rows]
        judged = int(sums.judged)
        return voted.At(
            precision=precision.precision(sums),
            interval=range_of(interval),
            clustered_by=clustered_by,
            useful=sums.useful,
            judged=judged,
            shown=shown,
            judged_share=precision.judged_share(judged, shown),
            bounds=range_of(precision.bounds(sums, shown)),
            searches=sums.clusters,
            actors=by_actor.clusters if by_actor else 0,
            thin=judged < _THIN_HITS or sums.clusters < _THIN_SEARCHES,
            macro=_as_mean(mean(own), ok),
        )

    def ranks(self) -> voted.Ranks:
        """What stood, was accessed, judged and useful at each rank."""
        shown = ranks.spread(((fact.position, fact.hits) for fact in self._shown), 0)
        accessed = self._accessed_by(None)
        feedback = {kind: self._feedback_by_rank(kind) for kind in KINDS}

        def at(index: int, rank: int | None) -> voted.AtRank:
            return voted.AtRank(
                rank=rank,
                shown=shown[index],
                accessed=accessed[index],
                voters={kind: feedback[kind][index] for kind in KINDS},
            )

        last = ranks.last_rank(shown[: ranks.TOP])
        return voted.Ranks(
            top=ranks.TOP,
            at=tuple(at(rank - 1, rank) for rank in range(1, last + 1)),
            beyond=at(ranks.TOP, None),
        )

    def _accessed_by(self, kind: ActorKind | None) -> Sequence[int | None]:
        if not self._opened:
            return [None] * (ranks.TOP + 1)
        return ranks.spread(((fact.position, fact.hits) for fact in self._opened if fact.voter == kind), 0)

    def _feedback_by_rank(self, kind: ActorKind) -> list[voted.Feedback]:
        judged = [0] * (ranks.TOP + 1)
        useful: list[list[int | Fraction]] = [[] for _ in judged]
        for ballot, searches in self._by_part[EVERYTHING][kind].items():
            for position, share in ballot.placed:
                index = min(position, ranks.TOP + 1) - 1
                judged[index] += searches
                useful[index].append(share * searches)
        return [
            voted.Feedback(accessed=a, judged=j, useful=float(precision.total(u)))
            for a, j, u in zip(self._accessed_by(kind), judged, useful, strict=True)
        ]

    def funnel(self) -> voted.Funnel:
        """How far hits came."""
        retrieved = sum(fact.hits for fact in self._shown)
        accessed = self._accessed(None)
        return voted.Funnel(
            retrieved=retrieved,
            accessed=accessed,
            accessed_rate=None if accessed is None else rate(accessed, retrieved),
            voters={kind: self._reached(kind, retrieved) for kind in KINDS},
        )

    def _accessed(self, kind: ActorKind | None) -> int | None:
        """Not known where nobody's accesses are recorded: then none is no observation."""
        return sum(fact.hits for fact in self._opened if fact.voter == kind) if self._opened else None

    def _reached(self, kind: ActorKind, retrieved: int) -> voted.Reached:
        said = self._by_part[EVERYTHING][kind]
        accessed = self._accessed(kind)
        judged = sum(len(one.votes) * searches for one, searches in said.items())
        useful = float(precision.total(usefulness(vote) * n for one, n in said.items() for vote in one.votes))
        return voted.Reached(
            accessed=accessed,
            judged=judged,
            useful=useful,
            accessed_rate=None if accessed is None else rate(accessed, retrieved),
            judged_rate=rate(judged, retrieved),
            useful_rate=useful / judged if judged else None,
        )

    def agreement(self) -> tuple[voted.Agreement, ...]:
        """Every two kinds that judged the same hits."""
        found = []
        for first, second in combinations(KINDS, 2):
            said, split = pairs(self._shared, first, second)
            if said or split:
                found.append(voted.Agreement(first=first, second=second, **_fields(agreed(said, split))))
        return tuple(found)

    def diagnosis(self, epochs: Iterable[str]) -> tuple[voted.Diagnosis, ...]:
        """One for every epoch and every kind of voters that judged something in it."""
        found = []
        for epoch in epochs:
            shown = [fact for fact in self._shown if fact.epoch == epoch]
            top = _within(shown, diagnosis.TOP)
            below = sum(fact.hits for fact in shown if fact.position is not None) - top
            for kind in KINDS:
                if said := self._by_part["epoch", epoch][kind]:
                    by_actor = diagnosis.ByActor(
                        *(self._by_actor(("epoch", epoch), kind, k) for k in (diagnosis.TOP, None))
                    )
                    finding = diagnosis.diagnose(top, below, _splits(said), by_actor)
                    found.append(voted.Diagnosis(epoch=epoch, voter=kind, **_fields(finding)))
        return tuple(found)


def assessments(
    stored: Sequence[StoredFact], assessed: Sequence[AssessedFact], epochs: Sequence[str]
) -> tuple[voted.Assessment, ...]:
    """Every assessment by name, method and epoch, and what it is worth by each kind of voters."""
    cases: dict[tuple[str, str | None, str, ActorKind], list[AssessedFact]] = defaultdict(list)
    for fact in assessed:
        cases[fact.name, fact.method, fact.epoch, fact.voter].append(fact)
    ordered = sorted(stored, key=lambda fact: (fact.name, fact.method or "", epochs.index(fact.epoch)))
    return tuple(
        voted.Assessment(
            name=fact.name,
            method=fact.method,
            epoch=fact.epoch,
            searches=fact.searches,
            null=fact.null,
            voters={
                kind: worth(found)
                for kind in KINDS
                if (found := cases.get((fact.name, fact.method, fact.epoch, kind)))
            },
        )
        for fact in ordered
    )


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__}


def _part_of(fact: VotesFact) -> PartKey:
    return EVERYTHING if fact.what == "all" else (fact.what, getattr(fact, fact.what))


def _by_part(papers: Iterable[VotesFact]) -> dict[PartKey, dict[ActorKind, Counted[Ballot]]]:
    found: dict[PartKey, dict[ActorKind, Counted[Ballot]]] = defaultdict(lambda: {kind: {} for kind in KINDS})
    known: dict[tuple[VoteFact, ...], list[Ballot]] = {}
    for fact in papers:
        hits = fact.hits or ()
        alike = known.get(hits)
        if alike is None:
            alike = known[hits] = ballots(hits)
        for part in _parts_of(fact):
            for ballot in alike:
                counted = found[part][ballot.voter]
                counted[ballot] = counted.get(ballot, 0) + fact.n
    return found


def _parts_of(fact: VotesFact) -> tuple[PartKey, ...]:
    return (
        EVERYTHING,
        ("epoch", fact.epoch),
        ("actor_kind", fact.actor_kind),
        ("surface", fact.surface),
    )


def _sums_of_actors(fact: VotesFact) -> Sums:
    return Sums(
        clusters=fact.n,
        useful=fact.useful or 0.0,
        judged=fact.judged or 0.0,
        useful_sq=fact.useful_sq or 0.0,
        judged_sq=fact.judged_sq or 0.0,
        useful_judged=fact.useful_judged or 0.0,
    )


def _within(shown: Iterable[ShownFact], k: int) -> int:
    return sum(fact.hits for fact in shown if fact.position is not None and fact.position <= k)


def _figures(said: Counted[Ballot]) -> Counted[Figures]:
    found: Counted[Figures] = {}
    for ballot, searches in said.items():
        found[ballot.figures] = found.get(ballot.figures, 0) + searches
    return found


def _alike(found: Counted[Figures], k: int) -> list[tuple[int | Fraction, int, int]]:
    """U, J and the number of searches that have them: few different ones, however many searches."""
    counts: Counted[tuple[int | Fraction, int]] = {}
    for figures, searches in found.items():
        at = figures.within(k)
        if at[1]:
            counts[at] = counts.get(at, 0) + searches
    return [(useful, judged, searches) for (useful, judged), searches in counts.items()]


def _mean(values: Iterable[tuple[float | None, int]]) -> voted.Mean:
    counts: Counted[float] = {}
    of = 0
    for value, searches in values:
        of += searches
        if value is not None:
            counts[value] = counts.get(value, 0) + searches
    return _as_mean(mean(counts.items()), of)


def _as_mean(found: tuple[float | None, int, Interval | None], of: int) -> voted.Mean:
    value, searches, interval = found
    return voted.Mean(mean=value, interval=range_of(interval), searches=searches, without=of - searches)


def _splits(said: Counted[Ballot]) -> list[diagnosis.Split]:
    counts: Counted[tuple[tuple[int, int | Fraction], ...]] = {}
    for ballot, searches in said.items():
        counts[ballot.placed] = counts.get(ballot.placed, 0) + searches
    return [diagnosis.Split(hits, searches) for hits, searches in counts.items()]
