"""How far a golden set and what goes on now have come apart.

    vanished       judged items that the corpus no longer has
    contradicted   judgments whose side (useful or not) the voters of a later window agree is the other one
    regraded       the same side, another grade
    not asked      questions of the set that nobody asked in that window; new: those asked that the set does not have

A later judgment counts under the rule that made the set. What cannot be compared is null, with the reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from .agreement import Agreed
from .golden_set import GoldenSet

__all__ = ["Contradicted", "Drift", "Later", "Vanished", "drift"]


_NOT_AGAIN = "the voters of the window agree on no judgment of the set"


class Vanished(Struct, frozen=True, kw_only=True):
    """`ids` of the `of` judged items that are gone, and which questions have no useful one left."""

    ids: tuple[str, ...]
    of: int
    questions_without_a_useful_one: tuple[str, ...]


class Contradicted(Struct, frozen=True, kw_only=True):
    """A judgment, and what the later voters say."""

    question: str
    id: str
    grade: int
    now: int
    votes: int
    agreement: float


class Later(Struct, frozen=True, kw_only=True):
    """What a set is compared with; null where that is not known, with the reason by name of the field of `Drift`.

    `agreed`: what later voters agree on, by question key and item. `asked`: the keys of the questions they asked.
    `there`: the items of the corpus.
    """

    agreed: Mapping[str, Mapping[str, Agreed]] | None
    asked: Collection[str] | None
    there: Collection[str] | None
    reasons: Mapping[str, str]


class Drift(Struct, frozen=True, kw_only=True):
    """Null is not measured; `reasons` says why, by name of the field."""

    judged_again: int | None
    contradicted: tuple[Contradicted, ...] | None
    regraded: int | None
    vanished: Vanished | None
    not_asked: tuple[str, ...] | None
    questions: int
    new: int | None
    reasons: dict[str, str]

    @property
    def is_measured(self) -> bool:
        """Whether anything was found out of what makes a set drift."""
        return self.contradicted is not None or self.vanished is not None

    @property
    def has_drifted(self) -> bool:
        """Whether a judgment is wrong by now, or is about something that is gone."""
        return bool(self.contradicted) or bool(self.vanished and self.vanished.ids)


def drift(golden: GoldenSet, keys: Mapping[str, str], later: Later, cut: int) -> Drift:
    """Compares a set with what goes on.

    Args:
        keys: of the questions of the set, by id; what the later window knows them by.
        cut: the lowest grade that is useful.
    """
    contradicted, judged_again, regraded = _judgments(golden, keys, later.agreed or {}, cut)
    is_judged, asked = judged_again > 0, later.asked
    reasons = dict(later.reasons)
    if not is_judged:
        reasons.setdefault("contradicted", _NOT_AGAIN)
    return Drift(
        judged_again=judged_again if later.agreed is not None else None,
        contradicted=contradicted if is_judged else None,
        regraded=regraded if is_judged else None,
        vanished=_vanished(golden, later.there, cut) if later.there is not None else None,
        not_asked=_not_asked(golden, keys, asked) if asked is not None else None,
        questions=len(golden.questions),
        new=len(set(asked) - set(keys.values())) if asked is not None else None,
        reasons=reasons,
    )


def _judgments(
    golden: GoldenSet, keys: Mapping[str, str], now: Mapping[str, Mapping[str, Agreed]], cut: int
) -> tuple[tuple[Contradicted, ...], int, int]:
    again = regraded = 0
    contradicted = []
    for question in golden.questions:
        later = now.get(keys[question.id], {})
        for judgment in question.judgments:
            verdict = later.get(judgment.id)
            if verdict is None:
                continue
            again += 1
            if (verdict.grade >= cut) != (judgment.grade >= cut):
                contradicted.append(
                    Contradicted(
                        question=question.id,
                        id=judgment.id,
                        grade=judgment.grade,
                        now=verdict.grade,
                        votes=verdict.votes,
                        agreement=verdict.agreement,
                    )
                )
            elif verdict.grade != judgment.grade:
                regraded += 1
    return tuple(contradicted), again, regraded


def _vanished(golden: GoldenSet, there: Collection[str], cut: int) -> Vanished:
    """A judged chunk is there when the corpus has it, or the document that it is a part of."""
    judged: dict[str, bool] = {}
    for question in golden.questions:
        for judgment in question.judgments:
            judged[judgment.id] = judgment.id in there or judgment.document in there
    hopeless = [
        question.id
        for question in golden.answerable(cut)
        if not any(judged[each] for each in question.useful(cut))
    ]
    return Vanished(
        ids=tuple(sorted(each for each, is_there in judged.items() if not is_there)),
        of=len(judged),
        questions_without_a_useful_one=tuple(hopeless),
    )


def _not_asked(golden: GoldenSet, keys: Mapping[str, str], asked: Collection[str]) -> tuple[str, ...]:
    return tuple(question.id for question in golden.questions if keys[question.id] not in asked)
