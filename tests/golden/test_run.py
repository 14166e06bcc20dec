"""A golden set is asked of a retriever of any framework; what it records is marked, and what it hears is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from llama_index.core.base.base_retriever import BaseRetriever as NodeRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

import ragledger
from ragledger import Candidate
from ragledger.analyses.retrievers import IdReader, retriever_named, retrieving
from ragledger.asking import Asked, ask, ask_all, report_of, vote
from ragledger.errors import UnusableJudgments
from ragledger.measures.golden_set import GoldenSet, content_hash
from ragledger.privacy import Privacy
from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler

FOUND = {"refund?": ["a", "x", "b"], "postage?": ["y", "c"], "nothing?": []}
MakeSet = Callable[..., GoldenSet]


@pytest.fixture
def golden(make_set: MakeSet) -> GoldenSet:
    return make_set(refund={"a": 3, "b": 0}, postage={"c": 2}, nothing={"d": 3})


@pytest.fixture
def ledger() -> Iterator[MemoryLedger]:
    with memory_ledger() as opened:
        yield opened


class Documents(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [
            Document(id=each, page_content=each, metadata={"document_id": f"doc-{each}"})
            for each in FOUND[query]
        ]


class Nodes(NodeRetriever):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=each,
                    text=each,
                    relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc-{each}")},
                ),
                score=1.0,
            )
            for each in FOUND[query_bundle.query_str]
        ]


def pairs(query: str) -> list[tuple[str, float]]:
    return [(each, 0.5) for each in FOUND[query]]


def ids(query: str) -> Iterator[str]:
    yield from FOUND[query]


RETRIEVERS = {"langchain": Documents(), "llama_index": Nodes(), "pairs": pairs, "generator": ids}


def found(asked: Asked) -> dict[str, list[str | None]]:
    return {answer.question.text: list(answer.ids) for answer in asked.answers}


@pytest.mark.parametrize("retriever", RETRIEVERS.values(), ids=RETRIEVERS)
def test_every_kind_of_retriever_is_asked_every_question(retriever: object, golden: GoldenSet) -> None:
    ticks: list[int] = []
    asked = ask_all(golden, retriever, tick=ticks.append)
    assert found(asked) == FOUND
    assert ticks == [1, 1, 1]
    assert asked.embedding_models == set()
    assert [answer.vector_available for answer in asked.answers] == [None] * 3


@pytest.mark.parametrize("retriever", [Documents(), Nodes()], ids=["langchain", "llama_index"])
def test_a_set_of_documents_is_answered_by_documents(retriever: Any) -> None:
    read = IdReader("document", document_id_keys=("document_id",)).read
    assert read(retrieving(retriever)("refund?")) == ["doc-a", "doc-x", "doc-b"]


def test_ids_are_read_as_the_adapters_read_them() -> None:
    metadata = {"key": "own", "document_id": 7}
    document = SimpleNamespace(id="framework", metadata=metadata)
    assert IdReader("chunk").read([document, document]) == ["framework"]
    assert IdReader("chunk", "key").read([document]) == ["own"]
    assert IdReader("document", None, ("other", "document_id")).read([document]) == ["7"]
    mixed = [
        UUID(int=1),
        5,
        ("x", 0.1),
        {"chunk_id": "y"},
        {"id": "z"},
        SimpleNamespace(id=None),
        None,
        True,
        "",
    ]
    assert IdReader("chunk").read(mixed) == [str(UUID(int=1)), "5", "x", "y", "z", None, None, None, None]


# --- what is recorded --------------------------------------------------------------------------------------


def test_searches_that_are_recorded_are_marked(ledger: MemoryLedger, golden: GoldenSet) -> None:
    asked = ask_all(golden, observe(Documents(), ledger))
    assert [
        (row.surface, row.actor_kind, row.actor_id, row.corpus, row.depth) for row in ledger.searches
    ] == [("golden", "system", "golden", "handbook", 0)] * 3
    assert [receipt.search_id for answer in asked.answers for _, receipt in answer.recorded] == [
        row.search_id for row in ledger.searches
    ]


def test_p10_a_llama_index_retriever_is_recorded_once_a_question(
    ledger: MemoryLedger, golden: GoldenSet
) -> None:
    retriever = Nodes()
    retriever.callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])
    ask_all(golden, retriever)
    assert [(row.surface, row.depth) for row in ledger.searches] == [("golden", 0)] * 3


def test_suppressed_nothing_is_recorded(ledger: MemoryLedger, golden: GoldenSet) -> None:
    asked = ask_all(golden, observe(Documents(), ledger), record=False)
    assert found(asked) == FOUND
    assert ledger.searches == []
    assert [answer.recorded for answer in asked.answers] == [()] * 3


def test_what_is_judged_becomes_votes_of_a_judge_on_the_searches_that_were_made(
    ledger: MemoryLedger, golden: GoldenSet
) -> None:
    counts = vote(golden, ask_all(golden, observe(Documents(), ledger)))
    assert (counts.votes, counts.not_recorded, counts.several) == (3, 0, 0)
    assert [(each.rank, each.outcome, each.actor_kind, each.actor_id) for each in ledger.votes] == [
        (1, "highly_relevant", "judge", "set"),
        (3, "not_relevant", "judge", "set"),
        (2, "relevant", "judge", "set"),
    ]
    assert {each.search_id for each in ledger.votes} == {row.search_id for row in ledger.searches[:2]}


def test_there_is_nothing_to_vote_on_where_nothing_or_more_than_one_search_was_recorded(
    ledger: MemoryLedger, golden: GoldenSet, make_set: MakeSet
) -> None:
    assert vote(golden, ask_all(golden, pairs)).not_recorded == 3
    observed = observe(Documents(), ledger)
    twice = vote(golden, ask_all(golden, lambda query: [*observed.invoke(query), *observed.invoke(query)]))
    assert (twice.votes, twice.several) == (0, 3)
    documents = GoldenSet(name="s", unit="document", questions=make_set(q={"a": 1}).questions)
    with pytest.raises(UnusableJudgments, match="a vote is on a chunk"):
        vote(documents, Asked())


def test_inside_of_suppress_nothing_is_recorded_either(ledger: MemoryLedger, golden: GoldenSet) -> None:
    with ragledger.suppress(), ragledger.capture() as receipts:
        assert found(ask_all(golden, observe(Documents(), ledger))) == FOUND
    assert (ledger.searches, receipts) == ([], [])


# --- what is heard of the embedding provider ---------------------------------------------------------------


class ProviderDown(Exception):
    pass


class Embedder:
    def embed_query(self, text: str) -> list[float]:
        raise ProviderDown


def declared(query: str) -> list[str]:
    ragledger.current().declare(embedding_model="model-1")
    ragledger.current().candidates(Candidate("a", vector=0.5))
    return ["a"]


def degraded(query: str) -> list[str]:
    ragledger.current().degrade("embedding_unavailable", vector_available=False)
    return ["a"]


def failing(query: str) -> list[str]:
    Embedder().embed_query(query)
    return []


def broken(query: str) -> list[str]:
    if query == "refund?":
        raise KeyError("text that must not be told")
    return ["c"]


def test_own_code_says_its_model_without_any_ledger(golden: GoldenSet) -> None:
    assert ask_all(golden, declared).embedding_models == {"model-1"}
    assert not ragledger.current()


@pytest.mark.parametrize("retrieve", [degraded, failing])
def test_a_provider_that_is_down_is_heard_of(retrieve: Any, golden: GoldenSet) -> None:
    assert len(ask_all(golden, retrieve).unavailable) == 3


def test_it_is_heard_of_through_an_observed_retriever_and_its_own_ledger(
    ledger: MemoryLedger, golden: GoldenSet
) -> None:
    class Degraded(Documents):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            with ragledger.context(embedding_model="model-2"):
                ragledger.current().declare(embedding_model="model-2")
            degraded(query)
            return super()._get_relevant_documents(query, run_manager=run_manager)

    asked = ask_all(golden, observe(Degraded(), ledger))
    assert (len(asked.unavailable), asked.embedding_models) == (3, {"model-2"})
    assert [row.vector_available for row in ledger.searches] == [False] * 3


def test_an_exit_is_a_failure_of_the_question_and_an_interrupt_is_one_of_ours(golden: GoldenSet) -> None:
    class Skipped(BaseException):
        """As that of pytest."""

    def leaving(query: str) -> list[str]:
        raise {"refund?": SystemExit(0), "postage?": Skipped()}.get(query, GeneratorExit())

    def interrupted(query: str) -> list[str]:
        raise KeyboardInterrupt

    asked = ask_all(golden, leaving)
    assert [answer.question.id for answer in asked.broken] == ["refund", "postage", "nothing"]
    assert asked.answers[0].error == "SystemExit"
    with pytest.raises(KeyboardInterrupt):
        ask_all(golden, interrupted)


def test_what_a_question_raises_costs_that_question_alone(golden: GoldenSet) -> None:
    asked = ask(golden, broken, IdReader("chunk"))
    assert [answer.error for answer in asked.answers] == ["KeyError", None, None]
    report = report_of(golden, "", asked)
    assert (report.failed, report.asked, report.measures["P@1"].n) == ({"KeyError": 1}, 3, 2)
    assert report.useful_in_first[1].of == 2
    assert "text that must not be told" not in repr(report)


# --- the report --------------------------------------------------------------------------------------------


def test_the_report_has_the_numbers_with_what_they_rest_on(golden: GoldenSet) -> None:
    report = report_of(golden, content_hash(golden), ask_all(golden, pairs))
    assert report.golden.cases == 3
    assert [(each.id, each.returned, each.first_useful) for each in report.questions] == [
        ("refund", 3, 1),
        ("postage", 2, 2),
        ("nothing", 0, None),
    ]
    assert report.measures["RR"].value == pytest.approx(0.5)
    assert (report.measures["Judged@10"].value, report.measures["Judged@10"].n) == (
        pytest.approx((2 / 3 + 1 / 2) / 2),
        2,
    )
    assert (report.empty, report.without_id, report.failed) == (1, 0, {})
    counts = report.useful_in_first
    assert (report.measures["P@1"].low, report.measures["P@1"].high) == (counts[1].low, counts[1].high)
    assert [(counts[k].n, counts[k].of) for k in (1, 3, 5, 10)] == [(1, 3), (2, 3), (2, 3), (2, 3)]


def test_an_item_without_an_id_keeps_its_place_and_is_counted(golden: GoldenSet) -> None:
    report = report_of(golden, "", ask_all(golden, lambda query: [None, *FOUND[query]]))
    assert (report.without_id, report.questions[0].first_useful) == (3, 2)
    with pytest.raises(UnusableJudgments, match="nothing of what came back has an id"):
        ask_all(golden, lambda query: [None])


def test_keyed_ids_of_a_set_meet_keyed_ids_of_what_comes_back(
    make_set: MakeSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "a key that keys ids in the table"
    monkeypatch.setenv("RAGLEDGER_KEY", key)
    keyed = Privacy("keyed", key.encode()).kept("a")
    report = report_of(golden := make_set(refund={keyed or "": 2}), "", ask_all(golden, pairs))
    assert report.questions[0].first_useful == 1


# --- naming a retriever ------------------------------------------------------------------------------------


def test_a_retriever_is_named_by_module_and_attribute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "golden_app.py").write_text(
        "class Shop:\n    def __init__(self):\n        self.find = lambda query: ['a']\n"
        "shop = Shop()\ndef make():\n    return lambda query: ['b']\n",
        "utf-8",
    )
    assert retrieving(retriever_named("golden_app:shop.find", tmp_path))("x") == ["a"]
    assert retrieving(retriever_named("golden_app:make()", tmp_path))("x") == ["b"]
    for reference, why in {
        "golden_app": "named `module:attribute`",
        "golden_nowhere:x": "there is no module golden_nowhere",
        "golden_app:nothing": "AttributeError",
        "golden_app:Shop().missing": "AttributeError",
    }.items():
        with pytest.raises(UnusableJudgments, match=why):
            retriever_named(reference, tmp_path)
    (tmp_path / "golden_exits.py").write_text("import sys\nsys.exit(0)\n", "utf-8")
    with pytest.raises(UnusableJudgments, match=r"golden_exits:x cannot be had \(SystemExit\)"):
        retriever_named("golden_exits:x", tmp_path)
    with pytest.raises(UnusableJudgments, match="a int is no retriever"):
        retrieving(7)


APP = "FOUND = {'refund?': ['a'], 'postage?': ['x', 'c'], 'nothing?': ['z']}\nretrieve = FOUND.__getitem__\n"


def test_golden_run_from_the_command_line(cli: Callable[..., Any], golden_file: Path, tmp_path: Path) -> None:
    (tmp_path / "golden_cli_app.py").write_text(APP, "utf-8")
    run = ("golden", "run", golden_file, "--retriever", "golden_cli_app:retrieve")
    ran = cli(*run, "--out", "report.json")
    assert ran.code == 0
    assert "2 of 2" in ran.out
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["measures"]["RR"] == {"value": 0.75, "n": 2, "low": None, "high": None}
    assert json.loads(cli(*run, "--json").out) == report
    assert "3 questions were not recorded" in cli(*run, "--vote").err
    assert cli(*run, "--vote", "--no-record").code == 2
    (tmp_path / "golden_cli_broken.py").write_text(
        "def retrieve(query):\n    raise KeyError(query)\n", "utf-8"
    )
    ran = cli("golden", "run", golden_file, "--retriever", "golden_cli_broken:retrieve")
    assert (ran.code, "3 KeyError" in ran.out, "refund?" in ran.out + ran.err) == (1, True, False)


def test_what_cannot_be_run_is_exit_2_with_one_line(
    cli: Callable[..., Any], golden_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "golden_cli_fine.py").write_text(APP, "utf-8")
    run = ("golden", "run", golden_file, "--retriever", "golden_cli_fine:retrieve")
    refused = cli(*run, "--out", tmp_path)
    assert (refused.code, refused.err) == (
        2,
        f"ragledger: {tmp_path} cannot be written (IsADirectoryError)\n",
    )
    assert cli("golden", "run", golden_file, "--retriever", "golden_cli_nowhere:x").code == 2
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    missing = cli(*run)
    assert (missing.code, "pip install 'ragledger[analysis]'" in missing.err) == (2, True)
