"""`doctor` names who else exports an application's text, and the switch that stops it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from types import ModuleType
from typing import Any

import pytest

from ragledger import instrumentors as module
from ragledger.instrumentors import Instrumentor, instrumentors

TRACELOOP = "opentelemetry-instrumentation-langchain"
OPENINFERENCE = "openinference-instrumentation-langchain"
OFFICIAL = "opentelemetry-instrumentation-genai-langchain"
HIDDEN = {
    "OPENINFERENCE_HIDE_INPUTS": "true",
    "OPENINFERENCE_HIDE_OUTPUTS": "True",
    "OPENINFERENCE_HIDE_EMBEDDINGS_TEXT": "TRUE",
    "OPENINFERENCE_HIDE_RETRIEVAL_DOCUMENTS": "true",
}
Look = Callable[..., dict[str, Instrumentor]]


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """What is found where these distributions are installed."""

    def run(*installed: str, **environ: str) -> dict[str, Instrumentor]:
        def version(name: str) -> str:
            if name in installed:
                return "1.2.3"
            raise PackageNotFoundError(name)

        monkeypatch.setattr(module, "version", version)
        return {found.distribution: found for found in instrumentors(environ)}

    return run


def test_who_is_not_installed_is_not_named(look: Look) -> None:
    assert look() == {}
    assert set(look(TRACELOOP, "something-else")) == {TRACELOOP}


@pytest.mark.parametrize(
    ("distribution", "environ", "exports"),
    [
        (TRACELOOP, {}, True),
        (TRACELOOP, {"TRACELOOP_TRACE_CONTENT": "true"}, True),
        (TRACELOOP, {"TRACELOOP_TRACE_CONTENT": "false"}, False),
        (OPENINFERENCE, {}, True),
        (OPENINFERENCE, HIDDEN, False),
        (OPENINFERENCE, HIDDEN | {"OPENINFERENCE_HIDE_EMBEDDINGS_TEXT": "no"}, True),
        (OPENINFERENCE, HIDDEN | {"OPENINFERENCE_HIDE_EMBEDDINGS_TEXT": "1"}, True),
        (OPENINFERENCE, HIDDEN | {"OPENINFERENCE_HIDE_INPUTS": " true "}, True),
        (OFFICIAL, {}, False),
        (OFFICIAL, {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only"}, True),
    ],
)
def test_whether_it_exports_text_is_read_from_its_own_switches(
    look: Look, distribution: str, environ: dict[str, str], exports: bool
) -> None:
    found = look(distribution, **environ)[distribution]
    assert found.exports_text == exports
    assert found.switches


def test_one_that_is_at_work_in_this_process_is_active(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    class AtWork:
        is_instrumented_by_opentelemetry = True

    assert not look(TRACELOOP)[TRACELOOP].active
    for members, active in (({"LangchainInstrumentor": AtWork}, True), ({}, False)):
        loaded = ModuleType("opentelemetry.instrumentation.langchain")
        vars(loaded).update(members)
        monkeypatch.setitem(sys.modules, loaded.__name__, loaded)
        assert look(TRACELOOP)[TRACELOOP].active == active


@pytest.mark.pg
def test_doctor_says_so(
    look: Look, database: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ragledger.health import examine
    from ragledger.wiring import target_from

    look(TRACELOOP, OFFICIAL)
    monkeypatch.delenv("TRACELOOP_TRACE_CONTENT", raising=False)
    found = {
        finding.about: finding for finding in examine(target_from(dsn=database.dsn, span_document_ids=True))
    }
    warned = found[f"instrumentor {TRACELOOP}"]
    assert (warned.level, "queries and chunks" in warned.found) == ("warning", True)
    assert "TRACELOOP_TRACE_CONTENT=false" in warned.advice
    assert "exception messages" in warned.advice
    assert found[f"instrumentor {OFFICIAL}"].level == "ok"
    assert found["spans"].found.startswith("span_document_ids on")
