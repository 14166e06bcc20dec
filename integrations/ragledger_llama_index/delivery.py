"""What finally reached the prompt: the nodes that a query or chat engine hands to its synthesizer.

An engine's own span is the parent of the search, of the postprocessors and of the synthesizer, so that its id tells
whose they are, also beside a hundred others. Where an engine has no postprocessor and hands over what was returned,
nothing is appended: what was admitted was delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ragledger.model import Candidate, Returned
from ragledger.spans.rerank import rerank_after

from .postprocessors import are_rerankers, reranker_facts

if TYPE_CHECKING:
    from ragledger.observation import Observation

__all__ = ["Prompts"]

_MOST_SEARCHES = 32
"""Of one span that is open for long, such as the run of an agent, the latest."""
_MOST_LOOSE = 1024
_CACHE_SIZE = 1024
_IGNORING = "llama_index.core.response_synthesizers.generation.Generation"
"""This synthesizer answers without the nodes that it is given."""


class _Searched:
    """A search under one span, and what became of its nodes since."""

    __slots__ = ("answer", "chunk_ids", "nodes", "observation", "processed", "ran", "scores")

    def __init__(
        self, observation: Observation, answer: Sequence[Any], chunk_ids: Sequence[str | None], scores: Any
    ) -> None:
        self.observation = observation
        self.answer = answer
        self.nodes = list(answer)  # as returned
        self.chunk_ids = chunk_ids
        self.scores: Sequence[Any] = scores
        self.ran: list[Any] = []
        self.processed: Sequence[Any] | None = None
        """What the last postprocessor that got its nodes gave back."""


class _Prompt:
    """What is known of the span of one engine, until it ends."""

    __slots__ = ("engine", "searches")

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.searches: list[_Searched] = []

    def postprocessors(self, searched: _Searched) -> list[Any]:
        """Those that the engine has, or that were seen: an asynchronous one may have no span of its own."""
        return list(getattr(self.engine, "_node_postprocessors", None) or searched.ran)

    def sources(self, handed: Any) -> list[_Searched]:
        """The searches that these nodes came from: by the objects themselves, also after a postprocessor."""
        if not isinstance(handed, (list, tuple)):
            return []
        found = [item for item in self.searches if handed is item.answer or handed is item.processed]
        if found:
            return found
        if not handed:
            return list(self.searches) if len(self.searches) == 1 else []
        return self._by_objects(handed) or self._by_contents(handed)

    def _by_objects(self, handed: Sequence[Any]) -> list[_Searched]:
        of_item: dict[int, list[_Searched]] = {}
        of_node: dict[int, list[_Searched]] = {}
        for searched in self.searches:
            for item in (*searched.nodes, *(searched.processed or ())):
                of_item.setdefault(id(item), []).append(searched)
                of_node.setdefault(id(getattr(item, "node", item)), []).append(searched)
        found: set[_Searched] = set()
        for item in handed:
            if (known := of_item.get(id(item))) is None:
                known = of_node.get(id(getattr(item, "node", item)), [])
            found.update(known)
        return [searched for searched in self.searches if searched in found]

    def _by_contents(self, handed: Sequence[Any]) -> list[_Searched]:
        """Of nodes that were all made anew. An engine has its own searches alone under its span."""
        found = {place for of_node in _matches(self.searches, list(handed)) for place in of_node}
        if found or self.engine is None:
            return [searched for place, searched in enumerate(self.searches) if place in found]
        return list(self.searches)


class Prompts:
    """The open spans under which something was, or may be, searched for a prompt."""

    def __init__(self) -> None:
        self.open: dict[str, _Prompt] = {}
        self.processing: dict[str, list[_Searched]] = {}
        self._reranking: dict[str, list[Callable[[BaseException | None], None]]] = {}
        self._loose: dict[
            str, None
        ] = {}  # open without an engine: whether such a span still runs is not known
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
            prompt = self._open_loose(span_id)
        chunk_ids = read.chunk_ids if isinstance(read, Returned) else [item.chunk_id for item in read]
        scores = read.scores if isinstance(read, Returned) else [item.score for item in read]
        prompt.searches.append(_Searched(observation, nodes, chunk_ids, scores or [None] * len(nodes)))
        if len(prompt.searches) > _MOST_SEARCHES:
            forgotten = prompt.searches.pop(0)
            forgotten.observation.ledger.guard.count("llama_index.forgotten_search")

    def _open_loose(self, span_id: str) -> _Prompt:
        """Of a span that is no engine's. It may have ended before its search did: then nobody closes it."""
        self._loose[span_id] = None
        if len(self._loose) > _MOST_LOOSE:
            oldest = next(iter(self._loose))
            self._loose.pop(oldest, None)
            self.open.pop(oldest, None)
        prompt = self.open[span_id] = _Prompt(None)
        return prompt

    @property
    def engines_open(self) -> bool:
        """Whether an engine or a postprocessor is still at work."""
        return bool(self.processing) or len(self.open) > len(self._loose)

    def child_entered(self, span_id: str, parent_id: str, instance: Any, bound: Any) -> None:
        """A span under one of ours: a postprocessor, or the synthesizer that makes the prompt."""
        prompt = self.open[parent_id]
        if not prompt.searches:
            return
        if "postprocess_nodes-" in span_id:
            nodes = _nodes_of(bound)
            sources = self.processing[span_id] = prompt.sources(nodes)
            for searched in sources:
                searched.ran.append(instance)
            if sources and are_rerankers([instance]):
                self._narrate(span_id, sources, instance, nodes)
        elif ".synthesize-" in span_id or ".asynthesize-" in span_id:
            nodes = _nodes_of(bound)
            sources = prompt.sources(nodes)
            kind = type(instance)
            prompt.searches = [searched for searched in prompt.searches if searched not in sources]
            if f"{kind.__module__}.{kind.__qualname__}" != _IGNORING and isinstance(nodes, (list, tuple)):
                _deliver(prompt, sources, nodes)

    def processed(self, span_id: str, result: Any, fault: BaseException | None = None) -> None:
        """A postprocessor is done. Of several, the last one's answer counts."""
        sources = self.processing.pop(span_id)
        for end in self._reranking.pop(span_id, ()):
            end(fault)
        if isinstance(result, (list, tuple)):
            for searched in sources:
                searched.processed = result

    def exit(self, span_id: str, *, came_back: bool) -> None:
        """The span ends. Where no synthesizer was seen, the last postprocessor's answer was what it went on with."""
        prompt = self.open.pop(span_id)
        self._loose.pop(span_id, None)
        if came_back:
            _deliver_processed(prompt, prompt.searches)

    def _narrate(self, span_id: str, sources: list[_Searched], reranker: Any, nodes: Any) -> None:
        """A reranker has a span of its own in each ledger, below that of the latest search whose nodes it gets."""
        said = reranker_facts(reranker)
        count = len(nodes) if isinstance(nodes, (list, tuple)) else 0
        of_ledger = {id(searched.observation.ledger): searched.observation for searched in sources}
        ends = self._reranking[span_id] = []
        for search in of_ledger.values():
            end = rerank_after(search, model_name=said.model_name, top_k=said.top_k, candidate_count=count)
            if end is not None:
                ends.append(end)

    def clear(self) -> None:
        """Forgets everything: nobody listens any more."""
        self.open.clear()
        self._loose.clear()
        self.processing.clear()
        while self._reranking:
            for end in self._reranking.popitem()[1]:
                end(None)


