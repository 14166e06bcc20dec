"""What is read of a postprocessor: numbers, and of LlamaIndex's own classes one word of which nothing can be told."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from ragledger.weights import UNREADABLE, Weights
from ragledger_llama_index.postprocessors import reranker_facts, with_postprocessors

READ = Weights(source="extracted", configured={"a": 1}, effective={"a": 1}, ranking=frozenset({"a"}))


class Mode(Enum):
    TOKENS = "tokens"


def made(module: str = "llama_index.core.postprocessor", **fields: Any) -> Any:
    return type("Some", (), {"__module__": module, **fields})()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("model", "bge-reranker-v2", "bge-reranker-v2"),
        ("model", "BAAI/bge-reranker", "BAAI/bge-reranker"),
        ("model", "/home/ana/ACME/bge", "bge"),
        ("model", "./models/bge/", "bge"),
        ("model_name", "C:\\Users\\ana\\bge", "bge"),
        ("model_name", "the model of ana", None),
        ("model", object(), None),
        ("mode", Mode.TOKENS, "tokens"),
        ("mode", "tokens", "tokens"),
        ("mode", "only for ana", None),
        ("mode", "a/b", None),
    ],
)
def test_a_word_is_one_identifier_or_unknown(name: str, value: Any, said: str | None) -> None:
    found = with_postprocessors(READ, [made(**{name: value})])
    assert found.effective["postprocessors"] == [
        {"postprocessor": "Some"} | ({name: said} if said is not None else {})
    ]
    assert found.unknown == (() if said is not None else ("postprocessors",))
    if name != "mode":
        assert reranker_facts(made(**{name: value})).model_name == said


def test_of_a_class_of_the_application_no_word_is_read() -> None:
    own = made("acme.rerank", model="SECRET", mode="SECRET", top_n=3)
    found = with_postprocessors(READ, [own])
    assert found.configured["postprocessors"] == [{"postprocessor": "Some", "top_n": 3}]
    assert found.unknown == ("postprocessors",)
    assert reranker_facts(own) == (None, 3)


def test_what_cuts_sentences_is_configured_and_not_effective() -> None:
    cut = {"percentile_cutoff": 0.5, "threshold_cutoff": 0.1, "context_before": 1, "context_after": 2}
    found = with_postprocessors(READ, [made(**cut, top_n=3)])
    assert found.configured["postprocessors"] == [{"postprocessor": "Some", "top_n": 3, **cut}]
    assert found.effective["postprocessors"] == [{"postprocessor": "Some", "top_n": 3}]


def test_a_property_that_raises_costs_the_postprocessors_alone() -> None:
    def fail(_: Any) -> Any:
        raise LookupError

    found = with_postprocessors(READ, [made(top_k=property(fail), top_n=3)])
    assert (found.effective["a"], found.unknown, found.source) == (1, ("postprocessors",), "extracted")
    assert found.effective["postprocessors"] == [{"postprocessor": "Some", "top_n": 3}]


def test_of_a_retriever_that_is_not_known_it_is_said_that_it_is_not() -> None:
    assert with_postprocessors(Weights(), [made(top_n=3)]).unknown == ("retriever",)
    assert with_postprocessors(UNREADABLE, [made(top_n=3)]).unknown == ("all",)
