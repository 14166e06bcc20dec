"""Retrievers that rank in this process: BM25, TF-IDF, SVM, nearest neighbours, the document index of the core."""

from __future__ import annotations

from typing import Any

from ragledger.extraction import Call, Reading, extractor, plain_number

from .settings import extracted, given, split

__all__: list[str] = []

_COMMUNITY = "langchain_community.retrievers."
_DEFAULT_WORDS = "default_preprocessing_func"


@extractor(f"{_COMMUNITY}bm25.BM25Retriever")
def _bm25(retriever: Any, call: Call) -> Reading:
    """`k` documents always, those without any match too, and no scores."""
    vectorizer = retriever.vectorizer
    known = type(vectorizer).__module__ == "rank_bm25"
    names = ("k1", "b", "epsilon", "delta") if known else ()
    settings, unknown = split({"k": retriever.k, **given(vectorizer, names)}, plain_number)
    settings["variant"] = type(vectorizer).__name__
    if not known:
        unknown.append("vectorizer")
    if getattr(retriever.preprocess_func, "__name__", None) != _DEFAULT_WORDS:
        unknown.append("preprocess_func")
    ranking = frozenset({"k1", "b", "epsilon", "delta", "variant"})
    return extracted(
        "langchain.BM25Retriever/1",
        settings,
        settings,
        ranking,
        unknown=unknown,
        top_k=settings.get("k"),
        signal="lexical",
    )


@extractor(f"{_COMMUNITY}tfidf.TFIDFRetriever")
def _tfidf(retriever: Any, call: Call) -> Reading:
    """How words are made and counted is the vectorizer's business, which holds the vocabulary: only flat settings."""
    settings, unknown = split({"k": retriever.k}, plain_number)
    words = given(retriever.vectorizer, ("norm", "sublinear_tf", "use_idf", "smooth_idf"))
    counted, unread = split(words)
    return extracted(
        "langchain.TFIDFRetriever/1",
        {**settings, **counted},
        {**settings, **{name: counted[name] for name in ("sublinear_tf", "use_idf") if name in counted}},
        frozenset({"sublinear_tf", "use_idf"}),
        unknown=[*unknown, *unread, *[name for name in ("norm", "smooth_idf") if name in counted]],
        top_k=settings.get("k"),
        signal="lexical",
    )


@extractor(f"{_COMMUNITY}svm.SVMRetriever", f"{_COMMUNITY}knn.KNNRetriever")
def _by_embedding(retriever: Any, call: Call) -> Reading:
    settings, unknown = split(given(retriever, ("k", "relevancy_threshold")), plain_number)
    svm = any(base.__name__ == "SVMRetriever" for base in type(retriever).__mro__)
    return extracted(
        f"langchain.{'SVMRetriever' if svm else 'KNNRetriever'}/1",
        settings,
        settings,
        frozenset({"relevancy_threshold"}),
        unknown=unknown,
        top_k=settings.get("k"),
        signal="vector",
        dense=True,
    )


@extractor("langchain_core.indexing.in_memory.InMemoryDocumentIndex")
def _document_index(retriever: Any, call: Call) -> Reading:
    settings, unknown = split({"top_k": retriever.top_k}, plain_number)
    return extracted(
        "langchain.InMemoryDocumentIndex/1",
        settings,
        settings,
        frozenset(),
        unknown=unknown,
        top_k=settings.get("top_k"),
        signal="lexical",
    )
