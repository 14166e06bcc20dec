"""What is kept of ids at each level, and that votes find their hit all the same."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from fix_pg import Database
from integration.shipping import RAGLEDGER

from ragledger import Candidate, Ledger, MalformedReference, Receipt
from ragledger.ids import new_id
from ragledger.privacy import WITHHELD, Privacy

pytestmark = pytest.mark.pg
MakeLedger = Callable[..., Ledger]
KEY = b"k" * 32
CANARIES = ("SECRET-chunk", "SECRET-doc", "SECRET-session", "SECRET-actor")


def search(ledger: Ledger) -> Receipt:
    with ledger.search(corpus="c", session_id="SECRET-session", actor="human:SECRET-actor") as found:
        found.candidates(
            Candidate("SECRET-chunk-1", "SECRET-doc", score=0.5), Candidate("SECRET-chunk-2", admitted=False)
        )
    return found.receipt


def dump(database: Database) -> str:
    tables = (
        "searches",
        "hits",
        "feedback",
        "pending_feedback",
        "writers",
        "rejected",
        "deliveries",
        "assessments",
    )
    return "\n".join(str(database.rows(f"SELECT * FROM {table}")) for table in tables)


def test_ids_are_kept_as_they_are_by_default(ledger: Ledger, database: Database) -> None:
    ledger.vote(search(ledger).search_id or "", "SECRET-chunk-1", "relevant", actor="human:SECRET-actor")
    assert ledger.flush()
    assert all(canary in dump(database) for canary in CANARIES)


def test_p9_keyed_ids_are_the_same_for_the_same_key_and_tell_nothing(
    make_ledger: MakeLedger, database: Database
) -> None:
    keyed = make_ledger(privacy="keyed", key=KEY)
    receipt = search(keyed)
    search(keyed)
    assert keyed.flush()
    assert "SECRET" not in dump(database)
    kept = Privacy("keyed", KEY).kept
    assert database.rows("SELECT DISTINCT chunk_id, document_id FROM hits ORDER BY 2") == [
        (kept("SECRET-chunk-1"), kept("SECRET-doc")),
        (kept("SECRET-chunk-2"), None),
    ]
    assert database.rows("SELECT DISTINCT session_id, actor_id FROM searches") == [
        (kept("SECRET-session"), kept("SECRET-actor"))
    ]
    assert receipt.hits == ((1, kept("SECRET-chunk-1")),)
    other = make_ledger(privacy="keyed", key=b"o" * 32, name="other")
    assert search(other).hits != receipt.hits


@pytest.mark.parametrize("known", [True, False])
def test_p7_p9_a_vote_names_a_keyed_hit_by_its_own_id_by_the_kept_one_and_by_rank(
    make_ledger: MakeLedger, database: Database, known: bool
) -> None:
    first = make_ledger(privacy="keyed", key=KEY)
    receipt = search(first)
    assert first.flush()
    voter = first if known else make_ledger(privacy="keyed", key=KEY, name="voter")
    assert receipt.search_id is not None
    for actor, reference in (
        ("a", {"chunk_id": "SECRET-chunk-1"}),
        ("b", {"chunk_id": receipt.hits[0][1]}),
        ("c", {"rank": 1}),
    ):
        voter.vote(receipt.search_id, outcome="relevant", actor=f"human:SECRET-{actor}", **reference)  # type: ignore[arg-type]
    assert voter.flush()
    assert database.rows("SELECT rank, count(DISTINCT actor_id)::int4 FROM feedback GROUP BY rank") == [
        (1, 3)
    ]
    assert "SECRET" not in dump(database)


def test_p9_structure_keeps_no_id_and_votes_go_by_rank(make_ledger: MakeLedger, database: Database) -> None:
    ledger = make_ledger(privacy="structure")
    receipt = search(ledger)
    assert receipt.search_id is not None
    with pytest.raises(MalformedReference, match="vote with rank="):
        ledger.vote(receipt.search_id, "SECRET-chunk-1", "relevant")
    ledger.vote(receipt.search_id, rank=1, outcome="relevant", actor="human:SECRET-actor")
    assert ledger.flush()
    assert "SECRET" not in dump(database)
    assert database.rows(
        "SELECT chunk_id, chunk_id_source, document_id, score, admitted FROM hits ORDER BY rank"
    ) == [
        (None, None, None, 0.5, True),
        (None, None, None, None, False),
    ]
    assert database.rows(
        "SELECT session_id, actor_kind, actor_id, trace_id, candidate_count FROM searches"
    ) == [(WITHHELD, "human", None, None, 2)]
    assert database.rows("SELECT rank, outcome FROM current_votes") == [(1, "relevant")]


def test_p9_a_pending_vote_is_veiled_and_finds_its_hit_when_that_arrives(
    make_ledger: MakeLedger, database: Database
) -> None:
    waiting = make_ledger(privacy="keyed", key=KEY, ship="sidecar")
    receipt = search(waiting)
    voter = make_ledger(privacy="keyed", key=KEY, name="voter")
    assert (
        voter.vote(receipt.search_id or "", "SECRET-chunk-1", "relevant", actor="human:SECRET-a").status
        == "pending"
    )
    assert voter.flush()
    assert "SECRET" not in dump(database)
    subprocess.run([*RAGLEDGER, "ship", "--dsn", database.dsn], check=True, capture_output=True)
    assert database.rows("SELECT rank, outcome FROM current_votes") == [(1, "relevant")]


def test_p9_what_cannot_be_veiled_is_not_kept(
    make_ledger: MakeLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = make_ledger(privacy="keyed", key=KEY, strict=False)

    def fail(_: object) -> Any:
        raise RuntimeError("SECRET")

    monkeypatch.setattr(ledger.privacy, "of_search", fail)
    receipt = search(ledger)
    assert (receipt.search_id, receipt.status) == (None, "refused")
    assert ledger.facts()["faults"] == {"privacy": 1}


@pytest.mark.parametrize("what", [["--session", "SECRET-session"], ["--actor", "human:SECRET-actor"]])
def test_erasure_finds_what_was_kept_before_and_after_the_level_was_changed(
    make_ledger: MakeLedger, database: Database, what: list[str]
) -> None:
    for name, level in (("plain", "ids"), ("keyed", "keyed")):
        ledger = make_ledger(name=name, privacy=level, key=KEY)
        search(ledger)
        assert ledger.flush()
    environ = dict(os.environ) | {"RAGLEDGER_KEY": KEY.decode()}
    subprocess.run(
        [*RAGLEDGER, "erase", *what, "--dsn", database.dsn], check=True, capture_output=True, env=environ
    )
    assert database.value("SELECT count(*) FROM searches") == 0


@pytest.mark.parametrize("level", ["keyed", "ids"])
def test_keeping_twice_is_keeping_once(level: Any) -> None:
    privacy = Privacy(level, KEY)
    for given in ("a", "k:", f"k:{'0' * 32}", "k:" + "g" * 32, str(new_id()), "\ud800"):
        once = privacy.kept(given)
        assert privacy.kept(once) == once
    assert privacy.kept(None) is None


def test_p9_a_question_asked_again_has_the_same_key_where_keys_are_switched_on(
    make_ledger: MakeLedger, database: Database
) -> None:
    questions = [
        "How long do  refunds take?",
        "how long do refunds take?\n",
        "\uff28ow long do refunds take?",
        "How long?",
        "",
    ]
    for name, settings in (
        ("off", {}),
        ("on", {"query_keys": True}),
        ("other", {"query_keys": True, "key": b"o" * 32}),
    ):
        ledger = make_ledger(name=name, project=name, **({"key": KEY} | settings))
        for question in questions:
            with ledger.search(query=question):
                pass
        with ledger.search():
            pass
        assert ledger.flush()
    keys = {
        name: [
            row[0]
            for row in database.rows(
                "SELECT query_key FROM searches WHERE project = %s ORDER BY writer_seq", name
            )
        ]
        for name in ("off", "on", "other")
    }
    assert keys["off"] == [None] * 6
    first, second, third, fourth, empty, unsaid = keys["on"]
    assert first == second == third
    assert len({first, fourth, empty}) == 3
    assert unsaid is None
    assert not set(keys["other"]) & {first, fourth, empty}
    assert "refunds" not in dump(database)


def test_p9_a_chunk_has_the_same_key_after_a_reindex_where_keys_are_switched_on(
    make_ledger: MakeLedger, database: Database
) -> None:
    text = "SECRET chunk"
    for name, settings in (("off", {}), ("on", {"content_keys": True})):
        ledger = make_ledger(name=name, project=name, key=KEY, **settings)
        for chunk_id in ("before", "after"):
            with ledger.search() as found:
                found.candidates(Candidate(chunk_id, content_key=ledger.content_key(text)))
        assert ledger.flush()
    found_keys = (
        "SELECT content_key FROM hits JOIN searches USING (search_id) WHERE project = %s ORDER BY search_id"
    )
    assert database.rows(found_keys, "off") == [(None,), (None,)]
    [(before,), (after,)] = database.rows(found_keys, "on")
    assert before == after
    assert len(before) == 16
    assert "SECRET" not in dump(database)
