"""Golden sets said in a few words, and the command line in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from ragledger.analyses.golden_files import save
from ragledger.cli import main
from ragledger.measures.golden_set import GoldenSet, Judgment, Question


class Ran(NamedTuple):
    code: int | str | None
    out: str
    err: str


def golden_set(**judged: Mapping[str, int]) -> GoldenSet:
    """One question per keyword: its text is its name with a question mark."""
    return GoldenSet(
        name="set",
        unit="chunk",
        corpus="handbook",
        questions=tuple(
            Question(
                id=name,
                text=f"{name}?",
                judgments=tuple(Judgment(id=item, grade=grade) for item, grade in grades.items()),
            )
            for name, grades in judged.items()
        ),
    )


@pytest.fixture
def make_set() -> Callable[..., GoldenSet]:
    return golden_set


@pytest.fixture
def golden_file(tmp_path: Path) -> Path:
    """Three questions; the third has no useful answer."""
    path = tmp_path / "golden.json"
    save(golden_set(refund={"a": 3, "b": 0}, postage={"c": 2}, nothing={"a": 1}), path)
    return path


@pytest.fixture
def cli(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Ran]:
    """Runs `ragledger ...` in this process, in a directory of its own."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def ran(*args: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["ragledger", *map(str, args)])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Ran(left.value.code or 0, captured.out, captured.err)

    return ran
