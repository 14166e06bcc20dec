"""Reads what the searches of a window found, and who reacted to it: one pass over the hits, into arrays."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ragledger.measures.reindex import Moves
from ragledger.measures.report import Window
from ragledger.measures.sightings import BEYOND, NOWHERE, Reaction, Sightings, place_of
from ragledger.postgres.connection import Connection
from ragledger.scoped import OUTCOMES, scope_parameters
from ragledger.sql import named_queries

__all__ = ["CurateReader"]

_AT_ONCE = 5000
_NAN = float("nan")


class CurateReader:
    """Runs the queries of `sql/curate.sql` over one window, in the transaction of the caller."""

    def __init__(
        self, connection: Connection, window: Window, *, by_chunk: bool = False, ids: bool = False
    ) -> None:
        self._connection = connection
        self._parameters: dict[str, Any] = {
            **scope_parameters(window),
            "by_chunk": by_chunk,
            "ids": ids,
            "outcomes": list(OUTCOMES),
            "reindexed": [],
        }

    def rows(self, query: str, *, scoped: bool = True, **more: Any) -> list[Any]:
        """Every row of a small query."""
        return self._connection.execute(self._text(query, scoped=scoped), self._parameters | more).fetchall()

    def sightings(self, newest: Mapping[str, str], step: Callable[[int], None]) -> Sightings:
        """`newest`: the newest index version of each corpus that has an older one."""
        filling = _Filling(newest)
        self._parameters["reindexed"] = list(newest)
        with self._connection.cursor("curate", binary=True) as cursor:
            # Every row is wanted, so the fastest first one is not.
            self._connection.execute("SET LOCAL cursor_tuple_fraction = 1.0")
            cursor.execute(self._text("searches"), self._parameters)
            while rows := cursor.fetchmany(_AT_ONCE):
                filling.take(rows)
                step(len(rows))
        return filling.sightings()

    def reactions(self, sightings: Sightings, moves: Moves) -> tuple[list[Reaction], dict[int, int]]:
        """What actors did to units, once per search; and how many judgments there are of each fate of `reindex.py`.

        Judgments that moved are counted under -1, those on hits that are no old ones are not counted.
        """
        rows = [row for row in self.rows("reactions") if row[0] in sightings.numbers]
        at = _hits_of(sightings, rows)
        best: dict[tuple[int, int, str, str | None, bool], int | None] = {}
        fates: dict[int, int] = defaultdict(int)
        old = sightings.former[sightings.search]
        for (_, _, kind, actor, outcome), hit in zip(rows, at.tolist(), strict=True):
            if hit < 0:  # a hit that names no unit
                continue
            if outcome is not None and old[hit]:
                fates[-1 if moves.moved[hit] else int(moves.why_not[hit])] += 1
            level = None if outcome is None else outcome - 1
            key = (int(sightings.search[hit]), int(moves.unit[hit]), kind, actor, level is None)
            known = best.get(key)
            best[key] = level if known is None or level is None else max(known, level)
        found = [
            Reaction(search, unit, kind, actor, level)
            for (search, unit, kind, actor, _), level in best.items()
        ]
        return found, dict(fates)

    def _text(self, query: str, *, scoped: bool = True) -> Any:
        text = named_queries("curate")[query]
        return named_queries("scope")["scope"] + "\n" + text if scoped else text


def _hits_of(sightings: Sightings, rows: list[Any]) -> Any:
    """The hit that each row is about, by its search and rank; -1 where that names no unit."""
    reacted = np.zeros(len(sightings.corpus), dtype=bool)
    searches = np.array([sightings.numbers[row[0]] for row in rows], dtype=np.int64)
    reacted[searches] = True
    hits = np.flatnonzero(reacted[sightings.search])
    if not len(hits):
        return np.full(len(rows), -1)
    shift = np.int64(1) << 31
    keys = sightings.search[hits].astype(np.int64) * shift + np.abs(sightings.rank[hits])
    order = np.argsort(keys, kind="stable")
    wanted = searches * shift + np.array([row[1] for row in rows], dtype=np.int64)
    spot = np.minimum(np.searchsorted(keys[order], wanted), len(hits) - 1)
    return np.where(keys[order][spot] == wanted, hits[order][spot], -1)


class _Codes(defaultdict[Any, int]):
    """Numbers names in the order in which they come."""

    def __missing__(self, name: Any) -> int:
        self[name] = number = len(self)
        return number


class _Filling:
    """Takes row after row into compact columns."""

    def __init__(self, newest: Mapping[str, str]) -> None:
        self._newest = newest
        self._units: dict[str, _Codes] = defaultdict(_Codes)
        self._contents, self._corpora, self._surfaces = _Codes(), _Codes(), _Codes()
        self._epochs, self._queries, self._versions = _Codes(), _Codes(), _Codes()
        self._sizes, self._unit, self._rank = array("i"), array("i"), array("i")
        self._content: list[tuple[int, list[int]]] = []
        self._corpus, self._surface, self._epoch, self._query, self._version = (array("i") for _ in range(5))
        self._started, self._top, self._former = array("d"), array("d"), array("b")
        self._answer: list[str | None] = []
        self._numbers: dict[str, int] = {}
        self._delivered: list[tuple[int, list[int]]] = []
        self._unnamed = 0

    def take(self, rows: Sequence[Any]) -> None:
        """Some rows of the query, column by column: most of the time of a curation is spent here."""
        (ids, corpora, surfaces, epochs, versions, started, delivered, units, ranks, contents, queries, answers,
         top) = zip(*rows, strict=True)  # fmt: skip
        first = len(self._answer)
        for number, (search_id, hit_ranks) in enumerate(zip(ids, delivered, strict=True), start=first):
            if search_id is not None:
                self._numbers[search_id] = number
            if hit_ranks is not None:
                self._delivered.append((number, hit_ranks))
        self._corpus.extend(map(self._corpora.__getitem__, corpora))
        self._surface.extend(map(self._surfaces.__getitem__, surfaces))
        self._epoch.extend(map(self._epochs.__getitem__, epochs))
        self._version.extend(map(self._versions.__getitem__, zip(corpora, versions, strict=True)))
        self._former.extend(
            corpus in self._newest and version != self._newest[corpus]
            for corpus, version in zip(corpora, versions, strict=True)
        )
        self._started.extend(started)
        self._query.extend(-1 if key is None else self._queries[key] for key in queries)
        self._answer.extend(answers)
        self._top.extend(_NAN if score is None else score for score in top)
        for hits in zip(corpora, units, ranks, contents, strict=True):
            self._hits(*hits)

    def _hits(
        self,
        corpus: str,
        units: list[str | None] | None,
        ranks: list[int],
        content_keys: list[bytes | None] | None,
    ) -> None:
        if units is None:
            self._sizes.append(0)
            return
        if None in units:
            named = [at for at, unit in enumerate(units) if unit is not None]
            self._unnamed += len(units) - len(named)
            units, ranks = [units[at] for at in named], [ranks[at] for at in named]
            content_keys = content_keys and [content_keys[at] for at in named]
        self._sizes.append(len(units))
        self._unit.extend(map(self._units[corpus].__getitem__, units))
        self._rank.extend(ranks)
        if content_keys is not None:
            codes = [-1 if key is None else self._contents[corpus, key] for key in content_keys]
            self._content.append((len(self._rank) - len(codes), codes))

    def sightings(self) -> Sightings:
        sizes = np.array(self._sizes, dtype=np.int64)
        search = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        rank = np.array(self._rank, dtype=np.int64)
        # Units were numbered in each corpus on its own: one after the other they are numbered in all.
        offsets: dict[str, int] = {}
        names: list[tuple[str, str]] = []
        for name, codes in self._units.items():
            offsets[name] = len(names)
            names += [(name, unit) for unit in codes]
        corpora = list(self._corpora)
        corpus = np.array(self._corpus, dtype=np.int64)
        offset = np.array([offsets.get(name, 0) for name in corpora], dtype=np.int64)
        found = Sightings(
            search=search,
            unit=np.array(self._unit, dtype=np.int64) + (offset[corpus][search] if len(corpora) else 0),
            rank=rank,
            place=place_of(rank),
            content=np.full(len(rank), -1, dtype=np.int64),
            corpus=corpus,
            surface=np.array(self._surface, dtype=np.int64),
            epoch=np.array(self._epoch, dtype=np.int64),
            started=np.array(self._started, dtype=float),
            former=np.array(self._former, dtype=bool),
            version=np.array(self._version, dtype=np.int64),
            query=np.array(self._query, dtype=np.int64),
            answer=self._answer,
            top_score=np.array(self._top, dtype=float),
            units=names,
            corpora=corpora,
            surfaces=list(self._surfaces),
            epochs=list(self._epochs),
            queries=list(self._queries),
            numbers=self._numbers,
            unnamed=self._unnamed,
        )
        for start, keys in self._content:
            found.content[start : start + len(keys)] = keys
        self._place_delivered(found, np.concatenate([[0], np.cumsum(sizes)]))
        return found

    def _place_delivered(self, found: Sightings, starts: Any) -> None:
        for number, hit_ranks in self._delivered:
            place: dict[int, int] = {}
            for position, rank in enumerate(hit_ranks, start=1):
                place.setdefault(rank, min(position, BEYOND))
            for hit in range(starts[number], starts[number + 1]):
                found.place[hit] = place.get(int(found.rank[hit]), NOWHERE)
