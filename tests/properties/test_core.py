"""Whatever a retriever hands over, the rows fit their columns, nothing is invented, and nothing raises."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ragledger import Candidate, sanitise
from ragledger.composition import Caps, compose
from ragledger.weights import Weights, canonical, declared, epoch_of, freeze

wild_text = st.text(max_size=8) | st.sampled_from(["", "\0", "\ud800", "x" * 600, "x" * 601])
wild_number = st.none() | st.floats() | st.integers() | st.sampled_from([10**400, True, "0.5", "high"])
ids = st.none() | st.sampled_from(["a", "b", "c", "a\0"]) | wild_text | st.integers(0, 3)
candidates = st.builds(
    Candidate,
    ids,
    st.none() | wild_text,
    score=wild_number,
    vector=wild_number,
    lexical=wild_number,
    signals=st.none() | st.dictionaries(wild_text, wild_number, max_size=2),
    admitted=st.booleans(),
    source_kind=st.none() | wild_text,
    score_kind=st.none() | st.sampled_from(["distance", "fused", "none", "odd"]),
    score_source=st.none() | wild_text,
    chunk_id_source=st.none() | st.sampled_from(["derived", "odd"]),
)
lists = st.lists(candidates, max_size=8)


def fits(text: str) -> None:
    text.encode("utf-8")
    assert "\0" not in text
    assert len(text) <= 512


def stored(chunk_id: Any) -> str | None:
    return sanitise.text(chunk_id, set()) or None


@given(scored=lists, returned=st.none() | lists, caps=st.builds(Caps, st.integers(1, 6), st.integers(1, 6)))
@settings(max_examples=400)
def test_p2_p8_hit_rows_are_true_and_fit(scored: Any, returned: Any, caps: Caps):
    flags: set[str] = set()
    found = compose(scored, returned, flags, caps)

    chosen = returned if returned is not None else [item for item in scored if item.admitted]
    first_rank: dict[str, int] = {}
    for rank, item in enumerate(chosen, start=1):
        if (key := stored(item.chunk_id)) is not None:
            first_rank.setdefault(key, rank)
    nameless = [rank for rank, item in enumerate(chosen, start=1) if stored(item.chunk_id) is None]
    admitted_ranks = sorted([*first_rank.values(), *nameless])
    others = [stored(item.chunk_id) for item in scored if returned is not None or not item.admitted]
    unadmitted = {key for key in others if key is not None} - set(first_rank)
    unadmitted_count = len(unadmitted) + others.count(None)

    assert (found.admitted_count, found.candidate_count) == (
        len(admitted_ranks),
        len(admitted_ranks) + unadmitted_count,
    )
    admitted = [hit for hit in found.hits if hit.admitted]
    assert [hit.rank for hit in admitted] == admitted_ranks[: caps.admitted]
    assert all(first_rank[hit.chunk_id] == hit.rank for hit in admitted if hit.chunk_id is not None)
    rest = [hit for hit in found.hits if not hit.admitted]
    assert [hit.rank for hit in rest] == list(range(len(chosen) + 1, len(chosen) + 1 + len(rest)))
    assert len(rest) == min(unadmitted_count, max(0, caps.candidates - len(admitted_ranks)))
    assert ("hits_capped" in flags) == (len(found.hits) < found.candidate_count)
    names = [hit.chunk_id for hit in found.hits if hit.chunk_id is not None]
    assert len(names) == len(set(names))
    for name in names:
        fits(name)
    given_scores = [sanitise.number(item.score, set()) for item in [*scored, *(returned or ())]]
    assert found.top_admitted_score is None or found.top_admitted_score in given_scores
    for signal in (found.signals or {}).values():
        assert signal.complete == (signal.count == found.candidate_count)
        assert (signal.min is None) == (signal.max is None) == (signal.count == 0)


settings_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
settings_maps = st.dictionaries(st.sampled_from(["vector", "lexical", "mode", "top_k", "x"]), settings_values)


@given(settings_maps)
def test_p2_canonical_is_its_own_canonical_form(values: dict[str, Any]):
    try:
        once = canonical(values)
    except (TypeError, ValueError):
        return
    assert repr(canonical(once)) == repr(once)
    assert repr(canonical(json.loads(json.dumps(once)))) == repr(once)


@given(settings_maps, st.randoms())
def test_p2_order_makes_no_difference(values: dict[str, Any], chance: Any):
    names = list(values)
    chance.shuffle(names)
    shuffled = {name: values[name] for name in names}
    assert freeze(declared(values)) == freeze(declared(shuffled))


@given(
    st.one_of(
        settings_maps,
        st.dictionaries(st.text() | st.integers(), settings_values | st.binary() | st.sets(st.integers())),
        st.lists(st.integers()),
        st.text(),
        st.none(),
    ),
    st.frozensets(st.text(max_size=5), max_size=3),
)
def test_p2_freezing_never_raises_and_always_gives_text_for_the_column(values: Any, ranking: frozenset[str]):
    frozen = freeze(Weights(configured=values, effective=values, source="declared", ranking=ranking))
    column = json.loads(frozen.json)
    assert set(column) == {"configured", "effective", "source", "unknown"}
    assert isinstance(column["effective"], dict)
    assert frozen.json.encode()
    assert "\\u0000" not in frozen.json.replace("\\\\", "")
    assert frozen.readable == (column["unknown"] == [])
    assert len(epoch_of(frozen, index_version=None, embedding_model=None)) == 16


@given(settings_maps)
def test_p2_a_frozen_copy_does_not_change_when_the_original_does(values: dict[str, Any]):
    frozen = freeze(declared(values))
    text = frozen.json
    for name in list(values):
        if isinstance(values[name], (list, dict)):
            values[name].clear()
        else:
            values[name] = "changed"
    values["more"] = 1
    assert frozen.json == text
    assert freeze(declared(values)).json != text


@given(st.text() | st.integers() | st.floats() | st.binary() | st.none())
def test_texts_always_fit_and_stay_apart(value: Any):
    flags: set[str] = set()
    found = sanitise.text(value, flags)
    if value is None:
        assert found is None
        return
    assert found is not None
    fits(found)
    assert flags or found == str(value)
    assert sanitise.text(found, set()) == found
