"""What a Collector would do with our redaction: the four forms of statement that `collector/otelcol.yaml` uses, and no others.

Not OTTL: a grammar for these lines alone, so that a line that is not one of them fails, and the spans of real instrumentors
can be taken through them. Patterns are written in what RE2 and Python's `re` have in common.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

CONFIG = Path(__file__).parents[2] / "collector/otelcol.yaml"

Span = dict[str, Any]
"""As `ReadableSpan.to_json` gives it, with the name of its `scope`."""

_TEXT = r'"((?:[^"\\]|\\.)*)"'
_STATUS = re.compile(r'set\(span\.status\.message, ""\)')
_MATCHING = re.compile(rf"delete_matching_keys\((span|spanevent)\.attributes, {_TEXT}\)")
_KEY = re.compile(
    rf"delete_key\((span|spanevent)\.attributes, {_TEXT}\)(?: where instrumentation_scope\.name != {_TEXT})?"
)
_COMMON = re.compile(r"(?:\\\.|[a-z_()|^.])*")  # no classes, repeats or `$`: the same everywhere


def config() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    return found


def redacted(span: Span) -> Span:
    """The span after `transform/no_text`."""
    span = json.loads(json.dumps(span))
    for group in config()["processors"]["transform/no_text"]["trace_statements"]:
        for statement in group["statements"]:
            _applied(statement, group["context"])(span)
    return span


def _applied(statement: str, context: str) -> Callable[[Span], None]:
    if context == "span" and _STATUS.fullmatch(statement):
        return _without_description
    if found := _MATCHING.fullmatch(statement):
        pattern = json.loads(f'"{found[2]}"')
        assert _COMMON.fullmatch(pattern), f"not in the common part of RE2 and re: {pattern}"
        return _deleting(found[1], context, lambda key: re.search(pattern, key) is not None)
    if found := _KEY.fullmatch(statement):
        deleting = _deleting(found[1], context, lambda key: key == found[2])
        return lambda span: None if span["scope"] == found[3] else deleting(span)
    raise AssertionError(f"no statement that is known here: {statement}")


def _without_description(span: Span) -> None:
    span["status"].pop("description", None)


def _deleting(target: str, context: str, goes: Callable[[str], bool]) -> Callable[[Span], None]:
    assert target == context, f"{target}.attributes in the context {context}"

    def delete(span: Span) -> None:
        for owner in [span] if target == "span" else span["events"]:
            owner["attributes"] = {key: value for key, value in owner["attributes"].items() if not goes(key)}

    return delete
