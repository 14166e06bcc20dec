"""P10 under `opentelemetry-instrument`: real processes, applications that know nothing of us, and some that do."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.instrumentation.auto_instrumentation")
pytestmark = [pytest.mark.pg, pytest.mark.processes]

TESTS = Path(__file__).parents[2]
NO_EXPORT = {
    **dict.fromkeys(("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER", "OTEL_LOGS_EXPORTER"), "none"),
    # Not ours: those of others that may be installed.
    "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "langchain,llama_index,llama-index",
}

LANGCHAIN = """
import asyncio
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.tools import create_retriever_tool
from langchain_core.vectorstores import InMemoryVectorStore

store = InMemoryVectorStore.from_texts(["one", "two"], DeterministicFakeEmbedding(size=4))
retriever = store.as_retriever()
{by_hand}
assert len(retriever.invoke("q")) == 2
assert len(asyncio.run(retriever.ainvoke("q"))) == 2
assert [len(found) for found in retriever.batch(["q", "q2"])] == [2, 2]
assert create_retriever_tool(retriever, "search", "Searches.").invoke({{"query": "q"}})
"""
LLAMA_INDEX = """
import asyncio
from llama_index.core import MockEmbedding, Settings, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.schema import TextNode

Settings.llm, Settings.embed_model = MockLLM(), MockEmbedding(embed_dim=3)
{by_hand}
index = VectorStoreIndex([TextNode(text=text, id_=text) for text in ("one", "two")])
retriever = index.as_retriever()
assert len(retriever.retrieve("q")) == 2
assert len(asyncio.run(retriever.aretrieve("q"))) == 2
assert index.as_query_engine().query("q").source_nodes
assert index.as_chat_engine(chat_mode="context").chat("q").source_nodes
assert index.as_retriever().retrieve("q")
"""
SEARCHES = 5

OPENS = "import ragledger; ledger = ragledger.open()\n"
OBSERVES = "from ragledger_langchain import observe; retriever = observe(retriever, ledger)\n"
HANDLES = (
    "from llama_index.core.callbacks import CallbackManager\n"
    "from ragledger_llama_index import LedgerCallbackHandler\n"
    "Settings.callback_manager = CallbackManager([LedgerCallbackHandler(ledger)])\n"
)
INSTRUMENTS_LC = "from ragledger_langchain import LangChainInstrumentor as I; I().instrument(ledger=ledger)\n"
INSTRUMENTS_LI = (
    "from ragledger_llama_index import LlamaIndexInstrumentor as J; J().instrument(ledger=ledger)\n"
)

BY_HAND_LC = {
    "nothing": "",
    "observe": OPENS + OBSERVES,
    "instrument": OPENS + INSTRUMENTS_LC,
    "observe and instrument": OPENS + OBSERVES + INSTRUMENTS_LC,
}
BY_HAND_LI = {
    "nothing": "",
    "handler": OPENS + HANDLES,
    "instrument": OPENS + INSTRUMENTS_LI,
    "handler and instrument": OPENS + HANDLES + INSTRUMENTS_LI,
}


@pytest.fixture
def run(tmp_path: Path, database: Any) -> Callable[..., str]:
    """Runs an application in a process of its own, under `opentelemetry-instrument`; gives what it said."""

    def run(program: str, **environ: str) -> str:
        script = tmp_path / "app.py"
        script.write_text(textwrap.dedent(program))
        done = subprocess.run(
            [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable, str(script)],
            env={**os.environ, "RAGLEDGER_DSN": database.dsn, "OTEL_SERVICE_NAME": "shop"}
            | NO_EXPORT
            | environ,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done.stderr

    return run


@pytest.mark.parametrize("by_hand", BY_HAND_LC)
def test_p10_an_unmodified_langchain_application(
    run: Callable[..., str], database: Any, by_hand: str
) -> None:
    run(LANGCHAIN.format(by_hand=BY_HAND_LC[by_hand]))
    assert counted(database) == [("langchain", "VectorStoreRetriever", 0, 2, SEARCHES)]


@pytest.mark.parametrize("by_hand", BY_HAND_LI)
def test_p10_an_unmodified_llama_index_application(
    run: Callable[..., str], database: Any, by_hand: str
) -> None:
    run(LLAMA_INDEX.format(by_hand=BY_HAND_LI[by_hand]))
    assert counted(database) == [("llama_index", "VectorIndexRetriever", 0, 2, SEARCHES)]


def test_p10_both_frameworks_in_one_application_share_a_writer(
    run: Callable[..., str], database: Any
) -> None:
    run(LANGCHAIN.format(by_hand="") + LLAMA_INDEX.format(by_hand=""))
    assert counted(database) == [
        ("langchain", "VectorStoreRetriever", 0, 2, SEARCHES),
        ("llama_index", "VectorIndexRetriever", 0, 2, SEARCHES),
    ]
    assert database.value("SELECT count(*) FROM writers") == 1


def counted(database: Any) -> list[tuple[Any, ...]]:
    return database.rows(
        "SELECT framework, retriever, depth, admitted_count, count(*) FROM searches"
        " WHERE project = 'shop' GROUP BY 1, 2, 3, 4 ORDER BY 1"
    )  # type: ignore[no-any-return]
