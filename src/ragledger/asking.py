"""Asks a golden set's questions of a retriever, one after the other, and keeps what came back. Measures nothing.

Every search runs inside a search of a ledger in memory, which is written nowhere: it is what `ragledger.current()` is
for code that no adapter watches, and it hears what the embedding provider did. Searches that the application's own
ledger records are marked (surface `golden`, actor `system:golden`), so that no measure of another surface counts
them, or suppressed where that is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .analyses.retrievers import IdReader, Retrieve, retrieving
from .capture import Capture
from .clock import SystemClock
from .embedding import embedding_failed
from .errors import UnusableJudgments
from .faults import error_origin, error_type
from .guard import Guard
from .keys import load_key
from .ledger import Ledger
from .measures.golden_run import Found, RunReport, report
from .measures.golden_set import GoldenSet, Question, outcome_of
from .parts import Parts
from .privacy import Privacy
from .scope import context, entered, scope, suppress
from .settings import Settings, config_home

if TYPE_CHECKING:
    from .model import ErrorOrigin, Outcome, Receipt, Record
    from .observation import Observation
    from .ports import Narration

__all__ = [
    "ACTOR",
    "SURFACE",
    "Answer",
    "Asked",
    "Voted",
    "ask",
    "ask_all",
    "reader_for",
    "report_of",
    "vote",
]

_KEYED = re.compile(r"k:[0-9a-f]{32}")
SURFACE = "golden"
ACTOR = "system:golden"
_DEFECTS = (
    AssertionError,
    AttributeError,
    ImportError,
    NameError,
    NotImplementedError,
    SyntaxError,
    TypeError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a question brought: ids of what came back, None for an item without one; or the class that was raised.

    `vector_available` is False when any search for it ran without its embedding, None when nobody told. `recorded`
    are the searches that ledgers of the application keep, each with its ledger. `origin`: whose fault the error is.
    """

    question: Question
    ids: tuple[str | None, ...] = ()
    error: str | None = None
    origin: ErrorOrigin | None = None
    vector_available: bool | None = None
    recorded: tuple[tuple[Ledger, Receipt], ...] = ()


@dataclass(slots=True)
class Asked:
    """Every answer, in the order of the questions, and the embedding models that were heard of."""

    answers: list[Answer] = field(default_factory=list)
    embedding_models: set[str] = field(default_factory=set)

    @property
    def broken(self) -> list[Answer]:
        """Those for which the retriever itself failed: neither its embedding provider nor what it runs on."""
        return [answer for answer in self.answers if answer.origin in {"caller", "unknown"}]

    @property
    def without_infra(self) -> list[Answer]:
        """Those for which a database or a system call failed."""
        return [answer for answer in self.answers if answer.origin == "infra"]

    @property
    def unavailable(self) -> list[Answer]:
        """Those for which the embedding provider was not to be had."""
        return [answer for answer in self.answers if answer.vector_available is False]


def reader_for(golden: GoldenSet) -> IdReader:
    """Reads ids by the settings of the environment, as the adapters do."""
    settings = Settings.from_env(os.environ, dsn=os.environ.get("RAGLEDGER_DSN") or "none")
    return IdReader(
        unit=golden.unit,
        chunk_id_key=settings.chunk_id_key,
        document_id_keys=settings.document_id_keys,
        kept=_kept(golden, settings),
    )


def ask(
    golden: GoldenSet,
    retrieve: Retrieve,
    reader: IdReader,
    *,
    record: bool = True,
    tick: Callable[[int], None] = lambda _: None,
) -> Asked:
    """Asks every question. What a retriever raises costs its question alone.

    Args:
        record: False suppresses the searches that the application's ledger would record, and with them what it knows
            of the embedding provider.
    """
    asked = Asked()
    with _own_ledger() as ledger:
        for question in golden.questions:
            asked.answers.append(
                _answer(ledger, golden.corpus, question, retrieve, reader, asked, record=record)
            )
            tick(1)
    return asked


def ask_all(
    golden: GoldenSet,
    retriever: object,
    *,
    record: bool = True,
    tick: Callable[[int], None] = lambda _: None,
) -> Asked:
    """Every answer of a retriever, whatever framework it is of.

    Raises:
        UnusableJudgments: it is no retriever, or nothing that came back has an id.
    """
    asked = ask(golden, retrieving(retriever), reader_for(golden), record=record, tick=tick)
    returned = [each for answer in asked.answers for each in answer.ids]
    if returned and not any(returned):
        raise UnusableJudgments(
            f"nothing of what came back has an id of a {golden.unit}: there is nothing to judge"
        )
    return asked


def report_of(golden: GoldenSet, digest: str, asked: Asked, useful_from: Outcome = "relevant") -> RunReport:
    """What the answers are worth. Needs the extra `analysis`."""
    found = {
        answer.question.id: Found(
            ids=answer.ids, error=answer.error, vector_available=answer.vector_available
        )
        for answer in asked.answers
    }
    return report(golden, digest, found, sorted(asked.embedding_models), useful_from)


