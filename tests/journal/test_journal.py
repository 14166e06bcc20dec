"""The sink of a process: one writer at a time, a new one after a fork, and no search that it could break."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import msgspec
import pytest
from journal.doubles import PLENTY, left_behind

from ragledger.ids import new_id
from ragledger.journal import directory as files
from ragledger.journal.journal import Journal
from ragledger.journal.state import WriterState, lock_is_free
from ragledger.model import AssessmentRecord, Record, Text, TextsRecord
from ragledger.testing import make_search

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


def record(name: str) -> Record:
    return AssessmentRecord(
        search_id=new_id(),
        assessment_id=new_id(),
        name=name,
        value=None,
        method=None,
        weights=None,
        assessed_at=1,
    )


@pytest.fixture
def make_journal(tmp_path: Path) -> Iterator[Callable[..., Journal]]:
    made: list[Journal] = []

    def make(directory: Path | None = None, *, project: str = "test") -> Journal:
        made.append(Journal(directory or tmp_path / "journal", project=project, cap_bytes=PLENTY))
        return made[-1]

    yield make
    for journal in made:
        journal.release()


def names_left(directory: Path, writer_id: UUID) -> list[str]:
    found, damaged = left_behind(directory, writer_id)
    assert damaged == []
    return [msgspec.msgpack.decode(body)[3] for _, body in found]


def writers(directory: Path) -> list[UUID]:
    return [UUID(path.stem) for path in files.locks(directory)]


def test_a_journal_makes_its_directory_and_one_writer(make_journal: Callable[..., Journal]) -> None:
    journal = make_journal()
    for name in "abc":
        assert journal.put(record(name)) is None
    assert len(writers(journal.directory)) == 1
    writer = journal.release()
    assert writer is not None
    assert names_left(journal.directory, writer.writer_id) == ["a", "b", "c"]


def test_a_search_after_the_release_goes_to_a_new_writer(make_journal: Callable[..., Journal]) -> None:
    journal = make_journal()
    journal.put(record("before"))
    first = journal.release()
    assert journal.put(record("after")) is None
    second = journal.release()
    assert first is not None
    assert second is not None
    assert names_left(journal.directory, first.writer_id) == ["before"]
    assert names_left(journal.directory, second.writer_id) == ["after"]


def test_p5_a_release_beside_searching_threads_loses_and_refuses_nothing(
    make_journal: Callable[..., Journal],
) -> None:
    journal = make_journal()
    answers: list[str | None] = []
    stop = threading.Event()

    def search() -> None:
        while not stop.is_set():
            answers.append(journal.put(record("x")))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    released = [journal.release() for _ in range(50)]
    stop.set()
    for thread in threads:
        thread.join()
    released.append(journal.release())
    assert set(answers) == {None}
    left = [names_left(journal.directory, writer.writer_id) for writer in released if writer is not None]
    assert sum(map(len, left)) == len(answers)


def test_p6_without_a_directory_every_record_is_refused_counted_and_said_once(
    make_journal: Callable[..., Journal], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    journal = make_journal(in_the_way)
    assert [journal.put(record("x")) for _ in range(3)] == ["no_journal"] * 3
    assert journal.refused == {"no_journal": 3}
    assert journal.writer is None
    said = [entry for entry in caplog.records if entry.levelno >= logging.ERROR]
    assert len(said) == 1
    assert "searches are refused and counted" in said[0].getMessage()
    assert str(tmp_path) not in caplog.text


def test_a_journal_that_could_not_be_made_is_tried_again_later(
    make_journal: Callable[..., Journal], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ragledger.journal import journal as module

    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    journal = make_journal(in_the_way)
    assert journal.put(record("x")) == "no_journal"
    in_the_way.unlink()
    assert journal.put(record("x")) == "no_journal", "every search would try"
    now = module.time.monotonic() + 6
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    assert journal.put(record("kept")) is None
    writer = journal.release()
    assert writer is not None
    assert names_left(in_the_way, writer.writer_id) == ["kept"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_another_users_directory_takes_no_record(
    make_journal: Callable[..., Journal], tmp_path: Path
) -> None:
    path = tmp_path / "theirs"
    path.mkdir()
    os.chown(path, 12345, 12345)
    assert make_journal(path).put(record("x")) == "no_journal"
    assert list(path.iterdir()) == []


@pytest.mark.parametrize("project", ["a\0b", "\ud800", "x" * 10_000, ""])
def test_whatever_the_project_is_called_there_is_a_writer_that_the_database_takes(
    make_journal: Callable[..., Journal], project: str
) -> None:
    journal = make_journal(project=project)
    assert journal.put(record("x")) is None
    assert journal.writer is not None
    identity = journal.writer.state.identity
    assert "\0" not in identity.project
    assert len(identity.project.encode()) <= 2048


def fork(work: Callable[[], None]) -> int:
    """Runs `work` in a child that ends without clean-up; its pid."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return child


