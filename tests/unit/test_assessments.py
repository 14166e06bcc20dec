"""Quality without a vote: right values, and unknown instead of zero."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragledger.assessments import (
    BLEND,
    Assessment,
    blend,
    citation_coverage,
    lexical_coverage,
    score_quality,
    semantic_coverage,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("scores", "options", "value"),
    [
        ([0.35], {}, 0.5),
        ([0.7, 0.0], {}, 0.5),
        ([9.0, 9.0], {}, 1.0),
        ([1e308, 1e308], {}, 1.0),
        ([-0.4], {}, 0.0),
        ([0.5, None, NAN, INF], {"reference": 1.0}, 0.5),
        ([], {}, None),
        ([None, NAN], {}, None),
        ([0.2], {"kind": "distance"}, None),
        ([0.2], {"kind": "none"}, None),
        ([0.2], {"kind": "rerank", "reference": 0.4}, 0.5),
    ],
)
def test_p8_score_quality(scores: Any, options: Any, value: float | None) -> None:
    found = score_quality(scores, **options)
    assert found.value == (pytest.approx(value) if value is not None else None)
    assert found.weights == {"reference": options.get("reference", 0.7)}


@pytest.mark.parametrize("reference", [0, -1, NAN, INF])
def test_a_reference_is_a_positive_number(reference: float) -> None:
    with pytest.raises(ValueError, match="reference must be a positive number"):
        score_quality([0.5], reference=reference)


@pytest.mark.parametrize(
    ("cited", "shown", "value"),
    [
        (["a"], ["a", "b"], 0.5),
        (["a", "a", "x"], ["a", "b"], 0.5),
        ([], ["a"], 0.0),  # it was looked at, and nothing was cited
        (None, ["a"], None),
        (["a"], [], None),
    ],
)
def test_p8_citation_coverage(cited: Any, shown: Any, value: float | None) -> None:
    assert citation_coverage(cited, shown).value == value


@pytest.mark.parametrize(
    ("query", "contexts", "value"),
    [
        ([1, 0], [[2, 0], [4, 0]], 1.0),
        ([1, 0], [[0, 3]], 0.5),
        ([1, 0], [[-1, 0]], 0.0),
        ([1, 0], [], None),
        (None, [[1, 0]], None),
        ([], [[]], None),
        ([0, 0], [[1, 0]], None),
        ([1, 0], [[1, 0], [-1, 0]], None),  # the mean has no direction
        ([NAN, 0], [[1, 0]], None),
        ([1e308, 1e308], [[1e308, 1e308]], None),
        ([1, 0], [[1e308, 0], [1e308, 0]], None),
        ([1, 0], [[INF, 0], [-INF, 0]], None),
    ],
)
def test_p8_semantic_coverage(query: Any, contexts: Any, value: float | None) -> None:
    found = semantic_coverage(query, contexts).value
    assert found == (pytest.approx(value) if value is not None else None)


def test_p8_a_hashing_embedder_has_no_semantic_coverage() -> None:
    assert semantic_coverage([1, 0], [[1, 0]], is_semantic=False).value is None


def test_embeddings_of_two_models_are_refused() -> None:
    with pytest.raises(ValueError, match="equally long"):
        semantic_coverage([1, 0], [[1, 0, 0]])


@pytest.mark.parametrize(
    ("query", "contexts", "options", "value"),
    [
        ("How long do refunds take?", ["Refunds take five days"], {}, 0.4),
        ("refund refund", ["a REFUND"], {}, 1.0),
        ("how long", ["nothing of it"], {"ignore": {"how"}}, 0.0),
        ("the", ["x"], {"ignore": {"the"}}, None),
        ("?!", ["x"], {}, None),
        ("refund", [], {}, None),
        ("refund", [""], {}, 0.0),
        ("返金はいつですか", ["返金"], {}, None),
        ("refund", ["返金 refund"], {}, None),
        ("返金", ["返金は"], {"tokenise": list}, 1.0),
        ("Straße", ["STRASSE"], {}, 1.0),
    ],
)
def test_p8_lexical_coverage(query: str, contexts: list[str], options: Any, value: float | None) -> None:
    assert lexical_coverage(query, contexts, **options).value == value


def _signals(**values: float | None) -> list[Assessment]:
    return [Assessment(name, value, "test") for name, value in values.items()]


def test_the_blend_is_the_weighted_mean_and_says_its_weights() -> None:
    signals = _signals(score_quality=1.0, citation_coverage=0.5, semantic_coverage=0.8, lexical_coverage=0.2)
    found = blend(signals)
    assert found == ("confidence", pytest.approx(0.30 + 0.15 + 0.2 + 0.03), "weighted_mean/1", dict(BLEND))
    # Weights need not sum to one, and what they do not name counts for nothing.
    assert blend(signals, {"score_quality": 3, "citation_coverage": 1}).value == pytest.approx(3.5 / 4)


def test_p8_a_blend_with_an_unknown_signal_is_unknown() -> None:
    signals = _signals(score_quality=1.0, semantic_coverage=None)
    assert blend(signals, {"score_quality": 1, "semantic_coverage": 1}).value is None
    assert blend(signals, {"score_quality": 1}).value == 1.0


@pytest.mark.parametrize("weights", [{}, {"a": 0.0}, {"a": -1.0}, {"a": NAN}, {"a": INF}])
def test_weights_of_a_blend_are_positive_numbers(weights: Any) -> None:
    with pytest.raises(ValueError, match="must be positive numbers"):
        blend(_signals(a=1.0), weights)


def test_a_signal_that_the_weights_name_has_to_be_given() -> None:
    with pytest.raises(ValueError, match="not given: b, c"):
        blend(_signals(a=1.0), {"a": 1, "c": 1, "b": 1})


numbers = st.none() | st.floats()
vectors = st.lists(st.floats(), min_size=3, max_size=3)


@given(scores=st.lists(numbers), cited=st.lists(st.text(max_size=2)), shown=st.lists(st.text(max_size=2)))
def test_p8_every_value_is_from_0_to_1_or_unknown(
    scores: list[float | None], cited: list[str], shown: list[str]
) -> None:
    for found in (
        score_quality(scores),
        citation_coverage(cited, shown),
        lexical_coverage(" ".join(cited), shown),
    ):
        assert found.value is None or 0 <= found.value <= 1


@given(query=vectors, contexts=st.lists(vectors, max_size=3))
def test_p8_whatever_the_embeddings_hold_the_coverage_is_a_number_or_unknown(
    query: list[float], contexts: list[list[float]]
) -> None:
    found = semantic_coverage(query, contexts).value
    assert found is None or (0 <= found <= 1 and math.isfinite(found))
