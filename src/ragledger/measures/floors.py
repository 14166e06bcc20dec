"""Pass or fail against a floor that a person wrote: counts of questions, never shares.

A floor is for one embedding model and one number of cases (questions with a useful judgment), and for one golden set
where it names its hash. For anything else it says nothing, so that a new model or a longer set cannot pass an old floor
by accident. Nothing here, or anywhere else, writes a floor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from ragledger.errors import UnusableJudgments

__all__ = ["NO_MODEL", "Check", "Floor", "Floors", "check", "floor_for"]

NO_MODEL = "none"
"""In the place of a model: nothing is embedded."""

_Count = Annotated[int, Meta(ge=0)]


class Floor(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`useful_in_first` is, by k, how many of the `cases` need something useful among the first k."""

    embedding_model: str
    cases: Annotated[int, Meta(ge=1)]
    useful_in_first: dict[Annotated[int, Meta(ge=1)], _Count]
    golden: str | None = None

    def __post_init__(self) -> None:
        if not self.useful_in_first:
            raise ValueError("a floor needs at least one count in useful_in_first")
        if max(self.useful_in_first.values()) > self.cases:
            raise ValueError(f"a floor asks for more than its {self.cases} cases")

    def __str__(self) -> str:
        return f"{self.embedding_model} with {self.cases} cases"


class Floors(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A floor file."""

    floor: tuple[Floor, ...]


class Check(Struct, frozen=True, kw_only=True):
    """`n` of `of` cases had something useful in the first `k`; `without` are the ids of the others."""

    k: int
    n: int
    of: int
    floor: int
    passed: bool
    without: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.n} of {self.of} questions have something useful in the first {self.k} (floor {self.floor})"


def floor_for(floors: Floors, *, embedding_model: str, cases: int, digest: str) -> Floor:
    """The floor that holds here.

    Raises:
        UnusableJudgments: none does, or more than one; it says which there are.
    """
    found = [
        floor for floor in floors.floor if (floor.embedding_model, floor.cases) == (embedding_model, cases)
    ]
    here = f"{embedding_model} with {cases} cases"
    if not found:
        there = ", ".join(map(str, floors.floor)) or "no floor at all"
        raise UnusableJudgments(f"no floor for {here}; the file has: {there}. A person has to write one")
    fitting = [floor for floor in found if floor.golden in {None, digest}]
    if not fitting:
        raise UnusableJudgments(f"the floor for {here} was written for another golden set than {digest[:19]}")
    if len(fitting) > 1:
        raise UnusableJudgments(f"the file has {len(fitting)} floors for {here}")
    return fitting[0]


def check(floor: Floor, first_useful: Mapping[str, int | None]) -> Sequence[Check]:
    """Each count against its floor. `first_useful`: by case, the rank of the first useful one, None for none."""
    checks = []
    for k, least in sorted(floor.useful_in_first.items()):
        without = tuple(case for case, rank in first_useful.items() if rank is None or rank > k)
        n = len(first_useful) - len(without)
        checks.append(Check(k=k, n=n, of=len(first_useful), floor=least, passed=n >= least, without=without))
    return checks
