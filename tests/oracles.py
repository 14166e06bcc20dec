"""What SQL computes, once more in slow and obvious Python, from rows as a COPY dump holds them.

Nothing of ragledger is imported: an oracle that shares code with what it checks shares its mistakes. Tables are
lists of dicts, one dict per row, by column name.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timezone
from fractions import Fraction
from typing import Any

import psycopg
from psycopg import sql
from vote_oracles import agreement, assessments, diagnosis, part, rate_span

Row = dict[str, Any]
Tables = dict[str, list[Row]]

TABLES = ("searches", "hits", "deliveries", "feedback", "assessments")
KINDS = ("human", "agent", "judge", "system")
OUTCOMES = ("not_relevant", "partially_relevant", "relevant", "highly_relevant")
CUTS = (1, 3, 5, 10)
TOP = 20


def dump(connection: psycopg.Connection[Any]) -> Tables:
    """The tables by COPY, as a backup would hold them; the text is parsed by the columns' types."""
    tables: Tables = {}
    for table in TABLES:
        columns = connection.execute(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            [table],
        ).fetchall()
        names = [name for name, _ in columns]
        query = sql.SQL("COPY (SELECT * FROM {}) TO STDOUT").format(sql.Identifier(table))
        with connection.cursor().copy(query) as copy:
            copy.set_types([kind for _, kind in columns])
            tables[table] = [dict(zip(names, row, strict=True)) for row in copy.rows()]
    return tables


def measurement(
    tables: Tables,
    *,
    project: str | None = None,
    corpus: str | None = None,
    surface: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    useful_from: str = "relevant",
) -> Row | None:
    """The whole JSON of `ragledger measure`, or None when there is nothing to measure."""
    searches = [
        search
        for search in logical_searches(tables["searches"])
        if (project is None or search["project"] == project)
        and (corpus is None or search["corpus"] == corpus)
        and (surface is None or search["surface"] == surface)
        and (since is None or search["started_at"] >= since)
        and (until is None or search["started_at"] < until)
    ]
    if not searches:
        return None
    ran = [search for search in searches if search["status"] != "skipped"]
    hits = _placed_hits(searches, tables, OUTCOMES[OUTCOMES.index(useful_from) :])
    starts = [search["started_at"] for search in searches]
    corpora = {search["corpus"] for search in searches}
    return {
        "schema": 3,
        "useful_from": useful_from,
        "cuts": list(CUTS),
        "window": {
            "project": project,
            "corpus": corpus,
            "surface": surface,
            "since": _text(since),
            "until": _text(until),
            "first_search": _text(min(starts)),
            "last_search": _text(max(starts)),
            "projects": sorted({search["project"] for search in searches}),
            "corpora": sorted(corpora - {None}) + ([None] if None in corpora else []),
        },
        "searches": _group(searches, tables),
        "by_surface": _groups("surface", searches, tables),
        "by_session": _groups("in_session", searches, tables),
        "by_actor_kind": _groups("actor_kind", searches, tables),
        "skipped": _condition([s for s in searches if s["status"] == "skipped"], searches, "skip_reason"),
        "degraded": _condition([s for s in ran if s["degraded"]], ran, "degraded_reason"),
        "vector": {
            "available": len([s for s in searches if s["vector_available"] is True]),
            "unavailable": len([s for s in searches if s["vector_available"] is False]),
            "unknown": len([s for s in searches if s["vector_available"] is None]),
        },
        "epochs": _epochs(ran),
        "precision": _precision(searches, hits, tables),
        "ranks": _ranks(hits),
        "funnel": _funnel(hits),
        "agreement": agreement(hits),
        "diagnosis": diagnosis(hits, [epoch["epoch"] for epoch in _epochs(ran)]),
        "assessments": assessments(
            hits, ran, tables["assessments"], [epoch["epoch"] for epoch in _epochs(ran)]
        ),
    }


def logical_searches(searches: list[Row]) -> list[Row]:
    """The outermost ones; of a group of attempts the last."""
    groups: dict[Any, list[Row]] = {}
    for search in searches:
        if search["depth"] == 0:
            groups.setdefault(search["attempt_of"] or search["search_id"], []).append(search)
    return [max(group, key=lambda s: (s["started_at"], s["search_id"])) for group in groups.values()]


def current_votes(feedback: list[Row]) -> list[Row]:
    """The latest judgment of each actor on each hit."""
    latest: dict[Any, Row] = {}
    for vote in sorted(feedback, key=lambda row: (row["given_at"], row["feedback_id"])):
        if vote["stage"] == "judged":
            latest[vote["search_id"], vote["rank"], vote["actor_kind"], vote["actor_id"]] = vote
    return list(latest.values())


def nearest_rank(values: Iterable[float], percent: int, needed: int) -> float | None:
    ordered = sorted(values)
    if len(ordered) < needed:
        return None
    return ordered[math.ceil(Fraction(percent, 100) * len(ordered)) - 1]


