"""From what a retriever returned to candidates: ids and scores as they are at this moment, no text.

LlamaIndex hands out live objects (QueryFusionRetriever rewrites its members' scores in place), so everything is
read synchronously when the call ends. An item that cannot be read keeps its rank and costs nothing but itself.
"""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any
from uuid import UUID

from llama_index.core.schema import BaseNode, NodeRelationship, TextNode

from ragledger.model import Candidate, IdSource, Returned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ragledger import Ledger
    from ragledger.extraction import Reading
    from ragledger.observation import Observation

__all__ = ["read"]

_HAVE_PLAIN_IDS = frozenset({TextNode})
"""Nearly every node: `node_id` gives `id_`."""
_SOURCE = NodeRelationship.SOURCE
_UNREADABLE = Candidate(None, score_source="unreadable")


def read(
    result: Any, observation: Observation, reading: Reading
) -> tuple[list[Candidate] | Returned | None, bool]:
    """What the caller gets, in its order, and whether all of it could be read.

    Only a list or a tuple is walked: anything else is the application's to iterate, and unknown to us.
    """
    found: list[Candidate] = []
    if not isinstance(result, (list, tuple)):
        return None, False
    ledger: Ledger = observation.ledger
    # Where the retriever's own code has handed scores over, "unavailable" would be false.
    no_score = None if observation.scored else "unavailable"
    if not ledger.chunk_id_key and not ledger.content_keys:
        usual = _usual(result, ledger, reading, no_score)
        if usual is not None:
            return usual, True
    reader = _Reader(ledger, reading, no_score)
    complete = True
    items = iter(tuple(result))
    while True:
        with ledger.guard("llama_index.extract"):
            for item in items:
                found.append(reader.candidate(item))
            return found, complete
        found.append(_UNREADABLE)
        complete = False


def _usual(result: Any, ledger: Ledger, reading: Reading, no_score: str | None) -> Returned | None:
    """Nodes with an id of their own, all of them scored or none; None when it is anything else."""
    key = ledger.source_kind_key
    try:
        nodes = [item.node for item in result]
        if not (_HAVE_PLAIN_IDS.issuperset(map(type, nodes)) or _have_plain_ids({*map(type, nodes)})):
            return None
        ids = [node.id_ for node in nodes]  # what `node_id` gives, which is a call for each
        scores = [item.score for item in result]
        scored = not scores or scores[0] is not None
        if scored:
            sum(scores)  # raises where one is none, and costs less than to compare each
        "".join(ids)  # raises where one is no text
        if not all(ids) or (not scored and scores.count(None) < len(scores)):
            return None
        documents: list[str | None] = [None] * len(nodes)
        if any([node.relationships or node.metadata for node in nodes]):
            documents = [_document_id(node, ledger.document_id_keys) for node in nodes]
        sources = [_as_id(node.metadata.get(key)) for node in nodes] if key else None
    except Exception:  # noqa: BLE001  item by item it is met again, and costs that item
        return None
    if not scored:
        return Returned(chunk_ids=ids, document_ids=documents, source_kinds=sources, score_source=no_score)
    return Returned(
        chunk_ids=ids,
        document_ids=documents,
        scores=scores,
        source_kinds=sources,
        score_kind=reading.score_kind,
        score_source="node.score",
        signal=reading.signal,
    )


def _have_plain_ids(kinds: set[type]) -> bool:
    """Whether none of them makes an id of its own, which everything else would know the node by."""
    return all(kind.node_id is BaseNode.node_id for kind in kinds)  # type: ignore[attr-defined]


class _Reader:
    """Reads the nodes of one search by the settings of its ledger."""

    __slots__ = (
        "_chunk_id_key",
        "_document_id_keys",
        "_ledger",
        "_no_score",
        "_score_kind",
        "_signal",
        "_source_kind_key",
    )

    def __init__(self, ledger: Ledger, reading: Reading, no_score: str | None) -> None:
        self._ledger = ledger
        self._chunk_id_key = ledger.chunk_id_key
        self._document_id_keys = ledger.document_id_keys
        self._source_kind_key = ledger.source_kind_key
        self._score_kind = reading.score_kind
        self._signal = reading.signal
        self._no_score = no_score

    def candidate(self, item: Any) -> Candidate:
        node = getattr(item, "node", item)
        score = getattr(item, "score", None)
        chunk_id = node.node_id
        id_source: IdSource = "framework"
        if self._chunk_id_key or type(chunk_id) is not str or not chunk_id:
            chunk_id, id_source = self._chunk_id(node)
        return Candidate(
            chunk_id,
            _document_id(node, self._document_id_keys),
            score=score,
            vector=score if self._signal == "vector" else None,
            lexical=score if self._signal == "lexical" else None,
            score_kind=self._score_kind if score is not None else None,
            score_source="node.score" if score is not None else self._no_score,
            chunk_id_source=id_source,
            source_kind=_as_id(node.metadata.get(self._source_kind_key)) if self._source_kind_key else None,
            content_key=self._ledger.content_key(node.get_content()) if self._ledger.content_keys else None,
        )

    def _chunk_id(self, node: Any) -> tuple[str | None, IdSource]:
        """The configured metadata key first: LlamaIndex gives every node an id, often a new one on each run."""
        if self._chunk_id_key and (given := _as_id(node.metadata.get(self._chunk_id_key))):
            return given, "metadata"
        if own := _as_id(node.node_id):
            return own, "framework"
        return self._ledger.derive_id(node.get_content()), "derived"


def _document_id(node: Any, keys: Sequence[str]) -> str | None:
    """The document that the node came from; without that relation, the first configured metadata key."""
    relations = getattr(node, "relationships", None)
    if relations:
        found = getattr(relations.get(_SOURCE), "node_id", None)
        if type(found) is str or (found := _as_id(found)):
            return found
    if metadata := getattr(node, "metadata", None):
        for key in keys:
            if found := _as_id(metadata.get(key)):
                return found
    return None


def _as_id(value: Any) -> str | None:
    """An id as text. Only what is made to be an id: the text of a list or a mapping could be anything."""
    if type(value) is str:
        return value
    if value is None or isinstance(value, bool):
        return None
    return str(value) if isinstance(value, (str, UUID, Integral)) else None
