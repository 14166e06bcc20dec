"""What nobody can know is not claimed, and what is claimed is so: on small worlds of their own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from collector_world import arrive, collect
from dashboards.world import RANGES, named, run
from fix_pg import Database
from measures.table_rows import START, TableRows, hit

from ragledger.panels.choices import CHANGES
from ragledger.panels.queries import annotation_query, panel_query

pytestmark = pytest.mark.pg

Asked = list[dict[str, Any]]
A = {"effective": {"vector": 0.6}}
B = {"effective": {"vector": 0.8}}


def counted(database: Database, made: TableRows, *listed: tuple[str, str]) -> None:
    with database.connect() as connection:
        for row in listed:
            connection.execute("INSERT INTO inventory (corpus, document_id) VALUES (%s, %s)", row)
        arrive(connection, made)
    collect(database)


def asked(database: Database, board: str, query: str, **given: Any) -> Asked:
    dashboard = named(f"ragledger-{board}")
    panel = next(one for one in dashboard.panels() if one.query == query)
    with database.connect(role="ragledger_reader") as connection:
        names, _, rows = run(connection, panel_query(dashboard, panel), **given)
    return [dict(zip(names, row, strict=True)) for row in rows]


def changes(database: Database, when: str = "minutes", **given: Any) -> list[tuple[Any, ...]]:
    with database.connect(role="ragledger_reader") as connection:
        return [
            (row[0], row[1], row[2][:8])
            for row in run(connection, annotation_query(CHANGES), RANGES[when], **given)[2]
        ]


@pytest.mark.parametrize("document_id", [None, "a hash of d1"])
def test_p8_without_ids_nobody_knows_what_was_never_retrieved(
    database: Database, document_id: str | None
) -> None:
    made = TableRows()
    made.search(hit(document_id=document_id))
    made.search(hit(document_id="d1"), corpus="told")
    listed = [(corpus, name) for corpus in ("handbook", "told") for name in ("d1", "d2")]
    counted(database, made, *listed)
    rows = {row["corpus"]: row for row in asked(database, "corpus", "corpora")}
    found = {name: (row["listed"], row["never retrieved"], row["coverage"]) for name, row in rows.items()}
    assert found == {"handbook": (2, None, None), "told": (2, 1, 0.5)}
    never = asked(database, "corpus", "never")
    assert [(row["corpus"], row["document"]) for row in never] == [("told", "d2")]


def test_p8_candidates_that_some_searches_do_not_tell_are_not_none(database: Database) -> None:
    made = TableRows()
    made.search(hit("a"), hit("b"), surface="study", candidate_count=20)
    made.search(surface="study", status="error", candidate_count=None, admitted_count=None)
    for _ in range(30):
        made.search(hit("a"), surface="agent", candidate_count=None)
    counted(database, made)

    def considered(**given: Any) -> Any:
        row = asked(database, "relevance", "funnel", **given)[0]
        return row["stage"], row["hits"], row["of the admitted"]

    stage = "considered (candidates)"
    assert considered() == (stage, None, None), "20 considered and 32 admitted"
    assert considered(surface="study") == (stage, 20, 10.0), "one that failed considered nothing that counts"
    assert considered(surface="agent") == (stage, None, None)


def test_coverage_grows_with_what_was_retrieved_first(database: Database) -> None:
    made = TableRows()
    for day, document in enumerate(("d1", "d1", "d2", "not listed", "d2")):
        made.search(hit(document_id=document), started_at=START + timedelta(days=day))
    for day, document in ((1, "d1"), (3, "d3")):
        made.search(hit(document_id=document), project="shop", started_at=START + timedelta(days=day))
    made.search(hit(document_id=None), corpus="untold")
    listed = [("handbook", f"d{number}") for number in range(1, 5)]
    counted(database, made, *listed, ("untold", "d1"), ("nobody asks", "d1"))
    rows = asked(database, "corpus", "coverage", when=RANGES["days"])
    # The four of the handbook for each of the two projects.
    assert [(row["coverage"], row["listed"]) for row in rows] == [(part / 8, 8) for part in (1, 2, 3, 4, 4)]
    assert rows[0]["time"] == START.replace(hour=0, minute=0)
    one = asked(database, "corpus", "coverage", when=RANGES["days"], projects=["default"])
    assert [row["coverage"] for row in one] == [0.25, 0.25, 0.5, 0.5, 0.5]
    assert asked(database, "corpus", "coverage", when=RANGES["days"], corpus="untold") == []


@pytest.mark.parametrize("votes", [True, False])
def test_p8_only_a_corpus_that_somebody_uses_has_unused_documents(database: Database, votes: bool) -> None:
    made = TableRows()
    voted = made.search(hit("a", document_id="used"), hit("b", document_id="unused"))
    made.search(hit(document_id="elsewhere"), corpus="quiet")
    made.search(hit(document_id="other"), project="shop")
    if votes:
        made.vote(voted, 1, "relevant")
    else:
        made.opened(voted, 1)
    counted(database, made)
    assert [row["document"] for row in asked(database, "corpus", "unused")] == ["unused"]


def test_epochs_are_those_of_the_searches_that_ran_and_were_chosen(database: Database) -> None:
    made = TableRows()
    for number, surface in enumerate(("study", "agent", "study", "other")):
        made.search(hit(), surface=surface, epoch=f"e{number}", started_at=START + timedelta(days=number % 3))
    made.search(hit(), project="shop", epoch="e0")
    made.search(surface="study", epoch="e9", status="skipped", skip_reason="off", latency_ms=None)
    counted(database, made)

    def epochs(**given: Any) -> Any:
        return asked(database, "overview", "totals", **given)[0]["epochs"]

    assert epochs() == 5, "those of two projects are two"
    assert epochs(projects=["default"], surface="study") == 2
    assert epochs(projects=["default"], epoch="e2") == 1
    assert epochs(projects=["default"], epoch="e9") is None


def uses(made: TableRows, *epochs: str, every: timedelta = timedelta(minutes=10), **given: Any) -> None:
    for number, epoch in enumerate(epochs):
        made.search(
            hit(), started_at=START + number * every, epoch=epoch, weights=A if epoch == "a" else B, **given
        )


def test_two_retrievers_with_weights_of_their_own_are_no_change(database: Database) -> None:
    made = TableRows()
    uses(made, "a", "a", "a", surface="study")
    uses(made, "b", "b", "b", surface="agent")
    uses(made, "b", "b", "b", surface="study", corpus="other")
    counted(database, made)
    assert [changes(database, when) for when in RANGES] == [[], [], []]


def test_a_change_back_is_a_change_and_obeys_the_filters(database: Database) -> None:
    made = TableRows()
    uses(made, "a", "b", "a", surface="study")
    counted(database, made)
    first, second = (START + timedelta(minutes=minutes) for minutes in (10, 20))
    back_and_forth = [
        (first, "default: weights changed", "epoch b "),
        (second, "default: weights changed", "epoch a "),
    ]
    assert changes(database) == back_and_forth
    assert changes(database, surface="study") == back_and_forth
    assert changes(database, surface="agent") == changes(database, projects=["shop"]) == []
    assert changes(database, epoch="a") == []


def test_a_change_of_all_surfaces_is_one(database: Database) -> None:
    made = TableRows()
    for surface in ("study", "agent", None):
        uses(made, "a", "b", surface=surface, every=timedelta(days=1))
    counted(database, made)
    assert changes(database, "days") == [(START + timedelta(days=1), "default: weights changed", "epoch b ")]


def test_two_settings_by_turns_on_one_surface_are_called_that(database: Database) -> None:
    made = TableRows()
    uses(made, "a", "b", "a", "b", "a", surface="study")
    counted(database, made)
    assert {row[1] for row in changes(database)} == {"default: weights to and fro"}


def test_a_project_that_is_up_to_date_has_nothing_behind(database: Database) -> None:
    made = TableRows()
    made.search(hit())
    counted(database, made)
    [row] = asked(database, "pipeline", "counted", projects=["default"])
    assert (row["records behind"], row["lag"], row["minutes waiting"]) == (0, 0, 0)
    [row] = asked(database, "pipeline", "counted", projects=["unheard-of"])
    assert (row["records behind"], row["lag"], row["minutes waiting"]) == (None, None, None)
