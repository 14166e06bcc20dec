"""What a query or chat engine does with a search's nodes before its prompt, as far as numbers and words say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ragledger.extraction import plain_number
from ragledger.weights import Weights

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
WORDS = ("mode", "model", "model_name")
"""Fields that are read of any postprocessor. Prompts, keywords and keys of metadata are not."""

_OWN = "llama_index.core."
_LONGEST_WORD = 100
_REORDERING = frozenset(
    {
        "EmbeddingRecencyPostprocessor",
        "FixedRecencyPostprocessor",
        "LongContextReorder",
        "TimeWeightedPostprocessor",
    }
)


def with_postprocessors(weights: Weights, postprocessors: Sequence[Any]) -> Weights:
    """The weights of a search, with what its engine will do to the answer: a threshold, a reranker, a limit."""
    settings = [_settings(postprocessor) for postprocessor in postprocessors]
    theirs = [item for item in postprocessors if not type(item).__module__.startswith(_OWN)]
    return msgspec.structs.replace(
        weights,
        configured={**weights.configured, "postprocessors": settings},
        effective={**weights.effective, "postprocessors": settings},
        # Of a class that is not LlamaIndex's own, there may be more than these fields.
        unknown=(*weights.unknown, "postprocessors") if theirs else weights.unknown,
        ranking=weights.ranking | {"postprocessors"},
    )


def are_rerankers(postprocessors: Sequence[Any]) -> bool:
    """Whether one of them is known to rescore or to reorder."""
    return any(_reranks(type(postprocessor)) for postprocessor in postprocessors)


class RerankerFacts(NamedTuple):
    """What its span says of a reranker."""

    model_name: str | None
    top_k: int | None


def reranker_facts(reranker: Any) -> RerankerFacts:
    """The names under which LlamaIndex's rerankers have them; none that is not a short word, or a number."""
    said = _settings(reranker)
    model = said.get("model_name", said.get("model"))
    top_k = said.get("top_n", said.get("top_k"))
    return RerankerFacts(model, top_k if isinstance(top_k, int) else None)


def _settings(postprocessor: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"postprocessor": type(postprocessor).__name__}
    for name in NUMBERS:
        if (number := plain_number(getattr(postprocessor, name, None))) is not None:
            found[name] = number
    for name in WORDS:
        word = getattr(postprocessor, name, None)
        if isinstance(word, str) and len(word) <= _LONGEST_WORD:
            found[name] = str(word)
    return found


def _reranks(kind: type) -> bool:
    names = [base.__name__ for base in kind.__mro__]
    return any("rerank" in name.lower() or name in _REORDERING for name in names)
