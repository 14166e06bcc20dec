"""Writes a dashboard as Grafana's classic JSON. One visual language: the same legend, tooltip, grid and colours everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .colours import COLOURS
from .panel import (
    COLUMNS_OF_A_DASHBOARD,
    NOT_MEASURED,
    Annotation,
    Column,
    Dashboard,
    Kind,
    Panel,
    Reading,
    Row,
    Style,
    Unit,
    Variable,
)
from .queries import annotation_query, panel_query, variable_query

__all__ = ["DATA_SOURCE_UID", "as_json", "dashboard_json"]

DATA_SOURCE_UID = "ragledger-postgres"
"""The data source that `dashboards/provisioning` makes, by which every panel finds it."""

_SCHEMA_VERSION = 42
_DATA_SOURCE = {"type": "grafana-postgresql-datasource", "uid": DATA_SOURCE_UID}
_TYPES: dict[Kind, str] = {"timeseries": "timeseries", "bars": "barchart", "stat": "stat", "table": "table"}
_UNITS: dict[Unit, str] = {
    "count": "short",
    "share": "percentunit",
    "score": "none",
    "number": "none",
    "ms": "ms",
    "seconds": "s",
    "bytes": "bytes",
    "time": "dateTimeAsIso",
    "text": "string",
}
_DECIMALS: dict[Unit, int] = {"share": 1, "score": 3, "number": 1, "count": 0}
_NULLS = [{"type": "special", "options": {"match": "null+nan", "result": {"text": NOT_MEASURED, "index": 0}}}]
_NO_LEGEND = {"showLegend": False, "displayMode": "list", "placement": "bottom", "calcs": []}
_LEGEND = {**_NO_LEGEND, "showLegend": True}
_TOOLTIP = {"mode": "multi", "sort": "none"}
_LINE = {
    "drawStyle": "line",
    "lineWidth": 2,
    "fillOpacity": 0,
    "showPoints": "auto",
    "pointSize": 4,
    "spanNulls": False,
    "axisPlacement": "auto",
}


def as_json(dashboard: Dashboard) -> str:
    """The text of a dashboard's file."""
    return json.dumps(dashboard_json(dashboard), indent=2, ensure_ascii=False) + "\n"


def dashboard_json(dashboard: Dashboard) -> dict[str, Any]:
    """A dashboard as Grafana's type `Dashboard` has it."""
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.description,
        "tags": ["ragledger"],
        "schemaVersion": _SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "timezone": "utc",
        "time": {"from": dashboard.since, "to": "now"},
        "refresh": "",
        "links": [_link()],
        "annotations": {"list": [_annotation(one) for one in dashboard.annotations]},
        "templating": {"list": [_variable(one) for one in dashboard.variables]},
        "panels": list(_panels(dashboard)),
    }


def _link() -> dict[str, Any]:
    """To the other dashboards, with the same choices and the same time range."""
    return {
        "type": "dashboards",
        "title": "Ragledger",
        "tooltip": "The other dashboards, with the same choices",
        "icon": "external link",
        "tags": ["ragledger"],
        "asDropdown": False,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "url": "",
    }


def _annotation(annotation: Annotation) -> dict[str, Any]:
    target = {
        "refId": "Anno",
        "format": "table",
        "rawQuery": True,
        "editorMode": "code",
        "rawSql": annotation_query(annotation),
        # Of Grafana's own annotations; its type demands them.
        "limit": 100,
        "matchAny": False,
        "tags": [],
        "type": "tags",
    }
    return {
        "name": annotation.name,
        "datasource": _DATA_SOURCE,
        "enable": True,
        "iconColor": COLOURS[annotation.colour],
        "target": target,
    }


def _variable(variable: Variable) -> dict[str, Any]:
    base: dict[str, Any] = {
        "name": variable.name,
        "label": variable.label,
        "description": variable.description,
        "multi": variable.multi,
    }
    if variable.query is None:
        first = variable.options[0]
        return {
            **base,
            "type": "custom",
            "includeAll": False,
            "query": ",".join(variable.options),
            "current": {"text": first, "value": first},
            "options": [{"text": one, "value": one, "selected": one == first} for one in variable.options],
        }
    every = {} if variable.every is None else {"allValue": f"'{variable.every}'"}
    return {
        **base,
        **every,
        "type": "query",
        "datasource": _DATA_SOURCE,
        "query": variable_query(variable),
        "refresh": 1,
        "includeAll": True,
        "current": {"text": ["All"], "value": ["$__all"]},
        "options": [],
        "sort": 0,
    }


def _panels(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    number, y = 0, 0
    for row in dashboard.rows:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row.title,
            "collapsed": False,
            "gridPos": {"x": 0, "y": y, "w": COLUMNS_OF_A_DASHBOARD, "h": 1},
            "panels": [],
        }
        y += 1
        for panel, x, below in _laid_out(row):
            number += 1
            place = {"x": x, "y": y + below, "w": panel.width, "h": panel.height}
            yield {"id": number, "gridPos": place, **_panel(dashboard, panel)}
        y += max(below + panel.height for panel, _, below in _laid_out(row))


def _laid_out(row: Row) -> Iterator[tuple[Panel, int, int]]:
    """Each panel with its column, and how far below the heading it begins."""
    x = below = tallest = 0
    for panel in row.panels:
        if x + panel.width > COLUMNS_OF_A_DASHBOARD:
            x, below, tallest = 0, below + tallest, 0
        yield panel, x, below
        x, tallest = x + panel.width, max(tallest, panel.height)


