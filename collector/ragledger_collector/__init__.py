"""The rollup job that will run beside the OpenTelemetry Collector: it reads the table, never the spans.

Nothing is here yet; the import root is kept so that installing it later changes no name.
"""

from __future__ import annotations

__all__: list[str] = []
