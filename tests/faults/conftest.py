"""The facts of the fault suite travel with the reports of its tests, also from xdist's workers, onto one page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from faults.page import Fact, Facts, render
from faults.proxy import Proxy
from faults.stage import Application, Stage, world_of
from faults.truth import Outcome, Truth
from fix_pg import Database
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from ragledger import Ledger

_KEY = "fault"
_found: list[Fact] = []
_versions: set[str] = set()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults-page", type=Path, help="where to write the table of faults and outcomes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ten processes that start and die take their time on a loaded machine."""
    for item in items:
        if item.get_closest_marker("faults") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(400))


@pytest.fixture
def facts(request: pytest.FixtureRequest, server_dsn: str) -> Iterator[Facts]:
    """Notes what a scenario measured; a test that notes nothing is none of this suite."""
    noted: list[Fact] = []

    def note(
        section: str,
        fault: str,
        how: str,
        truth: Truth,
        outcome: Outcome,
        *,
        times: int | None = None,
        saw: str = "",
    ) -> None:
        noted.append(
            Fact(
                section=section,
                fault=fault,
                how=how,
                kills=truth.kills,
                times=truth.kills if times is None else times,
                receipts=outcome.receipts,
                rows=outcome.rows,
                lost=outcome.lost,
                doubled=outcome.doubled,
                wrong=outcome.wrong,
                caller=truth.caller + saw,
                found="; ".join(outcome.faults) or "nothing",
                test=request.node.name,
            )
        )

    yield note
    assert noted, "no facts for the page"
    with psycopg.connect(server_dsn) as connection:
        version = connection.info.parameter_status("server_version") or ""
    request.node.user_properties += [(_KEY, [version.split()[0], *fact]) for fact in noted]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """In the controller this sees every report; in a worker too, where nobody asks for the page."""
    if report.when == "teardown":
        for version, *fact in (value for key, value in report.user_properties if key == _KEY):
            _found.append(Fact(*fact))
            _versions.add(version)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    path: Path | None = session.config.getoption("--faults-page", None)
    if path is None or hasattr(session.config, "workerinput"):
        return
    if exitstatus != pytest.ExitCode.OK:
        print(f"\n{path} is left as it was: not every test passed")
        return
    path.write_text(render(_found, ", ".join(sorted(_versions))), encoding="utf-8")


@pytest.fixture
def stage(database: Database, server_dsn: str, make_ledger: Callable[..., Ledger]) -> Iterator[Stage]:
    name = str(conninfo_to_dict(database.dsn)["dbname"])
    role = f"app_{name}"  # roles belong to the whole server, which other tests use at the same time
    with (
        psycopg.connect(server_dsn, autocommit=True) as admin,
        Proxy(make_conninfo(database.dsn, user=role)) as proxy,
    ):
        admin.execute(f"CREATE ROLE {role} LOGIN IN ROLE ragledger_writer")
        ledger = make_ledger(dsn=proxy.dsn, strict=False, exit_drain_s=0.0)
        world = world_of(database.dsn, ledger)
        yield Stage(world, ledger, admin, name, role, proxy, Application(ledger))
        ledger.close()
        admin.execute(f"DROP ROLE {role}")
