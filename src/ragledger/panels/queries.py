"""The statements of the panels, with the parts that they share put in; macros and variables still stand in them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ragledger.panels import sql
from ragledger.sql import named_queries

from .panel import Annotation, Dashboard, Panel, Variable

if TYPE_CHECKING:
    from typing_extensions import LiteralString

__all__ = ["annotation_query", "filled", "panel_query", "variable_query"]

_PART = re.compile(r"\{(\w+)\}")  # `${name:format}` is a variable, and has a colon
_COMMENT = re.compile(r"^--.*\n", re.MULTILINE)


def panel_query(dashboard: Dashboard, panel: Panel) -> LiteralString:
    """What a panel asks."""
    return _statement(dashboard.name, panel.query)


def variable_query(variable: Variable) -> LiteralString:
    """What a variable's choices are asked by."""
    if variable.query is None:
        raise ValueError(f"the choices of `{variable.name}` are fixed")
    return _statement("variables", variable.query)


def annotation_query(annotation: Annotation) -> LiteralString:
    """What an annotation's moments are asked by."""
    return _statement("variables", annotation.query)


def filled(statement: LiteralString) -> LiteralString:
    """A statement with the parts of `fragments.sql` that it names put in; without comments, which may name some too."""
    parts = named_queries("fragments", sql.__name__)
    return _PART.sub(lambda match: filled(parts[match[1]]), _COMMENT.sub("", statement))


def _statement(file: str, name: str) -> LiteralString:
    return filled(named_queries(file, sql.__name__)[name])
