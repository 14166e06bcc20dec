"""The rerankers of a `ContextualCompressionRetriever`: each has a span of its own inside that of the search.

LangChain says nothing of a compressor at work, so its methods are wrapped on its class, once a search that is traced
has a reranker; which calls belong to a search, the open one tells. Nothing is wrapped where nobody traces.
"""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from ragledger.extraction import plain_number
from ragledger.observation import open_observation
from ragledger.rerankers import is_reranker, model_name
from ragledger.spans.rerank import narrate_rerank

from . import listening
from .installed import known_state
from .weights.compression import steps_of

__all__ = ["listen"]

_METHODS = ("compress_documents", "acompress_documents", "transform_documents", "atransform_documents")
_MODELS = ("model", "model_name", "model_name_or_path")
_LIMITS = ("top_n", "top_k")
_OWN = ("langchain.", "langchain_")
"""Of a class of the application, such a word may be anything."""
_at_work: contextvars.ContextVar[object] = contextvars.ContextVar(
    "ragledger.langchain.reranker", default=None
)


def listen(retriever: Any) -> None:
    """Has the work of its rerankers told of."""
    for step in steps_of(retriever.base_compressor):
        kind = type(step)
        if is_reranker(kind):
            for name in _METHODS:
                if hasattr(kind, name) and not listening.is_own(vars(kind).get(name)):
                    listening.put(kind, name, _telling)


def _telling(name: str, original: Any) -> Any:
    if name.startswith("a"):  # a decorator may hide what is a coroutine

        @functools.wraps(original)
        async def amethod(self: Any, *args: Any, **kwargs: Any) -> Any:
            with _narrated(self, args[0] if args else kwargs.get("documents")):
                return await original(self, *args, **kwargs)

        return amethod

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _narrated(self, args[0] if args else kwargs.get("documents")):
            return original(self, *args, **kwargs)

    return method


@contextmanager
def _narrated(step: Any, documents: Any) -> Iterator[None]:
    """Once for each call: one method of a reranker may be made of another."""
    if _at_work.get() is step:
        yield
        return
    token = _at_work.set(step)
    try:
        with ExitStack() as spans:
            with known_state().guard("span"):
                _enter(spans, step, documents)
            yield
    finally:
        with suppress(ValueError):  # closed from another task
            _at_work.reset(token)


def _enter(spans: ExitStack, step: Any, documents: Any) -> None:
    around = open_observation()
    search = getattr(around.opening, "search", None) if around is not None else None
    compressor = getattr(getattr(search, "retriever", None), "base_compressor", None)
    if search is None or not any(each is step for each in steps_of(compressor)):
        return
    said = _facts(step)
    count = len(documents) if isinstance(documents, (list, tuple)) else None
    for observation in search.observations:
        spans.enter_context(
            narrate_rerank(observation.ledger, model_name=said[0], top_k=said[1], candidate_count=count)
        )


def _facts(step: Any) -> tuple[str | None, int | None]:
    """The names under which LangChain's rerankers have their model and their limit."""
    limits = (plain_number(getattr(step, name, None)) for name in _LIMITS)
    top_k = next((limit for limit in limits if isinstance(limit, int)), None)
    if not type(step).__module__.startswith(_OWN):
        return None, top_k
    given = [getattr(step, name, None) for name in _MODELS]
    given.append(
        getattr(given[0], "model_name", None)
    )  # a cross-encoder is an object that may say its model's name
    return next((name for value in given if (name := model_name(value)) is not None), None), top_k
