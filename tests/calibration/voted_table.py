"""A table of voted searches: the useful hit of each is the better one by a weight that the running one is far from."""

from __future__ import annotations

import random
from typing import Any

from fix_pg import Database
from measures.table_rows import TableRows, hit

SIGNALS = {
    "vector": {"min": 0.0, "max": 1.0, "count": 4, "complete": True},
    "lexical": {"min": 0.0, "max": 1.0, "count": 4, "complete": True},
}


def declared(vector: float, **given: Any) -> dict[str, Any]:
    settings = {"vector": vector, "lexical": round(1 - vector, 9), "threshold": 0.2, **given}
    return {"configured": settings, "effective": settings, "source": "declared", "unknown": []}


def store(
    database: Database,
    *,
    searches: int = 120,
    logged: float = 0.95,
    best: float = 0.4,
    voters: str = "human",
    lexical: bool = True,
    keyed: bool = True,
    copies: int = 1,
    **given: Any,
) -> None:
    """Of each search two useful hits and one that is not, and a candidate that was not admitted.

    `copies`: how often each question is asked, found and voted on alike.
    """
    chance, rows = random.Random(11), TableRows()
    said = {"weights": declared(logged), "signals": SIGNALS, "top_k": 3, "index_version": "v1", **given}
    for number in range(searches):
        scores = [(chance.random(), chance.random()) for _ in range(3)]
        order = sorted(scores, key=lambda s: -(logged * s[0] + (1 - logged) * s[1]))
        worst = min(scores, key=lambda s: best * s[0] + (1 - best) * s[1])
        hits = [
            hit(
                f"c{place}",
                vector_score=v,
                lexical_score=x if lexical else None,
                score=logged * v + (1 - logged) * x,
            )
            for place, (v, x) in enumerate(order)
        ]
        below = hit("below", vector_score=0.05, lexical_score=0.02, score=0.05, admitted=False)
        for _ in range(copies):
            search = rows.search(*hits, below, query_key=bytes([number % 250]) if keyed else None, **said)
            for rank, one in enumerate(order, 1):
                outcome = "not_relevant" if one == worst else "relevant"
                rows.vote(search, rank, outcome, f"{voters}:v{number % 5}")
    with database.connect() as connection:
        rows.insert(connection)
