"""Relevance: was what came back useful, by the votes of people, agents or judges."""

from __future__ import annotations

from .choices import ACTOR_KIND, CHANGES, CORPUS, EPOCH, PROJECT, SURFACE, VOTER, K
from .columns import HIGH, JUDGED, JUDGED_SHARE, LOW, PRECISION, TIME
from .columns import PROJECT as PROJECT_COLUMN
from .panel import Column, Dashboard, Panel, Reading, Row

__all__ = ["RELEVANCE"]

_JUDGED_SEARCHES = Column(name="searches", meaning="searches with at least one judged hit")
_MORE = "Collect more votes before you change anything: the interval says how much is known."

BY_K = Panel(
    title="Precision by k",
    kind="table",
    query="by_k",
    reading=Reading(
        shows="Useful / judged hits up to rank k, pooled over the searches and epochs that are chosen, with the 95 % "
        "interval (clustered by search), what it rests on, and the part of what was shown that anybody judged. A hit "
        "without a vote is unknown, not irrelevant.",
        good="A narrow interval, high at k = 1 and falling slowly.",
        bad="As high at 10 as at 1: the order carries nothing. A judged share of a few percent: only some people vote, on "
        "some hits. An interval of half the scale: too few votes.",
        do=_MORE
        + " Choose one epoch to see what it alone does. `ragledger calibrate` looks for better weights.",
    ),
    columns=(
        Column(name="k", meaning="up to this rank"),
        PRECISION,
        LOW,
        HIGH,
        JUDGED_SHARE,
        JUDGED,
        _JUDGED_SEARCHES,
    ),
)
VOTERS = Panel(
    title="Precision at k by kind of voter",
    kind="table",
    query="voters",
    reading=Reading(
        shows="The same precision by whose votes it is. The kinds are kept apart everywhere else.",
        good="People, agents and judges agree within their intervals.",
        bad="Agents or judges are far above people: they accept what people reject.",
        do="Trust people first. Read some hits on which the kinds disagree before you tune by an agent's votes.",
    ),
    columns=(
        Column(name="voter", meaning="kind of actor who judged", unit="text"),
        PRECISION,
        LOW,
        HIGH,
        JUDGED,
        _JUDGED_SEARCHES,
    ),
)
OVER_TIME = Panel(
    title="Precision at k over time",
    kind="timeseries",
    query="over_time",
    reading=Reading(
        shows="Precision at the chosen k, pooled over the chosen epochs; the band is its interval (none below two "
        "searches), the bars are the judged hits. Lines mark where weights, index or embedding model changed.",
        good="Level, or a step up at a change, with bands that do not overlap.",
        bad="A step down at a change. Jumps without a change: mostly few votes, look at the bars.",
        do="Compare the epochs before and after (`ragledger compare`), which takes surfaces and chance into account. Do "
        "not stop at the first good day: peeking makes chance look like an effect.",
    ),
    columns=(TIME, PRECISION, LOW, HIGH, JUDGED),
    largest=1.0,
)
SHARE_OVER_TIME = Panel(
    title="Judged share at k over time",
    kind="timeseries",
    query="judged_share",
    reading=Reading(
        shows="Judged hits / shown hits up to k. It says how much the precision speaks for.",
        good="Level, whatever its height.",
        bad="A fall to nothing: votes no longer arrive, or the thumbs vanished from the page. A change at the same time as "
        "the precision: others vote now, so the precision is of other people.",
        do="Check the way that votes take (Pipeline: refused, pending), and who votes.",
    ),
    columns=(
        TIME,
        JUDGED_SHARE,
        Column(name="shown hits", meaning="hits up to rank k", colour="neutral", style="support"),
    ),
)
RANKS = Panel(
    title="Where useful hits stand, beside what was shown",
    kind="bars",
    query="ranks",
    reading=Reading(
        shows="How what was shown, what was judged, and what was useful spread over ranks; each adds up to 100 %.",
        good="Useful hits stand higher than what was shown: green beats blue at the first ranks and falls below it "
        "further down.",
        bad="All alike: the order carries nothing. Useful hits far down: the ranking hides the answer. But people judge "
        "what they see: compare with the judged ones before you conclude.",
        do="Rerank, or calibrate the weights. Judge some low ranks on purpose to learn about them.",
    ),
    columns=(
        Column(
            name="rank",
            meaning="in the prompt where a delivery said so, else of the retriever",
            unit="text",
        ),
        Column(name="of all shown", meaning="of the hits that were shown", unit="share", colour="shown"),
        Column(name="of all judged", meaning="of the hits that were judged", unit="share", colour="judged"),
        Column(name="of all useful", meaning="of the useful hits", unit="share", colour="useful"),
    ),
    height=10,
)
FUNNEL = Panel(
    title="From candidate to useful",
    kind="table",
    query="funnel",
    reading=Reading(
        shows="How many hits came how far: considered, admitted, in the prompt or shown, accessed, judged, useful.",
        good="Each stage keeps a fair part of the one before.",
        bad="Admitted far above shown: a reranker drops most of it, the retriever could fetch less. Shown and hardly "
        "accessed: titles or snippets do not help, or the first hit answers.",
        do="Lower `top_k` where the tail is never used. `not measured`: nobody reports it; call `ledger.accessed` and "
        "`ledger.vote`. Considered is measured only where every search tells its candidates: choose a surface where they do.",
    ),
    columns=(
        Column(name="stage", meaning="how far", unit="text"),
        Column(name="hits", meaning="hits", colour="shown"),
        Column(
            name="of the admitted", meaning="as a share of the admitted hits", unit="share", colour="neutral"
        ),
    ),
    height=10,
)
EPOCHS = Panel(
    title="Epochs side by side",
    kind="table",
    query="epochs",
    reading=Reading(
        shows="Every epoch with its effective weights, and in this time range its searches, precision at k with interval, "
        "judged hits, judged share and hit rate; the latest first, at most 100.",
        good="The latest epoch's interval lies above the one before.",
        bad="It lies below. Intervals that overlap say nothing yet, whichever number is higher.",
        do="`ragledger compare` tests two epochs by permutation within surfaces, and refuses where index or embedding "
        "model changed. Put the former weights back when it says so.",
    ),
    columns=(
        PROJECT_COLUMN,
        Column(name="epoch", meaning="name of weights, index version and embedding model", unit="text"),
        Column(name="first seen", meaning="its first search", unit="time"),
        Column(name="last seen", meaning="its latest search", unit="time"),
        Column(name="searches", meaning="searches that ran", colour="searches"),
        PRECISION,
        LOW,
        HIGH,
        JUDGED,
        JUDGED_SHARE,
        Column(
            name="hit rate",
            meaning="searches with a hit / searches that ended well",
            unit="share",
            colour="ok",
        ),
        Column(name="effective weights", meaning="what shaped the ranking", unit="text"),
        Column(name="index", meaning="index version, as the application says", unit="text"),
        Column(name="embedding model", meaning="as the application says", unit="text"),
    ),
    width=24,
    height=10,
)

RELEVANCE = Dashboard(
    uid="ragledger-relevance",
    name="relevance",
    title="Ragledger: Relevance",
    description="Was what came back useful: votes, with everything they rest on.",
    rows=(
        Row(title="How useful", panels=(BY_K, VOTERS)),
        Row(title="Over time", panels=(OVER_TIME, SHARE_OVER_TIME)),
        Row(title="Where in the list, and how far", panels=(RANKS, FUNNEL)),
        Row(title="Which weights", panels=(EPOCHS,)),
    ),
    variables=(PROJECT, CORPUS, SURFACE, EPOCH, ACTOR_KIND, VOTER, K),
    annotations=(CHANGES,),
    since="now-30d",
)
