"""What several tests of golden sets need."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from hypothesis import settings

import ragledger
from ragledger import Candidate, Ledger
from ragledger.measures.report import Window

QUICK = settings(max_examples=40)
"""No deadline: the machine may be shared."""

EVER = Window(since=datetime(2020, 1, 1, tzinfo=timezone.utc))

Say = Mapping[str, Mapping[str, str]]
"""Outcome by chunk by voter."""


def asked(ledger: Ledger, question: str, votes: Say, *, surface: str = "study", **documents: str) -> None:
    """A search that returned every chunk that is voted on, and the votes; a chunk's document is `doc-` and its name."""
    chunks = sorted({chunk for said in votes.values() for chunk in said})
    with ragledger.context(surface=surface, corpus="handbook"), ledger.search(query=question) as search:
        search.candidates(*[Candidate(each, documents.get(each, f"doc-{each}")) for each in chunks])
    for voter, said in votes.items():
        for chunk, outcome in said.items():
            assert search.receipt.search_id is not None
            ledger.vote(search.receipt.search_id, chunk, outcome, actor=voter)


def both(**outcomes: str) -> dict[str, Mapping[str, str]]:
    """Two people say the same."""
    return {"human:ana": outcomes, "human:ben": outcomes}
