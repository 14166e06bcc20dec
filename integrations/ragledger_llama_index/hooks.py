"""Two span handlers on LlamaIndex's root dispatcher: the opener runs first, the closer runs last.

The dispatcher calls its handlers in the same order on enter and on exit. With one handler of ours somewhere in the
list, another that attaches context would be undone in the wrong order and an ended span would stay current. The
opener attaches as its last act and is the first to see the exit (where it only stops the clock); the closer detaches
after everybody else. Positions are repaired on enter, by a new list: the dispatcher may be walking the old one.

The dispatcher swallows whatever a handler raises without a word, so everything here is guarded and counted.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any, ClassVar

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.span import BaseSpan
from llama_index_instrumentation.span_handlers import BaseSpanHandler

from ragledger.extraction import load_entry_points

from .search import Search, Searches

__all__ = ["Hooks", "hooks"]

_ROLE = "_ragledger_role"
_OF_QUESTIONS = "_query_embedding"  # what else is embedded is a text, to index or to compare it


class _Handler(BaseSpanHandler[BaseSpan]):
    """Keeps no span of its own, so `open_spans` is always empty: an entry lives in `Searches`."""

    _ragledger_role: ClassVar[str] = ""
    hooks: ClassVar[Hooks]

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    def new_span(self, *args: Any, **kwargs: Any) -> BaseSpan | None:
        return None

    def prepare_to_exit_span(self, *args: Any, **kwargs: Any) -> BaseSpan | None:
        return None

    def prepare_to_drop_span(self, *args: Any, **kwargs: Any) -> BaseSpan | None:
        return None


class _Opener(_Handler):
    _ragledger_role: ClassVar[str] = "opener"

    def span_enter(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        found = self.hooks
        try:
            first = found.in_place()
        except Exception as fault:  # noqa: BLE001  the dispatcher would swallow it without a word
            found.searches.guard.take("llama_index.install", fault)
            first = True
        # Of a search's spans only the outer one counts: `X.retrieve-..` and `X.aretrieve-..`, not `X._retrieve-..`.
        if (".retrieve-" in id_ or ".aretrieve-" in id_) and isinstance(instance, BaseRetriever):
            try:
                search = found.searches.enter(id_, parent_id, instance, _query_of(bound_args), tags)
                if search is not None and not first:
                    _detach(search)
            except Exception as fault:  # noqa: BLE001  the dispatcher would swallow it without a word
                found.searches.guard.take("llama_index.enter", fault)
        else:
            prompts = found.searches.prompts
            if parent_id in prompts.open:
                with found.searches.guard("llama_index.enter"):
                    prompts.child_entered(id_, parent_id, instance, bound_args)
            try:
                if prompts.is_engine(instance):
                    prompts.enter(id_, instance)
            except Exception as fault:  # noqa: BLE001  a foreign object may raise anything
                found.searches.guard.take("llama_index.enter", fault)

    def span_exit(
        self, id_: str, bound_args: Any, instance: Any | None = None, result: Any | None = None, **kwargs: Any
    ) -> None:
        self.hooks.searches.stop(id_)

    def span_drop(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        self.hooks.searches.stop(id_)


class _Closer(_Handler):
    _ragledger_role: ClassVar[str] = "closer"

    def span_enter(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        parent_id: str | None = None,
        tags: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.hooks.searches.restart(id_)

    def span_exit(
        self, id_: str, bound_args: Any, instance: Any | None = None, result: Any | None = None, **kwargs: Any
    ) -> None:
        found = self.hooks
        prompts = found.searches.prompts
        if prompts.open or prompts.processing:
            _leave_prompt(found, id_, result, None)
        try:
            if id_ in found.searches.open:
                found.searches.exit(id_, result)
                found.settle()
            elif _OF_QUESTIONS in id_ and isinstance(instance, BaseEmbedding):
                found.searches.embedding_exited()
        except Exception as fault:  # noqa: BLE001  the dispatcher would swallow it without a word
            found.searches.guard.take("llama_index.exit", fault)

    def span_drop(
        self,
        id_: str,
        bound_args: Any,
        instance: Any | None = None,
        err: BaseException | None = None,
        **kwargs: Any,
    ) -> None:
        found = self.hooks
        prompts = found.searches.prompts
        if prompts.open or prompts.processing:
            _leave_prompt(found, id_, None, err if err is not None else RuntimeError())
        if id_ in found.searches.open:
            with found.searches.guard("llama_index.exit"):
                found.searches.drop(id_, err if err is not None else RuntimeError())
                found.settle()
        elif _OF_QUESTIONS in id_ and isinstance(instance, BaseEmbedding) and isinstance(err, Exception):
            with found.searches.guard("llama_index.exit"):
                found.searches.embedding_dropped()


class Hooks:
    """The pair of handlers and what they know. One per process, found again through the root dispatcher."""

    def __init__(self) -> None:
        self.searches = Searches()
        _Handler.hooks = self
        self._opener = _Opener()
        self._closer = _Closer()
        self._root = get_dispatcher()
        self._wanted: set[str] = set()
        self._lock = threading.RLock()  # re-entrant: a signal handler may search

    def install(self, wanted_by: str) -> None:
        """Puts the handlers in their places. Twice is the same as once."""
        with self.searches.guard("extractors"):
            load_entry_points()
        _check_dispatcher()
        with self._lock:
            self._place()
            self._wanted.add(wanted_by)

    def release(self, wanted_by: str) -> None:
        """Takes the handlers away when nobody else wants them; after the last open search has ended."""
        with self._lock:
            self._wanted.discard(wanted_by)
        self.settle()

    def settle(self) -> None:
        """Leaves the dispatcher as it was, once nobody wants us and nothing is open."""
        if self._wanted or self.searches.open or self.searches.prompts.engines_open:
            return
        with self._lock:
            if not self._wanted:
                self.searches.prompts.clear()
                self.searches.legs.release()
                root = self._root
                root.span_handlers = [handler for handler in root.span_handlers if not self._is_ours(handler)]

    def keep(self) -> None:
        """Puts the handlers back after somebody replaced the whole list."""
        handlers = getattr(self._root, "span_handlers", ())
        if (not handlers or handlers[0] is not self._opener) and self._wanted:
            with self.searches.guard("llama_index.install"), self._lock:
                self._place()

    def in_place(self) -> bool:
        """Whether the opener was first; repairs the order for the next walk of the list when it is not right."""
        handlers = self._root.span_handlers
        first = bool(handlers) and handlers[0] is self._opener
        if not first or handlers[-1] is not self._closer:
            with self._lock:
                if self._wanted:
                    self._place()
        return first

    def _place(self) -> None:
        root = self._root
        while True:
            before = root.span_handlers
            known = len(before)
            others = [handler for handler in before if not self._is_ours(handler)]
            root.span_handlers = [self._opener, *others, self._closer]
            if len(before) == known:
                return  # nobody added a handler to the old list meanwhile

    def _is_ours(self, handler: Any) -> bool:
        return handler is self._opener or handler is self._closer


def hooks() -> Hooks:
    """The hooks of this process: those that stand on the root dispatcher already, also from before a reload."""
    for handler in getattr(get_dispatcher(), "span_handlers", ()):
        if getattr(type(handler), _ROLE, None) == "opener":
            return handler.hooks  # type: ignore[no-any-return]
    return _hooks


def _check_dispatcher() -> None:
    """The dispatcher swallows the TypeError of a handler that is called in another way than it was written for."""
    for method in ("span_enter", "span_exit", "span_drop"):
        theirs = set(inspect.signature(getattr(BaseSpanHandler, method)).parameters)
        ours = set(inspect.signature(getattr(_Opener, method)).parameters)
        if not theirs <= ours:
            raise TypeError(f"{method} takes {', '.join(sorted(theirs))}")


def _query_of(bound: Any) -> Any:
    """What is asked, also where an override takes `*args` or `**kwargs`."""
    arguments = bound.arguments
    if "str_or_query_bundle" in arguments:
        return arguments["str_or_query_bundle"]
    positional = bound.args
    return positional[0] if positional else bound.kwargs.get("str_or_query_bundle")


def _leave_prompt(found: Hooks, span_id: str, result: Any, fault: BaseException | None) -> None:
    prompts = found.searches.prompts
    if span_id in prompts.processing:
        with found.searches.guard("llama_index.exit"):
            prompts.processed(span_id, result, fault)
            found.settle()
    if span_id in prompts.open:
        with found.searches.guard("llama_index.exit"):
            prompts.exit(span_id, came_back=fault is None)
            found.settle()


def _detach(search: Search) -> None:
    """Another handler stands before the opener this once and will be undone before us: stay out of its way."""
    for observation in reversed(search.observations):
        if observation.narration is not None:
            observation.narration.detach()


_hooks = Hooks()