def is_padding(hit: Row) -> bool:
    """Only the lexical signal scored it, and with 0."""
    return (
        hit["lexical_score"] == 0
        and hit["vector_score"] is None
        and hit["score"] in (None, 0)
        and not _numbers(hit["signals"])
    )


def _numbers(value: Any) -> list[float]:
    if isinstance(value, dict):
        return [number for inner in value.values() for number in _numbers(inner)]
    return [value] if isinstance(value, (int, float)) else []


def _placed_hits(searches: list[Row], tables: Tables, useful: tuple[str, ...]) -> list[Row]:
    """The admitted hits of ok searches, each with its position, who opened it, and the votes per kind."""
    votes = current_votes(tables["feedback"])
    placed = []
    for search in searches:
        if search["status"] != "ok":
            continue
        order = _delivered_order(search, tables)
        for hit in tables["hits"]:
            if hit["search_id"] != search["search_id"] or not hit["admitted"]:
                continue
            if order is None:
                position = hit["rank"]
            else:
                position = order.index(hit["rank"]) + 1 if hit["rank"] in order else None
            about = [row for row in tables["feedback"] if _is_about(row, hit)]
            ballots = [vote for vote in votes if _is_about(vote, hit)]
            placed.append(
                {
                    "search": search,
                    "position": position,
                    "opened_by": {row["actor_kind"] for row in about if row["stage"] == "accessed"},
                    "votes": {
                        kind: [vote["outcome"] in useful for vote in ballots if vote["actor_kind"] == kind]
                        for kind in KINDS
                    },
                    "outcomes": {
                        kind: [vote["outcome"] for vote in ballots if vote["actor_kind"] == kind]
                        for kind in KINDS
                    },
                    "ballots": {
                        kind: [
                            (vote["actor_id"], vote["outcome"] in useful)
                            for vote in ballots
                            if vote["actor_kind"] == kind
                        ]
                        for kind in KINDS
                    },
                }
            )
    return placed


def _is_about(row: Row, hit: Row) -> bool:
    return (row["search_id"], row["rank"]) == (hit["search_id"], hit["rank"])


def _delivered_order(search: Row, tables: Tables) -> list[int] | None:
    found = [row for row in tables["deliveries"] if row["search_id"] == search["search_id"]]
    if not found:
        return None
    return list(max(found, key=lambda row: (row["delivered_at"], row["delivery_id"]))["hit_ranks"])


def _groups(key: str, searches: list[Row], tables: Tables) -> list[Row]:
    def value(search: Row) -> Any:
        return search["session_id"] is not None if key == "in_session" else search[key]

    order = {"in_session": [True, False], "actor_kind": list(KINDS)}.get(key) or [
        *sorted({value(search) for search in searches} - {None}),
        None,
    ]
    found = [(one, [search for search in searches if value(search) == one]) for one in order]
    return [{**_group(members, tables), key: one} for one, members in found if members]


def _group(searches: list[Row], tables: Tables) -> Row:
    ok = [search for search in searches if search["status"] == "ok"]
    admitted = [
        [hit for hit in tables["hits"] if hit["search_id"] == search["search_id"] and hit["admitted"]]
        for search in ok
    ]
    found = [hits for hits in admitted if [hit for hit in hits if not is_padding(hit)]]
    untold = [
        search
        for search, hits in zip(ok, admitted, strict=True)
        if search["admitted_count"] is None and hits not in found
    ]
    told = len(ok) - len(untold)
    empty = len(
        [hits for search, hits in zip(ok, admitted, strict=True) if not hits and search not in untold]
    )
    timed = [search["latency_ms"] for search in ok if search["latency_ms"] is not None]
    return {
        "searches": len(searches),
        "by_status": {
            status: len([search for search in searches if search["status"] == status])
            for status in ("ok", "error", "cancelled", "skipped")
        },
        "untold": len(untold),
        "empty": empty,
        "padded_only": told - empty - len(found),
        "hit_rate": {
            "n": len(found),
            "of": told,
            "rate": _ratio(len(found), told),
            "interval": rate_span(len(found), told),
        },
        "latency": {
            "n": len(timed),
            "p50_ms": nearest_rank(timed, 50, needed=1),
            "p95_ms": nearest_rank(timed, 95, needed=20),
        },
    }


def _condition(some: list[Row], of: list[Row], column: str) -> Row:
    reasons = Counter(search[column] for search in some)
    order = sorted(reasons, key=lambda reason: (-reasons[reason], reason is None, reason or ""))
    return {
        "n": len(some),
        "of": len(of),
        "rate": _ratio(len(some), len(of)),
        "interval": rate_span(len(some), len(of)),
        "reasons": [{"reason": reason, "n": reasons[reason]} for reason in order],
    }


