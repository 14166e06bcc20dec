from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _loop_of_the_thread() -> Iterator[None]:
    """LlamaIndex's sync-to-async bridge takes the loop of its thread and never closes it.

    One that it had to make is left to the garbage collector as soon as anybody calls `asyncio.run`, and the warning
    about it fails whichever test is running then.
    """
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()
