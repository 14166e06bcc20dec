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
from .ledger import Ledger
from .model import Candidate, Outcome, Receipt
from .observation import current
from .scope import context, propagate, suppress
from .weights import Weights
from .wiring import open

__all__ = [
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
    "Receipt",
    "SchemaError",
    "UnknownSearch",
    "VoteRefused",
    "Weights",
    "capture",
    "context",
    "current",
    "open",
    "propagate",
    "suppress",
]