@dataclass(slots=True)
class Voted:
    """Votes given; questions that were not recorded, or as more than one search, so that there is nothing to vote on."""

    votes: int = 0
    not_recorded: int = 0
    several: int = 0


def vote(golden: GoldenSet, asked: Asked) -> Voted:
    """Puts the judgments of what came back into the table, as votes of kind `judge`, by the ledger that has the search.

    Raises:
        UnusableJudgments: the set judges documents, and a vote is on a chunk.
    """
    if golden.unit != "chunk":
        raise UnusableJudgments("this set judges documents, and a vote is on a chunk")
    counts = Voted()
    for answer in asked.answers:
        if len(answer.recorded) != 1:
            counts.several += len(answer.recorded) > 1
            counts.not_recorded += not answer.recorded
            continue
        [(ledger, receipt)] = answer.recorded
        grades = answer.question.grades()
        for rank, chunk_id in receipt.hits:
            if receipt.search_id is not None and chunk_id in grades:
                outcome = outcome_of(grades[chunk_id])
                ledger.vote(receipt.search_id, rank=rank, outcome=outcome, actor=f"judge:{golden.name}")
                counts.votes += 1
    return counts


class _Listening(Capture):
    """Hears every search that is made inside, of whatever ledger, members included."""

    def __init__(self, outer: Capture | None) -> None:
        super().__init__(outer)
        self.models: set[str] = set()
        self.available: list[bool | None] = []
        self.recorded: list[tuple[Ledger, Receipt]] = []

    def add(self, observation: Observation, receipt: Receipt) -> None:
        before = len(self.receipts)
        super().add(observation, receipt)
        if len(self.receipts) > before and receipt.search_id is not None:
            self.recorded.append((observation.ledger, receipt))
        self.hear(observation)

    def hear(self, observation: Any) -> None:
        if isinstance(observation.embedding_model, str):
            self.models.add(observation.embedding_model)
        self.available.append(observation.vector_available)


def _answer(  # noqa: PLR0913  what one question needs
    ledger: Ledger,
    corpus: str | None,
    question: Question,
    retrieve: Retrieve,
    reader: IdReader,
    asked: Asked,
    *,
    record: bool,
) -> Answer:
    outer = scope()
    listening = _Listening(outer.capture)
    ids: list[str | None] = []
    failure: BaseException | None = None
    said = {"corpus": corpus} if corpus is not None else {}
    # The search around it is opened first: it is nobody's but ours, and no capture lists it.
    with entered({"capture": None, "suppressed": False}), ledger.search() as around:
        is_recorded = record and not outer.suppressed
        marked = context(surface=SURFACE, actor=ACTOR, **said) if is_recorded else suppress()
        with entered({"capture": listening}), marked:
            try:
                ids = reader.read(retrieve(question.text))
            except KeyboardInterrupt:
                raise
            except BaseException as exc:  # noqa: BLE001  a retriever may raise anything, and may exit
                failure = exc
    listening.hear(around)
    asked.embedding_models |= listening.models
    origin = None if failure is None else _origin(listening.available, failure)
    return Answer(
        question=question,
        ids=tuple(ids),
        error=None if failure is None else error_type(failure),
        origin=origin,
        vector_available=_available(listening.available, origin),
        recorded=tuple(listening.recorded),
    )


def _kept(golden: GoldenSet, settings: Settings) -> Callable[[str], str | None]:
    """A set from the votes of a table at privacy level `keyed` knows keyed ids."""
    judged = [judgment.id for question in golden.questions for judgment in question.judgments]
    if not judged or not all(map(_KEYED.fullmatch, judged)):
        return str
    return Privacy("keyed", load_key(settings.key, config_home(os.environ))).kept


def _origin(heard: list[bool | None], failure: BaseException) -> ErrorOrigin:
    """A defect of the code is the retriever's, also where it comes out of a call that embeds."""
    if not isinstance(failure, Exception) or isinstance(failure, _DEFECTS):
        return "caller"
    return "provider" if False in heard or embedding_failed(failure) else error_origin(failure)


def _available(heard: list[bool | None], origin: ErrorOrigin | None) -> bool | None:
    if False in heard or origin == "provider":
        return False
    return True if True in heard else None


@contextmanager
def _own_ledger() -> Iterator[Ledger]:
    parts = Parts(
        guard=Guard(strict=False),
        backend=_Nowhere(),
        lookup=None,
        key=b"written nowhere",
        narrator=_Silent(),
        clock=SystemClock(),
        release=lambda: None,
    )
    ledger = Ledger(Settings(dsn="memory:golden"), parts, name="ragledger.golden")
    try:
        yield ledger
    finally:
        ledger.close()


class _Nowhere:
    """A backend that forgets."""

    kept_as: Literal["journalled", "written"] = "written"

    def put(self, record: Record) -> str | None:
        return None

    def drain(self, timeout_s: float) -> bool:
        return True

    def close(self, timeout_s: float) -> None:
        pass

    def after_fork(self) -> None:
        pass

    def facts(self) -> dict[str, Any]:
        return {}


class _Silent:
    """A narrator that nobody hears."""

    wants_text = False

    def open(self, facts: object) -> Narration | None:
        return None
