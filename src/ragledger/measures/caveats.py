"""What to know before a difference is believed: everything but the weights that differs between the two sides.

An epoch follows another in time, so that whatever else changed meanwhile is in the difference as well. Nothing here stops a
comparison; each says what is the matter and how much.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ragledger.model import ActorKind

from .actors import FEW
from .changes import apart
from .comparison_facts import SideFacts
from .comparison_report import Caveat, Compared, RateDifference, SideExtent
from .verdict import ENOUGH_ACTORS

__all__ = ["MIX_APART", "caveats", "index_change"]

MIX_APART = 0.1
"""A mix is said to differ from here on: the part of B's searches that would have to be of another kind."""

_RATES_APART = 0.02
_JUDGED_APART = 1.25
_RECURRING = 0.5


def caveats(
    facts: tuple[SideFacts, SideFacts],
    extents: tuple[SideExtent, SideExtent],
    voters: Mapping[ActorKind, Compared],
    degraded: RateDifference,
    k: int,
) -> tuple[Caveat, ...]:
    """All that apply, the gravest first."""
    return (
        *_index(extents),
        *_epochs(extents),
        *_calendar(extents),
        *_mixes(facts),
        *_questions(facts),
        *_degraded(degraded),
        *(caveat for kind, found in voters.items() for caveat in _votes(kind, found, k)),
    )


def index_change(a: SideExtent, b: SideExtent) -> str | None:
    """What of the index changed between the sides, or None. What a side does not say is unknown, not a change."""
    changed = [
        f"{what} {_named(of_a)} → {_named(of_b)}"
        for what, of_a, of_b in (
            ("index_version", a.index_versions, b.index_versions),
            ("embedding_model", a.embedding_models, b.embedding_models),
        )
        if set(of_a) - {None} and set(of_b) - {None} and set(of_a) - {None} != set(of_b) - {None}
    ]
    return ", ".join(changed) or None


def _index(extents: tuple[SideExtent, SideExtent]) -> Iterator[Caveat]:
    changed = index_change(*extents)
    if changed:
        yield Caveat(code="index", text=f"the difference is of index and weights together: {changed}")
    for what in ("index_versions", "embedding_models"):
        said = [None not in getattr(extent, what) for extent in extents]
        if said[0] != said[1]:
            yield Caveat(
                code="index_unknown",
                text=f"only one side says its {what.replace('_', ' ')[:-1]}: whether it changed is unknown",
            )


def _epochs(extents: tuple[SideExtent, SideExtent]) -> Iterator[Caveat]:
    for side, extent in zip("AB", extents, strict=True):
        if len(extent.epochs) > 1:
            yield Caveat(
                code="several_epochs",
                text=f"{side} pools {len(extent.epochs)} epochs: {', '.join(extent.epochs)}",
            )


def _calendar(extents: tuple[SideExtent, SideExtent]) -> Iterator[Caveat]:
    a, b = extents
    if a.last_search < b.first_search or b.last_search < a.first_search:
        first, second = ("A", "B") if a.last_search < b.first_search else ("B", "A")
        yield Caveat(
            code="calendar",
            text=f"{first} ended before {second} began: whatever else changed with time is in the difference",
        )


def _mixes(facts: tuple[SideFacts, SideFacts]) -> Iterator[Caveat]:
    for code, what, mixes in (
        ("project_mix", "projects", [_mix(side, "project") for side in facts]),
        ("corpus_mix", "corpora", [_mix(side, "corpus") for side in facts]),
        ("surface_mix", "surfaces", [_mix(side, "surface") for side in facts]),
        ("actor_mix", "who asks", [_mix(side, "actor_kind") for side in facts]),
        ("voter_mix", "who votes", [_voters(side) for side in facts]),
    ):
        distance = apart(*mixes)
        if distance is not None and distance >= MIX_APART:
            largest = max(
                mixes[0].keys() | mixes[1].keys(), key=lambda kind: (_moved(mixes, kind), str(kind))
            )
            shares = " → ".join(f"{mix[largest] / mix.total():.0%}" for mix in mixes)
            yield Caveat(
                code=code,
                text=f"the mix of {what} differs by {distance:.0%} ({largest or 'not said'}: {shares})",
            )


def _mix(side: SideFacts, column: str) -> Counter[str | None]:
    found: Counter[str | None] = Counter()
    for part in side.mix:
        found[getattr(part, column)] += part.ran
    return found


def _voters(side: SideFacts) -> Counter[str | None]:
    return Counter({fact.voter: fact.votes for fact in side.voters})


def _moved(mixes: Sequence[Counter[str | None]], kind: str | None) -> float:
    return abs(mixes[0][kind] / mixes[0].total() - mixes[1][kind] / mixes[1].total())


def _questions(facts: tuple[SideFacts, SideFacts]) -> Iterator[Caveat]:
    asked = [{q.query_key: q.searches for q in side.questions if q.query_key is not None} for side in facts]
    if not all(asked):
        yield Caveat(
            code="query_unknown",
            text="whether the same questions were asked is unknown: query_keys is off on "
            + ("both sides" if not any(asked) else f"side {'B' if asked[0] else 'A'}"),
        )
        return
    common = asked[0].keys() & asked[1].keys()
    shares = [sum(side[key] for key in common) / sum(side.values()) for side in asked]
    if min(shares) < _RECURRING:
        yield Caveat(
            code="query_mix",
            text=f"the questions differ: {len(common):,} were asked on both sides, in {shares[0]:.0%} of A's searches "
            f"and {shares[1]:.0%} of B's",
        )


def _degraded(found: RateDifference) -> Iterator[Caveat]:
    if found.difference is None or found.low is None or found.high is None:
        return
    if abs(found.difference) >= _RATES_APART and not found.low <= 0 <= found.high:
        shares = " → ".join(f"{side.rate:.1%}" for side in (found.a, found.b) if side.rate is not None)
        yield Caveat(
            code="degraded",
            text=f"the share of degraded searches differs ({shares}): weights are not all that does",
        )


def _votes(kind: ActorKind, found: Compared, k: int) -> Iterator[Caveat]:
    at = found.at[k]
    shares = [side.judged_share for side in (at.a, at.b)]
    low, high = (min(s or 0.0 for s in shares), max(s or 0.0 for s in shares))
    if low and high >= _JUDGED_APART * low:
        text = " → ".join(f"{share:.1%}" for share in shares if share is not None)
        yield Caveat(
            code="judged_share",
            text=f"{kind}: the judged share differs ({text}): who votes on what may have changed",
        )
    for name, side in (("A", at.a), ("B", at.b)):
        if side.searches and side.actors < FEW:
            meaning = (
                "it is their opinion"
                if side.actors < ENOUGH_ACTORS
                else f"with fewer than {FEW}, how voters differ is much of the uncertainty"
            )
            yield Caveat(
                code="few_actors",
                text=f"{kind}: {side.actors} actor(s) gave all votes of {name}: {meaning}",
            )
    if at.unpaired is not None and at.unpaired.left_out:
        yield Caveat(
            code="left_out",
            text=f"{kind}: {at.unpaired.left_out:,} judged hits lie on surfaces that only one side has, and are in no "
            "difference",
        )


def _named(names: Sequence[str | None]) -> str:
    return " and ".join(sorted(name for name in names if name is not None))
