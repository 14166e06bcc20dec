"""Reads what a golden set is compared with: the votes and questions of a later window, and the corpus as it is now."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ragledger.emptiness import nothing_in
from ragledger.measures.drift import Drift, Later, drift
from ragledger.measures.golden_set import GoldenSet
from ragledger.measures.report import Window
from ragledger.postgres.connection import Connection, reading
from ragledger.sql import named_queries

from .golden_votes import RAN, Recipe, judged, key_id, query_key, questions_asked

__all__ = ["drift_of"]

_NO_KEYS = "no search of the window has a query_key: switch query_keys on"
_NO_CORPUS = "the set names no corpus: give --corpus or --ids FILE"
_NO_INVENTORY = "the inventory has nothing of corpus {corpus}: give --ids FILE"
_NO_DOCUMENTS = "the inventory lists documents, and this set judges chunks of which the document is not known: give --ids FILE"
_OTHER_KEY = "the set was built with another key than this one (RAGLEDGER_KEY)"


def drift_of(
    connection: Connection,
    golden: GoldenSet,
    window: Window,
    recipe: Recipe,
    *,
    key: bytes,
    ids: Collection[str] | None = None,
) -> Drift:
    """Compares the set with a later window, and with the corpus.

    Args:
        recipe: the rule that made the set, and whose votes.
        ids: what the corpus has, in the unit of the set; None asks `inventory`.

    Raises:
        NothingToMeasure: no search lies in the window.
    """
    reasons: dict[str, str] = {}
    with reading(connection):
        facts = questions_asked(connection, window, recipe)
        if not facts:
            raise nothing_in(connection, window, "compare with", kind=RAN)
        now = judged(connection, window, recipe).agreed
        there = ids if ids is not None else _inventory(connection, golden, window, reasons)
    asked = {fact.question for fact in facts if fact.question is not None}
    is_ours = golden.provenance.get("key") in {None, key_id(key)}
    if not (is_ours and asked):
        reasons |= dict.fromkeys(("contradicted", "not_asked"), _NO_KEYS if is_ours else _OTHER_KEY)
    known = "contradicted" not in reasons
    agreed = {
        question: {item: verdict for item, (verdict, _) in items.items()} for question, items in now.items()
    }
    later = Later(
        agreed=agreed if known else None, asked=asked if known else None, there=there, reasons=reasons
    )
    keys = {question.id: query_key(question.text, key) for question in golden.questions}
    return drift(golden, keys, later, recipe.rule.useful_from)


def _inventory(
    connection: Connection, golden: GoldenSet, window: Window, reasons: dict[str, str]
) -> set[str] | None:
    corpus = window.corpus or golden.corpus
    rows: list[tuple[Any, ...]] = []
    if corpus is not None:
        rows = connection.execute(named_queries("golden")["inventory"], {"corpus": corpus}).fetchall()
    judgments = [judgment for question in golden.questions for judgment in question.judgments]
    if corpus is None:
        reasons["vanished"] = _NO_CORPUS
    elif not rows:
        reasons["vanished"] = _NO_INVENTORY.format(corpus=corpus)
    elif golden.unit == "chunk" and not all(judgment.document for judgment in judgments):
        reasons["vanished"] = _NO_DOCUMENTS
    else:
        return {document for (document,) in rows}
    return None
