"""What shaped a ranking, read from a retriever: by class, by an allow-list of numbers and short words.

Never `vars()`, never a filter, never a document: a config can hold query text and personal data. See
`ragledger.extraction`. Importing this package registers the extractors; it imports no retriever's package.
"""

from __future__ import annotations

from ragledger.extraction import Call, Reading, read

from . import compression, fusing, local, rewriting, services, stores, vector_store

__all__ = ["FAMILIES", "Call", "Reading", "read"]

FAMILIES = (vector_store, fusing, rewriting, compression, stores, local, services)
