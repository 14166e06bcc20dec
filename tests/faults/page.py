"""docs/faults.md: a table of faults and what became of the records, from facts that the tests measured."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

Facts: TypeAlias = Callable[..., None]
"""The fixture: `facts(section, fault, how, truth, outcome)`, once per scenario."""


class Fact(NamedTuple):
    """One scenario of one test."""

    section: str
    fault: str
    how: str
    kills: int
    times: int
    receipts: int
    rows: int
    lost: int
    doubled: int
    wrong: int
    caller: str
    found: str
    test: str


SECTIONS = {
    "named points": "Killed at a named point",
    "random": "Killed at random moments",
    "outages": "The database is away",
    "votes": "Votes and poison",
    "mutants": "Mutants",
}
_COLUMNS = "fault | how it is produced | times | receipts | rows | lost | doubled | wrong | what the caller saw | test"
_MUTANT_COLUMNS = "mutant | the one change, and where it is played | times | receipts | rows | lost | doubled | wrong | what the check said | test"


def render(facts: Iterable[Fact], postgres: str) -> str:
    """The whole page; the same facts give the same bytes, in whatever order they came."""
    every = sorted(facts, key=lambda fact: (list(SECTIONS).index(fact.section), fact.test, fact.fault))
    sound = [fact for fact in every if fact.section != "mutants"]
    lines = [
        "# Faults and outcomes",
        "",
        "Written by `make faults` from what its tests measured; do not edit.",
        f"Python {platform.python_version()}, PostgreSQL {postgres}.",
        "",
        f"**{sum(fact.kills for fact in sound)} kills** in {len(sound)} scenarios, and"
        f" {sum(fact.kills for fact in every) - sum(fact.kills for fact in sound)} more of mutants."
        f" {_sum(sound, 'receipts')} receipts, {_sum(sound, 'rows')} rows,"
        f" {_sum(sound, 'lost')} lost, {_sum(sound, 'doubled')} doubled, {_sum(sound, 'wrong')} wrong.",
        "",
        "A receipt is what a search or a vote gave back to its caller; processes write each one to a pipe, and an",
        "observer compares what came through it with the table. A process that dies between its last append and its",
        "last receipt leaves a row more. *Lost*: receipts without a row. *Doubled*: receipts with more than one row,",
        "or a second one that the table refused. *Wrong*: rows whose hits are not those that the search returned.",
        "After each scenario `ragledger verify --writers` was run as well; where it complained the test failed.",
    ]
    for section, title in SECTIONS.items():
        rows = [fact for fact in every if fact.section == section]
        if rows:
            columns = _MUTANT_COLUMNS if section == "mutants" else _COLUMNS
            lines += ["", f"## {title}", "", f"| {columns} |", "|---" * 10 + "|"]
            lines += [_row(fact) for fact in rows]
    return "\n".join(lines) + "\n"


def _sum(facts: list[Fact], name: str) -> int:
    return sum(getattr(fact, name) for fact in facts)


def _row(fact: Fact) -> str:
    said = fact.found if fact.section == "mutants" else fact.caller
    cells: list[Any] = [fact.fault, fact.how, fact.times, fact.receipts, fact.rows, fact.lost]
    cells += [fact.doubled, fact.wrong, said, f"`{fact.test}`"]
    return "| " + " | ".join(str(cell).replace("|", "/").replace("\n", " ") for cell in cells) + " |"