def _panel(dashboard: Dashboard, panel: Panel) -> dict[str, Any]:
    target = {
        "refId": "A",
        "datasource": _DATA_SOURCE,
        "format": "time_series" if panel.kind == "timeseries" else "table",
        "rawQuery": True,
        "editorMode": "code",
        "rawSql": panel_query(dashboard, panel),
    }
    return {
        "type": _TYPES[panel.kind],
        "title": panel.title,
        "description": _description(panel.reading),
        "datasource": _DATA_SOURCE,
        "targets": [target],
        "fieldConfig": {
            "defaults": _defaults(panel),
            "overrides": list(_overrides(panel)),
        },
        "options": _options(panel),
    }


def _description(reading: Reading) -> str:
    return (
        f"{reading.shows}\n\n**Good:** {reading.good}\n\n**Bad:** {reading.bad}\n\n**Do:** {reading.do}\n\n"
        "Counted in whole minutes, hours or days, by the length of the time range."
    )


def _defaults(panel: Panel) -> dict[str, Any]:
    steps = [{"color": COLOURS[one.colour], "value": one.start} for one in panel.steps]
    defaults: dict[str, Any] = {
        "noValue": panel.empty,
        "mappings": _NULLS,
        "color": {"mode": "thresholds"} if steps else {"mode": "fixed", "fixedColor": COLOURS["neutral"]},
        "thresholds": {"mode": "absolute", "steps": steps or [{"color": COLOURS["neutral"], "value": None}]},
    }
    if panel.kind == "timeseries":
        defaults["custom"] = _LINE
    if panel.kind == "bars":
        defaults["custom"] = {"fillOpacity": 80, "lineWidth": 0}
    if panel.kind in {"timeseries", "bars"} and all(column.unit != "score" for column in panel.columns):
        defaults["min"] = 0
    if panel.largest is not None:
        defaults["max"] = panel.largest
    return defaults


def _overrides(panel: Panel) -> Iterator[dict[str, Any]]:
    for column in panel.columns:
        if column.unit != "time" or panel.kind == "table":
            yield _override(panel, column)


def _override(panel: Panel, column: Column) -> dict[str, Any]:
    properties: dict[str, Any] = {"unit": _UNITS[column.unit]}
    if column.unit in _DECIMALS and not (panel.kind != "table" and column.unit == "count"):
        properties["decimals"] = _DECIMALS[column.unit]
    if column.colour is not None and not panel.steps:
        properties["color"] = {"mode": "fixed", "fixedColor": COLOURS[column.colour]}
    if panel.kind == "timeseries":
        properties.update(_style(panel, column))
    if panel.kind == "table":
        properties["description"] = column.meaning
        if column.unit == "share" and column.colour != "interval":
            properties.update({"min": 0, "max": 1})
            properties["custom.cellOptions"] = {"type": "gauge", "mode": "basic", "valueDisplayMode": "text"}
    return {
        "matcher": {"id": "byName", "options": column.name},
        "properties": [{"id": name, "value": value} for name, value in properties.items()],
    }


def _style(panel: Panel, column: Column) -> dict[str, Any]:
    names = [one.name for one in panel.columns]
    before = names[names.index(column.name) - 1]
    hidden = {"legend": True, "tooltip": False, "viz": False}
    styles: dict[Style, dict[str, Any]] = {
        "line": {},
        "stacked": {
            "custom.drawStyle": "bars",
            "custom.fillOpacity": 80,
            "custom.lineWidth": 0,
            "custom.stacking": {"mode": "normal", "group": "A"},
        },
        "edge": {"custom.lineWidth": 0, "custom.showPoints": "never", "custom.hideFrom": hidden},
        "band": {
            "custom.lineWidth": 0,
            "custom.showPoints": "never",
            "custom.fillBelowTo": before,
            "custom.fillOpacity": 20,
            "custom.hideFrom": hidden,
        },
        "support": {
            "custom.drawStyle": "bars",
            "custom.fillOpacity": 12,
            "custom.lineWidth": 0,
            "custom.axisPlacement": "right",
            "custom.axisLabel": column.name,
            "custom.axisGridShow": False,
            "max": None,
        },
    }
    return styles[column.style]


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "timeseries":
        return {"legend": _LEGEND, "tooltip": _TOOLTIP}
    if panel.kind == "table":
        return {"showHeader": True, "cellHeight": "sm", "frameIndex": 0}
    if panel.kind == "stat":
        return {
            "orientation": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "colorMode": "value",
            "graphMode": "none",
            "justifyMode": "auto",
            "textMode": "value_and_name",
            "percentChangeColorMode": "standard",
            "showPercentChange": False,
            "wideLayout": True,
        }
    return {
        "orientation": "horizontal",
        "xField": panel.columns[0].name,
        "xTickLabelRotation": 0,
        "xTickLabelMaxLength": 40,
        "showValue": "always",
        "stacking": "none",
        "groupWidth": 0.7,
        "barWidth": 0.9,
        "barRadius": 0,
        "fullHighlight": False,
        "legend": _NO_LEGEND if len(panel.columns) == 2 else _LEGEND,
        "tooltip": _TOOLTIP,
    }
