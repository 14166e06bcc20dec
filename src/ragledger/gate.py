"""A golden set against a floor that a person wrote, for `ragledger gate` and for an application's own tests.

Either it was run, and passed or not, where a retriever that raises has not; or it could not be run, which is an exception
with a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from .analyses.floor_file import load_floors
from .analyses.golden_files import load
from .asking import Answer, Asked, ask_all, report_of
from .errors import EmbeddingUnavailable, InfraUnavailable, UnusableJudgments
from .measures.floors import Check, check, floor_for
from .measures.golden_run import RunReport
from .measures.golden_set import GRADES
from .model import Outcome

__all__ = ["Gate", "Verdict"]

_MOST_IDS = 10


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether every count reached its floor, with the counts, and the whole run behind them.

    `failed` are the questions for which the retriever itself raised. Where there are any, it did not pass, and no count
    and no model is compared.
    """

    passed: bool
    failed: tuple[str, ...]
    embedding_model: str | None
    checks: tuple[Check, ...]
    run: RunReport

    def lines(self) -> list[str]:
        """In words: the counts, and the ids of the questions that a count below its floor is missing."""
        lines = []
        if self.failed:
            types = ", ".join(
                sorted({each.error for each in self.run.questions if each.id in self.failed and each.error})
            )
            lines.append(
                f"FAIL: the retriever failed for {len(self.failed)} of {self.run.asked} questions "
                f"({types}; {_ids(self.failed)})"
            )
        for each in self.checks:
            lines.append(f"{'pass' if each.passed else 'FAIL'}: {each}")
            if not each.passed:
                lines.append(f"  without: {', '.join(each.without)}")
        return lines


class Gate:
    """A golden set and a floor file.

    Raises:
        UnusableJudgments: one of them cannot be read, or the set was changed after it was frozen.
    """

    def __init__(self, golden: Path | str, floor: Path | str, *, useful_from: Outcome = "relevant") -> None:
        self.golden, self._digest = load(Path(golden))
        self._floors = load_floors(Path(floor))
        self._useful_from: Outcome = useful_from

    def check(
        self,
        retriever: object,
        *,
        embedding_model: str | None = None,
        record: bool = True,
        tick: Callable[[int], None] = lambda _: None,
    ) -> Verdict:
        """Asks every question and compares.

        Args:
            retriever: a LangChain or LlamaIndex retriever, or a callable that gives ids or (id, score) pairs.
            embedding_model: where the searches do not say; `none` where nothing is embedded.
            record: False suppresses the searches that the application's ledger would record.

        Raises:
            EmbeddingUnavailable: the embedding provider was not to be had for a question.
            InfraUnavailable: a database or a system call failed for a question.
            UnusableJudgments: it could not be run for another reason: it is no retriever, or no floor is for this model
                and number of cases. The two above are of this class.
        """
        asked = ask_all(self.golden, retriever, record=record, tick=tick)
        run = report_of(self.golden, self._digest, asked, self._useful_from)
        if asked.broken:
            failed = tuple(answer.question.id for answer in asked.broken)
            return Verdict(passed=False, failed=failed, embedding_model=None, checks=(), run=run)
        _refuse_half_a_run(asked)
        model = _model(asked.embedding_models, embedding_model)
        cases = len(self.golden.answerable(GRADES[self._useful_from]))
        floor = floor_for(self._floors, embedding_model=model, cases=cases, digest=self._digest)
        checks = check(floor, run.first_useful())
        return Verdict(
            passed=all(each.passed for each in checks),
            failed=(),
            embedding_model=model,
            checks=tuple(checks),
            run=run,
        )


def _refuse_half_a_run(asked: Asked) -> None:
    """What a retriever found without its embedding or its database says nothing of how good it is."""
    if asked.without_infra:
        raise InfraUnavailable(_not_run("what the retriever runs on failed", asked.without_infra, asked))
    if asked.unavailable:
        raise EmbeddingUnavailable(
            _not_run("the embedding provider was unavailable", asked.unavailable, asked)
        )


def _not_run(why: str, answers: Sequence[Answer], asked: Asked) -> str:
    types = "".join(f"{name}; " for name in sorted({answer.error for answer in answers if answer.error}))
    named = _ids([answer.question.id for answer in answers])
    return f"the gate could not be run: {why} for {len(answers)} of {len(asked.answers)} questions ({types}{named})"


def _model(heard: set[str], given: str | None) -> str:
    if given is None and not heard:
        raise UnusableJudgments(
            "the embedding model is not known: say it with --embedding-model (`none` without any), or in the retriever "
            "with ragledger.current().declare(embedding_model=...)"
        )
    if len(heard | ({given} if given is not None else set())) > 1:
        said = f", not {given}" if given is not None else ": a floor is for one"
        raise UnusableJudgments(f"the searches ran with embedding model {', '.join(sorted(heard))}{said}")
    return given if given is not None else next(iter(heard))


def _ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
    return ", ".join(ids[:_MOST_IDS]) + more
