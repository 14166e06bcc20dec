"""What votes say, as tables of text. The words for each number are here; what a number means exactly is in `report.py`."""

from __future__ import annotations

from collections.abc import Mapping

from ragledger.model import ActorKind

from .cells import NOT_MEASURED, Table, amount, count, percent, share, span, spanned
from .report import Measurement
from .verdict_tables import agreement_table, assessment_table, diagnosis_table
from .voted import At, Feedback, Mean, Part, Voter

__all__ = ["vote_tables"]

_WORDS_AT = 3
"""The k that is said in words."""


def vote_tables(measurement: Measurement) -> list[Table]:
    """Everything that votes made, in reading order."""
    voters = [kind for kind, voter in measurement.precision.overall.items() if voter.votes]
    found = [_precision(measurement, voters), *_by_part(measurement, voters)]
    found += _order(measurement, voters)
    found += [*_ranks(measurement, voters), _funnel(measurement, voters)]
    found += agreement_table(measurement)
    found += diagnosis_table(measurement)
    found += assessment_table(measurement)
    return found


def _precision(measurement: Measurement, voters: list[ActorKind]) -> Table:
    found, order = measurement.precision, measurement.precision.order
    dropped = sum(voter.not_delivered for voter in found.overall.values())
    judged = [(str(kind), found.overall[kind]) for kind in voters] or [("anyone", found.overall["human"])]
    return Table(
        title=f"Precision{_pooled(measurement)}",
        means=" ".join(_in_words(name, voter) for name, voter in judged),
        caption=(
            "precision@k: useful / judged among the first k hits; a hit with several voters counts once, as the share who found "
            "it useful. Interval: votes on one search, or by one of few voters, count as related. Per search: the mean of each "
            "search's own precision, so that long lists of votes weigh no more, and how many searches have one. Judged "
            "share: how much of what was shown the votes speak for; the rest is unknown, not bad. Bounds: if all of it were "
            "useless, or useful. Thin: fewer than 30 judged hits or 20 searches. "
            f"Order: {count(order.delivered)} searches as delivered to the prompt, {count(order.retriever)} as retrieved."
            + (f" Judged, but not delivered and so in no k: {count(dropped)} hits." if dropped else "")
        ),
        columns=(
            "voters",
            "k",
            "precision",
            "useful",
            "judged",
            "shown",
            "judged share",
            "bounds",
            "per search",
        ),
        rows=tuple(_precision_row(kind, k, at) for kind, voter in judged for k, at in voter.at.items()),
    )


def _precision_row(kind: str, k: int, at: At) -> tuple[str, ...]:
    of = at.macro.searches + at.macro.without
    return (
        kind,
        str(k),
        "\n".join([spanned(at.precision, at.interval), *_trust(at)]),
        amount(at.useful),
        count(at.judged),
        count(at.shown),
        percent(at.judged_share),
        span(at.bounds),
        f"{spanned(at.macro.mean, at.macro.interval)}\n{count(at.macro.searches)} of {count(of)}",
    )


def _trust(at: At) -> list[str]:
    """What a reader must know before believing the number."""
    notes = []
    if at.judged and at.actors == 1:
        notes.append("one voter's opinion")
    elif at.clustered_by == "actor":
        notes.append(f"by {at.actors} voters")
    if at.judged and at.thin:
        notes.append("thin")
    return [", ".join(notes)] if notes else []


def _in_words(name: str, voter: Voter) -> str:
    at = voter.at[_WORDS_AT]
    if at.precision is None:
        return f"Nobody judged any of the first {_WORDS_AT} hits, so nothing is known of their use ({name})."
    between = f", somewhere between {at.interval.low:.0%} and {at.interval.high:.0%}" if at.interval else ""
    few = " That is one voter's opinion." if at.actors == 1 else ""
    return (
        f"Of the hits that {name} voters judged among the first {_WORDS_AT}, {at.precision:.0%} are useful{between} "
        f"({count(at.judged)} of {count(at.shown)} shown were judged).{few}"
    )


def _pooled(measurement: Measurement) -> str:
    across = measurement.precision.across
    named = (
        (across.epochs, "epochs"),
        (across.actor_kinds, "kinds of asking actors"),
        (across.surfaces, "surfaces"),
    )
    pooled = [f"{n} {what}" for n, what in named if n > 1]
    if not pooled:
        return ""
    return f", across {', '.join(pooled[:-1])}{' and ' if len(pooled) > 1 else ''}{pooled[-1]}"


def _by_part(measurement: Measurement, voters: list[ActorKind]) -> list[Table]:
    """What the overall numbers pool, apart. Nothing to tell apart, or no votes: no table."""
    found = measurement.precision
    parts: list[tuple[str, str, Mapping[str, Part]]] = []
    if found.across.epochs > 1:
        parts.append(("epoch", "epoch", found.by_epoch))
    if found.across.actor_kinds > 1:
        by_kind = {str(kind): part for kind, part in found.by_actor_kind.items()}
        parts.append(("who asked", "asked by", by_kind))
    if found.across.surfaces > 1:
        by_surface = {part.surface or "(not said)": part for part in found.by_surface}
        parts.append(("surface", "surface", by_surface))
    return [
        Table(
            title=f"Precision by {what}",
            means="What the table above mixes. Intervals that overlap widely are no difference: `ragledger compare` tests it.",
            caption="precision@k with its interval, and below it useful / judged of shown.",
            columns=("voters", column, *(f"@{k}" for k in measurement.cuts)),
            rows=tuple(
                (kind, name, *(_with_counts(at) for at in part.voters[kind].at.values()))
                for kind in voters
                for name, part in named.items()
            ),
            words=2,
        )
        for what, column, named in parts
        if voters
    ]


