"""What the members of a fusing retriever answered, as the per-signal scores of the search that fuses them.

Read when a member's own call ends: fusion rewrites scores in place, and ranks are lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ragledger.fusion import Fusion
from ragledger.model import Candidate, Returned

if TYPE_CHECKING:
    from ragledger.extraction import Reading
    from ragledger.observation import Observation

__all__ = ["Seat", "begin", "end"]


class Seat(NamedTuple):
    """The signal of the fusing search that a member's search answers for."""

    member: Observation
    fusing: Observation
    fusion: Fusion
    name: str


def begin(seats: list[Seat], retriever: object, observation: Observation, asked: tuple[Reading, Any]) -> None:
    """Collects the answers of the members from here on; takes a seat where the search around is such a one."""
    reading, query = asked
    with observation.ledger.guard("llama_index.fusion"):
        if reading.key is not None:
            observation.fusion = Fusion(reading.members, reading.key)
        fusing = observation.parent
        if fusing is not None and fusing.fusion is not None:
            name = fusing.fusion.name_for(retriever, getattr(query, "query_str", query))
            if name is not None:
                seats.append(Seat(observation, fusing, fusing.fusion, name))
        return
    if (around := observation.parent) is not None and around.fusion is not None:
        around.flag("incomplete")  # a member's answer will be missing


def end(
    seats: list[Seat], observation: Observation, result: Sequence[Any], read: list[Candidate] | Returned
) -> None:
    """Hands up what a member answered; takes in what the members did, unless the application has said it itself."""
    items = read.candidates() if isinstance(read, Returned) else read
    for seat in seats:
        if seat.member is observation:
            _hand_up(seat, list(zip(result, items, strict=True)))
    fusion = observation.fusion
    if fusion is None or observation.answered:
        return
    with observation.ledger.guard("llama_index.fusion"):
        observation.candidates(*fusion.candidates(zip(result, items, strict=True)))
        if fusion.repeats:
            observation.flag("duplicate_hit")
        return
    observation.flag("incomplete")


def _hand_up(seat: Seat, answer: list[tuple[Any, Candidate]]) -> None:
    with seat.member.ledger.guard("llama_index.fusion"):
        seat.fusion.take(seat.name, answer)
        return
    seat.fusing.flag("incomplete")
