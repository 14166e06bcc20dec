"""Corpus: which documents do the work, and which never do."""

from __future__ import annotations

from .choices import CORPUS as CORPUS_CHOICE
from .choices import PROJECT as PROJECT_CHOICE
from .columns import CORPUS as CORPUS_COLUMN
from .columns import DOCUMENT, PROJECT, TIME
from .panel import Column, Dashboard, Panel, Reading, Row

__all__ = ["CORPUS"]

_SINCE = "Counted since the collector began, whatever the time range, surface or epoch."
_RETRIEVED = Column(name="retrieved", meaning="considered by at least one search", colour="candidates")
_ADMITTED = Column(name="admitted", meaning="given to the caller", colour="admitted")
_ACCESSED = Column(name="accessed", meaning="accessed by somebody", colour="accessed")
_JUDGED = Column(name="judged", meaning="judged by somebody", colour="judged")
_USEFUL = Column(name="useful", meaning="found useful by somebody", colour="useful")
_NOT_USEFUL = Column(name="not useful", meaning="found not useful by somebody", colour="not useful")
_COVERAGE = Column(
    name="coverage", meaning="listed documents that were ever retrieved", unit="share", colour="candidates"
)
_BEST_RANK = Column(name="best rank", meaning="the best rank it ever had")

CORPORA = Panel(
    title="Documents of each corpus",
    kind="table",
    query="corpora",
    reading=Reading(
        shows="How many documents are listed in the inventory, how many of them no search ever considered, and how far the "
        "others came. " + _SINCE,
        good="A coverage that grows towards the part of the corpus that people need.",
        bad="A low coverage after weeks: much of the corpus cannot be found, or nobody asks about it.",
        do="Look at the never retrieved ones below. `not measured` under listed: the table `inventory` is empty for this "
        "corpus, fill it when you build the index. Under coverage: no retrieved document is a listed one, so ids are not "
        "told, are hashed, or differ from those in the inventory.",
    ),
    columns=(
        PROJECT,
        CORPUS_COLUMN,
        Column(name="listed", meaning="documents in the inventory"),
        Column(name="never retrieved", meaning="listed, and considered by no search", colour="never"),
        _COVERAGE,
        _RETRIEVED,
        _ADMITTED,
        _ACCESSED,
        _JUDGED,
        _USEFUL,
    ),
    width=24,
)
OVER_TIME = Panel(
    title="Documents in use, by day",
    kind="timeseries",
    query="over_time",
    reading=Reading(
        shows="How many different documents searches considered, admitted, and people accessed or found useful, per day.",
        good="Level, or growing with the corpus.",
        bad="A fall at a change of the index: part of the corpus is gone. Admitted far below retrieved: always the same "
        "few documents win.",
        do="Compare index versions (Relevance: epochs). Look whether a few documents drown the rest, below.",
    ),
    columns=(TIME, _RETRIEVED, _ADMITTED, _ACCESSED, _USEFUL),
)
COVERAGE = Panel(
    title="Coverage over time",
    kind="timeseries",
    query="coverage",
    reading=Reading(
        shows="Of the documents that are listed now, the share that searches had considered by the end of each day, since "
        "counting began. A corpus of two projects counts for each of them.",
        good="It rises fast at first and levels off high: searches reach most of what is there.",
        bad="It levels off low: the rest cannot be found, or nobody asks about it. A new corpus that stays flat is not in "
        "the index.",
        do="Look at the never retrieved ones below. Not measured: nothing is listed, or no retrieved id is a listed one.",
    ),
    columns=(
        TIME,
        _COVERAGE,
        Column(name="listed", meaning="documents in the inventory now", colour="neutral", style="support"),
    ),
    largest=1.0,
)
NEVER = Panel(
    title="Never retrieved",
    kind="table",
    query="never",
    reading=Reading(
        shows="Listed documents that no search of these projects ever considered, the first 100 by name. "
        + _SINCE,
        good="None, or only what is new or outdated.",
        bad="Documents that people need: their chunks are empty, badly cut, in another language than the questions, or not "
        "in the index at all.",
        do="Ask a question that such a document answers. Not found: index it again. Found: nobody asked before.",
    ),
    columns=(
        CORPUS_COLUMN,
        DOCUMENT,
        Column(name="source kind", meaning="as the application says", unit="text"),
        Column(name="listed since", meaning="when the inventory had it first", unit="time"),
    ),
    empty="none, nothing is listed, or no retrieved id is a listed one",
)
UNUSED = Panel(
    title="Shown and never used",
    kind="table",
    query="unused",
    reading=Reading(
        shows="Documents that were admitted often, and that nobody ever accessed or found useful; the 50 most admitted. Only "
        "of corpora with any vote or access in this project. " + _SINCE,
        good="Short, with few admissions each.",
        bad="Documents admitted hundreds of times: they take the places of better ones.",
        do="Read one. A table of contents, a licence or a cookie notice does not belong into the index; a good document "
        "may have a bad title.",
    ),
    columns=(PROJECT, CORPUS_COLUMN, DOCUMENT, _ADMITTED, _JUDGED, _BEST_RANK),
    empty="none, or nobody reports what is used",
)
DISLIKED = Panel(
    title="Accessed and not useful",
    kind="table",
    query="disliked",
    reading=Reading(
        shows="Documents that were judged not useful in more searches than useful; the 50 worst. " + _SINCE,
        good="Short, with one or two votes each.",
        bad="The same document against many questions: it looks relevant to the retriever and is not.",
        do="Correct or split it, or take it out; then watch whether the precision rises.",
    ),
    columns=(
        PROJECT,
        CORPUS_COLUMN,
        DOCUMENT,
        _ADMITTED,
        _ACCESSED,
        _NOT_USEFUL,
        _USEFUL,
        _JUDGED,
        _BEST_RANK,
    ),
    empty="none, or nobody votes",
)
WORKHORSES = Panel(
    title="Most useful",
    kind="table",
    query="workhorses",
    reading=Reading(
        shows="Documents that were found useful in the most searches; the first 50. " + _SINCE,
        good="Many documents share the work.",
        bad="A handful does everything: an outage or a mistake in one of them is felt at once.",
        do="Keep these correct and current; take their questions into the golden set.",
    ),
    columns=(
        PROJECT,
        CORPUS_COLUMN,
        DOCUMENT,
        _ADMITTED,
        _ACCESSED,
        _USEFUL,
        _NOT_USEFUL,
        _JUDGED,
        _BEST_RANK,
    ),
    empty="nobody votes",
)

CORPUS = Dashboard(
    uid="ragledger-corpus",
    name="corpus",
    title="Ragledger: Corpus",
    description="Which documents do the work, and which never do.",
    rows=(
        Row(title="How much of it is in use", panels=(CORPORA, OVER_TIME, COVERAGE)),
        Row(title="Which documents", panels=(NEVER, UNUSED, DISLIKED, WORKHORSES)),
    ),
    variables=(PROJECT_CHOICE, CORPUS_CHOICE),
    annotations=(),
    since="now-30d",
)
