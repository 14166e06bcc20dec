"""Retrieval telemetry as a table: every search with the weights it ran under, every vote with the hit it judges."""

from __future__ import annotations

from .capture import capture
from .errors import (
    ConfigError,
    DatabaseUnavailable,
    EmbeddedError,
    HitNotReturned,
    MalformedReference,
    NothingToMeasure,
    RagledgerError,
    SchemaError,
    UnknownSearch,
    VoteRefused,
)
from .extraction import Call, Reading, extractor
from .ledger import Ledger
from .model import Candidate, Outcome, Receipt, Signal
from .observation import current
from .scope import context, propagate, suppress
from .weights import Weights
from .wiring import open

__all__ = [
    "Call",
    "Candidate",
    "ConfigError",
    "DatabaseUnavailable",
    "EmbeddedError",
    "HitNotReturned",
    "Ledger",
    "MalformedReference",
    "NothingToMeasure",
    "Outcome",
    "RagledgerError",
    "Reading",
    "Receipt",
    "SchemaError",
    "Signal",
    "UnknownSearch",
    "VoteRefused",
    "Weights",
    "capture",
    "context",
    "current",
    "extractor",
    "open",
    "propagate",
    "suppress",
]
