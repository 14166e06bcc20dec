"""Builds a golden set from the votes of a window. The table holds no text: that of the questions is given.

A question is known by its `query_key`, so only searches recorded with `query_keys` count. Its text comes from texts
that the user gives, keyed in the same way, or from `search_texts` where that is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from msgspec import Struct

from ragledger.emptiness import nothing_in
from ragledger.errors import ConfigError, NothingToMeasure
from ragledger.ids import fingerprint, normalised
from ragledger.measures.agreement import Agreed, Rule, agreed
from ragledger.measures.golden_set import GoldenSet, Judgment, Question, Unit, grade_of, outcome_of
from ragledger.measures.report import Window
from ragledger.model import ActorKind, Outcome
from ragledger.postgres.connection import Connection, keeps_texts, reading
from ragledger.scoped import ScopeReader
from ragledger.sql import named_queries

from .stored_texts import as_reader_of_texts, may_read_texts

__all__ = [
    "RAN",
    "AskedFact",
    "Judged",
    "Recipe",
    "build",
    "judged",
    "key_id",
    "query_key",
    "questions_asked",
    "stored_texts",
]


RAN = "search outside of golden runs"
"""What a golden set is made of and compared with."""


class Recipe(NamedTuple):
    """How votes become judgments."""

    unit: Unit = "chunk"
    voters: tuple[ActorKind, ...] = ("human",)
    rule: Rule = Rule()

    @property
    def useful_from(self) -> Outcome:
        """The lowest useful outcome."""
        return outcome_of(self.rule.useful_from)

    def as_told(self) -> dict[str, Any]:
        """For the provenance of a set."""
        return {
            "unit": self.unit,
            "voters": list(self.voters),
            "min_votes": self.rule.min_votes,
            "min_agreement": self.rule.min_agreement,
            "useful_from": self.useful_from,
        }


class Judged(NamedTuple):
    """What voters agreed on, by question key and item; why the rest is unknown; where the texts are."""

    agreed: dict[str, dict[str, tuple[Agreed, str | None]]]
    left_out: dict[str, int]
    votes: int
    search_ids: dict[str, set[UUID]]


class _VoteFact(Struct, frozen=True, array_like=True):
    question: str
    chunk_id: str
    document_id: str | None
    voter: ActorKind
    actor: str | None
    outcome: Outcome
    search_id: UUID


class AskedFact(Struct, frozen=True, array_like=True):
    """How often a question was asked; null: those that cannot be told apart."""

    question: str | None
    searches: int


class _UnusableFact(Struct, frozen=True, array_like=True):
    voter: ActorKind
    votes: int
    without_query_key: int
    without_chunk_id: int


def build(
    connection: Connection,
    window: Window,
    recipe: Recipe,
    *,
    name: str,
    texts: Mapping[str, str] | None,
    key: bytes,
) -> GoldenSet:
    """A golden set of what the voters of the window agreed on.

    Args:
        texts: of the questions, by query key; None reads them from `search_texts`.

    Raises:
        NothingToMeasure: no search lies in the window, there is no vote, or no question of which the text is known; it says which.
    """
    with reading(connection):
        found = judged(connection, window, recipe)
        if not found.votes and not questions_asked(connection, window, recipe):
            raise nothing_in(connection, window, "build from", kind=RAN)
        texts = stored_texts(connection, found.search_ids) if texts is None else texts
    useful = _with_a_useful_hit(found, recipe)
    left_out = found.left_out | {"questions_without_text": len(useful - texts.keys())}
    left_out["questions_without_a_useful_hit"] = len(found.agreed) - len(useful)
    questions = tuple(
        Question(id=question, text=texts[question], judgments=_judgments(found.agreed[question], recipe))
        for question in sorted(useful & texts.keys())
    )
    if not questions:
        raise NothingToMeasure(_nothing(found.votes, left_out))
    made_of = {"votes": found.votes, "left_out": left_out, "key": key_id(key)}
    return GoldenSet(
        name=name,
        unit=recipe.unit,
        corpus=window.corpus,
        questions=questions,
        provenance={"from": "votes", "window": msgspec.to_builtins(window), **recipe.as_told(), **made_of},
    )


def questions_asked(connection: Connection, window: Window, recipe: Recipe) -> list[AskedFact]:
    """The questions of a window."""
    return ScopeReader(connection, window, recipe.useful_from).all("golden", "asked", AskedFact)


def judged(connection: Connection, window: Window, recipe: Recipe) -> Judged:
    """What the voters of a window agreed on."""
    reader = ScopeReader(connection, window, recipe.useful_from)
    facts = [fact for fact in reader.all("golden", "votes", _VoteFact) if fact.voter in recipe.voters]
    unusable = [
        fact for fact in reader.all("golden", "unusable", _UnusableFact) if fact.voter in recipe.voters
    ]
    left_out: Counter[str] = Counter(
        votes_without_query_key=sum(fact.without_query_key for fact in unusable),
        votes_without_chunk_id=sum(fact.without_chunk_id for fact in unusable),
    )
    # Of a document a voter says what they say of its best chunk.
    grades: dict[tuple[str, str], dict[tuple[str, str | None], int]] = defaultdict(dict)
    documents: dict[str, str | None] = {}
    search_ids: dict[str, set[UUID]] = defaultdict(set)
    for fact in facts:
        item = fact.chunk_id if recipe.unit == "chunk" else fact.document_id
        if item is None:
            left_out["votes_without_document_id"] += 1
            continue
        said, voter = grades[fact.question, item], (fact.voter, fact.actor)
        said[voter] = max(grade_of(fact.outcome), said.get(voter, 0))
        documents[item] = fact.document_id
        search_ids[fact.question].add(fact.search_id)
    found: dict[str, dict[str, tuple[Agreed, str | None]]] = defaultdict(dict)
    for (question, item), said in grades.items():
        verdict = agreed(list(said.values()), recipe.rule)
        if isinstance(verdict, Agreed):
            found[question][item] = verdict, documents[item]
        else:
            left_out[f"hits_{verdict}"] += 1
    votes = sum(fact.votes for fact in unusable)
    return Judged(dict(found), dict(sorted(left_out.items())), votes, dict(search_ids))


def _with_a_useful_hit(found: Judged, recipe: Recipe) -> set[str]:
    return {
        question
        for question, items in found.agreed.items()
        if any(verdict.grade >= recipe.rule.useful_from for verdict, _ in items.values())
    }


def stored_texts(connection: Connection, search_ids: Mapping[str, Iterable[UUID]]) -> dict[str, str]:
    """The texts of questions, from the searches that asked them.

    Raises:
        ConfigError: no texts are kept, or this user may not read them.
    """
    if not keeps_texts(connection):
        raise ConfigError(
            "no texts are kept in this schema (`ragledger init --with-text`): give --questions FILE"
        )
    if not may_read_texts(connection):
        raise ConfigError("this user may not read search_texts: GRANT ragledger_texts TO it")
    questions = {search_id: question for question, ids in search_ids.items() for search_id in ids}
    with as_reader_of_texts(connection):
        rows: Sequence[tuple[Any, ...]] = connection.execute(
            named_queries("golden")["texts"], {"ids": list(questions)}
        ).fetchall()
    return {questions[search_id]: text for search_id, text in sorted(rows)}


def query_key(text: str, key: bytes) -> str:
    """How a ledger with `query_keys` and this key knows a question."""
    return fingerprint(normalised(text), key).hex()


def key_id(key: bytes) -> str:
    """Tells one key from another, and nothing else of it."""
    return fingerprint("the key of a golden set", key).hex()


def _judgments(items: Mapping[str, tuple[Agreed, str | None]], recipe: Recipe) -> tuple[Judgment, ...]:
    is_chunk = recipe.unit == "chunk"
    return tuple(
        Judgment(id=item, grade=verdict.grade, document=document if is_chunk else None)
        for item, (verdict, document) in sorted(items.items())
    )


def _nothing(votes: int, left_out: Mapping[str, int]) -> str:
    if not votes:
        return "no golden set: no vote of these voters lies in the window"
    why = ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in left_out.items() if n)
    hint = "; texts are known by RAGLEDGER_KEY, which must be the application's"
    return f"no golden set can be made of {votes} votes: {why}{hint if left_out['questions_without_text'] else ''}"
