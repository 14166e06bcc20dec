"""Makes the file: reads as the reader of rollups, draws, writes it whole. Needs the extra `analysis`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Protocol

import msgspec

from ragledger.errors import DatabaseUnavailable, NothingToMeasure
from ragledger.measurement import Measurement, measure
from ragledger.panels.choices import NONE
from ragledger.postgres.connection import Connection, translated

from .files import refuse_early, write_whole
from .page import page
from .picture import Choice, Picture
from .snapshot import read

__all__ = ["Written", "write_report"]

_MEASURED_UP_TO = 200_000
_STATEMENT_TIMEOUT_S = 60.0


class Connect(Protocol):
    """Opens a connection that acts as a role where it may."""

    def __call__(self, *, role: str, statement_timeout_s: float) -> Connection: ...


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What was made. `unmeasured` names the panels that have nothing to show."""

    file: str
    bytes: int
    made_at: datetime
    since: datetime
    until: datetime
    projects: tuple[str, ...]
    voter: str
    k: int
    grain: str
    searches: int
    counted_until: datetime | None
    behind: int
    minutes_waiting: int
    days_waiting: int
    panels: int
    unmeasured: tuple[str, ...]


def write_report(
    connect: Connect, file: Path, choice: Choice, now: datetime, step: Callable[[int], None] = lambda _: None
) -> Written:
    """Makes the file; `step` hears of each panel that is drawn.

    Raises:
        NothingToMeasure: there is nothing to show, and no file.
        ConfigError: the file cannot be written.
        DatabaseUnavailable
    """
    refuse_early(file)
    with (
        connect(role="ragledger_reader", statement_timeout_s=_STATEMENT_TIMEOUT_S) as connection,
        translated(),
    ):
        picture = read(connection, choice, now)
    measurement, unmeasured = _measured(connect, choice, picture.searches)
    picture = msgspec.structs.replace(picture, measurement=measurement, unmeasured=unmeasured)
    text = page(picture, step)
    write_whole(file, text)
    return _written(picture, file, len(text.encode()))


def _measured(connect: Connect, choice: Choice, searches: int) -> tuple[Measurement | None, str]:
    """What the table itself says, where that is cheap and allowed: who may read rollups may not always read the table."""
    if choice.epoch is not None or choice.actor_kind is not None:
        return None, "`ragledger measure` knows no epoch and no actor kind, so its tables are not here."
    if NONE in {choice.corpus, choice.surface}:
        return None, f"`ragledger measure` cannot ask for `{NONE}`, so its tables are not here."
    if searches > _MEASURED_UP_TO:
        return None, f"More than {_MEASURED_UP_TO:,} searches: for the tables run `ragledger measure`."
    try:
        with (
            connect(role="ragledger_collector", statement_timeout_s=_STATEMENT_TIMEOUT_S) as connection,
            translated(),
        ):
            return measure(connection, choice.window()), ""
    except NothingToMeasure:
        return (
            None,
            "`ragledger measure` finds no search between the two moments, so its tables are not here.",
        )
    except DatabaseUnavailable:
        return None, "The table itself could not be read here; `ragledger measure` says more."


def _written(picture: Picture, file: Path, size: int) -> Written:
    panels = [(view, panel) for view in picture.views for panel in view.panels]
    return Written(
        file=str(file),
        bytes=size,
        made_at=picture.made_at,
        since=picture.time_range.start,
        until=picture.time_range.end,
        projects=picture.projects,
        voter=picture.voter,
        k=picture.choice.k,
        grain=picture.grain,
        searches=picture.searches,
        counted_until=picture.counted_until,
        behind=picture.behind,
        minutes_waiting=picture.minutes_waiting,
        days_waiting=picture.days_waiting,
        panels=len(panels),
        unmeasured=tuple(
            f"{view.dashboard.name}: {panel.panel.title}" for view, panel in panels if not panel.measured
        ),
    )
