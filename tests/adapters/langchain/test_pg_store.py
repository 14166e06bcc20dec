"""langchain-postgres' PGVectorStore on a real Postgres: its own settings, its hybrid search, replayed from the rows."""

from __future__ import annotations

import asyncio
import dataclasses
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from psycopg.conninfo import conninfo_to_dict

from ragledger.model import SearchRecord
from ragledger.testing import MemoryLedger, memory_ledger
from ragledger_langchain import observe, observe_store
from ragledger_langchain.weights import read

pytest.importorskip("langchain_postgres", reason="needs langchain-postgres")

from langchain_postgres import PGEngine, PGVectorStore
from langchain_postgres.v2.async_vectorstore import AsyncPGVectorStore
from langchain_postgres.v2.hybrid_search_config import (
    HybridSearchConfig,
    reciprocal_rank_fusion,
    weighted_sum_ranking,
)
from langchain_postgres.v2.indexes import DistanceStrategy, HNSWQueryOptions
from sqlalchemy import URL
from sqlalchemy.ext.asyncio import create_async_engine

# The library warns of a cosine below 0, and prints the documents with it.
pytestmark = [pytest.mark.pg, pytest.mark.filterwarnings("ignore:Relevance scores")]

EMBEDDING = DeterministicFakeEmbedding(size=8)
WORDS = ["alpha", "beta", "gamma", "delta", "running", "runs", "zeta", "eta"]
TEXTS = [
    " ".join([WORDS[number % 8]] * (1 + number % 3) + [WORDS[(number * 3) % 8], WORDS[(number * 5 + 1) % 8]])
    for number in range(16)
]
IDS = [str(uuid.UUID(int=number)) for number in range(16)]


class Down(DeterministicFakeEmbedding):
    def embed_query(self, text: str) -> list[float]:
        raise ConnectionError("provider down")


@pytest.fixture
def url(empty_database: Any) -> URL:
    with psycopg.connect(empty_database.dsn, autocommit=True) as connection:
        try:
            connection.execute("CREATE EXTENSION vector")
        except psycopg.Error as exc:
            pytest.skip(f"no pgvector here ({type(exc).__name__})")
    said = conninfo_to_dict(empty_database.dsn)
    return URL.create(
        "postgresql+psycopg",
        username=said.get("user"),
        password=said.get("password"),
        database=said["dbname"],
        query={name: str(said[name]) for name in ("host", "port") if name in said},
    )


@pytest.fixture
def make_store(url: URL) -> Iterator[Callable[..., PGVectorStore]]:
    """The same table behind every store; each with settings of its own."""
    engine = PGEngine.from_connection_string(url)
    engine.init_vectorstore_table("chunks", 8)

    def make(embedding: Any = EMBEDDING, **given: Any) -> PGVectorStore:
        return PGVectorStore.create_sync(engine, embedding, "chunks", **given)

    make().add_documents(
        [
            Document(id=chunk_id, page_content=text, metadata={"doc_id": f"d{number}"})
            for number, (chunk_id, text) in enumerate(zip(IDS, TEXTS, strict=True))
        ]
    )
    yield make
    asyncio.run(engine.close())


def _ids(found: list[Document]) -> list[str | None]:
    return [item.id for item in found]


def _effective(search: SearchRecord) -> dict[str, Any]:
    return msgspec.json.decode(search.weights)["effective"]  # type: ignore[no-any-return]


def _hybrid(fusion: Any = weighted_sum_ranking, fts_query: str = "", **given: Any) -> HybridSearchConfig:
    own = {
        name: given.pop(name) for name in ("primary_top_k", "secondary_top_k", "tsv_lang") if name in given
    }
    return HybridSearchConfig(
        fusion_function=fusion,
        fusion_function_parameters=given,
        fts_query=fts_query,
        **{"primary_top_k": 8, "secondary_top_k": 8, **own},
    )


# --- weights -----------------------------------------------------------------------------------------------

