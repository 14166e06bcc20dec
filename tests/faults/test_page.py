"""The page of faults: made of facts alone, the same for the same facts, and not older than the suite."""

from __future__ import annotations

import ast
from pathlib import Path

from faults.page import Fact, render

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "faults.md"


def make_fact(test: str, *, section: str = "random", **changes: object) -> Fact:
    values: dict[str, object] = dict.fromkeys(Fact._fields, 0)
    values |= {"section": section, "fault": "f", "how": "h", "caller": "c", "found": "n", "test": test}
    return Fact(**(values | changes))  # type: ignore[arg-type]


def test_the_totals_are_the_sums_of_the_facts_and_mutants_are_kept_apart() -> None:
    facts = [
        make_fact("a", kills=3, receipts=10, rows=11),
        make_fact("b", kills=4, receipts=20, rows=19, lost=1, doubled=2, wrong=3),
        make_fact("c", section="mutants", kills=5, receipts=100, rows=50, lost=50),
    ]
    page = render(facts, "18")
    assert "**7 kills** in 2 scenarios, and 5 more of mutants." in page
    assert "30 receipts, 30 rows, 1 lost, 2 doubled, 3 wrong." in page


def test_the_order_in_which_facts_arrive_changes_nothing() -> None:
    facts = [
        make_fact("b"),
        make_fact("a"),
        make_fact("c", section="votes"),
        make_fact("c", section="outages"),
    ]
    assert render(facts, "18") == render(facts[::-1], "18")


def test_a_cell_cannot_break_the_table() -> None:
    [row] = [line for line in render([make_fact("t", how="a|b\nc")], "18").splitlines() if "`t`" in line]
    assert row.count("|") == 11


def test_the_committed_page_knows_every_test_of_the_suite_and_no_other() -> None:
    written = {
        node.name
        for path in HERE.glob("test_*.py")
        if path.name not in {"test_page.py", "test_benchmarks.py"}  # not run by `make faults`
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.endswith("` |")]
    assert {row.split("`")[-2].partition("[")[0] for row in rows} == written
