"""What shaped a ranking, read from a retriever by an allow-list of numbers, modes and short words per class.

Never `vars()`: filters and keyword arguments hold personal data and query text, prompts hold both. Configured and
effective are kept apart, because a mode that ignores a setting still shows it. What a language model decides is named
as unknown. A class that is not listed is unknown. docs/adapters-llama-index.md has the list.
"""

from __future__ import annotations

from ragledger.extraction import Reading, read

from . import composites, fusion, graphs, keywords, lexical, sql, summaries, trees, vector

__all__ = ["FAMILIES", "Reading", "read"]

FAMILIES = (vector, lexical, fusion, composites, keywords, summaries, trees, graphs, sql)
"""Importing them registers their extractors."""
