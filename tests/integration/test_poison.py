"""Records put in below the sanitiser: refused alone, counted, kept for a person; their neighbours land."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest
from integration.shipping import World, balanced, encode

from ragledger.ids import new_id
from ragledger.journal.journal import Journal
from ragledger.model import AssessmentRecord
from ragledger.testing import make_hit, make_search, make_vote

pytestmark = pytest.mark.pg


def put_body(journal: Journal, body: bytes) -> None:
    journal.prepare()
    writer = journal.writer
    assert writer is not None
    assert writer.append(body) is None


def with_surrogate() -> bytes:
    """A lone surrogate in UTF-8, which no encoder of ours would write."""
    return encode(make_search(surface="\ue000\ue000")).replace("\ue000".encode(), b"\xed\xa0\x80")


INCOMPRESSIBLE = "".join(random.Random(3).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=9_000))

POISON: dict[str, tuple[bytes, str]] = {
    "nul": (encode(make_search("a\0b")), "database:22021"),
    "nul_in_json": (encode(make_search(weights='{"a": "\\u0000"}')), "database:22P05"),
    "surrogate": (with_surrogate(), "undecodable"),
    "int4_too_large": (encode(make_search(top_k=2**31)), "undecodable"),
    "int4_negative": (encode(make_search(depth=-1)), "undecodable"),
    "int2_would_have_wrapped": (encode(make_search(hits=(make_hit(2**33 + 5, "a"),))), "undecodable"),
    "time_out_of_range": (encode(make_search(started_at=2**62)), "undecodable"),
    "json_nan": (encode(make_search(weights='{"vector": NaN}')), "database:22P02"),
    "no_json": (encode(make_search(weights="weights")), "database:22P02"),
    "json_too_deep": (encode(make_search(weights="[" * 100_000)), "database:54001"),
    "unknown_status": (encode(make_search(status="excellent")), "undecodable"),
    "check": (encode(make_search(skip_reason="but it ran")), "database:23514"),
    "negative_latency": (encode(make_search(latency_ms=-1.0)), "database:23514"),
    "null": (encode(make_search(framework=None)), "undecodable"),
    "rank_twice": (encode(make_search(hits=(make_hit(1, "a"), make_hit(1, "b")))), "database:23505"),
    "too_long_for_an_index": (encode(make_search(project=INCOMPRESSIBLE)), "database:54000"),
    "no_msgpack": (b"\xc1\xc1\xc1", "undecodable"),
    "empty": (b"", "undecodable"),
    "no_record": (b"\x93\xa1x\x01\x02", "undecodable"),
    "assessment_json_nan": (
        encode(
            AssessmentRecord(
                search_id=new_id(),
                assessment_id=new_id(),
                name="n",
                value=1.0,
                method=None,
                weights="NaN",
                assessed_at=1,
            )
        ),
        "database:22P02",
    ),
}


def kept(world: World) -> list[dict[str, Any]]:
    [path] = world.directory.glob("*.rejected")
    assert path.stat().st_mode & 0o777 == 0o600
    return [json.loads(line) for line in path.read_text().splitlines()]


# In turn, the server says which line it refuses when all of them are there.
WAYS = [(name, False) for name in POISON] + [("nul", True), ("rank_twice", True)]


@pytest.mark.parametrize(("name", "in_turn"), WAYS)
def test_p5_a_poison_record_is_rejected_alone_and_its_neighbours_land(
    world: World, name: str, in_turn: bool
) -> None:
    body, reason = POISON[name]
    journal = world.journal()
    neighbours = [make_search("a") for _ in range(8)]
    for index, search in enumerate(neighbours):
        if index == 3:
            put_body(journal, body)
        journal.put(search)
    shipper = world.ship(in_turn=in_turn)
    assert world.stored() == [search.search_id for search in neighbours]
    assert world.database.value("SELECT count(*) FROM hits") == 8
    assert world.rejected() == {4: reason}
    assert (shipper.landed, shipper.rejected) == (8, 1)
    [entry] = kept(world)
    assert (entry["number"], entry["reason"]) == (4, reason)
    assert base64.b64decode(entry["body"]) == body
    assert balanced(world.database, world.directory).rejected == 1


def test_p5_every_poison_at_once_at_both_ends_and_side_by_side(world: World) -> None:
    journal = world.journal()
    neighbours = [make_search("a", "b") for _ in range(200)]  # 10 pairs of poison between them
    poisons = list(POISON.values())
    expected: dict[int, str] = {}

    def poison() -> None:
        body, reason = poisons.pop()
        put_body(journal, body)
        expected[journal.writer.state.published] = reason  # type: ignore[union-attr]

    poison()
    for index, search in enumerate(neighbours):
        journal.put(search)
        if index % 20 == 0:
            poison()
            if len(poisons) > 1:
                poison()
    while poisons:
        poison()
    world.ship()
    assert world.stored() == [search.search_id for search in neighbours]
    assert world.rejected() == expected
    assert sorted(entry["number"] for entry in kept(world)) == sorted(expected)
    assert balanced(world.database, world.directory).written == 200


def test_nothing_but_poison_is_worked_through_in_bounded_time(world: World) -> None:
    """Each refusal costs a round trip; sending all the rest again with each would cost the square of it."""
    journal = world.journal()
    for _ in range(500):
        journal.put(make_search(*"abcde", skip_reason="but it ran"))
    sent = 0
    shipper = world.shipper(live_writers=True)
    store = shipper._open()
    together = store._land_together

    def counted(state: Any, entries: Any, shipped: Any, keep: Any) -> None:
        nonlocal sent
        sent += len(entries)
        together(state, entries, shipped, keep)

    store._land_together = counted  # type: ignore[method-assign]
    shipper.ship()
    shipper.close()
    assert len(world.rejected()) == 500
    assert sent < 500 * 20


def test_p5_the_payload_is_kept_before_the_table_forgets_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies right after the commit: number and reason are in the table, the body in the file."""
    journal = world.journal()
    body, _ = POISON["check"]
    put_body(journal, body)
    shipper = world.shipper(live_writers=True)
    store = shipper._open()
    land = store.land

    def die_after_commit(*arguments: Any) -> None:
        land(*arguments)
        raise SystemExit

    monkeypatch.setattr(store, "land", die_after_commit)
    with pytest.raises(SystemExit):
        shipper.ship()
    shipper.close()
    assert world.rejected() == {1: "database:23514"}
    assert [base64.b64decode(entry["body"]) for entry in kept(world)] == [body]
    assert world.ship().rejected == 0


