"""Votes follow content over a reindex that changes every id, and only where it is sure where the content went."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from curation.scene import classes, days, doc, list_documents, of, shown, store
from fix_pg import Database
from measures.table_rows import TableRows

import ragledger
from ragledger import Candidate, Ledger

pytestmark = pytest.mark.pg


def test_votes_follow_content_over_a_real_reindex(
    database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    ledger = make_ledger(content_keys=True)
    before = {"old/guide": "How to plant.", "old/rot": "Wrong advice.", "old/cut": "Text that was rewritten."}
    after = {"new/1": "How to plant.", "new/2": "Wrong advice.", "new/3": "A new text."}

    def search(index: dict[str, str], version: str) -> Any:
        with ragledger.context(index_version=version, corpus="handbook"), ledger.search() as found:
            found.candidates(
                *(
                    Candidate(
                        f"{name}#0", name, content_key=ledger.content_key(text), score=0.5, admitted=True
                    )
                    for name, text in index.items()
                )
            )
        return found.receipt.search_id

    for actor in ("human:ana", "human:ben", "human:cai"):
        old = search(before, "v1")
        for name, outcome in zip(before, ("relevant", "not_relevant", "relevant"), strict=True):
            ledger.vote(old, f"{name}#0", outcome, actor=actor)
    search(after, "v2")
    assert ledger.flush(30)

    found = shown(database)
    assert {one["id"]: one["class"] for one in found["documents"]} == {
        "new/1": "useful",
        "new/2": "not_useful",
        "new/3": "seldom_retrieved",
        "old/guide": "replaced",
        "old/rot": "replaced",
        "old/cut": "useful",
    }
    assert of(found, "new/1")["votes"]["human"]["useful"] == 3
    assert (of(found, "new/1")["retrieved"], of(found, "old/guide")["retrieved"]) == (4, 0)
    assert of(found, "old/guide")["replaced_by"] == ["new/1"]
    assert found["reindex"] == {
        "newest": {"handbook": "v2"}, "votes": 9, "followed": 6, "same_id": 0, "without_key": 0,
        "in_several": 0, "not_seen_since": 3,
    }  # fmt: skip
    # By chunk the same.
    assert classes(database, by_chunk=True)["new/2#0"] == "not_useful"
    # An inventory of today's index knows what became of the rest.
    list_documents(database, *after)
    assert classes(database)["old/cut"] == "gone"


def key(name: str) -> dict[str, Any]:
    return {"content_key": name.encode()}


def table(*searches: tuple[str | None, list[dict[str, Any]]]) -> TableRows:
    rows = TableRows()
    for day, (version, hits) in enumerate(searches):
        search = rows.search(*hits, index_version=version, started_at=days(day))
        for rank in range(1, len(hits) + 1):
            rows.vote(search, rank, "relevant")
    return rows


def test_content_of_several_documents_follows_nowhere(database: Database) -> None:
    store(
        table(
            ("v1", [doc("a", **key("licence")), doc("b", **key("licence"))]),
            ("v1", [doc("c", **key("footer"))]),
            ("v2", [doc("b", **key("licence"))]),
            ("v2", [doc("d", **key("footer")), doc("e", **key("footer"))]),
        ),
        database,
    )
    found = shown(database)
    # `a` may be there still: that `b` has the same licence says nothing.
    assert {one["id"]: one["votes"]["human"]["useful"] for one in found["documents"]} == {
        "a": 1, "b": 2, "c": 1, "d": 1, "e": 1,
    }  # fmt: skip
    assert {name: found["reindex"][name] for name in ("votes", "followed", "same_id", "in_several")} == {
        "votes": 3, "followed": 0, "same_id": 1, "in_several": 2,
    }  # fmt: skip
    assert "replaced" not in {one["class"] for one in found["documents"]}


def test_votes_follow_over_two_reindexes_and_only_inside_a_corpus(database: Database) -> None:
    rows = table(
        (None, [doc("zero", **key("text"))]),
        ("v1", [doc("one", **key("text"))]),
        ("v2", [doc("two", **key("text")), doc("plain")]),
    )
    rows.search(doc("elsewhere", **key("text")), corpus="other", index_version="v9", started_at=days(9))
    store(rows, database)
    found = shown(database)
    assert of(found, "two")["votes"]["human"]["useful"] == 3
    assert {one["id"]: one["class"] for one in found["documents"]} == {
        "two": "useful", "zero": "replaced", "one": "replaced", "plain": "few_votes", "elsewhere": "seldom_retrieved",
    }  # fmt: skip


def test_without_content_keys_no_vote_follows_and_it_is_said(database: Database) -> None:
    store(table(("v1", [doc("a")]), ("v2", [doc("b")])), database)
    found = shown(database)["reindex"]
    assert (found["votes"], found["followed"], found["without_key"]) == (1, 0, 1)


def test_one_index_version_is_no_reindex(database: Database) -> None:
    store(table(("v1", [doc("a", **key("x"))]), ("v1", [doc("b", **key("x"))])), database)
    assert shown(database)["reindex"] is None
