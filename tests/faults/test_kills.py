"""`kill -9` at random points, of own code and of retrievers that know nothing of us: every receipt holds."""

from __future__ import annotations

import pytest
from faults.harness import Nursery, at_random, check
from fix_pg import Database
from integration.shipping import World, ship_command

pytestmark = [pytest.mark.pg, pytest.mark.faults]

KILLS = 20

OWN = Nursery(
    prepare="""
import ragledger, ragledger.schema, ragledger.postgres.store  # so that the shipper starts at once
from ragledger import Candidate
""",
    victim="""
    tell("started")
    ledger = ragledger.open(ship=os.environ["SHIP"])
    number = 0
    while True:
        number += 1
        chunks = [f"{number}-{rank}" for rank in range(number % 12)]
        with ledger.search(corpus="c", top_k=10, weights={"vector": 0.6, "lexical": 0.4}) as search:
            search.candidates(*[Candidate(chunk, "d", vector=0.5, lexical=0.1, score=0.3) for chunk in chunks])
        report(search.receipt.search_id, chunks or [None])
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
    tell("started")
    number = 0
    while True:
        number += 1
        with ragledger.capture() as receipts:
            documents = retriever.invoke(f"text {number}")
        [receipt] = receipts
        report(receipt.search_id, [document.id for document in documents])
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
    tell("started")
    number = 0
    while True:
        number += 1
        with ragledger.capture() as receipts:
            found = retriever.retrieve(f"text {number}")
        [receipt] = receipts
        report(receipt.search_id, [node.node_id for node in found])
""",
    count=KILLS,
)


@pytest.fixture
def world(database: Database) -> World:
    return World(database)


@pytest.mark.parametrize("ship", ["thread", "sidecar"])
def test_p5_own_code_killed_at_random_points_leaves_every_receipt_in_the_table_once(
    world: World, ship: str
) -> None:
    truth = OWN.run(world.database.dsn, at_random(seed=1, longest_s=0.6), SHIP=ship)
    assert len(truth.all) > 20 * KILLS, "hardly anything was searched: the kills prove nothing"
    shipped = ship_command(world.database.dsn)
    assert shipped.returncode == 0, shipped.stderr
    check(world, truth, kills=KILLS)


@pytest.mark.parametrize(
    "framework", [pytest.param(LANGCHAIN, id="langchain"), pytest.param(LLAMA_INDEX, id="llama_index")]
)
def test_p5_an_unmodified_retriever_killed_at_random_points_leaves_every_receipt_in_the_table_once(
    world: World, framework: Nursery
) -> None:
    truth = framework.run(world.database.dsn, at_random(seed=2, longest_s=0.8))
    assert len(truth.all) > 10 * KILLS
    shipped = ship_command(world.database.dsn)
    assert shipped.returncode == 0, shipped.stderr
    check(world, truth, kills=KILLS)
