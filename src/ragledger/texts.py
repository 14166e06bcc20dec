"""What was asked and what was found, as text: gathered while a search is open, where that is switched on. Pure.

Off unless the application says `store_text=True`, and kept only in `search_texts` (docs/privacy.md). No other record,
span, log line or report reads what is here.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

from .model import SearchRecord, Text, TextsRecord
from .unshown import unshown

__all__ = ["ASK_AGAIN_S", "LONGEST_TEXT", "MOST_TEXTS", "TextsPause", "Told", "texts_of"]

LONGEST_TEXT = 8000
"""Characters that are kept of a text."""
MOST_TEXTS = 100
"""Hits whose texts are kept."""
ASK_AGAIN_S = 300.0
"""How long no text is put after the table took none."""


class TextsPause:
    """Set by the shipper when the table takes no texts, asked by the recorder: else every search cost a rejected number.

    It ends by itself, and the next texts ask the table again.
    """

    def __init__(self) -> None:
        self.until = 0.0

    def begin(self) -> None:
        """The table has no place for them, or this user no right."""
        self.until = time.monotonic() + ASK_AGAIN_S

    @property
    def is_on(self) -> bool:
        """Whether texts would be put in vain."""
        return time.monotonic() < self.until


@unshown
class Told(NamedTuple):
    """What adapter and application have said so far; chunks in the order in which they are returned."""

    query: str | None = None
    chunks: tuple[str | None, ...] = ()

    def and_then(self, query: str | None, chunks: Sequence[str | None]) -> Told:
        """Said later wins; what is not said again stays."""
        return Told(self.query if query is None else query, tuple(chunks) or self.chunks)


def texts_of(record: SearchRecord, told: Told) -> TextsRecord | None:
    """The texts of a search and of its first admitted hits; None where there is none."""
    asked = _text(0, told.query)
    texts: list[Text] = []
    for hit in record.hit_rows:
        if len(texts) == MOST_TEXTS or hit.rank > len(told.chunks):
            break
        if hit.admitted and (found := _text(hit.rank, told.chunks[hit.rank - 1])) is not None:
            texts.append(found)
    if asked is None and not texts:
        return None
    return TextsRecord(record.search_id, (asked or Text(0, None), *texts))


def _text(rank: int, text: object) -> Text | None:
    """As Postgres takes it: no NUL, no unpaired surrogate. What is not text says nothing."""
    if not isinstance(text, str):
        return None
    kept = text[:LONGEST_TEXT].replace("\0", "\\u0000").encode("utf-8", "backslashreplace").decode()
    return Text(rank, kept[:LONGEST_TEXT], len(text) > LONGEST_TEXT or len(kept) > LONGEST_TEXT)
