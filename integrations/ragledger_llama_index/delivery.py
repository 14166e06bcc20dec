"""What finally reached the prompt: the nodes that a query or chat engine hands to its synthesizer.

An engine's own span is the parent of the search, of the postprocessors and of the synthesizer, so that its id tells
whose they are, also beside a hundred others. Where an engine has no postprocessor and hands over what was returned,
nothing is appended: what was admitted was delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ragledger.model import Candidate, Returned

from .postprocessors import are_rerankers, reranker_facts

if TYPE_CHECKING:
    from ragledger.observation import Observation

__all__ = ["Prompts"]

_MOST_SEARCHES = 32
"""Of one span that is open for long, such as the run of an agent, the latest."""
_CACHE_SIZE = 1024
_IGNORING = "llama_index.core.response_synthesizers.generation.Generation"
"""This synthesizer answers without the nodes that it is given."""


class _Searched(NamedTuple):
    observation: Observation
    nodes: Sequence[Any]  # as returned
    chunk_ids: Sequence[str | None]
    scores: Sequence[Any]


class _Prompt:
    """What is known of the span of one engine, until it ends."""

    __slots__ = ("engine", "processed", "ran", "searches")

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.searches: list[_Searched] = []
        self.ran: list[Any] = []
        self.processed: list[Any] | None = None

    @property
    def postprocessors(self) -> list[Any]:
        """Those that the engine has, or that were seen: an asynchronous one may have no span of its own."""
        return list(getattr(self.engine, "_node_postprocessors", None) or self.ran)


class Prompts:
    """The open spans under which something was, or may be, searched for a prompt."""

    def __init__(self) -> None:
        self.open: dict[str, _Prompt] = {}
        self.processing: dict[str, _Prompt] = {}
        self._reranking: dict[str, Callable[[BaseException | None], None]] = {}
        self._engines: dict[type, bool] = {}

    def is_engine(self, instance: Any) -> bool:
        """Whether it has postprocessors: the attribute by which LlamaIndex's engines have theirs."""
        kind = type(instance)
        try:
            return self._engines[kind]
        except KeyError:
            if len(self._engines) >= _CACHE_SIZE:
                self._engines.clear()
            found = self._engines[kind] = "_node_postprocessors" in getattr(instance, "__dict__", ())
            return found

    def enter(self, span_id: str, engine: Any) -> None:
        """An engine begins."""
        self.open[span_id] = _Prompt(engine)

    def postprocessors_of(self, span_id: str | None) -> Sequence[Any]:
        """What the engine whose span this is will do to the nodes."""
        prompt = self.open.get(span_id) if span_id is not None else None
        return getattr(prompt.engine, "_node_postprocessors", None) or () if prompt is not None else ()

    def searched(
        self, span_id: str, observation: Observation, nodes: Sequence[Any], read: list[Candidate] | Returned
    ) -> None:
        """A search under this span has ended."""
        if observation.receipt.search_id is None:
            return  # nothing durable to say more of
        if (prompt := self.open.get(span_id)) is None:
            prompt = self.open[span_id] = _Prompt(None)
        chunk_ids = read.chunk_ids if isinstance(read, Returned) else [item.chunk_id for item in read]
        scores = read.scores if isinstance(read, Returned) else [item.score for item in read]
        prompt.searches.append(_Searched(observation, list(nodes), chunk_ids, scores or [None] * len(nodes)))
        del prompt.searches[:-_MOST_SEARCHES]

    def child_entered(self, span_id: str, parent_id: str, instance: Any, arguments: dict[str, Any]) -> None:
        """A span under one of ours: a postprocessor, or the synthesizer that makes the prompt."""
        prompt = self.open[parent_id]
        if not prompt.searches:
            return
        if "postprocess_nodes-" in span_id:
            self.processing[span_id] = prompt
            prompt.ran.append(instance)
            if are_rerankers([instance]):
                self._narrate(span_id, prompt.searches[-1].observation, instance, arguments)
        elif ".synthesize-" in span_id or ".asynthesize-" in span_id:
            kind = type(instance)
            if f"{kind.__module__}.{kind.__qualname__}" != _IGNORING:
                _deliver(prompt, arguments.get("nodes"))
            prompt.searches.clear()
            prompt.ran.clear()
            prompt.processed = None

    def processed(self, span_id: str, result: Any, fault: BaseException | None = None) -> None:
        """A postprocessor is done. Of several, the last one's answer counts."""
        prompt = self.processing.pop(span_id)
        if (end := self._reranking.pop(span_id, None)) is not None:
            end(fault)
        if isinstance(result, (list, tuple)):
            prompt.processed = list(result)

    def exit(self, span_id: str, *, came_back: bool) -> None:
        """The span ends. Where no synthesizer was seen, the last postprocessor's answer was what it went on with."""
        prompt = self.open.pop(span_id)
        if came_back and prompt.processed is not None:
            _deliver(prompt, prompt.processed)

    def _narrate(self, span_id: str, search: Observation, reranker: Any, arguments: dict[str, Any]) -> None:
        """A reranker has a span of its own, below that of the search whose nodes it gets."""
        from ragledger.spans.rerank import rerank_after

        said = reranker_facts(reranker)
        nodes = arguments.get("nodes")
        count = len(nodes) if isinstance(nodes, (list, tuple)) else 0
        end = rerank_after(search, model_name=said.model_name, top_k=said.top_k, candidate_count=count)
        if end is not None:
            self._reranking[span_id] = end

    def clear(self) -> None:
        """Forgets everything: nobody listens any more."""
        self.open.clear()
        self.processing.clear()
        self._reranking.clear()


