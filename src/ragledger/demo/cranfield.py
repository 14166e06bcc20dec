"""The Cranfield collection, where its three files are at hand: 1,400 abstracts, 225 questions, graded judgments.

Pure: it takes the files' contents. Two things are easy to get wrong. The judgments number the questions by their place
in the file of questions, whatever that calls them. And grade 1 is the best: 4 is the least that is of any use, -1 and 5
are not relevant.
"""

from __future__ import annotations

import re
from pathlib import Path

from ragledger.measures.golden_set import GoldenSet, Judgment, Question

from .corpus import Passage

__all__ = ["CORPUS", "FILES", "abstracts", "golden_set", "read"]

CORPUS = "cranfield"
FILES = ("cran.all.1400", "cran.qry", "cranqrel")
"""Abstracts, questions, judgments."""

# 1 a complete answer, 2 of a high degree of relevance, 3 useful, 4 of minimum interest, 5 or -1 of none.
_GRADES = {"1": 3, "2": 2, "3": 2, "4": 1, "5": 0, "-1": 0}
_ENTRY = re.compile(r"^\.I\s+(\d+)\s*$", re.MULTILINE)
_TEXT = re.compile(r"^\.W\s*$", re.MULTILINE)


def read(folder: Path) -> tuple[list[Passage], GoldenSet]:
    """The abstracts and the judged questions of a folder with the three files.

    Raises:
        OSError: one is not there.
        ValueError: one is not of the form that it should be.
    """
    documents, questions, judgments = (
        (folder / name).read_text(encoding="ascii", errors="replace") for name in FILES
    )
    return abstracts(documents), golden_set(questions, judgments)


def abstracts(content: str) -> list[Passage]:
    """Every abstract that is not empty (two are), as a passage and a document of its own."""
    return [
        Passage(chunk_id=number, document_id=number, ordinal=0, text=text)
        for number, text in _entries(content)
        if text
    ]


def golden_set(questions: str, judgments: str) -> GoldenSet:
    """The questions by their place in the file, with what was judged for them."""
    texts = {str(place): text for place, (_, text) in enumerate(_entries(questions), start=1)}
    graded: dict[str, dict[str, int]] = {question: {} for question in texts}
    for number, line in enumerate(judgments.splitlines(), start=1):
        if not line.strip():
            continue
        question, document, grade = line.split()
        if question not in graded or grade not in _GRADES:
            raise ValueError(f"cranqrel, line {number}: no such question or grade")
        graded[question][document] = _GRADES[grade]
    return GoldenSet(
        name=CORPUS,
        unit="chunk",
        corpus=CORPUS,
        questions=tuple(
            Question(
                id=question,
                text=text,
                judgments=tuple(
                    Judgment(id=document, grade=grade) for document, grade in sorted(graded[question].items())
                ),
            )
            for question, text in texts.items()
        ),
        provenance={"from": "files", "files": list(FILES[1:]), "grades": _GRADES},
    )


def _entries(content: str) -> list[tuple[str, str]]:
    """Number and text of each entry; the text is what follows its first `.W`."""
    parts = _ENTRY.split(content)
    found = []
    for number, entry in zip(parts[1::2], parts[2::2], strict=True):
        _, *text = _TEXT.split(entry, maxsplit=1)
        if not text:
            raise ValueError(f"entry {number} has no text")
        found.append((number, " ".join(text[0].split())))
    return found
