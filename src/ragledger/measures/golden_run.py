"""What a retriever made of a golden set: the report of `ragledger golden run`, and what `ragledger gate` checks.

    schema, golden{name, content_hash, unit, questions, cases}, useful_from
    asked, failed{class: n}, empty, without_id    questions that raised are in no measure; items without an id in none
    embedding   models, unavailable, unknown      questions by what is known of the embedding provider
    measures    {name: {value, n, low, high}}     means over questions; `n` have a value, the others are undefined there
    useful_in_first  {k: {n, of, low, high}}      cases with something useful in the first k
    questions   [{id, error, returned, first_useful, measures}]

*cases* are the questions for which something useful is known. Ids, never texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ragledger.model import Outcome

from .golden_set import GRADES, GoldenSet
from .precision import CUTS
from .relevance import MEASURES, Interval, first_useful, measured, share, summed
from .tables import NOT_MEASURED, Table

__all__ = ["Embedding", "Found", "Golden", "RunReport", "heading", "report", "tables"]


class Found(Struct, frozen=True, kw_only=True):
    """What one question brought."""

    ids: tuple[str | None, ...] = ()
    error: str | None = None
    vector_available: bool | None = None


class Golden(Struct, frozen=True, kw_only=True):
    """Which set it was."""

    name: str
    content_hash: str
    unit: str
    questions: int
    cases: int


class Embedding(Struct, frozen=True, kw_only=True):
    """The models that were heard of; questions without the provider, and those of which nobody told."""

    models: tuple[str, ...]
    unavailable: int
    unknown: int


class Value(Struct, frozen=True, kw_only=True):
    """A mean over `n` questions, with its interval of 95 %; null where there are too few of them, or nothing varies."""

    value: float | None
    n: int
    low: float | None
    high: float | None


class Count(Struct, frozen=True, kw_only=True):
    """`n` of `of` cases, with the interval of 95 % of that share."""

    n: int
    of: int
    low: float | None
    high: float | None


class OfQuestion(Struct, frozen=True, kw_only=True):
    """One question; `first_useful` is a rank, None where nothing useful was returned."""

    id: str
    error: str | None
    returned: int
    first_useful: int | None
    measures: dict[str, float | None]


class RunReport(Struct, frozen=True, kw_only=True):
    """Everything about one run."""

    schema: int = 1
    golden: Golden
    useful_from: Outcome
    asked: int
    failed: dict[str, int]
    empty: int
    without_id: int
    embedding: Embedding
    measures: dict[str, Value]
    useful_in_first: dict[int, Count]
    questions: tuple[OfQuestion, ...]

    def first_useful(self) -> dict[str, int | None]:
        """By case, the rank of the first useful one."""
        return {each.id: each.first_useful for each in self.questions if each.measures["RR"] is not None}


def report(
    golden: GoldenSet,
    digest: str,
    found: Mapping[str, Found],
    models: Sequence[str],
    useful_from: Outcome = "relevant",
) -> RunReport:
    """Measures what was found, by question id. Needs the extra `analysis`."""
    cut = GRADES[useful_from]
    run = {name: _named(each.ids) for name, each in found.items() if each.error is None}
    values = measured({question.id: question.grades() for question in golden.questions}, run, cut)
    useful = {question.id: question.useful(cut) for question in golden.questions}
    questions = tuple(
        OfQuestion(
            id=name,
            error=each.error,
            returned=len(each.ids),
            first_useful=first_useful(run.get(name, ()), useful[name]),
            measures=values.get(name, dict.fromkeys(MEASURES)),
        )
        for name, each in found.items()
    )
    cases = [each for each in questions if useful[each.id] and each.error is None]
    return RunReport(
        golden=_about(golden, digest, cut),
        useful_from=useful_from,
        asked=len(found),
        failed=dict(sorted(Counter(each.error for each in found.values() if each.error).items())),
        empty=sum(not each.ids for each in found.values() if each.error is None),
        without_id=sum(each.ids.count(None) for each in found.values()),
        embedding=Embedding(
            models=tuple(sorted(models)),
            unavailable=sum(each.vector_available is False for each in found.values()),
            unknown=sum(each.vector_available is None for each in found.values()),
        ),
        measures={name: _value(name, [each[name] for each in values.values()]) for name in MEASURES},
        useful_in_first={k: _count(cases, k) for k in CUTS},
        questions=questions,
    )


def _about(golden: GoldenSet, digest: str, cut: int) -> Golden:
    return Golden(
        name=golden.name,
        content_hash=digest,
        unit=golden.unit,
        questions=len(golden.questions),
        cases=len(golden.answerable(cut)),
    )


def heading(found: RunReport) -> tuple[str, ...]:
    """What was asked, as lines above the tables."""
    embedding = found.embedding
    failed = ", ".join(f"{n} {name}" for name, n in found.failed.items())
    lines = [
        f"golden set {found.golden.name}, {found.golden.content_hash[:19]}: {found.golden.questions} questions, "
        f"{found.golden.cases} with a useful {found.golden.unit}",
        f"useful means of grade {found.useful_from} or better; {found.empty} questions came back empty",
        f"embedding model {', '.join(embedding.models) or 'not known'}; the provider was unavailable for "
        f"{embedding.unavailable} questions, and nobody told for {embedding.unknown}",
    ]
    if failed:
        lines.append(f"failed, and in no number below: {failed}")
    if found.without_id:
        lines.append(f"{found.without_id} items came back without an id: nobody can judge them")
    return tuple(lines)


def tables(found: RunReport) -> tuple[Table, ...]:
    """The report in reading order."""
    return (
        Table(
            title="Relevance",
            caption=(
                "Means over the questions for which the measure is defined. P@k counts what is not judged as not useful: "
                "read Judged@10 beside it. Condensed: what is not judged was taken out of the list first."
            ),
            columns=("", "mean", "95 % interval", "questions"),
            rows=tuple(
                (
                    name,
                    NOT_MEASURED if value.value is None else f"{value.value:.3f}",
                    _interval(value.low, value.high),
                    str(value.n),
                )
                for name, value in found.measures.items()
            ),
        ),
        Table(
            title="Questions answered",
            caption="Questions with something useful in the first k, of those for which something useful is known.",
            columns=("first k", "questions", "95 % interval"),
            rows=tuple(
                (str(k), f"{count.n} of {count.of}", _interval(count.low, count.high))
                for k, count in found.useful_in_first.items()
            ),
        ),
    )


def _named(ids: Sequence[str | None]) -> list[str]:
    """An item without an id keeps its place, as something that nobody judged."""
    return [each if each is not None else f"\0{place}" for place, each in enumerate(ids)]


def _value(measure: str, values: Sequence[float | None]) -> Value:
    found = summed(measure, values)
    low, high = found.interval or (None, None)
    return Value(value=found.value, n=found.n, low=low, high=high)


def _count(cases: Sequence[OfQuestion], k: int) -> Count:
    n = sum(case.first_useful is not None and case.first_useful <= k for case in cases)
    found: Interval | None = share(n, len(cases))
    low, high = found or (None, None)
    return Count(n=n, of=len(cases), low=low, high=high)


def _interval(low: float | None, high: float | None) -> str:
    return NOT_MEASURED if low is None or high is None else f"{low:.3f} to {high:.3f}"
