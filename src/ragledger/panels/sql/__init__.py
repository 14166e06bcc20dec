"""The queries of the panels, by name; read through `ragledger.panels.queries`."""

from __future__ import annotations

__all__: list[str] = []