def put(journal: Journal, name: str) -> None:
    assert journal.put(record(name)) is None


def ended_well(child: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_p5_a_forked_child_is_a_new_writer_and_the_parent_goes_on(
    make_journal: Callable[..., Journal],
) -> None:
    journal = make_journal()
    journal.put(record("parent before"))
    mine = journal.writer

    def child() -> None:
        assert journal.writer is None
        assert journal.put(record("child")) is None
        assert journal.writer is not None

    assert ended_well(fork(child))
    assert journal.writer is mine
    assert journal.put(record("parent after")) is None
    assert mine is not None
    assert not lock_is_free(files.lock_path(journal.directory, mine.writer_id.hex)), "its lock was released"
    journal.release()
    left = {writer: names_left(journal.directory, writer) for writer in writers(journal.directory)}
    assert left.pop(mine.writer_id) == ["parent before", "parent after"]
    assert list(left.values()) == [["child"]]


def test_a_child_that_lives_does_not_keep_its_dead_parent_from_being_adopted(tmp_path: Path) -> None:
    """The parent is killed; the child searches on, closes its own journal and stays."""
    code = """
import os, signal, sys, time
from pathlib import Path
sys.path.insert(0, os.environ["TESTS"])
from journal.test_journal import PLENTY, Journal, record
journal = Journal(Path(sys.argv[1]), project="test", cap_bytes=PLENTY)
journal.put(record("parent"))
print(journal.writer.writer_id, flush=True)
parent = os.getpid()
if os.fork() == 0:
    journal.put(record("child"))
    os.kill(parent, signal.SIGKILL)
    while os.getppid() == parent:
        time.sleep(0.01)
    print("parent is dead", flush=True)
    sys.stdin.read()
    os._exit(0)
time.sleep(60)
"""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "journal")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ) | {"TESTS": str(Path(__file__).parent.parent)},
    )
    assert process.stdout is not None
    assert process.stdin is not None
    parent = UUID(process.stdout.readline().strip())
    assert process.stdout.readline() == "parent is dead\n"
    try:
        assert names_left(tmp_path / "journal", parent) == ["parent"]
        child = next(writer for writer in writers(tmp_path / "journal") if writer != parent)
        assert WriterState.adopt(files.lock_path(tmp_path / "journal", child.hex)) is None
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()


def test_a_grandchild_is_a_writer_of_its_own_too(make_journal: Callable[..., Journal]) -> None:
    journal = make_journal()
    journal.put(record("parent"))

    def child() -> None:
        journal.put(record("child"))
        assert ended_well(fork(lambda: put(journal, "grandchild")))
        journal.put(record("child again"))

    assert ended_well(fork(child))
    journal.release()
    left = sorted(names_left(journal.directory, writer) for writer in writers(journal.directory))
    assert left == [["child", "child again"], ["grandchild"], ["parent"]]


def test_a_fork_while_another_thread_appends_leaves_no_lock_behind(
    make_journal: Callable[..., Journal],
) -> None:
    journal = make_journal()
    stop = threading.Event()

    def search() -> None:
        while not stop.is_set():
            journal.put(record("parent"))

    thread = threading.Thread(target=search)
    thread.start()
    try:
        children = [fork(lambda: put(journal, "child")) for _ in range(20)]
        assert all(ended_well(child) for child in children)
    finally:
        stop.set()
        thread.join()


def test_p3_past_half_of_the_cap_texts_are_refused_and_rows_have_the_rest(tmp_path: Path) -> None:
    journal = Journal(tmp_path, project="test", cap_bytes=1 << 20)
    texts = TextsRecord(new_id(), (Text(0, "x" * 8000),))
    journal.prepare()
    for _ in range(1000):
        journal.tend()
        if (refusal := journal.put(texts)) is not None:
            break
    assert refusal == "texts_cap"
    assert journal.put(make_search("a")) is None
    assert journal.writer is not None
    assert journal.writer.state.refused == {"texts_cap": 1}

    segments = [path for _, path in files.segments(tmp_path, journal.writer.writer_id.hex)]
    for path in segments[:-2]:
        path.unlink()  # shipped
    journal.tend()
    assert journal.put(texts) is None
    journal.release()
