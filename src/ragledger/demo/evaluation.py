"""Where every relevance number of the README comes from: `make eval`.

Judged questions go through the real hybrid search on pgvector, on the demo's corpus also through both frameworks, and
on Cranfield where its files are given. The reports hold neither times nor hosts: a second run writes the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from llama_index.core import Settings as LlamaSettings
from llama_index.core.callbacks import CallbackManager
from psycopg import Connection

import ragledger
from ragledger.analyses.retrievers import IdReader, Retrieve
from ragledger.asking import ask, report_of, vote
from ragledger.embedded import EmbeddedServer
from ragledger.measures.golden_set import GoldenSet, Judgment, Question
from ragledger.postgres.connection import connect
from ragledger.schema import apply
from ragledger_langchain import observe
from ragledger_llama_index import LedgerCallbackHandler

from . import cranfield
from .corpus import Passage, load_corpus
from .hybrid import EMBEDDING_MODEL, Embedder, HybridSearch, load_embedder
from .index import CORPUS, build
from .judgments import grade, load_questions
from .langchain import HybridRetriever
from .llama_index import HybridNodeRetriever
from .relevance_block import BLOCK, replaced

__all__ = ["cranfield_report", "demo_golden", "demo_report", "main", "written"]

_DIGITS = 4
_KEY = b"the key of make eval, which keys nothing that is kept"
_SCHEMA = "ragledger"
_WEIGHTS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


class _Way(NamedTuple):
    """One way to ask. `by`: the framework, None for the search itself."""

    by: str | None
    hybrid: HybridSearch
    retrieve: Retrieve


def demo_report(dsn: str) -> dict[str, Any]:
    """The demo's questions, through the hybrid search itself, through both frameworks, and with one signal alone."""
    embed, corpus = load_embedder(), load_corpus()
    golden = demo_golden(corpus)
    with _searching(dsn) as connection, _opened(dsn) as ledger:
        build(connection, corpus, embed)
        hybrid = HybridSearch(connection=connection, embed=embed)
        runs = [_run(golden, way) for way in _ways(hybrid, ledger)]
    texts = "".join(f"{passage.chunk_id}\0{passage.text}\0" for passage in corpus)
    return _report(golden, runs, corpus, hashlib.sha256(texts.encode()).hexdigest())


def cranfield_report(dsn: str, folder: Path) -> dict[str, Any]:
    """Cranfield's questions, through the hybrid search at several weights, without a threshold."""
    embed = load_embedder()
    corpus, golden = cranfield.read(folder)
    with _searching(dsn) as connection:
        build(connection, corpus, embed, cranfield.CORPUS)
        runs = [_run(golden, _direct(_weighted(connection, embed, weight))) for weight in _WEIGHTS]
    files = b"".join((folder / name).read_bytes() for name in cranfield.FILES)
    return _report(golden, runs, corpus, hashlib.sha256(files).hexdigest())


def demo_golden(corpus: Sequence[Passage]) -> GoldenSet:
    """The demo's judged set: its rules judge every passage."""
    return GoldenSet(
        name=CORPUS,
        unit="chunk",
        corpus=CORPUS,
        questions=tuple(
            Question(
                id=question.id,
                text=question.text,
                judgments=tuple(
                    Judgment(id=passage.chunk_id, grade=grade(question, passage)) for passage in corpus
                ),
            )
            for question in load_questions()
        ),
    )


