"""Makes of a matplotlib SVG one that belongs to the page: its colours are variables, its text has the page's fonts, and
its ids are its own."""

from __future__ import annotations

import re
from typing import TypeAlias
from xml.etree import ElementTree as ET

from ragledger.panels.colours import COLOURS

from .markup import Html
from .palette import STAND_INS, variable

__all__ = ["Drawing", "inlined"]

Drawing: TypeAlias = Html
"""The inside of an `<svg>`, with its view box."""

_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_LONG = re.compile(r"-?\d+\.\d{2,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"font: ([\d.]+)px [^;]*")
_GEOMETRY = frozenset({"d", "x", "y", "width", "height", "transform", "points", "viewBox"})
_HUES = {value.lower(): variable(name) for name, value in COLOURS.items()} | STAND_INS


def inlined(text: str, name: str) -> Drawing:
    """The drawing as an element for HTML: no prolog, no metadata, no namespaces."""
    root = ET.fromstring(text)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in {"metadata", "style"}]:
            parent.remove(child)
    used = _used(root)
    for element in root.iter():
        attributes = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib.update(
            (key, _value(key, value, name))
            for key, value in attributes.items()
            if key != "id" or value in used
        )
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    _hoisted(root)
    return Html(ET.tostring(root, encoding="unicode"))


def _used(root: ET.Element) -> set[str]:
    used: set[str] = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            used.update(_REFERENCE.findall(value))
            if key.endswith("href"):
                used.add(value.removeprefix("#"))
    return used


def _value(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return f"#{name}-{value.removeprefix('#')}"
    if key in _GEOMETRY:
        return _LONG.sub(lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), " ".join(value.split()))
    value = _REFERENCE.sub(lambda match: f"url(#{name}-{match[1]})", value)
    value = _FONT.sub(lambda match: f"font-size: {match[1]}px", value)
    return _COLOUR.sub(lambda match: _HUES.get(match[0], match[0]), value)


def _hoisted(root: ET.Element) -> None:
    """Drops groups that say nothing, of which matplotlib makes many, and the white space around them."""
    root.text = None
    for element in list(root.iter()):
        if element.tag not in {"text", "tspan"}:
            element.text = None
        element.tail = None
        children: list[ET.Element] = []
        for child in element:
            children += _said(child)
        element[:] = children


def _said(element: ET.Element) -> list[ET.Element]:
    if element.tag == "defs" and not len(element):
        return []
    if element.tag == "g" and not element.attrib:
        return [said for child in element for said in _said(child)]
    return [element]
