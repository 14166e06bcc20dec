"""The rollup job that runs beside the OpenTelemetry Collector: it reads the table, never the spans.

`ragledger collect` runs it, `ragledger verify` checks what it made.
"""

from __future__ import annotations

from .collector import Collector, Passed
from .verification import Difference, Sealed, Verified, verify

__all__ = ["Collector", "Difference", "Passed", "Sealed", "Verified", "verify"]
