"""P2: weights are frozen by value and canonical; an epoch changes when the ranking does, and only then."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np
import pytest
from unit.core import World

from ragledger.weights import (
    UNKNOWN,
    UNREADABLE,
    FrozenWeights,
    Weights,
    canonical,
    canonical_json,
    declared,
    epoch_of,
    freeze,
)

HYBRID = {"vector": 0.6, "lexical": 0.4, "threshold": 0.2, "candidates_per_signal": 20}


def epoch(weights: Weights, index_version: str | None = None, embedding_model: str | None = None) -> str:
    return epoch_of(freeze(weights), index_version=index_version, embedding_model=embedding_model)


def column(frozen: FrozenWeights) -> dict[str, Any]:
    found = json.loads(frozen.json)
    assert isinstance(found, dict)
    return found


def test_p2_the_column_says_what_was_configured_what_took_effect_and_what_is_unknown():
    weights = Weights(
        configured={"mode": "rrf", "weights": [0.9, 0.1]},
        effective={"mode": "rrf"},
        source="extracted",
        unknown=("filter",),
        ranking=frozenset({"mode"}),
        extractor="x/1",
    )
    assert column(freeze(weights)) == {
        "configured": {"mode": "rrf", "weights": [0.9, 0.1]},
        "effective": {"mode": "rrf"},
        "source": "extracted",
        "unknown": ["filter"],
    }
    assert freeze(weights).extractor == "x/1"
    assert freeze(weights).readable


def test_p2_the_same_settings_have_the_same_text_whatever_their_order_and_type():
    same = [
        {"vector": 0.6, "lexical": 1},
        {"lexical": 1.0, "vector": 0.6},
        {"vector": 0.6 + 1e-12, "lexical": np.float32(1)},
        {"vector": np.float64(0.6), "lexical": np.int64(1)},
    ]
    assert len({freeze(declared(values)).json for values in same}) == 1
    assert len({epoch(declared(values)) for values in same}) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (0.1 + 0.2, 0.3),
        (0.1234567891, 0.123456789),
        (1e-12, 0),
        (-0.0, 0),
        (20.0, 20),
        (1e300, 1e300),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        (True, True),
        (None, None),
        ("rrf", "rrf"),
        (2**70, 2**70),
        ((1, [2.0, "x"]), [1, [2, "x"]]),
        ({"b": 1, "a": {2: 0.5}}, {"a": {"2": 0.5}, "b": 1}),
    ],
)
def test_canonical_values(given: Any, expected: Any):
    found = canonical(given)
    assert found == expected
    assert repr(found) == repr(expected)  # 1 and 1.0 and True are equal to Python and different in a text


def test_an_enum_is_its_value():
    class Mode(Enum):
        RRF = "rrf"

    assert canonical(Mode.RRF) == "rrf"
    assert epoch(declared({"mode": Mode.RRF})) == epoch(declared({"mode": "rrf"}))


@pytest.mark.parametrize(
    "value",
    [
        object(),
        "x" * 201,
        "nul\0",
        "\ud800",
        [[[[[[[[[["too deep"]]]]]]]]]],
        list(range(257)),
        np.array([0.6, 0.4]),
        {"x" * 201: 1},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_setting_is_refused(value: Any):
    with pytest.raises((TypeError, ValueError)):
        canonical(value)
    with pytest.raises((TypeError, ValueError)):
        canonical_json({"it": value})


class Raising(Mapping[str, Any]):
    """A mapping that raises whatever it is asked."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError("item")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        raise RuntimeError("length")


class Unfloatable:
    def __float__(self) -> float:
        raise RuntimeError("no number")


def _cyclic() -> dict[str, Any]:
    found: dict[str, Any] = {"vector": 0.6}
    found["self"] = found
    return found


@pytest.mark.parametrize(
    "unreadable",
    [object(), Unfloatable(), "x" * 1000, Raising(), _cyclic(), {1: object()}, 2**70 * 0.5j],
    ids=["object", "raises", "long", "mapping", "cycle", "nested", "complex"],
)
def test_p2_a_field_that_cannot_be_read_is_named_as_unknown_and_the_others_stay(unreadable: Any):
    frozen = freeze(declared({"vector": 0.6, "weird": unreadable}))
    assert not frozen.readable
    assert column(frozen) == {
        "configured": {"vector": 0.6},
        "effective": {"vector": 0.6},
        "source": "declared",
        "unknown": ["weird"],
    }
    assert epoch(declared({"vector": 0.6, "weird": unreadable})) != epoch(declared({"vector": 0.7}))


@pytest.mark.parametrize(
    "weights",
    [
        Weights(configured=Raising(), effective=Raising(), source="extracted", extractor="x/1"),
        Weights(configured=[1], effective=3, source="extracted", extractor="x/1"),  # type: ignore[arg-type]
        Weights(configured={"x" * 300: 1}, source="declared", extractor="x/1"),
        Weights(effective={str(n): n for n in range(300)}, source="declared", extractor="x/1"),
    ],
)
def test_p2_weights_of_which_nothing_can_be_read_are_unknown_and_not_empty(weights: Weights):
    frozen = freeze(weights)
    assert not frozen.readable
    assert column(frozen) == {"configured": {}, "effective": {}, "source": "unknown", "unknown": ["all"]}
    assert frozen.extractor == "x/1"