def _with_counts(at: At) -> str:
    counts = f"{amount(at.useful)}/{count(at.judged)} of {count(at.shown)}"
    return "\n".join([spanned(at.precision, at.interval), counts, *_trust(at)])


def _order(measurement: Measurement, voters: list[ActorKind]) -> list[Table]:
    found = measurement.precision
    parts: list[tuple[str, ActorKind, Mean, Mean]] = [
        ("all", kind, found.overall[kind].ndcg, found.overall[kind].bpref) for kind in voters
    ]
    if found.across.epochs > 1:
        parts += [
            (f"epoch {name}", kind, part.voters[kind].ndcg, part.voters[kind].bpref)
            for kind in voters
            for name, part in found.by_epoch.items()
        ]
    if not any(ndcg.searches or bpref.searches for _, _, ndcg, bpref in parts):
        return []
    return [
        Table(
            title=f"Order of what was judged{_pooled(measurement)}",
            means="1 is the best order of the judged hits: the better ones first. It says nothing of what was not found.",
            caption=(
                "nDCG': better grades first, over the judged hits alone. bpref: how seldom a useless hit stands above a useful "
                "one. The mean over searches that have hits of different use, with its interval; other searches with votes do not "
                "define it."
            ),
            columns=("", "voters", "nDCG'", "searches", "undefined", "bpref", "searches", "undefined"),
            rows=tuple(
                (
                    name,
                    kind,
                    *(
                        cell
                        for one in (ndcg, bpref)
                        for cell in (spanned(one.mean, one.interval), count(one.searches), count(one.without))
                    ),
                )
                for name, kind, ndcg, bpref in parts
            ),
            words=2,
        )
    ]


def _ranks(measurement: Measurement, voters: list[ActorKind]) -> list[Table]:
    found = measurement.ranks
    shown = [at for at in (*found.at, found.beyond) if at.shown]

    def table(title: str, kind: ActorKind) -> Table:
        return Table(
            title=f"{title}{_pooled(measurement)}",
            means="Where useful hits stand. A rank that hardly anybody judged is unknown, not bad.",
            caption=(
                "People judge what they see: read votes beside what was shown and accessed there. Share: useful / judged at "
                "that rank."
            ),
            columns=("rank", "shown", "accessed", "judged", "judged share", "useful", "share"),
            rows=tuple(
                (
                    f"beyond {found.top}" if at.rank is None else str(at.rank),
                    count(at.shown),
                    _accessed(said.accessed if voters else at.accessed),
                    count(said.judged),
                    percent(said.judged / at.shown),
                    _useful(said),
                    share(said.useful / said.judged if said.judged else None),
                )
                for at in shown
                for said in (at.voters[kind],)
            ),
        )

    return [table(f"Ranks, judged by {kind}", kind) for kind in voters] or [table("Ranks", "human")]


def _funnel(measurement: Measurement, voters: list[ActorKind]) -> Table:
    funnel, said = measurement.funnel, measurement.precision.overall
    rows = [
        ("anyone", count(funnel.retrieved), _part(funnel.accessed, funnel.accessed_rate), *[""] * 4),
    ]
    rows += [
        (
            str(kind),
            count(funnel.retrieved),
            _part(reached.accessed, reached.accessed_rate),
            _part(reached.judged, reached.judged_rate),
            _useful(reached)
            if reached.useful_rate is None
            else f"{_useful(reached)} ({reached.useful_rate:.1%})",
            count(said[kind].votes),
            count(said[kind].actors),
        )
        for kind, reached in funnel.voters.items()
        if reached.accessed or kind in voters
    ]
    judged = sum(reached.judged for reached in funnel.voters.values())
    return Table(
        title=f"Funnel{_pooled(measurement)}",
        means=(
            f"{count(funnel.retrieved)} hits were returned, "
            + (
                "whether any was accessed is not recorded, "
                if funnel.accessed is None
                else f"{count(funnel.accessed)} were accessed, "
            )
            + ("and nobody judged any." if not judged else "and some were judged.")
        ),
        caption=(
            "How far hits came. Accessed and judged: of what was retrieved; useful: of what was judged. Each is a count of its "
            "own: a hit can be judged without having been accessed."
        ),
        columns=("by", "retrieved", "accessed", "judged", "useful", "votes", "actors"),
        rows=tuple(rows),
    )


def _accessed(accessed: int | None) -> str:
    return NOT_MEASURED if accessed is None else count(accessed)


def _part(n: int | None, value: float | None) -> str:
    return _accessed(n) if value is None else f"{_accessed(n)} ({value:.1%})"


def _useful(said: Feedback) -> str:
    return amount(said.useful) if said.judged else NOT_MEASURED
