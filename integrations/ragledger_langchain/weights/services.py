"""Retrievers of langchain-community whose ranking is made elsewhere: which of their fields are plain settings.

They are written down as configured. What a service does with them cannot be shown here, so nothing of it is said
to take effect: whoever knows declares it, `observe(..., weights={...})`. Filters, keys, addresses, request bodies
and names of accounts are not read.
"""

from __future__ import annotations

from typing import Any

from ragledger.extraction import Call, Reading, extractor

from .settings import effect_unknown, given, split

__all__ = ["SERVICES"]

_GOOGLE = (
    "max_documents",
    "max_extractive_answer_count",
    "max_extractive_segment_count",
    "get_extractive_answers",
    "query_expansion_condition",
    "spell_correction_mode",
    "engine_data_type",
)
_ZEP = ("top_k", "search_scope", "search_type", "mmr_lambda")
_YOU = ("endpoint_type", "num_web_results", "safesearch", "k", "n_snippets_per_hit", "n_hits")

SERVICES: dict[str, tuple[str, ...]] = {
    "retrievers.arcee.ArceeRetriever": (),
    "retrievers.arxiv.ArxivRetriever": ("top_k_results", "get_full_documents"),
    "retrievers.asknews.AskNewsRetriever": (
        "k",
        "offset",
        "method",
        "historical",
        "similarity_score_threshold",
    ),
    "retrievers.azure_ai_search.AzureAISearchRetriever": ("top_k",),
    "retrievers.bedrock.AmazonKnowledgeBasesRetriever": (),
    "retrievers.breebs.BreebsRetriever": (),
    "retrievers.chaindesk.ChaindeskRetriever": ("top_k",),
    "retrievers.chatgpt_plugin_retriever.ChatGPTPluginRetriever": ("top_k",),
    "retrievers.cohere_rag_retriever.CohereRagRetriever": (),
    "retrievers.databerry.DataberryRetriever": ("top_k",),
    "retrievers.docarray.DocArrayRetriever": ("search_type", "top_k"),
    "retrievers.dria_index.DriaRetriever": (),
    "retrievers.elastic_search_bm25.ElasticSearchBM25Retriever": (),
    "retrievers.embedchain.EmbedchainRetriever": (),
    "retrievers.google_cloud_documentai_warehouse.GoogleDocumentAIWarehouseRetriever": ("qa_size_limit",),
    "retrievers.google_vertex_ai_search.GoogleVertexAIMultiTurnSearchRetriever": ("engine_data_type",),
    "retrievers.google_vertex_ai_search.GoogleVertexAISearchRetriever": _GOOGLE,
    "retrievers.kay.KayAiRetriever": ("num_contexts",),
    "retrievers.kendra.AmazonKendraRetriever": ("top_k", "min_score_confidence"),
    "retrievers.llama_index.LlamaIndexGraphRetriever": (),
    "retrievers.llama_index.LlamaIndexRetriever": (),
    "retrievers.metal.MetalRetriever": (),
    "retrievers.milvus.MilvusRetriever": ("consistency_level",),
    "retrievers.nanopq.NanoPQRetriever": ("k", "relevancy_threshold", "subspace", "clusters"),
    "retrievers.needle.NeedleRetriever": ("top_k",),
    "retrievers.outline.OutlineRetriever": ("top_k_results",),
    "retrievers.pinecone_hybrid_search.PineconeHybridSearchRetriever": ("top_k", "alpha"),
    "retrievers.pubmed.PubMedRetriever": ("top_k_results",),
    "retrievers.rememberizer.RememberizerRetriever": ("top_k_results",),
    "retrievers.remote_retriever.RemoteLangChainRetriever": (),
    "retrievers.tavily_search_api.TavilySearchAPIRetriever": (
        "k",
        "search_depth",
        "include_generated_answer",
    ),
    "retrievers.thirdai_neuraldb.NeuralDBRetriever": (),
    "retrievers.vespa_retriever.VespaRetriever": (),
    "retrievers.weaviate_hybrid_search.WeaviateHybridSearchRetriever": ("k", "alpha"),
    "retrievers.web_research.WebResearchRetriever": ("num_search_results",),
    "retrievers.wikipedia.WikipediaRetriever": ("top_k_results", "lang"),
    "retrievers.you.YouRetriever": _YOU,
    "retrievers.zep.ZepRetriever": _ZEP,
    "retrievers.zep_cloud.ZepCloudRetriever": _ZEP,
    "retrievers.zilliz.ZillizRetriever": ("consistency_level",),
    "vectorstores.azuresearch.AzureSearchVectorStoreRetriever": ("search_type", "k"),
}
"""The settings of each class, below `langchain_community.`; none where all it has is names, keys and bodies."""


def _register(name: str, fields: tuple[str, ...]) -> None:
    label = f"langchain.{name.rpartition('.')[2]}/1"

    @extractor(f"langchain_community.{name}")
    def _service(retriever: Any, call: Call) -> Reading:
        configured, unread = split(given(retriever, fields))
        return effect_unknown(label, configured, unread)


for _name, _fields in SERVICES.items():
    if _fields:  # a class without settings says no more than one that nobody knows
        _register(_name, _fields)
