"""What votes must say before a document is retired, on a real Postgres."""

from __future__ import annotations

from uuid import UUID

import pytest
from curation.scene import doc, of, shown, store
from fix_pg import Database
from measures.table_rows import TableRows

pytestmark = pytest.mark.pg


def test_a_document_no_worse_than_others_at_its_ranks_is_not_retired_by_votes_or_showings(
    database: Database,
) -> None:
    """Most of what is shown is not useful: at rank 1 a quarter of the votes on `best`, and none of those on `rest`."""
    rows = TableRows()
    for number in range(24):
        search = rows.search(doc("best" if number % 2 else "rest"))
        useful = number % 8 == 1
        rows.vote(search, 1, "relevant" if useful else "not_relevant", by=f"human:v{number % 3}")
    store(rows, database)
    before = shown(database)
    assert {name: of(before, name)["suggestion"] for name in ("best", "rest")} == {
        "best": "revise", "rest": "retire",
    }  # fmt: skip
    best = of(before, "best")
    assert (best["class"], best["votes"]["human"]["useful_over_expected"]) == ("disputed", 2.0)
    assert "no less than others at its ranks" in best["reason"]
    unseen = TableRows()
    for number in range(60):
        unseen.search(doc("best"), search_id=UUID(int=10**9 + number))
    with database.connect() as connection:
        unseen.insert(connection)
    after = of(shown(database), "best")
    assert (after["shown"], after["class"], after["votes"]) == (72, "disputed", best["votes"])
