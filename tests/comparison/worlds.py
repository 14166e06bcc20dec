"""Small worlds of two epochs, said in words: how often what was shown was useful, before and after."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from measures.table_rows import START, TableRows, hit

BEFORE = {"configured": {}, "effective": {"vector": 0.6, "lexical": 0.4}, "source": "declared", "unknown": []}
AFTER = {"configured": {}, "effective": {"vector": 0.4, "lexical": 0.6}, "source": "declared", "unknown": []}


def epoch(
    rows: TableRows,
    name: str,
    useful: list[int],
    *,
    judged: int = 4,
    by: str = "human",
    voters: int = 21,
    **given: Any,
) -> None:
    """One search per number: so many of its first `judged` hits are useful. Voters take turns."""
    first = len(rows.rows["searches"])
    for number, count in enumerate(useful):
        search = rows.search(
            *(hit(f"c{rank}") for rank in range(1, judged + 3)),
            epoch=name,
            started_at=START + timedelta(minutes=first + number),
            **{key: value(number) if callable(value) else value for key, value in given.items()},
        )
        for rank in range(1, judged + 1):
            rows.vote(
                search, rank, "relevant" if rank <= count else "not_relevant", by=f"{by}:{number % voters}"
            )


def better_after() -> TableRows:
    """40 searches of e1 with 1 or 2 useful of 4, and 40 of e2 with 2 or 3: 25 points better."""
    rows = TableRows()
    epoch(rows, "e1", [1, 2] * 20, weights=BEFORE)
    epoch(rows, "e2", [2, 3] * 20, weights=AFTER)
    return rows
