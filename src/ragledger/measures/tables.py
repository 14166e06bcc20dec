"""A measurement as tables of text, in plain words: what a terminal, Markdown and a page show alike.

Every share stands beside its counts, and what is not known reads "not measured", never 0 (promises P8, P12).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ragledger.model import ActorKind

from .percentile import smallest_sample
from .report import At, Condition, Epoch, Feedback, Group, Measurement, Part

__all__ = ["NOT_MEASURED", "Table", "heading", "tables"]

NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Cells of text. The first `words` columns read to the left, the rest are numbers and read to the right."""

    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1


def heading(measurement: Measurement) -> tuple[str, ...]:
    """What was measured, as lines above the tables."""
    window = measurement.window
    filters = [
        f"{name} {value}"
        for name, value in (
            ("project", window.project),
            ("corpus", window.corpus),
            ("surface", window.surface),
        )
        if value is not None
    ]
    since = f"since {_moment(window.since)}" if window.since else "from the first search"
    until = f"until {_moment(window.until)}" if window.until else "up to now"
    corpora = ", ".join(corpus or "(not named)" for corpus in window.corpora)
    return (
        f"{_count(measurement.searches.searches)} searches, {since} {until} (UTC)",
        f"only {', '.join(filters)}" if filters else "all projects, corpora and surfaces",
        f"projects: {', '.join(window.projects)}; corpora: {corpora}",
        f"useful means judged {measurement.useful_from} or better",
    )


def tables(measurement: Measurement) -> tuple[Table, ...]:
    """The whole report, in reading order."""
    voters = _voters(measurement)
    found = [_searches(measurement), _answers(measurement), _conditions(measurement), _epochs(measurement)]
    found += [_precision(measurement, voters), *_precision_by_part(measurement, voters)]
    found += [*_ranks(measurement, voters), _funnel(measurement, voters)]
    return tuple(found)


def _voters(measurement: Measurement) -> list[ActorKind]:
    return [kind for kind, voter in measurement.precision.overall.items() if voter.votes]


def _groups(measurement: Measurement) -> list[tuple[str, Group]]:
    groups: list[tuple[str, Group]] = [("all", measurement.searches)]
    groups += [(f"surface {part.surface or '(not said)'}", part) for part in measurement.by_surface]
    groups += [("in a session" if part.in_session else "no session", part) for part in measurement.by_session]
    if len(measurement.by_actor_kind) > 1:
        groups += [(f"asked by {part.actor_kind}", part) for part in measurement.by_actor_kind]
    return groups


def _searches(measurement: Measurement) -> Table:
    return Table(
        title="Searches",
        caption="A search that was retried counts once, by its last attempt. Skipped: it was due and not made.",
        columns=("", "searches", "ok", "error", "cancelled", "skipped"),
        rows=tuple(
            (name, *map(_count, (group.searches, by.ok, by.error, by.cancelled, by.skipped)))
            for name, group in _groups(measurement)
            for by in (group.by_status,)
        ),
    )


def _answers(measurement: Measurement) -> Table:
    def row(name: str, group: Group) -> tuple[str, ...]:
        hit_rate, latency = group.hit_rate, group.latency
        return (
            name,
            _count(group.untold),
            _count(group.empty),
            _count(group.padded_only),
            _rate(hit_rate.n, hit_rate.of, hit_rate.rate),
            _count(latency.n),
            _percentile(latency.p50_ms, 50),
            _percentile(latency.p95_ms, 95),
        )

    return Table(
        title="What came back",
        caption=(
            "Of the ok searches. Untold: nobody could read what came back, so they are in no rate. Hit rate: those that found "
            "something. Empty: nothing was returned. Padded: only hits with a lexical score of 0 were. Milliseconds of the timed ones, by nearest rank."
        ),
        columns=("", "untold", "empty", "padded", "hit rate", "timed", "p50 ms", "p95 ms"),
        rows=tuple(row(name, group) for name, group in _groups(measurement)),
    )


def _conditions(measurement: Measurement) -> Table:
    def rows(name: str, condition: Condition) -> Iterable[tuple[str, str]]:
        yield name, _rate(condition.n, condition.of, condition.rate)
        for reason in condition.reasons:
            yield f"{name}: {reason.reason or '(no reason given)'}", _count(reason.n)

    vector = measurement.vector
    known = vector.available + vector.unavailable
    share = vector.unavailable / known if known else None
    return Table(
        title="Degraded and skipped",
        caption=(
            "Degraded: it ran with something missing, of the searches that ran. Vector search unavailable: the "
            f"embedding failed, of the searches that tell; {_count(vector.unknown)} do not."
        ),
        columns=("", "searches"),
        rows=(
            *rows("degraded", measurement.degraded),
            *rows("skipped", measurement.skipped),
            ("vector search unavailable", _rate(vector.unavailable, known, share)),
        ),
    )


def _epochs(measurement: Measurement) -> Table:
    def row(epoch: Epoch) -> tuple[str, ...]:
        seen = f"{_moment(epoch.first_seen)}\n{_moment(epoch.last_seen)}"
        return epoch.epoch, seen, _weights(epoch), _count(epoch.searches)

    return Table(
        title="Epochs",
        caption="Searches that ran under the same ranking parameters; first and last seen, and the latest weights.",
        columns=("epoch", "seen (UTC)", "weights", "searches"),
        rows=tuple(map(row, measurement.epochs)),
        words=3,
    )