def test_weights_that_nobody_knows_are_readable_and_an_epoch_of_their_own():
    assert freeze(UNKNOWN).readable
    assert not freeze(UNREADABLE).readable
    assert freeze(None).json == freeze(UNREADABLE).json  # type: ignore[arg-type]
    assert epoch(UNKNOWN) != epoch(Weights(source="extracted"))


def test_p2_an_extractor_that_learns_a_new_field_changes_no_epoch():
    before = Weights(
        configured={"vector": 0.6},
        effective={"vector": 0.6},
        source="extracted",
        ranking=frozenset({"vector", "threshold"}),
        extractor="x/1",
    )
    learnt = Weights(
        configured={"vector": 0.6, "colour": "blue"},
        effective={"vector": 0.6, "colour": "blue"},
        source="extracted",
        unknown=("filter",),
        ranking=frozenset({"vector", "threshold"}),
        extractor="x/2",
    )
    assert freeze(before).json != freeze(learnt).json
    assert epoch(before) == epoch(learnt)


def test_p2_a_ranking_parameter_a_new_index_and_a_new_model_each_change_the_epoch():
    base = declared(HYBRID)
    epochs = {
        epoch(base),
        epoch(declared(HYBRID | {"threshold": 0.25})),
        epoch(declared(HYBRID | {"reranker": "cross"})),
        epoch(base, index_version="7"),
        epoch(base, embedding_model="7"),
        epoch(base, index_version="7", embedding_model="7"),
    }
    assert len(epochs) == 6
    assert epoch(base, index_version="7") == epoch(base, index_version="7")


@pytest.mark.parametrize("name", ["top_k", "k", "limit", "similarity_top_k"])
def test_p2_the_number_of_results_changes_no_epoch(name: str):
    assert (
        epoch(declared(HYBRID)) == epoch(declared(HYBRID | {name: 3})) == epoch(declared(HYBRID | {name: 9}))
    )


def test_weights_named_by_number_are_part_of_the_epoch():
    assert epoch(declared({0: 0.5, 1: 0.5})) != epoch(declared({0: 0.9, 1: 0.1}))  # type: ignore[dict-item]


def test_an_epoch_name_is_stable_over_processes_and_releases():
    """Equal settings must stay one epoch in the table: a change of these names is a decision, not an accident."""
    assert epoch(declared(HYBRID), "v1", "m1") == "41a8b39a3d61928c"
    assert epoch(UNKNOWN) == "fbab084fdc3bc544"


def test_p2_freezing_copies_by_value():
    values: dict[str, Any] = {"vector": 0.6, "members": [{"weight": 1}], "nested": {"a": 1}}
    frozen = freeze(declared(values))
    name = epoch(declared(values))
    values["vector"] = 0.9
    values["members"][0]["weight"] = 2
    values["nested"]["b"] = 3
    assert column(frozen)["effective"] == {"vector": 0.6, "members": [{"weight": 1}], "nested": {"a": 1}}
    assert epoch_of(frozen, index_version=None, embedding_model=None) == name
    assert epoch(declared(values)) != name


def test_many_different_weights_do_not_grow_the_memory_without_end():
    from ragledger import weights

    for number in range(3000):
        epoch(declared({"boost": number}))
        freeze(declared({"boost": number, "no setting": "x" * 5000}))
    assert len(weights._frozen) <= 1024
    assert max(map(len, weights._frozen)) < 5000
    assert len(weights._epochs) <= 1024


@pytest.mark.parametrize("when", ["while it runs", "before it closes"])
def test_p2_the_row_has_the_weights_of_the_moment_the_search_began(world: World, when: str):
    values: dict[str, Any] = {"fusion": {"vector": 0.6, "lexical": 0.4}}
    with world.ledger.search(weights=values) as search:
        if when == "while it runs":
            values["fusion"]["vector"] = 0.9
        search.declare(index_version="v2")
        values["fusion"]["lexical"] = 0.1
    assert json.loads(world.sink.row.weights)["effective"] == {"fusion": {"vector": 0.6, "lexical": 0.4}}
    expected = declared({"fusion": {"vector": 0.6, "lexical": 0.4}})
    assert world.sink.row.epoch == epoch(expected, index_version="v2")


def test_p2_weights_declared_by_the_retriever_win_and_are_copied_too(world: World):
    inside: dict[str, Any] = {"members": [1, 2]}
    with world.ledger.search(weights={"vector": 1.0}, top_k=5) as search:
        search.declare(weights=inside, top_k=7, embedding_model="m")
        inside["members"].append(3)
    row = world.sink.row
    assert json.loads(row.weights)["configured"] == {"members": [1, 2]}
    assert (row.top_k, row.embedding_model, row.extractor_version) == (7, "m", "declared/1")


def test_a_per_call_top_k_is_a_column_and_changes_no_epoch(world: World):
    for top_k in (3, 9):
        with world.ledger.search(weights=HYBRID | {"top_k": top_k}, top_k=top_k):
            pass
    first, second = world.sink.searches
    assert (first.top_k, second.top_k) == (3, 9)
    assert first.epoch == second.epoch


def test_a_row_whose_weights_cannot_be_read_says_so(world: World):
    with world.ledger.search(weights={"vector": 0.6, "scorer": object()}):
        pass
    row = world.sink.row
    assert row.flags == ("weights_unreadable",)
    assert json.loads(row.weights)["unknown"] == ["scorer"]
