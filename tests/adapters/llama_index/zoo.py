"""One real retriever per class of llama-index-core and of BM25, small enough to be searched: settings in, answer out.

The language model is scripted: it obeys what its prompt asks, as far as a test needs it to.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import bm25s
from adapters.llama_index.doubles import ListRetriever, WordEmbedding, node, scored
from llama_index.core import (
    DocumentSummaryIndex,
    KeywordTableIndex,
    SQLDatabase,
    StorageContext,
    SummaryIndex,
    TreeIndex,
    VectorStoreIndex,
)
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.indices.document_summary.retrievers import (
    DocumentSummaryIndexEmbeddingRetriever,
    DocumentSummaryIndexLLMRetriever,
)
from llama_index.core.indices.keyword_table.retrievers import KeywordTableGPTRetriever
from llama_index.core.indices.query.query_transform.base import HyDEQueryTransform
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    NLSQLRetriever,
    QueryFusionRetriever,
    RecursiveRetriever,
    RouterRetriever,
    SQLRetriever,
    TransformRetriever,
    VectorIndexAutoRetriever,
)
from llama_index.core.schema import Document, IndexNode, NodeRelationship, TextNode
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.tools import RetrieverTool
from llama_index.core.vector_stores.types import VectorStoreInfo
from llama_index.retrievers.bm25 import BM25Retriever
from sqlalchemy import create_engine, text

NAMES = tuple("abcdef")


class Scripted(CustomLLM):
    """Answers by a function of the prompt."""

    answer: Callable[[str], str]

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(num_output=64)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=self.answer(prompt))

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError


def scripted(answer: str | Callable[[str], str]) -> Scripted:
    return Scripted(answer=(lambda _: answer) if isinstance(answer, str) else answer)


class Axes(BaseEmbedding):
    """Two near-equal directions and one apart: what a diverse choice takes, a plain one leaves."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return {"a": [1.0, 0.1, 0.0], "b": [1.0, 0.11, 0.0], "c": [0.7, 0.0, 0.7], "d": [0.1, 1.0, 0.0]}.get(
            text.split()[-1], [1.0, 0.1, 0.05]
        )

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def _axes() -> VectorStoreIndex:
    return VectorStoreIndex([node(name) for name in "abcd"], embed_model=Axes())


def vector(**settings: Any) -> Any:
    return _axes().as_retriever(**settings)


def vector_mmr(**settings: Any) -> Any:
    return _axes().as_retriever(
        vector_store_query_mode="mmr", similarity_top_k=3, vector_store_kwargs=settings
    )


def auto(*, spec: str = '{"query": "q", "filters": [], "top_k": 4}', **settings: Any) -> Any:
    info = VectorStoreInfo(content_info="letters", metadata_info=[])
    return VectorIndexAutoRetriever(_axes(), info, llm=scripted(spec), **settings)


def auto_blank(**settings: Any) -> Any:
    spec = '{"query": "", "filters": [], "top_k": null}'
    return auto(spec=spec, similarity_top_k=3, default_empty_query_vector=[1.0, 0.0, 0.0], **settings)


# Found by search: each setting of BM25 moves one of them.
_TEXTS = ("lake", "run boat", "boat", "run lake", "boat sea run boat boat boat", "lake run run")


def bm25(*, similarity_top_k: int = 5, skip_stemming: bool = False, **settings: Any) -> Any:
    nodes = [TextNode(id_=f"n{place}", text=words) for place, words in enumerate(_TEXTS)]
    plain = BM25Retriever(nodes=nodes, similarity_top_k=5, skip_stemming=skip_stemming)
    if not settings:
        plain.similarity_top_k = similarity_top_k
        return plain
    tokens = bm25s.tokenize(list(_TEXTS), stemmer=plain.stemmer, show_progress=False)
    index = bm25s.BM25(corpus=plain.corpus, **settings)
    index.index(tokens, show_progress=False)
    return BM25Retriever(existing_bm25=index, similarity_top_k=similarity_top_k)


class Fresh(ListRetriever):
    """New nodes at each call, as stores give them."""

    def _retrieve(self, query_bundle: Any) -> Any:
        return scored(*self.result)


def fusion(
    *, mode: str = "relative_score", weights: Any = None, member_top_k: int = 3, **settings: Any
) -> Any:
    members = [
        Fresh([("n0", 0.9), ("n1", 0.5), ("n2", 0.4)][:member_top_k]),
        Fresh([("n2", 5.0), ("n1", 3.0), ("n3", 1.0)]),
    ]
    settings = {"num_queries": 1, "use_async": False, "similarity_top_k": 4} | settings
    return QueryFusionRetriever(
        members, mode=mode, retriever_weights=weights, llm=scripted("b\nc\nd"), **settings
    )


def fusion_of_stores(*, member_top_k: int = 1, num_queries: int = 1) -> Any:
    return QueryFusionRetriever(
        [_axes().as_retriever(similarity_top_k=member_top_k)],
        mode="reciprocal_rerank",
        num_queries=num_queries,
        use_async=False,
        similarity_top_k=4,
        llm=scripted("d\nc\nb"),
    )


