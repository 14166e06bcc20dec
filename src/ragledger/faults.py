"""What an exception of the host says about a search, without its message."""

from __future__ import annotations

from .model import ErrorOrigin, Status

__all__ = ["error_origin", "error_type", "status_of"]

_INFRA = frozenset(
    [
        "psycopg",
        "psycopg2",
        "psycopg_pool",
        "asyncpg",
        "sqlalchemy",
        "sqlite3",
        "redis",
        "pymongo",
        "elasticsearch",
        "opensearchpy",
        "qdrant_client",
        "weaviate",
        "pymilvus",
        "chromadb",
        "pinecone",
        "grpc",
    ]
)
_PROVIDER = frozenset(
    [
        "openai",
        "anthropic",
        "cohere",
        "httpx",
        "httpcore",
        "requests",
        "urllib3",
        "aiohttp",
        "google",
        "huggingface_hub",
        "mistralai",
        "voyageai",
        "botocore",
        "boto3",
        "litellm",
        "ollama",
        "together",
    ]
)
_CALLER = (TypeError, ValueError, LookupError, AttributeError, NotImplementedError)


def status_of(exc: BaseException) -> Status:
    """`cancelled` for what is no Exception (cancellation, Ctrl-C, exit), else `error`."""
    return "error" if isinstance(exc, Exception) and not _is_cancellation(exc) else "cancelled"


def _is_cancellation(exc: BaseException) -> bool:
    # By name: `import ragledger` must not import asyncio.
    return any(cls.__name__ == "CancelledError" for cls in type(exc).__mro__)


def error_type(exc: BaseException) -> str:
    """The class, fully qualified, builtins bare: as OpenTelemetry's `error.type`."""
    cls = type(exc)
    return f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")


def error_origin(exc: BaseException) -> ErrorOrigin:
    """Whose fault it looks like, from the class alone.

    Drivers and operating system errors are `infra`, HTTP and model clients `provider`, errors of usage `caller`.
    """
    for cls in type(exc).__mro__:
        package = str(cls.__module__).partition(".")[0]  # None for some classes that were made at run time
        if package in _INFRA:
            return "infra"
        if package in _PROVIDER:
            return "provider"
    if isinstance(exc, OSError):
        return "infra"
    return "caller" if isinstance(exc, _CALLER) else "unknown"
