"""What one kind of voters said about one search: the unit that every measure of votes is computed from.

Searches that were judged alike (the same ranks, actors and outcomes) share one ballot, which is counted in each part of
the searches. So a million searches with a few votes each are some thousands of ballots, and these come to some hundreds of
different figures.

    usefulness of a hit = the share of its actors who found it useful
    verdict of a hit    = useful when more than half of them did, not useful when less than half, none when they are split
    gain of a hit       = the mean of 2^y - 1 over its actors, y = 0 .. 3
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple, TypeAlias, get_args

from ragledger.model import ActorKind

from .bpref import bpref
from .facts import VoteFact
from .ndcg import ndcg
from .precision import CUTS

__all__ = ["KINDS", "Ballot", "Figures", "ballots", "number_of", "usefulness", "verdict"]

KINDS: tuple[ActorKind, ...] = get_args(ActorKind)

Number: TypeAlias = "int | Fraction"


def usefulness(vote: VoteFact) -> Number:
    """Whole where the actors agree, so that adding up stays fast as well as exact."""
    if vote.useful in (0, vote.actors):
        return int(vote.useful > 0)
    return Fraction(vote.useful, vote.actors)


def verdict(vote: VoteFact) -> bool | None:
    """What most of the actors said; None when they are split evenly, which is not a "no"."""
    return None if 2 * vote.useful == vote.actors else 2 * vote.useful > vote.actors


def number_of(kind: ActorKind) -> int:
    """The number that stands for a kind of voters in a `VoteFact`."""
    return KINDS.index(kind) + 1


class Figures(NamedTuple):
    """What a ballot comes to: U_s and J_s at each k of `CUTS`, nDCG' and bpref."""

    at: tuple[tuple[Number, int], ...]
    ndcg: float | None
    bpref: float | None

    def within(self, k: int) -> tuple[Number, int]:
        """U_s and J_s at one of `CUTS`."""
        return self.at[CUTS.index(k)]


class Ballot:
    """The hits of one search that one kind of voters judged. `placed`: where they stood and how useful they are, from the top.

    A hit that did not reach the prompt has no rank: it is in `votes` and not in `placed`, so it is within no cut and in
    no nDCG' or bpref.
    """

    def __init__(self, voter: ActorKind, votes: Sequence[VoteFact]) -> None:
        self.voter = voter
        self.votes = votes
        placed = [(vote.position, vote) for vote in votes if vote.position is not None]
        placed.sort(key=_position)
        self._in_order = [vote for _, vote in placed]
        self.placed = tuple((position, usefulness(vote)) for position, vote in placed)

    @cached_property
    def figures(self) -> Figures:
        """Computed once, however many searches and parts there are."""
        return Figures(
            at=tuple(self._at(k) for k in CUTS),
            ndcg=ndcg([vote.gain / vote.actors for vote in self._in_order]),
            bpref=bpref([said for vote in self._in_order if (said := verdict(vote)) is not None]),
        )

    def _at(self, k: int) -> tuple[Number, int]:
        counted = [useful for position, useful in self.placed if position <= k]
        return sum(counted), len(counted)


def ballots(hits: Iterable[VoteFact]) -> list[Ballot]:
    """One for each kind of voters that judged something in such a search."""
    by_kind: dict[int, list[VoteFact]] = {}
    for vote in hits:
        by_kind.setdefault(vote.voter, []).append(vote)
    return [Ballot(KINDS[number - 1], votes) for number, votes in sorted(by_kind.items())]


def _position(placed: tuple[int, VoteFact]) -> int:
    return placed[0]
