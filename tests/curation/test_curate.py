"""Documents of a real table: their funnel, their class, and what the table can speak for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from collector_world import collect
from curation.scene import classes, curated, days, doc, id_at, list_documents, of, shown, store
from fix_pg import Database
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from measures.table_rows import TableRows, hit, minutes, padding
from oracles import current_votes, dump, logical_searches

from ragledger.analyses.inventory import Inventory, Item, from_file, from_query, from_table
from ragledger.errors import ConfigError, NothingToMeasure
from ragledger.measures.curation import Least
from ragledger.postgres.connection import connect
from ragledger.removal import remove_searches, retain

pytestmark = pytest.mark.pg


def test_each_document_comes_as_far_as_it_came(database: Database) -> None:
    rows = TableRows()
    first = rows.search(doc("a"), doc("b"), hit("a#2", document_id="a"), doc("c", admitted=False))
    rows.opened(first, 3)
    rows.vote(first, 1, "not_relevant")
    rows.vote(first, 3, "relevant")  # the same actor on another chunk: its best word on the document counts
    rows.vote(first, 3, "not_relevant", by="agent:7")
    second = rows.search(doc("b"), doc("a"), started_at=minutes(5))
    rows.deliver(second, [2])  # b was dropped
    rows.search(doc("a"), status="error")
    store(rows, database)

    found = shown(database)
    a, b, c = (of(found, name) for name in "abc")
    assert [a[name] for name in ("retrieved", "admitted", "shown", "accessed")] == [2, 2, 2, 1]
    assert a["shown_at"] == {"1": 2}
    assert {kind: (v["useful"], v["not_useful"], v["actors"]) for kind, v in a["votes"].items()} == {
        "human": (1, 0, 1),
        "agent": (0, 1, 1),
    }
    assert [b[name] for name in ("retrieved", "admitted", "shown", "accessed")] == [2, 2, 1, 0]
    assert b["shown_at"] == {"2": 1}
    assert [c[name] for name in ("retrieved", "admitted", "shown")] == [1, 0, 0]
    assert (c["votes"], c["expected_accessed"]) == ({}, None)  # unknown, not zero
    assert found["voters"] == {"human": {"votes": 1, "actors": 1}, "agent": {"votes": 1, "actors": 1}}
    # At rank 1 only `a` was voted on, once: it did what was to be expected.
    assert a["votes"]["human"]["useful_over_expected"] == 1.0
    assert [epoch["epoch"] for epoch in found["epochs"]] == ["e1"]


def test_a_place_where_nobody_looks_blames_nobody(database: Database) -> None:
    rows = TableRows()
    for number in range(8):
        search = rows.search(doc("top"), doc("second"), doc("low"), surface="study")
        rows.opened(search, 1)
        if number:
            rows.opened(rows.search(doc("other"), doc("liked"), surface="study"), 2)
        rows.search(doc("quiet"), doc("quieter"), surface="agent")  # nobody ever opens anything there
    store(rows, database)

    assert classes(database) == {
        "top": "few_votes", "liked": "few_votes", "other": "never_accessed", "second": "never_accessed",
        "low": "shown_low", "quiet": "shown_low", "quieter": "shown_low",
    }  # fmt: skip
    assert "where nobody's accesses are recorded" in of(shown(database), "quiet")["reason"]


def test_without_any_access_nothing_is_never_accessed(database: Database) -> None:
    rows = TableRows()
    for _ in range(20):
        rows.search(doc("a"))
    store(rows, database)
    assert classes(database) == {"a": "shown_low"}


def test_never_retrieved_is_said_of_a_complete_table(database: Database) -> None:
    rows = TableRows()
    for _ in range(30):
        rows.search(doc("a"))
    store(rows, database)
    list_documents(database, "a", "unseen")
    list_documents(database, "young", since=minutes(20))
    list_documents(database, "elsewhere", corpus="other")

    found = shown(database)
    assert {one["id"]: (one["class"], one["suggestion"]) for one in found["documents"]} == {
        "a": ("shown_low", None),
        "unseen": ("never_retrieved", "revise"),
        "young": ("never_retrieved", None),  # 10 searches since it is known
        "elsewhere": ("not_known", None),  # nobody searched there
    }
    assert found["kept"] == {"removed_records": 0, "complete_since": None, "why": None}
    assert found["inventory"] == {"source": "the table inventory", "documents": 4, "matched": 1}


def test_a_document_that_the_inventory_lost_is_gone(database: Database) -> None:
    rows = TableRows()
    rows.search(doc("a"), doc("old"))
    rows.search(doc("x"), corpus="other")
    store(rows, database)
    list_documents(database, "a")
    assert classes(database) == {"a": "seldom_retrieved", "old": "gone", "x": "seldom_retrieved"}


def test_purged_is_not_never(database: Database) -> None:
    rows = TableRows()
    for day in range(10):
        for salt in range(4):
            name = "purged" if day < 5 else "kept"
            search = rows.search(
                doc(name),
                started_at=days(day),
                search_id=id_at(days(day), salt),
                root_id=id_at(days(day), salt),
            )
            rows.vote(search, 1, "relevant")
    store(rows, database)
    list_documents(database, "purged", "kept", "unseen")
    list_documents(database, "young", since=days(7))
    assert classes(database)["purged"] == "useful"

    with database.connect() as connection:
        list(retain(connection, days(5)))
    # No collector ran: of the time before nobody knows anything.
    assert classes(database) == {
        "purged": "not_known", "unseen": "not_known", "kept": "useful", "young": "never_retrieved",
    }  # fmt: skip
    found = shown(database)
    assert found["kept"]["removed_records"] == 40
    assert days(4) < parsed(found["kept"]["complete_since"]) < days(5.1)
    # The table can speak for the time since.
    assert classes(database, since=days(5.5))["purged"] == "never_retrieved"


def test_what_the_collector_counted_before_the_purge_is_still_known(database: Database) -> None:
    rows = TableRows()
    for day in (0, 1, 60, 120):
        for salt in range(3):
            name = {0: "ancient", 1: "ancient", 60: "older", 120: "kept"}[day]
            at = id_at(days(day), salt)
            rows.opened(rows.search(doc(name), started_at=days(day), search_id=at, root_id=at), 1)
    store(rows, database)
    collect(database)
    with database.connect() as connection:
        list(retain(connection, days(100)))
    list_documents(database, "ancient", "older", "kept", "unseen")

    found = shown(database)
    assert {one["id"]: one["class"] for one in found["documents"]} == {
        "ancient": "stale", "older": "seldom_retrieved", "kept": "few_votes", "unseen": "not_known",
    }  # fmt: skip
    ancient = of(found, "ancient")
    assert (ancient["retrieved"], ancient["earlier"]["source"], ancient["earlier"]["retrieved"]) == (
        0,
        "rollup_document_days",
        6,
    )
    assert of(found, "kept")["earlier"] is None
    # A surface is not told apart in those rollups, so nothing of them is said of one.
    assert of(shown(database, surface="study"), "older")["class"] == "not_known"


def test_erased_is_not_never(database: Database) -> None:
    rows = TableRows()
    erased = rows.search(doc("erased"), started_at=days(1))
    for day in range(2, 40):
        rows.search(doc("kept"), started_at=days(day))
    store(rows, database)
    list_documents(database, "erased", "kept")
    with database.connect() as connection:
        list(remove_searches(connection, [erased]))
    assert classes(database)["erased"] == "not_known"
    assert parsed(shown(database)["kept"]["complete_since"]) < days(2.1)
    assert classes(database, since=days(2.5))["erased"] == "never_retrieved"


def test_an_application_that_rests_makes_nothing_stale(database: Database) -> None:
    rows = TableRows()
    rows.search(doc("old"), doc("both"), started_at=days(0))
    rows.search(doc("both"), started_at=days(80))
    store(rows, database)
    assert set(classes(database).values()) == {"seldom_retrieved"}
    rows.search(doc("new"), started_at=days(91))
    rows.search(doc("new"), started_at=days(300), corpus="other")
    store(rows, database)
    assert classes(database)["old"] == "stale"
    assert classes(database)["both"] == "seldom_retrieved"
    assert classes(database, least=Least(stale_days=92))["old"] == "seldom_retrieved"


def test_chunks_are_curated_like_documents(database: Database) -> None:
    rows = TableRows()
    rows.search(doc("a"), hit("a#2", document_id="a"))
    store(rows, database)
    assert set(classes(database, by_chunk=True)) == {"a#1", "a#2"}


def test_hits_without_a_document_are_counted_and_alone_refused(database: Database) -> None:
    rows = TableRows()
    rows.search(hit("x", document_id=None))
    store(rows, database)
    with pytest.raises(NothingToMeasure, match="--unit chunk"):
        curated(database)
    rows.search(doc("a"))
    store(rows, database)
    assert shown(database)["unnamed_hits"] == 1
    with pytest.raises(NothingToMeasure, match="no search"):
        curated(database, project="nobody")


def test_ids_that_are_kept_keyed_are_found_in_an_inventory_that_has_them_plain(database: Database) -> None:
    keyed = {"a": "k:" + "0" * 32, "b": "k:" + "1" * 32}
    rows = TableRows()
    rows.search(doc(keyed["a"]))
    store(rows, database)
    stock = Inventory("a test", (Item("a"), Item("b")))
    assert classes(database, inventory=stock, keyed=keyed.get) == {
        keyed["a"]: "seldom_retrieved",
        "b": "never_retrieved",
    }


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ids.txt", "a\n\nb\na\n", [("a", None), ("b", None)]),
        ("ids.csv", "corpus,document_id,x\nh,a,1\n,b,2\n", [("a", "h"), ("b", None)]),
        ("ids.csv", "id\na\n", [("a", None)]),
        ("ids.jsonl", '{"document_id": "a", "corpus": "h"}\n"b"\n', [("a", "h"), ("b", None)]),
    ],
)
def test_an_inventory_comes_from_a_file(tmp_path: Path, name: str, text: str, expected: list[Any]) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = from_file(path, None).items
    assert [(item.id, item.corpus) for item in found] == expected
    assert {item.corpus for item in from_file(path, "h").items} == {"h"}


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.csv", b"x\n1\n"), ("a.jsonl", b"{}\n"), ("a.jsonl", b"{\n"), ("a.txt", b"\xff\n"), (".", b"")],
)
def test_a_file_that_is_no_inventory_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    if name != ".":
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError):
        from_file(tmp_path / name, None)


def test_an_inventory_comes_from_a_query_or_a_table_and_neither_can_write(database: Database) -> None:
    with connect(database.dsn, "public") as connection:
        connection.execute("CREATE TABLE passages (id uuid, source text)")
        connection.execute("INSERT INTO passages VALUES (gen_random_uuid(), '100%a'), (NULL, 'b')")
        found = from_query(connection, "SELECT source FROM passages WHERE source LIKE '%a';", "handbook")
        assert found.items == (Item("100%a", "handbook"),)
        assert from_query(connection, "SELECT 1, 'x'", None).items == (Item("1", "x"),)
        assert len(from_table(connection, "public.passages", "id", None).items) == 1
        for wrong in ("DELETE FROM passages", "DELETE FROM passages RETURNING source", "SELECT 1; SELECT 2",
                      "COMMIT; DELETE FROM passages", "SELECT 1, 2, 3", "nonsense"):  # fmt: skip
            with pytest.raises(ConfigError) as refusal:
                from_query(connection, wrong, None)
            assert wrong not in str(refusal.value)
        with pytest.raises(ConfigError):
            from_table(connection, "passages; DROP TABLE passages", "id", None)
        assert connection.execute("SELECT count(*) FROM passages").fetchone() == (2,)


actors = st.sampled_from(["human:ana", "human:ben", "human", "agent"])


@st.composite
def tables(draw: st.DrawFn) -> TableRows:
    rows = TableRows()
    for _ in range(draw(st.integers(1, 5))):
        names = draw(st.lists(st.sampled_from("abc"), max_size=4))
        search = rows.search(
            *(doc(name, admitted=draw(st.sampled_from([True, True, False]))) for name in names),
            status=draw(st.sampled_from(["ok", "ok", "error"])),
            surface=draw(st.sampled_from([None, "study"])),
        )
        if names:
            rank = st.integers(1, len(names))
            if draw(st.booleans()):
                rows.deliver(search, draw(st.lists(rank, max_size=3)))
            for _ in range(draw(st.integers(0, 3))):
                if draw(st.booleans()):
                    rows.opened(search, draw(rank), by=draw(actors))
                else:
                    outcome = draw(st.sampled_from(["relevant", "not_relevant"]))
                    rows.vote(search, draw(rank), outcome, by=draw(actors), at=minutes(draw(rank)))
    rows.search(doc("always"))
    return rows


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables())
def test_the_funnel_equals_slow_python_on_any_table(database: Database, rows: TableRows) -> None:
    with database.connect() as connection:
        for table in ("feedback", "deliveries", "hits", "searches", "writers"):
            connection.execute(f"DELETE FROM {table}")
        rows.insert(connection)
        raw = dump(connection)
    found = {one["id"]: one for one in shown(database)["documents"]}
    expected = slow_funnels(raw)
    assert set(found) == set(expected)
    for name, funnel in expected.items():
        votes = {kind: (v["useful"], v["not_useful"]) for kind, v in found[name]["votes"].items()}
        assert {**{column: found[name][column] for column in funnel}, "votes": votes} == funnel


def slow_funnels(raw: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    funnels: dict[str, dict[str, Any]] = {}
    for search in logical_searches(raw["searches"]):
        if search["status"] != "ok":
            continue
        orders = [d for d in raw["deliveries"] if d["search_id"] == search["search_id"]]
        order = (
            max(orders, key=lambda d: (d["delivered_at"], d["delivery_id"]))["hit_ranks"] if orders else None
        )
        hits = [h for h in raw["hits"] if h["search_id"] == search["search_id"]]
        for name in {h["document_id"] for h in hits}:
            mine = [h for h in hits if h["document_id"] == name]
            ranks = {h["rank"] for h in mine if h["admitted"]}
            places = ranks if order is None else {order.index(rank) + 1 for rank in ranks if rank in order}
            about = [
                f for f in raw["feedback"] if f["search_id"] == search["search_id"] and f["rank"] in ranks
            ]
            funnel = funnels.setdefault(
                name, {"retrieved": 0, "admitted": 0, "shown": 0, "accessed": 0, "shown_at": {}, "votes": {}}
            )
            funnel["retrieved"] += 1
            funnel["admitted"] += bool(ranks)
            funnel["shown"] += bool(places)
            funnel["accessed"] += any(f["stage"] == "accessed" for f in about)
            ballots: dict[tuple[str, Any], bool] = {}
            for vote in current_votes(about):
                actor = vote["actor_kind"], vote["actor_id"]
                ballots[actor] = ballots.get(actor, False) or vote["outcome"] == "relevant"
            for (kind, _), useful in ballots.items():
                good, bad = funnel["votes"].get(kind, (0, 0))
                funnel["votes"][kind] = (good + useful, bad + (not useful))
            if places:
                best = str(min(places))
                funnel["shown_at"][best] = funnel["shown_at"].get(best, 0) + 1
    return funnels


def parsed(text: str) -> Any:
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def test_padding_is_no_gap_without_a_key(database: Database) -> None:
    rows = TableRows()
    rows.search(padding("a"))
    store(rows, database)
    found = shown(database)["gaps"]
    assert (found["measured"], found["listed"]) == (False, [])
    assert "RAGLEDGER_QUERY_KEYS" in found["note"]


def test_searches_that_found_nothing_at_all_leave_every_document_unretrieved(database: Database) -> None:
    rows = TableRows()
    for _ in range(30):
        rows.search(query_key=b"q" * 16)
    store(rows, database)
    list_documents(database, "a")
    found = shown(database)
    assert [(one["id"], one["class"], one["shown_at"]) for one in found["documents"]] == [
        ("a", "never_retrieved", {})
    ]
    assert [one["outcomes"]["empty"] for one in found["gaps"]["listed"]] == [30]
