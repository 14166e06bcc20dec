"""P9: no text by default. Canaries in every place where a text can be, looked for everywhere we write."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from adapters.langchain.world import Keywords, Listed, Raising, Table, document, vector_store
from fix_spans import Spans
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from ragledger import Ledger
from ragledger_langchain import observe

QUERY, CHUNK, META, ERROR, ARGUMENT = "SECRET-Q", "SECRET-C", "SECRET-M", "SECRET-E", "SECRET-A"


class Sneaky(BaseRetriever):
    """Settings, arguments and errors that hold text."""

    hint: str = ARGUMENT

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **kwargs: Any) -> list[Document]:
        raise LookupError(f"{ERROR} while searching {query} with {kwargs}")


@pytest.fixture(params=["thread", "sidecar"])
def everything(
    request: pytest.FixtureRequest,
    make_ledger: Callable[..., Ledger],
    database: Any,
    spans: Spans,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> Any:
    """A ledger, and all that was written anywhere, as one text. Not strict, so that faults are logged.

    Shipped, the rows are in the table; with a sidecar that never comes they are all in the journal.
    """
    ledger = make_ledger(tracer_provider=spans.provider, strict=False, ship=request.param)

    def dump() -> str:
        table = Table(database)
        rows = table.searches() if request.param == "sidecar" else table.of(ledger).searches()
        journal = b"".join(path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file())
        assert b"VectorStoreRetriever" in journal if request.param == "sidecar" else rows
        parts = [
            str(rows),
            str(table.hits()),
            journal.decode("utf-8", "backslashreplace"),
            *[span.to_json() for span in spans.finished],
            caplog.text,
            *capfd.readouterr(),
            str(ledger.facts()),
        ]
        return "\n".join(parts)

    caplog.set_level(logging.DEBUG, logger="ragledger")
    caplog.set_level(logging.DEBUG, logger="ragledger_langchain")
    return ledger, dump


async def test_p9_d20_d21_no_canary_reaches_anything(everything: Any) -> None:
    ledger, dump = everything
    classic = pytest.importorskip("langchain_classic.retrievers")
    text = document(None, CHUNK, note=META, score=META, title=META)
    vector = vector_store().as_retriever(search_kwargs={"filter": lambda _: True, "lambda_mult": ARGUMENT})
    ensemble = classic.EnsembleRetriever(retrievers=[Keywords(docs=[text]), Listed(found=[text])])
    for retriever in (
        Listed(found=[text, {"page_content": CHUNK}, CHUNK, object()]),
        Listed(found=CHUNK),
        ensemble,
        vector,
    ):
        observe(retriever, ledger).invoke(QUERY)
        await retriever.ainvoke(QUERY)
    for failing in (Raising(fault=ValueError(f"no rows for jane@x.org, {ERROR}")), Sneaky()):
        observe(failing, ledger)
        with pytest.raises((ValueError, LookupError)):
            failing.invoke(QUERY, note=ARGUMENT)
        with pytest.raises((ValueError, LookupError)):
            await failing.ainvoke(QUERY)
    written = dump()
    assert "ValueError" in written
    for canary in (QUERY, CHUNK, META, ERROR, ARGUMENT, "jane@x.org"):
        assert canary not in written


def test_p9_d21_an_error_is_its_class_and_nothing_else(
    make_ledger: Callable[..., Ledger], database: Any, spans: Spans
) -> None:
    ledger = make_ledger(tracer_provider=spans.provider)
    with pytest.raises(ValueError, match="jane"):
        observe(Raising(fault=ValueError("no rows for jane@x.org")), ledger).invoke("q")
    assert Table(database).of(ledger).one()["error_type"] == "ValueError"
    (span,) = spans.finished
    assert (span.status.description, span.events) == (None, ())


def test_p9_weights_hold_no_text_of_a_config(ledger: Ledger, table: Table) -> None:
    retriever = vector_store().as_retriever(search_kwargs={"k": 3, "filter": None, "fetch_k": QUERY})
    observe(retriever, ledger).invoke(QUERY)
    assert QUERY not in str(table.searches())
