"""The ledger that the first search opens, when another thread or a signal comes in the middle of that."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

import ragledger
from ragledger import registry
from ragledger_llama_index.hooks import hooks
from ragledger_llama_index.instrumentor import _FromEnvironment

pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")


@pytest.fixture(autouse=True)
def no_other_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_ledgers", {})


def test_a_child_forked_while_another_thread_opens_it_opens_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waited for ever, in its first search: for a thread that it does not have."""
    opening, end = threading.Event(), threading.Event()
    source = _FromEnvironment(None)

    def hold_on(**_: Any) -> None:
        opening.set()
        end.wait()

    monkeypatch.setattr(ragledger, "open", hold_on)
    thread = threading.Thread(target=source)
    thread.start()
    opening.wait()
    child = os.fork()
    if child == 0:
        try:
            signal.alarm(30)
            monkeypatch.setattr(ragledger, "open", lambda **_: "the child's")
            os._exit(0 if source() == "the child's" else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    end.set()
    thread.join()


def test_a_signal_handler_that_searches_meanwhile_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait for what it has interrupted itself."""
    source = _FromEnvironment(None)
    inside: list[object] = []

    def interrupted(**_: Any) -> str:
        inside.append(source())
        return "opened"

    monkeypatch.setattr(ragledger, "open", interrupted)
    thread = threading.Thread(target=source, daemon=True)  # so that a deadlock is a failure and no hang
    thread.start()
    thread.join(30)
    assert inside == [None]
    assert source() == "opened"
    assert hooks().searches.guard.faults.pop("llama_index.reentry") == 1  # P5: it has no row