STRATEGIES = {strategy.name.lower(): strategy for strategy in DistanceStrategy}
TABLE: list[tuple[str, Any, Any, Callable[[Any], tuple[dict[str, Any], dict[str, Any]]]]] = [
    ("k", 4, 7, lambda v: ({"k": v}, {})),
    ("k", 2, 5, lambda v: ({}, {"search_kwargs": {"k": v}})),
    ("k", 2, 5, lambda v: ({"hybrid_search_config": _hybrid()}, {"search_kwargs": {"k": v}})),
    ("distance_strategy", "cosine_distance", "euclidean",
     lambda v: ({"distance_strategy": STRATEGIES[v], "k": 16}, {})),
    ("score_threshold", 0.0, 0.4,
     lambda v: ({}, {"search_type": "similarity_score_threshold",
                     "search_kwargs": {"k": 9, "score_threshold": v}})),
    ("search_type", "similarity", "mmr", lambda v: ({}, {"search_type": v, "search_kwargs": {"fetch_k": 16}})),
    ("fetch_k", 5, 16, lambda v: ({"lambda_mult": 0.01}, {"search_type": "mmr", "search_kwargs": {"fetch_k": v}})),
    ("fetch_k", 4, 9, lambda v: ({"k": v, "lambda_mult": 0.01}, {"search_type": "mmr"})),
    ("lambda_mult", 0.01, 1.0,
     lambda v: ({"lambda_mult": v}, {"search_type": "mmr", "search_kwargs": {"fetch_k": 16}})),
    ("lambda_mult", 0.01, 1.0,
     lambda v: ({}, {"search_type": "mmr", "search_kwargs": {"fetch_k": 16, "lambda_mult": v}})),
    ("fusion", "weighted_sum", "reciprocal_rank",
     lambda v: ({"hybrid_search_config": _hybrid(
         weighted_sum_ranking if v == "weighted_sum" else reciprocal_rank_fusion), "k": 12}, {})),
    ("primary_results_weight", 0.5, 0.001,
     lambda v: ({"hybrid_search_config": _hybrid(primary_results_weight=v)}, {})),
    ("secondary_results_weight", 0.5, 0.001,
     lambda v: ({"hybrid_search_config": _hybrid(secondary_results_weight=v)}, {})),
    ("rrf_k", 1, 1000,
     lambda v: ({"hybrid_search_config": _hybrid(reciprocal_rank_fusion, rrf_k=v), "k": 16}, {})),
    ("primary_top_k", 1, 9, lambda v: ({"hybrid_search_config": _hybrid(primary_top_k=v), "k": 16}, {})),
    ("secondary_top_k", 1, 9, lambda v: ({"hybrid_search_config": _hybrid(secondary_top_k=v), "k": 16}, {})),
    ("tsv_lang", "pg_catalog.english", "pg_catalog.simple",
     lambda v: ({"hybrid_search_config": _hybrid(tsv_lang=v), "k": 16}, {})),
    ("lexical_query", "asked", "fixed",
     lambda v: ({"hybrid_search_config": _hybrid(fts_query="" if v == "asked" else "zeta"), "k": 16}, {})),
]  # fmt: skip


def test_every_effective_value_changes_what_comes_back_and_there_are_no_others(
    make_store: Callable[..., PGVectorStore],
) -> None:
    shown, said = set(), set()
    for field, one, other, how in TABLE:
        found = []
        for value in (one, other):
            of_store, of_retriever = how(value)
            retriever = make_store(**of_store).as_retriever(**of_retriever)
            effective = read(retriever).weights.effective
            assert effective[field] == value
            said |= set(effective)
            found.append(_ids(retriever.invoke("running")))
        assert found[0] != found[1], field
        shown.add(field)
    assert said == shown


def test_d43_what_changes_nothing_is_configured_at_most(make_store: Callable[..., PGVectorStore]) -> None:
    def searched(of_store: dict[str, Any], **given: Any) -> tuple[Any, list[str | None]]:
        retriever = make_store(**of_store).as_retriever(**given)
        return read(retriever).weights, _ids(retriever.invoke("running"))

    # Reciprocal rank fusion swallows weights.
    plain, found = searched({"hybrid_search_config": _hybrid(reciprocal_rank_fusion)})
    ignored, same = searched(
        {"hybrid_search_config": _hybrid(reciprocal_rank_fusion, primary_results_weight=0.9)}
    )
    assert found == same
    assert ignored.configured["primary_results_weight"] == 0.9
    assert plain.effective == ignored.effective
    # An MMR search without its own `fetch_k` fetches the store's `k`, not the store's `fetch_k`.
    first, found = searched({"fetch_k": 5, "lambda_mult": 0.01}, search_type="mmr")
    second, same = searched({"fetch_k": 16, "lambda_mult": 0.01}, search_type="mmr")
    assert found == same
    assert first.effective["fetch_k"] == second.effective["fetch_k"] == 4
    # A lambda of 0 is taken for none.
    mmr = {"search_type": "mmr", "search_kwargs": {"fetch_k": 16, "lambda_mult": 0.0}}
    first, found = searched({"lambda_mult": 1.0}, **mmr)
    assert found == searched({"lambda_mult": 1.0}, search_type="mmr", search_kwargs={"fetch_k": 16})[1]
    assert (first.configured["lambda_mult"], first.effective["lambda_mult"]) == (0.0, 1.0)


