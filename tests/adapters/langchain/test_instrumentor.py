"""The instrumentor, its undoing, and processes that start from nothing."""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from adapters.langchain.world import Listed, Table, documents, vector_store

from ragledger import Ledger
from ragledger_langchain import LangChainInstrumentor, observe

TESTS = Path(__file__).parents[2]


@pytest.fixture
def python(tmp_path: Path, database: Any) -> Callable[..., str]:
    """Runs a program in a process of its own, with the database in its environment; gives what it printed."""

    def run(program: str, *, prefix: tuple[str, ...] = (), **environ: str) -> str:
        script = tmp_path / "program.py"
        script.write_text(textwrap.dedent(program))
        done = subprocess.run(
            [*prefix, sys.executable, "-W", "error::UserWarning", str(script)],
            env=os.environ
            | {"PYTHONPATH": str(TESTS), "RAGLEDGER_DSN": database.dsn, "RAGLEDGER_PROJECT": "test"}
            | environ,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    return run


def test_uninstrument_puts_everything_back(python: Callable[..., str]) -> None:
    assert "same" in python(
        """
        from langchain_core.retrievers import BaseRetriever
        from langchain_core.vectorstores import VectorStoreRetriever
        from langchain_classic.retrievers import EnsembleRetriever
        import ragledger
        from ragledger_langchain import LangChainInstrumentor

        names = ("invoke", "ainvoke", "__init_subclass__")
        def now():
            return [vars(cls).get(name) for cls in (BaseRetriever, VectorStoreRetriever, EnsembleRetriever) for name in names]

        before = now()
        instrumentor = LangChainInstrumentor()
        instrumentor.instrument(ledger=ragledger.open())
        between = now()
        instrumentor.uninstrument()
        assert now() == before != between
        instrumentor.instrument(ledger=ragledger.open())
        instrumentor.uninstrument()
        assert now() == before
        print("same")
        """
    )


def test_uninstrument_leaves_observed_retrievers_observed(
    instrument: Callable[..., LangChainInstrumentor], ledger: Ledger, table: Table
) -> None:
    retriever = observe(Listed(found=documents("a")), ledger)
    instrument(ledger=ledger).uninstrument()
    retriever.invoke("q")
    Listed(found=documents("a")).invoke("q")
    assert len(table.searches()) == 1


def test_p3_without_a_database_setting_there_is_one_warning_and_the_application_goes_on(
    instrument: Callable[..., LangChainInstrumentor],
    ledger: Ledger,
    table: Table,
    caplog: pytest.LogCaptureFixture,
) -> None:
    instrument()
    assert Listed(found=documents("a")).invoke("q") == documents("a")
    (record,) = [record for record in caplog.records if record.name.startswith("ragledger")]
    assert record.levelno == logging.WARNING
    assert "RAGLEDGER_DSN" in record.getMessage()
    instrument(ledger=ledger)
    Listed(found=documents("a")).invoke("q")
    assert len(table.searches()) == 1


@pytest.mark.parametrize("opened", [True, False])
def test_p3_d28_a_pickle_works_in_a_fresh_process(
    opened: bool, python: Callable[..., str], ledger: Ledger, table: Table, tmp_path: Path
) -> None:
    """With a ledger of that name it is observed there; without one, or without us, it is a plain retriever."""
    pickled = tmp_path / "retriever"
    pickled.write_bytes(pickle.dumps(observe(Listed(found=documents("a")), ledger, corpus="handbook")))
    setup = "import ragledger, ragledger_langchain; ragledger.open(); ragledger_langchain.install()"
    printed = python(
        f"""
        import pickle, sys
        {setup if opened else "pass"}
        retriever = pickle.loads(open({str(pickled)!r}, "rb").read())
        print([found.id for found in retriever.invoke("q")], "ragledger_langchain" in sys.modules)
        """
    )
    assert f"['a'] {opened}" in printed
    assert [row["corpus"] for row in table.searches()] == (["handbook"] if opened else [])


def test_p3_a_class_of_main_can_be_sent_by_value(python: Callable[..., str]) -> None:
    """As Spark and Ray send what a notebook defines."""
    pytest.importorskip("cloudpickle")
    printed = python(
        """
        import cloudpickle, subprocess, sys, ragledger
        from langchain_core.documents import Document
        from langchain_core.retrievers import BaseRetriever
        from ragledger_langchain import LangChainInstrumentor, observe

        ledger = ragledger.open()
        LangChainInstrumentor().instrument(ledger=ledger)

        class Mine(BaseRetriever):
            def _get_relevant_documents(self, query, *, run_manager):
                return [Document(id="a", page_content="t")]
            def invoke(self, input, config=None, **kwargs):
                return super().invoke(input, config, **kwargs)

        sent = cloudpickle.dumps(observe(Mine(), ledger))
        program = "import pickle, sys; print(pickle.loads(sys.stdin.buffer.read()).invoke('q')[0].id)"
        done = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True, check=True)
        print("got", done.stdout.decode())
        """
    )
    assert "got a" in printed


def test_importing_the_adapter_patches_nothing_and_stays_light(python: Callable[..., str]) -> None:
    assert "untouched" in python(
        """
        import sys
        from langchain_core.retrievers import BaseRetriever
        before = dict(vars(BaseRetriever))
        import ragledger_langchain
        assert dict(vars(BaseRetriever)) == before
        for name in ("psycopg", "opentelemetry.instrumentation", "langchain_classic", "llama_index"):
            assert name not in sys.modules, name
        print("untouched")
        """
    )


def test_a_missing_framework_names_the_extra(python: Callable[..., str]) -> None:
    printed = python(
        """
        import sys
        sys.modules["langchain_core"] = None
        try:
            import ragledger_langchain
        except ImportError as exc:
            print(type(exc).__name__, exc)
        """
    )
    assert "ModuleNotFoundError ragledger_langchain needs: pip install 'ragledger[langchain]'" in printed


def test_the_retriever_of_a_store_is_observed_like_any(ledger: Ledger, table: Table) -> None:
    observe(vector_store().as_retriever(), ledger).invoke("q")
    assert table.one()["retriever"] == "VectorStoreRetriever"
