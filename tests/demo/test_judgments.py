from __future__ import annotations

import re
from collections import Counter

import pytest

from ragledger.demo.corpus import Passage, load_corpus
from ragledger.demo.judgments import Question, Rule, grade, load_questions, outcome, relevant_passages

QUESTIONS = load_questions()
ANSWERABLE = [question for question in QUESTIONS if question.answerable]
UNANSWERABLE = [question for question in QUESTIONS if not question.answerable]


@pytest.fixture(scope="module")
def corpus() -> list[Passage]:
    return load_corpus()


def passage(text: str, topic: str = "page") -> Passage:
    return Passage(chunk_id=f"{topic}#000", document_id=topic, ordinal=0, text=text)


def question(*rules: Rule) -> Question:
    return Question(id="q000", text="Why?", kind="keyword", rules=rules)


def test_there_are_enough_questions_of_each_kind() -> None:
    kinds = Counter(q.kind for q in QUESTIONS)
    assert set(kinds) == {"keyword", "paraphrase", "unanswerable"}
    assert min(kinds["keyword"], kinds["paraphrase"]) >= 36
    assert 4 <= kinds["unanswerable"] <= 6


def test_question_ids_and_texts_are_unique_and_in_order() -> None:
    ids = [q.id for q in QUESTIONS]
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"q\d{3}", id_) for id_ in ids)
    assert len({q.text for q in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize("q", ANSWERABLE, ids=lambda q: q.id)
def test_an_answerable_question_has_an_answer_here_and_not_too_many(
    q: Question, corpus: list[Passage]
) -> None:
    useful = [chunk_id for chunk_id, g in relevant_passages(q, corpus).items() if g >= 2]
    assert 1 <= len(useful) <= 15


def test_questions_are_spread_over_the_reference(corpus: list[Passage]) -> None:
    topics = {p.chunk_id: p.document_id for p in corpus}
    answering = {topics[c] for q in ANSWERABLE for c, g in relevant_passages(q, corpus).items() if g >= 2}
    assert len(answering) >= 40


@pytest.mark.parametrize("q", UNANSWERABLE, ids=lambda q: q.id)
def test_an_unanswerable_question_has_no_relevant_passage(q: Question, corpus: list[Passage]) -> None:
    assert q.rules == ()
    assert relevant_passages(q, corpus) == {}


@pytest.mark.parametrize("q", ANSWERABLE, ids=lambda q: q.id)
def test_rules_go_from_the_best_grade_to_the_least(q: Question) -> None:
    grades = [rule.grade for rule in q.rules]
    assert grades == sorted(grades, reverse=True)
    assert grades[0] == 3


def test_no_judgment_names_a_chunk() -> None:
    phrases = [phrase for q in QUESTIONS for rule in q.rules for phrase in (*rule.all, *rule.any)]
    assert not [phrase for phrase in phrases if re.search(r"\w#\d{3}", phrase)]


def test_the_best_matching_rule_wins_whatever_its_place() -> None:
    q = question(Rule(grade=1, any=("pass",)), Rule(grade=3, any=("null operation",)))
    assert grade(q, passage("pass is a null operation")) == 3
    assert grade(q, passage("pass it on")) == 1
    assert grade(q, passage("something else")) == 0


def test_a_rule_asks_for_its_topic_for_all_phrases_and_for_one_of_any() -> None:
    q = question(Rule(grade=2, topics=("with", "compound"), all=("enter", "exit"), any=("first", "last")))
    assert grade(q, passage("enter first, exit later", topic="with")) == 2
    assert grade(q, passage("enter first, exit later", topic="try")) == 0
    assert grade(q, passage("enter first", topic="with")) == 0
    assert grade(q, passage("enter, exit", topic="compound")) == 0


@pytest.mark.parametrize(
    "text",
    [
        'The "with" statement\nbinds the *target*.',
        "the “with”   statement binds\n   the target.",
        "The `with` statement binds the **target**.",
    ],
)
def test_wrapping_quotes_emphasis_and_case_do_not_change_a_judgment(text: str) -> None:
    assert grade(question(Rule(grade=3, any=("the with statement binds the target",))), passage(text)) == 3


def test_a_word_broken_after_its_hyphen_is_still_one_word() -> None:
    q = question(Rule(grade=3, any=("single-precision numbers",)))
    assert grade(q, passage("support single-\n   precision numbers")) == 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, "not_relevant"), (1, "partially_relevant"), (2, "relevant"), (3, "highly_relevant")],
)
def test_each_grade_is_an_outcome(value: int, expected: str) -> None:
    assert outcome(value) == expected


@pytest.mark.parametrize("value", [-1, 4])
def test_a_grade_outside_the_scale_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="a grade is 0 to 3"):
        outcome(value)


def test_a_rule_that_says_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="without a phrase"):
        Rule(grade=2, topics=("with",))
    with pytest.raises(ValueError, match="grade 1, 2 or 3"):
        Rule(grade=0, any=("x",))


def test_relevant_passages_leave_out_grade_zero() -> None:
    q = question(Rule(grade=2, any=("yes",)))
    assert relevant_passages(q, [passage("yes", "a"), passage("no", "b")]) == {"a#000": 2}
