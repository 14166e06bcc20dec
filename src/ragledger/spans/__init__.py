"""Spans, by the OpenTelemetry API alone. Narration: nothing is ever measured from them.

By default no text: no query, no chunk, no exception message, no status description.
"""

from __future__ import annotations

from .names import (
    ATTRIBUTES,
    DOCUMENT_ATTRIBUTES,
    FEEDBACK_ATTRIBUTES,
    RERANK_ATTRIBUTES,
    SCOPE_NAME,
    TEXT_ATTRIBUTES,
)
from .narrator import OtelNarrator, narrator_for, scope_version
from .suppression import quietly

__all__ = [
    "ATTRIBUTES",
    "DOCUMENT_ATTRIBUTES",
    "FEEDBACK_ATTRIBUTES",
    "RERANK_ATTRIBUTES",
    "SCOPE_NAME",
    "TEXT_ATTRIBUTES",
    "OtelNarrator",
    "narrator_for",
    "quietly",
    "scope_version",
]
