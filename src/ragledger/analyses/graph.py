"""The graph question → document → outcome, as JSON or CSV, written whole or not at all, for nobody else to read.

A question is the keyed hash of its text; where a search has none, the search stands for it. Columns: docs/curate.md.
"""

from __future__ import annotations

import csv
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

import msgspec
import numpy as np

from ragledger.errors import ConfigError
from ragledger.measures.sightings import NOWHERE
from ragledger.scoped import OUTCOMES

from .curation import Curated, Judged

__all__ = ["Edge", "edges", "write_csv", "write_json", "written"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """`shown`: a question was answered with a document. `judged`: for that question, the document had an outcome."""

    relation: str
    source: str
    target: str
    question: str
    corpus: str | None
    document: str
    searches: int
    accessed: int | None = None
    best_rank: int | None = None
    voter: str | None = None
    outcome: str | None = None
    votes: int | None = None


_COLUMNS = tuple(Edge.__dataclass_fields__)


def edges(curated: Curated) -> Iterator[Edge]:
    """Of shown documents, each with each question once; and of judgments, by question, document, voter and outcome."""
    questions = _questions(curated)
    yield from _shown(curated, questions)
    votes = Counter(
        (questions[r.search], r.unit, r.kind, r.outcome) for r in curated.reactions if r.outcome is not None
    )
    searches = Counter(
        (question, unit, kind, outcome)
        for question, unit, kind, outcome, _ in {
            (questions[r.search], r.unit, r.kind, r.outcome, r.search)
            for r in curated.reactions
            if r.outcome is not None
        }
    )
    for key in sorted(votes):
        question, unit, kind, outcome = key
        corpus, document = curated.sightings.units[unit]
        yield Edge(
            relation="judged",
            source=_document(corpus, document),
            target=f"outcome:{OUTCOMES[outcome]}",
            question=question,
            corpus=corpus or None,
            document=document,
            searches=searches[key],
            voter=kind,
            outcome=OUTCOMES[outcome],
            votes=votes[key],
        )


def write_csv(curated: Curated, file: TextIO) -> None:
    """One line per edge; the nodes are their ends."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for edge in edges(curated):
        writer.writerow([getattr(edge, column) for column in _COLUMNS])


def write_json(curated: Curated, file: TextIO) -> None:
    """Edges and nodes; a document's node has its class and what that suggests."""
    judged = {_document(one.corpus or "", one.id): one for one in curated.documents}
    ends: dict[str, None] = {}
    file.write('{"schema":1,"edges":[')
    between = "\n"
    for edge in edges(curated):
        ends |= dict.fromkeys((edge.source, edge.target))
        file.write(between + msgspec.json.encode(asdict(edge)).decode())
        between = ",\n"
    file.write('\n],"nodes":[')
    between = "\n"
    for name in dict.fromkeys([*ends, *judged]):
        file.write(between + msgspec.json.encode(_node(name, judged.get(name))).decode())
        between = ",\n"
    file.write("\n]}\n")


def written(path: Path, write: Callable[[TextIO], None]) -> None:
    """Writes beside the file and moves it there at the end: no reader ever sees a half, and nobody but the owner reads it.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        descriptor, hidden = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # made with mode 0600
        try:
            with open(descriptor, "w", encoding="utf-8", newline="") as file:
                write(file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(hidden, path)
        except BaseException:
            os.unlink(hidden)
            raise
    except OSError as exc:
        raise ConfigError(f"the graph cannot be written there ({type(exc).__name__})") from None


def _questions(curated: Curated) -> list[str]:
    """The node of each search's question."""
    found = curated.sightings
    ids = {number: search_id for search_id, number in found.numbers.items()}
    return [
        f"question:{found.queries[query].hex()}" if query >= 0 else f"search:{ids[number]}"
        for number, query in enumerate(found.query.tolist())
    ]


def _shown(curated: Curated, questions: list[str]) -> Iterator[Edge]:
    pairs, units = curated.pairs, len(curated.sightings.units)
    shown = pairs.place != NOWHERE
    if not shown.any():
        return
    names = {name: number for number, name in enumerate(dict.fromkeys(questions))}
    number = np.array([names[question] for question in questions], dtype=np.int64)
    opened = np.zeros(len(pairs.key), dtype=bool)
    accesses = [r for r in curated.reactions if r.outcome is None]
    opened[pairs.find([r.search for r in accesses], [r.unit for r in accesses], units)] = True
    keys, which = np.unique(number[pairs.search[shown]] * units + pairs.unit[shown], return_inverse=True)
    best = np.full(len(keys), np.iinfo(np.int64).max)
    np.minimum.at(best, which, pairs.place[shown])
    columns = (keys, np.bincount(which), np.bincount(which, weights=opened[shown]).astype(np.int64), best)
    by_number = list(names)
    for key, searches, accessed, rank in zip(*(column.tolist() for column in columns), strict=True):
        question, (corpus, document) = by_number[key // units], curated.sightings.units[key % units]
        yield Edge(
            relation="shown",
            source=question,
            target=_document(corpus, document),
            question=question,
            corpus=corpus or None,
            document=document,
            searches=searches,
            accessed=accessed,
            best_rank=rank,
        )


def _node(name: str, document: Judged | None) -> dict[str, str | None]:
    kind, _, rest = name.partition(":")
    if document is None:
        return {"id": name, "type": kind, "name": rest}
    return {
        "id": name,
        "type": kind,
        "name": document.id,
        "corpus": document.corpus,
        "class": document.found.value,
        "suggestion": document.suggestion,
    }


def _document(corpus: str, document: str) -> str:
    """Unlike with a plain `corpus/document`, two documents never share a name."""
    return f"document:{corpus.replace('%', '%25').replace('/', '%2F')}/{document}"
