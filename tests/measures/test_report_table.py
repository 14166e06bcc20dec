from __future__ import annotations

import io

import msgspec
import pytest
from measures.some_facts import judged, some_facts, some_measurement, voted
from rich.cells import cell_len

from ragledger.cli.report_table import markdown, show
from ragledger.measures.report import Measurement
from ragledger.measures.tables import NOT_MEASURED, Table, heading, tables


def shown(measurement: Measurement, width: int = 110) -> str:
    out = io.StringIO()
    show(heading(measurement), tables(measurement), file=out, width=width)
    return out.getvalue()


def table(measurement: Measurement, title: str) -> Table:
    return next(one for one in tables(measurement) if one.title.startswith(title))


def test_without_votes_a_person_reads_not_measured_and_never_zero() -> None:
    rows = table(some_measurement(), "Precision").rows
    assert [row[:3] for row in rows] == [("anyone", k, NOT_MEASURED) for k in ("1", "3", "5", "10")]
    assert "0.000" not in shown(some_measurement())


def test_numbers_that_pool_epochs_say_so_and_are_shown_for_each() -> None:
    found = voted()
    assert table(found, "Precision").title == "Precision, across 2 epochs"
    by_epoch = table(found, "Precision by epoch").rows
    assert [row[:3] for row in by_epoch] == [
        ("human", "1111222233334444", "0.667 (0.05-0.99)\n2/3 of 1,820\nthin"),
        ("human", "5555666677778888", "0.000\n0/1 of 1,010\nthin"),
    ]


def test_one_epoch_needs_no_second_table() -> None:
    titles = [one.title for one in tables(some_measurement())]
    assert "Precision" in titles
    assert "Precision by epoch" not in titles


def test_the_order_that_was_used_and_what_it_dropped_are_said() -> None:
    caption = table(voted(), "Precision").caption
    assert "6 searches as delivered to the prompt, 24 as retrieved" in caption
    assert "not delivered and so in no k: 1 hits" in caption


def test_every_rate_shows_its_counts() -> None:
    assert ("degraded", "8.6% (3/35, 3.0%-22.4%)") in table(some_measurement(), "Degraded").rows
    assert "90.0% (27/30, 74.4%-96.5%)" in table(some_measurement(), "What came back").rows[0]


def test_a_percentile_that_needs_more_searches_says_how_many() -> None:
    few = [msgspec.structs.replace(fact, timed=3, p95_ms=80.0) for fact in some_facts().groups]
    assert table(some_measurement(groups=few), "What came back").rows[0][-1] == "n < 20"


@pytest.mark.parametrize("measurement", [some_measurement(), voted()], ids=["no votes", "votes"])
def test_a_hundred_and_ten_columns_are_enough(measurement: Measurement) -> None:
    for line in shown(measurement).splitlines():
        assert cell_len(line) <= 110
    assert "1111222233334444" in shown(measurement), "an epoch can be copied whole"


BIG = (
    "human",
    "10",
    "0.310 (0.24-0.39)\nby 5 voters, thin",
    "6,076",
    "13,244",
    "1,113,244",
    "12.5%",
    "0.13-0.99",
    "0.667 (0.05-0.99)\n6,076 of 13,244",
)


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_no_number_breaks_in_the_middle_in_a_pipe(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = io.StringIO()
    show((), [big_table()], file=out)
    for word in " ".join(BIG).split():
        assert word in out.getvalue().split()


def test_a_narrow_terminal_breaks_between_numbers_and_never_inside_one() -> None:
    out = io.StringIO()
    show((), [big_table()], file=out, width=80)
    for word in " ".join(BIG).split():
        assert word in out.getvalue().split()


def big_table() -> Table:
    return Table(title="T", caption="why", columns=table(voted(), "Precision").columns, rows=(BIG,))


def test_where_nobody_records_accesses_accessed_is_not_measured() -> None:
    silent = some_measurement(votes=judged("1111222233334444", 1, 2, 3))
    assert table(silent, "Ranks").rows[0][2] == NOT_MEASURED
    assert {row[2] for row in table(silent, "Funnel").rows} == {NOT_MEASURED}
    assert "whether any was accessed is not recorded" in table(silent, "Funnel").means
    assert table(voted(), "Ranks").rows[0][2] == "4"


def test_no_colour_codes_where_the_output_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    assert "\x1b" not in shown(voted())


def test_a_name_from_the_application_can_neither_steer_the_terminal_nor_break_a_table() -> None:
    evil = [
        msgspec.structs.replace(fact, surface="a\x1b[31m|[red]b[/red]`c`\n<i>")
        if fact.grouped_by == "surface"
        else fact
        for fact in some_facts().groups
    ]
    measurement = some_measurement(groups=evil)
    assert "\x1b" not in shown(measurement)
    assert "[red]" in shown(measurement, width=200)

    text = markdown(heading(measurement), tables(measurement))
    row = next(line for line in text.splitlines() if line.startswith("| surface"))
    assert "\x1b" not in row
    assert row.count("|") - row.count("\\|") == len(table(measurement, "Searches").columns) + 1
    assert "\\<i\\>" in row


def test_markdown_is_one_github_table_per_heading() -> None:
    text = markdown(("a line",), [Table(title="T", caption="why", columns=("", "n"), rows=(("x\ny", "1"),))])
    assert text == "- a line\n\n### T\n\n|  | n |\n| --- | ---: |\n| x<br>y | 1 |\n\nwhy\n"


def test_every_table_says_in_words_what_it_shows() -> None:
    for one in (*tables(voted()), *tables(some_measurement())):
        assert len(one.caption.split()) >= 5
        assert {len(row) for row in one.rows} == {len(one.columns)}
