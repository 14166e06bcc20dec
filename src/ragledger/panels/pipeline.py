"""Pipeline: can the numbers be believed."""

from __future__ import annotations

from .choices import PROJECT
from .columns import PROJECT as PROJECT_COLUMN
from .columns import TIME
from .panel import Column, Dashboard, Panel, Reading, Row, Step

__all__ = ["PIPELINE"]

_BACKLOG = Column(
    name="backlog", meaning="records begun and not shipped, as of the latest shipment", colour="waiting"
)
_PENDING = Column(name="pending votes", meaning="votes whose search has not arrived", colour="waiting")
_REJECTED = Column(name="rejected", meaning="records that can never land", colour="lost")
_REFUSED = Column(name="refused", meaning="records that no journal could keep", colour="lost")
_GAPS = Column(name="gaps", meaning="numbers that left a journal and are nowhere", colour="lost")
_BEHIND = Column(
    name="records behind", meaning="arrived, and not looked at by the collector", colour="waiting"
)
_LAG = Column(name="lag", meaning="since the first of them arrived", unit="seconds", colour="waiting")
_MINUTES = Column(name="minutes waiting", meaning="minutes that must be counted again", colour="waiting")

COLLECTOR = Panel(
    title="Collector",
    kind="stat",
    query="collector",
    reading=Reading(
        shows="What has arrived in the table and is not counted yet: records, for how long, minutes and days that wait.",
        good="All at or near 0 with `--every 15s`; a lag of seconds.",
        bad="A lag of minutes that grows: the collector stands, or cannot keep up. Then every other dashboard is old.",
        do="Is `ragledger collect` running, and can it take its lock? Its log says what fails; `ragledger verify` checks the "
        "rollups.",
    ),
    columns=(
        _BEHIND,
        _LAG,
        _MINUTES,
        Column(
            name="days of documents waiting",
            meaning="days whose documents are counted at the next full pass",
            colour="neutral",
        ),
    ),
    width=8,
)
WRITERS_NOW = Panel(
    title="Writers",
    kind="stat",
    query="writers_now",
    reading=Reading(
        shows="Of the writers (one per process) that shipped in this time range: how many are at work, how many of those "
        "were not heard of for 15 minutes, how long the latest searches were on their way, and what waits.",
        good="Shipments take seconds, backlog near 0. Quiet writers are normal where few searches run.",
        bad="A growing backlog or slow shipments: the database is slow or away. Quiet writers with a backlog: their "
        "process or its host is gone.",
        do="`ragledger doctor` on the application's host says what waits there; every writer stands at the end of this page.",
    ),
    columns=(
        Column(name="at work", meaning="writers that have not finished", colour="searches"),
        Column(name="quiet", meaning="at work, last heard of more than 15 minutes ago", colour="neutral"),
        Column(
            name="slowest shipment",
            meaning="longest way of a writer's latest search from its end to the table",
            unit="seconds",
            colour="waiting",
        ),
        _BACKLOG,
        _PENDING,
    ),
    width=10,
)
LOST = Panel(
    title="Lost",
    kind="stat",
    query="lost",
    reading=Reading(
        shows="Of the writers that shipped in this time range: records that can never land, that no journal could keep, and "
        "numbers that left a journal and are nowhere.",
        good="0, 0 and 0.",
        bad="Refused: searches were made and not kept. Gaps: records are missing, which should never be. Rejected: votes on "
        "what is not there, or a fault of ours.",
        do="The reasons stand below; `ragledger verify --writers` names every gap, docs/operations.md has each reason.",
    ),
    columns=(_REJECTED, _REFUSED, _GAPS),
    width=6,
    steps=(Step(start=None, colour="good"), Step(start=1, colour="bad")),
)
COUNTED = Panel(
    title="How far each project is counted",
    kind="table",
    query="counted",
    reading=Reading(
        shows="The latest minute that has numbers, what is not counted yet, and up to where retention has sealed minutes.",
        good="A latest minute of just now where people search, nothing waiting.",
        bad="One project far behind the others, or a latest minute of yesterday.",
        do="Nothing waits and the minute is old: nothing arrives, see the writers. Something waits: see the collector.",
    ),
    columns=(
        PROJECT_COLUMN,
        Column(name="latest minute", meaning="that has a counted search", unit="time"),
        _BEHIND,
        _LAG,
        _MINUTES,
        Column(name="sealed up to", meaning="older minutes keep their numbers for good", unit="time"),
    ),
)
PENDING = Panel(
    title="Votes that wait for their search",
    kind="table",
    query="pending",
    reading=Reading(
        shows="Votes and accesses whose search has not arrived, and since when the oldest waits.",
        good="None, or some that are seconds old.",
        bad="Votes that wait for hours: the journal with their search is on a host that does not ship. After 24 hours they "
        "are rejected.",
        do="Ship the journals of that project's hosts (`ragledger ship`).",
    ),
    columns=(
        PROJECT_COLUMN,
        Column(name="stage", meaning="accessed or judged", unit="text"),
        Column(name="votes", meaning="how many wait", colour="waiting"),
        Column(name="oldest", meaning="when the oldest was received", unit="time"),
        Column(name="waiting for", meaning="since the oldest was received", unit="seconds", colour="waiting"),
    ),
    empty="no vote waits",
)
REFUSED = Panel(
    title="Refused, by reason",
    kind="bars",
    query="refused",
    reading=Reading(
        shows="Records that no journal could keep, of writers that shipped in this time range. Their search had no id to "
        "vote on, and nothing else was lost.",
        good="None.",
        bad="`cap` or `no_space`: the journal is full because the database was away for long, or the disk is. "
        "`no_journal`: its directory cannot be written.",
        do="Bring the database back, make room, or raise `journal_cap_bytes`; docs/operations.md has every reason.",
    ),
    columns=(
        Column(name="reason", meaning="why it could not be kept", unit="text"),
        _REFUSED,
    ),
    width=8,
    empty="nothing was refused",
)
REJECTED_OVER_TIME = Panel(
    title="Rejected over time",
    kind="timeseries",
    query="rejected_over_time",
    reading=Reading(
        shows="Records that can never land in the table, when they were rejected.",
        good="None, or single votes on searches that are gone.",
        bad="A plateau from a release on: something sends votes with wrong ids, or rows that the database refuses.",
        do="See the reasons beside this; the payloads are in the journal's directory of that host.",
    ),
    columns=(TIME, Column(name="rejected", meaning="records", colour="lost", style="stacked")),
    width=8,
    empty="nothing was rejected",
)
REJECTED = Panel(
    title="Rejected, by reason",
    kind="table",
    query="rejected",
    reading=Reading(
        shows="What was rejected in this time range, and why; the 50 commonest.",
        good="Empty.",
        bad="A reason that repeats. `undecodable` or a reason of the database means a fault of ours.",
        do="docs/operations.md says of every reason what it means and what to do.",
    ),
    columns=(
        PROJECT_COLUMN,
        Column(name="kind", meaning="search, vote, delivery, assessment or texts", unit="text"),
        Column(name="reason", meaning="why it can never land", unit="text"),
        _REJECTED,
        Column(name="latest", meaning="the latest one", unit="time"),
    ),
    width=8,
    empty="nothing was rejected",
)
WRITERS = Panel(
    title="Every writer",
    kind="table",
    query="writers",
    reading=Reading(
        shows="The writers that shipped in this time range, those with losses first, at most 100: attempted = written + "
        "backlog + pending + rejected, written includes removed. Numbers are as of the latest shipment.",
        good="Gaps, refused and rejected are 0; a writer that is at work was seen just now, or has nothing to ship.",
        bad="A writer with a backlog that was last seen long ago: its process or its host is gone, its journal is not.",
        do="Start `ragledger ship` on that host: it adopts the journal of a dead process.",
    ),
    columns=(
        PROJECT_COLUMN,
        Column(name="host", meaning="where its journal is", unit="text"),
        Column(name="pid", meaning="its process", unit="text"),
        Column(name="started", meaning="when it opened its journal", unit="time"),
        Column(name="last seen", meaning="its latest shipment", unit="time"),
        Column(name="finished", meaning="when its journal was emptied for good", unit="time"),
        Column(name="attempted", meaning="records begun"),
        _BACKLOG,
        Column(
            name="delay",
            meaning="of its latest search, from its end to the table; not measured when it has finished",
            unit="seconds",
            colour="waiting",
        ),
        Column(name="written", meaning="records that are or were in the table"),
        Column(name="removed", meaning="of those, taken by retention or erasure"),
        Column(name="pending", meaning="votes whose search has not arrived", colour="waiting"),
        _REJECTED,
        _REFUSED,
        _GAPS,
    ),
    width=24,
    height=10,
)

PIPELINE = Dashboard(
    uid="ragledger-pipeline",
    name="pipeline",
    title="Ragledger: Pipeline",
    description="Can the numbers be believed: what is on its way, what was lost on it, how far the collector is.",
    rows=(
        Row(title="Now", panels=(COLLECTOR, WRITERS_NOW, LOST)),
        Row(title="On its way", panels=(COUNTED, PENDING)),
        Row(title="Lost on the way", panels=(REFUSED, REJECTED_OVER_TIME, REJECTED)),
        Row(title="Writers", panels=(WRITERS,)),
    ),
    variables=(PROJECT,),
    since="now-24h",
)
