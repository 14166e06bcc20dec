"""`calibrate` on real judgments: Cranfield through the demo's hybrid search on pgvector, votes drawn from the qrels.

    python benchmarks/cranfield.py [--data DIR] [--seeds 20] [--votes 3000] [--legs complete missing imputed]

Two thirds of the questions are asked and voted on, the rest is held out. 20 candidates per signal, ten shown, each voted on
with chance 0.6 / sqrt(rank) by one of twelve readers of kind `judge`. The scores are those that the search gave; per seed the
questions, the votes and the folds differ. Useful: any of the four grades (--useful-from).

Goals: of the gap in held-out P@10 between the running and the best weight, 70 % are recovered from 0.9 and 1.0; a change is
recommended in 60 % (0.9) and 80 % (1.0) of the seeds, and in at most 10 % near the best; with missing signals the same runs
are refused or warned.

Before that, one run goes the whole way: recorded by the ledger, voted on, shipped, calibrated by `ragledger calibrate` from
the table; its estimate must be the simulated one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import psycopg
from cranfield_world import OUTCOMES, SHOWN, Bm25Search, Collection, Scores, index, load, scores_of
from psycopg.conninfo import make_conninfo

import ragledger
from ragledger.analyses.calibration import Options, conclude, weigh
from ragledger.analyses.calibration_reading import Reading
from ragledger.demo.hybrid import load_embedder
from ragledger.embedded import EmbeddedServer
from ragledger.measures.calibration import Calibration
from ragledger.measures.evidence import HitFact, SearchFact
from ragledger.measures.facts import EpochFact
from ragledger.measures.refusion import fusion_of
from ragledger.measures.report import Window
from ragledger.postgres.connection import connect
from ragledger.schema import apply

READERS = 12
DATABASE = "ragledger_cranfield"
LOGGED = (1.0, 0.9, 0.6)
WEIGHTS = np.linspace(0, 1, 41)
ORDER = ("not_relevant", "partially_relevant", "relevant", "highly_relevant")
EPOCH, WHEN = "simulated", datetime(2026, 1, 1, tzinfo=timezone.utc)


class Vote(NamedTuple):
    search: int
    question: int
    rank: int
    document: int
    reader: int


class Experiment(NamedTuple):
    scores: Scores
    useful: np.ndarray
    useful_from: str


def ask(of: Experiment, seed: int, weight: float, wanted: int) -> tuple[list[Vote], np.ndarray]:
    """The votes of a seed, and the questions that were held out."""
    chance = np.random.default_rng(seed)
    mixed = chance.permutation(len(of.useful))
    asked, held_out = mixed[: 2 * len(mixed) // 3], mixed[2 * len(mixed) // 3 :]
    votes: list[Vote] = []
    search = 0
    while len(votes) < wanted:
        question, reader = int(chance.choice(asked)), int(chance.integers(READERS))
        top = of.scores.top(question, weight)
        voted = np.flatnonzero(chance.random(len(top)) < 0.6 / np.sqrt(np.arange(1, len(top) + 1)))
        votes += [Vote(search, question, int(at) + 1, int(top[at]), reader) for at in voted]
        search += 1
    return votes, held_out


def reading(of: Experiment, votes: list[Vote], weight: float, *, complete: bool) -> Reading:
    """The votes as if they had been read from the table."""
    effective = {"vector": weight, "lexical": 1 - weight}
    epoch = EpochFact(EPOCH, 1, 1, WHEN, WHEN, {"effective": effective, "source": "declared"}, None, None)
    signals: dict[str, dict[str, Any]] = {"vector": {"complete": complete}, "lexical": {"complete": complete}}
    asked = {vote.search: vote.question for vote in votes}
    plain = (False, False)  # neither degraded nor capped
    searches = [
        SearchFact(UUID(int=n), EPOCH, None, None, *plain, str(question).encode(), signals)
        for n, question in asked.items()
    ]
    hits = []
    for vote in votes:
        union, in_vector, in_lexical = of.scores.candidates[vote.question]
        at = int(np.searchsorted(union, vote.document))
        vector, lexical = (
            float(leg[vote.question, vote.document]) for leg in (of.scores.vector, of.scores.lexical)
        )
        said = [
            vector if complete or in_vector[at] else None,
            lexical if complete or in_lexical[at] else None,
        ]
        useful = bool(of.useful[vote.question, vote.document])
        hits.append(HitFact(UUID(int=vote.search), vote.rank, 1, useful, [f"reader-{vote.reader}"], said))
    fusions = {EPOCH: fusion_of(effective, signals)}
    return Reading("judge", {"judge": len(hits)}, epoch, fusions, searches, hits, [], SHOWN, ())


def calibrated(found: Reading, *, impute: bool = False) -> Calibration:
    options = Options(impute_zero=impute)
    return conclude(found, weigh(found, options), None, Window(), options)


def precision(of: Experiment, weight: float, questions: np.ndarray) -> float:
    """P@10 over all documents, judged or not by anybody."""
    return float(np.mean([of.useful[q, of.scores.top(q, weight)].sum() / SHOWN for q in questions.tolist()]))


def table(of: Experiment, seeds: int, wanted: int, legs: str) -> Iterator[str]:
    by_question = np.array(
        [[precision(of, w, np.array([q])) for w in WEIGHTS] for q in range(len(of.useful))]
    )
    best = float(WEIGHTS[by_question.mean(axis=0).argmax()])
    yield f"signals {legs}, about {wanted:,} votes, {seeds} seeds; best weight over all questions {best:.2f}"
    yield "logged  pairs  questions  estimate: mean  sd   held-out P@10: running  estimate  best   of the gap  changes  refused  warned"
    for weight in (*LOGGED, best):
        rows = []
        for seed in range(seeds):
            votes, held_out = ask(of, seed, weight, wanted)
            found = calibrated(
                reading(of, votes, weight, complete=legs == "complete"), impute=legs == "imputed"
            )
            estimate = None if found.estimate is None else found.estimate["vector"]
            rows.append((found, estimate, by_question[held_out].mean(axis=0), precision(of, weight, held_out),
                         np.nan if estimate is None else precision(of, estimate, held_out)))  # fmt: skip
        yield f"{weight:6.2f} " + summary(rows)


def summary(rows: list[tuple[Calibration, float | None, np.ndarray, float, float]]) -> str:
    """One line: the best weight is the one that is best over the held-out questions of all seeds together."""
    found = [row[0] for row in rows]
    refused = sum(one.verdict == "refused" for one in found)
    changes = sum(one.verdict == "recommend" for one in found)
    warned = sum(any(line.startswith("WARNING") for line in one.notes) for one in found)
    ends = f"{changes:7} {refused:8} {warned:7}"
    counts = [(one.used.pairs, one.used.questions) for one in found if one.used is not None]
    pairs, questions = np.mean(counts, axis=0)
    if refused == len(rows):
        return f"{pairs:6.0f} {questions:10.0f}  {'refused':>16} {'':>59} {ends}"
    estimates = np.array([row[1] for row in rows if row[1] is not None])
    running = np.mean([row[3] for row in rows if row[1] is not None])
    after = np.nanmean([row[4] for row in rows])
    best = np.mean([row[2] for row in rows if row[1] is not None], axis=0).max()
    share = f"{(after - running) / (best - running):.2f}" if best - running > 0.004 else "no gap"
    return (
        f"{pairs:6.0f} {questions:10.0f}          {estimates.mean():.3f}  {estimates.std():.3f}              "
        f"{running:.4f}    {after:.4f}   {best:.4f}  {share:>10} {ends}"
    )


def whole_way(of: Experiment, collection: Collection, search: Bm25Search, dsn: str, wanted: int) -> str:
    """Recorded, voted on, shipped and calibrated from the table, and what the simulation says of the same votes."""
    weight, seed = 0.9, 0
    votes, _ = ask(of, seed, weight, wanted)
    running = Bm25Search(
        connection=search.connection,
        embed=search.embed,
        vector=weight,
        lexical=round(1 - weight, 9),
        threshold=0.0,
    )
    ledger = ragledger.open(dsn, project="cranfield", query_keys=True, key=b"k" * 32, strict=True)
    by_search: dict[int, list[Vote]] = {}
    for vote in votes:
        by_search.setdefault(vote.search, []).append(vote)
    for asked in by_search.values():
        question = collection.questions[asked[0].question]
        with ledger.search(query=question, corpus="cranfield") as observation:
            running.search(question)
        search_id = observation.receipt.search_id
        assert search_id is not None
        for vote in asked:
            grade = int(of.scores.grade[vote.question, vote.document])
            outcome: Any = OUTCOMES.get(grade, "not_relevant")
            ledger.vote(search_id, of.scores.ids[vote.document], outcome, actor=f"judge:reader-{vote.reader}")
    ledger.flush(60)
    ledger.close()
    arguments = ["calibrate", "--dsn", dsn, "--since", "all", "--useful-from", of.useful_from, "--json"]
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ragledger")), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    simulated = calibrated(reading(of, votes, weight, complete=True))
    assert simulated.estimate is not None
    apart = abs(said["estimate"]["vector"] - simulated.estimate["vector"])
    return (
        f"from the table, logged at {weight}: {said['used']['pairs']} pairs of {said['used']['searches']} searches, estimate "
        f"{said['estimate']['vector']:.3f}, gain {said['gain']['value']:+.3f} ({said['gain']['low']:+.3f} to "
        f"{said['gain']['high']:+.3f}), {said['verdict']}; apart from the simulated estimate: {apart:.1e}"
    )


def experiment(scores: Scores, useful_from: str) -> Experiment:
    cut = ORDER.index(useful_from)
    outcome = np.vectorize(lambda grade: ORDER.index(OUTCOMES.get(int(grade), ORDER[0])))(scores.grade)
    return Experiment(scores, outcome >= cut, useful_from)


def fresh(dsn: str) -> str:
    """An empty database on the benchmarks' own server."""
    with psycopg.connect(dsn, autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        admin.execute(f"CREATE DATABASE {DATABASE}")
    return make_conninfo(dsn, dbname=DATABASE)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    beside = Path(__file__).parents[2] / "shared" / "data" / "cranfield"
    parser.add_argument("--data", type=Path, default=os.environ.get("CRANFIELD", beside))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--votes", type=int, nargs="+", default=[3000])
    parser.add_argument(
        "--legs", nargs="+", choices=["complete", "missing", "imputed"], default=["complete", "missing"]
    )
    parser.add_argument("--useful-from", choices=ORDER[1:], default="partially_relevant")
    parser.add_argument("--no-table", action="store_true", help="leave out the run that goes the whole way")
    given = parser.parse_args()
    collection = load(Path(given.data))
    base = Path(tempfile.gettempdir()) / f"ragledger-bench-{os.getuid()}"
    with (
        tempfile.TemporaryDirectory() as home,
        EmbeddedServer.acquire(base, throwaway=True, timeout_s=60) as server,
    ):
        os.environ["XDG_STATE_HOME"] = os.environ["XDG_CONFIG_HOME"] = home
        dsn = fresh(server.dsn)
        with connect(dsn, "ragledger") as connection:
            apply(connection, "ragledger")
            embed = load_embedder()
            index(connection, collection, embed)
            every = Bm25Search(
                connection=connection, embed=embed, candidates_per_signal=len(collection.documents)
            )
            of = experiment(scores_of(every, collection), given.useful_from)
            if not given.no_table:
                print(whole_way(of, collection, every, dsn, given.votes[0]), flush=True)
    for wanted in given.votes:
        for legs in given.legs:
            for line in table(of, given.seeds, wanted, legs):
                print(line, flush=True)


if __name__ == "__main__":
    main()
