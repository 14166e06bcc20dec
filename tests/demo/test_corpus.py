from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

from ragledger.demo import corpus as corpus_module
from ragledger.demo import judgments as judgments_module
from ragledger.demo.corpus import MAX_CHARS, Passage, load_corpus, split_topics


@pytest.fixture(scope="module")
def corpus() -> list[Passage]:
    return load_corpus()


def test_the_corpus_is_the_same_every_time(corpus: list[Passage]) -> None:
    assert load_corpus() == corpus


def test_the_corpus_has_a_thousand_passages_give_or_take(corpus: list[Passage]) -> None:
    assert 900 <= len(corpus) <= 1800
    assert len({passage.document_id for passage in corpus}) >= 70


def test_chunk_ids_are_unique_and_name_topic_and_place(corpus: list[Passage]) -> None:
    assert len({passage.chunk_id for passage in corpus}) == len(corpus)
    for passage in corpus:
        assert passage.chunk_id == f"{passage.document_id}#{passage.ordinal:03d}"


def test_ordinals_count_from_zero_without_a_gap(corpus: list[Passage]) -> None:
    by_topic: dict[str, list[int]] = {}
    for passage in corpus:
        by_topic.setdefault(passage.document_id, []).append(passage.ordinal)
    for ordinals in by_topic.values():
        assert ordinals == list(range(len(ordinals)))


def test_every_passage_has_text_of_a_length_that_can_be_judged(corpus: list[Passage]) -> None:
    lengths = [len(passage.text) for passage in corpus]
    assert min(lengths) >= 60
    assert max(lengths) <= MAX_CHARS
    assert sum(300 <= length <= 900 for length in lengths) > 0.75 * len(lengths)
    assert all(passage.text.strip() for passage in corpus)


def test_no_underline_and_no_table_border_is_left(corpus: list[Passage]) -> None:
    lines = [line.strip() for passage in corpus for line in passage.text.splitlines()]
    assert not [line for line in lines if len(line) > 3 and len(set(line)) == 1 and line[0] in "*=-~^#"]
    assert not [line for line in lines if re.fullmatch(r"\+-[-+]+\+|\|=[=|]+\|", line)]


def test_a_drawing_that_is_no_table_is_left_alone() -> None:
    drawing = (
        "  + Exception Group Traceback\n  | ExceptionGroup: eg\n  +-+------- 1 -------\n    | ValueError: 1"
    )
    assert [p.text for p in split_topics({"try": drawing})] == [drawing]


def test_nothing_but_borders_and_white_space_is_lost() -> None:
    topic = "Title\n*****\n\nOne two.\n\n   three()\n\n      Four.\n\n+---+---+\n| a | b |\n+---+---+\n\nLast words.\n"
    texts = [passage.text for passage in split_topics({"topic": topic})]
    assert " ".join(" ".join(texts).split()) == "Title One two. three() Four. a | b Last words."


def test_a_heading_stays_with_what_it_heads() -> None:
    body = "A sentence that says something about it. " * 9
    topic = f"Page\n****\n\n{body}\n\n\nPart\n====\n\n{body}\n"
    assert [p.text.split("\n")[0] for p in split_topics({"page": topic})] == ["Page", "Part"]


def test_a_method_starts_a_passage_of_its_own() -> None:
    body = "   " + "It does what its name says. " * 6
    topic = f"str.first()\n\n{body}\n\nstr.second()\n\n{body}\n"
    texts = [p.text for p in split_topics({"methods": topic})]
    assert [text.split("\n")[0] for text in texts] == ["str.first()", "str.second()"]


def test_an_example_stays_with_the_sentence_that_leads_to_it() -> None:
    body = "A sentence that says something about it. " * 9
    topic = f"{body}\n\nFor example:\n\n   >>> 1 + 1\n   2\n"
    assert split_topics({"example": topic})[-1].text.endswith("For example:\n\n   >>> 1 + 1\n   2")


def test_a_wrapped_table_cell_becomes_one_line() -> None:
    table = (
        "+------+---------------+\n| Op   | Meaning       |\n|======|===============|\n"
        "| x    | the first     |\n|      | of them       |\n+------+---------------+"
    )
    assert [p.text for p in split_topics({"table": table})] == ["Op | Meaning\nx | the first of them"]


@pytest.mark.parametrize("width", [60, 5000])
def test_a_block_longer_than_a_passage_is_cut(width: int) -> None:
    row = f"| {'word ' * 12 if width == 60 else 'Many words here. ' * 300}|"
    table = "\n".join(["+---+", *([row, "+---+"] * (40 if width == 60 else 1))])
    passages = split_topics({"long": table})
    assert len(passages) > 1
    assert all(len(passage.text) <= MAX_CHARS for passage in passages)


def test_the_newer_form_of_the_topics_is_read_alike() -> None:
    """Python 3.14 writes `name: rule` in grammars, 3.13 and older `name ::= rule`; the cuts must not differ."""
    page = "Page\n****\n\nIt reads:\n\n   {}\n\nAnd means what it says.\n"
    old = split_topics({"page": page.format('stmt ::= "pass"')})
    new = split_topics({"page": page.format('stmt: "pass"')})
    assert [p.text.replace(" ::=", ":") for p in old] == [p.text for p in new]


@pytest.mark.parametrize("module", [corpus_module, judgments_module])
def test_corpus_and_judgments_need_nothing_but_the_standard_library(module: object) -> None:
    source = Path(str(vars(module)["__file__"])).read_text(encoding="utf-8")
    named: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            named.add(node.module or "")
    foreign = {name for name in named if name.split(".")[0] not in sys.stdlib_module_names}
    assert foreign <= {"ragledger.demo.corpus"}
