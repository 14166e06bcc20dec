from __future__ import annotations

from integration.conftest import run

__all__ = ["run"]  # the fixture: `ragledger ...` in this process
