"""A measurement as tables of text, in plain words: what a terminal, Markdown and a page show alike.

Every share stands beside its counts, and what is not known reads "not measured", never 0 (promises P8, P12). The tables of
votes are in `vote_tables.py`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from .cells import NOT_MEASURED, Table, count, moment, percentile, rate
from .report import Condition, Epoch, Group, Measurement
from .vote_tables import vote_tables

__all__ = ["NOT_MEASURED", "Table", "heading", "tables"]


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
    since = f"since {moment(window.since)}" if window.since else "from the first search"
    until = f"until {moment(window.until)}" if window.until else "up to now"
    corpora = ", ".join(corpus or "(not named)" for corpus in window.corpora)
    return (
        f"{count(measurement.searches.searches)} searches, {since} {until} (UTC)",
        f"only {', '.join(filters)}" if filters else "all projects, corpora and surfaces",
        f"projects: {', '.join(window.projects)}; corpora: {corpora}",
        f"useful means judged {measurement.useful_from} or better; intervals hold the true value 95 times in 100",
    )


def tables(measurement: Measurement) -> tuple[Table, ...]:
    """The whole report, in reading order."""
    return (
        _searches(measurement),
        _answers(measurement),
        _conditions(measurement),
        _epochs(measurement),
        *vote_tables(measurement),
    )


def _groups(measurement: Measurement) -> list[tuple[str, Group]]:
    groups: list[tuple[str, Group]] = [("all", measurement.searches)]
    groups += [(f"surface {part.surface or '(not said)'}", part) for part in measurement.by_surface]
    groups += [("in a session" if part.in_session else "no session", part) for part in measurement.by_session]
    if len(measurement.by_actor_kind) > 1:
        groups += [(f"asked by {part.actor_kind}", part) for part in measurement.by_actor_kind]
    return groups


def _searches(measurement: Measurement) -> Table:
    by = measurement.searches.by_status
    failed = by.error + by.cancelled
    return Table(
        title="Searches",
        means=f"{count(by.ok)} searches came to an end as they should, {count(failed)} did not.",
        caption="A search that was retried counts once, by its last attempt. Skipped: it was due and not made.",
        columns=("", "searches", "ok", "error", "cancelled", "skipped"),
        rows=tuple(
            (name, *map(count, (group.searches, by.ok, by.error, by.cancelled, by.skipped)))
            for name, group in _groups(measurement)
            for by in (group.by_status,)
        ),
    )


def _answers(measurement: Measurement) -> Table:
    def row(name: str, group: Group) -> tuple[str, ...]:
        hit_rate, latency = group.hit_rate, group.latency
        return (
            name,
            count(group.untold),
            count(group.empty),
            count(group.padded_only),
            rate(hit_rate.n, hit_rate.of, hit_rate.rate, hit_rate.interval),
            count(latency.n),
            percentile(latency.p50_ms, 50),
            percentile(latency.p95_ms, 95),
        )

    found = measurement.searches.hit_rate
    return Table(
        title="What came back",
        means=(
            "Whether anything was found is not known."
            if found.rate is None
            else f"{found.rate:.0%} of the searches found something at all; whether it was useful, only votes tell."
        ),
        caption=(
            "Of the ok searches. Untold: nobody could read what came back, so they are in no rate. Hit rate: those that found "
            "something. Empty: nothing was returned. Padded: only hits with a lexical score of 0 were. Milliseconds of the "
            "timed ones, by nearest rank."
        ),
        columns=("", "untold", "empty", "padded", "hit rate", "timed", "p50 ms", "p95 ms"),
        rows=tuple(row(name, group) for name, group in _groups(measurement)),
    )


def _conditions(measurement: Measurement) -> Table:
    def rows(name: str, condition: Condition) -> Iterable[tuple[str, str]]:
        yield name, rate(condition.n, condition.of, condition.rate, condition.interval)
        for reason in condition.reasons:
            yield f"{name}: {reason.reason or '(no reason given)'}", count(reason.n)

    vector, degraded = measurement.vector, measurement.degraded
    known = vector.available + vector.unavailable
    unavailable = vector.unavailable / known if known else None
    return Table(
        title="Degraded and skipped",
        means=(
            "No search ran with something missing."
            if not degraded.n
            else f"{count(degraded.n)} searches ran with something missing: what they found says less about the retriever."
        ),
        caption=(
            "Degraded: it ran with something missing, of the searches that ran. Vector search unavailable: the "
            f"embedding failed, of the searches that tell; {count(vector.unknown)} do not."
        ),
        columns=("", "searches"),
        rows=(
            *rows("degraded", degraded),
            *rows("skipped", measurement.skipped),
            ("vector search unavailable", rate(vector.unavailable, known, unavailable)),
        ),
    )


def _epochs(measurement: Measurement) -> Table:
    def row(epoch: Epoch) -> tuple[str, ...]:
        seen = f"{moment(epoch.first_seen)}\n{moment(epoch.last_seen)}"
        return epoch.epoch, seen, _weights(epoch), count(epoch.searches)

    number = len(measurement.epochs)
    return Table(
        title="Epochs",
        means=(
            "All searches ran under the same settings."
            if number == 1
            else f"The settings changed: {count(number)} different ones ran. Numbers over all of them mix them."
        ),
        caption="Searches that ran under the same ranking parameters; first and last seen, and the latest weights.",
        columns=("epoch", "seen (UTC)", "weights", "searches"),
        rows=tuple(map(row, measurement.epochs)),
        words=3,
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
