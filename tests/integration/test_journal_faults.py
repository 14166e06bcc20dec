"""What happens to the journal's files and their rights while real processes use them, seen from the table."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest
from embedded.world import as_uid
from integration.shipping import RAGLEDGER, World, balanced, run, ship_command, wait_until

from ragledger import Candidate, Ledger, Receipt
from ragledger.journal import directory as files
from ragledger.testing import make_search

pytestmark = [pytest.mark.pg, pytest.mark.processes]

SOMEBODY = 65533


def search(ledger: Ledger, chunk: str = "a") -> Receipt:
    with ledger.search(corpus="c") as found:
        found.candidates(Candidate(chunk, score=0.5))
    return found.receipt


def command(world: World, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*RAGLEDGER, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env=dict(os.environ) | {"RAGLEDGER_DSN": world.database.dsn},
    )


def dead(world: World, count: int = 3) -> tuple[UUID, list[UUID]]:
    """A writer that died before anything of it was shipped, and its searches."""
    journal = world.journal()
    records = [make_search("a") for _ in range(count)]
    for record in records:
        assert journal.put(record) is None
    writer = journal.release()
    assert writer is not None
    return writer.writer_id, [record.search_id for record in records]


# --- lock files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_p5_without_a_readable_lock_file_verify_and_doctor_say_so_and_ship_mends_it(
    world: World, how: str
) -> None:
    writer, given = dead(world)
    lock = files.lock_path(world.directory, writer.hex)
    lock.unlink() if how == "missing" else lock.write_bytes(b"\xff" * 4096)
    verified = command(world, "verify", "--writers")
    assert verified.returncode == 1
    assert str(writer) in verified.stdout
    assert f"its lock file is {how}: what it left here is not counted" in verified.stderr
    assert f"its lock file is {how}" in " ".join(command(world, "doctor").stdout.split())
    shipped = ship_command(world.database.dsn)
    assert shipped.returncode == 0
    assert f"writer {writer.hex}: its lock file is {how}; it was made anew" in shipped.stderr
    assert world.stored() == given
    assert list(world.directory.iterdir()) == []
    verified = command(world, "verify", "--writers")
    assert (verified.returncode, verified.stderr) == (0, "")
    assert balanced(world.database, world.directory).written == 3


def test_p5_a_writer_that_was_half_shipped_loses_its_lock_file_and_still_lands_once(world: World) -> None:
    journal = world.journal()
    records = [make_search("a") for _ in range(6)]
    for record in records[:3]:
        journal.put(record)
    world.ship()
    for record in records[3:]:
        journal.put(record)
    writer = journal.release()
    assert writer is not None
    writer.state.path.unlink()
    world.ship()
    assert world.stored() == [record.search_id for record in records]
    assert world.rejected() == {}
    assert balanced(world.database, world.directory).written == 6


def test_a_journal_of_a_newer_release_stays_and_everybody_says_so(world: World) -> None:
    writer, _ = dead(world)
    lock = files.lock_path(world.directory, writer.hex)
    lock.write_bytes(lock.read_bytes()[:8] + b"\x09" + lock.read_bytes()[9:])
    left = sorted(world.directory.iterdir())
    for _ in range(2):
        done = ship_command(world.database.dsn)
        assert done.returncode == 0
        assert f"writer {writer.hex} is left as it is: it was made by a newer release" in done.stderr
    assert sorted(world.directory.iterdir()) == left
    assert "newer release" in command(world, "verify", "--writers").stderr
    assert world.stored() == []


def test_what_cannot_be_shipped_is_logged_once_by_a_running_application(
    world: World, make_ledger: Callable[..., Ledger], caplog: pytest.LogCaptureFixture
) -> None:
    writer, _ = dead(world)
    lock = files.lock_path(world.directory, writer.hex)
    lock.write_bytes(lock.read_bytes()[:8] + b"\x09" + lock.read_bytes()[9:])
    ledger = make_ledger()
    shipper = ledger._parts.backend.thread
    for _ in range(3):
        search(ledger)
        assert ledger.flush(60)
        if shipper.shipper is not None:
            shipper.shipper.rush()
    wait_until(lambda: "made by a newer release" in caplog.text)
    assert len([entry for entry in caplog.records if "newer release" in entry.getMessage()]) == 1


# --- a directory that goes away -------------------------------------------------------------------------------


def test_p5_a_directory_deleted_in_use_costs_what_was_not_shipped_and_that_is_in_the_table(
    world: World, make_ledger: Callable[..., Ledger], caplog: pytest.LogCaptureFixture
) -> None:
    ledger = make_ledger()
    shipped = search(ledger)
    assert ledger.flush(60)
    before = ledger._parts.backend.journal.writer
    shutil.rmtree(world.directory)
    wait_until(lambda: ledger._parts.backend.journal.writer not in {before, None})
    after = search(ledger)
    assert after.search_id is not None
    assert ledger.flush(60)
    assert world.stored() == [shipped.search_id, after.search_id]
    assert "deleted, moved or damaged while in use" in caplog.text


def test_p5_receipts_that_were_deleted_with_the_journal_are_counted_in_the_table(
    world: World, make_ledger: Callable[..., Ledger]
) -> None:
    """A sidecar would have shipped them; there is none yet."""
    ledger = make_ledger(ship="sidecar")
    for _ in range(5):
        search(ledger)
    before = ledger._parts.backend.journal.writer
    shutil.rmtree(world.directory)
    wait_until(lambda: ledger._parts.backend.journal.writer not in {before, None})
    assert ledger.facts()["refused"] == {"lost": 5}
    after = search(ledger)
    ledger.close()
    world.ship()
    assert world.stored() == [after.search_id]
    found = balanced(world.database, world.directory)
    assert (found.offered, found.written, found.refused) == (6, 1, 5)
    assert world.database.value("SELECT refused->>'lost' FROM writers") == "5"


# --- rights ---------------------------------------------------------------------------------------------------

RECORD = """
import logging, os, sys, time
import ragledger
logging.basicConfig()
ledger = ragledger.open(dsn="host=127.0.0.1 port=1", journal_dir=sys.argv[1], key="k" * 32, ship="sidecar")
for line in sys.stdin:
    with ledger.search(corpus="c") as found:
        pass
    print(found.receipt.status, found.receipt.reason, sum(ledger.facts()["refused"].values()), flush=True)
