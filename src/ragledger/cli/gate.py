"""`ragledger gate`: a golden set against a floor that a person wrote. It reads the floor and never writes one.

Exit code 0 passed; 1 below the floor, or the retriever failed; 2 could not be run, with the reason.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import msgspec
import typer

from ragledger.analyses.retrievers import retriever_named
from ragledger.errors import RagledgerError, UnusableJudgments
from ragledger.gate import Gate

from .golden_run import GoldenArgument, NoRecordOption, RetrieverOption, asking, needs_analysis
from .session import JsonOption, as_pretty_json
from .windows import UsefulFrom, UsefulOption

__all__ = ["gate_command"]

FloorOption = Annotated[
    Path, typer.Option("--floor", help="TOML or JSON, written by a person: see docs/golden.md.")
]
ModelOption = Annotated[
    Optional[str],  # noqa: UP045  typer on Python 3.10 reads it at run time
    typer.Option(
        "--embedding-model", help="Which one is in use, where the searches do not say; `none` without any."
    ),
]


def gate_command(  # noqa: PLR0913  one parameter per option of the command line
    golden_file: GoldenArgument,
    retriever: RetrieverOption,
    floor: FloorOption,
    embedding_model: ModelOption = None,
    no_record: NoRecordOption = False,  # noqa: FBT002
    useful_from: UsefulOption = UsefulFrom.relevant,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Pass or fail: enough questions of a golden set have something useful in the first k.

    Exit code 1 below the floor, or when the retriever raised, with the ids of the questions. Exit code 2 when it could
    not be run: the embedding provider was unavailable, the golden set was changed, or there is no floor for this model
    and number of cases. With --json `could_not_run` says which: embedding_unavailable, infra_unavailable, unusable.

    Example: ragledger gate golden.json --retriever app.search:retriever --floor floor.toml
    """
    try:
        needs_analysis("gate")
        gate = Gate(golden_file, floor, useful_from=useful_from.value)
        found = retriever_named(retriever, Path.cwd())
        with asking(gate.golden) as tick:
            verdict = gate.check(found, embedding_model=embedding_model, record=not no_record, tick=tick)
    except RagledgerError as exc:
        if as_json:
            reason = getattr(exc, "reason", UnusableJudgments.reason)
            typer.echo(msgspec.json.encode({"passed": None, "could_not_run": reason}).decode())
        raise
    if as_json:
        typer.echo(as_pretty_json(verdict))
    else:
        typer.echo("\n".join(verdict.lines()))
    raise typer.Exit(0 if verdict.passed else 1)