def test_what_depends_on_an_index_or_on_code_is_unknown(make_store: Callable[..., PGVectorStore]) -> None:
    def own(primary: Any, secondary: Any, fetch_top_k: int = 4, **kwargs: Any) -> Any:
        return [dict(row) for row in secondary][:fetch_top_k]

    store = make_store(
        index_query_options=HNSWQueryOptions(ef_search=99),
        hybrid_search_config=_hybrid(own, secret="SECRET", primary_results_weight="SECRET"),
    )
    weights = read(store.as_retriever()).weights
    assert weights.configured["ef_search"] == 99
    assert set(weights.unknown) == {"ef_search", "fusion_function", "primary_results_weight"}
    assert "fusion" not in weights.effective
    assert "SECRET" not in repr(weights)


def test_d51_the_text_of_a_query_never_gets_into_weights(make_store: Callable[..., PGVectorStore]) -> None:
    config = _hybrid()
    retriever = make_store(hybrid_search_config=config).as_retriever()
    with memory_ledger() as ledger:
        observe(retriever, ledger).invoke("gamma SECRET-ONE")
        first = ledger.searches[0].weights
        retriever.invoke("delta SECRET-TWO")
        assert (
            config.fts_query == "gamma SECRET-ONE"
        )  # the library's own fault: every later search looks for it
        assert ledger.searches[0].weights == first
        assert [_effective(search)["lexical_query"] for search in ledger.searches] == ["asked", "fixed"]
        assert ledger.searches[0].epoch != ledger.searches[1].epoch
        assert "SECRET" not in repr([msgspec.to_builtins(search) for search in ledger.searches])
        assert "fetch_top_k" not in first


# --- hybrid search -----------------------------------------------------------------------------------------


def _replayed(search: SearchRecord) -> list[str | None]:
    """What langchain-postgres makes of two lists, from the row alone."""
    effective = _effective(search)
    ranks: dict[str, list[tuple[int, float, str | None]]] = {"primary": [], "secondary": []}
    for hit in search.hit_rows:
        for name, score in (("primary", hit.vector_score), ("secondary", hit.lexical_score)):
            signal = (hit.signals or {}).get(name)
            if signal is not None and signal.rank is not None and score is not None:
                ranks[name].append((signal.rank, score, hit.chunk_id))
    scores: dict[str | None, float] = {}
    for name in ("primary", "secondary"):
        leg = sorted(ranks[name])
        worst, best = min((s for _, s, _ in leg), default=0.0), max((s for _, s, _ in leg), default=0.0)
        for place, (_, score, chunk_id) in enumerate(leg):
            if effective["fusion"] == "reciprocal_rank":
                part = 1 / (place + effective["rrf_k"])
            else:
                share = (score - worst) / (best - worst) if best > worst else 1.0
                part = share * effective[f"{name}_results_weight"]
            scores[chunk_id] = scores.get(chunk_id, 0.0) + part
    ordered = sorted(scores, key=lambda chunk_id: -round(scores[chunk_id], 12))
    return ordered[: effective["k"]]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fusion=st.sampled_from([weighted_sum_ranking, reciprocal_rank_fusion]),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join),
    primary=st.integers(0, 100).map(lambda n: n / 100),
    rrf_k=st.integers(1, 200),
    tops=st.tuples(st.integers(1, 9), st.integers(1, 9), st.integers(1, 16)),
    strategy=st.sampled_from(list(DistanceStrategy)),
    asynchronous=st.booleans(),
)
def test_a_hybrid_search_can_be_replayed(
    make_store: Callable[..., PGVectorStore],
    fusion: Any,
    query: str,
    primary: float,
    rrf_k: int,
    tops: tuple[int, int, int],
    strategy: DistanceStrategy,
    asynchronous: bool,
) -> None:
    parameters = (
        {"rrf_k": rrf_k}
        if fusion is reciprocal_rank_fusion
        else {"primary_results_weight": primary, "secondary_results_weight": 1 - primary}
    )

    def retriever() -> Any:
        config = _hybrid(fusion, primary_top_k=tops[0], secondary_top_k=tops[1], **parameters)
        store = make_store(hybrid_search_config=config, distance_strategy=strategy)
        return store.as_retriever(search_kwargs={"k": tops[2]})

    with memory_ledger() as ledger:
        watched = observe(retriever(), ledger)
        found = asyncio.run(watched.ainvoke(query)) if asynchronous else watched.invoke(query)
        assert _ids(found) == _ids(retriever().invoke(query))
        assert _replayed(ledger.row) == [hit.chunk_id for hit in ledger.hits if hit.admitted] == _ids(found)
        assert ledger.facts()["faults"] == {}


