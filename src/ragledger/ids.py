"""Identifiers: time-ordered search ids and keyed fingerprints that reveal no content."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timezone
from uuid import UUID, SafeUUID

from uuid_utils import uuid7

from .digests import blake2b

__all__ = ["fingerprint", "new_id", "normalised", "time_of"]

_new = object.__new__
_UNKNOWN = SafeUUID.unknown
_set_int, _set_is_safe = vars(UUID)["int"].__set__, vars(UUID)["is_safe"].__set__


def new_id() -> UUID:
    """A new UUIDv7 as a `uuid.UUID` (psycopg and msgspec refuse uuid_utils' own class). Unique across forks."""
    made = _new(UUID)  # as uuid_utils.compat does, in half the time: a UUID is immutable but for its slots
    _set_int(made, uuid7().int)
    _set_is_safe(made, _UNKNOWN)
    return made


def fingerprint(text: str, key: bytes) -> bytes:
    """16 bytes of keyed blake2b: equal for equal texts under one key, useless without it.

    Unpaired surrogates are kept apart rather than refused, since frameworks let them through.
    """
    return blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=16).digest()


def normalised(query: str) -> str:
    """A question as it is told from others: width and case folded, white space in one form. Nothing else: words count."""
    return " ".join(unicodedata.normalize("NFKC", query).casefold().split())


def time_of(search_id: UUID) -> datetime | None:
    """When a UUIDv7 was made; None for any other version, and past the year 9999, which no clock of ours says."""
    if search_id.version != 7:
        return None
    try:
        return datetime.fromtimestamp((search_id.int >> 80) / 1000, tz=timezone.utc)
    except (ValueError, OverflowError, OSError):
        return None
