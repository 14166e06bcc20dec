"""Builds a golden set from files: JSONL, CSV, or the qrels and topics of TREC.

JSONL    {"id": "q1", "text": "...", "judgments": {"doc-7": 2}} a line
CSV      columns question, id (of what is judged), grade, and question_id if there is one; a line per judgment
TREC     qrels: question, anything, id, grade, with white space between; topics: id, tab, text a line, or <top>
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragledger.errors import UnusableJudgments
from ragledger.measures.golden_set import GoldenSet, Judgment, Question, Unit

__all__ = ["About", "ids_of", "imported", "question_texts"]

_TOP = re.compile(
    r"<num>\s*(?:Number:)?\s*(\S+).*?<title>\s*(?:Topic:)?\s*(.*?)\s*(?=<|\Z)", re.DOTALL | re.IGNORECASE
)
_CSV = {"question", "id", "grade"}

Grades = Mapping[str, int]


class _Line(msgspec.Struct, frozen=True):
    text: str
    judgments: dict[str, int | str]
    id: str | None = None


class About(NamedTuple):
    """Of the set that is made."""

    name: str
    unit: Unit
    corpus: str | None = None


def imported(path: Path, topics: Path | None, about: About, grades: Grades) -> GoldenSet:
    """A set from one file by its ending, or from TREC's two.

    Args:
        topics: the texts of questions; `path` holds qrels then.
        grades: what a grade of the file is here; those not named are themselves.

    Raises:
        UnusableJudgments: it cannot be read; the message names the line.
    """
    if topics is not None:
        return _trec(path, topics, about, grades)
    readers = {".jsonl": _jsonl, ".csv": _csv}
    if path.suffix.lower() not in readers:
        raise UnusableJudgments(f"{path}: judgments come as .jsonl or .csv, or as qrels with --topics")
    texts: dict[str, str] = {}
    judgments: dict[str, dict[str, int]] = {}
    for number, question, text, items in readers[path.suffix.lower()](path, _read(path)):
        if texts.setdefault(question, text) != text:
            raise UnusableJudgments(f"{path}, line {number}: {question!r} has two different texts")
        judged = judgments.setdefault(question, {})
        for item, grade in items.items():
            _judge(judged, item, _grade(grade, grades, path, number), path, number)
    return _set(texts, judgments, about, [path])


def _trec(qrels: Path, topics: Path, about: About, grades: Grades) -> GoldenSet:
    """Judgments of questions that are no topic are refused."""
    texts = _topics(topics)
    judgments: dict[str, dict[str, int]] = {question: {} for question in texts}
    for number, line in enumerate(_read(qrels).splitlines(), start=1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != 4:
            raise UnusableJudgments(f"{qrels}, line {number}: not `question iteration id grade`")
        if parts[0] not in judgments:
            raise UnusableJudgments(f"{qrels}, line {number}: no topic {parts[0]!r} in {topics}")
        grade = _grade(parts[3], grades, qrels, number)
        _judge(judgments[parts[0]], parts[2], grade, qrels, number)
    return _set(texts, judgments, about, [qrels, topics])


def question_texts(path: Path) -> list[str]:
    """The texts of questions: JSONL with `text`, CSV with `question`, else one a line."""
    content = _read(path)
    if path.suffix.lower() == ".jsonl":
        try:
            lines = [msgspec.json.decode(line) for line in content.splitlines() if line.strip()]
            return [str(line["text"]) for line in lines]
        except (msgspec.DecodeError, TypeError, KeyError):
            raise UnusableJudgments(f"{path}: every line needs a JSON object with `text`") from None
    if path.suffix.lower() == ".csv":
        rows = list(csv.DictReader(io.StringIO(content)))
        if not rows or "question" not in rows[0]:
            raise UnusableJudgments(f"{path}: there is no column `question`")
        return [row["question"] for row in rows]
    return [line.strip() for line in content.splitlines() if line.strip()]


def ids_of(path: Path) -> set[str]:
    """What a corpus has: one id a line."""
    return {line.strip() for line in _read(path).splitlines() if line.strip()}


def _jsonl(path: Path, content: str) -> Iterator[tuple[int, str, str, Mapping[str, Any]]]:
    for number, line in enumerate(content.splitlines(), start=1):
        if line.strip():
            try:
                read = msgspec.json.decode(line, type=_Line)
            except msgspec.DecodeError as exc:  # it names a field and types
                raise UnusableJudgments(f"{path}, line {number}: {exc}") from None
            yield number, read.id or f"q{number}", read.text, read.judgments


def _csv(path: Path, content: str) -> Iterator[tuple[int, str, str, Mapping[str, Any]]]:
    rows = csv.DictReader(io.StringIO(content))
    missing = sorted(_CSV - set(rows.fieldnames or ()))
    if missing:
        raise UnusableJudgments(f"{path}: there is no column {' and no column '.join(missing)}")
    numbers: dict[str, str] = {}
    for row in rows:
        text = row["question"]
        question = row.get("question_id") or numbers.setdefault(text, f"q{len(numbers) + 1}")
        yield rows.line_num, question, text, {row["id"]: row["grade"]}


def _topics(path: Path) -> dict[str, str]:
    content = _read(path)
    if "<top>" in content.lower():
        pairs = [(found[1], " ".join(found[2].split())) for found in _TOP.finditer(content)]
    else:
        lines = [line for line in content.splitlines() if line.strip()]
        pairs = [
            (number.strip(), text.strip()) for number, _, text in (line.partition("\t") for line in lines)
        ]
    if not pairs or not all(text for _, text in pairs):
        raise UnusableJudgments(f"{path}: topics are `id<TAB>text` lines, or <top> with <num> and <title>")
    return dict(pairs)


def _grade(given: Any, grades: Grades, path: Path, number: int) -> int:
    text = str(given).strip()
    grade = grades.get(text, int(text) if re.fullmatch(r"-?\d{1,9}", text) else -1)
    if not 0 <= grade <= 3:
        raise UnusableJudgments(
            f"{path}, line {number}: a grade is 0 to 3, not {text[:20]!r}; say what it is here: --grade {text[:20]}=0"
        )
    return grade


def _judge(judged: dict[str, int], item: str, grade: int, path: Path, number: int) -> None:
    if judged.setdefault(item, grade) != grade:
        raise UnusableJudgments(f"{path}, line {number}: {item!r} was judged before, and otherwise")


def _set(
    texts: Mapping[str, str],
    judgments: Mapping[str, Mapping[str, int]],
    about: About,
    files: Sequence[Path],
) -> GoldenSet:
    named = [file.name for file in files]
    try:
        questions = [
            Question(id=question, text=text, judgments=_judgments(judgments.get(question, {})))
            for question, text in texts.items()
        ]
        return GoldenSet(
            name=about.name,
            unit=about.unit,
            corpus=about.corpus,
            questions=tuple(questions),
            provenance={"from": "files", "files": named},
        )
    except ValueError as exc:
        raise UnusableJudgments(f"{', '.join(named)}: {exc}") from None


def _judgments(grades: Mapping[str, int]) -> tuple[Judgment, ...]:
    return tuple(Judgment(id=item, grade=grade) for item, grade in sorted(grades.items()))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as exc:
        raise UnusableJudgments(f"{path} cannot be read ({type(exc).__name__})") from None
    except UnicodeDecodeError:
        raise UnusableJudgments(f"{path} is not UTF-8") from None
