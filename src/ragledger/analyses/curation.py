"""Which documents earn their place: reads a window, counts each document's funnel, names its class, and lists gap queries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragledger.emptiness import nothing_in
from ragledger.errors import NothingToMeasure
from ragledger.measures.curation import Class, Least, Standing, Suggestion, classify, suggestion_of
from ragledger.measures.document_funnel import NEVER_SEEN, Funnel
from ragledger.measures.exposures import Pairs, funnels, pairs_of
from ragledger.measures.gaps import GapQuery, gap_queries
from ragledger.measures.reindex import Moves, follow
from ragledger.measures.report import Window
from ragledger.measures.sightings import Reaction, Sightings
from ragledger.model import Outcome
from ragledger.postgres.connection import Connection, reading
from ragledger.scoped import OUTCOMES

from .inventory import Inventory, from_store
from .kept import Kept, read_kept
from .sightings import CurateReader
from .stock import Stock

__all__ = ["Curated", "Judged", "curate"]

_UNNAMED = (
    "nothing to curate: no hit in this window names its document; say `--unit chunk`, or see `document_id_keys` "
    "(privacy level structure keeps no ids)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One document and what became of it. `number` is its place in the sightings, None: no search found it."""

    corpus: str | None
    id: str
    number: int | None
    funnel: Funnel
    standing: Standing
    found: Class
    suggestion: Suggestion | None


@dataclass(frozen=True, kw_only=True)
class Curated:
    """Everything that was read and found; `curated.py` and `graph.py` show it."""

    window: Window
    useful_from: Outcome
    by_chunk: bool
    least: Least
    kept: Kept
    inventory: Inventory | None
    matched: int
    newest: dict[str, str]
    fates: dict[int, int]
    epochs: list[Any]
    sightings: Sightings
    moves: Moves
    pairs: Pairs
    reactions: list[Reaction]
    documents: list[Judged]
    gaps: list[GapQuery]


def curate(  # noqa: PLR0913  what to read, and how to judge it
    connection: Connection,
    window: Window,
    *,
    useful_from: Outcome = "relevant",
    least: Least | None = None,
    inventory: Inventory | None = None,
    by_chunk: bool = False,
    keyed: Callable[[str], str | None] = str,
    ids: bool = False,
    step: Callable[[int], None] = lambda _: None,
) -> Curated:
    """Classifies the documents of `window`, and those of the inventory that no search found.

    `keyed`: how an id is kept at privacy level `keyed`. `ids`: also the ids of searches without a key, for the graph.

    Raises:
        NothingToMeasure: no ok search lies in the window, or none of its hits names a document.
    """
    least = least or Least()
    cut = OUTCOMES.index(useful_from)
    with reading(connection):
        reader = CurateReader(connection, window, by_chunk=by_chunk, ids=ids)
        newest = _newest(reader)
        sightings = _checked(reader.sightings(newest, step), connection, window)
        moves = follow(sightings)
        reactions, fates = reader.reactions(sightings, moves)
        kept = read_kept(reader, window, rollups=not by_chunk and window.surface is None)
        inventory = inventory or (None if by_chunk else from_store(reader))
        epochs = reader.rows("epochs")
    pairs = pairs_of(sightings, moves.unit)
    stock = Stock(sightings, moves, inventory, kept, keyed)
    documents = _judged(stock, funnels(sightings, pairs, reactions, cut), least)
    return Curated(
        window=window, useful_from=useful_from, by_chunk=by_chunk, least=least, kept=kept, inventory=inventory,
        matched=stock.matched, newest=newest, fates=fates, epochs=epochs, sightings=sightings, moves=moves, pairs=pairs,
        reactions=reactions, documents=documents, gaps=gap_queries(sightings, reactions, cut),
    )  # fmt: skip


def _checked(sightings: Sightings, connection: Connection, window: Window) -> Sightings:
    if not len(sightings.corpus):
        raise nothing_in(connection, window, "curate", kind="search that ended ok")
    if not sightings.units and sightings.unnamed:
        raise NothingToMeasure(_UNNAMED)
    return sightings


def _newest(reader: CurateReader) -> dict[str, str]:
    """The newest index version of each corpus that has searches of another one, too."""
    versions: dict[str, list[tuple[datetime, str | None]]] = {}
    for corpus, version, last_seen, _ in reader.rows("versions"):
        versions.setdefault(corpus, []).append((last_seen, version))
    found = {}
    for corpus, seen in versions.items():
        named = [(last_seen, version) for last_seen, version in seen if version is not None]
        if named and len(seen) > 1:
            found[corpus] = max(named)[1]
    return found


def _judged(stock: Stock, counted: list[Funnel], least: Least) -> list[Judged]:
    documents = []
    for corpus, name, number, standing in stock.documents():
        funnel = NEVER_SEEN if number is None else counted[number]
        found = classify(funnel, standing, least)
        documents.append(
            Judged(
                corpus=corpus or None, id=name, number=number, funnel=funnel, standing=standing, found=found,
                suggestion=suggestion_of(found, standing, least),
            )
        )  # fmt: skip
    order = {found: number for number, found in enumerate(Class)}
    return sorted(
        documents,
        key=lambda one: (
            order[one.found],
            one.suggestion is None,
            -sum(said.not_useful for said in one.funnel.said.values()),
            -one.funnel.shown,
            -one.funnel.retrieved,
            one.corpus or "",
            one.id,
        ),
    )
