"""`ragledger calibrate`: which weights order useful hits before the others. It recommends and never applies."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from .progress import progress
from .report_table import show
from .session import DsnOption, JsonOption, SchemaOption, as_pretty_json, needing, open_connection
from .windows import (
    ActorKinds,
    CorpusOption,
    ProjectOption,
    SinceOption,
    SurfaceOption,
    UntilOption,
    UsefulFrom,
    UsefulOption,
    window_of,
)

if TYPE_CHECKING:
    from ragledger.measures.calibration import Calibration

__all__ = ["calibrate_command"]

_SUFFIXES = (".svg", ".png")


VoterOption = Annotated[
    Optional[ActorKinds],  # noqa: UP045  typer on Python 3.10 reads it at run time
    typer.Option(
        "--voter", help="Whose votes. Default: the kind that judged most hits; kinds are never pooled."
    ),
]
ImputeOption = Annotated[
    bool,
    typer.Option(
        "--impute-zero", help="Count a signal that was not scored as 0. Draws the answer to what ran."
    ),
]
PairsOption = Annotated[int, typer.Option("--min-pairs", min=20, help="Fewest pairs to say anything.")]
SearchesOption = Annotated[int, typer.Option("--min-searches", min=10, help="Fewest searches with a pair.")]
ActorsOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option("--min-actors", min=1, help="Fewest actors. Default 3; of kind judge 1."),
]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, help="Of folds and resamples: the same votes, the same answer.")
]
PlotOption = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option("--plot", help="Draw the objective with its band into this .svg or .png file."),
]


def calibrate_command(  # noqa: PLR0913  one parameter per option of the command line
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    project: ProjectOption = None,
    surface: SurfaceOption = None,
    corpus: CorpusOption = None,
    since: SinceOption = "90d",
    until: UntilOption = None,
    useful_from: UsefulOption = UsefulFrom.relevant,
    voter: VoterOption = None,
    impute_zero: ImputeOption = False,  # noqa: FBT002
    min_pairs: PairsOption = 200,
    min_searches: SearchesOption = 100,
    min_actors: ActorsOption = None,
    seed: SeedOption = 7,
    plot: PlotOption = None,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Suggest weights from votes: whether to change them, to what, and what the votes do not tell yet.

    Exit code 0 whether a change is recommended or not, 2 when the votes cannot carry an answer, with what is missing.

    Example: ragledger calibrate --corpus handbook --since 90d --plot weights.svg
    """
    window = window_of(project=project, surface=surface, corpus=corpus, since=since, until=until)
    analysis = _analysis(plot)
    options = analysis.Options(
        useful_from=useful_from.value,
        voter=None if voter is None else voter.value,
        impute_zero=impute_zero,
        min_pairs=min_pairs,
        min_searches=min_searches,
        min_actors=min_actors,
        seed=seed,
    )
    with open_connection(dsn, schema) as connection, progress("calibrating, step", "") as step:
        found = analysis.calibrate(connection, window, options, step)
    _draw(found, plot)
    _print(found, as_json=as_json)


def _analysis(plot: Path | None) -> ModuleType:
    """What needs the extra, imported when it is asked for and the picture can be of that kind."""
    if plot is not None and plot.suffix not in _SUFFIXES:
        raise typer.BadParameter("--plot takes a file that ends in .svg or .png")
    with needing("analysis", "calibrate"):
        from ragledger.analyses import calibration
    return calibration


def _draw(found: Calibration, path: Path | None) -> None:
    if path is None or not found.profiles:
        return
    from ragledger.analyses.calibration_plot import plot

    plot(found, path)


def _print(found: Calibration, *, as_json: bool) -> None:
    from ragledger.measures.calibration_tables import heading, snippet, tables

    if as_json:
        typer.echo(as_pretty_json(found))
    else:
        show(heading(found), tables(found))
        if (settings := snippet(found)) is not None:
            typer.echo(f"\n{settings}")
    if found.verdict == "refused":
        typer.echo(f"ragledger: refused: {'; '.join(found.missing)}", err=True)
        raise typer.Exit(2)
