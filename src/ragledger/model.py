"""The values of the telemetry table, frozen, as they cross the journal.

Records are written as msgpack arrays: fields may be appended with a default, never moved or removed,
so that a newer release reads what an older one left in its journal. Decoding is typed and checks the ranges of the
column types, because Postgres' binary COPY would wrap a number that does not fit.

What every search makes many of is left out of garbage collection (`gc=False`): it holds values, so no cycle can come
through it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import repeat, starmap
from typing import Annotated, Any, Literal, TypeAlias, cast
from uuid import UUID

from msgspec import Meta, Struct, msgpack

from .unshown import unshown

__all__ = [
    "ActorKind",
    "Admitted",
    "AssessmentRecord",
    "Candidate",
    "DeliveryRecord",
    "FeedbackRecord",
    "HitRecord",
    "Outcome",
    "Receipt",
    "Record",
    "Returned",
    "SearchRecord",
    "Signal",
    "SignalRange",
    "Text",
    "TextsRecord",
    "decode_record",
    "encode_record",
    "holds_text",
    "votable",
]

Int4 = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Micros = Annotated[int, Meta(ge=0, le=253402300799_000000)]
Rank = Annotated[int, Meta(ge=1, le=2**31 - 1)]

ActorKind: TypeAlias = Literal["human", "agent", "judge", "system"]
Outcome: TypeAlias = Literal["not_relevant", "partially_relevant", "relevant", "highly_relevant"]
Status: TypeAlias = Literal["ok", "error", "cancelled", "skipped"]
ScoreKind: TypeAlias = Literal["similarity", "distance", "rerank", "fused", "none"]
ErrorOrigin: TypeAlias = Literal["infra", "provider", "caller", "unknown"]
IdSource: TypeAlias = Literal["framework", "metadata", "derived"]
Votable: TypeAlias = tuple[tuple[int, "str | None"], ...]
"""Rank and chunk id of the hits that a search returned: what may be voted on."""
Admitted: TypeAlias = "Votable | tuple[str, ...]"
"""The same as it is kept: of the usual result the ids alone, in order. Few votes are given, and most pairs never read.
A value: what an adapter handed in is a list that its owner may go on to change."""


def votable(admitted: Admitted) -> Votable:
    """The pairs."""
    is_ids = bool(admitted) and isinstance(admitted[0], str)  # then all of them are
    return tuple(enumerate(cast("tuple[str, ...]", admitted), 1)) if is_ids else cast("Votable", admitted)


_NONE, _ADMITTED = repeat(None), repeat(object=True)
"""Columns that say the same of every hit. They have no end and no state."""


class Signal(Struct, frozen=True, gc=False):
    """What one signal said of one item: its score, its rank among the items that the signal gave, or both.

    A score is better when it is larger: a distance is turned, and one of which that is not known is left out.
    """

    score: float | None = None
    rank: Rank | None = None


class _Identified(Struct, frozen=True):
    chunk_id: str | None
    document_id: str | None = None


class Candidate(_Identified, frozen=True, kw_only=True):
    """An item that a search considered, in the order of the retriever.

    `vector` and `lexical` are the two usual signals; other signals go by name into `signals`, as a score or as a
    `Signal` with a rank. A signal that was not scored for this item is None or absent, never 0. `admitted` says whether the caller gets it.
    """

    score: float | None = None
    vector: float | None = None
    lexical: float | None = None
    signals: Mapping[str, Signal | float | None] | None = None
    admitted: bool = True
    source_kind: str | None = None
    score_kind: ScoreKind | None = None
    score_source: str | None = None
    chunk_id_source: IdSource | None = None
    content_key: bytes | None = None

    def outranks(self, other: Candidate) -> bool:
        """Whether its score, heard of the store itself, is the one to keep: not before a reranker's."""
        return self.score is not None and self.score_source == "vector_store" and other.score_kind != "rerank"


