"""Expands Grafana's macros and variables in SQL, for whoever runs a panel's query without a Grafana.

What Grafana's PostgreSQL data source does, as far as our queries use it: variables are put in by the browser,
macros by the server, whose arguments end at the first closing parenthesis. Anything else with a `$` is refused,
as Grafana would refuse it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from typing_extensions import LiteralString

__all__ = ["MacroError", "TimeRange", "expand", "variables_in"]

_VARIABLE = re.compile(r"\$\{(\w+)(?::(\w+))?\}|\$(?!__)(\w+)")
_MACRO = re.compile(r"\$(\w+)\(([^)]*)\)")


class MacroError(ValueError):
    """A query uses a variable or a macro that Grafana would not know either."""


class TimeRange(Struct, frozen=True, kw_only=True):
    """The dashboard's time range."""

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        if self.start.tzinfo is None or self.end.tzinfo is None or self.start >= self.end:
            raise MacroError("a time range has two moments with a time zone, the earlier one first")


def variables_in(query: str) -> set[str]:
    """The names of the variables that a query uses."""
    return {match[1] or match[3] for match in _VARIABLE.finditer(query)}


def expand(
    query: LiteralString, time_range: TimeRange, variables: Mapping[str, str | Sequence[str]]
) -> LiteralString:
    """The statement that Grafana would send. Values of variables are quoted as its format `sqlstring` does.

    Raises:
        MacroError: an unknown variable, format or macro.
    """

    def variable(match: re.Match[str]) -> str:
        name = match[1] or match[3]
        if name not in variables:
            raise MacroError(f"no value for the variable `{name}`")
        return _formatted(variables[name], match[2])

    def macro(match: re.Match[str]) -> str:
        return _macro(match[1], [one.strip() for one in match[2].split(",")], time_range)

    text = _MACRO.sub(macro, query)
    if left := re.search(r"\$__\w*", text):
        raise MacroError(f"`{left[0]}` is no macro that is expanded here")
    # Values last, other than in Grafana: one that looks like a macro stays a value.
    # The text is ours and the values are quoted: as honest a literal as Grafana's own.
    return _VARIABLE.sub(variable, text)


def _formatted(value: str | Sequence[str], form: str | None) -> str:
    values = [value] if isinstance(value, str) else value
    if form == "sqlstring":
        return ",".join("'" + one.replace("'", "''") + "'" for one in values)
    raise MacroError("a variable is written as ${name:sqlstring}, so that it is quoted")


def _macro(name: str, arguments: list[str], time_range: TimeRange) -> str:
    start, end = _moment(time_range.start), _moment(time_range.end)
    if name == "__timeFrom":
        return f"'{start}'"
    if name == "__timeTo":
        return f"'{end}'"
    if name == "__unixEpochFrom":
        return str(int(time_range.start.timestamp()))
    if name == "__unixEpochTo":
        return str(int(time_range.end.timestamp()))
    if name == "__timeFilter":
        return f"{arguments[0]} BETWEEN '{start}' AND '{end}'"
    if name in {"__timeGroup", "__timeGroupAlias"} and len(arguments) == 2:
        seconds = _seconds(arguments[1])
        grouped = f"floor(extract(epoch from {arguments[0]})/{seconds})*{seconds}"
        return f'{grouped} AS "time"' if name.endswith("Alias") else grouped
    raise MacroError(f"`${name}` is no macro that is expanded here")


def _seconds(interval: str) -> int:
    match = re.fullmatch(r"'(\d+)([smhd])'", interval)
    if match is None:
        raise MacroError(f"no interval that is understood here: {interval}")
    return int(match[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[match[2]]


def _moment(moment: datetime) -> str:
    """RFC 3339 in UTC, as Grafana writes it."""
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
