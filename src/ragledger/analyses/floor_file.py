"""Reads a floor file, TOML or JSON. Nothing writes one: what is good enough is a person's decision."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ragledger.errors import UnusableJudgments
from ragledger.measures.floors import Floors

__all__ = ["load_floors"]


def load_floors(path: Path) -> Floors:
    """The floors of a file.

    Raises:
        UnusableJudgments: it cannot be read, or is no floor file.
    """
    try:
        content = path.read_bytes()
        if path.suffix.lower() == ".json":
            return msgspec.json.decode(content, type=Floors)
        # Keys of a TOML table are text, and so are the ks.
        return msgspec.convert(msgspec.toml.decode(content), Floors, str_keys=True)
    except OSError as exc:
        raise UnusableJudgments(f"{path} cannot be read ({type(exc).__name__})") from None
    except ImportError:  # Python 3.10 reads no TOML by itself
        raise UnusableJudgments(
            f"{path}: TOML needs Python 3.11, or `pip install tomli`; JSON works too"
        ) from None
    except msgspec.MsgspecError as exc:  # it names a field and types, or a place in the file
        raise UnusableJudgments(f"{path} is no floor file: {exc}") from None
    except ValueError:
        raise UnusableJudgments(f"{path} is no floor file: not TOML") from None
