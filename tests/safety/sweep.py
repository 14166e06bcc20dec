"""Raises at a line of our code, the first time that one search comes to it."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import ragledger
import ragledger_langchain
import ragledger_llama_index

OURS = tuple(
    str(Path(package.__file__).parent) + "/"
    for package in (ragledger, ragledger_langchain, ragledger_llama_index)
)
KIT = OURS[0] + "testing/"

# What stands around the guards and so cannot stand in one: calls of ours, attributes of ours, nothing of the user's.
SHELL = frozenset(
    {
        "ragledger/guard.py",
        "ragledger/ledger.py",
        "ragledger/observation.py",
        "ragledger/recorder.py",
        "ragledger/scope.py",
        "ragledger_langchain/recording.py",
        "ragledger_langchain/wrap.py",
        "ragledger_llama_index/handler.py",
        "ragledger_llama_index/hooks.py",
        "ragledger_llama_index/search.py",
    }
)
# What undoes an act has nobody behind it that would undo the rest.
UNDOING = frozenset({"detach"})


class Line(NamedTuple):
    """A line of a function of ours. A comprehension is another function than the one that it stands in."""

    code: CodeType
    number: int

    def __str__(self) -> str:
        return f"{self.module}:{self.number} {self.code.co_name}"

    @property
    def may_fail(self) -> bool:
        """Whether a fault here has to be contained."""
        name = self.code.co_name
        return not {self.module, f"{self.module} {name}"} & SHELL and name not in UNDOING

    @property
    def module(self) -> str:
        path = self.code.co_filename
        root = next(root for root in OURS if path.startswith(root))
        return f"{Path(root).name}/{path[len(root) :]}"


class Boom(Exception):
    """Ours, on purpose."""


def lines_of(search: Callable[[], Any]) -> list[Line]:
    """The lines of ours that the search runs, in the order in which it comes to each first."""
    found: dict[Line, None] = {}
    with Tracing(lambda line: found.setdefault(line)):
        search()
    return list(found)


async def alines_of(search: Callable[[], Awaitable[Any]]) -> list[Line]:
    """Of one that does not wait for anything: it runs in one step of the loop."""
    found: dict[Line, None] = {}
    with Tracing(lambda line: found.setdefault(line)):
        await search()
    return list(found)


class Tracing:
    """Tells of every line of ours that this thread comes to."""

    def __init__(self, tell: Callable[[Line], Any]) -> None:
        self._tell = tell

    def __enter__(self) -> None:
        self._before = sys.gettrace()
        sys.settrace(self._watch)

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _watch(self, frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(OURS) or code.co_filename.startswith(KIT):
            return None
        if event == "line":
            self._tell(Line(code, frame.f_lineno))
        return self._watch


class Raising(Tracing):
    """Raises `fault` where our code first comes to the line, and never again."""

    def __init__(self, at: Line, fault: BaseException) -> None:
        self.at, self.left = at, [fault]
        super().__init__(self._raise)

    def _raise(self, line: Line) -> None:
        if self.left and line == self.at:
            raise self.left.pop()
