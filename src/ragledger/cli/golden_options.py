"""The options of `ragledger golden`, and what some of them mean."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Optional

import typer

from .windows import ActorKinds, Units

__all__ = [
    "GradeOption",
    "IdsOption",
    "MinAgreementOption",
    "MinVotesOption",
    "NameOption",
    "QuestionsOption",
    "ReplaceOption",
    "SourceOption",
    "StoredTextsOption",
    "TopicsOption",
    "UnitOption",
    "VoteOption",
    "VoterOption",
    "grades_of",
    "refuse_unused",
]


# Optional, not `| None`: typer on Python 3.10 reads them at run time.
SourceOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--from", help="Judged questions as .jsonl or .csv; or, with --topics, TREC qrels."),
]
TopicsOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--topics", help="TREC topics, or `id<TAB>text` lines."),
]
GradeOption = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--grade", help="What a grade of the file is on the scale of 0 to 3, such as `4=3`; may be repeated."
    ),
]
QuestionsOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--questions", help="Texts of the questions: one a line, .jsonl with `text`, .csv with `question`."
    ),
]
StoredTextsOption = Annotated[
    bool, typer.Option("--stored-texts", help="Texts from search_texts, where `init --with-text` was run.")
]
VoterOption = Annotated[
    Optional[list[ActorKinds]],  # noqa: UP045
    typer.Option("--voter", help="Whose votes count; may be repeated. Default human."),
]
MinVotesOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--min-votes", min=1, help="How many voters a hit needs. Default 2."),
]
MinAgreementOption = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option(
        "--min-agreement", min=0.5, max=1.0, help="The share of them on the winning side. Default 0.7."
    ),
]
UnitOption = Annotated[
    Units, typer.Option("--unit", help="What is judged: chunks, or the documents they are of.")
]
NameOption = Annotated[Optional[str], typer.Option("--name", help="Of the set. Default the file's.")]  # noqa: UP045
VoteOption = Annotated[
    bool,
    typer.Option(
        "--vote", help="Put what the set says of the hits into the table, as votes of kind `judge`."
    ),
]
ReplaceOption = Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")]
IdsOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--ids", help="What the corpus has now, one id a line. Default the table `inventory`."),
]


_OF_FILES = ("topics", "grade")
"""Of `build`: parameters that mean something with --from alone."""
_OF_VOTES = (
    "voter",
    "min_votes",
    "min_agreement",
    "useful_from",
    "dsn",
    "schema",
    "project",
    "surface",
    "since",
    "until",
)
"""And those that mean something with votes alone."""


def refuse_unused(context: typer.Context) -> None:
    """A set is made in one way, and no option of another is dropped in silence.

    Raises:
        typer.BadParameter: not one way, or an option that means nothing in it.
    """
    sources = {name: context.get_parameter_source(name) for name in context.params}
    given = {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    if len(given & {"source", "questions", "stored_texts"}) != 1:
        raise typer.BadParameter("give one of --questions FILE, --stored-texts, --from FILE")
    made_from, unused = ("--from", _OF_VOTES) if "source" in given else ("votes", _OF_FILES)
    if named := [f"--{name.replace('_', '-')}" for name in unused if name in given]:
        raise typer.BadParameter(f"{', '.join(named)}: without a meaning for a set from {made_from}")


def grades_of(given: list[str]) -> dict[str, int]:
    """`4=3` says that what the file calls 4 is a 3 here.

    Raises:
        typer.BadParameter: not of that form.
    """
    grades = {}
    for text in given:
        found = re.fullmatch(r"([^=]+)=([0-3])", text)
        if found is None:
            raise typer.BadParameter(f"--grade takes `grade of the file=0 to 3`, not {text!r}")
        grades[found[1]] = int(found[2])
    return grades