def _nodes_of(bound: Any) -> Any:
    """The nodes of the call, also where an override takes `*args` or `**kwargs`."""
    if "nodes" in bound.arguments:
        return bound.arguments["nodes"]
    return (
        bound.kwargs["nodes"]
        if "nodes" in bound.kwargs
        else next((item for item in bound.args if isinstance(item, (list, tuple))), None)
    )


def _deliver_processed(prompt: _Prompt, sources: list[_Searched]) -> None:
    """What the postprocessors gave back, together for the searches whose nodes they got together."""
    together: dict[int, list[_Searched]] = {}
    for searched in sources:
        if searched.processed is not None:
            together.setdefault(id(searched.processed), []).append(searched)
    for members in together.values():
        final = list(members[0].processed or ())
        _append_all(prompt, members, final, _matches(members, final))


def _deliver(prompt: _Prompt, sources: list[_Searched], nodes: Sequence[Any]) -> None:
    final = list(nodes)
    found = _matches(sources, final)
    if any(not ranks for ranks in found):
        # An engine that cuts nodes anew for its prompt: what was processed is what it cut.
        _deliver_processed(prompt, [item for item in sources if item.processed is not None])
        sources = [item for item in sources if item.processed is None]
        found = _matches(sources, final)
    _append_all(prompt, sources, final, found)


def _append_all(
    prompt: _Prompt, sources: list[_Searched], final: list[Any], found: list[dict[int, int]]
) -> None:
    if not sources:
        return
    for place, searched in enumerate(sources):
        ranks = [
            (of_node[place], node) for of_node, node in zip(found, final, strict=True) if place in of_node
        ]
        _append(searched, list(_once(ranks)), final, prompt.postprocessors(searched))
    if any(not of_node for of_node in found) and any(prompt.postprocessors(item) for item in sources):
        sources[0].observation.ledger.guard.count("llama_index.unmatched_node")


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
            not _is_same(score, searched.scores[rank - 1]) for rank, score in zip(ranks, scores, strict=True)
        )
        own = all(type(item).__module__.startswith("llama_index.core.") for item in postprocessors)
        by = "reranker" if are_rerankers(postprocessors) or (changed and not own) else "postprocessor"
    with observation.ledger.guard("llama_index.delivery"):
        observation.ledger.deliver(search_id, ranks, by=by, scores=scores)


def _is_same(score: Any, known: Any) -> bool:
    """Two that are both not a number are the same score."""
    return bool(score == known or (score != score and known != known))


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
