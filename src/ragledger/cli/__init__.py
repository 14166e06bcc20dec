"""The command line. Exit codes: 0 done, 1 the check it makes failed, 2 it could not be run."""

from __future__ import annotations

from .app import main

__all__ = ["main"]
