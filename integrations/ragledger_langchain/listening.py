"""The scores that a vector store finds and its retriever drops: heard where the store's own methods hand them over.

Nothing is called that would not be called anyway, and nothing is changed: a store whose plain search is made of its
scored one is heard there, any other stays silent. A threshold is heard before it is applied, so that what fell
below it is seen. Of langchain-postgres' hybrid search both halves are heard, before fusion rewrites their scores.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from langchain_core.documents import BaseDocumentCompressor, BaseDocumentTransformer
from langchain_core.vectorstores import VectorStore

from ragledger.extraction import plain_number
from ragledger.model import Candidate, Returned, ScoreKind, Signal
from ragledger.observation import open_observation
from ragledger.unshown import unshown

from .extract import Translator
from .weights.pg_store import CLASSES as PG_CLASSES
from .weights.pg_store import inner_store
from .weights.settings import name_of

if TYPE_CHECKING:
    from ragledger.guard import Guard
    from ragledger.observation import Observation

__all__ = ["Heard", "hear", "is_own", "listen_to", "put", "unlisten"]

# The larger number is nearer to what was ranked by; relevance before the threshold shows what fell below it.
_SCORED = {
    "similarity_search_with_score": 1,
    "similarity_search_with_score_by_vector": 1,
    "max_marginal_relevance_search_with_score_by_vector": 1,
    "similarity_search_with_relevance_scores": 2,
    "_similarity_search_with_relevance_scores": 3,
}
SCORED = {
    **_SCORED,
    **{
        f"_a{name[1:]}" if name.startswith("_") else f"a{name}": nearness
        for name, nearness in _SCORED.items()
    },
}
_QUERY = "_AsyncPGVectorStore__query_collection"
_MARK = "__ragledger_listens__"
_OWN = "__ragledger_wrapper__"
_ORIGINAL = "__ragledger_original__"
_KINDS: dict[str, ScoreKind] = {
    "langchain_core.vectorstores.in_memory.InMemoryVectorStore": "similarity",
    "langchain_postgres.vectorstores.PGVector": "distance",
    "langchain_community.vectorstores.chroma.Chroma": "distance",
    "langchain_chroma.vectorstores.Chroma": "distance",
    "langchain_community.vectorstores.sklearn.SKLearnVectorStore": "distance",
}
_TURNS: dict[str, int] = {"similarity": 1, "distance": -1}


class _Leg(NamedTuple):
    """One half of a hybrid search, as it was before fusion."""

    rows: list[_Row]
    strategy: Any


@unshown
class _Row(NamedTuple):
    id: str
    page_content: Any
    metadata: Any
    score: float


class Heard:
    """What the stores of one search gave, until it is closed."""

    __slots__ = ("_legs", "_nearness", "_pairs", "_relevance", "stores")

    def __init__(self, store: Any) -> None:
        inner = inner_store(store)
        self.stores: tuple[Any, ...] = (store,) if inner is store else (store, inner)
        self._nearness = 0
        self._relevance = False
        self._pairs: list[tuple[Any, Any]] = []
        self._legs: tuple[_Leg, _Leg] | None = None

    def take(self, nearness: int, result: Any) -> None:
        """Keeps documents with their scores, unless something nearer was heard."""
        if nearness >= self._nearness and isinstance(result, (list, tuple)):
            self._nearness = nearness
            self._pairs = [(document, score) for document, score in result]

    def take_legs(self, store: Any, strategy: Any, primary: Any, secondary: Any) -> None:
        """Keeps both halves of a hybrid search."""
        self._legs = (_Leg(_rows(store, primary), strategy), _Leg(_rows(store, secondary), strategy))

    def candidates(
        self,
        observation: Observation,
        returned: list[Candidate] | Returned | None,
        signal: str | None = None,
    ) -> list[Candidate]:
        """What the store considered, each with its score; nothing where that is not certain.

        It is not when something was returned that was not heard: then the result is made of something else.
        """
        if returned is None:
            return []
        given = returned.chunk_ids if isinstance(returned, Returned) else [each.chunk_id for each in returned]
        translator = Translator(observation, None)
        found: dict[str | None, Candidate] = {}
        kind = "similarity" if self._nearness > 1 else kind_of(self.stores[-1], hybrid=self._legs is not None)
        for document, score in self._pairs:
            candidate = translator.item(document)
            scored = msgspec.structs.replace(
                candidate, score=score, score_kind=kind, score_source="vector_store", admitted=False
            )
            if signal == "vector" and self._legs is None and kind in _TURNS:
                number = plain_number(score)
                dense = None if number is None else _TURNS[kind] * number
                scored = msgspec.structs.replace(scored, vector=dense)
            found.setdefault(candidate.chunk_id, scored)
        if self._legs is not None:
            _add_legs(found, self._legs, translator)
        if not found.keys() >= set(given):
            return []
        return list(found.values())


def kind_of(store: Any, *, hybrid: bool = False) -> ScoreKind:
    """What the numbers of a store's scored search are: "none" where that is not known of its class."""
    for base in type(store).__mro__:
        name = name_of(base)
        if name in PG_CLASSES:
            if hybrid:
                return "fused"
            strategy = inner_store(store).distance_strategy.name
            return "similarity" if strategy == "INNER_PRODUCT" else "distance"
        if name == "langchain_community.vectorstores.faiss.FAISS":
            return "similarity" if store.distance_strategy.name == "MAX_INNER_PRODUCT" else "distance"
        if name in _KINDS:
            return _KINDS[name]
    return "none"


