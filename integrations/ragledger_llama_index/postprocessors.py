"""What a query or chat engine does with a search's nodes before its prompt, as far as numbers and words say."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec

from ragledger.extraction import plain_number
from ragledger.rerankers import is_reranker, model_name
from ragledger.weights import UNREADABLE, Weights

__all__ = ["NUMBERS", "WORDS", "RerankerFacts", "are_rerankers", "reranker_facts", "with_postprocessors"]

NUMBERS = (
    "choice_batch_size",
    "context_after",
    "context_before",
    "num_nodes",
    "percentile_cutoff",
    "score_threshold",
    "similarity_cutoff",
    "threshold_cutoff",
    "time_decay",
    "top_k",
    "top_n",
)
"""Fields that are read of any postprocessor. Prompts, keywords and keys of metadata are not."""
WORDS = ("mode", "model", "model_name")
"""Fields that are read of LlamaIndex's own classes: in one of the application, such a word may be anything."""

_CONFIGURED = frozenset({"context_after", "context_before", "percentile_cutoff", "threshold_cutoff"})
"""What cuts sentences out of nodes, or is used under conditions alone: which nodes there are is not shaped by it."""
_OWN = "llama_index.core."
_OWN_WORDS = "llama_index."
_LONGEST_MODE = 100


def with_postprocessors(weights: Weights, postprocessors: Sequence[Any]) -> Weights:
    """The weights of a search, with what its engine will do to the answer: a threshold, a reranker, a limit."""
    read = [_settings(postprocessor) for postprocessor in postprocessors]
    settings = [of_one for of_one, _ in read]
    effective = [
        {name: value for name, value in of_one.items() if name not in _CONFIGURED} for of_one in settings
    ]
    # Of a class that is not LlamaIndex's own, there may be more than these fields.
    theirs = any(not type(item).__module__.startswith(_OWN) for item in postprocessors)
    unknown = {*weights.unknown}
    if theirs or not all(complete for _, complete in read):
        unknown.add("postprocessors")
    if weights.source == "unknown":
        unknown.add("retriever")  # all that is effective below is what the engine adds
    return msgspec.structs.replace(
        weights,
        configured={**weights.configured, "postprocessors": settings},
        effective={**weights.effective, "postprocessors": effective},
        unknown=weights.unknown if weights.unknown == UNREADABLE.unknown else tuple(sorted(unknown)),
        ranking=weights.ranking | {"postprocessors"},
    )


def are_rerankers(postprocessors: Sequence[Any]) -> bool:
    """Whether one of them is known to rescore or to reorder."""
    return any(is_reranker(type(postprocessor)) for postprocessor in postprocessors)


class RerankerFacts(NamedTuple):
    """What its span says of a reranker."""

    model_name: str | None
    top_k: int | None


def reranker_facts(reranker: Any) -> RerankerFacts:
    """The names under which LlamaIndex's rerankers have them; none that is not a short word, or a number."""
    said, _ = _settings(reranker)
    model = said.get("model_name", said.get("model"))
    top_k = said.get("top_n", said.get("top_k"))
    return RerankerFacts(model, top_k if isinstance(top_k, int) else None)


def _settings(postprocessor: Any) -> tuple[dict[str, Any], bool]:
    """Its settings by name, and whether all that it has of these could be read."""
    kind = type(postprocessor)
    found: dict[str, Any] = {"postprocessor": kind.__name__}
    complete = True
    for name in (*NUMBERS, *WORDS):
        try:
            value = getattr(postprocessor, name, None)
            if name not in WORDS:
                value = plain_number(value)
            elif value is not None:
                value = _word(name, value) if kind.__module__.startswith(_OWN_WORDS) else None
                complete = complete and value is not None
        except Exception:  # noqa: BLE001  a property may raise anything
            complete, value = False, None
        if value is not None:
            found[name] = value
    return found, complete


def _word(name: str, value: Any) -> str | None:
    if name != "mode":
        return model_name(value)
    if isinstance(value, Enum):
        value = value.value
    known = isinstance(value, str) and len(value) <= _LONGEST_MODE and value.isidentifier()
    return str(value) if known else None
