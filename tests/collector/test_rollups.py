"""P11: whatever happens in whatever order, the rollups are what the table says."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from collector_world import arrive, collect, forget, rollups, verified
from fix_pg import Database
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from measures.table_rows import START, TableRows, hit, padding
from oracles import OUTCOMES
from psycopg.errors import QueryCanceled

from ragledger.measurement import Window, measure
from ragledger.removal import remove_searches, remove_votes
from ragledger_collector import Collector

pytestmark = pytest.mark.pg

ACTORS = st.sampled_from(["human:ana", "human:ana", "human:ben", "human", "agent:7"])
SCORES = st.sampled_from([None, 0.0, 0.1, 1 / 3, -2.5e-7, 1e15, float("inf")])


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    status = draw(st.sampled_from(["ok", "ok", "ok", "ok", "ok", "error", "skipped"]))
    return {
        "status": status,
        "skip_reason": draw(st.sampled_from(["no_goal", "disabled"])) if status == "skipped" else None,
        "started_at": START + timedelta(seconds=draw(st.sampled_from([0, 0, 59.999, 60, 3000, 90_000]))),
        "depth": draw(st.sampled_from([0, 0, 0, 0, 0, 1])),
        "project": draw(st.sampled_from(["default", "default", "default", "shop"])),
        "corpus": draw(st.sampled_from([None, "handbook"])),
        "surface": draw(st.sampled_from([None, "study"])),
        "session_id": draw(st.sampled_from([None, "s1"])),
        "actor_kind": draw(st.sampled_from(["human", "agent"])),
        "epoch": draw(st.sampled_from(["e1", "e2"])),
        "degraded": draw(st.booleans()),
        "degraded_reason": draw(st.sampled_from([None, "retry"])),
        "vector_available": draw(st.sampled_from([None, True, False])),
        "latency_ms": draw(st.none() | st.floats(0, 1e5) | st.sampled_from([1e300, float("inf"), 1e-7])),
        "candidate_count": draw(st.sampled_from([None, 0, 7])),
        "admitted_count": draw(st.sampled_from([None, 0, 3])),
        "top_candidate_score": draw(SCORES),
        "top_admitted_score": draw(SCORES),
        "weights": {"effective": {"vector": draw(st.sampled_from([0.1, 0.2]))}},
    }


_SIGNALS = st.sampled_from([None, {}, {"s": [None, {"rank": 1}]}, {"s": True}])
_hits = st.builds(
    hit,
    document_id=st.sampled_from([None, "d1", "d2"]),
    source_kind=st.sampled_from([None, "page"]),
    admitted=st.sampled_from([True, True, True, False]),
)
hits = (
    st.lists(_hits, min_size=1, max_size=2)
    | st.lists(st.builds(padding, signals=_SIGNALS), max_size=2)
    | st.just([hit()] * 23)
)


class Happenings:
    """Everything that can happen to a table, in any order; what arrives has a number of its own."""

    def __init__(self, database: Database, collector: psycopg.Connection[Any], draw: st.DrawFn) -> None:
        self.database, self.draw = database, draw
        self.collector = collector
        self.rows = TableRows()
        self.made: list[tuple[UUID, int]] = []
        self.here: list[tuple[UUID, int]] = []
        self.late: list[tuple[str, dict[str, Any]]] = []

    def search(self, connection: psycopg.Connection[Any]) -> None:
        given, found = self.draw(searches()), self.draw(hits)
        if self.made and self.draw(st.booleans()):
            given["attempt_of"] = self.draw(st.sampled_from(self.made))[0]
        self.here.append((self.rows.search(*found, **given), len(found)))
        self.made.append(self.here[-1])
        arrive(connection, self.rows)

    def vote(self, connection: psycopg.Connection[Any]) -> None:
        self._said(
            connection,
            lambda of, rank, by, at: self.rows.vote(of, rank, self.draw(st.sampled_from(OUTCOMES)), by, at),
        )

    def open(self, connection: psycopg.Connection[Any]) -> None:
        self._said(connection, self.rows.opened)

    def _said(self, connection: psycopg.Connection[Any], say: Any) -> None:
        """A few together: people change their minds about what is on top of the latest lists."""
        if found := [one for one in self.here if one[1]][-3:]:
            for _ in range(self.draw(st.integers(1, 3))):
                of, count = self.draw(st.sampled_from(found))
                at = START + timedelta(seconds=self.draw(st.integers(0, 3)))
                say(of, self.draw(st.integers(1, min(count, 2))), self.draw(ACTORS), at)
            arrive(connection, self.rows)

    def deliver(self, connection: psycopg.Connection[Any]) -> None:
        """Also of a search that has not come, or has gone."""
        ahead = UUID(int=len(self.made) * 10 + 1)
        of = self.draw(st.sampled_from([*self.made, (ahead, 1)]))[0]
        order = self.draw(st.lists(st.integers(1, 5), max_size=4))
        self.rows.deliver(of, order, START + timedelta(seconds=self.draw(st.integers(0, 3))))
        arrive(connection, self.rows)

    def erase(self, connection: psycopg.Connection[Any]) -> None:
        if self.here:
            gone = self.draw(st.sampled_from(self.here))
            self.here.remove(gone)
            list(remove_searches(connection, [gone[0]]))

    def erase_votes(self, connection: psycopg.Connection[Any]) -> None:
        remove_votes(connection, self.draw(st.sampled_from([("human", ("ana",)), ("human", ("",))])))

    def note(self, connection: psycopg.Connection[Any]) -> None:
        """The application notes what it has indexed, or has taken out."""
        of = ("handbook", self.draw(st.sampled_from(["d1", "d2", "d3"])))
        if not connection.execute(
            "DELETE FROM inventory WHERE (corpus, document_id) = (%s, %s)", of
        ).rowcount:
            connection.execute("INSERT INTO inventory (corpus, document_id) VALUES (%s, %s)", of)

    def collect(self, _: psycopg.Connection[Any]) -> None:
        numbers, minutes = self.draw(st.integers(1, 9)), self.draw(st.integers(1, 3))
        Collector(self.collector, numbers=numbers, minutes=minutes).run()


_WHAT = [
    *("search", "search", "search", "search", "vote", "vote", "vote", "vote", "open", "deliver"),
    *("note", "note", "erase", "erase_votes", "collect", "collect", "collect", "collect"),
]


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_p11_any_order_of_events_and_passes_is_as_one_recompute_at_the_end(
    database: Database, data: st.DataObject
) -> None:
    forget(database, everything=True)
    with database.connect() as connection, database.connect(role="ragledger_collector") as collector:
        happenings = Happenings(database, collector, data.draw)
        for what in data.draw(st.lists(st.sampled_from(_WHAT), min_size=6, max_size=24)):
            getattr(happenings, what)(connection)
    collect(database)
    found = verified(database)
    assert (found.differing, found.waiting, found.waiting_days, found.waiting_corpora) == ((), 0, 0, 0)
    incremental = rollups(database)
    forget(database)
    collect(database)
    assert rollups(database) == incremental


def test_the_sums_are_what_measure_says(database: Database) -> None:
    rows = TableRows()
    for number in range(30):
        of = rows.search(
            *[hit()] * (number % 4),
            *[padding()] * (number % 3),
            started_at=START + timedelta(minutes=number * 97),
        )
        for rank in range(1, 1 + number % 4):
            rows.vote(
                of,
                rank,
                OUTCOMES[(number + rank) % 4],
                by=("human:ana", "human:ben", "judge:q")[(number * rank) % 3],
            )
            rows.vote(of, rank, OUTCOMES[(number + 2) % 4], by="human:eve")
            if number % 3:
                rows.opened(of, rank)
        if number % 5 == 0:
            rows.deliver(of, [2, 1])
        if number % 7 == 0:
            rows.search(hit(), attempt_of=of, started_at=START + timedelta(minutes=number * 97 + 1))
    with database.connect() as connection:
        arrive(connection, rows)
        collect(database)
        found = measure(connection, Window())
    day = dict.fromkeys(("searches", "ok", "empty", "untold", "found", "timed", "delivered"), 0)
    columns = ", ".join(f"sum({name})::int" for name in day)
    day = dict(
        zip(day, database.rows(f"SELECT {columns} FROM rollup_searches WHERE grain = 'day'")[0], strict=True)
    )
    group = found.searches
    assert day == {
        "searches": group.searches, "ok": group.by_status.ok, "empty": group.empty, "untold": group.untold,
        "found": group.hit_rate.n, "timed": group.latency.n, "delivered": found.precision.order.delivered,
    }  # fmt: skip
    judged = database.rows(
        "SELECT voter, k, sum(useful)::float8, sum(judged)::int FROM rollup_judged WHERE grain = 'day' GROUP BY 1, 2"
    )
    assert {(voter, k): (pytest.approx(useful), n) for voter, k, useful, n in judged} == {
        (voter, k): (at.useful, at.judged)
        for voter, said in found.precision.overall.items()
        for k, at in said.at.items()
        if at.judged
    }
    shown = database.rows(
        "SELECT position, sum(shown)::int, sum(accessed)::int FROM rollup_shown WHERE grain = 'day' AND position BETWEEN 1 AND 20 GROUP BY 1"
    )
    assert {at: (count, opened) for at, count, opened in shown} == {
        at.rank: (at.shown, at.accessed) for at in found.ranks.at if at.shown
    }


# As the statement timeout cancels what takes too long, without the wait.
_CANCELLED = """
CREATE FUNCTION cancel() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF (SELECT count(DISTINCT bucket) FROM made WHERE grain = 'minute') > 3 THEN
        RAISE query_canceled;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER cancel AFTER INSERT ON rollup_searches REFERENCING NEW TABLE AS made
FOR EACH STATEMENT EXECUTE FUNCTION cancel();
"""


def test_a_step_that_is_cancelled_is_tried_with_half_of_its_minutes(database: Database) -> None:
    rows = TableRows()
    for number in range(12):
        rows.search(hit(), started_at=START + timedelta(minutes=number))
    with database.connect() as connection:
        arrive(connection, rows)
        connection.execute(_CANCELLED)
    done: list[int] = []
    with database.connect(role="ragledger_collector") as connection:
        collector = Collector(connection, minutes=9)
        assert collector.run(step=done.append).minutes == 12
    # 12 records, 9 and 4 cancelled, 2 at once; then one more each time, until 4 is cancelled again. Then the day,
    # the inventory, and the corpus.
    assert done == [12, 0, 0, 2, 3, 0, 2, 3, 2, 1, 0, 0]
    assert verified(database).differing == ()


def test_a_minute_that_is_cancelled_alone_is_an_error(database: Database) -> None:
    rows = TableRows()
    rows.search(hit(), started_at=START)
    with database.connect() as connection:
        arrive(connection, rows)
        connection.execute(_CANCELLED.replace("> 3", "> 0"))
    with pytest.raises(QueryCanceled):
        collect(database)
    assert verified(database).waiting == 1
