from __future__ import annotations

from integration.shipping import world

__all__ = ["world"]  # the fixture
