"""The application's retrieval: five chunks, found by the words that they share with the question."""

from __future__ import annotations

CHUNKS = {
    "refunds#1": "A refund takes five working days.",
    "refunds#2": "Refunds go to the card that was charged.",
    "postage#1": "Postage within the country is free above 30.",
    "postage#2": "Postage abroad depends on the weight.",
    "returns#1": "Returns are accepted for thirty days.",
}


def retrieve(question: str) -> list[tuple[str, float]]:
    """Chunk ids with their scores, best first."""
    asked = _words(question)
    scored = [(chunk_id, len(asked & _words(text)) / len(asked)) for chunk_id, text in CHUNKS.items()]
    return sorted((each for each in scored if each[1]), key=lambda each: -each[1])


def _words(text: str) -> set[str]:
    return {word.strip(".?,").lower().removesuffix("s") for word in text.split()}
