"""Counts the funnel of every unit from arrays, and what its places let expect of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragledger.model import ActorKind

from .document_funnel import KINDS, Funnel, Said
from .sightings import NOWHERE, PLACES, Reaction, Sightings

__all__ = ["Pairs", "funnels", "pairs_of"]

_NOTHING_SAID: Mapping[ActorKind, Said] = {}


@dataclass(frozen=True)
class Pairs:
    """A search and a unit that it retrieved, once each. `key` sorts them and finds them."""

    key: Any
    search: Any
    unit: Any
    place: Any
    admitted: Any

    def find(self, search: Any, unit: Any, units: int) -> Any:
        """Where pairs are that are known to be there."""
        return np.searchsorted(self.key, np.asarray(search, np.int64) * units + np.asarray(unit, np.int64))


def pairs_of(sightings: Sightings, unit: Any) -> Pairs:
    """Each unit of each search once, at its best place; `unit` is what each hit is about."""
    units = len(sightings.units)
    key = sightings.search.astype(np.int64) * units + unit
    order = np.argsort(key, kind="stable")
    key = key[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    if not len(key):
        nothing = np.zeros(0, dtype=np.int64)
        return Pairs(nothing, nothing, nothing, nothing, nothing.astype(bool))
    place = np.where(sightings.place == NOWHERE, PLACES, sightings.place)[order]
    best = np.minimum.reduceat(place, starts)
    key = key[starts]
    return Pairs(
        key=key,
        search=key // units,
        unit=key % units,
        place=np.where(best == PLACES, NOWHERE, best),
        admitted=np.maximum.reduceat(sightings.rank[order], starts) > 0,
    )


def funnels(
    sightings: Sightings, pairs: Pairs, reactions: Sequence[Reaction], useful_from: int
) -> list[Funnel]:
    """One per unit, in their order; an outcome of `useful_from` or better is useful."""
    units = len(sightings.units)

    def per_unit(where: Any) -> Any:
        return np.bincount(pairs.unit[where], minlength=units)

    shown = pairs.place != NOWHERE
    expect = _Expectation(sightings, pairs, shown)
    opened = np.zeros(len(pairs.key), dtype=bool)
    opened[_places(pairs, [r for r in reactions if r.outcome is None], units)] = True
    first, last = np.full(units, np.inf), np.full(units, -np.inf)
    started = sightings.started[pairs.search]
    np.minimum.at(first, pairs.unit, started)
    np.maximum.at(last, pairs.unit, started)
    best = np.full(units, PLACES)
    np.minimum.at(best, pairs.unit[shown], pairs.place[shown])
    said = _said(pairs, reactions, useful_from, expect, units)
    columns = (
        per_unit(slice(None)), per_unit(pairs.admitted), per_unit(shown), per_unit(opened), expect(opened, shown), best, first, last,
    )  # fmt: skip
    return [
        Funnel(
            retrieved=retrieved, admitted=admitted, shown=seen, accessed=accessed, expected_accessed=expected,
            best_place=None if place == PLACES else place, first=begin if retrieved else None,
            last=end if retrieved else None, said=said.get(number, _NOTHING_SAID),
        )
        for number, (retrieved, admitted, seen, accessed, expected, place, begin, end) in enumerate(
            zip(*(column.tolist() for column in columns), strict=True)
        )
    ]  # fmt: skip


class _Expectation:
    """What the places of a unit let expect, per surface: on a surface where nobody ever opens anything, nothing."""

    def __init__(self, sightings: Sightings, pairs: Pairs, shown: Any) -> None:
        self._cell = sightings.surface[pairs.search].astype(np.int64) * PLACES + pairs.place
        self._unit, self._shown, self._units = pairs.unit, shown, len(sightings.units)
        self._cells = len(sightings.surfaces) * PLACES

    def __call__(self, happened: Any, among: Any) -> Any:
        """Per unit; `happened` is a share per pair, `among` the pairs that it can be told of."""
        shown = self._shown & among
        cell = self._cell[shown]
        times = np.bincount(cell, minlength=self._cells)
        found = np.bincount(cell, weights=np.asarray(happened, float)[shown], minlength=self._cells)
        rate = np.divide(found, times, out=np.zeros(self._cells), where=times > 0)
        return np.bincount(self._unit[shown], weights=rate[cell], minlength=self._units)


def _places(pairs: Pairs, reactions: Sequence[Reaction], units: int) -> Any:
    return pairs.find([r.search for r in reactions], [r.unit for r in reactions], units)


def _said(
    pairs: Pairs, reactions: Sequence[Reaction], useful_from: int, expect: _Expectation, units: int
) -> dict[int, dict[ActorKind, Said]]:
    found: dict[int, dict[ActorKind, Said]] = {}
    for kind in KINDS:
        of_kind = [r for r in reactions if r.kind == kind and r.outcome is not None]
        if not of_kind:
            continue
        at = _places(pairs, of_kind, units)
        useful = np.array([r.outcome is not None and r.outcome >= useful_from for r in of_kind])
        voters = np.bincount(at, minlength=len(pairs.key))
        share = np.bincount(at, weights=useful, minlength=len(pairs.key)) / np.maximum(voters, 1)
        expected = expect(share, voters > 0)
        counts: dict[int, tuple[list[int], set[str | None], set[str | None]]] = {}
        for reaction, good in zip(of_kind, useful.tolist(), strict=True):
            tally, actors, against = counts.setdefault(reaction.unit, ([0, 0], set(), set()))
            tally[good] += 1
            actors.add(reaction.actor)
            if not good:
                against.add(reaction.actor)
        shown = pairs.place != NOWHERE
        at_places = np.bincount(pairs.unit[shown], weights=share[shown], minlength=units)
        for unit, ((bad, good), actors, against) in counts.items():
            found.setdefault(unit, {})[kind] = Said(
                useful=good, not_useful=bad, actors=len(actors), against=len(against),
                found=float(at_places[unit]), expected=float(expected[unit]),
            )  # fmt: skip
    return found
