"""`collector/otelcol.yaml`: every setting is one that its component has, and every name leads somewhere."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from collector.components import COMPONENTS, SERVICE
from collector.otelcol import CONFIG
from jsonschema import Draft202012Validator

_VARIABLE = re.compile(r"\$\{env:(\w+):-([^}]*)\}")
TEXT = CONFIG.read_text(encoding="utf-8")


def resolved(text: str = TEXT) -> dict[str, Any]:
    """As a Collector reads it where no variable is set."""
    found: dict[str, Any] = yaml.safe_load(_VARIABLE.sub(lambda variable: variable[2], text))
    return found


def faults(config: dict[str, Any]) -> list[str]:
    """What a Collector would refuse, as far as the settings of its components tell."""
    found = [
        f"{section}.{name}: {error.json_path}"
        for section, known in COMPONENTS.items()
        for name, given in config[section].items()
        for error in Draft202012Validator(known[name.partition("/")[0]]).iter_errors(given)
    ]
    found += [
        f"service: {error.json_path}"
        for error in Draft202012Validator(SERVICE).iter_errors(config["service"])
    ]
    for name, pipeline in config["service"]["pipelines"].items():
        for section, used in pipeline.items():
            found += [f"{name}: no {section} {one}" for one in used if one not in config[section]]
    found += [
        f"no extension {one}" for one in config["service"]["extensions"] if one not in config["extensions"]
    ]
    return found


def test_every_setting_is_one_of_its_component() -> None:
    assert config_sections() == {*COMPONENTS, "service"}
    assert faults(resolved()) == []


def config_sections() -> set[str]:
    return set(resolved())


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("    limit_mib:", "    limit_mb:"),
        ("check_interval: 1s", "check_interval: 1"),
        ("error_mode: propagate", "error_mode: stop"),
        ("exporters: [prometheus]", "exporters: [prometheus/2]"),
        ("extensions: [health_check]", "extensions: [zpages]"),
        ("context: spanevent", "context: event"),
        ("send_batch_size: 1024", "send_batch_size: many"),
        ("metric_expiration: 3m", "metric_expiry: 3m"),
        ("level: normal", "level: loud"),
    ],
)
def test_a_wrong_one_is_found(right: str, wrong: str) -> None:
    assert TEXT.count(right) == 1
    assert faults(resolved(TEXT.replace(right, wrong))) != []


def test_it_listens_on_loopback_unless_told_otherwise() -> None:
    listening = re.findall(r"(?:endpoint|host): (\S*OTELCOL_HOST\S*)", TEXT)
    assert len(listening) == 5
    assert all(one.startswith("${env:OTELCOL_HOST:-127.0.0.1}") for one in listening)
    assert "0.0.0.0" not in TEXT


def test_every_variable_is_explained_and_no_secret_is_in_the_file() -> None:
    used = {name for name, _ in _VARIABLE.findall(TEXT)}
    explained = set(re.findall(r"^#   ([A-Z_]+) ", TEXT, re.MULTILINE))
    assert used == explained
    assert TEXT.count("$") == len(_VARIABLE.findall(TEXT)) + TEXT.count("No `$` in any pattern")
    assert dict(_VARIABLE.findall(TEXT))["TRACES_AUTHORIZATION"] == ""
