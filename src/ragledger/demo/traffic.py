"""The demo's load: judged questions through both frameworks, with what happens in real life in between."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from llama_index.core import Settings as LlamaSettings
from llama_index.core.callbacks import CallbackManager

import ragledger
from ragledger import Ledger, Receipt
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler

from .hybrid import EmbeddingUnavailable, HybridSearch
from .index import CORPUS
from .judgments import Question, grade, outcome
from .langchain import HybridRetriever
from .llama_index import HybridNodeRetriever

__all__ = ["Asked", "ask_all", "vote_all"]

_DEGRADED_EVERY = 13
_FAILING_EVERY = 35
_SKIPPED_EVERY = 20
_ACTORS = 5
_PATIENCE = 0.6
_OPENS = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what came back: (rank, chunk id) pairs are in the receipt."""

    question: Question
    receipt: Receipt


def _unavailable(texts: Any) -> Any:
    raise EmbeddingUnavailable


def ask_all(
    ledger: Ledger, hybrid: HybridSearch, questions: list[Question], tick: Callable[[], None]
) -> Iterator[Asked]:
    """Asks every question on two surfaces: study through LangChain, interview through LlamaIndex.

    Interview has sessions, study has none. Some searches run without their embedding provider, some fail, some are
    skipped: the table has to tell all of that apart.
    """
    LlamaSettings.callback_manager = CallbackManager([LedgerCallbackHandler(ledger, corpus=CORPUS)])
    for number, question in enumerate(questions):
        variant = _variant(hybrid, number)
        with ragledger.context(surface="study", actor="human:learner"):
            if number % _SKIPPED_EVERY == _SKIPPED_EVERY - 1:
                ledger.skip(reason="no_goal", corpus=CORPUS)
            retriever: Any = observe(HybridRetriever(hybrid=variant), ledger, corpus=CORPUS)
            yield from _ask(question, retriever.invoke)
        with ragledger.context(surface="interview", session_id=f"s{number // 8}", actor="agent:interviewer"):
            yield from _ask(question, HybridNodeRetriever(variant).retrieve)
        tick()


def _variant(hybrid: HybridSearch, number: int) -> HybridSearch:
    if number % _DEGRADED_EVERY == _DEGRADED_EVERY - 1:
        return replace(hybrid, embed=_unavailable)
    if number % _FAILING_EVERY == _FAILING_EVERY - 1:
        return replace(hybrid, embed=lambda texts: hybrid.embed(texts)[:, :7])  # a vector of the wrong size
    return hybrid


def _ask(question: Question, search: Callable[[str], Any]) -> Iterator[Asked]:
    # A failure is the application's own problem; the row says error.
    with ragledger.capture() as receipts, suppress(psycopg.Error):
        search(question.text)
    for receipt in receipts:
        if receipt.search_id is not None:
            yield Asked(question, receipt)


def vote_all(ledger: Ledger, asked: list[Asked], passages: dict[str, Any], seed: int = 7) -> dict[str, int]:
    """Judges what was shown, from the judged set, by actors who look at the top more often than at the bottom.

    The voters are of kind `judge`: no human sat here.
    """
    chance = random.Random(seed)
    counts = {"votes": 0, "accessed": 0}
    for item in asked:
        actor = f"judge:reader-{chance.randrange(_ACTORS) + 1}"
        for rank, chunk_id in item.receipt.hits:
            if chance.random() >= rank**-_PATIENCE:
                continue
            found = passages[chunk_id or ""]
            if chance.random() < _OPENS:
                ledger.accessed(item.receipt.search_id or "", rank=rank, actor=actor)
                counts["accessed"] += 1
            verdict = outcome(grade(item.question, found))
            ledger.vote(item.receipt.search_id or "", chunk_id, verdict, actor=actor)
            counts["votes"] += 1
    return counts
