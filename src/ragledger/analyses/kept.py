"""Until when rows may be missing from a window, and what rollups still tell of that time.

A search that was purged or erased may have retrieved any document: of the time before, *not seen* is not *never*.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from ragledger.measures.curation import Earlier
from ragledger.measures.report import Window

from .sightings import CurateReader

__all__ = ["Kept", "read_kept"]

_SLACK = timedelta(minutes=1)
"""Clocks, and the time between the end of a search and its record."""
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Kept:
    """`complete_since` None: no row of the window is missing. `earlier` by corpus and document."""

    removed_records: int
    complete_since: datetime | None
    why: str | None
    earlier: dict[tuple[str, str], Earlier] = field(default_factory=dict)


def read_kept(reader: CurateReader, window: Window, *, rollups: bool) -> Kept:
    """What the table can speak for; with `rollups`, also what they count on the days of which rows are gone."""
    removed, removed_until = reader.rows("removed", scoped=False)[0]
    until, why = datetime.fromtimestamp(0, timezone.utc), None
    last_days: dict[str, datetime] = {}
    for project, first_kept, sealed_until, first_counted in reader.rows("kept", scoped=False):
        if sealed_until is not None:
            last_days[project] = _day(sealed_until - timedelta(microseconds=1))
            until, why = max((until, why or ""), (sealed_until, "retention took older rows"))
        elif first_counted is not None and (first_kept is None or first_counted < _day(first_kept)):
            # Rollups of days that have no rows: these went some other way than by `ragledger retain`.
            gone_until = first_kept if first_kept is not None else datetime.now(timezone.utc)
            last_days[project] = _day(gone_until) - _DAY
            until, why = max((until, why or ""), (gone_until, "older rows are gone"))
    if removed_until is not None and removed_until > until + _SLACK:
        # An erased search, or a vote on one that retention took: the number alone does not tell.
        until, why = removed_until, "rows were removed up to then"
    until = (until + _SLACK).replace(second=0, microsecond=0) + _SLACK
    if why is None or (window.since is not None and window.since >= until):
        return Kept(removed, None, None)
    return Kept(removed, until, why, _earlier(reader, last_days) if rollups and last_days else {})


def _earlier(reader: CurateReader, last_days: dict[str, datetime]) -> dict[tuple[str, str], Earlier]:
    rows: list[Any] = reader.rows(
        "earlier", scoped=False, projects=list(last_days), days=list(last_days.values())
    )
    return {
        (corpus, document): Earlier(
            retrieved=retrieved,
            admitted=admitted,
            accessed=accessed,
            judged=judged,
            useful=useful,
            not_useful=not_useful,
            last_day=last_day.timestamp(),
        )
        for corpus, document, retrieved, admitted, accessed, judged, useful, not_useful, last_day in rows
    }


def _day(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
