"""Few voters are told by how they differ, and what belongs to several projects or corpora is not taken for one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from comparison.test_compare_command import codes, found, run, stored
from comparison.worlds import better_after, epoch
from fix_pg import Database
from measures.table_rows import TableRows, hit

from ragledger.errors import NotComparable
from ragledger.measures.difference import Actors, Clusters, difference
from ragledger.measures.interval import Sums, clustered

pytestmark = pytest.mark.pg


def voted(voters: int, strict: float, *, searches: int = 60) -> TableRows:
    """Two epochs, B better by a quarter on the whole; of B's voters `strict` by strict find nothing."""
    rows = TableRows()
    epoch(rows, "e1", [1, 2] * (searches // 2), voters=voters)
    lenient = [0 if number % voters < strict * voters else 4 for number in range(searches)]
    epoch(rows, "e2", lenient, voters=voters)
    return rows


@pytest.mark.parametrize(
    ("voters", "word"), [(1, "cannot tell"), (4, "cannot tell"), (10, "cannot tell"), (20, "better")]
)
def test_few_voters_that_differ_tell_little(database: Database, voters: int, word: str) -> None:
    comparison = found(stored(voted(voters, 0.3), database))
    human = comparison["voters"]["human"]

    assert human["at"]["5"]["a"]["actors"] == human["at"]["5"]["b"]["actors"] == voters
    assert human["verdict"]["word"] == word
    assert (f"only {voters} voter" in human["verdict"]["text"]) == (voters < 5)
    assert ("few_actors" in codes(comparison)) == (voters < 20)
    unpaired = human["at"]["5"]["unpaired"]
    assert unpaired["actors"] == voters
    assert unpaired["clustered_by"] == ("actor" if voters > 1 else None)


@pytest.mark.parametrize("of_a", [1, 5])
def test_one_voters_opinion_has_no_interval(database: Database, of_a: int) -> None:
    rows = TableRows()
    for name, useful, voters in (("e1", [1, 2] * 30, of_a), ("e2", [1, 3] * 30, 1)):
        epoch(rows, name, useful, voters=voters, query_key=lambda number: number.to_bytes(16, "big"))
    human = found(stored(rows, database))["voters"]["human"]

    assert human["headline"] == "paired"
    for over in ("paired", "unpaired"):
        at = human["at"]["5"][over]
        assert (at["value"], at["low"], at["high"], at["actors"]) == (pytest.approx(0.125), None, None, 1)
    assert human["verdict"]["text"].endswith("; so far +12.5 points, one voter's opinion: no interval")
    table = " ".join(run(database).stdout.split())
    assert table.count("one voter's opinion") >= 8, "each k, over searches and over questions"


def test_few_voters_that_agree_tell_what_they_saw(database: Database) -> None:
    rows = TableRows()
    epoch(rows, "e1", [1, 2] * 30, voters=6)
    epoch(rows, "e2", [3, 4] * 30, voters=6)
    comparison = found(stored(rows, database))

    assert comparison["voters"]["human"]["verdict"]["word"] == "better"


@pytest.mark.parametrize(("others", "word"), [(False, "better"), (True, "cannot tell")])
def test_few_voters_are_paired_by_question_with_what_their_taste_adds(
    database: Database, others: bool, word: str
) -> None:
    """One of four more is useful to each of 8 voters, who are of any strictness: known where they judged both sides."""
    rows = TableRows()
    for name, more in (("e1", 0), ("e2", 1)):
        epoch(
            rows,
            name,
            [(0, 0, 3, 3, 1, 2, 0, 3)[number % 8] + more - (number % 5 == 0) * more for number in range(40)],
            voters=8,
            by="human:b" if others and more else "human",
            query_key=lambda number: number.to_bytes(16, "big"),
        )
    human = found(stored(rows, database))["voters"]["human"]
    at = human["at"]["5"]["paired"]

    assert human["headline"] == "paired"
    assert (at["questions"], at["actors"], at["value"]) == (40, 8, pytest.approx(0.2))
    assert human["verdict"]["word"] == word
    assert (at["low"] > 0) == (not others)


def test_a_hit_that_several_judged_is_divided_among_them(database: Database) -> None:
    """On one surface each side's interval is that of the sums by actor."""
    rows, bounds = TableRows(), []
    sums = {side: [[0.0, 0.0] for _ in range(6)] for side in ("e1", "e2")}
    for name, number in itertools.product(sums, range(36)):
        search = rows.search(hit("a"), epoch=name)
        for voter in (number % 6, (number + 1) % 6):
            useful = voter < 3 or (name == "e2" and number % 3 == 0)
            rows.vote(search, 1, "relevant" if useful else "not_relevant", by=f"human:{voter}")
            sums[name][voter][0] += useful / 2
            sums[name][voter][1] += 1 / 2
    at = found(stored(rows, database), "e1", "e2")["voters"]["human"]["at"]["5"]
    for side, by_actor in zip("ab", sums.values(), strict=True):
        assert at[side]["precision"] == pytest.approx(sum(u for u, _ in by_actor) / 36)
        interval = clustered(Sums.of((u, j) for u, j in by_actor))  # type: ignore[misc]
        assert interval is not None
        bounds.append((at[side]["precision"], interval))
    (a, of_a), (b, of_b) = bounds
    assert at["unpaired"]["clustered_by"] == "actor"
    assert at["unpaired"]["low"] == pytest.approx(b - a - math.hypot(b - of_b.low, of_a.high - a))
    assert at["unpaired"]["high"] == pytest.approx(b - a + math.hypot(of_b.high - b, a - of_a.low))


def test_an_actor_on_several_surfaces_is_one_cluster() -> None:
    """Half of each actor's votes on another surface where all do as on the first: the interval of one surface."""
    rng = np.random.default_rng(3)
    useful, judged = rng.integers(0, 9, 12).astype(float), np.full(12, 8.0)
    of_b, actor = np.repeat([False, True], 6), np.tile(np.arange(6), 2)
    single = Actors(
        of_b=of_b, surface=np.zeros(12, dtype=np.int64), actor=actor, useful=useful, judged=judged
    )
    split = Actors(
        of_b=np.tile(of_b, 2), surface=np.repeat([0, 1], 12), actor=np.tile(actor, 2),
        useful=np.tile(useful / 2, 2), judged=np.tile(judged / 2, 2),
    )  # fmt: skip
    intervals = []
    for by in (single, split):
        found = difference(Clusters(of_b=np.repeat(by.of_b, 20), surface=np.repeat(by.surface, 20),
            useful=np.repeat(by.useful / 20, 20), judged=np.repeat(by.judged / 20, 20), actors=by))  # fmt: skip
        assert found is not None
        assert found.clustered_by == "actor"
        intervals.append((found.value, found.low, found.high))
    assert intervals[0] == pytest.approx(intervals[1], abs=1e-12)


def test_previous_and_current_need_a_project_where_several_ran(database: Database) -> None:
    rows = better_after()
    epoch(rows, "e3", [4] * 30, project="demo", corpus="reference")
    stored(rows, database)

    for arguments in ((), ("e1",), ("--plan", "--effect", "0.1")):
        refused = run(database, *arguments)
        assert isinstance(refused.exception, NotComparable), refused.output
        assert "2 ran (default, demo): name one by --project" in str(refused.exception)
    comparison = found(database, "--project", "default")
    assert (comparison["a"]["epoch"], comparison["b"]["epoch"]) == ("e1", "e2")
    mixed = found(database, "e1", "e3")
    assert {"project_mix", "corpus_mix"} <= codes(mixed)
    assert mixed["voters"]["human"]["verdict"]["word"] == "not measured"


def test_previous_is_the_one_before_in_the_same_corpus(database: Database) -> None:
    rows = TableRows()
    for name, corpus in (("e1", "handbook"), ("e2", "wiki"), ("e3", "handbook")):
        epoch(rows, name, [1, 2] * 20, corpus=corpus)
    stored(rows, database)
    comparison = found(database)

    assert (comparison["a"]["epoch"], comparison["b"]["epoch"]) == ("e1", "e3")
    alone = run(database, "--corpus", "wiki")
    assert isinstance(alone.exception, NotComparable)
    assert "there is no previous epoch of corpus 'wiki': 1 ran" in str(alone.exception)


@pytest.mark.parametrize("given", [{"degraded": True}, {"status": "error"}], ids=str)
def test_what_searches_fell_back_to_is_neither_current_nor_previous(
    database: Database, given: dict[str, object]
) -> None:
    rows = better_after()
    epoch(rows, "e3", [1] * 3, **given)
    comparison = found(stored(rows, database))

    assert (comparison["a"]["epoch"], comparison["b"]["epoch"]) == ("e1", "e2")


@pytest.mark.parametrize("given", [{"degraded": True}, {"status": "error"}], ids=str)
def test_an_outage_is_no_epoch_before(database: Database, given: dict[str, object]) -> None:
    rows = TableRows()
    epoch(rows, "e1", [1, 2] * 20)
    epoch(rows, "e2", [1] * 3, **given)
    refused = run(stored(rows, database))

    assert isinstance(refused.exception, NotComparable), refused.output
    assert str(refused.exception) == (
        "there is no previous epoch of corpus 'handbook': 1 ran in the window with a search that ended well and was not degraded"
    )


def test_where_all_failed_the_newest_runs_now_and_none_before_it(database: Database) -> None:
    rows = TableRows()
    epoch(rows, "e1", [1] * 3, degraded=True)
    epoch(rows, "e2", [1] * 3, status="error")
    stored(rows, database)

    assert found(database, "e1", "current")["b"]["epoch"] == "e2"
    refused = run(database)
    assert isinstance(refused.exception, NotComparable), refused.output
    assert "there is no previous epoch of corpus 'handbook': 0 ran in the window" in str(refused.exception)


def test_a_shift_between_corpora_is_no_change(database: Database) -> None:
    """Each corpus is as good in both epochs; B is asked more on the better one."""
    rows = TableRows()
    for name, easy, hard in (("e1", 40, 80), ("e2", 80, 40)):
        epoch(rows, name, [3, 4] * (easy // 2), corpus="easy")
        epoch(rows, name, [0, 1] * (hard // 2), corpus="hard")
    comparison = found(stored(rows, database), "e1", "e2")
    unpaired = comparison["voters"]["human"]["at"]["5"]["unpaired"]

    assert unpaired["value"] == pytest.approx(0)
    assert unpaired["crude"] == pytest.approx(0.25)
    assert "corpus_mix" in codes(comparison)
    assert "project_mix" not in codes(comparison)


@pytest.mark.parametrize(
    "arguments",
    [("--effect", "0.05", "--from", "0.2"), ("--from", "0.2"), ("--to", "0.2"), ("--power", "0.8"),
     ("--alpha", "0.05"), ("--voter", "human"), ("--plan", "--effect", "0.1", "--force"),
     ("--plan", "--effect", "0.1", "--seed", "0"), ("--plan", "--effect", "0.1", "--fail-if-worse")],
    ids=" ".join,
)  # fmt: skip
def test_an_option_that_would_do_nothing_is_refused(database: Database, arguments: tuple[str, ...]) -> None:
    stored(better_after(), database)
    result = run(database, *arguments)

    assert result.exit_code == 2, result.output
    assert "--plan" in result.output
    assert database.value("SELECT count(*) FROM plans") == 0