"""


class Application:
    """One that records as somebody else: root may do everything, so the others have to be asked."""

    def __init__(self, base: Path, **options: object) -> None:
        python = str(options.pop("python"))
        self.process = subprocess.Popen(
            [python, "-c", RECORD, str(base)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **options,  # type: ignore[call-overload]
        )

    def search(self) -> list[str]:
        """Status, reason, and how many were refused so far."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, self.process.stderr.read()
        return answer.split()

    def end(self) -> str:
        """What it logged."""
        _, errors = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, errors
        return errors


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody can reach: pytest's own is root's."""
    if os.geteuid() != 0:
        pytest.skip("only root can start processes as somebody else")
    path = Path(tempfile.mkdtemp())
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def application(place: Path) -> Iterator[Callable[[], Application]]:
    started: list[Application] = []

    def start() -> Application:
        started.append(Application(place / "base", **as_uid(SOMEBODY)))
        return started[-1]

    yield start
    for each in started:
        with suppress(OSError):
            each.process.kill()
        each.process.communicate()


def test_p9_nobody_else_can_look_into_a_journal_or_at_one_of_its_files(
    place: Path, application: Callable[[], Application]
) -> None:
    base = place / "base"
    base.mkdir()
    os.chown(base, SOMEBODY, SOMEBODY)
    app = application()
    assert app.search() == ["journalled", "None", "0"]
    app.end()
    [directory] = base.iterdir()
    left = list(directory.iterdir())
    assert left
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in left} == {0o600}
    code = "import os, sys\ntry:\n    os.listdir(sys.argv[1])\nexcept PermissionError:\n    sys.exit(7)"
    options = as_uid(SOMEBODY - 1)
    python = str(options.pop("python"))
    looked = subprocess.run([python, "-c", code, str(directory)], check=False, **options)  # type: ignore[call-overload]
    assert looked.returncode == 7


def test_p5_somebody_elses_directory_is_refused_in_clear_words_counted_and_said_once(
    place: Path, application: Callable[[], Application]
) -> None:
    (place / "base").mkdir(mode=0o777)
    (place / "base").chmod(0o777)
    first = application()
    assert first.search()[0] == "journalled"
    first.end()
    [directory] = (place / "base").iterdir()
    os.chown(directory, SOMEBODY - 1, SOMEBODY - 1)
    directory.chmod(0o777)
    app = application()
    assert [app.search() for _ in range(3)] == [["refused", "no_journal", str(n)] for n in (1, 2, 3)]
    said = [line for line in app.end().splitlines() if "no journal" in line]
    assert len(said) == 1
    assert "no journal (the journal directory belongs to another user)" in said[0]
    assert str(place) not in said[0]


@pytest.mark.parametrize("how", ["read-only", "unreachable"])
def test_p5_a_directory_that_may_not_be_written_refuses_and_is_used_as_soon_as_it_may(
    place: Path, application: Callable[[], Application], how: str
) -> None:
    base = place / "base"
    base.mkdir()
    os.chown(base, SOMEBODY, SOMEBODY)
    base.chmod(0o555 if how == "read-only" else 0o000)
    app = application()
    assert app.search() == ["refused", "no_journal", "1"]
    assert app.search() == ["refused", "no_journal", "2"]
    base.chmod(0o700)
    seen = 2

    def recovered() -> bool:
        nonlocal seen
        status, _, refused = app.search()
        seen = int(refused)
        return status == "journalled"

    wait_until(recovered)
    assert seen >= 2, "what was refused is counted still"
    said = [line for line in app.end().splitlines() if "ragledger.journal" in line]
    assert len(said) == 2
    assert "no journal (Permission denied)" in said[0]
    assert "there is a journal again" in said[1]


def test_p5_a_directory_that_becomes_read_only_in_use_refuses_what_does_not_fit_and_recovers(
    place: Path, application: Callable[[], Application]
) -> None:
    """The segment in use is mapped: it goes on until it is full."""
    base = place / "base"
    base.mkdir()
    os.chown(base, SOMEBODY, SOMEBODY)
    app = application()
    assert app.search()[0] == "journalled"
    [directory] = base.iterdir()
    directory.chmod(0o500)

    def refused() -> bool:
        status, reason, _ = app.search()
        assert (status, reason) in {("journalled", "None"), ("refused", "io_error")}
        return status == "refused"

    wait_until(lambda: any(refused() for _ in range(1000)), timeout_s=120)
    directory.chmod(0o700)
    wait_until(lambda: app.search()[0] == "journalled")
    app.end()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_p5_a_read_only_file_system_is_refused_in_clear_words_and_used_when_it_is_remounted(
    place: Path, world: World, make_ledger: Callable[..., Ledger], caplog: pytest.LogCaptureFixture
) -> None:
    disk = place / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,ro", "tmpfs", str(disk)], check=False
    ).returncode:
        pytest.skip("this container may not mount")
    try:
        ledger = make_ledger(journal_dir=str(disk))
        assert [search(ledger).reason for _ in range(3)] == ["no_journal"] * 3
        assert ledger.facts()["refused"] == {"no_journal": 3}
        said = [entry.getMessage() for entry in caplog.records if entry.levelno >= logging.ERROR]
        assert len(said) == 1
        assert "no journal (Read-only file system)" in said[0]
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        wait_until(lambda: search(ledger).status == "journalled")
        assert ledger.flush(60)
        assert len(world.stored()) == 1
        assert ledger.facts()["refused"]["no_journal"] >= 3
        ledger.close()
        refused = world.database.value("SELECT sum((refused->>'no_journal')::int)::int FROM writers")
        assert refused == ledger.facts()["faults"]["refused:no_journal"]
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_an_application_without_any_place_for_a_journal_still_searches(world: World) -> None:
    done = run(
        "import ragledger\nledger = ragledger.open(journal_dir='/proc/nowhere')\n"
        "with ledger.search() as found:\n    pass\n"
        "print(found.receipt.search_id, ledger.facts()['refused'])",
        world.database.dsn,
    )
    assert done.stdout == "None {'no_journal': 1}\n"
