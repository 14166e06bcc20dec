"""A real PostgreSQL from a wheel, shared by the processes of one user and stopped with the last of them."""

from __future__ import annotations

from ragledger.embedded.binaries import cpu_supports_pgvector
from ragledger.embedded.health import crash_hint, status
from ragledger.embedded.layout import default_base
from ragledger.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer", "cpu_supports_pgvector", "crash_hint", "default_base", "status"]