def written(found: Mapping[str, Any]) -> str:
    """A report as its file."""
    return json.dumps(found, indent=1, sort_keys=True) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes reports and README, or checks that they agree. The exit code."""
    options = _parser().parse_args(arguments)
    if not options.check:
        with _server() as dsn:
            _write(options.reports / "demo.json", demo_report(dsn))
            if options.cranfield.is_dir():
                _write(options.reports / "cranfield.json", cranfield_report(dsn, options.cranfield))
            else:
                _say(f"no Cranfield at {options.cranfield}: its report is left as it is")
    text = options.readme.read_text(encoding="utf-8")
    made = replaced(text, _read(options.reports / "demo.json"), _read(options.reports / "cranfield.json"))
    if options.check:
        if made != text:
            _say(f"{options.readme} says something else than {options.reports}: run `make eval`")
        return int(made != text)
    options.readme.write_text(made, encoding="utf-8")
    _say(f"{options.readme}: the block `{BLOCK}` is written")
    return 0


def _ways(hybrid: HybridSearch, ledger: ragledger.Ledger) -> Iterator[_Way]:
    yield _direct(hybrid)
    observed: Any = observe(HybridRetriever(hybrid=hybrid), ledger, corpus=CORPUS)
    yield _Way("langchain", hybrid, observed.invoke)
    before = LlamaSettings.callback_manager
    LlamaSettings.callback_manager = CallbackManager([LedgerCallbackHandler(ledger, corpus=CORPUS)])
    try:
        yield _Way("llama_index", hybrid, HybridNodeRetriever(hybrid).retrieve)
    finally:
        LlamaSettings.callback_manager = before
    for weight in (1.0, 0.0):
        yield _direct(_weighted(hybrid.connection, hybrid.embed, weight))


def _weighted(connection: Connection[Any], embed: Embedder, weight: float) -> HybridSearch:
    plain = HybridSearch(connection=connection, embed=embed, threshold=0.0)
    return replace(plain, vector=weight, lexical=round(1 - weight, 9))


def _direct(hybrid: HybridSearch) -> _Way:
    return _Way(None, hybrid, lambda query: [item.chunk_id for item in hybrid.search(query)])


def _run(golden: GoldenSet, way: _Way) -> dict[str, Any]:
    asked = ask(golden, way.retrieve, IdReader("chunk"), tick=_progress(f"{golden.name}, {_called(way)}"))
    measured = report_of(golden, "", asked)
    kept = msgspec.to_builtins(measured, str_keys=True)
    for name in ("golden", "questions", "schema"):
        del kept[name]
    settings = {name: getattr(way.hybrid, name) for name in ("vector", "lexical", "threshold", "top_k")}
    settings["candidates_per_signal"] = way.hybrid.candidates_per_signal
    recorded = None
    if way.by is not None:
        counts = vote(golden, asked)
        recorded = {"searches": sum(len(answer.recorded) for answer in asked.answers), "votes": counts.votes}
    return {"by": way.by, "settings": settings, "recorded": recorded, **_rounded(kept)}


def _report(
    golden: GoldenSet, runs: list[dict[str, Any]], corpus: Sequence[Passage], digest: str
) -> dict[str, Any]:
    judgments = [judgment.grade for question in golden.questions for judgment in question.judgments]
    return {
        "schema": 1,
        "corpus": {
            "name": golden.corpus,
            "passages": len(corpus),
            "sha256": digest,
            "questions": len(golden.questions),
            "answerable": len(golden.answerable(2)),
            "judgments": len(judgments),
            "by_grade": {str(grade): judgments.count(grade) for grade in range(4)},
        },
        "embedding_model": EMBEDDING_MODEL,
        "runs": runs,
        "made_with": {
            "python": f"{sys.version_info.major}.{sys.version_info.minor}",
            **{name: version(name) for name in ("ir-measures", "pytrec-eval-terrier", "wordllama")},
        },
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, _DIGITS)
    if isinstance(value, dict):
        return {name: _rounded(each) for name, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, (list, tuple)) else value


def _called(way: _Way) -> str:
    return way.by or f"vector {way.hybrid.vector:g}"


@contextmanager
def _searching(dsn: str) -> Iterator[Connection[Any]]:
    """A connection that finds the nearest vectors exactly: an approximate index is built at random."""
    with connect(dsn, _SCHEMA) as connection:
        connection.execute("SET enable_indexscan = off")
        connection.execute("SET max_parallel_workers_per_gather = 0")
        yield connection


@contextmanager
def _opened(dsn: str) -> Iterator[ragledger.Ledger]:
    with tempfile.TemporaryDirectory(prefix="ragledger-eval-") as journal:
        ledger = ragledger.open(
            dsn, project="ragledger-eval", name="ragledger-eval", key=_KEY, journal_dir=Path(journal)
        )
        try:
            yield ledger
        finally:
            ledger.flush(30)
            ledger.close()


@contextmanager
def _server() -> Iterator[str]:
    base = Path(tempfile.gettempdir()) / f"ragledger-eval-{os.getuid()}"
    with EmbeddedServer.acquire(base, throwaway=True, timeout_s=60) as server:
        with connect(server.dsn, _SCHEMA) as connection:
            apply(connection, _SCHEMA)
        yield server.dsn


def _progress(what: str) -> Callable[[int], None]:
    if not sys.stderr.isatty():
        return lambda _: None
    done = 0

    def tick(count: int) -> None:
        nonlocal done
        done += count
        sys.stderr.write(f"\r{what}: {done:,} questions\x1b[K")

    return tick


def _write(path: Path, found: Mapping[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(written(found), encoding="utf-8")
    _say(f"{path}: {len(found['runs'])} runs of {found['corpus']['questions']} questions")


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _say(line: str) -> None:
    end = "\r\x1b[K" if sys.stderr.isatty() else ""
    sys.stderr.write(f"{end}{line}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ragledger.demo.evaluation", description=__doc__)
    parser.add_argument("--cranfield", type=Path, default=Path("../shared/data/cranfield"), metavar="DIR")
    parser.add_argument("--reports", type=Path, default=Path("reports"), metavar="DIR")
    parser.add_argument("--readme", type=Path, default=Path("README.md"), metavar="FILE")
    parser.add_argument(
        "--check", action="store_true", help="write nothing: 1 when README and reports differ"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
