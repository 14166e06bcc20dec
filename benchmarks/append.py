"""What an append to the journal costs the searching thread, in every mode of fsync, idle and beside other threads.

    python benchmarks/append.py [--records 20000] [--fsync none batch always] [--directory DIR]

The record is a search of 10 hits. Absolute times are of this machine and its disk: compare rows of one run.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ragledger.ids import new_id
from ragledger.journal.journal import Journal
from ragledger.model import HitRecord, SearchRecord
from ragledger.shipper_thread import ShipperThread


def search_of(hits: int) -> SearchRecord:
    """A search as the recorder puts it."""
    search_id = new_id()
    values = dict.fromkeys(SearchRecord.__struct_fields__)
    values |= {
        "search_id": search_id, "started_at": time.time_ns() // 1000, "project": "bench", "corpus": "handbook",
        "surface": "study", "session_id": "0190b3c4", "actor_kind": "human", "actor_id": "ana",
        "framework": "langchain", "retriever": "VectorStoreRetriever", "root_id": search_id, "depth": 0,
        "status": "ok", "degraded": False, "vector_available": True, "latency_ms": 12.5, "top_k": 10,
        "candidate_count": hits, "admitted_count": hits, "top_candidate_score": 0.9, "top_admitted_score": 0.9,
        "weights": '{"configured":{"lexical":0.4,"vector":0.6},"effective":{"lexical":0.4,"vector":0.6},'
        '"source":"declared","unknown":[]}',
        "epoch": "3f2a9c1b5d7e8f60", "index_version": "2024-06", "embedding_model": "wordllama",
        "flags": (), "trace_id": b"t" * 16, "span_id": b"s" * 8, "sampled": True, "span_owner": "ours",
        "hits": tuple(
            HitRecord(
                rank, f"chunk-{rank:08d}", "framework", f"doc-{rank // 3:06d}", "pdf", 0.9 - rank / 100, "fused",
                None, 0.8, 0.1, None, admitted=True,
            )
            for rank in range(1, hits + 1)
        ),
    }  # fmt: skip
    return SearchRecord(**values)


@contextmanager
def busy_thread(*, on: bool) -> Iterator[None]:
    """One Python thread that computes and never waits."""
    stop = threading.Event()

    def compute() -> None:
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=compute, daemon=True)
    if on:
        thread.start()
    yield
    stop.set()
    if on:
        thread.join()


@contextmanager
def journal_in(base: Path | None, fsync: Any) -> Iterator[Journal]:
    """A journal with the background thread that prepares its segments."""
    with tempfile.TemporaryDirectory(dir=base) as directory:
        journal = Journal(Path(directory), project="bench", cap_bytes=1 << 31, fsync=fsync)
        thread = ShipperThread(journal, None)  # only prepares segments
        journal.on_open = thread.start
        journal.prepare()
        yield journal
        thread.stop(2)
        journal.release()


def put_many(journal: Journal, records: int) -> list[float]:
    """Microseconds of each put, at a pace that leaves the background its turns."""
    record = search_of(10)
    times = []
    for index in range(records):
        start = time.perf_counter_ns()
        refusal = journal.put(record)
        times.append((time.perf_counter_ns() - start) / 1000)
        if refusal is not None:
            raise SystemExit(f"refused: {refusal}")
        if index % 10 == 0:
            time.sleep(0.001)
    return times[records // 20 :]


def put_by_threads(journal: Journal, records: int, count: int) -> list[float]:
    """The same by several threads at once: in mode `always` they share flushes."""
    times: list[float] = []
    threads = [
        threading.Thread(target=lambda: times.extend(put_many(journal, records // count)))
        for _ in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def row(name: str, times: list[float], elapsed_s: float) -> None:
    times.sort()
    at = [times[min(len(times) - 1, int(len(times) * share))] for share in (0.99, 0.999)]
    median, rate = statistics.median(times), len(times) / elapsed_s
    print(f"{name:32}{median:9.1f}{at[0]:9.1f}{at[1]:9.1f}{times[-1]:11.1f}{rate:11,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--fsync", nargs="+", choices=["none", "batch", "always"], default=["none"])
    parser.add_argument(
        "--directory", type=Path, help="on the disk to be measured; default the temporary one"
    )
    options = parser.parse_args()
    size = len(msgspec.msgpack.encode(search_of(10)))
    print(f"one append of a search of 10 hits ({size:,} bytes), microseconds\n")
    print(f"{'':32}{'median':>9}{'p99':>9}{'p99.9':>9}{'max':>11}{'per s':>11}")
    for fsync in options.fsync:
        # A flush takes as long as a thousand appends.
        records = options.records if fsync != "always" else options.records // 20
        for name, busy, threads in (
            ("idle", False, 1),
            ("beside a busy thread", True, 1),
            ("8 threads", False, 8),
        ):
            with journal_in(options.directory, fsync) as journal, busy_thread(on=busy):
                start = time.monotonic()
                times = (
                    put_many(journal, records) if threads == 1 else put_by_threads(journal, records, threads)
                )
                row(f"{fsync}, {name}", times, time.monotonic() - start)


if __name__ == "__main__":
    main()
