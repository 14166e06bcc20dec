"""The form of the Cranfield files, on small ones that are made up."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from golden.test_relevance import CRANFIELD

from ragledger.demo.cranfield import FILES, abstracts, golden_set, read

DOCUMENTS = """\
.I 1
.T
wings
.A
somebody,a.
.B
j. ae. scs. 25, 1958.
.W
wings .
  an experimental study of
wings .
.I 2
.T
nothing
.A
.B
.W
.I 10
.T
a title
.W
slipstreams
.W in a sentence is no mark
"""
QUERIES = ".I 001\n.W\nwhat of wings .\n.I 004\n.W\nwhat of heat\nin slabs .\n"
# The second question calls itself 004 and is question 2 of the judgments.
QRELS = "1 1 1 \n1 10 -1\n2 1 4\n2 10 3\n2 2 5\n1 2  2\n"


def test_an_abstract_is_a_passage_and_an_empty_one_is_none() -> None:
    found = {passage.chunk_id: passage.text for passage in abstracts(DOCUMENTS)}
    assert found == {
        "1": "wings . an experimental study of wings .",
        "10": "slipstreams .W in a sentence is no mark",
    }


def test_the_nth_question_is_question_n_whatever_it_calls_itself() -> None:
    golden = golden_set(QUERIES, QRELS)
    assert {question.id: question.text for question in golden.questions} == {
        "1": "what of wings .",
        "2": "what of heat in slabs .",
    }


def test_one_is_the_best_grade_and_five_and_minus_one_are_not_relevant() -> None:
    first, second = golden_set(QUERIES, QRELS).questions
    assert first.grades() == {"1": 3, "2": 2, "10": 0}
    assert second.grades() == {"1": 1, "2": 0, "10": 2}


@pytest.mark.parametrize(
    ("queries", "qrels"), [(QUERIES, "3 1 1\n"), (QUERIES, "1 1 6\n"), (".I 1\nx\n", "")]
)
def test_what_does_not_fit_is_refused(queries: str, qrels: str) -> None:
    with pytest.raises(ValueError, match=r"no such question or grade|has no text"):
        golden_set(queries, qrels)


def test_a_folder_has_three_files(tmp_path: Path) -> None:
    for name, content in zip(FILES, (DOCUMENTS, QUERIES, QRELS), strict=True):
        (tmp_path / name).write_text(content, "ascii")
    passages, golden = read(tmp_path)
    assert (len(passages), len(golden.questions)) == (2, 2)


@pytest.mark.skipif(not CRANFIELD.is_dir(), reason="the Cranfield files are not at hand")
def test_the_real_collection_has_the_counts_that_are_known() -> None:
    passages, golden = read(CRANFIELD)
    grades = Counter(each.grade for question in golden.questions for each in question.judgments)
    assert (len(passages), len(golden.questions)) == (1398, 225)
    assert grades == {3: 128, 2: 387 + 734, 1: 363, 0: 225}