def _epochs(ran: list[Row]) -> list[Row]:
    epochs: list[Row] = []
    since = {}
    for name in {search["epoch"] for search in ran}:
        members = [search for search in ran if search["epoch"] == name]
        members.sort(key=lambda search: (search["started_at"], search["search_id"]))
        latest = members[-1]
        since[name] = members[0]["started_at"]
        epochs.append(
            {
                "epoch": name,
                "searches": len(members),
                "ok": len([search for search in members if search["status"] == "ok"]),
                "first_seen": _text(members[0]["started_at"]),
                "last_seen": _text(latest["started_at"]),
                "weights": latest["weights"],
                "index_version": latest["index_version"],
                "embedding_model": latest["embedding_model"],
            }
        )
    return sorted(epochs, key=lambda epoch: (since[epoch["epoch"]], epoch["epoch"]))


def _precision(searches: list[Row], hits: list[Row], tables: Tables) -> Row:
    ok = [search for search in searches if search["status"] == "ok"]
    delivered = len([search for search in ok if _delivered_order(search, tables) is not None])
    by_epoch = {epoch["epoch"]: _part("epoch", epoch["epoch"], ok, hits) for epoch in _epochs(ok)}
    kinds = [kind for kind in KINDS if kind in {search["actor_kind"] for search in ok}]
    by_actor_kind = {kind: _part("actor_kind", kind, ok, hits) for kind in kinds}
    surfaces = {search["surface"] for search in ok}
    named = [*sorted(surfaces - {None}), *([None] if None in surfaces else [])]
    return {
        "order": {"delivered": delivered, "retriever": len(ok) - delivered},
        "across": {
            "epochs": len(by_epoch),
            "actor_kinds": len(by_actor_kind),
            "surfaces": len(surfaces),
        },
        "overall": {kind: _voter(hits, kind, len(ok)) for kind in KINDS},
        "by_epoch": by_epoch,
        "by_actor_kind": by_actor_kind,
        "by_surface": [{**_part("surface", name, ok, hits), "surface": name} for name in named],
    }


def _voter(hits: list[Row], kind: str, ok: int) -> Row:
    judged = [hit for hit in hits if hit["votes"][kind]]
    return {
        **part(hits, kind, ok),
        "votes": sum(len(hit["votes"][kind]) for hit in judged),
        "actors": len({actor for hit in judged for actor, _ in hit["ballots"][kind]}),
        "searches": len({hit["search"]["search_id"] for hit in judged}),
        "not_delivered": len([hit for hit in judged if hit["position"] is None]),
    }


def _part(column: str, value: str | None, ok: list[Row], hits: list[Row]) -> Row:
    inside = [hit for hit in hits if hit["search"][column] == value]
    count = len([search for search in ok if search[column] == value])
    return {"ok": count, "voters": {kind: part(inside, kind, count) for kind in KINDS}}


def _ranks(hits: list[Row]) -> Row:
    positions = [hit["position"] for hit in hits if hit["position"] is not None]
    last = max((position for position in positions if position <= TOP), default=0)
    recorded = any(hit["opened_by"] for hit in hits)
    return {
        "top": TOP,
        "at": [
            _at_rank(position, [hit for hit in hits if hit["position"] == position], recorded)
            for position in range(1, last + 1)
        ],
        "beyond": _at_rank(None, [hit for hit in hits if (hit["position"] or 0) > TOP], recorded),
    }


def _at_rank(position: int | None, hits: list[Row], recorded: bool) -> Row:
    return {
        "rank": position,
        "shown": len(hits),
        "accessed": len([hit for hit in hits if hit["opened_by"]]) if recorded else None,
        "voters": {kind: _feedback(hits, kind, recorded) for kind in KINDS},
    }


def _feedback(hits: list[Row], kind: str, recorded: bool) -> Row:
    judged = [hit for hit in hits if hit["votes"][kind]]
    return {
        "accessed": len([hit for hit in hits if kind in hit["opened_by"]]) if recorded else None,
        "judged": len(judged),
        "useful": float(_useful(judged, kind)),
    }


def _funnel(hits: list[Row]) -> Row:
    opened = len([hit for hit in hits if hit["opened_by"]])
    recorded = opened > 0

    def reached(kind: str) -> Row:
        found = _feedback(hits, kind, recorded)
        return {
            **found,
            "accessed_rate": _ratio(found["accessed"], len(hits)) if recorded else None,
            "judged_rate": _ratio(found["judged"], len(hits)),
            "useful_rate": found["useful"] / found["judged"] if found["judged"] else None,
        }

    return {
        "retrieved": len(hits),
        "accessed": opened if recorded else None,
        "accessed_rate": _ratio(opened, len(hits)) if recorded else None,
        "voters": {kind: reached(kind) for kind in KINDS},
    }


def _useful(judged: list[Row], kind: str) -> Fraction:
    return sum((Fraction(sum(hit["votes"][kind]), len(hit["votes"][kind])) for hit in judged), Fraction(0))


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