def test_a_full_disk_does_not_keep_a_rejected_record_in_the_way(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    journal = world.journal()
    put_body(journal, POISON["check"][0])
    journal.put(make_search("a"))
    writer = journal.writer
    assert writer is not None
    (world.directory / f"{writer.writer_id.hex}.rejected").mkdir()  # no file can be written there
    world.ship()
    assert world.rejected() == {1: "database:23514"}
    assert len(world.stored()) == 1
    assert "could not be kept" in caplog.text


def test_p9_a_rejection_says_nothing_of_the_record_in_the_log(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    journal = world.journal()
    put_body(
        journal, encode(make_search("canary-chunk", corpus="canary-corpus", skip_reason="canary-reason"))
    )
    put_body(journal, encode(make_search("canary\0chunk")))
    world.ship()
    assert "2 record(s) rejected (database:22021, database:23514)" in caplog.text
    assert "canary" not in caplog.text
    assert "canary" not in str(world.database.rows("SELECT rejected::text FROM rejected"))


def test_p5_damage_in_the_journal_is_rejected_by_number(world: World) -> None:
    journal = world.journal()
    searches = [make_search("a") for _ in range(5)]
    for search in searches:
        journal.put(search)
    journal.release()
    [segment] = world.directory.glob("*.seg")
    data = segment.read_bytes()
    at = data.index(encode(searches[2]))
    segment.write_bytes(data[:at] + b"\0" * 10 + data[at + 10 :])
    world.ship()
    assert world.rejected() == {3: "damaged"}
    assert world.database.value("SELECT kind FROM rejected") == "unknown"
    assert len(world.stored()) == 4
    assert balanced(world.database, world.directory).rejected == 1


def test_a_score_that_is_not_finite_is_stored_as_it_is(world: World) -> None:
    """Postgres takes it; the sanitiser sees to it that none comes."""
    world.journal().put(make_search(hits=(make_hit(1, "a", score=float("nan")),)))
    world.ship()
    assert world.database.value("SELECT score = 'NaN' FROM hits")


def test_votes_on_a_rejected_search_wait_and_do_not_stop_the_batch(world: World) -> None:
    journal = world.journal()
    bad, good = make_search("a", skip_reason="but it ran"), make_search("a")
    for record in (bad, make_vote(bad.search_id), good, make_vote(good.search_id)):
        journal.put(record)
    world.ship()
    assert world.rejected() == {1: "database:23514"}
    assert world.database.rows("SELECT search_id FROM pending_feedback") == [(bad.search_id,)]
    assert world.database.rows("SELECT search_id FROM feedback") == [(good.search_id,)]
    total = balanced(world.database, world.directory)
    assert (total.written, total.pending, total.rejected) == (2, 1, 1)