def listen_to(retriever: Any) -> Heard | None:
    """Has what the retriever's store gives heard for one search; None when it has no store."""
    store = getattr(retriever, "vectorstore", None)
    if store is None:
        return None
    heard = Heard(store)
    for each in heard.stores:
        listen(type(each))
    return heard


def listen(cls: type) -> None:
    """Wraps the scored methods of a store's class, once."""
    if _MARK in vars(cls):
        return
    for name in SCORED:
        if getattr(cls, name, None) is not None and not is_own(vars(cls).get(name)):
            put(cls, name, _listening)
    if _QUERY in vars(cls):
        put(cls, _QUERY, _legs_of)
    type.__setattr__(cls, _MARK, True)


def put(cls: type, name: str, wrapping: Callable[[str, Any], Any]) -> None:
    """Wraps one method of a class; one that is inherited goes on being looked up as it would be."""
    original = vars(cls).get(name)
    wrapper = wrapping(name, original if original is not None else _inherited(cls, name, getattr(cls, name)))
    setattr(
        wrapper, _OWN, wrapper
    )  # itself: `functools.wraps` copies attributes onto other people's functions
    setattr(wrapper, _ORIGINAL, original)
    setattr(cls, name, wrapper)


def is_own(function: Any) -> bool:
    """Whether it is a wrapper of ours."""
    return function is not None and getattr(function, _OWN, None) is function


def unlisten() -> None:
    """Puts the classes back as they were, but for what somebody else has wrapped since."""
    waiting: list[type] = [VectorStore, BaseDocumentCompressor, BaseDocumentTransformer]
    while waiting:
        cls = waiting.pop()
        waiting.extend(cls.__subclasses__())
        for name, entry in list(vars(cls).items()):
            while is_own(entry):
                entry = getattr(entry, _ORIGINAL)
                if entry is None:
                    delattr(cls, name)
                else:
                    setattr(cls, name, entry)
        if _MARK in vars(cls):
            delattr(cls, _MARK)


def hear(store: Any, name: str, result: Any) -> None:
    """Hands what a scored method gave to the searches that are open here, if they are of this store."""
    if name in SCORED:
        for heard, guard in _here(store):
            with guard("langchain.scores"):
                heard.take(SCORED[name], result)


