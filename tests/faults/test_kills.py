"""`kill -9` at random points, of own code and of retrievers that know nothing of us: every receipt holds."""

from __future__ import annotations

import pytest
from faults.nursery import Nursery, at_random
from faults.page import Facts
from faults.points import ship_and_compare
from fix_pg import Database
from integration.shipping import World

pytestmark = [pytest.mark.pg, pytest.mark.faults]

KILLS = 20

OWN = Nursery(
    prepare="""
import ragledger, ragledger.schema, ragledger.postgres.store  # so that the shipper starts at once
from ragledger import Candidate
""",
    victim="""
    ledger = ragledger.open(ship=os.environ["SHIP"])
    number = 0
    while True:
        number += 1
        hits = [[f"{number}-{rank}", number / 8 - rank] for rank in range(number % 12)]
        with ledger.search(corpus="c", top_k=10, weights={"vector": 0.6, "lexical": 0.4}) as search:
            search.candidates(*[Candidate(chunk, "d", vector=0.5, score=score) for chunk, score in hits])
        report(search.receipt.search_id, hits)
        if number == 1:  # to begin may take longer than a victim lives, on a loaded machine
            tell("started")
""",
    count=KILLS,
)

LANGCHAIN = Nursery(
    prepare="""
import ragledger, ragledger.schema, ragledger.postgres.store
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from ragledger_langchain import observe
store = InMemoryVectorStore.from_texts(
    [f"text {n}" for n in range(30)],
    DeterministicFakeEmbedding(size=8),
    ids=[f"chunk-{n}" for n in range(30)],
)
""",
    victim="""
    ledger = ragledger.open()
    retriever = observe(store.as_retriever(search_kwargs={"k": 3}), ledger, corpus="c")
    number = 0
    while True:
        number += 1
        with ragledger.capture() as receipts:
            documents = retriever.invoke(f"text {number}")
        [receipt] = receipts
        report(receipt.search_id, [[document.id, None] for document in documents])
        if number == 1:  # it imports things
            tell("started")
""",
    count=KILLS,
)

LLAMA_INDEX = Nursery(
    prepare="""
import ragledger, ragledger.schema, ragledger.postgres.store
from llama_index.core import MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import TextNode
from ragledger_llama_index import LedgerCallbackHandler
Settings.embed_model = MockEmbedding(embed_dim=4)
nodes = [TextNode(id_=f"node-{n}", text=f"text {n}") for n in range(10)]
""",
    victim="""
    ledger = ragledger.open()
    Settings.callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])
    retriever = VectorStoreIndex(nodes).as_retriever(similarity_top_k=3)
    number = 0
    while True:
        number += 1
        with ragledger.capture() as receipts:
            found = retriever.retrieve(f"text {number}")
        [receipt] = receipts
        report(receipt.search_id, [[node.node_id, node.score] for node in found])
        if number == 1:
            tell("started")
""",
    count=KILLS,
)


RACE = Nursery(
    prepare="""
import pathlib, random, time
import ragledger, ragledger.schema, ragledger.postgres.store
from ragledger import Candidate
from ragledger.shipper import Shipper
from ragledger.wiring import target_from
""",
    victim="""
    if number % 4:  # three shippers to one writer
        target = target_from()
        shipper = Shipper(target.journal_dir, target.connect, live_writers=True)
        shipper.ship()
        tell("started")  # after a whole pass: however loaded the machine is, they get something done
        while True:
            shipper.rush()
            shipper.ship()
    ledger = ragledger.open(ship="sidecar")
    tell("started")
    done = 0
    while True:
        done += 1
        with ledger.search(corpus="c") as search:
            search.candidates(Candidate(f"chunk-{done}", score=done / 8))
        report(search.receipt.search_id, [[f"chunk-{done}", done / 8]])
        if done % 50 == 0:
            time.sleep(0.01)
""",
    count=2 * KILLS,
)


@pytest.mark.parametrize("ship", ["thread", "sidecar"])
def test_p5_own_code_killed_at_random_points_leaves_every_receipt_in_the_table_once(
    database: Database, facts: Facts, ship: str
) -> None:
    world = World(database)
    truth = OWN.run(database.dsn, at_random(seed=1, longest_s=0.6), SHIP=ship)
    assert len(truth.all) > 20 * KILLS, "hardly anything was searched: the kills prove nothing"
    outcome = ship_and_compare(world, truth)
    facts("random", f"own code, {ship}", "`kill -9` within 0.6 s after the first search", truth, outcome)
    assert outcome.faults == ()


@pytest.mark.parametrize(
    "framework", [pytest.param(LANGCHAIN, id="langchain"), pytest.param(LLAMA_INDEX, id="llama_index")]
)
def test_p5_an_unmodified_retriever_killed_at_random_points_leaves_every_receipt_in_the_table_once(
    database: Database, facts: Facts, framework: Nursery, request: pytest.FixtureRequest
) -> None:
    world = World(database)
    truth = framework.run(database.dsn, at_random(seed=2, longest_s=0.8))
    assert len(truth.all) > 10 * KILLS
    outcome = ship_and_compare(world, truth)
    name = request.node.callspec.id
    facts("random", f"{name} retriever", "`kill -9` within 0.8 s after the first search", truth, outcome)
    assert outcome.faults == ()


def test_p5_three_shippers_that_race_and_are_killed_land_every_receipt_once(
    database: Database, facts: Facts
) -> None:
    world = World(database)
    truth = RACE.run(database.dsn, at_random(seed=3, longest_s=1.0))
    assert len(truth.all) > 10 * KILLS
    by_victims = database.value("SELECT count(*) FROM searches")
    assert by_victims > KILLS, "only the last pass shipped anything"
    outcome = ship_and_compare(world, truth)
    how = f"one writer and three sidecars at a time, each killed within 1 s; {by_victims} rows by them"
    facts("random", "three shippers race", how, truth, outcome)
    assert outcome.faults == ()


@pytest.mark.parametrize("mode", ["batch", "always"])
def test_p5_whatever_is_synced_when_every_receipt_of_a_killed_process_holds(
    database: Database, facts: Facts, mode: str
) -> None:
    world = World(database)
    killer = at_random(seed=11, longest_s=0.5)
    truth = OWN.run(database.dsn, killer, SHIP="thread", RAGLEDGER_JOURNAL_FSYNC=mode)
    assert len(truth.all) > KILLS
    outcome = ship_and_compare(world, truth)
    facts("random", f"fsync {mode}", "`kill -9` within 0.5 s after the first search", truth, outcome)
    assert outcome.faults == ()
