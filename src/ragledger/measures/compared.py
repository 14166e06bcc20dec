"""From searches with votes on two sides to what each voter kind makes of the difference. Pure; arrays inside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Literal, TypeVar

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from ragledger.model import ActorKind

from .comparison_facts import SaidFact, SideFacts
from .comparison_report import AtK, Compared, PairedDifference, SideAt, UnpairedDifference, VoterCounts
from .difference import Actors, Clusters, Difference, Side, difference, sides
from .holm import holm
from .paired import Paired, differences, paired, sign_flipped
from .paired_voters import Said, VotersTerm, voters_term
from .permutation import SHUFFLES, Tested, permuted
from .precision import CUTS, judged_share
from .summary import KINDS
from .verdict import ENOUGH, About, verdict

__all__ = ["Testing", "compared", "voters"]

_PAIRED_SHARE = 0.5
_U_AND_J = attrgetter(*(f"{name}_{k}" for k in CUTS for name in ("useful", "judged")))
_Kind = TypeVar("_Kind", UnpairedDifference, PairedDifference)


class Testing(Struct, frozen=True, kw_only=True):
    """How to test: the k of the verdict, the seed and the number of shuffles."""

    k: int = 5
    seed: int = 0
    shuffles: int = SHUFFLES


def voters(
    a: SideFacts, b: SideFacts, testing: Testing, step: Callable[[int], None]
) -> dict[ActorKind, Compared]:
    """Each voter kind that has votes on a side; never pooled."""
    found = {}
    for kind in KINDS:
        if any(fact.voter == kind for side in (a, b) for fact in side.clusters):
            found[kind] = compared(kind, (a, b), testing)
        step(1)
    return found


def compared(kind: ActorKind, facts: tuple[SideFacts, SideFacts], testing: Testing) -> Compared:
    """What voters of one kind make of it."""
    columns = _Columns(kind, facts)
    at = {k: _at(columns, k, facts, testing) for k in CUTS}
    unpaired = holm([one.unpaired.p if one.unpaired else None for one in at.values()])
    same = holm([one.paired.p if one.paired else None for one in at.values()])
    at = {
        k: structs.replace(
            one,
            unpaired=one.unpaired and structs.replace(one.unpaired, p_adjusted=adjusted),
            paired=one.paired and structs.replace(one.paired, p_adjusted=of_pairs),
        )
        for (k, one), adjusted, of_pairs in zip(at.items(), unpaired, same, strict=True)
    }
    headline = columns.headline(testing.k)
    counts = [next((v for v in side.voters if v.voter == kind), None) for side in facts]
    of_a, of_b = (
        VoterCounts(votes=count.votes if count else 0, actors=count.actors if count else 0)
        for count in counts
    )
    about = About(kind, testing.k, headline)
    return Compared(a=of_a, b=of_b, headline=headline, verdict=verdict(at[testing.k], about), at=at)


class _Columns:
    """Searches and actors as columns: side, surface, question and actor by number, U and J at each k."""

    def __init__(self, kind: ActorKind, facts: tuple[SideFacts, SideFacts]) -> None:
        searches = [fact for side in facts for fact in side.clusters if fact.voter == kind]
        actors = [fact for side in facts for fact in side.actors if fact.voter == kind]
        surfaces = _numbered([_surface_of(fact) for fact in (*searches, *actors)])
        self._surface, self._surface_of_actor = np.split(surfaces, [len(searches)])
        self._of_b = _of_b(*(sum(fact.voter == kind for fact in side.clusters) for side in facts))
        self._actor_of_b = _of_b(*(sum(fact.voter == kind for fact in side.actors) for side in facts))
        questions = _numbered([*(fact.query_key for fact in searches), *(fact.query_key for fact in actors)])
        self._question, self._question_of_actor = np.split(questions, [len(searches)])
        self._actor = _numbered([(fact.actor_id or "", fact.actor_id is None) for fact in actors])
        self._said, self._said_by = _said(searches), _said(actors)

    def clusters(self, k: int) -> Clusters:
        """The searches with a judged hit within k, and who judged them."""
        said, some = self._said[k], self._said[k][:, 1] > 0
        return Clusters(
            of_b=self._of_b[some],
            surface=self._surface[some],
            useful=said[some, 0],
            judged=said[some, 1],
            actors=Actors(
                of_b=self._actor_of_b,
                surface=self._surface_of_actor,
                actor=self._actor,
                useful=self._said_by[k][:, 0],
                judged=self._said_by[k][:, 1],
            ),
        )

    def actors(self, k: int) -> tuple[int, int]:
        """How many judged something within k of A, and of B."""
        some = self._said_by[k][:, 1] > 0
        a, b = (len(np.unique(self._actor[some & mine])) for mine in (~self._actor_of_b, self._actor_of_b))
        return a, b

    def gains(self, k: int) -> NDArray[np.float64]:
        """What each question gained that both sides have votes on."""
        known, said = self._question >= 0, self._said[k]
        return differences(self._question[known], self._of_b[known], said[known, 0], said[known, 1])

    def voters_term(self, k: int) -> VotersTerm | None:
        """What who voted on these questions adds to the uncertainty."""
        known, said = self._question_of_actor >= 0, self._said_by[k]
        return voters_term(
            Said(
                question=self._question_of_actor[known],
                of_b=self._actor_of_b[known],
                actor=self._actor[known],
                useful=said[known, 0],
                judged=said[known, 1],
            )
        )

    def headline(self, k: int) -> Literal["paired", "unpaired"]:
        """Paired where enough questions recur and carry at least half of the votes of each side; no result decides it."""
        judged, known = self._said[k][:, 1], self._question >= 0
        number = int(self._question.max(initial=-1)) + 1
        per_side = [
            np.bincount(self._question[mine], judged[mine], number)
            for mine in (known & ~self._of_b, known & self._of_b)
        ]
        both = (per_side[0] > 0) & (per_side[1] > 0)
        totals = (judged[~self._of_b].sum(), judged[self._of_b].sum())
        carried = all(
            side[both].sum() >= _PAIRED_SHARE * total for side, total in zip(per_side, totals, strict=True)
        )
        return "paired" if int(both.sum()) >= ENOUGH and carried else "unpaired"


def _at(columns: _Columns, k: int, facts: tuple[SideFacts, SideFacts], testing: Testing) -> AtK:
    clusters = columns.clusters(k)
    a, b = sides(clusters)
    enough = min(a.searches, b.searches) >= ENOUGH
    unpaired = difference(clusters)
    tested = permuted(clusters, seed=testing.seed, shuffles=testing.shuffles) if enough else None
    gains, actors = columns.gains(k), columns.actors(k)
    same = paired(gains, columns.voters_term(k))
    flipped = (
        sign_flipped(gains, seed=testing.seed, shuffles=testing.shuffles) if len(gains) >= ENOUGH else None
    )
    return AtK(
        a=_shown(a, actors[0], facts[0], k),
        b=_shown(b, actors[1], facts[1], k),
        unpaired=_joined(UnpairedDifference, unpaired, tested),
        paired=_joined(PairedDifference, same, flipped),
    )


def _joined(kind: type[_Kind], found: Difference | Paired | None, tested: Tested | None) -> _Kind | None:
    if found is None:
        return None
    test = structs.asdict(tested) if tested is not None else {"p": None, "shuffles": None, "exact": None}
    return kind(**structs.asdict(found), **test, p_adjusted=None)


def _shown(side: Side, actors: int, facts: SideFacts, k: int) -> SideAt:
    shown = sum(fact.hits for fact in facts.shown if fact.position <= k)
    share = judged_share(side.judged, shown)
    return SideAt(**structs.asdict(side), shown=shown, judged_share=share, actors=actors)


def _surface_of(fact: SaidFact) -> tuple[Any, ...]:
    """Searches are compared within these; a null is one, too."""
    return fact.project, fact.corpus or "", fact.corpus is None, fact.surface or "", fact.surface is None


def _of_b(a: int, b: int) -> NDArray[np.bool_]:
    return np.repeat([False, True], [a, b])


def _said(facts: Sequence[SaidFact]) -> dict[int, NDArray[np.float64]]:
    """(U, J) at each k."""
    rows = np.array(list(map(_U_AND_J, facts)), dtype=np.float64).reshape(len(facts), len(CUTS), 2)
    return {k: rows[:, place] for place, k in enumerate(CUTS)}


def _numbered(names: Sequence[Any]) -> NDArray[np.int64]:
    """Each name by a number; None by -1."""
    order: Mapping[Any, int] = {name: n for n, name in enumerate(sorted({n for n in names if n is not None}))}
    return np.array([-1 if name is None else order[name] for name in names], dtype=np.int64)
