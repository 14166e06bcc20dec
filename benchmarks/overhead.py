"""What watching one retrieval of 10 documents adds in the caller's thread, ours beside our peers', in one run.

Every variant runs in a fresh process, the variants of a framework in alternated rounds; a figure is the median over rounds of the
median over calls, minus the same for no instrumentation. A peer that is not installed is "not measured".

    python benchmarks/overhead.py [--rounds 5] [--calls 3000] [--busy]

`--busy` runs one CPU-bound Python thread beside the searches and reports the 99th percentile.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HITS = 10
VARIANTS = ("none", "ragledger row", "ragledger row + span", "openllmetry, content off", "openinference")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--child", nargs=2, metavar=("FRAMEWORK", "VARIANT"))
    options = parser.parse_args()
    if options.child:
        print(json.dumps(_child(*options.child, options)))
        return
    for framework in ("langchain", "llama_index"):
        found: dict[str, list[dict[str, float]]] = {variant: [] for variant in VARIANTS}
        for _ in range(options.rounds):
            for variant in VARIANTS:
                if (result := _measure(framework, variant, options)) is not None:
                    found[variant].append(result)
        _report(framework, found, "p99" if options.busy else "p50")


def _measure(framework: str, variant: str, options: argparse.Namespace) -> dict[str, float] | None:
    command = [sys.executable, __file__, "--calls", str(options.calls), "--child", framework, variant]
    command += ["--busy"] if options.busy else []
    with tempfile.TemporaryDirectory() as home:
        environ = os.environ | {"RAGLEDGER_HOME": home, "TRACELOOP_TRACE_CONTENT": "false"}
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.stderr.write(f"{framework}, {variant}: not measured ({done.stderr.strip().splitlines()[-1:]})\n")
        return None
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def _report(framework: str, found: dict[str, list[dict[str, float]]], figure: str) -> None:
    middle = {
        variant: {name: statistics.median(run[name] for run in runs) for name in runs[0]}
        for variant, runs in found.items()
        if runs
    }
    base = middle["none"]
    print(f"\n{framework}: {HITS} documents, {base['p50']:.1f} us at the median without instrumentation")
    print(
        f"{'':28}{'added p50':>10}{'added p99':>11}{'CPU':>8}   ratio of ours to it, {figure}: row, row + span"
    )
    ours = [middle[name][figure] - base[figure] for name in VARIANTS[1:3]]
    for variant in VARIANTS[1:]:
        if variant not in middle:
            print(f"{variant:28}{'not measured':>21}")
            continue
        numbers = middle[variant]
        added = numbers[figure] - base[figure]
        ratios = "" if variant.startswith("ragledger") else "   ".join(f"{own / added:.2f}" for own in ours)
        print(
            f"{variant:28}{numbers['p50'] - base['p50']:10.1f}{numbers['p99'] - base['p99']:11.1f}"
            f"{numbers['cpu'] - base['cpu']:8.1f}   {ratios}"
        )


def _child(framework: str, variant: str, options: argparse.Namespace) -> dict[str, float]:
    search = _langchain() if framework == "langchain" else _llama_index()
    _instrument(framework, variant)
    for _ in range(300):
        search()
    stop = threading.Event()
    if options.busy:
        threading.Thread(target=_burn, args=(stop,), daemon=True).start()
    times = []
    cpu = time.process_time_ns()
    for _ in range(options.calls):
        started = time.perf_counter_ns()
        search()
        times.append(time.perf_counter_ns() - started)
    cpu = time.process_time_ns() - cpu
    stop.set()
    times.sort()
    return {
        "p50": times[len(times) // 2] / 1e3,
        "p99": times[len(times) * 99 // 100] / 1e3,
        "cpu": cpu / options.calls / 1e3,
    }


def _burn(stop: threading.Event) -> None:
    while not stop.is_set():
        sum(range(1000))


def _langchain() -> Callable[[], Any]:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    documents = [
        Document(id=f"chunk-{n}", page_content="x" * 500, metadata={"document_id": f"doc-{n % 3}"})
        for n in range(HITS)
    ]

    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return list(documents)

    retriever = Fixed()
    return lambda: retriever.invoke("how long do refunds take")


def _llama_index() -> Callable[[], Any]:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    nodes = [
        NodeWithScore(node=TextNode(id_=f"chunk-{n}", text="x" * 500), score=1.0 / (n + 1))
        for n in range(HITS)
    ]

    class Fixed(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return list(nodes)

    retriever = Fixed()
    return lambda: retriever.retrieve("how long do refunds take")


def _instrument(framework: str, variant: str) -> None:
    if variant == "none":
        return
    if variant == "ragledger row":
        _ragledger(framework, None)
        return
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

    class Nowhere(SpanExporter):
        """Encodes as OTLP would, and sends nothing."""

        def export(self, spans: Any) -> SpanExportResult:
            from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

            encode_spans(spans).SerializeToString()
            return SpanExportResult.SUCCESS

    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(Nowhere()))
    if variant == "ragledger row + span":
        _ragledger(framework, provider)
    else:
        _peer(framework, variant).instrument(tracer_provider=provider)


def _ragledger(framework: str, provider: Any) -> None:
    import ragledger

    # Nobody ships: the price of shipping is benchmarks/ship.py's. The journal is on a real disk.
    home = Path(os.environ["RAGLEDGER_HOME"])
    ledger = ragledger.open(
        "postgresql://127.0.0.1:1/none", ship="sidecar", journal_dir=home, tracer_provider=provider
    )
    if framework == "langchain":
        from ragledger_langchain import LangChainInstrumentor as Instrumentor
    else:
        from ragledger_llama_index import LlamaIndexInstrumentor as Instrumentor
    Instrumentor().instrument(ledger=ledger)


def _peer(framework: str, variant: str) -> Any:
    if variant == "openinference":
        if framework == "langchain":
            from openinference.instrumentation.langchain import LangChainInstrumentor as Peer
        else:
            from openinference.instrumentation.llama_index import LlamaIndexInstrumentor as Peer
    elif framework == "langchain":
        from opentelemetry.instrumentation.langchain import LangchainInstrumentor as Peer
    else:
        from opentelemetry.instrumentation.llamaindex import LlamaIndexInstrumentor as Peer
    return Peer()


if __name__ == "__main__":
    main()
