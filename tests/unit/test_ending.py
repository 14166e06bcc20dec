"""A signal ends a command that runs on, wherever it comes: also within the wait for it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from ragledger.cli.ending import Ending


def stepped(call: Callable[[], object], at: Callable[[int], None]) -> int:
    """How many steps the interpreter takes for the call; `at` is called at each of them."""
    steps = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        frame.f_trace_opcodes = True
        if event == "opcode":
            steps += 1
            at(steps)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.timeout(60)
def test_a_signal_at_any_step_of_the_wait_is_heard_and_blocks_nothing() -> None:
    with Ending() as quiet:
        steps = stepped(lambda: quiet.wait(0), lambda _: None)
    assert steps > 10
    for number in range(1, steps + 1):
        heard: list[bool] = []

        def ask(step: int, number: int = number) -> None:
            if step == number:
                signal.raise_signal(signal.SIGTERM)

        with Ending(lambda heard=heard: heard.append(True)) as ending:  # type: ignore[misc]
            stepped(lambda ending=ending: ending.wait(0), ask)  # type: ignore[misc]
            assert (heard, ending.asked(), ending.wait(3600)) == ([True], True, True), number


def test_without_a_signal_it_waits_and_says_no() -> None:
    with Ending() as ending:
        assert (ending.wait(0.01), ending.asked()) == (False, False)


def test_it_leaves_handlers_and_descriptors_as_they_were() -> None:
    def state() -> tuple[object, ...]:
        handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
        reading, writing = os.pipe()  # the lowest that are free
        os.close(reading)
        os.close(writing)
        return *handlers, reading, writing

    before = state()
    with Ending():
        assert state() != before
    assert state() == before
