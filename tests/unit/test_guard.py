"""The only place that swallows: counts always, logs thinly, names the type and never the message."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading

import pytest
from unit.core import SECRET

from ragledger.guard import Guard

LINE = "ragledger: fault in row ({}), {} so far; the search went on"


def test_a_fault_is_swallowed_and_counted_by_kind():
    guard = Guard()
    for kind in ("row", "row", "span"):
        with guard(kind):
            raise ValueError(SECRET)
    with guard("row"):
        pass
    assert guard.faults == {"row": 2, "span": 1}


def test_strict_counts_and_raises_the_same_object():
    guard = Guard(strict=True)
    fault = ValueError(SECRET)
    with pytest.raises(ValueError) as caught, guard("row"):
        raise fault
    assert caught.value is fault
    assert guard.faults == {"row": 1}


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError])
def test_what_is_no_fault_of_ours_passes_uncounted(kind: type[BaseException]):
    guard = Guard()
    with pytest.raises(kind), guard("row"):
        raise kind
    assert guard.faults == {}


def test_the_log_has_the_first_the_tenth_and_the_hundredth(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    guard = Guard()
    for number in range(1, 251):
        with guard("row"):
            raise (ValueError if number < 100 else LookupError)(SECRET)
    assert caplog.messages == [
        LINE.format("ValueError", 1),
        LINE.format("ValueError", 10),
        LINE.format("LookupError", 100),
    ]
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


def test_p9_no_message_and_no_traceback_is_ever_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    guard = Guard()
    with guard("row"):
        try:
            raise KeyError(SECRET)
        except KeyError as cause:
            raise ValueError(SECRET) from cause
    guard.count("refused:cap")
    assert SECRET not in caplog.text
    assert all(record.exc_info is None and record.stack_info is None for record in caplog.records)
    assert (
        caplog.messages[-1] == "ragledger: fault in refused:cap (no exception), 1 so far; the search went on"
    )


def test_a_section_may_be_entered_inside_itself():
    guard = Guard()
    with guard("row"):
        with guard("row"):
            raise ValueError
        raise LookupError
    assert guard.faults == {"row": 2}


def test_p5_faults_of_many_threads_at_once_are_all_counted(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.CRITICAL)
    guard = Guard()

    def work() -> None:
        for _ in range(10_000):
            guard.count("row")

    threads = [threading.Thread(target=work) for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert guard.faults == {"row": 80_000}


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # since Python 3.12
def test_a_child_counts_although_another_thread_was_counting_at_the_fork():
    guard = Guard()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with guard._lock:
            held.set()
            done.wait(timeout=30)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(timeout=30)
    try:
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(10)  # ends a child that waits for ever
            guard.count("row")
            os._exit(0 if guard.faults == {"row": 1} else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        done.set()
        thread.join()
