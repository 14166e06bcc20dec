"""From the journal to the table: everything, once, whoever ships and whatever breaks on the way."""

from __future__ import annotations

import threading

import msgspec
import psycopg
import pytest
from faults.proxy import Proxy
from fix_pg import Database
from integration.shipping import World, balanced

from ragledger import schema
from ragledger.errors import DatabaseUnavailable, SchemaError
from ragledger.ids import new_id
from ragledger.model import AssessmentRecord, DeliveryRecord, HitRecord, SearchRecord, Signal, SignalRange
from ragledger.shipper import _BATCH, Shipper
from ragledger.testing import make_search, make_vote

pytestmark = pytest.mark.pg


def test_every_column_of_a_search_and_its_hits_arrives_as_it_was(world: World) -> None:
    hit = HitRecord(
        rank=1, chunk_id="ü-chunk", chunk_id_source="metadata", document_id="d", source_kind="pdf", score=0.5,
        score_kind="fused", score_source="rrf", vector_score=-0.25, lexical_score=1e300,
        signals={"bm25": Signal(2.5, 1), "unscored": Signal()}, admitted=False, content_key=b"\0\xff",
    )  # fmt: skip
    search = make_search(
        corpus="c", surface="study", session_id="s", actor_kind="human", actor_id="ana", retriever="R",
        parent_id=new_id(), depth=2**31 - 1, attempt_of=new_id(), served_from=new_id(), status="error",
        error_type="ValueError", error_origin="caller", degraded=True, degraded_reason="slow",
        vector_available=False, top_k=10, candidate_count=20, admitted_count=0, top_candidate_score=0.5,
        weights='{"configured": {"vector": 0.6}}', index_version="i", embedding_model="m",
        extractor_version="x", signals={"vector": SignalRange(0.1, 0.9, 2, True)}, query_key=b"k" * 16,
        flags=("one", "two"), trace_id=b"t" * 16, span_id=b"s" * 8, sampled=True, span_owner="ours",
        external_run_id="r", hits=(hit,), started_at=1_764_212_345_678_901,
    )  # fmt: skip
    world.journal().put(search)
    world.ship()
    with world.database.connect() as connection:
        row = connection.execute("SELECT * FROM searches").fetchone()
        names = [column.name for column in connection.execute("SELECT * FROM searches").description or ()]
    assert row is not None
    found = dict(zip(names, row, strict=True))
    assert found.pop("started_at").timestamp() == 1_764_212_345.678901
    assert (found.pop("writer_seq"), found.pop("recorded_at") is not None) == (1, True)
    assert found.pop("writer_id") == world.journals[0].writer.writer_id  # type: ignore[union-attr]
    assert found.pop("weights") == {"configured": {"vector": 0.6}}
    assert found.pop("signals") == {"vector": {"min": 0.1, "max": 0.9, "count": 2, "complete": True}}
    assert found.pop("flags") == ["one", "two"]
    assert found == {name: getattr(search, name) for name in found}
    columns = ", ".join(HitRecord.__struct_fields__)
    [stored] = world.database.rows(f"SELECT {columns} FROM hits")
    assert msgspec.convert(stored, HitRecord) == hit


def test_deliveries_assessments_and_votes_arrive_after_their_search(world: World) -> None:
    journal = world.journal()
    search = make_search("a", "b")
    common = {"search_id": search.search_id}
    for record in (
        search,
        DeliveryRecord(
            **common,
            delivery_id=new_id(),
            by="reranker",
            hit_ranks=(2, 1),
            scores=(0.5, None),
            delivered_at=1,
        ),
        DeliveryRecord(
            **common, delivery_id=new_id(), by="application", hit_ranks=(), scores=(), delivered_at=1
        ),
        DeliveryRecord(
            **common, delivery_id=new_id(), by="application", hit_ranks=(1,), scores=(None,), delivered_at=1
        ),
        AssessmentRecord(
            **common,
            assessment_id=new_id(),
            name="n",
            value=None,
            method="m",
            weights='{"a": 1}',
            assessed_at=1,
        ),
        make_vote(search.search_id, 2),
    ):
        assert journal.put(record) is None
    world.ship()
    assert world.database.rows("SELECT hit_ranks, scores FROM deliveries ORDER BY writer_seq") == [
        ([2, 1], [0.5, None]),
        ([], []),
        ([1], [None]),
    ]
    assert world.database.rows("SELECT name, value, weights FROM assessments") == [("n", None, {"a": 1})]
    assert world.database.rows("SELECT rank, outcome FROM feedback") == [(2, "relevant")]
    assert balanced(world.database, world.directory).written == 6


