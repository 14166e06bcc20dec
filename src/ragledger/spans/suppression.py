"""Instrumentation that is switched off here: by others for us, and by us for our own SQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context as otel_context
from opentelemetry.context import Context

__all__ = ["is_suppressed", "quietly"]

_SUPPRESSED: object = True
# The key of the API, made anew per process, and the older plain one: instrumentations look at either.
_KEY = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")
_PLAIN_KEY = "suppress_instrumentation"


def is_suppressed(current: Context) -> bool:
    """Whether no span is wanted here. The row has its own switch."""
    return bool(current.get(_KEY) or current.get(_PLAIN_KEY))


@contextmanager
def quietly() -> Iterator[None]:
    """Our own SQL and our own requests make no spans."""
    current = otel_context.get_current()
    for key in (_KEY, _PLAIN_KEY):
        current = otel_context.set_value(key, _SUPPRESSED, current)
    token = otel_context.attach(current)
    try:
        yield
    finally:
        otel_context.detach(token)