def test_both_halves_are_true_before_fusion_and_the_config_stays_as_it_was(
    make_store: Callable[..., PGVectorStore], empty_database: Any
) -> None:
    config = _hybrid()
    before = dataclasses.asdict(config)
    store = make_store(hybrid_search_config=config)
    with memory_ledger() as ledger:
        observe(store.as_retriever(), ledger).invoke("gamma")
        hits, row = ledger.hits, ledger.row
    vector = str([float(number) for number in EMBEDDING.embed_query("gamma")])
    with psycopg.connect(empty_database.dsn) as connection:
        true = {
            str(chunk_id): (cosine, lexical)
            for chunk_id, cosine, lexical in connection.execute(
                "SELECT langchain_id, 1 - (embedding <=> %s::vector), ts_rank_cd("
                "to_tsvector('english', content), plainto_tsquery('english', 'gamma')) FROM chunks",
                (vector,),
            )
        }
    for hit in hits:
        cosine, lexical = true[hit.chunk_id or ""]
        assert hit.vector_score is None or hit.vector_score == pytest.approx(cosine)
        assert hit.lexical_score is None or hit.lexical_score == pytest.approx(lexical)
        assert hit.document_id == f"d{IDS.index(hit.chunk_id or '')}"
    assert sum(hit.vector_score is not None for hit in hits) == 8
    assert sum(hit.lexical_score is not None for hit in hits) == sum("gamma" in text for text in TEXTS) > 2
    assert {hit.score_kind for hit in hits if hit.admitted} == {"fused"}
    assert (row.vector_available, row.admitted_count) == (True, 4)
    assert row.signals is not None
    assert row.signals["vector"].count == 8
    # What the library itself writes is all that changed.
    assert config.fusion_function is weighted_sum_ranking
    assert dataclasses.asdict(config) == {
        **before,
        "fts_query": "gamma",
        "fusion_function_parameters": {"fetch_top_k": 4},
    }


def test_a_config_of_the_call_takes_the_place_of_the_store_s(
    make_store: Callable[..., PGVectorStore],
) -> None:
    retriever = make_store().as_retriever(search_kwargs={"hybrid_search_config": _hybrid()})
    with memory_ledger() as ledger:
        observe(retriever, ledger).invoke("gamma")
        assert _effective(ledger.row)["fusion"] == "weighted_sum"
        assert any(hit.lexical_score for hit in ledger.hits)


def test_a_store_without_a_loop_of_its_own_is_seen_as_well(url: URL, make_store: Any) -> None:
    async def searched(ledger: MemoryLedger) -> list[Document]:
        pool = create_async_engine(url)
        store = await AsyncPGVectorStore.create(
            PGEngine.from_engine(pool), EMBEDDING, "chunks", hybrid_search_config=_hybrid()
        )
        found = await observe(store.as_retriever(), ledger).ainvoke("gamma")
        await pool.dispose()
        return found

    with memory_ledger() as ledger:
        found = asyncio.run(searched(ledger))
        assert _replayed(ledger.row) == _ids(found)


# --- scores and availability -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "kind"),
    [("COSINE_DISTANCE", "distance"), ("EUCLIDEAN", "distance"), ("INNER_PRODUCT", "similarity")],
)
def test_a_distance_is_called_a_distance(
    strategy: str, kind: str, make_store: Callable[..., PGVectorStore]
) -> None:
    store = make_store(distance_strategy=DistanceStrategy[strategy])
    before = store.similarity_search_with_score("running", k=3)
    with memory_ledger() as ledger:
        observe_store(store, ledger)
        assert store.similarity_search_with_score("running", k=3) == before
        row = ledger.row
        assert [(hit.chunk_id, hit.score, hit.score_kind) for hit in ledger.hits] == [
            (item.id, score, kind) for item, score in before
        ]
        scores = [score for _, score in before]
        assert row.top_admitted_score == (min(scores) if kind == "distance" else max(scores))
        assert (row.retriever, row.top_k, row.vector_available) == ("PGVectorStore", 3, True)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_threshold_can_be_tuned(asynchronous: bool, make_store: Callable[..., PGVectorStore]) -> None:
    retriever = make_store().as_retriever(
        search_type="similarity_score_threshold", search_kwargs={"k": 9, "score_threshold": 0.4}
    )
    before = retriever.invoke("running")
    with memory_ledger() as ledger:
        observe(retriever, ledger, scores=True)
        found = asyncio.run(retriever.ainvoke("running")) if asynchronous else retriever.invoke("running")
        assert found == before
        assert len(ledger.hits) == 9 > len(before) > 0
        assert all((hit.score or 0.0) >= 0.4 for hit in ledger.hits if hit.admitted)
        assert all((hit.score or 0.0) < 0.4 for hit in ledger.hits if not hit.admitted)


def test_p8_a_provider_that_is_down_is_known_through_the_store_s_own_thread(
    make_store: Callable[..., PGVectorStore],
) -> None:
    store = make_store(Down(size=8), hybrid_search_config=_hybrid())
    with memory_ledger() as ledger:
        with pytest.raises(ConnectionError):
            observe(store.as_retriever(), ledger).invoke("gamma")
        assert (ledger.row.status, ledger.row.vector_available) == ("error", False)