@pytest.mark.parametrize("in_turn", [False, True])
def test_p5_thousands_of_records_arrive_exactly_once_and_in_order(world: World, in_turn: bool) -> None:
    journal = world.journal()
    searches = [make_search("a", "b") for _ in range(1_300)]
    for search in searches:
        journal.put(search)
    shipper = world.ship(in_turn=in_turn)
    assert shipper.landed == 1_300
    assert world.stored() == [search.search_id for search in searches]
    assert world.database.value("SELECT count(*) FROM hits") == 2_600
    assert world.database.value("SELECT landed FROM writers") == psycopg.types.multirange.Multirange(
        [psycopg.types.range.Range(1, 1_301, "[)")]
    )
    assert balanced(world.database, world.directory).written == 1_300


@pytest.mark.parametrize("count", [2, 3])
def test_p5_shippers_that_race_on_one_journal_land_every_record_once(world: World, count: int) -> None:
    journal = world.journal()
    assert journal.put(make_search("first")) is None
    written = threading.Event()
    faults: list[BaseException] = []

    def ship() -> None:
        shipper = world.shipper(live_writers=True)
        try:
            while not written.is_set():
                shipper.rush()
                shipper.ship()
            shipper.rush()
            shipper.ship()
        except BaseException as exc:
            faults.append(exc)
        finally:
            shipper.close()

    threads = [threading.Thread(target=ship) for _ in range(count)]
    for thread in threads:
        thread.start()
    searches = [make_search("a") for _ in range(3_000)]
    for search in searches:
        assert journal.put(search) is None
    written.set()
    for thread in threads:
        thread.join()
    assert faults == []
    world.ship()
    assert world.stored()[1:] == [search.search_id for search in searches]
    assert world.rejected() == {}
    assert balanced(world.database, world.directory).written == 3_001


def test_p5_shippers_that_race_on_dead_writers_land_every_record_once(world: World) -> None:
    for _ in range(12):
        journal = world.journal()
        for _ in range(30):
            journal.put(make_search("a"))
        journal.release()
    shippers = [world.shipper(live_writers=True) for _ in range(3)]
    threads = [threading.Thread(target=shipper.ship) for shipper in shippers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for shipper in shippers:
        shipper.close()
    assert sum(shipper.landed for shipper in shippers) == 360
    assert len(set(world.stored())) == 360
    assert list(world.directory.iterdir()) == []
    assert world.database.value("SELECT count(*) FROM writers WHERE finished_at IS NOT NULL") == 12
    assert balanced(world.database, world.directory).written == 360


@pytest.mark.parametrize("how", ["lose_answer_to", "cut_before"])
@pytest.mark.parametrize(
    "moment", [b"schema_migrations", b"INSERT INTO writers", b"UPDATE writers", b"COPY hits", b"COMMIT"]
)
def test_p5_a_connection_lost_around_any_statement_neither_loses_nor_doubles(
    world: World, how: str, moment: bytes
) -> None:
    journal = world.journal()
    searches = [make_search("a") for _ in range(600)]
    for search in searches:
        journal.put(search)
    own = journal.writer.state.path  # type: ignore[union-attr]
    with Proxy(world.database.dsn) as proxy:
        shipper = world.shipper()
        shipper._connect = lambda: schema_checked(proxy.dsn)
        getattr(proxy, how)(moment)
        with pytest.raises(DatabaseUnavailable):
            shipper.ship(own)
        assert proxy.cuts == 1
        shipper.close()
        shipper.ship(own)
        shipper.close()
    assert world.stored() == [search.search_id for search in searches]
    assert world.rejected() == {}
    assert balanced(world.database, world.directory).written == 600


def schema_checked(dsn: str) -> psycopg.Connection[tuple[object, ...]]:
    from ragledger.wiring import target_from

    return target_from(dsn=dsn).connect()


def test_p5_backends_terminated_at_random_moments_neither_lose_nor_double(world: World) -> None:
    journal = world.journal()
    searches: list[SearchRecord] = []

    def put(count: int) -> None:
        for search in [make_search("a") for _ in range(count)]:
            searches.append(search)
            journal.put(search)

    put(8_000)
    own = journal.writer.state.path  # type: ignore[union-attr]
    done = threading.Event()

    def terminate() -> None:
        with world.database.connect() as connection:
            while not done.wait(0.06):
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    " AND backend_type = 'client backend' AND random() < 0.7"
                )

    killer = threading.Thread(target=terminate)
    killer.start()
    shipper = world.shipper()
    lost = 0
    try:
        while lost <= 2 or journal.writer.state.shipped < len(searches):  # type: ignore[union-attr]
            if journal.writer.state.shipped == len(searches):  # type: ignore[union-attr]
                put(1_000)  # a fast machine ships it all before anybody was terminated often enough
            try:
                shipper.ship(own)
            except (DatabaseUnavailable, SchemaError):
                lost += 1
                shipper.close()
    finally:
        done.set()
        killer.join()
        shipper.close()
    assert world.stored() == [search.search_id for search in searches]
    assert balanced(world.database, world.directory).written == len(searches)


