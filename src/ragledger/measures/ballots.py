"""What one kind of voters said about one search: the unit that every measure of votes is computed from.

Searches that were judged alike (the same ranks, actors and outcomes) are one ballot that is counted several times, so
a million searches with a few votes each are some thousands of them.

    usefulness of a hit = the share of its actors who found it useful
    verdict of a hit    = useful when more than half of them did, not useful when less than half, none when they are split
    gain of a hit       = the mean of 2^y - 1 over its actors, y = 0 .. 3
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias, get_args

from ragledger.model import ActorKind

from .bpref import bpref
from .facts import VoteFact, VotesFact
from .ndcg import ndcg
from .precision import CUTS

__all__ = ["KINDS", "Ballot", "ballots", "number_of", "usefulness", "verdict"]

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


class Ballot:
    """The hits of one search that one kind of voters judged, from the first rank down; `searches` were judged so.

    A hit that did not reach the prompt has no rank: it is in `votes` and not in `placed`, so it is within no cut and in
    no nDCG' or bpref.
    """

    def __init__(self, fact: VotesFact, voter: ActorKind, votes: Sequence[VoteFact]) -> None:
        self.epoch = fact.epoch
        self.actor_kind = fact.actor_kind
        self.surface = fact.surface
        self.searches = fact.n
        self.voter = voter
        self.votes = votes
        placed = [(vote.position, vote) for vote in votes if vote.position is not None]
        self.placed = sorted(placed, key=_position)

    @cached_property
    def at(self) -> dict[int, tuple[Number, int]]:
        """U_s and J_s by k."""
        found: dict[int, tuple[Number, int]] = {}
        for k in CUTS:
            counted = [usefulness(vote) for position, vote in self.placed if position <= k]
            found[k] = (sum(counted), len(counted))
        return found

    @cached_property
    def ndcg(self) -> float | None:
        """nDCG' of the search."""
        return ndcg([vote.gain / vote.actors for _, vote in self.placed])

    @cached_property
    def bpref(self) -> float | None:
        """bpref of the search."""
        return bpref([said for _, vote in self.placed if (said := verdict(vote)) is not None])


def ballots(facts: Iterable[VotesFact]) -> list[Ballot]:
    """One for each kind of voters that judged something in such a search."""
    found = []
    for fact in facts:
        for number, voter in enumerate(KINDS, start=1):
            votes = [vote for vote in fact.hits or () if vote.voter == number]
            if votes:
                found.append(Ballot(fact, voter, votes))
    return found


def _position(placed: tuple[int, VoteFact]) -> int:
    return placed[0]
