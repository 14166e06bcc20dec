"""The other instrumentors, as an application has them; whoever is not installed is skipped by name."""

from __future__ import annotations

import contextvars
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import wrapt
from fix_spans import Spans
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan

from ragledger import Ledger

LANGCHAIN = {
    "openinference": "openinference.instrumentation.langchain:LangChainInstrumentor",
    "official": "opentelemetry.instrumentation.genai.langchain:LangChainInstrumentor",
    "traceloop": "opentelemetry.instrumentation.langchain:LangchainInstrumentor",
}
LLAMA_INDEX = {
    "openinference": "openinference.instrumentation.llama_index:LlamaIndexInstrumentor",
    "official": "opentelemetry.instrumentation.genai.llama_index:LlamaIndexInstrumentor",
    "traceloop": "opentelemetry.instrumentation.llamaindex:LlamaIndexInstrumentorCore",
}
# LlamaIndex is not among them: its own dispatcher decorates with `wrapt`, and nobody leaves anything there.
WRAPPED_BY_THEM = {"langchain", "langchain_core", "langgraph"}
WRAPPERS = (wrapt.FunctionWrapper, wrapt.BoundFunctionWrapper)
OFFICIAL = "opentelemetry.instrumentation.genai."


def orders(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Ours with each of them, and with all of them, in every order of `instrument()`."""
    alone = [pair for name in names for pair in itertools.permutations(("ours", name))]
    return alone + list(itertools.permutations(("ours", *names)))


def instrumentor(where: str) -> Any:
    module, _, name = where.partition(":")
    found = pytest.importorskip(module, reason=f"{module} is not installed", exc_type=ImportError)
    return getattr(found, name)()


@contextmanager
def instrumented(where: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[None]:
    """In this order; undone in the reverse one."""
    started = []
    try:
        for name, given in where:
            started.append(instrumentor(name))
            # The official one for LangChain asks for the distribution `langchain`, which core does without.
            started[-1].instrument(skip_dep_check=True, **given)
        yield
    finally:
        for each in reversed(started):
            each.uninstrument()
        take_off_what_they_left()


def take_off_what_they_left() -> None:
    """Traceloop's for LangChain never takes its wrappers off, and each `signature` of the official one costs
    twice as much per wrapper below it: without this the tests of one process would get slower without end."""
    for name in [name for name in sys.modules if name.partition(".")[0] in WRAPPED_BY_THEM]:
        for owner in [each for each in vars(sys.modules[name]).values() if isinstance(each, type)]:
            for attribute, value in list(vars(owner).items()):
                if isinstance(value, WRAPPERS):
                    setattr(owner, attribute, innermost(value))


def innermost(value: Any) -> Any:
    while isinstance(value, WRAPPERS):
        value = value.__wrapped__
    return value


def entering(known: dict[str, str], ledger: Ledger, spans: Spans) -> Callable[..., Any]:
    """`with entered("ours", "official"):` has them instrumented in this order."""

    def enter(*names: str) -> Any:
        given = {name: {"tracer_provider": spans.provider} for name in known} | {"ours": {"ledger": ledger}}
        return instrumented([(known[name], given[name]) for name in names])

    return enter


def model_package(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traceloop's for LlamaIndex cannot be imported without some `llama-index-llms-*`: an empty one will do."""
    (directory / "llama_index" / "llms").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(directory))
    importlib.import_module("llama_index.llms")


def apart(function: Callable[[], Any]) -> Any:
    """Runs it in a context of its own: what an instrumentor leaves attached after an error ends there."""
    return contextvars.copy_context().run(function)


def scope_of(span: ReadableSpan) -> str:
    assert span.instrumentation_scope is not None
    return span.instrumentation_scope.name


def of_ours(spans: Spans) -> list[ReadableSpan]:
    return [span for span in spans.finished if scope_of(span) == "ragledger"]


def of_others(spans: Spans) -> list[ReadableSpan]:
    return [span for span in spans.finished if scope_of(span) != "ragledger"]


def is_below(span: ReadableSpan, above: ReadableSpan, spans: Spans) -> bool:
    """Whether `above` is the parent of it, or the parent of that, and so on."""
    by_id = {each.context.span_id: each for each in spans.finished}
    at: ReadableSpan | None = span
    while at is not None and at.parent is not None:
        if at.parent.span_id == above.context.span_id and at.context.trace_id == above.context.trace_id:
            return True
        at = by_id.get(at.parent.span_id)
    return False


def ids_of(span: ReadableSpan) -> tuple[bytes, bytes]:
    return span.context.trace_id.to_bytes(16, "big"), span.context.span_id.to_bytes(8, "big")


def nothing_current() -> bool:
    return trace.get_current_span() is trace.INVALID_SPAN


def forget(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if it had never been imported."""
    for name in [name for name in sys.modules if name == prefix or name.startswith(prefix + ".")]:
        monkeypatch.delitem(sys.modules, name)
