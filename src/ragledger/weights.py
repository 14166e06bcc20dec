"""Weights: everything that shaped a ranking, copied by value, and the epoch they define.

An epoch is the set of searches whose effective *ranking parameters*, index version and embedding model are equal.
Which fields of `effective` are ranking parameters is a list fixed per extractor and version (`ranking`), so an
extractor that learns to read one more field changes no epoch. `top_k` is never among them: it is a column.

Weights are frozen when a search opens, because they may be live objects of a retriever; the epoch is named when it
closes, because index version and embedding model may be said until then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal

import msgspec

from . import sanitise
from .digests import blake2b

__all__ = [
    "UNKNOWN",
    "UNREADABLE",
    "FrozenWeights",
    "Weights",
    "canonical",
    "canonical_json",
    "declared",
    "epoch_of",
    "freeze",
]

_TOP_K_NAMES = frozenset({"top_k", "k", "limit", "similarity_top_k"})
_CACHE_SIZE = 1024
_LONGEST_KEY = 4096
_MAX_TEXT = 200
_MAX_DEPTH = 9  # each composite inside another takes a list and a mapping: `extraction.MOST_LEVELS`
_MAX_ITEMS = 256


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """What an extractor read, or what the application declared.

    `configured` is what was set; `effective` is what did shape the ranking (a fusion mode that ignores its weights
    has them in the first only); `unknown` names what is known to exist and could not be read. `ranking` names
    the fields of `effective` that define the epoch; `extractor` is the reader's name and version.
    """

    configured: Mapping[str, Any] = {}
    effective: Mapping[str, Any] = {}
    source: Literal["declared", "extracted", "unknown"] = "unknown"
    unknown: tuple[str, ...] = ()
    ranking: frozenset[str] = frozenset()
    extractor: str | None = None


class FrozenWeights(msgspec.Struct, frozen=True):
    """The text of the `weights` column and of the ranking parameters: immutable, so that rows may share it."""

    json: str
    ranking: str
    extractor: str | None
    readable: bool
    epoch: str
    """With no index version and no embedding model."""
    columns: tuple[Any, ...] | None
    """`weights` to `extractor_version` of a row without an index version and an embedding model, made once for all
    rows; None where they need a second look."""


UNKNOWN = Weights()
UNREADABLE = Weights(unknown=("all",))
"""Where weights are known to exist and nothing of them can be read."""


def declared(values: Mapping[str, Any]) -> Weights:
    """Weights that the application states. All of them define the epoch, but for the number of results."""
    ranking = frozenset(str(name) for name in values if name not in _TOP_K_NAMES)
    return Weights(
        configured=values, effective=values, source="declared", ranking=ranking, extractor="declared/1"
    )


def canonical(value: Any, depth: int = 0) -> Any:
    """A JSON value that is equal for equal settings: floats rounded to 9 digits, whole floats as ints.

    Raises:
        TypeError: the value is not a number, short text, bool, None, an enum of those, or a short list or mapping.
    """
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _plain_text(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, (Mapping, list, tuple)):
        if depth >= _MAX_DEPTH or len(value) > _MAX_ITEMS:
            raise TypeError("a setting is too deep or too long")
        if isinstance(value, Mapping):
            return {_plain_text(str(key)): canonical(value[key], depth + 1) for key in sorted(value, key=str)}
        return [canonical(item, depth + 1) for item in value]
    return _canonical_float(value)


def _plain_text(value: str) -> str:
    if len(value) > _MAX_TEXT or "\0" in value:
        raise TypeError("a setting is too long or holds a NUL")
    value.encode("utf-8")
    return str(value)


def _canonical_float(value: Any) -> float | int | str:
    number = float(value)  # numpy scalars too; TypeError for anything else
    if not math.isfinite(number):
        return str(number)
    number = round(number, 9)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def freeze(weights: Weights) -> FrozenWeights:
    """Copies the weights by value. Never raises: a field that cannot be read is named as unknown, the others stay."""
    if weights is UNKNOWN:
        return _UNKNOWN
    try:
        key = _encode(weights)
    except Exception:  # noqa: BLE001  a numpy scalar or a foreign object, which may raise anything: see below
        return _freeze(weights)
    if len(key) > _LONGEST_KEY:
        return _freeze(weights)
    found = _frozen.get(key)
    if found is None:
        if len(_frozen) >= _CACHE_SIZE:
            _frozen.clear()
        found = _frozen[key] = _freeze(weights)
    return found


def _freeze(weights: Weights) -> FrozenWeights:
    try:
        configured, unread = _readable(weights.configured)
        effective, unread_too = _readable(weights.effective)
        unread |= unread_too
        text = _json(
            {
                "configured": configured,
                "effective": effective,
                "source": weights.source,
                "unknown": sorted({*map(str, weights.unknown), *unread}) if unread else weights.unknown,
            }
        )
        kept = {name: effective[name] for name in weights.ranking if effective.get(name) is not None}
        ranking = _json([kept, weights.source == "unknown"])
        epoch, extractor = _name((ranking, None, None)), weights.extractor
        readable = not unread and weights.unknown != UNREADABLE.unknown
        usual = readable and sanitise.text(extractor, set()) == extractor
        columns = (text, epoch, None, None, extractor) if usual else None
        return FrozenWeights(text, ranking, extractor, readable, epoch, columns)
    except Exception:  # noqa: BLE001  no mapping at all, or one that raises when it is walked: nothing can be read
        return _freeze(msgspec.structs.replace(UNREADABLE, extractor=getattr(weights, "extractor", None)))


def _readable(values: Mapping[str, Any]) -> tuple[dict[str, Any], set[str]]:
    """The canonical values by name, and the names of those that have none."""
    if len(values) > _MAX_ITEMS:
        raise TypeError("too many settings")
    kept: dict[str, Any] = {}
    unread: set[str] = set()
    for key, value in values.items():
        name = _plain_text(str(key))
        try:
            kept[name] = canonical(value, 1)
        except Exception:  # noqa: BLE001  a foreign object may raise anything; its name says so
            unread.add(name)
    return kept, unread


def epoch_of(frozen: FrozenWeights, index_version: str | None, embedding_model: str | None) -> str:
    """The name of the epoch: a hash of ranking parameters, index version and embedding model."""
    if index_version is None and embedding_model is None:
        return frozen.epoch
    key = frozen.ranking, index_version, embedding_model
    found = _epochs.get(key)
    if found is None:
        if len(_epochs) >= _CACHE_SIZE:
            _epochs.clear()
        found = _epochs[key] = _name(key)
    return found


def _name(key: tuple[str, str | None, str | None]) -> str:
    return blake2b(_json(key).encode(), digest_size=8).hexdigest()


def canonical_json(values: Mapping[str, Any]) -> str:
    """The text of a canonical value, for a jsonb column. Raises as `canonical` does."""
    return _json(canonical(values))


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


_encode = msgspec.msgpack.Encoder().encode
_frozen: dict[bytes, FrozenWeights] = {}
_epochs: dict[tuple[str, str | None, str | None], str] = {}
_UNKNOWN = _freeze(UNKNOWN)
