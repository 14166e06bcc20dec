"""A framework that has changed: our adapter is off, with one warning and a count, and the application goes on.

The packages are the real ones, link by link, but for one file that is edited as a later release might.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import langchain_core
import pytest
from adapters.ways.test_zero_code import NO_EXPORT

pytest.importorskip("opentelemetry.instrumentation.auto_instrumentation")

pytestmark = pytest.mark.processes

SITE = Path(langchain_core.__file__).parents[1]
ZERO_CODE = (str(Path(sys.executable).with_name("opentelemetry-instrument")),)


class Drift(NamedTuple):
    """`file` is edited; then `by_hand` and `application` run, under `opentelemetry-instrument`."""

    file: str
    edit: Callable[[str], str | None]
    application: str
    by_hand: str
    rows: int = 0


def broken(text: str) -> str:
    return text + '\nraise RuntimeError("SECRET")\n'


CHAIN = """
from langchain_core.documents import Document
Document(page_content="t")
"""
CHAIN_RETRIEVER = """
from ragledger_langchain import observe
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
class Mine(BaseRetriever):
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(page_content="t", id="a")]
    def invoke(self, input, config=None, **kwargs):
        return super().{invoke}(input, config, **kwargs)
retriever = Mine()
assert observe(retriever, ledger) is retriever
assert retriever.invoke("q")[0].id == "a"
"""
CHAIN_BY_HAND = """
from ragledger_langchain import LangChainInstrumentor, install, observe
LangChainInstrumentor().instrument(ledger=ledger)
LangChainInstrumentor().instrument(ledger=ledger)
install()
"""
INDEX = """
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
class Mine(BaseRetriever):
    def _retrieve(self, query_bundle):
        return [NodeWithScore(node=TextNode(text="t", id_="a"), score=0.5)]
from llama_index.core.callbacks import CallbackManager
retriever = Mine(callback_manager=CallbackManager([handler]))
assert retriever.retrieve("q")[0].node.node_id == "a"
"""
INDEX_BY_HAND = """
from ragledger_llama_index import LedgerCallbackHandler, LlamaIndexInstrumentor
LlamaIndexInstrumentor().instrument(ledger=ledger)
handler = LedgerCallbackHandler(ledger, corpus="c")
handler.start_trace("t")
"""

CHAIN_DRIFTS = {
    "a submodule is gone": Drift("langchain_core/retrievers.py", lambda _: None, CHAIN, CHAIN_BY_HAND),
    "a submodule cannot be imported": Drift("langchain_core/retrievers.py", broken, CHAIN, CHAIN_BY_HAND),
    "a class has another name": Drift(
        "langchain_core/retrievers.py",
        lambda text: text.replace("BaseRetriever", "BaseSearcher"),
        CHAIN,
        CHAIN_BY_HAND,
    ),
    "a method has another name": Drift(
        "langchain_core/retrievers.py",
        lambda text: text.replace("def invoke(", "def search("),
        CHAIN_RETRIEVER.format(invoke="search"),
        CHAIN_BY_HAND,
    ),
    "no __init_subclass__ is no harm": Drift(
        "langchain_core/retrievers.py",
        lambda text: (
            text + "\ndel BaseRetriever.__init_subclass__\nBaseRetriever._new_arg_supported = True\n"
        ),
        CHAIN_RETRIEVER.format(invoke="invoke"),
        CHAIN_BY_HAND,
        rows=1,
    ),
}
INDEX_DRIFTS = {
    "the package cannot be imported": Drift(
        "llama_index/core/base/base_retriever.py", broken, "", INDEX_BY_HAND
    ),
    "span handlers are called otherwise": Drift(
        "llama_index_instrumentation/span_handlers/base.py",
        lambda text: text.replace("bound_args", "arguments"),
        INDEX,
        INDEX_BY_HAND,
    ),
    "the dispatcher keeps them elsewhere": Drift(
        "llama_index_instrumentation/dispatcher.py",
        lambda text: (
            text.replace(
                "    span_handlers: List[BaseSpanHandler] = F", "    kept: List[BaseSpanHandler] = F"
            )
            .replace("span_handlers=span_handlers", "kept=span_handlers")
            .replace("c.span_handlers", "c.kept")
            .replace("self.span_handlers", "self.kept")
        ),
        INDEX,
        INDEX_BY_HAND,
    ),
    "a base class is gone": Drift(
        "llama_index/core/callbacks/base_handler.py",
        lambda text: (
            text.replace("class BaseCallbackHandler", "class BaseCallback")
            + "\ndef __getattr__(name):\n    import sys\n"
            + "    if 'ragledger' in sys._getframe(1).f_globals['__name__']:\n        raise AttributeError(name)\n"
            + "    return BaseCallback\n"
        ),
        INDEX,
        INDEX_BY_HAND,
    ),
}


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    def run(drift: Drift, program: str, *prefix: str) -> Any:
        (tmp_path / "app.py").write_text(textwrap.dedent(program) + "\nprint('ran')\n")
        overlay = tmp_path / "site"
        edited(overlay, drift)
        done = subprocess.run(
            [*prefix, sys.executable, str(tmp_path / "app.py")],
            env={**os.environ, "PYTHONPATH": str(overlay), "RAGLEDGER_SHIP": "sidecar"}
            | {"RAGLEDGER_DSN": "postgresql://nobody@127.0.0.1:1/nowhere"}
            | NO_EXPORT,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("ran\n")
        assert "Traceback" not in done.stderr, done.stderr
        assert "SECRET" not in done.stderr
        return done

    return run


def edited(overlay: Path, drift: Drift) -> None:
    """The real package, one file of it edited."""
    real, copy = SITE, overlay
    *folders, name = drift.file.split("/")
    for folder in folders:
        real, copy = real / folder, copy / folder
        copy.mkdir(parents=True, exist_ok=True)
        for each in real.iterdir():
            if each.name != "__pycache__":
                (copy / each.name).symlink_to(each)
        if folder is not folders[-1]:
            (copy / folders[folders.index(folder) + 1]).unlink()
    text = (real / name).read_text()
    (copy / name).unlink()
    changed = drift.edit(text)
    if changed is not None:
        assert changed != text
        (copy / name).write_text(changed)


def warnings(done: Any) -> list[str]:
    return [line for line in done.stderr.splitlines() if "ragledger" in line]


def by_hand(drift: Drift) -> str:
    kept = "import ragledger\nledger = ragledger.open()\n" + drift.by_hand + drift.application
    return kept + "\nprint(ledger.facts()['faults'].get('adapter_disabled', 0), ledger.facts()['attempted'])"


@pytest.mark.parametrize("name", CHAIN_DRIFTS)
def test_p3_d26_langchain_has_changed(run: Callable[..., Any], name: str) -> None:
    drift = CHAIN_DRIFTS[name]
    done = run(drift, by_hand(drift), *ZERO_CODE)
    assert [line.split()[1] for line in warnings(done)] == ([] if drift.rows else ["LangChain"])
    disabled, attempted = map(int, done.stdout.split()[:2])
    assert (disabled > 0, attempted) == (not drift.rows, drift.rows)


@pytest.mark.parametrize("name", INDEX_DRIFTS)
def test_p3_d26_llama_index_has_changed(run: Callable[..., Any], name: str) -> None:
    drift = INDEX_DRIFTS[name]
    done = run(drift, by_hand(drift), *ZERO_CODE)
    assert [line.split()[1] for line in warnings(done)] == ["LlamaIndex"]
    assert done.stdout.split()[:2] == ["2", "0"]
