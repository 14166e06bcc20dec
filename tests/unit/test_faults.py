"""What an exception says about a search: a class and a guess at whose fault it is, never its message."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

import psycopg
import pytest

from ragledger.faults import error_origin, error_type, status_of


def made(name: str, module: Any, *bases: type[BaseException]) -> BaseException:
    return type(name, bases or (Exception,), {"__module__": module})("text of a query")


class Own(Exception):
    """Of an application."""


@pytest.mark.parametrize(
    ("exc", "status"),
    [
        (ValueError(), "error"),
        (TimeoutError(), "error"),
        (asyncio.TimeoutError(), "error"),
        (Own(), "error"),
        (asyncio.CancelledError(), "cancelled"),
        (concurrent.futures.CancelledError(), "cancelled"),
        (made("Mine", "app", asyncio.CancelledError), "cancelled"),
        (made("Cancelled", "trio", BaseException), "cancelled"),
        (KeyboardInterrupt(), "cancelled"),
        (SystemExit(), "cancelled"),
        (GeneratorExit(), "cancelled"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_d30_cancellation_is_not_an_error(exc: BaseException, status: str):
    assert status_of(exc) == status


@pytest.mark.parametrize(
    ("exc", "name"),
    [
        (ValueError("x"), "ValueError"),
        (psycopg.errors.UndefinedTable("x"), "psycopg.errors.UndefinedTable"),
        (Own("x"), f"{Own.__module__}.Own"),
        (made("Odd", None), "None.Odd"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_d21_the_type_is_the_qualified_class(exc: BaseException, name: str):
    assert error_type(exc) == name


@pytest.mark.parametrize(
    ("exc", "origin"),
    [
        (psycopg.OperationalError(), "infra"),
        (made("Lost", "qdrant_client.http.exceptions"), "infra"),
        (made("MyError", "app", psycopg.OperationalError), "infra"),
        (ConnectionResetError(), "infra"),
        (TimeoutError(), "infra"),
        (FileNotFoundError(), "infra"),
        (made("RateLimitError", "openai"), "provider"),
        (made("ReadTimeout", "httpx"), "provider"),
        (made("ConnectTimeout", "requests.exceptions", OSError), "provider"),
        (TypeError(), "caller"),
        (KeyError(), "caller"),
        (UnicodeDecodeError("utf-8", b"", 0, 1, ""), "caller"),
        (NotImplementedError(), "caller"),
        (RuntimeError(), "unknown"),
        (Own(), "unknown"),
        (made("Odd", None), "unknown"),
        (KeyboardInterrupt(), "unknown"),
        (made("Psycopgish", "psycopgish"), "unknown"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else value,
)
def test_the_origin_is_read_from_the_class(exc: BaseException, origin: str):
    assert error_origin(exc) == origin
