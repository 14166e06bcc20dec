"""The questions that the table exists for, each in one module: it reads a window and hands the arithmetic to `measures`."""

from __future__ import annotations
