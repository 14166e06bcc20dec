"""The `ragledger` program: commands are registered here and written next door."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ragledger.errors import RagledgerError

from .calibrate import calibrate_command
from .collect import collect_command
from .compare import compare_command
from .curate import curate_command
from .demo import demo_command
from .doctor import doctor_command
from .erase import erase_command
from .export import export_command
from .gate import gate_command
from .golden import golden_app
from .init import init_command
from .measure import measure_command
from .report import report_command
from .retain import retain_command
from .serve import serve_command
from .ship import ship_command
from .tail import tail_command
from .verify import verify_command

__all__ = ["app", "main"]


class _Commands(TyperGroup):
    """Typer's word for a wrong choice, without that of the library that it checks with."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as exc:
            exc.message = exc.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="ragledger",
    cls=_Commands,
    help="Retrieval telemetry as a table: every search with the weights it ran under, every vote with its hit.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)
app.command("init")(init_command)
app.command("doctor")(doctor_command)
app.command("tail")(tail_command)
app.command("measure")(measure_command)
app.command("report")(report_command)
app.command("calibrate")(calibrate_command)
app.command("curate")(curate_command)
app.command("compare")(compare_command)
app.add_typer(golden_app, name="golden")
app.command("gate")(gate_command)
app.command("ship")(ship_command)
app.command("retain")(retain_command)
app.command("export")(export_command)
app.command("erase")(erase_command)
app.command("serve")(serve_command)
app.command("collect")(collect_command)
app.command("verify")(verify_command)
app.command("demo")(demo_command)


@app.callback(invoke_without_command=True)
def _root(
    *, show_version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False
) -> None:
    if show_version:
        typer.echo(version("ragledger"))
        raise typer.Exit


def main() -> None:
    """Runs the program; a known error is one line on stderr and exit code 2."""
    try:
        app()
    except RagledgerError as exc:
        typer.echo(f"ragledger: {exc}", err=True)
        sys.exit(2)
