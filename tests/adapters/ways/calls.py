"""A table of calls: what an application does with a retriever, and how many rows that has to give.

Each call runs inside its own `surface`, so that one read of the table tells what came of which.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import ragledger

__all__ = ["Call", "Calls", "expected_of", "outcome_of", "run_all"]


class Call(NamedTuple):
    """`roots`: depth-0 rows; `members`: rows below them."""

    run: Callable[[Any], Any]
    roots: int = 1
    members: int = 0


class Calls(dict[str, Call]):
    """Collects calls under the names of their functions."""

    def __call__(self, roots: int = 1, members: int = 0) -> Callable[[Any], Any]:
        def register(run: Callable[[Any], Any]) -> Callable[[Any], Any]:
            assert run.__name__ not in self
            self[run.__name__] = Call(run, roots, members)
            return run

        return register


async def run_all(calls: Calls, make: Callable[[], Any]) -> None:
    """Every call with a retriever of its own."""
    for name, call in calls.items():
        with ragledger.context(surface=name):
            done = call.run(make())
            if inspect.isawaitable(done):
                await done


def expected_of(calls: Calls) -> dict[str, Any]:
    return {name: (call.roots, call.members, set()) for name, call in calls.items()}


def outcome_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """For each surface: depth-0 rows, rows below, and what is wrong with any of them."""
    found: dict[str, tuple[int, int, set[str]]] = {}
    roots = {row["search_id"] for row in rows if row["depth"] == 0}
    for row in rows:
        root, below, wrong = found.get(row["surface"], (0, 0, set()))
        if row["depth"] == 0:
            root += 1
            if row["parent_id"] is not None or row["root_id"] != row["search_id"]:
                wrong.add("a root that is not one")
        else:
            below += 1
            if row["root_id"] not in roots:
                wrong.add("a member without its root")
        if row["status"] != "ok" or row["flags"] or row["admitted_count"] is None:
            wrong.add(f"{row['status']} {row['flags']} {row['admitted_count']}")
        found[row["surface"]] = (root, below, wrong)
    return found
