"""One page with something in every panel, drawn once; and a database to make others from."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import pytest
from collector_world import arrive, collect
from dashboards.world import fill
from fix_pg import Admin, Database, a_database
from measures.table_rows import START, TableRows, hit
from report.pictures import picture

from ragledger.cli import main
from ragledger.report.page import page

NASTY = "<script>alert(1)</script> $a$ \"'& 検索 \u202e\x07"
MACRO = "$__timeFrom() $x(1) ${project:csv}"


class Ran(NamedTuple):
    code: int | str | None
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs `ragledger ...` in this process."""

    def ran(*args: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["ragledger", *args])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return Ran(left.value.code or 0, captured.out, captured.err)

    return ran


@pytest.fixture(scope="session")
def full_page() -> str:
    return page(picture(name=NASTY))


@pytest.fixture(scope="session")
def full_file(full_page: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "full.html"
    file.write_text(full_page, encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def filled(admin: Admin, template: str) -> Iterator[Database]:
    """The dashboards' world, and a project, a surface, a reason and a kind with names that are not to be trusted."""
    made = a_database(admin, template)
    database = next(made)
    fill(database)
    rows = TableRows()
    for number, given in enumerate(({}, {"status": "skipped", "skip_reason": NASTY, "latency_ms": None})):
        rows.search(
            *([hit(source_kind=NASTY)] if not given else []),
            search_id=UUID(int=2 * 10**9 + number),
            started_at=START,
            project=MACRO,
            surface=NASTY,
            **given,
        )
    for number, row in enumerate(rows.rows["searches"]):
        row["writer_seq"] = 2 * 10**6 + number
    with database.connect() as connection:
        arrive(connection, rows)
    collect(database)
    yield database
    next(made, None)
