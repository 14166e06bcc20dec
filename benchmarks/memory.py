"""Memory that ragledger adds to an application, and whether it grows: over many searches, and over a long outage.

Resident memory of a fresh process. Added is what it has over the same process without ragledger: LangChain imported
and one retriever called. Growth is counted from a tenth of the searches on. The outage is an hour at 500 searches a
second in simulated time: the same 1,800,000 searches as fast as they go, with nobody at the database's port; the
journal fills the disk up to its cap, then records are refused.

    python benchmarks/memory.py [--dsn postgresql://...] [--searches 1000000] [--outage 1800000] [--cap-mb 2048] [--quick]

Goals: at most 45 MB with the shipper in the process, 10 MB with the sidecar; no growth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from retriever import make_retriever

# Neither ragledger nor the driver is imported here: the process without them is what they are compared with.
LEDGERS = ("shipper in the process", "sidecar")


def resident_mb() -> float:
    """Of this process, as the kernel counts it."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the kernel does not say how much memory is resident")


def child_added(variant: str, dsn: str, home: Path) -> dict[str, float]:
    """Resident memory after 1000 searches of a retriever."""
    retriever = make_retriever(0.0)
    if variant == "without":
        ledger = None
    else:
        import ragledger
        from ragledger_langchain import observe

        ship = "sidecar" if variant == "sidecar" else "thread"
        ledger = ragledger.open(dsn, ship=ship, journal_dir=home, exit_drain_s=0.0)
        retriever = observe(retriever, ledger)
    for _ in range(1000):
        retriever.invoke("how long do refunds take")
    if ledger is not None and variant != "sidecar" and not ledger.flush(60):
        raise SystemExit("nothing was shipped: the driver is not in memory")
    return {"resident": resident_mb()}


def child_growth(dsn: str, home: Path, searches: int, cap_mb: int) -> dict[str, float]:
    """Searches of own code with 10 hits; what was resident after a tenth of them, at most later, and at the end."""
    import ragledger
    from ragledger.journal.directory import size_of

    ledger = ragledger.open(dsn, journal_dir=home, journal_cap_mb=cap_mb, exit_drain_s=0.0)
    hits = [ragledger.Candidate(f"chunk-{rank}", f"doc-{rank}", score=1 / (rank + 1)) for rank in range(10)]
    early = latest = most = 0.0
    refused = 0
    for number in range(1, searches + 1):
        with ledger.search(corpus="handbook", top_k=10) as search:
            search.candidates(*hits)
        refused += search.receipt.search_id is None
        if number % max(1, searches // 100) == 0:
            latest = resident_mb()
            early = early or (latest if number >= searches // 10 else 0.0)
            most = max(most, latest)
    facts = ledger.facts()
    return {
        "early": early,
        "most": most,
        "late": latest,
        "journal": size_of(Path(facts["journal"])) / 2**20,
        "refused": refused,
        "shipped": facts["shipped"],
    }


def measure(options: argparse.Namespace, what: str, dsn: str, searches: int = 0) -> dict[str, Any]:
    """In a fresh process, with a journal of its own."""
    with tempfile.TemporaryDirectory() as home:
        command = [sys.executable, __file__, "--child", what, home, "--dsn", dsn]
        command += ["--searches", str(searches), "--cap-mb", str(options.cap_mb)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{what}: {done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def report_added(options: argparse.Namespace, server_dsn: str) -> None:
    """A plain table."""
    from drain import fresh_database

    print(f"{'resident, MB':26}{'in all':>9}{'added':>9}")
    base = 0.0
    for variant in ("without", *LEDGERS):
        with fresh_database(server_dsn) as dsn:
            resident = measure(options, variant, dsn)["resident"]
        base = base or resident
        print(f"{variant:26}{resident:9.1f}{resident - base:9.1f}")


def report_growth(options: argparse.Namespace, server_dsn: str) -> None:
    """A plain table."""
    from drain import NOBODY, fresh_database

    with fresh_database(server_dsn) as dsn:
        found = {"database up": (options.searches, measure(options, "growth", dsn, options.searches))}
    found["outage"] = (options.outage, measure(options, "growth", NOBODY, options.outage))
    print(
        f"\n{'':14}{'searches':>10}{'MB at 10 %':>12}{'most':>8}{'at end':>8}{'growth':>8}"
        f"{'in table':>10}{'journal MB':>12}{'refused':>10}"
    )
    for name, (searches, row) in found.items():
        print(
            f"{name:14}{searches:10,}{row['early']:12.1f}{row['most']:8.1f}{row['late']:8.1f}"
            f"{row['late'] - row['early']:8.1f}{row['shipped']:10,}{row['journal']:12.0f}{row['refused']:10,}"
        )
    print(f"the cap of the journal is {options.cap_mb} MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dsn", help="a server to make a database on; default an embedded one of its own")
    parser.add_argument("--searches", type=int, default=1_000_000, help="with the database up")
    parser.add_argument("--outage", type=int, default=1_800_000, help="searches with the database down")
    parser.add_argument("--cap-mb", type=int, default=2048, help="of the journal")
    parser.add_argument("--quick", action="store_true", help="a small run that proves nothing")
    parser.add_argument("--child", nargs=2, metavar=("WHAT", "HOME"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        what, home = options.child
        if what == "growth":
            print(json.dumps(child_growth(options.dsn, Path(home), options.searches, options.cap_mb)))
        else:
            print(json.dumps(child_added(what, options.dsn, Path(home))))
        return
    if options.quick:
        options.searches, options.outage, options.cap_mb = 2000, 20_000, 8
    from drain import server

    with server(options.dsn) as server_dsn:
        report_added(options, server_dsn)
        report_growth(options, server_dsn)


if __name__ == "__main__":
    main()