class Choice(BaseSelector):
    """Chooses the members with these numbers."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: Any) -> None: ...

    def _select(self, choices: Any, query: Any) -> SelectorResult:
        return SelectorResult(
            selections=[SingleSelection(index=number, reason="r") for number in self.numbers]
        )

    async def _aselect(self, choices: Any, query: Any) -> SelectorResult:
        return self._select(choices, query)


def router(*members: Any, chosen: tuple[int, ...] = (0,)) -> Any:
    tools = [RetrieverTool.from_defaults(member, description="d") for member in members]
    return RouterRetriever(Choice(*chosen), tools, llm=scripted(""))


def router_of_stores(*, member_top_k: int) -> Any:
    return router(_axes().as_retriever(similarity_top_k=member_top_k))


def recursive(*, member_top_k: int) -> Any:
    top = ListRetriever([])
    top.result = [*scored(("x", 0.9))]
    top.result[0].node = IndexNode(id_="x", text="x", index_id="inner")
    return RecursiveRetriever(
        "root", {"root": top, "inner": _axes().as_retriever(similarity_top_k=member_top_k)}
    )


def transform(*, member_top_k: int) -> Any:
    inner = _axes().as_retriever(similarity_top_k=member_top_k)
    return TransformRetriever(inner, HyDEQueryTransform(llm=scripted("b"), include_original=True))


def family(parent: str, *children: str) -> list[TextNode]:
    """A parent and its children, as a hierarchical parser relates them."""
    whole = node(parent)
    parts = [node(child) for child in children]
    whole.relationships[NodeRelationship.CHILD] = [part.as_related_node_info() for part in parts]
    for part in parts:
        part.relationships[NodeRelationship.PARENT] = whole.as_related_node_info()
    return [whole, *parts]


def auto_merging(*, simple_ratio_thresh: float = 0.5, member_top_k: int = 2) -> Any:
    whole, *parts = family("p", *"abcd")
    storage = StorageContext.from_defaults(docstore=SimpleDocumentStore())
    storage.docstore.add_documents([whole, *parts])
    index = VectorStoreIndex(parts, storage_context=storage, embed_model=Axes())
    return AutoMergingRetriever(
        index.as_retriever(similarity_top_k=member_top_k), storage, simple_ratio_thresh=simple_ratio_thresh
    )


_ANIMALS = ("cat dog", "cat", "dog bird", "cat dog bird")


def _animals() -> list[TextNode]:
    return [TextNode(id_=f"n{place}", text=words) for place, words in enumerate(_ANIMALS)]


def keywords(*, mode: str = "simple", **settings: Any) -> Any:
    llm = scripted("KEYWORDS: cat, dog, bird")
    index = KeywordTableIndex(nodes=_animals(), llm=llm)
    index.index_struct.table = {
        word: {f"n{place}" for place, words in enumerate(_ANIMALS) if word in words.split()}
        for word in ("cat", "dog", "bird")
    }
    if mode == "default":
        return KeywordTableGPTRetriever(index, llm=llm, **settings)
    return index.as_retriever(retriever_mode=mode, **settings)


def _first_of_each_batch(prompt: str) -> str:
    return "Doc: 1, Relevance: 5\nDoc: 2, Relevance: 3"


def summary(*, mode: str = "default", **settings: Any) -> Any:
    index = SummaryIndex([node(name) for name in NAMES])
    return index.as_retriever(
        retriever_mode=mode, llm=scripted(_first_of_each_batch), embed_model=WordEmbedding(), **settings
    )


def summary_embedding(**settings: Any) -> Any:
    return summary(mode="embedding", **settings)


def summary_llm(**settings: Any) -> Any:
    return summary(mode="llm", **settings)


def document_summary(*, mode: str, **settings: Any) -> Any:
    from llama_index.core.response_synthesizers import get_response_synthesizer

    llm = scripted(_first_of_each_batch)
    index = DocumentSummaryIndex.from_documents(
        [Document(text=f"text of {name}", id_=f"doc-{name}") for name in NAMES],
        llm=llm,
        embed_model=WordEmbedding(),
        response_synthesizer=get_response_synthesizer(llm=scripted("a summary")),
    )
    if mode == "llm":
        return DocumentSummaryIndexLLMRetriever(index, llm=llm, **settings)
    return DocumentSummaryIndexEmbeddingRetriever(index, embed_model=WordEmbedding(), **settings)


def document_summary_llm(**settings: Any) -> Any:
    return document_summary(mode="llm", **settings)


def document_summary_embedding(**settings: Any) -> Any:
    return document_summary(mode="embedding", **settings)


def _numbers(prompt: str) -> str:
    return "ANSWER: 1, 2, 3"


def tree(*, mode: str = "select_leaf", **settings: Any) -> Any:
    index = TreeIndex(
        [node(name) for name in NAMES], num_children=2, llm=scripted("a summary of a"), use_async=False
    )
    index._llm = scripted(_numbers)
    return index.as_retriever(retriever_mode=mode, embed_model=WordEmbedding(), **settings)


def tree_embedding(**settings: Any) -> Any:
    return tree(mode="select_leaf_embedding", **settings)


def _database() -> SQLDatabase:
    engine = create_engine("sqlite:///:memory:")
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE pets (name TEXT)"))
        connection.execute(text("INSERT INTO pets VALUES ('Rex'), ('Tom')"))
    return SQLDatabase(engine)


def sql(**settings: Any) -> Any:
    return SQLRetriever(_database(), **settings)


def sql_from_words(**settings: Any) -> Any:
    return NLSQLRetriever(_database(), llm=scripted("SELECT name FROM pets"), **settings)


def answer(retriever: Any, query: str = "text of a") -> list[tuple[str | None, str]]:
    """What came back in its order: the id, or, where every search makes a new one, what the item says."""
    made_anew = re.compile(r"^[0-9a-f]{8}-[0-9a-f]{4}-")
    heading = re.compile(r"max depth \d+")  # a setting said in words: it moves nothing
    return [
        (
            None if made_anew.match(item.node.node_id) else item.node.node_id,
            heading.sub("", item.node.get_content()),
        )
        for item in retriever.retrieve(query)
    ]
