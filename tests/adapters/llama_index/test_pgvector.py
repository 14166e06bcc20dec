"""llama-index-vector-stores-postgres on a real Postgres with pgvector, plain and hybrid, sync and async."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

pytest.importorskip("llama_index.vector_stores.postgres", reason="needs llama-index-vector-stores-postgres")

from adapters.llama_index.doubles import WordEmbedding
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery
from llama_index.vector_stores.postgres import PGVectorStore
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL

from ragledger.testing import memory_ledger as open_memory_ledger
from ragledger_llama_index import LedgerCallbackHandler, observe_store
from ragledger_llama_index.hooks import hooks
from ragledger_llama_index.weights import read

pytestmark = pytest.mark.pg

TEXTS = {
    "n0": "running boats",
    "n1": "a boat on a lake",
    "n2": "zebra zoo",
    "n3": "running zebras",
    "n4": "run",
}
DIMENSIONS = len(WordEmbedding()._get_text_embedding(""))


@pytest.fixture
def store(empty_database: Any) -> Iterator[Callable[..., PGVectorStore]]:
    made: list[PGVectorStore] = []
    with psycopg.connect(empty_database.dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        # Five rows are sooner read than looked up, and then no index setting would matter.
        connection.execute(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_seqscan = off', current_database()); END $$"
        )
    given = conninfo_to_dict(empty_database.dsn)

    def url(driver: str) -> URL:
        return URL.create(
            f"postgresql+{driver}",
            username=str(given["user"]),
            password=given.get("password"),
            database=str(given["dbname"]),
            query={"host": str(given["host"]), **({"port": str(given["port"])} if given.get("port") else {})},
        )

    def make(**settings: Any) -> PGVectorStore:
        settings = {"hybrid_search": True, "embed_dim": DIMENSIONS} | settings
        found = PGVectorStore(
            connection_string=url("psycopg2").render_as_string(hide_password=False),
            async_connection_string=url("asyncpg").render_as_string(hide_password=False),
            table_name="chunks",
            **settings,
        )
        made.append(found)
        return found

    yield make
    for found in made:
        asyncio.run(found.close())


def index_of(store: PGVectorStore, manager: Any = None) -> VectorStoreIndex:
    return VectorStoreIndex(
        [TextNode(id_=name, text=words) for name, words in TEXTS.items()],
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=WordEmbedding(),
        callback_manager=manager,
    )


def ids(retriever: Any, query: str = "running") -> list[str]:
    return [item.node.node_id for item in retriever.retrieve(query)]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_dense_search_is_one_row_with_similarities(store, memory_ledger, memory_manager, asynchronous):
    retriever = index_of(store(), memory_manager).as_retriever(similarity_top_k=3)
    if asynchronous:
        result = asyncio.run(_aretrieved(retriever, "zebra zoo"))
    else:
        result = retriever.retrieve("zebra zoo")
    row = memory_ledger.row
    assert [(hit.chunk_id, hit.score, hit.score_kind) for hit in row.hit_rows] == [
        (item.node.node_id, item.score, "similarity") for item in result
    ]
    assert (row.vector_available, row.top_k, row.hit_rows[0].chunk_id) == (True, 3, "n2")


async def _aretrieved(retriever: Any, query: str) -> Any:
    try:
        return await retriever.aretrieve(query)
    finally:
        await retriever._vector_store._async_engine.dispose()


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_legs_of_a_hybrid_search_are_told_apart(store, memory_ledger, memory_manager, asynchronous):
    made = store()
    retriever = index_of(made, memory_manager).as_retriever(
        vector_store_query_mode="hybrid", similarity_top_k=2, sparse_top_k=3
    )
    query = "zebra zoo running"
    result = asyncio.run(_aretrieved(retriever, query)) if asynchronous else retriever.retrieve(query)
    embedding = WordEmbedding()._get_text_embedding(query)
    dense = {row.node_id: row.similarity for row in made._query_with_score(embedding, 2)}
    sparse = {row.node_id: row.similarity for row in made._sparse_query_with_rank(query, 3)}
    assert dense.keys() & sparse.keys()
    assert sparse.keys() - dense.keys()
    row = memory_ledger.row
    assert [hit.chunk_id for hit in row.hit_rows] == [item.node.node_id for item in result]
    # The two drivers read a float4 to a different number of digits.
    assert {hit.chunk_id: hit.vector_score for hit in row.hit_rows if hit.vector_score} == pytest.approx(
        dense
    )
    assert {hit.chunk_id: hit.lexical_score for hit in row.hit_rows if hit.lexical_score} == pytest.approx(
        sparse
    )
    assert {hit.score_kind for hit in row.hit_rows} == {"similarity"}
    assert [hit.score for hit in row.hit_rows] == [item.score for item in result]
    assert row.vector_available is True


def test_p10_the_legs_are_heard_by_the_ledgers_of_retriever_and_store(store, memory_ledger, memory_manager):
    made = store()
    retriever = index_of(made, memory_manager).as_retriever(
        vector_store_query_mode="hybrid", similarity_top_k=2, sparse_top_k=3
    )
    with open_memory_ledger(name="second") as second:
        observe_store(made, second)
        retriever.retrieve("zebra zoo running")
        above, below = memory_ledger.row, second.row
        assert second.guard.faults == {}
    assert (below.retriever, below.depth, below.parent_id) == ("PGVectorStore", 0, None)
    heard = [
        [(hit.chunk_id, hit.vector_score, hit.lexical_score) for hit in row.hit_rows]
        for row in (above, below)
    ]
    assert heard[0] == heard[1]
    assert set(above.signals) == {"vector", "lexical"}


def test_a_sparse_search_has_lexical_scores_and_no_vector_signal(store, memory_ledger, memory_manager):
    retriever = index_of(store(), memory_manager).as_retriever(
        vector_store_query_mode="sparse", sparse_top_k=3
    )
    retriever.retrieve("zebra")
    row = memory_ledger.row
    assert row.vector_available is None
    assert [hit.lexical_score for hit in row.hit_rows] == [hit.score for hit in row.hit_rows]
    assert {hit.chunk_id for hit in row.hit_rows} == {"n2", "n3"}


def test_two_hybrid_searches_at_once_keep_their_own_lists(store, memory_ledger, memory_manager):
    made = store()
    retriever = index_of(made, memory_manager).as_retriever(vector_store_query_mode="hybrid", sparse_top_k=3)

    async def both() -> None:
        await asyncio.gather(*(retriever.aretrieve(query) for query in ("zebra", "boat") * 5))
        await made._async_engine.dispose()

    asyncio.run(both())
    assert len(memory_ledger.searches) == 10
    for row in memory_ledger.searches:
        lexical = {hit.chunk_id for hit in row.hit_rows if hit.lexical_score is not None}
        assert lexical in ({"n2", "n3"}, {"n0", "n1"})


def test_the_wrap_is_there_only_once_it_is_needed_and_goes_with_the_hooks(store):
    before = PGVectorStore._query_with_score
    with open_memory_ledger() as ledger:
        index = index_of(store(), CallbackManager([LedgerCallbackHandler(ledger)]))
        index.as_retriever().retrieve("run")
        assert PGVectorStore._query_with_score is before
        index.as_retriever(vector_store_query_mode="hybrid").retrieve("run")
        assert PGVectorStore._query_with_score is not before
        assert not hooks().searches.legs._of
    hooks().searches.legs.release()
    assert PGVectorStore._query_with_score is before


EFFECTIVE = [
    ("similarity_top_k", (1, 3), {}),
    ("vector_store_query_mode", ("default", "sparse"), {"sparse_top_k": 1}),
    ("vector_store_query_mode", ("default", "hybrid"), {"sparse_top_k": 3, "similarity_top_k": 1}),
    ("sparse_top_k", (1, 3), {"vector_store_query_mode": "sparse"}),
    ("sparse_top_k", (1, 3), {"vector_store_query_mode": "hybrid", "similarity_top_k": 1}),
]
FIELDS = {"vector_store_query_mode": "mode"}


@pytest.mark.parametrize(("name", "values", "fixed"), EFFECTIVE)
def test_an_effective_value_changes_the_ranking(store, name, values, fixed):
    index = index_of(store())
    first, second = (index.as_retriever(**fixed, **{name: value}) for value in values)
    field = FIELDS.get(name, name)
    assert read(first).weights.effective.get(field) != read(second).weights.effective.get(field)
    assert ids(first) != ids(second)


@pytest.mark.parametrize(
    ("name", "values", "fixed"),
    [
        ("alpha", (0.1, 0.9), {"vector_store_query_mode": "hybrid"}),
        ("hybrid_top_k", (1, 9), {"vector_store_query_mode": "hybrid"}),
        ("similarity_top_k", (1, 3), {"vector_store_query_mode": "sparse", "sparse_top_k": 2}),
        ("sparse_top_k", (1, 3), {}),
    ],
)
def test_what_the_store_ignores_is_configured_and_not_effective(store, name, values, fixed):
    index = index_of(store())
    first, second = (index.as_retriever(**fixed, **{name: value}) for value in values)
    assert [read(made).weights.configured[name] for made in (first, second)] == list(values)
    assert not any(name in read(made).weights.effective for made in (first, second))
    assert ids(first) == ids(second)


@pytest.mark.parametrize(
    ("kwargs", "field"),
    [
        (({"mmr_threshold": 0.1}, {"mmr_threshold": 1.0}), "mmr_threshold"),
        (({"mmr_prefetch_k": 2}, {"mmr_prefetch_k": 5}), "mmr_prefetch_k"),
        (({"mmr_prefetch_factor": 1.0}, {"mmr_prefetch_factor": 2.5}), "mmr_prefetch_k"),
    ],
)
def test_a_setting_of_a_diverse_search_changes_the_ranking(store, kwargs, field):
    index = index_of(store())
    first, second = (
        index.as_retriever(vector_store_query_mode="mmr", similarity_top_k=2, vector_store_kwargs=given)
        for given in kwargs
    )
    assert read(first).weights.effective[field] != read(second).weights.effective[field]
    assert ids(first) != ids(second)


def test_the_defaults_of_a_diverse_search_are_those_of_the_store(store):
    index = index_of(store())
    plain = index.as_retriever(vector_store_query_mode="mmr", similarity_top_k=1)
    said = read(plain).weights.effective
    assert (said["mmr_threshold"], said["mmr_prefetch_k"]) == (0.5, 4)
    query = VectorStoreQuery(query_embedding=[1.0], similarity_top_k=1)
    assert plain._vector_store._prepare_mmr_query(query) == (4, None)  # None: the 0.5 of the core


def test_the_text_search_configuration_changes_the_ranking(store):
    index = index_of(store())
    stemmed = index.as_retriever(vector_store_query_mode="sparse")
    plain = index.as_retriever(vector_store_query_mode="sparse")
    plain._vector_store = store(text_search_config="simple")
    assert read(stemmed).weights.effective["text_search_config"] == "english"
    assert read(plain).weights.effective["text_search_config"] == "simple"
    assert ids(stemmed) != ids(plain)


def test_the_breadth_of_an_hnsw_search_changes_the_ranking(store):
    hnsw = {
        "hnsw_m": 4,
        "hnsw_ef_construction": 16,
        "hnsw_ef_search": 1,
        "hnsw_dist_method": "vector_cosine_ops",
    }
    retriever = index_of(store(hnsw_kwargs=hnsw)).as_retriever(similarity_top_k=4)
    narrow = ids(retriever)
    assert read(retriever).weights.effective["hnsw_ef_search"] == 1
    retriever._kwargs = {"hnsw_ef_search": 40}
    assert read(retriever).weights.effective["hnsw_ef_search"] == 40
    assert ids(retriever) != narrow


def test_a_query_of_the_application_s_own_making_is_unknown(store):
    made = store(customize_query_fn=lambda statement, table, **kwargs: statement)
    assert read(index_of(made).as_retriever()).weights.unknown == ("customize_query_fn",)
