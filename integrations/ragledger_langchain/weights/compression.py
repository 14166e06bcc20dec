"""`ContextualCompressionRetriever`: a base retriever, and the filter or reranker that decides what of it is returned."""

from __future__ import annotations

from typing import Any, NamedTuple

from ragledger.extraction import Call, Reading, extractor
from ragledger.rerankers import model_name

from .members import members_of
from .settings import extracted, given, name_of, plain, split

__all__ = ["COMPRESSORS", "steps_of"]


class Compressor(NamedTuple):
    """The fields of a compressor. Of `shown` a test shows on the real class that they change what comes back."""

    shown: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    model: bool = False
    """Whether a language model decides, which nothing here tells."""


_CLASSIC = "langchain_classic.retrievers.document_compressors."
_COMMUNITY = "langchain_community.document_compressors."
_TRANSFORMERS = "langchain_community.document_transformers."
_MODELS = frozenset({"model", "model_name", "model_name_or_path"})
_SERVICE = ("top_n", "model", "model_name")

COMPRESSORS = {
    f"{_CLASSIC}embeddings_filter.EmbeddingsFilter": Compressor(("k", "similarity_threshold")),
    f"{_CLASSIC}cross_encoder_rerank.CrossEncoderReranker": Compressor(("top_n",)),
    f"{_CLASSIC}cohere_rerank.CohereRerank": Compressor(fields=_SERVICE),
    f"{_CLASSIC}listwise_rerank.LLMListwiseRerank": Compressor(fields=("top_n",), model=True),
    f"{_CLASSIC}chain_filter.LLMChainFilter": Compressor(model=True),
    f"{_CLASSIC}chain_extract.LLMChainExtractor": Compressor(model=True),
    f"{_COMMUNITY}dashscope_rerank.DashScopeRerank": Compressor(fields=_SERVICE),
    f"{_COMMUNITY}flashrank_rerank.FlashrankRerank": Compressor(fields=(*_SERVICE, "score_threshold")),
    f"{_COMMUNITY}infinity_rerank.InfinityRerank": Compressor(fields=_SERVICE),
    f"{_COMMUNITY}jina_rerank.JinaRerank": Compressor(fields=_SERVICE),
    f"{_COMMUNITY}llmlingua_filter.LLMLinguaCompressor": Compressor(
        fields=("target_token", "rank_method", "model_name")
    ),
    f"{_COMMUNITY}openvino_rerank.OpenVINOReranker": Compressor(fields=("top_n", "model_name_or_path")),
    f"{_COMMUNITY}rankllm_rerank.RankLLMRerank": Compressor(fields=_SERVICE, model=True),
    f"{_COMMUNITY}volcengine_rerank.VolcengineRerank": Compressor(fields=_SERVICE),
    f"{_TRANSFORMERS}embeddings_redundant_filter.EmbeddingsRedundantFilter": Compressor(
        ("similarity_threshold",)
    ),
    f"{_TRANSFORMERS}embeddings_redundant_filter.EmbeddingsClusteringFilter": Compressor(
        ("num_clusters", "num_closest", "sorted", "remove_duplicates"), ("random_state",)
    ),
    f"{_TRANSFORMERS}long_context_reorder.LongContextReorder": Compressor(),
}
_PIPELINE = f"{_CLASSIC}base.DocumentCompressorPipeline"
_BODY = (
    "compress_documents",
    "acompress_documents",
    "transform_documents",
    "atransform_documents",
    "rerank",
)
_RANKING = frozenset({"compressor", "members", "member_settings"})


@extractor(
    "langchain_classic.retrievers.contextual_compression.ContextualCompressionRetriever",
    "langchain.retrievers.contextual_compression.ContextualCompressionRetriever",
)
def _compression(retriever: Any, call: Call) -> Reading:
    """Per-call arguments reach the base."""
    shared, unknown = members_of([retriever.base_retriever], call, call.kwargs)
    configured, effective = _compressors(retriever.base_compressor, unknown)
    return extracted(
        "langchain.ContextualCompressionRetriever/1",
        {**shared, "compressor": configured},
        {**shared, "compressor": effective},
        _RANKING,
        unknown=unknown,
        members=(retriever.base_retriever,),
    )


def steps_of(compressor: Any) -> list[Any]:
    """What works one after the other."""
    return list(compressor.transformers) if name_of(type(compressor)) == _PIPELINE else [compressor]


def _compressors(compressor: Any, unknown: list[str]) -> tuple[list[Any], list[Any]]:
    """What is set on each step, and what of it takes effect."""
    configured, effective = [], []
    for step in steps_of(compressor):
        kind = type(step)
        known, base = next(
            ((COMPRESSORS[name], base) for base in kind.__mro__ if (name := name_of(base)) in COMPRESSORS),
            (None, kind),
        )
        own = any(name in vars(cls) for cls in kind.__mro__[: kind.__mro__.index(base)] for name in _BODY)
        told, shown = {"class": kind.__name__}, {"class": kind.__name__}
        if known is None:
            unknown.append(f"compressor.{kind.__name__}")
        else:
            told |= _fields(step, (*known.shown, *known.fields), unknown)
            if own:  # with a body of its own, what is set on it need not take effect
                unknown.append(f"compressor.{kind.__name__}")
            else:
                shown |= {name: told[name] for name in known.shown if name in told}
            unknown.extend([f"compressor.{name}" for name in known.fields if name in told])
            if known.model:
                unknown.append("compressor.llm")
        configured.append(told)
        effective.append(shown)
    return configured, effective


def _fields(step: Any, names: tuple[str, ...], unknown: list[str]) -> dict[str, Any]:
    found, unread = split(given(step, names))
    unknown.extend([f"compressor.{name}" for name in unread])
    model = getattr(step, "model", None)  # a cross-encoder is an object that may say its model's name
    if "model" not in found and (named := plain(getattr(model, "model_name", None))) is not None:
        found["model"] = named
        unknown.append("compressor.model")
    for name in _MODELS & found.keys():  # of a path the last segment: it may name a machine or a customer
        word = model_name(found.pop(name))
        if word is not None:
            found[name] = word
        else:
            unknown.append(f"compressor.{name}")
    return found
