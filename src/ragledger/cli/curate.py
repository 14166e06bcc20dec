"""`ragledger curate`: which documents earn their place, which do not, and which questions find nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, Optional

import typer

from ragledger.errors import ConfigError
from ragledger.measures.curation import Class, Least
from ragledger.measures.curation_tables import curation_heading, curation_tables

from .progress import progress
from .report_table import markdown, show
from .session import DsnOption, JsonOption, SchemaOption, as_pretty_json, open_target
from .windows import (
    CorpusOption,
    ProjectOption,
    SinceOption,
    SurfaceOption,
    Units,
    UntilOption,
    UsefulFrom,
    UsefulOption,
    window_of,
)

if TYPE_CHECKING:
    from ragledger.analyses.curation import Curated
    from ragledger.analyses.inventory import Inventory
    from ragledger.measures.report import Window
    from ragledger.wiring import Target

__all__ = ["curate_command"]


_DEFAULT = Least()
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="GitHub Markdown instead of text.")]
UnitOption = Annotated[Units, typer.Option("--unit", help="Curate documents, or single chunks by their ids.")]
FileOption = Annotated[
    Optional[Path],  # noqa: UP045  typer on Python 3.10 reads it at run time
    typer.Option(
        "--inventory", help="What could be retrieved: a file of ids, one a line, or .csv or .jsonl."
    ),
]
QueryOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--inventory-query",
        help="The same by a SQL query: the id, and if you like the corpus. Read-only transaction.",
    ),
]
TableOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--inventory-table", help="The same from a table, such as that of a pgvector store."),
]
ColumnOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--inventory-id", help="Its column of ids, with --inventory-table. Default: id."),
]
InventoryDsnOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--inventory-dsn", help="Where that query or table is. Default: where the telemetry is."),
]
RetrievalsOption = Annotated[
    int,
    typer.Option("--min-retrievals", min=1, help="Retrievals it takes to say that none got further."),
]
VotesOption = Annotated[
    int, typer.Option("--min-votes", min=1, help="Votes of one kind on one side it takes to say something.")
]
ActorsOption = Annotated[
    int, typer.Option("--min-actors", min=1, help="Actors who say not useful that it takes to retire.")
]
RatioOption = Annotated[
    float, typer.Option("--ratio", help="The share of votes that decides: above 0.5, at most 1.")
]
StaleOption = Annotated[
    int, typer.Option("--stale-days", min=1, help="Not retrieved for so many days: stale.")
]
ClassOption = Annotated[
    Optional[list[Class]],  # noqa: UP045
    typer.Option("--class", help="Only documents of this class; may be repeated."),
]
LimitOption = Annotated[
    int, typer.Option("--limit", min=0, help="List so many documents and gap queries; 0 lists all.")
]
GraphOption = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--graph",
        help="Write the graph question, document, outcome to this file (.json, else CSV); `-`: to stdout instead of the report.",
    ),
]


def curate_command(  # noqa: PLR0913  one parameter per option of the command line
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    project: ProjectOption = None,
    surface: SurfaceOption = None,
    corpus: CorpusOption = None,
    since: SinceOption = "all",
    until: UntilOption = None,
    useful_from: UsefulOption = UsefulFrom.relevant,
    unit: UnitOption = Units.document,
    inventory: FileOption = None,
    inventory_query: QueryOption = None,
    inventory_table: TableOption = None,
    inventory_id: ColumnOption = None,
    inventory_dsn: InventoryDsnOption = None,
    min_retrievals: RetrievalsOption = _DEFAULT.retrievals,
    min_votes: VotesOption = _DEFAULT.votes,
    min_actors: ActorsOption = _DEFAULT.actors,
    ratio: RatioOption = _DEFAULT.ratio,
    stale_days: StaleOption = _DEFAULT.stale_days,
    classes: ClassOption = None,
    limit: LimitOption = 20,
    graph: GraphOption = None,
    as_json: JsonOption = False,  # noqa: FBT002
    as_markdown: MarkdownOption = False,  # noqa: FBT002
) -> None:
    """Say of each document whether to confirm, revise or retire it, and why; and list questions that find nothing.

    It changes nothing. Only votes retire a document. Exit code 2 when there is nothing to curate.

    Example: ragledger curate --corpus handbook --inventory ids.txt --class never_retrieved --limit 50
    """
    _refuse_both(as_json=as_json, as_markdown=as_markdown)
    least = _least(min_retrievals, min_votes, min_actors, ratio, stale_days)
    stock = _Stock(inventory, inventory_query, inventory_table, inventory_id, inventory_dsn, corpus)
    window = window_of(project=project, surface=surface, corpus=corpus, since=since, until=until)
    with open_target(dsn, schema) as target:
        curated = _curated(target, window, stock, useful_from, least, unit, ids=graph is not None)
    if graph is None or not _write_graph(curated, graph, as_json=as_json):
        _show(curated, limit or None, classes or (), as_json=as_json, as_markdown=as_markdown)


def _refuse_both(*, as_json: bool, as_markdown: bool) -> None:
    if as_json and as_markdown:
        raise typer.BadParameter("give --json or --markdown, not both")


class _Stock(NamedTuple):
    """Where the inventory is; nowhere: the table `inventory`."""

    file: Path | None
    query: str | None
    table: str | None
    column: str | None
    dsn: str | None
    corpus: str | None

    def _check(self) -> None:
        if sum(given is not None for given in (self.file, self.query, self.table)) > 1:
            raise typer.BadParameter("give one of --inventory, --inventory-query and --inventory-table")
        if self.column is not None and self.table is None:
            raise typer.BadParameter("--inventory-id names a column of --inventory-table, which is not given")
        if self.dsn is not None and self.query is None and self.table is None:
            raise typer.BadParameter("--inventory-dsn goes with --inventory-query or --inventory-table")

    def read(self, target: Target) -> Inventory | None:
        from ragledger.analyses.inventory import from_file, from_query, from_table
        from ragledger.postgres.connection import connect

        self._check()
        if self.file is not None:
            return from_file(self.file, self.corpus)
        if self.query is None and self.table is None:
            return None
        # As the user of the dsn: our own roles may not read the application's tables.
        with connect(self.dsn or target.dsn, "public", statement_timeout_s=600.0) as connection:
            if self.query is not None:
                return from_query(connection, self.query, self.corpus)
            return from_table(connection, self.table or "", self.column or "id", self.corpus)


def _least(retrievals: int, votes: int, actors: int, ratio: float, stale_days: int) -> Least:
    try:
        return Least(retrievals=retrievals, votes=votes, actors=actors, ratio=ratio, stale_days=stale_days)
    except ValueError as exc:
        raise typer.BadParameter(f"--ratio: {exc}") from None


def _curated(  # noqa: PLR0913  what to read, and how to judge it
    target: Target,
    window: Window,
    stock: _Stock,
    useful_from: UsefulFrom,
    least: Least,
    unit: Units,
    *,
    ids: bool,
) -> Curated:
    try:
        import_module("numpy")
    except ImportError:
        raise ConfigError("ragledger curate needs: pip install 'ragledger[analysis]'") from None
    from ragledger.analyses.curation import curate
    from ragledger.postgres.connection import translated

    inventory = stock.read(target)
    connection = target.connect(role="ragledger_collector", statement_timeout_s=600.0)
    try:
        with translated(), progress("reading", "searches") as step:
            return curate(
                connection, window, useful_from=useful_from.value, least=least, inventory=inventory,
                by_chunk=unit is Units.chunk, keyed=_keyed(target), ids=ids, step=step,
            )  # fmt: skip
    finally:
        connection.close()


def _show(
    curated: Curated, limit: int | None, classes: Collection[Class], *, as_json: bool, as_markdown: bool
) -> None:
    from ragledger.analyses.curated import report

    found = report(curated, limit=limit, classes=classes)
    if as_json:
        typer.echo(as_pretty_json(found))
    elif as_markdown:
        typer.echo(markdown(curation_heading(found), curation_tables(found)), nl=False)
    else:
        show(curation_heading(found), curation_tables(found))


def _keyed(target: Target) -> Callable[[str], str | None]:
    from ragledger.keys import load_key
    from ragledger.privacy import Privacy
    from ragledger.settings import config_home

    return Privacy("keyed", load_key(target.settings.key, config_home(os.environ))).kept


def _write_graph(curated: Curated, graph: str, *, as_json: bool) -> bool:
    """Whether it went to stdout, so that the report cannot."""
    from ragledger.analyses.graph import write_csv, write_json, written

    if graph == "-":
        (write_json if as_json else write_csv)(curated, sys.stdout)
        return True
    path = Path(graph)
    write = write_json if path.suffix.lower() == ".json" else write_csv
    written(path, lambda file: write(curated, file))
    typer.echo(f"ragledger curate: the graph is in {path.name}", err=True)
    return False
