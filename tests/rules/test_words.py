"""One word for one thing (DESIGN section 2) in what a user sees of the commands that measure: options, help and JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import click
import msgspec
import pytest
import typer

from ragledger.cli.app import app
from ragledger.measures.calibration import Calibration
from ragledger.measures.comparison_report import Comparison
from ragledger.measures.curation_report import Curation
from ragledger.measures.report import Measurement
from ragledger.model import ActorKind

COMMANDS = (
    "measure",
    "compare",
    "calibrate",
    "curate",
    "golden build",
    "golden run",
    "golden drift",
    "gate",
    "report",
)
ONE_WORD = {
    "rank": r"positions?",
    "accessed": r"opened|clicked",
    "interval": r"ranges?",
    "voter": r"raters?|reviewers?",
}
SAME_OPTION = {
    "--voters": "--voter",
    "--by": "--unit",
    "-k": "--k",
    "--position": "--rank",
    "--documents": "--unit",
}


def command(name: str) -> click.Command:
    found: Any = typer.main.get_command(app)
    for part in name.split():
        found = found.commands[part]
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_is_called_alike_in_every_command(name: str) -> None:
    options = {option for parameter in command(name).params for option in parameter.opts}
    assert options & SAME_OPTION.keys() == set()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_has_no_second_word(name: str) -> None:
    parts = [command(name).help, *(getattr(parameter, "help", None) for parameter in command(name).params)]
    text = " ".join(part for part in parts if part)
    assert {word: re.findall(rf"\b(?:{other})\b", text) for word, other in ONE_WORD.items()} == {
        word: [] for word in ONE_WORD
    }


@pytest.mark.parametrize("report", [Measurement, Comparison, Calibration, Curation])
def test_the_json_has_no_second_word(report: type[msgspec.Struct]) -> None:
    found = dict(fields(report))
    assert len(found) > 40
    assert not [name for name in found if re.fullmatch(r"positions?|opened|ranges?", name)]
    assert "voters" not in {name for name, kind in fields(report) if kind is ActorKind}


def fields(kind: Any, seen: set[Any] | None = None) -> Iterator[tuple[str, Any]]:
    """Every field of a value and of the values in it, by name and type."""
    seen = set() if seen is None else seen
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        if kind in seen:
            return
        seen.add(kind)
        for name, of in get_type_hints(kind).items():
            if not name.startswith("__"):
                yield name, of
                yield from fields(of, seen)
    for part in get_args(kind):
        yield from fields(part, seen)
