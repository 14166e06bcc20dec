"""What is installed in this process, found on the wrapped functions themselves.

So a second copy of the adapter (a reload, a vendored copy) finds it too, and adds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from langchain_core.retrievers import BaseRetriever

from ragledger.guard import Guard

if TYPE_CHECKING:
    from ragledger import Ledger

__all__ = ["MARK", "Mark", "State", "distinct", "known_state", "mark_of", "place_of"]

MARK = "__ragledger_mark__"


class State:
    """Who watches in this process: one object, however many copies of the adapter there are."""

    def __init__(self) -> None:
        self.everywhere: tuple[Ledger, ...] = ()
        self.observing = False
        self.guard = Guard()

    def __reduce__(self) -> tuple[Any, ...]:
        # cloudpickle copies the methods of a class of `__main__`, our wrappers and this with them: by reference.
        return known_state, ()


class Mark(NamedTuple):
    """Hangs on every wrapper of ours. `original` is what stood there before; None where it was inherited."""

    wrapper: Any
    original: Any
    owner: type
    state: State


def mark_of(function: Any) -> Mark | None:
    """The mark of the wrapper that `function` is, or that another library's wrapper around it shows through.

    `functools.wraps` copies it and wrapt hands it on, so a function of the application can show one as well that
    is not its own: `owner` and `wrapper` tell.
    """
    mark: Mark | None = getattr(function, MARK, None)
    return mark


def known_state() -> State:
    """What is installed; a fresh one where nothing is."""
    mark = mark_of(BaseRetriever.__dict__["invoke"])
    return mark.state if mark is not None else State()


def distinct(ledgers: Iterable[Ledger]) -> tuple[Ledger, ...]:
    """Each ledger once. Two of one name that write the same project to the same table are one ledger.

    So an application under `opentelemetry-instrument` that also opens its ledger by hand gets one row.
    """
    found: dict[tuple[str, ...], Ledger] = {}
    for ledger in ledgers:
        found.setdefault(place_of(ledger), ledger)
    return tuple(found.values())


def place_of(ledger: Ledger) -> tuple[str, ...]:
    """Under which name it writes, and where to: the same for ledgers that are one."""
    settings = ledger.settings
    return ledger.name, settings.dsn, settings.schema, settings.project
