"""Collecting the receipts of the searches made inside a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import scope as _scope

if TYPE_CHECKING:
    from .model import Receipt
    from .observation import Observation

__all__ = ["Capture", "capture"]


class Capture:
    """A list of receipts that grows while its block runs, in whatever task or executor the searches happen."""

    def __init__(self, outer: Capture | None) -> None:
        self.receipts: list[Receipt] = []
        self.outer = outer

    def add(self, observation: Observation, receipt: Receipt) -> None:
        """Takes the receipt, unless the search is a member of another one made inside the block."""
        parent = observation.parent
        if parent is None or not self._is_round(parent.scope.capture):
            self.receipts.append(receipt)
        if self.outer is not None:
            self.outer.add(observation, receipt)

    def _is_round(self, inner: Capture | None) -> bool:
        while inner is not None and inner is not self:
            inner = inner.outer
        return inner is self


@contextmanager
def capture() -> Iterator[list[Receipt]]:
    """The receipts of every search made inside, in the order in which they ended.

    Members of a composite retriever are not listed: a vote belongs to the search that the caller made.
    """
    collector = Capture(_scope.scope().capture)
    with _scope.entered({"capture": collector}):
        yield collector.receipts
