"""Builds HTML in which nothing can be anything but text unless it was built here: what is not `Html` is escaped."""

from __future__ import annotations

from html import escape
from typing import TypeAlias

__all__ = ["NBSP", "Child", "Html", "coded", "joined", "plain", "tag"]

NBSP = "\N{NO-BREAK SPACE}"

_VOID = frozenset({"meta", "link", "input", "br"})


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Child: TypeAlias = "Html | str | None"


def tag(name: str, /, *children: Child, **attributes: str | bool | None) -> Html:
    """An element. A trailing `_` of an attribute's name is dropped, others become `-`; None and False leave it out."""
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*children: Child) -> Html:
    """One after the other."""
    return Html("".join(_child(child) for child in children if child is not None))


def coded(text: str) -> Html:
    """What stands between backticks is what one would type."""
    parts = enumerate(text.split("`"))
    return joined(*(tag("code", part) if number % 2 else part for number, part in parts))


def plain(text: str) -> str:
    """On one line, without characters that steer a terminal, break XML or turn the direction of what follows."""
    return "".join(c if c.isprintable() or c == NBSP else _instead(c) for c in text)


def _instead(character: str) -> str:
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def _child(child: Html | str) -> str:
    return child if isinstance(child, Html) else escape(plain(child))


def _attribute(key: str, value: str | bool | None) -> str:  # noqa: FBT001  an attribute that is there or not
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(plain(value))}"'