class HitRecord(Struct, frozen=True, array_like=True, gc=False):
    """A row of `hits`. Times of a journal record are microseconds since 1970, UTC."""

    rank: Rank
    chunk_id: str | None
    chunk_id_source: IdSource | None
    document_id: str | None
    source_kind: str | None
    score: float | None
    score_kind: ScoreKind
    score_source: str | None
    vector_score: float | None
    lexical_score: float | None
    signals: dict[str, Signal] | None
    admitted: bool
    content_key: bytes | None = None


class Returned(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What a retriever returned, in its order, a column a field: the usual result, in the form that costs least.

    The lists are equally long; the words hold for all items. `signal`: the scores are that signal's. What differs more than that is told as `Candidate`s.
    """

    chunk_ids: list[str]
    document_ids: list[str | None]
    scores: list[float] | None = None
    source_kinds: list[str | None] | None = None
    score_kind: ScoreKind | None = None
    score_source: str | None = None
    chunk_id_source: IdSource = "framework"
    signal: Literal["vector", "lexical"] | None = None

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def candidates(self) -> list[Candidate]:
        """Item by item, as it was given."""
        return [
            Candidate(
                chunk_id,
                document_id,
                score=score,
                vector=vector,
                lexical=lexical,
                source_kind=source_kind,
                score_kind=self.score_kind,
                score_source=self.score_source,
                chunk_id_source=self.chunk_id_source,
            )
            for chunk_id, document_id, source_kind, score, vector, lexical in zip(
                *self._columns(), strict=True
            )
        ]

    def rows(self, *before: Any) -> Iterator[tuple[Any, ...]]:
        """The items as rows of hits, each after `before`, all of them admitted. Raises ValueError when the columns differ in length."""
        kind = "none" if self.scores is None else self.score_kind or "similarity"
        ids, documents, kinds, scores, vector, lexical = self._columns()
        source, where = repeat(self.chunk_id_source), repeat(self.score_source)
        return zip(
            *map(repeat, before), range(1, len(ids) + 1), ids, source, documents, kinds, scores, repeat(kind), where,
            vector, lexical, _NONE, _ADMITTED, _NONE, strict=False,
        )  # fmt: skip

    def hits(self) -> tuple[HitRecord, ...]:
        """The same as records."""
        return tuple(starmap(HitRecord, self.rows()))

    def _columns(self) -> tuple[list[Any], ...]:
        """Ids of chunks and documents, kinds of sources, scores, and these as the vector and the lexical signal."""
        nothing = [None] * len(self.chunk_ids)
        scores = nothing if self.scores is None else self.scores
        columns = (
            self.chunk_ids,
            self.document_ids,
            nothing if self.source_kinds is None else self.source_kinds,
            scores,
            scores if self.signal == "vector" else nothing,
            scores if self.signal == "lexical" else nothing,
        )
        if any(len(column) != len(nothing) for column in columns):
            raise ValueError("columns of different lengths")
        return columns


class SignalRange(Struct, frozen=True, omit_defaults=True):
    """What a normaliser needs to know of one signal over all candidates of a search, those beyond the cap too.

    `count` is of those that it scored or ranked; `mean` and `deviation` (of the whole, not of a sample) are of the scores.
    """

    min: float | None
    max: float | None
    count: Int4
    complete: bool
    mean: float | None = None
    deviation: float | None = None


class SearchRecord(Struct, frozen=True, array_like=True, gc=False, tag="s"):
    """A row of `searches` with its hits, as one journal record. `hits` are rows, or the columns that say the same."""

    search_id: UUID
    started_at: Micros
    project: str
    corpus: str | None
    surface: str | None
    session_id: str | None
    actor_kind: ActorKind
    actor_id: str | None
    framework: str
    retriever: str | None
    parent_id: UUID | None
    root_id: UUID
    depth: Int4
    attempt_of: UUID | None
    served_from: UUID | None
    status: Status
    skip_reason: str | None
    error_type: str | None
    error_origin: ErrorOrigin | None
    degraded: bool
    degraded_reason: str | None
    vector_available: bool | None
    latency_ms: float | None
    top_k: Int4 | None
    candidate_count: Int4 | None
    admitted_count: Int4 | None
    top_candidate_score: float | None
    top_admitted_score: float | None
    weights: str
    epoch: str
    index_version: str | None
    embedding_model: str | None
    extractor_version: str | None
    signals: dict[str, SignalRange] | None
    query_key: bytes | None
    flags: tuple[str, ...]
    trace_id: bytes | None
    span_id: bytes | None
    sampled: bool | None
    span_owner: str | None
    external_run_id: str | None
    hits: tuple[HitRecord, ...] | Returned

    @property
    def hit_rows(self) -> tuple[HitRecord, ...]:
        """The hits as rows."""
        return self.hits.hits() if isinstance(self.hits, Returned) else self.hits

    @property
    def admitted(self) -> Admitted:
        """Which hits may be voted on."""
        hits = self.hits
        if isinstance(hits, Returned):
            return tuple(hits.chunk_ids)
        return tuple([(hit.rank, hit.chunk_id) for hit in hits if hit.admitted])


class DeliveryRecord(Struct, frozen=True, array_like=True, tag="d"):
    """A row of `deliveries`: what finally reached the prompt, in that order."""

    search_id: UUID
    delivery_id: UUID
    by: Literal["postprocessor", "reranker", "application"]
    hit_ranks: tuple[Rank, ...]
    scores: tuple[float | None, ...] | None
    delivered_at: Micros


class AssessmentRecord(Struct, frozen=True, array_like=True, tag="a"):
    """A row of `assessments`: a per-search quality signal without a vote."""

    search_id: UUID
    assessment_id: UUID
    name: str
    value: float | None
    method: str | None
    weights: str | None
    assessed_at: Micros


class FeedbackRecord(Struct, frozen=True, array_like=True, tag="f"):
    """A row of `feedback`, or of `pending_feedback` while its search has not been seen (`checked` False).

    A checked record always has its rank.
    """

    search_id: UUID
    feedback_id: UUID
    rank: Rank | None
    chunk_id: str | None
    stage: Literal["accessed", "judged"]
    outcome: Outcome | None
    actor_kind: ActorKind
    actor_id: str | None
    given_at: Micros
    checked: bool


@unshown
class Text(Struct, frozen=True, array_like=True, gc=False):
    """What was asked (rank 0, always there, null where nobody said it), or the text of the hit of that rank.

    `cut`: it was longer than what is kept of it.
    """

    rank: Int4
    text: str | None
    cut: bool = False


class TextsRecord(Struct, frozen=True, array_like=True, gc=False, tag="t"):
    """The rows of `search_texts` of one search: the only record that holds text, and a record of its own for that."""

    search_id: UUID
    texts: tuple[Text, ...]


Record: TypeAlias = SearchRecord | DeliveryRecord | AssessmentRecord | FeedbackRecord | TextsRecord

encode_record: Callable[[Any], bytes] = msgpack.Encoder(uuid_format="bytes").encode
"""A record as it is kept in the journal."""
decode_record: Callable[[bytes], Record] = msgpack.Decoder(
    SearchRecord | DeliveryRecord | AssessmentRecord | FeedbackRecord | TextsRecord
).decode
"""The record, its types and ranges checked. Raises msgspec.MsgspecError, ValueError."""

_TEXTS = b"\xa1t"  # after the byte that begins the array: the tag of a `TextsRecord`, as msgpack writes it


def holds_text(body: bytes) -> bool:
    """Whether a record of the journal is one of texts, without reading any further. Also of a newer release."""
    return body[1:3] == _TEXTS


class Receipt(Struct, frozen=True, kw_only=True, gc=False):
    """What the caller gets back for a search, a skip, a vote.

    `search_id` is None exactly when there is nothing durable to attach a vote to (P6): that is not the same as
    "found nothing". `status` is what became of the record: `journalled` (survives the process), `written` (is in
    the table), `pending` (a vote that cannot be checked now and is kept), `refused` (nothing was kept, `reason` says
    why), `unknown` (direct mode: the commit's answer was lost), `disabled` (recording is off here). `hits` are the
    (rank, chunk id) pairs that may be voted on.
    """

    search_id: UUID | None
    status: Literal["journalled", "written", "pending", "refused", "unknown", "disabled"]
    reason: str | None = None
    hits: Votable = ()
