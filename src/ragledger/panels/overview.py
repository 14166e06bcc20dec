"""Overview: is retrieval working, what comes back, what does it cost."""

from __future__ import annotations

from .choices import ACTOR_KIND, CHANGES, CORPUS, EPOCH, PROJECT, SURFACE
from .columns import HIGH, LOW, TIME, N
from .columns import PROJECT as PROJECT_COLUMN
from .panel import Column, Dashboard, Panel, Reading, Row

__all__ = ["OVERVIEW"]

_P50 = Column(name="p50", meaning="half of the searches were at least as fast", unit="ms", colour="low")
_P95 = Column(name="p95", meaning="nearest rank; needs 20 searches", unit="ms", colour="middle")
_P99 = Column(name="p99", meaning="nearest rank; needs 100 searches", unit="ms", colour="high")

TOTALS = Panel(
    title="In this time range",
    kind="stat",
    query="totals",
    reading=Reading(
        shows="Logical searches (a group of attempts once, skipped ones included), the epochs of those that ran, and how "
        "long ago the latest counted search ran.",
        good="As many searches as the product makes, the latest one seconds to minutes ago, one epoch per comparison.",
        bad="No searches or an old latest one while people use the product: nothing arrives, or nobody collects.",
        do="Look at the Pipeline dashboard; `ragledger doctor` says what is wrong.",
    ),
    columns=(
        Column(name="searches", meaning="logical searches", colour="searches"),
        Column(name="epochs", meaning="epochs of the searches that ran", colour="neutral"),
        Column(
            name="since the last",
            meaning="since the latest counted search ran",
            unit="seconds",
            colour="neutral",
        ),
    ),
    width=6,
)
SHARES = Panel(
    title="Shares, with their intervals",
    kind="table",
    query="shares",
    reading=Reading(
        shows="Each share with n, the searches it is a share of, and its 95 % interval (Wilson; one search is one trial).",
        good="A hit rate near 100 %, errors and degraded near 0 %, a narrow interval, skips for reasons you know.",
        bad="A hit rate that fell, errors or degraded above 1 %, dense retrieval missing. A wide interval means: too few "
        "searches to say.",
        do="Find when it began in the panels below, then the surface and the reason. Lengthen the time range when the "
        "interval is wide.",
    ),
    columns=(
        Column(name="share of searches", meaning="what, and of which searches", unit="text"),
        Column(name="share", meaning="the share", unit="share", colour="searches"),
        LOW,
        HIGH,
        Column(name="n", meaning="searches that it is a share of"),
    ),
)
LATENCY_NOW = Panel(
    title="Latency",
    kind="stat",
    query="latency_now",
    reading=Reading(
        shows="Percentiles of the search alone, of searches that ended well, from a histogram (at most 0.8 % off).",
        good="p95 within what your users wait for, p99 no more than a few times p50.",
        bad="A p99 of many times p50: some searches queue, retry or wait for a cold index.",
        do="See below when it began and whether an epoch changed then; look at the slow searches' spans.",
    ),
    columns=(_P50, _P95, _P99, Column(name="n", meaning="timed searches", colour="neutral")),
    width=6,
)
SEARCHES = Panel(
    title="Searches by how they ended",
    kind="timeseries",
    query="searches",
    reading=Reading(
        shows="How many searches ended how, per minute, hour or day.",
        good="Mostly with a hit, in the rhythm of your users.",
        bad="A growing part without a hit, errors, or a sudden fall of everything.",
        do="Errors: read `error_type` and `error_origin` of the rows. Without a hit: Corpus dashboard, is the document "
        "there at all? A fall of everything: Pipeline dashboard.",
    ),
    columns=(
        TIME,
        Column(name="with a hit", meaning="ended well, something was admitted", colour="ok", style="stacked"),
        Column(
            name="without a hit", meaning="ended well, nothing was admitted", colour="empty", style="stacked"
        ),
        Column(
            name="hits not told",
            meaning="ended well, nobody said what came back",
            colour="untold",
            style="stacked",
        ),
        Column(name="error", meaning="ended in an exception", colour="error", style="stacked"),
        Column(name="cancelled", meaning="given up by the caller", colour="cancelled", style="stacked"),
        Column(name="skipped", meaning="due, and not made", colour="skipped", style="stacked"),
    ),
)
HIT_RATE = Panel(
    title="Hit rate",
    kind="timeseries",
    query="hit_rate",
    reading=Reading(
        shows="Searches with at least one admitted hit, of those that ended well and told; the band is its interval.",
        good="High and level. How high is right depends on the questions: compare with your own past.",
        bad="A step down at an annotation: the new weights or index lose answers. A slow fall: the questions moved away "
        "from the corpus.",
        do="Compare the two epochs (`ragledger compare`), look at the threshold in their weights, then at the corpus.",
    ),
    columns=(
        TIME,
        Column(
            name="hit rate",
            meaning="searches with a hit / searches that ended well",
            unit="share",
            colour="ok",
        ),
        LOW,
        HIGH,
        N,
    ),
    largest=1.0,
)
SKIPS = Panel(
    title="Why searches were skipped",
    kind="bars",
    query="skips",
    reading=Reading(
        shows="Searches that were due and not made, by the reason that the application gave; the twelve commonest.",
        good="Few, and every reason is one that you chose.",
        bad="A reason that you do not know, `(none given)`, or one that grows: people get answers without retrieval.",
        do="Find the call of `ledger.skip` with that reason.",
    ),
    columns=(
        Column(name="reason", meaning="as the application gave it", unit="text"),
        Column(name="skipped", meaning="searches", colour="skipped"),
    ),
    width=8,
    empty="no search was skipped",
)
DEGRADATIONS = Panel(
    title="Why searches were degraded",
    kind="bars",
    query="degradations",
    reading=Reading(
        shows="Searches that did less than they should, by reason; the twelve commonest.",
        good="None, or a few `retry`.",
        bad="`embedding_unavailable` or `fallback` in any number: answers come from the weaker half of the retriever.",
        do="Look at the provider's status and at its limits; degraded searches are left out of a calibration.",
    ),
    columns=(
        Column(name="reason", meaning="why the search was degraded", unit="text"),
        Column(name="degraded", meaning="searches", colour="degraded"),
    ),
    width=8,
    empty="no search was degraded",
)
TROUBLE = Panel(
    title="Degraded, failed, without dense retrieval",
    kind="timeseries",
    query="degraded",
    reading=Reading(
        shows="Shares of the searches that ran. Dense retrieval: of those where it is known whether the embedding answered.",
        good="All near zero.",
        bad="A plateau: a provider or an index was away. Dense retrieval missing from one moment on, for good: a changed "
        "key or model. No line: not measured, which is not zero.",
        do="Take the beginning of the plateau to the traces and to the provider's status page.",
    ),
    columns=(
        TIME,
        Column(name="degraded", meaning="did less than it should", unit="share", colour="degraded"),
        Column(
            name="without dense retrieval",
            meaning="the embedding failed, where known",
            unit="share",
            colour="low",
        ),
        Column(name="error", meaning="ended in an exception", unit="share", colour="error"),
        N,
    ),
    width=8,
)
CANDIDATES = Panel(
    title="Candidates against admitted",
    kind="timeseries",
    query="candidates",
    reading=Reading(
        shows="Mean number of items that a search considered, and that it gave to its caller.",
        good="Several times as many candidates as admitted, both level.",
        bad="Admitted at the height of candidates: the threshold lets everything through. Admitted near zero: it lets "
        "nothing through. Candidates fell: a signal or a part of the index is missing.",
        do="Tune the threshold (`ragledger calibrate`); check the index's size.",
    ),
    columns=(
        TIME,
        Column(name="candidates", meaning="mean per search that told", unit="number", colour="candidates"),
        Column(name="admitted", meaning="mean per search that told", unit="number", colour="admitted"),
        N,
    ),
)
SCORES = Panel(
    title="Top candidate against top admitted score",
    kind="timeseries",
    query="scores",
    reading=Reading(
        shows="Mean best score among all candidates and among the admitted hits. Scores of different epochs and corpora "
        "are not on one scale: choose one.",
        good="The two lines close together and level.",
        bad="A gap: the best candidate is often not admitted, so a filter or a reranker takes it away. A step at an "
        "annotation: the scale changed, and thresholds with it.",
        do="Compare only within an epoch; after a change of model set the threshold anew.",
    ),
    columns=(
        TIME,
        Column(name="top candidate", meaning="mean best score considered", unit="score", colour="candidates"),
        Column(name="top admitted", meaning="mean best score admitted", unit="score", colour="admitted"),
        N,
    ),
)
LATENCY = Panel(
    title="Latency over time",
    kind="timeseries",
    query="latency",
    reading=Reading(
        shows="p50, p95 and p99 of the searches that ended well. p95 is drawn from 20 searches on, p99 from 100 on.",
        good="Three level lines close together.",
        bad="p50 rises: everything slows down, the index grew or the machine is full. Only p99 rises: a few wait.",
        do="Compare with the number of candidates and with annotations; look at the spans of slow searches.",
    ),
    columns=(TIME, _P50, _P95, _P99, N),
    width=16,
)
SOURCE_KINDS = Panel(
    title="Source kinds of admitted hits",
    kind="bars",
    query="source_kinds",
    reading=Reading(
        shows="Which kinds of source the admitted hits came from; the twelve commonest.",
        good="Roughly as in your corpus, or as the questions need it.",
        bad="One kind pushes all others out, or a kind is missing since an index was built.",
        do="Check the index of the missing kind; weigh kinds by `source_kind` where one drowns the rest.",
    ),
    columns=(
        Column(name="source kind", meaning="as the application says", unit="text"),
        Column(name="admitted", meaning="admitted hits", colour="admitted"),
    ),
    width=8,
)
SURFACES = Panel(
    title="By surface",
    kind="table",
    query="surfaces",
    reading=Reading(
        shows="Every project and surface: searches, hit rate with its interval and n, shares of errors, degraded, skipped.",
        good="Surfaces with the same corpus look alike.",
        bad="One surface stands out: its questions differ, or its code calls retrieval in another way.",
        do="Choose the surface above and read this dashboard again for it alone.",
    ),
    columns=(
        PROJECT_COLUMN,
        Column(name="surface", meaning="where in the product", unit="text"),
        Column(name="searches", meaning="logical searches", colour="searches"),
        Column(
            name="hit rate",
            meaning="searches with a hit / searches that ended well",
            unit="share",
            colour="ok",
        ),
        LOW,
        HIGH,
        Column(name="n", meaning="searches that the hit rate rests on"),
        Column(name="errors", meaning="of those that ran", unit="share", colour="error"),
        Column(name="degraded", meaning="of those that ran", unit="share", colour="degraded"),
        Column(name="skipped", meaning="of those that were due", unit="share", colour="skipped"),
    ),
    width=24,
)

OVERVIEW = Dashboard(
    uid="ragledger-overview",
    name="overview",
    title="Ragledger: Overview",
    description="Is retrieval working: what ran, what came back, what it cost.",
    rows=(
        Row(title="At a glance", panels=(TOTALS, SHARES, LATENCY_NOW)),
        Row(title="What ended how", panels=(SEARCHES, HIT_RATE, SKIPS, DEGRADATIONS, TROUBLE)),
        Row(title="What came back", panels=(CANDIDATES, SCORES, LATENCY, SOURCE_KINDS)),
        Row(title="Where", panels=(SURFACES,)),
    ),
    variables=(PROJECT, CORPUS, SURFACE, EPOCH, ACTOR_KIND),
    annotations=(CHANGES,),
)