def _precision(measurement: Measurement, voters: list[ActorKind]) -> Table:
    found, order = measurement.precision, measurement.precision.order
    dropped = sum(voter.not_delivered for voter in found.overall.values())
    judged = [(str(kind), found.overall[kind]) for kind in voters] or [("anyone", found.overall["human"])]
    return Table(
        title=f"Precision{_pooled(measurement)}",
        caption=(
            "precision@k: the useful ones of the judged hits among the first k. Judged share: how much of what was "
            "shown it speaks for; the rest is unknown, not bad. A hit with several voters counts once, as the share "
            f"who found it useful. Order: {_count(order.delivered)} searches as delivered to the prompt, "
            f"{_count(order.retriever)} as retrieved."
            + (f" Judged, but not delivered and so in no k: {_count(dropped)} hits." if dropped else "")
        ),
        columns=("voters", "k", "precision", "useful", "judged", "shown", "judged share"),
        rows=tuple(
            (
                kind,
                str(k),
                _precise(at),
                _amount(at.useful),
                _count(at.judged),
                _count(at.shown),
                NOT_MEASURED if at.judged_share is None else f"{at.judged_share:.1%}",
            )
            for kind, voter in judged
            for k, at in voter.at.items()
        ),
    )


def _pooled(measurement: Measurement) -> str:
    across = measurement.precision.across
    named = ((across.epochs, "epochs"), (across.actor_kinds, "kinds of asking actors"))
    pooled = [f"{n} {what}" for n, what in named if n > 1]
    return f", across {' and '.join(pooled)}" if pooled else ""


def _precision_by_part(measurement: Measurement, voters: list[ActorKind]) -> list[Table]:
    """What the overall numbers pool, apart. Nothing to tell apart, or no votes: no table."""
    found = measurement.precision
    pooled: list[tuple[str, Mapping[str, Part]]] = []
    if found.across.epochs > 1:
        pooled.append(("epoch", found.by_epoch))
    if found.across.actor_kinds > 1:
        pooled.append(("asked by", {str(kind): part for kind, part in found.by_actor_kind.items()}))
    return [
        Table(
            title=f"Precision by {what}" if what == "epoch" else "Precision by who asked",
            caption="precision@k, and below it useful / judged of shown.",
            columns=("voters", what, *(f"@{k}" for k in measurement.cuts)),
            rows=tuple(
                (kind, name, *(_with_counts(at) for at in part.voters[kind].values()))
                for kind in voters
                for name, part in parts.items()
            ),
            words=2,
        )
        for what, parts in pooled
        if voters
    ]


def _with_counts(at: At) -> str:
    return f"{_precise(at)}\n{_amount(at.useful)}/{_count(at.judged)} of {_count(at.shown)}"


def _ranks(measurement: Measurement, voters: list[ActorKind]) -> list[Table]:
    ranks = measurement.ranks
    shown = [at for at in (*ranks.positions, ranks.beyond) if at.shown]

    def table(title: str, kind: ActorKind) -> Table:
        return Table(
            title=title,
            caption="Where hits stood. People judge what they see: read votes beside what was shown and opened there.",
            columns=("position", "shown", "opened", "judged", "useful"),
            rows=tuple(
                (
                    f"beyond {ranks.top}" if at.position is None else str(at.position),
                    _count(at.shown),
                    _count(said.accessed if voters else at.accessed),
                    _count(said.judged),
                    _useful(said),
                )
                for at in shown
                for said in (at.voters[kind],)
            ),
        )

    return [table(f"Positions, judged by {kind}", kind) for kind in voters] or [table("Positions", "human")]


def _funnel(measurement: Measurement, voters: list[ActorKind]) -> Table:
    funnel, said = measurement.funnel, measurement.precision.overall
    rows = [("anyone", _count(funnel.retrieved), _count(funnel.accessed), *[""] * 4)]
    rows += [
        (
            str(kind),
            _count(funnel.retrieved),
            _count(feedback.accessed),
            _count(feedback.judged),
            _useful(feedback),
            _count(said[kind].votes),
            _count(said[kind].actors),
        )
        for kind, feedback in funnel.voters.items()
        if feedback.accessed or kind in voters
    ]
    return Table(
        title="Funnel",
        caption="How far hits came. Each is a count of its own: a hit can be judged without having been opened.",
        columns=("by", "retrieved", "opened", "judged", "useful", "votes", "actors"),
        rows=tuple(rows),
    )


def _weights(epoch: Epoch) -> str:
    effective = epoch.weights.get("effective")
    if isinstance(effective, Mapping) and effective:
        text = " ".join(f"{name}={_setting(value)}" for name, value in effective.items())
    else:
        text = "not known"
    named = (("index", epoch.index_version), ("embedding", epoch.embedding_model))
    return "\n".join([text, *(f"{name} {value}" for name, value in named if value is not None)])


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _count(n: int) -> str:
    return f"{n:,}"


def _amount(useful: float) -> str:
    return f"{useful:,.2f}".removesuffix(".00")


def _useful(said: Feedback) -> str:
    return _amount(said.useful) if said.judged else NOT_MEASURED


def _precise(at: At) -> str:
    return NOT_MEASURED if at.precision is None else f"{at.precision:.3f}"


def _rate(n: int, of: int, rate: float | None) -> str:
    return NOT_MEASURED if rate is None else f"{rate:.1%} ({n:,}/{of:,})"


def _percentile(value: float | None, percent: int) -> str:
    needed = smallest_sample(percent)
    return f"n < {needed}" if value is None else f"{value:,.1f}"


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M")