def _deliver(prompt: _Prompt, nodes: Any) -> None:
    if not isinstance(nodes, (list, tuple)):
        return
    postprocessors = prompt.postprocessors
    final = list(nodes)
    found = _matches(prompt.searches, final)
    if prompt.processed is not None and final is not prompt.processed and any(not ranks for ranks in found):
        # An engine that cuts nodes anew for its prompt: these are what it cut.
        final = prompt.processed
        found = _matches(prompt.searches, final)
    for place, searched in enumerate(prompt.searches):
        ranks = [
            (of_node[place], node) for of_node, node in zip(found, final, strict=True) if place in of_node
        ]
        _append(searched, list(_once(ranks)), final, postprocessors)
    unmatched = sum(not of_node for of_node in found)
    if unmatched and postprocessors:
        prompt.searches[0].observation.ledger.guard.count("llama_index.unmatched_node")


def _append(
    searched: _Searched, delivered: list[tuple[int, Any]], final: list[Any], postprocessors: list[Any]
) -> None:
    observation = searched.observation
    search_id = observation.receipt.search_id
    if search_id is None or (final and not delivered):
        return  # all of it was made anew: nothing is known
    ranks = [rank for rank, _ in delivered]
    if not postprocessors and ranks == list(dict.fromkeys(_ranks(searched))):
        return
    scores = [getattr(node, "score", None) for _, node in delivered]
    by = "application"
    if postprocessors:
        changed = ranks != sorted(ranks) or any(
            score != searched.scores[rank - 1] for rank, score in zip(ranks, scores, strict=True)
        )
        own = all(type(item).__module__.startswith("llama_index.core.") for item in postprocessors)
        by = "reranker" if are_rerankers(postprocessors) or (changed and not own) else "postprocessor"
    with observation.ledger.guard("llama_index.delivery"):
        observation.ledger.deliver(search_id, ranks, by=by, scores=scores)


def _once(ranks: list[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
    seen: set[int] = set()
    for rank, node in ranks:
        if rank not in seen:
            seen.add(rank)
            yield rank, node


def _ranks(searched: _Searched) -> list[int]:
    """The rank of the hit by position: a chunk that came twice has its best one."""
    first: dict[str, int] = {}
    return [
        rank if chunk_id is None else first.setdefault(chunk_id, rank)
        for rank, chunk_id in enumerate(searched.chunk_ids, 1)
    ]


def _matches(searches: list[_Searched], final: list[Any]) -> list[dict[int, int]]:
    """For each node, by place of the search that it comes from, its rank there: by node id, else by content."""
    found: list[dict[int, int]] = [{} for _ in final]
    for place, searched in enumerate(searches):
        ranks = _ranks(searched)
        kept = {rank for rank, _ in searched.observation.receipt.hits}
        by_id: dict[Any, int] = {}
        for item, rank in zip(searched.nodes, ranks, strict=True):
            if rank in kept:
                by_id.setdefault(item.node.node_id, rank)
        by_content: dict[str, int] | None = None
        for of_node, item in zip(found, final, strict=True):
            rank_or_none = by_id.get(item.node.node_id)
            if rank_or_none is None:
                if by_content is None:
                    by_content = {
                        known.node.get_content(): rank
                        for known, rank in zip(reversed(searched.nodes), reversed(ranks), strict=True)
                        if rank in kept
                    }
                rank_or_none = by_content.get(item.node.get_content())
            if rank_or_none is not None:
                of_node[place] = rank_or_none
    return found
