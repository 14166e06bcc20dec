"""What votes let us conclude, as tables of text: agreement, the diagnosis, the worth of assessments."""

from __future__ import annotations

from ragledger.model import ActorKind

from .cells import NOT_MEASURED, Table, count, spanned
from .report import Measurement
from .voted import Agreement, Assessment, Diagnosis
from .worth import Worth

__all__ = ["agreement_table", "assessment_table", "diagnosis_table"]

_VERDICTS = {
    "order_is_good": "the order is good",
    "weights_are_wrong": "the weights are wrong",
    "index_is_poor": "the index is poor",
    "order_says_little": "the order says little",
    "not_enough_votes": "not enough votes to say",
}
_WORTH = {
    "calibrated": "calibrated: the value is about the share of useful hits",
    "ranks_at_least": "ranks; too few votes to say whether its values are probabilities",
    "ranks": "ranks, but its values are not probabilities",
    "does_not_predict": "does not predict the votes",
    "predicts_backwards": "is lower where votes are better",
    "not_enough_votes": "not enough votes to say",
}
_KAPPA_WORDS = ((0.8, "nearly always"), (0.6, "mostly"), (0.4, "somewhat"), (0.2, "little"))


def agreement_table(measurement: Measurement) -> list[Table]:
    """Of every two kinds of voters that judged the same hits."""
    found = measurement.agreement
    if not found:
        return []
    return [
        Table(
            title="Agreement between voters",
            means=" ".join(map(_in_words, found)),
            caption=(
                "Hits that both kinds judged, each with the verdict of most of its voters; split ones have none. Equal: the same "
                "verdict. Kappa: what is left of it above chance, 1 is the same everywhere and 0 no better than guessing."
            ),
            columns=("voters", "hits", "split", "searches", "equal", "one only", "other only", "kappa"),
            rows=tuple(
                (
                    f"{one.first} and {one.second}",
                    count(one.hits),
                    count(one.split),
                    count(one.searches),
                    spanned(one.share, one.interval),
                    count(one.first_only),
                    count(one.second_only),
                    spanned(one.kappa, one.kappa_interval),
                )
                for one in found
            ),
        )
    ]


def _in_words(one: Agreement) -> str:
    names = f"{one.first} and {one.second}"
    if one.share is None:
        return f"{names}: no hit on which both have a verdict."
    if one.kappa is None:
        return (
            f"{names} said the same of {one.share:.0%} of the hits, which says nothing: all had one verdict."
        )
    word = next((word for least, word in _KAPPA_WORDS if one.kappa >= least), "no more than by chance")
    return f"{names} said the same of {one.share:.0%} of {count(one.hits)} hits: they agree {word}."


def diagnosis_table(measurement: Measurement) -> list[Table]:
    """What the votes per rank say about the retriever, epoch by epoch."""
    found = measurement.diagnosis
    if not found:
        return []
    return [
        Table(
            title="Diagnosis",
            means=" ".join(dict.fromkeys(_advice(one) for one in found)),
            caption=(
                "From votes at ranks 1 to 3 and below, beside what was shown there, for each epoch apart. A conclusion is "
                "drawn only where the intervals carry it (docs/measure.md)."
            ),
            columns=("epoch", "voters", "it says", "because"),
            rows=tuple((one.epoch, one.voter, _verdict(one), "; ".join(one.because)) for one in found),
            words=4,
        )
    ]


def _verdict(one: Diagnosis) -> str:
    if one.verdict == "weights_are_wrong" and one.rank is not None:
        return f"{_VERDICTS[one.verdict]}: the right chunk is at rank {one.rank}"
    return _VERDICTS[one.verdict]


_ADVICE = {
    "order_is_good": "Where the order is good, changing weights gains little.",
    "weights_are_wrong": "Where the weights are wrong, the right chunk is found and stands too low: `ragledger calibrate`.",
    "index_is_poor": "Where the index is poor, no weights help: look at chunks and documents, `ragledger curate`.",
    "order_says_little": "Where the order says little, hits further down are as useful as the first ones.",
    "not_enough_votes": "Where there are not enough votes, nothing is concluded.",
}


def _advice(one: Diagnosis) -> str:
    return _ADVICE[one.verdict]


def assessment_table(measurement: Measurement) -> list[Table]:
    """What each assessment is worth, epoch by epoch."""
    found = measurement.assessments
    if not found:
        return []
    rows: list[tuple[str, ...]] = []
    for one in found:
        cases: list[tuple[ActorKind | None, Worth | None]] = [*one.voters.items()] or [(None, None)]
        rows += [_row(one, kind, worth) for kind, worth in cases]
    return [
        Table(
            title="Assessments",
            means="Whether a signal that needs no votes can stand in for them: only where it predicts them.",
            caption=(
                "AUC: of a search with useful hits at the top and one without, how often the useful one has the higher value; "
                "0.5 is guessing. Useful: at least half of the judged hits at ranks 1 to 3. Searches of one session count "
                "as related."
            ),
            columns=("assessment", "epoch", "voters", "it", "kept", "null", "judged", "useful", "AUC"),
            rows=tuple(rows),
            words=4,
        )
    ]


def _row(one: Assessment, kind: ActorKind | None, worth: Worth | None) -> tuple[str, ...]:
    name = one.name if one.method is None else f"{one.name}\n{one.method}"
    kept = (count(one.searches - one.null), count(one.null))
    if worth is None:
        return name, one.epoch, "", _WORTH["not_enough_votes"], *kept, "0", NOT_MEASURED, NOT_MEASURED
    return (
        name,
        one.epoch,
        str(kind),
        _WORTH[worth.verdict],
        *kept,
        count(worth.searches),
        count(worth.useful),
        spanned(worth.auc, worth.interval),
    )
