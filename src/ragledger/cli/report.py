"""`ragledger report`: the dashboards as one page, for people without a Grafana."""

from __future__ import annotations

from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from ragledger.panels.choices import ALL
from ragledger.report.numbers import uncounted
from ragledger.report.picture import Choice

from .collect import collect_once
from .outlets import outlets_of
from .progress import progress
from .session import DsnOption, JsonOption, SchemaOption, as_pretty_json, needing, open_target
from .windows import (
    ActorKinds,
    CorpusOption,
    ProjectOption,
    SinceOption,
    SurfaceOption,
    UntilOption,
    window_of,
)

if TYPE_CHECKING:
    from ragledger.report.writing import Written
    from ragledger.wiring import Target

__all__ = ["report_command"]


class K(str, Enum):
    """Up to which rank hits are counted."""

    one, three, five, ten = "1", "3", "5", "10"


HtmlOption = Annotated[
    Path, typer.Option("--html", help="The file to write. A new one is readable by you alone.")
]
EpochOption = Annotated[Optional[str], typer.Option("--epoch", help="Only searches of this epoch.")]  # noqa: UP045  typer on Python 3.10 reads it at run time
ActorKindOption = Annotated[
    Optional[ActorKinds],  # noqa: UP045
    typer.Option("--actor-kind", help="Only searches that this kind of actor asked."),
]
VoterOption = Annotated[
    Optional[ActorKinds],  # noqa: UP045
    typer.Option("--voter", help="Whose votes count. Default people's, else the kind that judged most."),
]
KOption = Annotated[K, typer.Option("--k", help="Up to which rank hits are counted.")]
CollectOption = Annotated[bool, typer.Option("--collect", help="Count what is new before.")]


def report_command(  # noqa: PLR0913  one parameter per option of the command line
    html: HtmlOption,
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    project: ProjectOption = None,
    surface: SurfaceOption = None,
    corpus: CorpusOption = None,
    epoch: EpochOption = None,
    actor_kind: ActorKindOption = None,
    voter: VoterOption = None,
    k: KOption = K.five,
    since: SinceOption = "30d",
    until: UntilOption = None,
    collect: CollectOption = False,  # noqa: FBT002
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Write the four dashboards as one page that needs no network: Overview, Relevance, Corpus, Pipeline.

    It shows rollups: what `ragledger collect` has counted. Exit code 2, and no file, when there is nothing to show.

    Example: ragledger report --html report.html --project shop --since 30d
    """
    for name, given in (("corpus", corpus), ("surface", surface), ("epoch", epoch)):
        if given == ALL:
            raise typer.BadParameter(f"--{name}: {ALL} stands for every one; leave the option out")
    window = window_of(project=project, surface=surface, corpus=corpus, since=since, until=until)
    choice = Choice(
        **msgspec.structs.asdict(window),
        epoch=epoch,
        actor_kind=actor_kind and actor_kind.value,
        voter=voter and voter.value,
        k=int(k.value),
    )
    with open_target(dsn, schema) as target:
        if collect:
            with outlets_of(otlp=False, endpoint=None, prometheus=None) as nowhere:
                collect_once(target, nowhere)
        written = _written(target, html, choice)
    _tell(written, as_json=as_json)


def _written(target: Target, file: Path, choice: Choice) -> Written:
    with needing("analysis", "the report"):
        from ragledger.report.writing import write_report
    with progress("drawing", "panels") as step:
        return write_report(target.connect, file, choice, datetime.now(timezone.utc), step)


def _tell(written: Written, *, as_json: bool) -> None:
    if as_json:
        typer.echo(as_pretty_json(written))
        return
    missing = f", {len(written.unmeasured)} of them not measured" if written.unmeasured else ""
    typer.echo(
        f"{written.file}: {written.searches:,} searches in {written.panels} panels{missing}; open it in a browser"
    )
    if late := uncounted(written.behind, written.minutes_waiting, written.days_waiting):
        typer.echo(f"ragledger: not counted yet ({late}), and not on the page; give --collect", err=True)
