"""The files that Grafana gets: those that the panels build, of Grafana's own types, finding their data source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ragledger.panels import dashboards
from ragledger.panels.__main__ import main
from ragledger.panels.grafana import DATA_SOURCE_UID, dashboard_json
from ragledger.panels.panel import NOT_MEASURED

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dashboards"
TYPES = json.loads(Path(__file__).with_name("grafana_types.json").read_text(encoding="utf-8"))
BUILT = {board.name: dashboard_json(board) for board in dashboards()}
PANELS = [
    pytest.param(panel, id=f"{name}-{panel['title']}")
    for name, board in BUILT.items()
    for panel in board["panels"]
    if panel["type"] != "row"
]
# Of Grafana's SQL data sources: `@grafana/schema` has no type for it.
TARGET = {
    "type": "object",
    "additionalProperties": False,
    "required": ["refId", "datasource", "format", "rawQuery", "rawSql"],
    "properties": {
        "refId": {"const": "A"},
        "datasource": {"const": {"type": "grafana-postgresql-datasource", "uid": DATA_SOURCE_UID}},
        "format": {"enum": ["time_series", "table"]},
        "rawQuery": {"const": True},
        "editorMode": {"const": "code"},
        "rawSql": {"type": "string"},
    },
}


CHECKS = {
    name: jsonschema.Draft7Validator(part)
    for name, part in TYPES["definitions"]["Checked"]["properties"].items()
}


def valid(what: Any, name: str) -> None:
    CHECKS[name].validate(what)


def test_the_committed_files_are_those_that_the_panels_build(tmp_path: Path) -> None:
    main(tmp_path)
    built = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    committed = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert committed == built, "run `make dashboards`"


@pytest.mark.parametrize("name", BUILT)
def test_a_dashboard_is_of_grafanas_type(name: str) -> None:
    board = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert board["schemaVersion"] in {41, 42}
    for annotation in board["annotations"]["list"]:
        # Its target is a query of the data source, which the type knows nothing of.
        target = annotation["target"]
        assert set(target) == {
            "refId",
            "format",
            "rawQuery",
            "editorMode",
            "rawSql",
            "limit",
            "matchAny",
            "tags",
            "type",
        }
        for key in ("refId", "format", "rawQuery", "editorMode", "rawSql"):
            del target[key]
    valid(board, "dashboard")


@pytest.mark.parametrize("spoil", ["gridPoz", "fieldConfig.defaults.nullText", "templating.list.0.alValue"])
def test_a_misspelt_key_would_be_found(spoil: str) -> None:
    board = json.loads((FOLDER / "pipeline.json").read_text(encoding="utf-8"))
    place: Any = board if spoil.startswith("templating") else board["panels"][1]
    *path, key = spoil.split(".")
    for part in path:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[key] = "x"
    with pytest.raises(jsonschema.ValidationError):
        valid(board, "dashboard")


@pytest.mark.parametrize("panel", PANELS)
def test_the_options_of_a_panel_are_those_of_its_kind(panel: dict[str, Any]) -> None:
    kind = panel["type"]
    valid(panel["options"], kind)
    for target in panel["targets"]:
        jsonschema.validate(target, TARGET)
    custom = dict(panel["fieldConfig"]["defaults"].get("custom", {}))
    for override in panel["fieldConfig"]["overrides"]:
        given = {one["id"]: one["value"] for one in override["properties"]}
        styles = {
            name.removeprefix("custom."): value for name, value in given.items() if name.startswith("custom.")
        }
        if kind != "stat":
            required = (
                {"align": "auto", "inspect": False, "cellOptions": {"type": "auto"}}
                if kind == "table"
                else {}
            )
            valid({**required, **custom, **styles}, f"{kind}Field")
        else:
            assert not styles
        known = {"unit", "decimals", "color", "min", "max", "description"}
        assert set(given) - {f"custom.{name}" for name in styles} <= known
    assert {one["matcher"]["id"] for one in panel["fieldConfig"]["overrides"]} == {"byName"}


@pytest.mark.parametrize("panel", PANELS)
def test_p8_an_unknown_number_reads_not_measured(panel: dict[str, Any]) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    [mapping] = defaults["mappings"]
    assert (mapping["options"]["match"], mapping["options"]["result"]["text"]) == ("null+nan", NOT_MEASURED)
    assert defaults["noValue"]
    assert "palette" not in json.dumps(panel), "colours are chosen, never a rainbow"


@pytest.mark.parametrize("name", BUILT)
def test_panels_neither_overlap_nor_share_an_id(name: str) -> None:
    taken: set[tuple[int, int]] = set()
    ids = [panel["id"] for panel in BUILT[name]["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in BUILT[name]["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken
        assert max(x for x, _ in cells) < 24
        taken |= cells


# --- provisioning: Grafana drops what it does not know without a word ------------------------------------------

DATA_SOURCE_KEYS = {"name", "uid", "type", "access", "url", "user", "editable", "jsonData", "secureJsonData"}
JSON_DATA_KEYS = {
    *(
        "database",
        "sslmode",
        "postgresVersion",
        "maxOpenConns",
        "maxIdleConns",
        "connMaxLifetime",
        "timescaledb",
    ),
}
PROVIDER_KEYS = {
    *(
        "name",
        "orgId",
        "folder",
        "type",
        "disableDeletion",
        "allowUiUpdates",
        "updateIntervalSeconds",
        "options",
    ),
}


def provisioned(path: str) -> dict[str, Any]:
    return yaml.safe_load((FOLDER / "provisioning" / path).read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_the_data_source_is_the_one_that_the_panels_ask() -> None:
    given = provisioned("datasources/ragledger.yaml")
    assert set(given) == {"apiVersion", "datasources"}
    assert given["apiVersion"] == 1
    [source] = given["datasources"]
    assert set(source) == DATA_SOURCE_KEYS
    assert set(source["jsonData"]) == JSON_DATA_KEYS, "a `database` outside of it fails from Grafana 12 on"
    assert set(source["secureJsonData"]) == {"password"}
    asked = {
        (one["type"], one["uid"])
        for board in BUILT.values()
        for thing in (*board["panels"], *board["templating"]["list"], *board["annotations"]["list"])
        for one in [thing.get("datasource")]
        if one is not None
    }
    assert asked == {(source["type"], source["uid"])}


def test_no_secret_is_in_a_file() -> None:
    [source] = provisioned("datasources/ragledger.yaml")["datasources"]
    secret = [
        source["url"],
        source["user"],
        source["jsonData"]["database"],
        source["secureJsonData"]["password"],
    ]
    assert all(part.startswith("$GRAFANA_POSTGRES_") for value in secret for part in value.split(":"))


def test_the_provider_reads_files() -> None:
    given = provisioned("dashboards/ragledger.yaml")
    assert set(given) == {"apiVersion", "providers"}
    [provider] = given["providers"]
    assert set(provider) == PROVIDER_KEYS
    assert set(provider["options"]) == {"path", "foldersFromFilesStructure"}
    assert (given["apiVersion"], provider["orgId"], provider["type"]) == (1, 1, "file")