def _here(store: Any) -> Iterator[tuple[Heard, Guard]]:
    """The innermost search, and the one of another ledger around it: the retriever's, and the store's below it."""
    enclosing = open_observation()
    last: Heard | None = None
    while enclosing is not None:
        search = getattr(enclosing.opening, "search", None)
        heard: Heard | None = getattr(search, "heard", None)
        if heard is None or not any(each is store for each in heard.stores):
            return
        if heard is not last:
            yield heard, enclosing.ledger.guard
        last, enclosing = heard, enclosing.outer


def _listening(name: str, original: Any) -> Any:
    if name.lstrip("_").startswith("a"):  # a decorator may hide what is a coroutine

        @functools.wraps(original)
        async def amethod(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = await original(self, *args, **kwargs)
            hear(self, name, result)
            return result

        return amethod

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        hear(self, name, result)
        return result

    return method


def _inherited(cls: type, name: str, found: Any) -> Any:
    if name.lstrip("_").startswith("a"):

        @functools.wraps(found)
        async def amethod(self: Any, *args: Any, **kwargs: Any) -> Any:
            return await getattr(super(cls, self), name)(*args, **kwargs)

        return amethod

    @functools.wraps(found)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(super(cls, self), name)(*args, **kwargs)

    return method


def _legs_of(name: str, original: Any) -> Any:
    """The store's query, given a copy of the config whose fusion function tells us what it gets.

    The config stays as it is; what the store writes into its parameters during the search goes where it always goes.
    """

    @functools.wraps(original)
    async def query(self: Any, *args: Any, **kwargs: Any) -> Any:
        for heard, guard in _here(self):
            with guard("langchain.scores"):
                config = kwargs.get("hybrid_search_config", self.hybrid_search_config)
                if config is not None:
                    kwargs = {**kwargs, "hybrid_search_config": _telling(config, heard, guard, self)}
        return await original(self, *args, **kwargs)

    return query


def _telling(config: Any, heard: Heard, guard: Guard, store: Any) -> Any:
    fusion = config.fusion_function

    @functools.wraps(fusion)
    def fuse(primary: Any, secondary: Any, **parameters: Any) -> Any:
        with guard("langchain.scores"):
            heard.take_legs(store, store.distance_strategy.name, primary, secondary)
        return fusion(primary, secondary, **parameters)

    told = copy.copy(config)
    told.fusion_function = fuse
    return told


def _rows(store: Any, rows: Iterable[Any]) -> list[_Row]:
    found = []
    for row in rows:
        metadata = dict((row[store.metadata_json_column] if store.metadata_json_column else None) or {})
        metadata |= {column: row[column] for column in store.metadata_columns}
        found.append(
            _Row(str(row[store.id_column]), row[store.content_column], metadata, float(row["distance"]))
        )
    return found


def _add_legs(found: dict[str | None, Candidate], legs: tuple[_Leg, _Leg], translator: Translator) -> None:
    """Each half's score and rank. Ranks go beside the scores, because equal scores are ranked too."""
    primary, secondary = legs
    for name, leg in (("primary", primary), ("secondary", secondary)):
        for rank, row in enumerate(leg.rows, 1):
            candidate = translator.item(row)
            known = found.get(candidate.chunk_id)
            if known is None:
                known = msgspec.structs.replace(
                    candidate, score=None, score_kind=None, score_source=None, admitted=False
                )
            signals = {**(known.signals or {}), name: Signal(None, rank)}
            known = msgspec.structs.replace(known, signals=signals)
            if name == "primary":
                known = msgspec.structs.replace(known, vector=_similarity(row.score, leg.strategy))
            else:
                known = msgspec.structs.replace(known, lexical=row.score)
            found[candidate.chunk_id] = known


def _similarity(number: float, strategy: str) -> float:
    """A dense score of which more is better: 1 - distance is the cosine, an inner product is one already."""
    return {"COSINE_DISTANCE": 1 - number, "EUCLIDEAN": -number}.get(strategy, number)
