"""The demo's ground truth: questions about the language reference, and how well a passage answers each.

Pure. A judgment is a rule about the wording of a passage, never a chunk id, because the passages differ
between Python versions. Every match on Python 3.11 was read when the rules of `questions.json` were written,
and so was whatever a vector search and a keyword search put in their first eight, for what the rules missed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ragledger.demo.corpus import Passage

__all__ = ["OUTCOMES", "Question", "Rule", "grade", "load_questions", "outcome", "relevant_passages"]

OUTCOMES = ("not_relevant", "partially_relevant", "relevant", "highly_relevant")
"""The outcome of a vote for each grade, 0 to 3."""

# Quotes and emphasis come and go between versions of the reference; the words are what is judged.
_MARKS: dict[int, str | None] = dict.fromkeys(map(ord, '"`*\u201c\u201d'), None)
_MARKS |= {0x2018: "'", 0x2019: "'", 0x2013: "-", 0x2014: "-"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A passage earns `grade` if it is of one of `topics` and holds every phrase of `all` and one of `any`.

    An empty tuple asks for nothing.
    """

    grade: int
    topics: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    any: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= self.grade <= 3:
            raise ValueError(f"a rule gives grade 1, 2 or 3, got {self.grade}")
        if not (self.all or self.any):
            raise ValueError("a rule without a phrase would match every passage")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`kind`: keyword (uses the reference's own words), paraphrase, or unanswerable (no passage answers it)."""

    id: str
    text: str
    kind: str
    rules: tuple[Rule, ...] = ()

    @property
    def answerable(self) -> bool:
        return self.kind != "unanswerable"


def load_questions() -> list[Question]:
    """Return the questions of `questions.json`, in the order of their ids."""
    source = files("ragledger.demo").joinpath("questions.json").read_text(encoding="utf-8")
    return [_question(raw) for raw in json.loads(source)]


def grade(question: Question, passage: Passage) -> int:
    """Return how well the passage answers the question: 0 (no rule matches) to 3, the best rule's grade."""
    flat = _flat(passage.text)
    return max(
        (rule.grade for rule in question.rules if _matches(rule, passage.document_id, flat)), default=0
    )


def outcome(grade: int) -> str:
    """Return the outcome of a vote that says what the grade says."""
    if not 0 <= grade < len(OUTCOMES):
        raise ValueError(f"a grade is 0 to {len(OUTCOMES) - 1}, got {grade}")
    return OUTCOMES[grade]


def relevant_passages(question: Question, corpus: Iterable[Passage]) -> dict[str, int]:
    """Return chunk id to grade for every passage of the corpus that earns at least 1."""
    graded = ((passage.chunk_id, grade(question, passage)) for passage in corpus)
    return {chunk_id: g for chunk_id, g in graded if g > 0}


def _question(raw: dict[str, Any]) -> Question:
    rules = tuple(
        Rule(
            grade=rule["grade"],
            topics=tuple(rule.get("topics", ())),
            all=tuple(_flat(phrase) for phrase in rule.get("all", ())),
            any=tuple(_flat(phrase) for phrase in rule.get("any", ())),
        )
        for rule in raw["grades"]
    )
    return Question(id=raw["id"], text=raw["text"], kind=raw["kind"], rules=rules)


def _matches(rule: Rule, topic: str, flat: str) -> bool:
    if rule.topics and topic not in rule.topics:
        return False
    if not all(phrase in flat for phrase in rule.all):
        return False
    return not rule.any or any(phrase in flat for phrase in rule.any)


@lru_cache(maxsize=4096)
def _flat(text: str) -> str:
    """Return the text as it is compared: lower case, one space between words, no quotes, no emphasis."""
    unbroken = re.sub(r"(?<=\w-)\n\s*(?=\w)", "", text)  # the reference breaks lines after hyphens
    return " ".join(unbroken.translate(_MARKS).lower().split())