def test_p5_a_shipper_that_died_between_commit_and_clean_up_leaves_nothing_to_do_twice(world: World) -> None:
    """Segments and the state file say less than the table: the table wins."""
    journal = world.journal()
    for _ in range(10):
        journal.put(make_search("a"))
    writer = journal.writer
    assert writer is not None
    kept = {path: path.read_bytes() for path in world.directory.iterdir()}
    world.ship()
    journal.release()
    for path, content in kept.items():
        path.write_bytes(content)
    assert writer.state.path.exists()
    world.ship()
    assert world.database.value("SELECT count(*) FROM searches") == 10
    assert world.rejected() == {}
    assert list(world.directory.iterdir()) == []


def test_p5_an_adoption_that_failed_leaves_the_writer_to_be_adopted(world: World) -> None:
    """A descriptor left open would hold the lock: the records would wait until this process ends."""
    journal = world.journal()
    journal.put(make_search("a"))
    journal.release()
    shipper = world.shipper()
    shipper._open()
    with world.database.connect() as connection:
        connection.execute("ALTER TABLE writers RENAME TO elsewhere")
        with pytest.raises(DatabaseUnavailable):
            shipper.ship()
        connection.execute("ALTER TABLE elsewhere RENAME TO writers")
    assert shipper.ship() == 1
    shipper.close()
    assert balanced(world.database, world.directory).written == 1


def test_a_journal_that_cannot_be_read_does_not_stop_the_others(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = world.journal(), world.journal()
    for journal in (first, second):
        journal.put(make_search("a"))
        journal.release()
    segment = sorted(world.directory.glob("*.seg"))[0]
    content = segment.read_bytes()
    segment.unlink()
    segment.mkdir()
    shipper = world.shipper()
    for _ in range(2):
        shipper.rush()
        shipper.ship()
    assert world.database.value("SELECT count(*) FROM searches") == 1
    assert len([entry for entry in caplog.records if "cannot be read" in entry.getMessage()]) == 1
    segment.rmdir()
    segment.write_bytes(content)
    shipper.rush()
    assert shipper.ship() == 1
    shipper.close()
    assert balanced(world.database, world.directory).written == 2


def test_refusals_of_a_writer_that_writes_nothing_reach_the_table(world: World) -> None:
    journal = world.journal()
    journal.put(make_search("a"))
    writer = journal.writer
    assert writer is not None
    shipper = world.shipper()
    shipper.ship(writer.state.path)
    assert writer.append(bytes(17 << 20)) == "too_large"
    shipper.rush()
    shipper.ship(writer.state.path)
    assert world.database.value("SELECT refused FROM writers") == {"too_large": 1}
    shipper.close()
    assert balanced(world.database, world.directory).refused == 1


def test_a_pass_that_is_told_to_stop_ends_after_its_batch(world: World) -> None:
    journal = world.journal()
    for _ in range(_BATCH + 200):
        journal.put(make_search("a"))
    journal.release()
    shipper = Stopping(world.directory, world.target.connect)
    shipper.ship()
    assert world.database.value("SELECT count(*) FROM searches") == _BATCH
    shipper.close()
    world.ship()
    assert balanced(world.database, world.directory).written == _BATCH + 200


class Stopping(Shipper):
    """Is told to stop while its first batch lands."""

    def _open(self):  # type: ignore[no-untyped-def]
        store = super()._open()
        land = store.land

        def stop_then_land(*arguments: object) -> None:
            self.stopping = True
            land(*arguments)  # type: ignore[arg-type]

        store.land = stop_then_land  # type: ignore[method-assign,assignment]
        return store


def test_a_missing_schema_is_waited_for(empty_database: Database) -> None:
    world = World(empty_database)
    journal = world.journal()
    journal.put(make_search("a"))
    with pytest.raises(SchemaError, match="ragledger init"):
        world.ship()
    with empty_database.connect() as connection:
        schema.apply(connection, "ragledger")
    world.ship()
    assert len(world.stored()) == 1
    journal.release()
