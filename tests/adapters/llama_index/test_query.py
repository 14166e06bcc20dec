"""What is asked is found however an override of `retrieve` takes it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from adapters.llama_index.doubles import ListRetriever, scored
from llama_index.core import QueryBundle

from ragledger_llama_index.hooks import hooks


class Starred(ListRetriever):
    def retrieve(self, *args: Any, **kwargs: Any) -> Any:
        return super().retrieve(*args, **kwargs)

    async def aretrieve(self, *args: Any, **kwargs: Any) -> Any:
        return await super().aretrieve(*args, **kwargs)


class Renamed(ListRetriever):
    def retrieve(self, what: Any, **more: Any) -> Any:
        return super().retrieve(what)

    async def aretrieve(self, what: Any, **more: Any) -> Any:
        return await super().aretrieve(what)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    found: list[Any] = []
    searches = hooks().searches
    enter = searches.enter

    def watched(span_id: str, parent: Any, instance: Any, query: Any, tags: Any) -> Any:
        found.append(query)
        return enter(span_id, parent, instance, query, tags)

    monkeypatch.setattr(searches, "enter", watched)
    return found


@pytest.mark.parametrize("query", ["q", QueryBundle("q")], ids=["text", "bundle"])
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("kind", "by_name"),
    [(ListRetriever, False), (ListRetriever, True), (Starred, False), (Starred, True), (Renamed, False)],
)
def test_the_query_is_found_and_a_super_call_is_no_second_search(
    memory_ledger: Any,
    memory_manager: Any,
    asked: list[Any],
    kind: Any,
    by_name: bool,
    asynchronous: bool,
    query: Any,
) -> None:
    made = kind(scored(("a", 1.0)), callback_manager=memory_manager)
    call = made.aretrieve if asynchronous else made.retrieve
    found = call(str_or_query_bundle=query) if by_name else call(query)
    if asynchronous:
        asyncio.run(_wait(found))
    assert len(memory_ledger.searches) == 1
    assert asked
    assert all(item is query for item in asked)


async def _wait(found: Any) -> Any:
    return await found
