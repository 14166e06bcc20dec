"""A golden set: questions with judged documents, frozen. Pure: reading and writing files is `analyses/golden_files.py`.

    question    its id, its text, its judgments
    judgment    the id of a chunk or of a document (the unit of the set), and a grade: 0 not relevant,
                1 partially relevant, 2 relevant, 3 highly relevant

What is not judged is unknown, not irrelevant. The hash is over everything but itself, in one canonical form, so that
a set can be laid out anew without changing it, and changed in nothing without being noticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from ragledger.model import Outcome

__all__ = [
    "FORMAT",
    "GRADES",
    "GoldenSet",
    "Judgment",
    "Question",
    "Unit",
    "content_hash",
    "grade_of",
    "outcome_of",
]

FORMAT: Literal["ragledger-golden/1"] = "ragledger-golden/1"
GRADES: dict[Outcome, int] = {
    "not_relevant": 0,
    "partially_relevant": 1,
    "relevant": 2,
    "highly_relevant": 3,
}
_OUTCOMES = tuple(GRADES)

Unit: TypeAlias = Literal["chunk", "document"]
_Id: TypeAlias = Annotated[str, Meta(min_length=1)]


class Judgment(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """`document`: what a judged chunk is a part of, where that is known."""

    id: _Id
    grade: Annotated[int, Meta(ge=0, le=3)]
    document: str | None = None


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that is asked, with what is known of the answers."""

    id: _Id
    text: _Id
    judgments: tuple[Judgment, ...]

    def grades(self) -> dict[str, int]:
        """By id of what was judged."""
        return {judgment.id: judgment.grade for judgment in self.judgments}

    def useful(self, cut: int) -> frozenset[str]:
        """What is judged of grade `cut` or better."""
        return frozenset(judgment.id for judgment in self.judgments if judgment.grade >= cut)


class GoldenSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`provenance` says what it was made of: counts, options, what was left out and why."""

    format: Literal["ragledger-golden/1"] = FORMAT
    name: str
    unit: Unit
    corpus: str | None = None
    questions: tuple[Question, ...]
    provenance: dict[str, Any] = {}

    def __post_init__(self) -> None:
        if (twice := _first_twice(question.id for question in self.questions)) is not None:
            raise ValueError(f"two questions have the id {twice!r}")
        for question in self.questions:
            if not question.text or not question.id:
                raise ValueError(f"question {question.id!r} has no text or no id")
            if (twice := _first_twice(judgment.id for judgment in question.judgments)) is not None:
                raise ValueError(f"question {question.id!r} judges {twice!r} twice")

    def answerable(self, cut: int) -> tuple[Question, ...]:
        """The questions for which something useful is known: the cases that a floor counts."""
        return tuple(question for question in self.questions if question.useful(cut))


def content_hash(golden: GoldenSet) -> str:
    """`sha256:` and 64 hex digits of the set in canonical JSON: keys sorted, no white space."""
    return f"sha256:{hashlib.sha256(msgspec.json.encode(golden, order='sorted')).hexdigest()}"


def grade_of(outcome: Outcome) -> int:
    """The grade that says what the vote says."""
    return GRADES[outcome]


def outcome_of(grade: int) -> Outcome:
    """The vote that says what the grade says."""
    return _OUTCOMES[grade]


def _first_twice(ids: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for each in ids:
        if each in seen:
            return each
        seen.add(each)
    return None
