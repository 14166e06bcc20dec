"""A golden set as a file: written once with its hash, refused when anything but the layout has changed."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ragledger.errors import UnusableJudgments
from ragledger.measures.golden_set import GoldenSet, content_hash

__all__ = ["load", "save"]

_HASH = "content_hash"


def save(golden: GoldenSet, path: Path, *, replace: bool = False) -> str:
    """Freezes the set into one JSON file; its hash.

    Raises:
        UnusableJudgments: there is a file already, or it cannot be written.
    """
    digest = content_hash(golden)
    document = msgspec.to_builtins(golden) | {_HASH: digest}
    try:
        with path.open("wb" if replace else "xb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")
    except FileExistsError:
        raise UnusableJudgments(
            f"{path} exists, and a golden set is frozen: give another name, or --replace"
        ) from None
    except OSError as exc:
        raise UnusableJudgments(f"{path} cannot be written ({type(exc).__name__})") from None
    return digest


def load(path: Path) -> tuple[GoldenSet, str]:
    """The set and its hash, which was verified.

    Raises:
        UnusableJudgments: no such file, no golden set, or one that was changed after it was frozen.
    """
    try:
        document = msgspec.json.decode(path.read_bytes())
    except OSError as exc:
        raise UnusableJudgments(f"{path} cannot be read ({type(exc).__name__})") from None
    except msgspec.DecodeError:
        raise UnusableJudgments(f"{path} is no golden set: not JSON") from None
    frozen = document.pop(_HASH, None) if isinstance(document, dict) else None
    try:
        golden = msgspec.convert(document, GoldenSet)
    except msgspec.ValidationError as exc:  # it names a field and types; its own words, no value of the file
        raise UnusableJudgments(f"{path} is no golden set: {exc}") from None
    digest = content_hash(golden)
    if digest != frozen:
        raise UnusableJudgments(
            f"{path} was changed after it was frozen: its content is {digest[:19]}, it says {str(frozen)[:19]}; "
            "build a new set under a new name"
        )
    return golden, digest
