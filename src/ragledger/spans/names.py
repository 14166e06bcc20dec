"""Every name that a span of ours can carry, as literals, here and nowhere else.

The GenAI conventions have left the published packages and are still in development. None of them carries text but
those of `TEXT_ATTRIBUTES`, which two switches guard.
"""

from __future__ import annotations

__all__ = [
    "ATTRIBUTES",
    "DOCUMENT_ATTRIBUTES",
    "FEEDBACK_ATTRIBUTES",
    "MOST_DOCUMENTS",
    "RERANK_ATTRIBUTES",
    "SCOPE_NAME",
    "TEXT_ATTRIBUTES",
]

SCOPE_NAME = "ragledger"
SPAN_NAME = "retrieval"
RERANK_SPAN_NAME = "rerank"
FEEDBACK_SPAN_NAME = "ragledger.feedback"

OPERATION = "gen_ai.operation.name"
DATA_SOURCE = "gen_ai.data_source.id"
TOP_K = "gen_ai.retrieval.top_k"
ERROR_TYPE = "error.type"
OPENINFERENCE_KIND = "openinference.span.kind"
SEARCH_ID = "ragledger.search.id"
PARENT_ID = "ragledger.search.parent_id"
SURFACE = "ragledger.surface"
FRAMEWORK = "ragledger.framework"
EPOCH = "ragledger.weights.epoch"
WEIGHT_VECTOR = "ragledger.weights.vector"
WEIGHT_LEXICAL = "ragledger.weights.lexical"
WEIGHT_THRESHOLD = "ragledger.weights.threshold"
CANDIDATES = "ragledger.candidate.count"
ADMITTED = "ragledger.admitted.count"
HITS = "ragledger.hit.count"
DEGRADED = "ragledger.degraded"
DEGRADED_REASON = "ragledger.degraded.reason"
ROW_STATUS = "ragledger.row.status"

ATTRIBUTES = frozenset(
    {
        OPERATION, DATA_SOURCE, TOP_K, ERROR_TYPE, OPENINFERENCE_KIND, SEARCH_ID, PARENT_ID, SURFACE, FRAMEWORK,
        EPOCH, WEIGHT_VECTOR, WEIGHT_LEXICAL, WEIGHT_THRESHOLD, CANDIDATES, ADMITTED, HITS, DEGRADED,
        DEGRADED_REASON, ROW_STATUS,
    }
)  # fmt: skip
"""Every attribute that the span of a search carries with the default settings; a test fails on any other."""

MOST_DOCUMENTS = 20
"""Documents told on a span: the SDK keeps 128 attributes and drops the oldest."""

DOCUMENTS = "gen_ai.retrieval.documents"
DOCUMENT_IDS = tuple(f"retrieval.documents.{n}.document.id" for n in range(MOST_DOCUMENTS))
DOCUMENT_SCORES = tuple(f"retrieval.documents.{n}.document.score" for n in range(MOST_DOCUMENTS))
DOCUMENT_ATTRIBUTES = frozenset({DOCUMENTS, *DOCUMENT_IDS, *DOCUMENT_SCORES})
"""Those of `span_document_ids`."""

QUERY_TEXT = "gen_ai.retrieval.query.text"
INPUT = "input.value"
INPUT_TYPE = "input.mime_type"
DOCUMENT_TEXTS = tuple(f"retrieval.documents.{n}.document.content" for n in range(MOST_DOCUMENTS))
TEXT_ATTRIBUTES = frozenset({QUERY_TEXT, INPUT, INPUT_TYPE, *DOCUMENT_TEXTS})
"""Those of `span_query_text` and `span_chunk_text`."""

RERANK_MODEL = "reranker.model_name"
RERANK_TOP_K = "reranker.top_k"
RERANK_CANDIDATES = "ragledger.rerank.candidate.count"
RERANK_ATTRIBUTES = frozenset(
    {OPENINFERENCE_KIND, RERANK_MODEL, RERANK_TOP_K, RERANK_CANDIDATES, ERROR_TYPE, SEARCH_ID}
)

HIT_RANK = "ragledger.hit.rank"
ANNOTATION_NAME = "annotations.0.annotation.name"
ANNOTATION_LABEL = "annotations.0.annotation.label"
ANNOTATION_SCORE = "annotations.0.annotation.score"
ANNOTATOR_KIND = "annotations.0.annotation.annotator_kind"
ANNOTATION_ID = "annotations.0.annotation.identifier"
FEEDBACK_ATTRIBUTES = frozenset(
    {SEARCH_ID, HIT_RANK, ANNOTATION_NAME, ANNOTATION_LABEL, ANNOTATION_SCORE, ANNOTATOR_KIND, ANNOTATION_ID}
)
