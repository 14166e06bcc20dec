"""The collector's SQL, by name; read through `ragledger.sql.named_queries`."""

from __future__ import annotations

__all__: list[str] = []
