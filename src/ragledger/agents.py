"""What an agent reads of a search and of its own vote: plain text that it can act on. No framework.

References to vote with are given only when there is a row to vote on; a refusal is words, never an exception.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from .errors import VoteRefused
from .model import Outcome, Receipt

if TYPE_CHECKING:
    from .ledger import Ledger

__all__ = ["FEEDBACK_DESCRIPTION", "OUTCOMES", "SEARCH_DESCRIPTION", "found_text", "vote_text"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
_CHOICE = f"{', '.join(OUTCOMES[:-1])} or {OUTCOMES[-1]}"

SEARCH_DESCRIPTION = "Searches the documents and gives back the passages that fit best, best first."
FEEDBACK_DESCRIPTION = (
    "Says how useful a passage of an earlier search was. Give the search_id and the chunk_id (or the rank) as the search "
    f"gave them, and an outcome: {_CHOICE}. Vote on passages that you have read; do not guess."
)


def found_text(passages: Sequence[str], receipts: Sequence[Receipt], *, feedback: str | None) -> str:
    """The passages in order, each with its reference, and an invitation to vote.

    Args:
        passages: the texts, in the order of the search.
        receipts: of the searches that were made; the last one that was kept is the one to vote on.
        feedback: the name of the tool that takes votes; None where there is none.
    """
    if not passages:
        return "Nothing was found."
    kept = [receipt for receipt in receipts if receipt.search_id is not None]
    if not kept or feedback is None:
        return "\n\n".join(f"[{rank}]\n{text}" for rank, text in enumerate(passages, 1))
    ids = dict(kept[-1].hits)
    parts = [f"search_id: {kept[-1].search_id}"]
    for rank, text in enumerate(passages, 1):
        # A passage that came twice is voted on where it stood first.
        reference = f" chunk_id: {ids[rank]}" if ids.get(rank) else f" rank: {rank}" if rank in ids else ""
        parts.append(f"[{rank}]{reference}\n{text}")
    parts.append(
        f"Once you know what was useful, call {feedback} with the search_id, the chunk_id or rank, and one of: {_CHOICE}."
    )
    return "\n\n".join(parts)


def vote_text(
    ledger: Ledger, search_id: str, outcome: str, *, chunk_id: str | None, rank: int | None, actor: str
) -> str:
    """Gives the vote and says what became of it; what to do better, where it was refused."""
    try:
        receipt = ledger.vote(search_id, chunk_id, outcome, rank=rank, actor=actor)
    except VoteRefused as exc:
        return f"Not counted ({exc.reason}): {exc}."
    if receipt.search_id is None:
        return "Not counted: votes cannot be kept at the moment. Go on without."
    if receipt.status == "pending":
        return "Kept. It will count if that search returned this passage."
    return "Counted."
