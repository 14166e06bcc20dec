"""Which errors say that the question could not be embedded."""

from __future__ import annotations

import pytest

from ragledger.embedding import embedding_failed


class WrappedError(Exception):
    pass


def embed_query() -> None:
    raise ConnectionError


def get_query_embedding() -> None:
    raise ConnectionError


def _caused() -> None:
    try:
        embed_query()
    except ConnectionError as exc:
        raise WrappedError from exc


def _twice() -> None:
    try:
        _caused()
    except WrappedError as exc:
        raise WrappedError from exc


def _while_handling() -> None:
    try:
        get_query_embedding()
    except ConnectionError:
        _raise()


def _hidden() -> None:
    try:
        embed_query()
    except ConnectionError:
        raise WrappedError from None


def _kept() -> None:
    """As a retrying library does: the error is caught elsewhere, and named later."""
    kept: list[Exception] = []
    try:
        embed_query()
    except ConnectionError as exc:
        kept.append(exc)
    raise WrappedError from kept[0]


def _raise() -> None:
    raise WrappedError


def _raised_by(body: object) -> BaseException:
    with pytest.raises(Exception) as caught:
        body()  # type: ignore[operator]
    return caught.value


@pytest.mark.parametrize(
    "body", [embed_query, get_query_embedding, _caused, _twice, _while_handling, _hidden, _kept]
)
def test_one_that_came_out_of_it_or_was_raised_because_of_it(body: object) -> None:
    assert embedding_failed(_raised_by(body))


def test_another_is_none() -> None:
    assert not embedding_failed(_raised_by(_raise))
    assert not embedding_failed(WrappedError())


def test_what_was_being_handled_before_the_search_is_none_of_it() -> None:
    def search() -> BaseException:
        return _raised_by(_raise)

    try:
        embed_query()
    except ConnectionError:
        later = search()
    assert later.__context__ is not None
    assert not embedding_failed(later)


def test_a_circle_of_causes_ends_and_so_does_a_long_chain() -> None:
    first, second = WrappedError(), WrappedError()
    first.__cause__, second.__cause__ = second, first
    assert not embedding_failed(first)
    last: BaseException = _raised_by(embed_query)
    for _ in range(5000):
        error = WrappedError()
        error.__cause__ = last
        last = error
    assert not embedding_failed(last)
