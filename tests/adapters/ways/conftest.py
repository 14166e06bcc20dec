"""Both frameworks at once: the fixtures of either adapter's tests."""

from __future__ import annotations

import pytest

pytest.importorskip("langchain_core")
pytest.importorskip("llama_index.core")

from adapters.langchain.conftest import instrument, instrumented, table
from adapters.llama_index.conftest import _process_state, manager, no_faults

__all__ = ["_process_state", "instrument", "instrumented", "manager", "no_faults", "table"]
