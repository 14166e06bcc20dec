"""Ready-made quality signals of one search, for `ledger.assess`: what can be said without a vote.

Pure functions of numbers, ids and texts that the application holds anyway; what they are given is not kept. Each
gives an `Assessment` whose value is between 0 and 1, or None where the signal cannot be computed: unknown is not 0.
The four signals and the weights of their blend are those of the decisions 0022 and 0023 of the platform that
Ragledger comes from; whether they are worth anything here is for the votes to say.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from .model import ScoreKind

__all__ = [
    "BLEND",
    "Assessment",
    "blend",
    "citation_coverage",
    "lexical_coverage",
    "score_quality",
    "semantic_coverage",
    "words",
]

BLEND: Mapping[str, float] = {
    "score_quality": 0.30,
    "citation_coverage": 0.30,
    "semantic_coverage": 0.25,
    "lexical_coverage": 0.15,
}
"""The usual weights of `blend`."""

_NO_SCALE: frozenset[ScoreKind] = frozenset({"distance", "none"})
_WORD = re.compile(r"\w+")
# Scripts that are written without spaces: a "word" of theirs would be a whole sentence.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)


class Assessment(NamedTuple):
    """What `ledger.assess` keeps: `weights` are the numbers that went into the value, frozen beside it."""

    name: str
    value: float | None
    method: str
    weights: Mapping[str, float] | None = None


def score_quality(
    scores: Iterable[float | None], *, reference: float = 0.7, kind: ScoreKind = "similarity"
) -> Assessment:
    """How good the scores of what was found are: their mean over `reference`, at most 1.

    Args:
        reference: what a clearly relevant item scores; 0.7 is the middle of a cross-encoder's scores for passages on
            the topic. Another scorer has another one.
        kind: what the scores are. A distance has no such scale: None.

    Raises:
        ValueError: the reference is not a positive number.
    """
    if not (reference > 0 and math.isfinite(reference)):
        raise ValueError("reference must be a positive number")
    known = [float(score) for score in scores if score is not None and math.isfinite(score)]
    value = _unit(sum(known) / len(known) / reference) if known and kind not in _NO_SCALE else None
    return Assessment("score_quality", value, "mean_over_reference/1", {"reference": reference})


def citation_coverage(cited: Collection[str] | None, shown: Collection[str]) -> Assessment:
    """The share of the chunks in the prompt that the answer cites.

    Args:
        cited: ids of the cited chunks; empty when the answer cites nothing, None when its citations cannot be seen.
        shown: ids of the chunks that reached the prompt. Citations of anything else do not count.
    """
    given = set(shown)
    value = len(given.intersection(cited)) / len(given) if given and cited is not None else None
    return Assessment("citation_coverage", value, "cited_of_shown/1")


def semantic_coverage(
    query: Sequence[float] | None, contexts: Sequence[Sequence[float]], *, is_semantic: bool = True
) -> Assessment:
    """How near the mean embedding of what was found is to the query's: their cosine, from [-1, 1] to [0, 1].

    Args:
        query: the embedding of the query; None when there is none.
        contexts: the embeddings of the chunks, by the same model.
        is_semantic: False for an embedder that hashes: its cosines mean nothing.

    Raises:
        ValueError: the embeddings are not equally long.
    """
    value = None
    if query is not None and len(query) and len(contexts) and is_semantic:
        if any(len(each) != len(query) for each in contexts):
            raise ValueError("the embeddings of query and contexts must be equally long")
        mean = [sum(column) / len(contexts) for column in zip(*contexts, strict=True)]
        cosine = _cosine([float(number) for number in query], mean)
        value = _unit((cosine + 1) / 2) if cosine is not None else None
    return Assessment("semantic_coverage", value, "cosine_of_mean/1")


def words(text: str) -> set[str] | None:
    """The words of a text, case and width folded; None when it holds a script that is written without spaces."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return None if _UNSPACED.search(folded) else set(_WORD.findall(folded))


def lexical_coverage(
    query: str,
    contexts: Iterable[str],
    *,
    tokenise: Callable[[str], Collection[str] | None] = words,
    ignore: Collection[str] = (),
) -> Assessment:
    """The share of the query's words that occur in what was found.

    Args:
        tokenise: a text into its words; None when it cannot, and then the signal is unknown.
        ignore: words that say nothing, as `tokenise` gives them.
    """
    found = [tokenise(text) for text in contexts]
    asked = tokenise(query)
    value = None
    if asked is not None and found and not any(each is None for each in found):
        wanted = set(asked).difference(ignore)
        seen = {word for each in found for word in each or ()}
        value = len(wanted & seen) / len(wanted) if wanted else None
    return Assessment("lexical_coverage", value, "words_found/1")


def blend(
    signals: Iterable[Assessment], weights: Mapping[str, float] = BLEND, *, name: str = "confidence"
) -> Assessment:
    """The weighted mean of the signals that `weights` names; None when one of them is unknown.

    A mean over what happens to be known would be another number each time, so it is not taken: leave a signal that
    is never known out of `weights`.

    Raises:
        ValueError: the weights are not positive numbers, or a signal that they name was not given.
    """
    if not weights or not all(weight > 0 and math.isfinite(weight) for weight in weights.values()):
        raise ValueError("the weights of a blend must be positive numbers")
    values = {signal.name: signal.value for signal in signals}
    if missing := sorted(set(weights).difference(values)):
        raise ValueError(f"the weights name signals that were not given: {', '.join(missing)}")
    value = None
    known = {key: found for key in weights if (found := values[key]) is not None}
    if len(known) == len(weights):
        total = math.fsum(weights.values())
        value = _unit(math.fsum(weight * known[key] for key, weight in weights.items()) / total)
    return Assessment(name, value, "weighted_mean/1", dict(weights))


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))


def _cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    """None where one of them has no direction."""
    length = math.hypot(*one) * math.hypot(*other)
    if not (length > 0 and math.isfinite(length)):
        return None
    cosine = sum(a * b for a, b in zip(one, other, strict=True)) / length
    return cosine if math.isfinite(cosine) else None
