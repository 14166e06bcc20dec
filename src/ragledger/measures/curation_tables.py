"""A curation as tables of text, in plain words: what a terminal and Markdown show alike."""

from __future__ import annotations

from datetime import datetime

from .curation import Class
from .curation_reasons import CLASSES
from .curation_report import Curation, Document, Question
from .ranks import TOP
from .tables import NOT_MEASURED, Table

__all__ = ["curation_heading", "curation_tables"]

_GAPS = {
    "empty": "nothing found",
    "only_padding": "only padding",
    "nothing_useful": "nothing useful",
    "low_score": "low best score",
}


_GROUPS = (("1", 1), ("2-3", 3), ("4-10", 10), ("11 on", TOP + 1))


def curation_heading(curation: Curation) -> tuple[str, ...]:
    """What was read, and what the numbers rest on."""
    window, lines = curation.window, []
    named = [f"{name} {window[name]}" for name in ("project", "corpus", "surface") if window[name]]
    lines.append(
        f"{curation.searches:,} ok searches, {_day(window['first_search'])} to {_day(window['last_search'])} (UTC)"
        + (f"; only {', '.join(named)}" if named else "")
    )
    lines.append(
        "votes and exposures of "
        + (
            f"{len(curation.epochs)} epochs together: "
            if len(curation.epochs) != 1
            else "one epoch: "
        )
        + ", ".join(f"{epoch.epoch} ({epoch.searches:,})" for epoch in curation.epochs[-10:])
        + (", and older ones" if len(curation.epochs) > 10 else "")
    )  # fmt: skip
    voters = [f"{kind} {total.votes:,} by {total.actors:,}" for kind, total in curation.voters.items()] or [
        "none"
    ]
    lines.append(
        f"votes by kind, never added up: {', '.join(voters)}; useful means judged {curation.useful_from} or better"
    )
    lines.append(_kept(curation))
    lines.append(_inventory(curation))
    if curation.reindex is not None:
        lines.append(_reindex(curation))
    if not curation.accesses:
        lines.append("accesses: none are recorded here, so nothing can be said of what is never accessed")
    if curation.unnamed_hits:
        lines.append(f"{curation.unnamed_hits:,} hits name no {curation.unit} and count nowhere")
    return tuple(lines)


def curation_tables(curation: Curation) -> tuple[Table, ...]:
    """Classes, documents, gap queries."""
    return (_classes(curation), _documents(curation), _gaps(curation))


def _kept(curation: Curation) -> str:
    kept = curation.kept
    if kept.complete_since is None:
        return "no row of this window was removed: what is not seen in it was not recorded in it"
    since = f"{kept.complete_since:%Y-%m-%dT%H:%MZ}"
    return (
        f"{kept.why} ({kept.removed_records:,} records in all): before {since} not seen is not known; ask about the "
        f"time since with --since {since}"
    )


def _inventory(curation: Curation) -> str:
    inventory = curation.inventory
    if inventory is None:
        return "no inventory: what no search ever found cannot be listed; give --inventory, --inventory-query or --inventory-table"
    words = f"inventory: {inventory.source}, {inventory.documents:,} ids, of which {inventory.matched:,} are in the table"
    return words if inventory.matched else f"{words}: do these ids mean the same?"


def _reindex(curation: Curation) -> str:
    found = curation.reindex
    assert found is not None
    newest = ", ".join(f"{corpus or '(not named)'} {version}" for corpus, version in found.newest.items())
    words = f"reindexed, newest {newest}: of {found.votes:,} votes on older versions {found.followed:,} followed their content"
    rest = [
        (found.same_id, "are on content that kept its id"),
        (found.not_seen_since, "on content not seen since"),
        (found.in_several, "on content of several ids"),
        (found.without_key, "on hits without a content key (RAGLEDGER_CONTENT_KEYS=1)"),
    ]
    return words + "".join(f", {count:,} {what}" for count, what in rest if count)


def _classes(curation: Curation) -> Table:
    return Table(
        title=f"Classes of {curation.total:,} {curation.unit}s",
        caption=(
            "Each is in one class. Not useful: only votes say so. Too few votes, too few retrievals and never shown high enough "
            "mean unknown, not useless."
        ),
        columns=("class", "suggestion", "n"),
        rows=tuple(
            (CLASSES[Class(name)], count.suggestion or "leave", f"{count.n:,}")
            for name, count in curation.classes.items()
        ),
        words=2,
    )


def _documents(curation: Curation) -> Table:
    shown = len(curation.documents)
    more = (
        f"The first {shown:,} of {curation.chosen:,}; --limit 0 shows all. "
        if shown < curation.chosen
        else ""
    )
    return Table(
        title=f"{curation.unit.capitalize()}s",
        caption=(
            f"{more}Counted in searches, from the rows that are kept. Funnel: retrieved > admitted > shown > accessed. Useful / "
            "expected: of the searches with a vote on it, useful ones over those that its ranks let expect, by kind of voter; the rest "
            "is in --json."
        ),
        columns=(curation.unit, "suggestion", "why", "shown at rank", "funnel", "useful / expected"),
        rows=tuple(_row(document) for document in curation.documents),
        words=4,
    )


def _row(document: Document) -> tuple[str, ...]:
    ratios = [
        f"{kind} {votes.useful_over_expected:.2f}"
        for kind, votes in document.votes.items()
        if votes.useful_over_expected is not None
    ]
    why = f"{CLASSES[Class(document.class_)]}: {document.reason}"
    if document.replaced_by:
        why += f": {', '.join(document.replaced_by[:3])}" + ("..." if len(document.replaced_by) > 3 else "")
    counts = (document.retrieved, document.admitted, document.shown, document.accessed)
    return (
        document.id if document.corpus is None else f"{document.corpus}\n{document.id}",
        document.suggestion or "leave",
        why,
        _ranks(document),
        " > ".join(f"{count:,}" for count in counts),
        "\n".join(ratios) or NOT_MEASURED,
    )


def _ranks(document: Document) -> str:
    """A few groups of ranks; every rank is in the JSON."""
    shown = {name: 0 for name, _ in _GROUPS}
    for rank, times in document.shown_at.items():
        place = int(rank.rstrip("+"))
        shown[next(name for name, last in _GROUPS if place <= last)] += times
    return "\n".join(f"{name}: {times:,}" for name, times in shown.items() if times) or "-"


def _gaps(curation: Curation) -> Table:
    gaps = curation.gaps
    caption = (
        gaps.note or ""
        if not gaps.measured
        else (
            f"{gaps.gaps:,} of {gaps.questions:,} questions, each by the start of its keyed hash. "
            + "A low best score: in the lowest tenth of its epoch, and nobody judged."
            + (f" {gaps.note}." if gaps.note else "")
        )
    )
    return Table(
        title="Gap queries",
        caption=caption,
        columns=("question", "surfaces", "last seen", "searches", *_GAPS.values(), "useful"),
        rows=tuple(map(_question, gaps.listed)),
        words=3,
    )


def _question(question: Question) -> tuple[str, ...]:
    return (
        question.query_key[:16],
        ", ".join(surface or "(not said)" for surface in question.surfaces),
        _day(question.last_seen),
        f"{question.searches:,}",
        *(f"{question.outcomes[outcome]:,}" for outcome in _GAPS),
        f"{question.outcomes['useful']:,}",
    )


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
