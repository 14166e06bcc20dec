"""`ragledger report`: what it reads, what it says, and what it leaves alone."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from dashboards.world import EVERYTHING
from fix_pg import Database
from measures.table_rows import START, TableRows, hit
from psycopg.conninfo import make_conninfo
from report.conftest import MACRO, NASTY, Ran

from ragledger.measurement import Window, measure
from ragledger.panels import dashboards
from ragledger.report.markup import plain
from ragledger.report.picture import Choice, Picture
from ragledger.report.snapshot import read

pytestmark = pytest.mark.pg
Run = Callable[..., Ran]
WINDOW = ("--since", "2026-02-01", "--until", "2026-03-10")
FROM, UNTIL = START - timedelta(days=28), START + timedelta(days=9)


def seen(database: Database, **given: Any) -> Picture:
    choice = Choice(**{"since": FROM, "until": UNTIL, **given})
    with database.connect(role="ragledger_reader") as connection:
        return read(connection, choice, EVERYTHING.end)


def rows(picture: Picture, view: str, query: str) -> list[dict[str, Any]]:
    return [
        dict(zip((column.name for column in shown.panel.columns), row, strict=True))
        for one in picture.views
        if one.dashboard.name == view
        for shown in one.panels
        if shown.panel.query == query
        for row in shown.rows
    ]


def test_it_writes_a_page_and_says_of_what(run: Run, filled: Database, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    ran = run("report", "--html", str(file), "--dsn", filled.dsn, *WINDOW, "--json")
    assert ran.code == 0
    said = json.loads(ran.out)
    text = file.read_text(encoding="utf-8")
    assert said["bytes"] == file.stat().st_size
    assert said["panels"] == text.count("<article") == sum(len(one.panels()) for one in dashboards())
    assert said["projects"] == sorted(["default", "shop", MACRO])
    assert (said["searches"], said["grain"], said["voter"], said["behind"]) == (123, "day", "human", 0)
    assert said["unmeasured"] == []
    assert file.stat().st_mode & 0o777 == 0o600
    assert "All tables" in text  # of `measure`
    assert plain(NASTY).split(" ", maxsplit=1)[0] not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; $a$" in text
    assert "$__timeFrom() $x(1) ${project:csv}" in text


def test_its_numbers_are_those_of_the_table(filled: Database) -> None:
    """P1: whole days on both sides."""
    with filled.connect() as connection:
        measured = measure(connection, Window(since=FROM.replace(hour=0), until=UNTIL.replace(hour=0)))
    picture = seen(filled)
    [hits] = [row for row in rows(picture, "overview", "shares") if "with a hit" in row["share of searches"]]
    assert picture.searches == measured.searches.searches
    assert hits["n"] == measured.searches.hit_rate.of
    assert hits["share"] == measured.searches.hit_rate.rate
    by_k = {row["k"]: row for row in rows(picture, "relevance", "by_k")}
    for k, at in measured.precision.overall["human"].at.items():
        assert by_k[k]["precision"] == pytest.approx(at.precision)
        assert by_k[k]["judged hits"] == at.judged
        assert by_k[k]["low"] < by_k[k]["precision"] < by_k[k]["high"]


def test_a_choice_narrows_it(filled: Database) -> None:
    everything = seen(filled).searches
    one = seen(filled, project="shop")
    assert one.projects == ("shop",)
    assert 0 < one.searches < everything
    assert 0 < seen(filled, project="shop", surface="study").searches < one.searches
    assert seen(filled, epoch="e1").searches + seen(filled, epoch="e2").searches == everything
    assert seen(filled, surface=NASTY, project=MACRO).searches == 2
    kinds = [seen(filled, actor_kind=kind).searches for kind in ("human", "agent")]
    assert sum(kinds) == everything


def test_votes_are_of_one_kind_of_voter_people_first(filled: Database) -> None:
    assert seen(filled).voter == "human"
    agents = seen(filled, voter="agent", k=10)
    row = next(row for row in rows(agents, "relevance", "by_k") if row["k"] == 10)
    with filled.connect() as connection:
        at = measure(connection, Window()).precision.overall["agent"].at[10]
    assert row["judged hits"] == at.judged


def test_where_only_agents_judged_their_votes_are_shown(run: Run, database: Database, tmp_path: Path) -> None:
    made = TableRows()
    made.vote(made.search(hit()), 1, "relevant", "agent:7")
    counted(made, database)
    assert seen(database).voter == "agent"


def test_without_a_bound_it_begins_with_the_first_search(filled: Database) -> None:
    picture = seen(filled, since=None, until=None)
    assert picture.time_range.start == START.replace(minute=0)
    assert picture.time_range.end == EVERYTHING.end
    assert seen(filled, since=START - timedelta(days=300), until=None).time_range == picture.time_range
    assert seen(filled, since=START + timedelta(days=1)).time_range.start == START + timedelta(days=1)


def test_one_hour_of_searches_is_shown_by_minutes(database: Database) -> None:
    made = TableRows()
    for minute in range(5):
        made.search(hit(), started_at=START + timedelta(minutes=minute))
    counted(made, database)
    picture = seen(database, until=START + timedelta(hours=1))
    assert (picture.grain, len(rows(picture, "overview", "searches"))) == ("minute", 5)


def test_what_a_killed_collector_left_and_what_was_erased_is_said(
    run: Run, database: Database, tmp_path: Path
) -> None:
    made = TableRows()
    made.search(hit())
    counted(made, database)
    command = ("report", "--html", str(tmp_path / "r.html"), "--dsn", database.dsn, "--since", "all")
    assert run(*command).err == ""
    with database.connect() as connection:
        connection.execute("INSERT INTO rollup_dirty (project, bucket) VALUES ('default', %s)", [START])
        connection.execute("INSERT INTO rollup_dirty_days (project, day) VALUES ('default', %s)", [START])
    ran = run(*command)
    late = "minutes of searches: 1, days of documents: 1"
    assert ran.err == f"ragledger: not counted yet ({late}), and not on the page; give --collect\n"
    assert f"Not counted yet ({late})" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_why_there_are_no_tables_of_measure_is_said(run: Run, filled: Database, tmp_path: Path) -> None:
    file = tmp_path / "r.html"
    ran = run("report", "--html", str(file), "--dsn", filled.dsn, *WINDOW, "--surface", "(none)")
    assert ran.code == 0
    text = file.read_text(encoding="utf-8")
    assert "cannot ask for <code>(none)</code>" in text
    assert "could not be read" not in text


@pytest.mark.parametrize("option", ["corpus", "surface", "epoch"])
def test_the_word_for_every_one_is_no_choice(run: Run, tmp_path: Path, option: str) -> None:
    ran = run("report", "--html", str(tmp_path / "r.html"), f"--{option}", "(all)")
    assert (ran.code, ran.out) == (2, "")
    assert "stands for every one" in ran.err


@pytest.mark.parametrize(("hours", "grain"), [(5, "minute"), (24 * 5, "hour"), (24 * 60, "day")])
def test_its_rollups_are_those_that_the_panels_read(filled: Database, hours: int, grain: str) -> None:
    picture = seen(filled, since=START, until=START + timedelta(hours=hours))
    times = [row["time"] for row in rows(picture, "overview", "searches")]
    seconds = {"minute": 60, "hour": 3600, "day": 86_400}[grain]
    assert picture.grain == grain
    assert {time.timestamp() % seconds for time in times} == {0}
    assert min(b - a for a, b in pairwise(times)).total_seconds() == seconds


def test_an_empty_table_gives_no_page(run: Run, database: Database, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    ran = run("report", "--html", str(file), "--dsn", database.dsn, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("ragledger: nothing to show: no search since ")
    assert ran.err.endswith(" UTC; the table holds no search\n")
    assert not file.exists()


def test_a_table_that_nobody_counted_says_what_to_run(run: Run, database: Database, tmp_path: Path) -> None:
    made = TableRows()
    made.search(hit())
    counted(made, database, collected=False)
    command = ("report", "--html", str(tmp_path / "report.html"), "--dsn", database.dsn, "--since", "all")
    ran = run(*command)
    assert (ran.code, ran.out) == (2, "")
    assert "run `ragledger collect --once`, or give --collect" in ran.err
    assert list(tmp_path.glob("*.html*")) == []
    ran = run(*command, "--collect")
    assert ran.code == 0
    assert "1 searches in" in ran.out


def test_a_window_without_searches_says_when_the_newest_ran_and_leaves_the_old_page(
    run: Run, filled: Database, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text("old")
    bounds = ("--since", "2025-12-01", "--until", "2026-01-01")
    ran = run("report", "--html", str(file), "--dsn", filled.dsn, "--project", "shop", *bounds)
    assert ran.code == 2
    assert (
        "nothing to show: no search that was counted of project 'shop' since 2025-12-01 00:00 UTC until 2026-01-01 00:00 UTC; "
        "counted are: " in ran.err
    )
    assert ", projects " in ran.err
    assert file.read_text() == "old"


def test_the_reader_of_rollups_has_a_page_without_the_tables_own_numbers(
    run: Run, make_login: Callable[..., str], filled: Database, tmp_path: Path
) -> None:
    login = make_login(member_of=("ragledger_reader",))
    file = tmp_path / "report.html"
    ran = run("report", "--html", str(file), "--dsn", make_conninfo(filled.dsn, user=login), *WINDOW)
    assert ran.code == 0
    assert "of them not measured" not in ran.out
    assert "The table itself could not be read here" in file.read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_is_exit_2(run: Run, filled: Database, tmp_path: Path) -> None:
    ran = run("report", "--html", str(tmp_path / "no" / "r.html"), "--dsn", filled.dsn, *WINDOW)
    assert (ran.code, ran.out) == (2, "")
    assert "cannot be written: no file, or no folder to write to" in ran.err


def test_without_the_library_it_says_what_to_install(
    run: Run, filled: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("ragledger.report.", "matplotlib"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    ran = run("report", "--html", str(tmp_path / "r.html"), "--dsn", filled.dsn)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "ragledger: the report needs matplotlib: pip install 'ragledger[analysis]'\n"


def test_the_page_is_a_function_of_what_was_read(filled: Database) -> None:
    """Two readings at the same moment differ in nothing but how long ago something was."""

    def steady(picture: Picture) -> bytes:
        views = [
            msgspec.structs.replace(
                view, panels=tuple(one for one in view.panels if one.panel.kind != "stat")
            )
            for view in picture.views
            if view.dashboard.name != "pipeline"
        ]
        return msgspec.json.encode(msgspec.structs.replace(picture, views=tuple(views)))

    assert steady(seen(filled)) == steady(seen(filled))


def counted(made: TableRows, database: Database, *, collected: bool = True) -> None:
    from collector_world import arrive, collect

    with database.connect() as connection:
        arrive(connection, made)
        connection.execute("UPDATE writers SET attempted = 1, shipped = 1")
    if collected:
        collect(database)
