"""The values of a measurement that votes made: precision, ranks, the funnel, agreement, diagnosis, assessments.

What they mean is said in `report.py`.
"""

from __future__ import annotations

from msgspec import Struct

from ragledger.model import ActorKind

from .actors import ClusteredBy
from .diagnosis import Finding
from .kappa import Agreed
from .ranges import Range
from .worth import Worth

__all__ = [
    "Across",
    "Agreement",
    "Assessment",
    "At",
    "AtRank",
    "Cuts",
    "Diagnosis",
    "Feedback",
    "Funnel",
    "Mean",
    "Order",
    "Part",
    "Precision",
    "Ranks",
    "Reached",
    "SurfacePart",
    "Voted",
    "Voter",
]


class Mean(Struct, frozen=True, kw_only=True):
    """The mean of a value of each search, over the `searches` that have one; `without` have none."""

    mean: float | None
    interval: Range | None
    searches: int
    without: int


class At(Struct, frozen=True, kw_only=True):
    """precision@k by voters of one kind, with what it was made of and how far it can be trusted."""

    precision: float | None
    interval: Range | None
    clustered_by: ClusteredBy | None
    useful: float
    judged: int
    shown: int
    judged_share: float | None
    bounds: Range | None
    searches: int
    actors: int
    thin: bool
    macro: Mean


Cuts = dict[int, At]
"""By k."""


class Voted(Struct, frozen=True, kw_only=True):
    """What the votes of one kind say of some searches: precision@k, and the order of all that was judged."""

    at: Cuts
    ndcg: Mean
    bpref: Mean


class Voter(Voted, frozen=True, kw_only=True):
    """What voters of one kind said. `not_delivered`: hits they judged that did not reach the prompt."""

    votes: int
    actors: int
    searches: int
    not_delivered: int


class Part(Struct, frozen=True, kw_only=True):
    """Precision within one part of the searches, with its number of ok searches."""

    ok: int
    voters: dict[ActorKind, Voted]


class SurfacePart(Part, frozen=True, kw_only=True):
    """Precision on one surface, null where it was not said."""

    surface: str | None


class Order(Struct, frozen=True, kw_only=True):
    """How many ok searches were counted in the delivered order, and how many in the retriever's."""

    delivered: int
    retriever: int


class Across(Struct, frozen=True, kw_only=True):
    """How many different ones the overall numbers pool."""

    epochs: int
    actor_kinds: int
    surfaces: int


class Precision(Struct, frozen=True, kw_only=True):
    """precision@k over the window, and within each of the parts that it pools."""

    order: Order
    across: Across
    overall: dict[ActorKind, Voter]
    by_epoch: dict[str, Part]
    by_actor_kind: dict[ActorKind, Part]
    by_surface: tuple[SurfacePart, ...]


class Feedback(Struct, frozen=True, kw_only=True):
    """Hits that actors of one kind accessed, judged and found useful; `accessed` is null where nobody's accesses are recorded."""

    accessed: int | None
    judged: int
    useful: float


class Reached(Feedback, frozen=True, kw_only=True):
    """The same, as shares: accessed and judged of what was retrieved, useful of what was judged."""

    accessed_rate: float | None
    judged_rate: float | None
    useful_rate: float | None


class Funnel(Struct, frozen=True, kw_only=True):
    """How far hits came. Each is a count of its own: a hit can be judged without having been accessed."""

    retrieved: int
    accessed: int | None
    accessed_rate: float | None
    voters: dict[ActorKind, Reached]


class AtRank(Struct, frozen=True, kw_only=True):
    """What stood at one rank of the list; null for all ranks past the top ones."""

    rank: int | None
    shown: int
    accessed: int | None
    voters: dict[ActorKind, Feedback]


class Ranks(Struct, frozen=True, kw_only=True):
    """The ranks down to the last one shown, at most `top` of them, and the rest as one."""

    top: int
    at: tuple[AtRank, ...]
    beyond: AtRank


class Agreement(Agreed, frozen=True, kw_only=True):
    """How far two kinds of voters say the same of the hits that both judged."""

    first: ActorKind
    second: ActorKind


class Diagnosis(Finding, frozen=True, kw_only=True):
    """What the votes of one kind say about the retriever in one epoch, and why."""

    epoch: str
    voter: ActorKind


class Assessment(Struct, frozen=True, kw_only=True):
    """A quality signal without a vote, in one epoch: how often it was kept, how often null, and what it is worth."""

    name: str
    method: str | None
    epoch: str
    searches: int
    null: int
    voters: dict[ActorKind, Worth]
