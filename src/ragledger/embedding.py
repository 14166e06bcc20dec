"""Whether it was the embedding of the question that failed, as far as an exception tells. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType

__all__ = ["embedding_failed"]

_CALLS = frozenset(
    {
        "embed_query",
        "aembed_query",
        "get_query_embedding",
        "aget_query_embedding",
        "get_agg_embedding_from_queries",
        "aget_agg_embedding_from_queries",
    }
)
"""The methods of both frameworks that embed what is asked."""
_MOST = 32


def embedding_failed(exc: BaseException, handled: BaseException | None = None) -> bool:
    """Whether it came out of a call that embeds the query, also where it was raised because of one that did.

    Of two errors the earlier one counts if it was caught on the way to the later one: a search that runs while
    somebody handles the failure of another has nothing to do with that. `handled` is that other failure, where a search
    that is opened and fails in one and the same function cannot tell it by where it was caught.
    """
    waiting: list[BaseException] = [exc]
    seen = {id(handled)}
    while waiting and len(seen) < _MOST:
        error = waiting.pop()
        if id(error) in seen:
            continue
        seen.add(id(error))
        frames = list(_frames(error))
        if any(frame.f_code.co_name in _CALLS for frame in frames):
            return True
        cause, context = error.__cause__, error.__context__
        if cause is not None:
            waiting.append(cause)
        if context is not None and next(_frames(context), None) in frames:
            waiting.append(context)
    return False


def _frames(error: BaseException) -> Iterator[FrameType]:
    """From where it was caught to where it was raised."""
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next
