"""What every panel owes to somebody who sees it for the first time."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from dashboards.world import every_panel

from ragledger.panels import dashboards
from ragledger.panels.colours import COLOURS
from ragledger.panels.macros import variables_in
from ragledger.panels.panel import COLUMNS_OF_A_DASHBOARD, Dashboard, Panel
from ragledger.panels.queries import annotation_query, panel_query, variable_query
from ragledger.panels.sql import __name__ as folder
from ragledger.sql import named_queries

PANELS = [pytest.param(*one, id=f"{one[0].name}-{one[1].query}") for one in every_panel()]
BOARDS = [pytest.param(board, id=board.name) for board in dashboards()]


def test_there_are_the_four_dashboards() -> None:
    assert [board.name for board in dashboards()] == ["overview", "relevance", "corpus", "pipeline"]
    for field in ("uid", "title"):
        assert len({getattr(board, field) for board in dashboards()}) == 4


@pytest.mark.parametrize(("board", "panel"), PANELS)
def test_a_panel_says_how_to_read_it(board: Dashboard, panel: Panel) -> None:
    reading = panel.reading
    for part in (reading.shows, reading.good, reading.bad, reading.do):
        assert part.endswith(".")
    assert len({reading.shows, reading.good, reading.bad, reading.do}) == 4
    assert min(len(reading.shows), len(reading.bad), len(reading.do)) >= 40
    assert all(column.meaning for column in panel.columns)
    assert panel.empty


@pytest.mark.parametrize("board", BOARDS)
def test_titles_and_queries_of_a_dashboard_are_unique(board: Dashboard) -> None:
    titles, asked = [one.title for one in board.panels()], [one.query for one in board.panels()]
    assert len(set(titles)) == len(titles)
    assert sorted(asked) == sorted(named_queries(board.name, folder)), "every query of the file is shown once"


@pytest.mark.parametrize("board", BOARDS)
def test_every_variable_is_used_and_every_one_that_is_used_exists(board: Dashboard) -> None:
    known = {one.name for one in board.variables}
    used = set[str]().union(*(variables_in(panel_query(board, panel)) for panel in board.panels()))
    assert used == known
    for variable in board.variables:
        if variable.query:
            assert variables_in(variable_query(variable)) <= {"project"}
    for annotation in board.annotations:
        assert variables_in(annotation_query(annotation)) <= known


def test_every_choice_of_the_issue_is_there() -> None:
    overview = next(board for board in dashboards() if board.name == "overview")
    assert [one.name for one in overview.variables] == ["project", "corpus", "surface", "epoch", "actor_kind"]
    assert all(one.multi for one in overview.variables)


@pytest.mark.parametrize("board", BOARDS)
def test_rows_are_full(board: Dashboard) -> None:
    """No holes: the widths of neighbours add up, and neighbours are equally high."""
    for row in board.rows:
        width, heights = 0, set[int]()
        for panel in row.panels:
            width, heights = width + panel.width, heights | {panel.height}
            if width == COLUMNS_OF_A_DASHBOARD:
                assert len(heights) == 1, row.title
                width, heights = 0, set()
        assert width == 0, row.title


def test_one_thing_has_one_colour_everywhere() -> None:
    colours: dict[str, set[Any]] = {}
    for board, panel in every_panel():
        for column in panel.columns:
            assert column.colour is None or column.colour in COLOURS
            if column.colour is not None:
                colours.setdefault(column.name, set()).add(column.colour)
            else:
                assert panel.kind == "table" or column.unit in {"text", "time"}, (board.name, panel.title)
    assert {name: found for name, found in colours.items() if len(found) > 1} == {}


@pytest.mark.parametrize(("board", "panel"), PANELS)
def test_what_is_drawn_together_is_told_apart(board: Dashboard, panel: Panel) -> None:
    series = {column.name: column.colour for column in panel.columns if column.style in {"stacked", "line"}}
    hues = [COLOURS[colour] for colour in series.values() if colour and panel.kind == "timeseries"]
    parts = [[int(hue[place : place + 2], 16) for place in (1, 3, 5)] for hue in hues]
    assert [pair for pair in itertools.combinations(parts, 2) if math.dist(*pair) < 50] == [], panel.title


@pytest.mark.parametrize(("board", "panel"), PANELS)
def test_a_band_follows_its_edge_and_a_share_has_its_n(board: Dashboard, panel: Panel) -> None:
    styles = [column.style for column in panel.columns]
    for place, style in enumerate(styles):
        assert (style == "band") == (place > 0 and styles[place - 1] == "edge")
    if panel.kind == "timeseries" and any(column.unit in {"share", "score"} for column in panel.columns):
        assert styles.count("support") == 1, "P12: a share stands with its n"


@pytest.mark.parametrize(("board", "panel"), PANELS)
def test_only_rollups_and_views_are_read(board: Dashboard, panel: Panel) -> None:
    words = set(panel_query(board, panel).replace("(", " ").split())
    assert words & {
        "hits",
        "feedback",
        "deliveries",
        "assessments",
        "rejected_feedback",
        "writers",
        "logical_searches",
        "real_hits",
    } <= ({"hits"} if panel.query == "funnel" else set())
