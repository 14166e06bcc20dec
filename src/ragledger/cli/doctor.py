"""`ragledger doctor`: what is set, what works, what waits, and what to do about it."""

from __future__ import annotations

import msgspec
import typer

from ragledger.health import Finding, examine

from .session import DsnOption, JsonOption, SchemaOption, open_target

__all__ = ["doctor_command"]

_MARKS = {"ok": "ok  ", "warning": "warn", "problem": "FAIL"}


def doctor_command(
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Check settings, journal, database and rights. Exit 1 when something needs a hand.

    Example: ragledger doctor --dsn postgresql://app@db/app
    """
    with open_target(dsn, schema) as target:
        findings = examine(target)
    if as_json:
        typer.echo(msgspec.json.encode(findings).decode())
    else:
        for finding in findings:
            typer.echo(_line(finding))
    if any(finding.level == "problem" for finding in findings):
        raise typer.Exit(1)


def _line(finding: Finding) -> str:
    advice = f"\n        {finding.advice}" if finding.advice else ""
    return f"[{_MARKS[finding.level]}] {finding.about}: {finding.found}{advice}"
