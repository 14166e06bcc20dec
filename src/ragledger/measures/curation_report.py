"""The values of a curation: what the JSON, the tables and the Markdown of `ragledger curate` all show (docs/curate.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from ragledger.model import ActorKind

__all__ = [
    "ClassCount",
    "Curation",
    "Document",
    "EarlierCounts",
    "EpochSeen",
    "GapReport",
    "InventoryReport",
    "KeptReport",
    "Question",
    "ReindexReport",
    "VoterTotal",
    "Votes",
]


class Votes(Struct, frozen=True, kw_only=True):
    """What one kind of voter said of a document. `actors_against`: who said not useful. `verdict` null: too few votes to say."""

    judged: int
    useful: int
    not_useful: int
    actors: int
    actors_against: int
    verdict: str | None
    expected_useful: float
    useful_over_expected: float | None


class EarlierCounts(Struct, frozen=True, kw_only=True):
    """By the collector's rollups, on days of which rows are gone; all kinds of voters together."""

    source: str
    retrieved: int
    admitted: int
    accessed: int
    judged: int
    useful: int
    not_useful: int
    last_day: datetime


class Document(Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """One document: its class, what that suggests and why, and its funnel, counted in searches from the rows that are kept."""

    corpus: str | None
    id: str
    class_: str
    suggestion: str | None
    reason: str
    retrieved: int
    admitted: int
    shown: int
    accessed: int
    expected_accessed: float | None
    shown_at: Mapping[str, int]
    first_retrieved: datetime | None
    last_retrieved: datetime | None
    votes: Mapping[ActorKind, Votes]
    earlier: EarlierCounts | None
    replaced_by: tuple[str, ...]


class ClassCount(Struct, frozen=True, kw_only=True):
    """How many documents are in a class."""

    n: int
    suggestion: str | None


class KeptReport(Struct, frozen=True, kw_only=True):
    """What the table can speak for. `complete_since` null: for the whole window."""

    removed_records: int
    complete_since: datetime | None
    why: str | None


class InventoryReport(Struct, frozen=True, kw_only=True):
    """What could have been retrieved, and how much of it is known to the table."""

    source: str
    documents: int
    matched: int


class ReindexReport(Struct, frozen=True, kw_only=True):
    """Votes given under an older index version, and what became of them. The counts add up to `votes`."""

    newest: Mapping[str, str]
    votes: int
    followed: int
    same_id: int
    without_key: int
    in_several: int
    not_seen_since: int


class EpochSeen(Struct, frozen=True, kw_only=True):
    """An epoch whose searches are pooled here."""

    epoch: str
    searches: int
    first_seen: datetime
    last_seen: datetime


class VoterTotal(Struct, frozen=True, kw_only=True):
    """The votes of one kind: what one actor said of one document in one search."""

    votes: int
    actors: int


class Question(Struct, frozen=True, kw_only=True):
    """A question that the corpus does not answer, by its keyed hash in hex."""

    query_key: str
    searches: int
    gaps: int
    outcomes: Mapping[str, int]
    voters: tuple[ActorKind, ...]
    surfaces: tuple[str | None, ...]
    corpora: tuple[str | None, ...]
    epochs: tuple[str, ...]
    first_seen: datetime
    last_seen: datetime


class GapReport(Struct, frozen=True, kw_only=True):
    """Gap queries. `note` says why they are not measured, or for which part of the searches they speak."""

    measured: bool
    note: str | None
    searches_with_key: int
    questions: int
    gaps: int
    listed: tuple[Question, ...]


class Curation(Struct, frozen=True, kw_only=True):
    """All of it."""

    schema: int
    unit: str
    useful_from: str
    window: Mapping[str, Any]
    least: Mapping[str, float]
    searches: int
    unnamed_hits: int
    kept: KeptReport
    inventory: InventoryReport | None
    reindex: ReindexReport | None
    epochs: tuple[EpochSeen, ...]
    voters: Mapping[ActorKind, VoterTotal]
    accesses: int
    total: int
    classes: Mapping[str, ClassCount]
    chosen: int
    documents: tuple[Document, ...]
    gaps: GapReport
