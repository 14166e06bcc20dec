"""`ragledger golden`: judged questions, frozen; what a retriever makes of them; how far they have come from what is asked.

Exit code of `drift` 1 when judgments are contradicted or about something that is gone, 2 when neither could be measured;
of `run` 1 when a question failed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, Optional

import msgspec
import typer

from ragledger.analyses import golden_files, golden_import
from ragledger.analyses.golden_drift import drift_of
from ragledger.analyses.golden_votes import Recipe, build, query_key
from ragledger.analyses.retrievers import retriever_named
from ragledger.asking import Voted, ask_all, report_of, vote
from ragledger.errors import UnusableJudgments
from ragledger.keys import load_key
from ragledger.measures.agreement import Rule
from ragledger.measures.drift import Drift
from ragledger.measures.golden_set import GRADES, GoldenSet, Unit
from ragledger.measures.report import Window
from ragledger.model import ActorKind, Outcome
from ragledger.settings import config_home
from ragledger.wiring import Target

from .golden_options import (
    GradeOption,
    IdsOption,
    MinAgreementOption,
    MinVotesOption,
    NameOption,
    QuestionsOption,
    ReplaceOption,
    SourceOption,
    StoredTextsOption,
    TopicsOption,
    UnitOption,
    VoteOption,
    VoterOption,
    grades_of,
    refuse_unused,
)
from .golden_run import GoldenArgument, NoRecordOption, RetrieverOption, asking, needs_analysis
from .session import DsnOption, JsonOption, SchemaOption, as_pretty_json, connected, open_target
from .windows import (
    ActorKinds,
    CorpusOption,
    ProjectOption,
    SinceOption,
    SurfaceOption,
    Units,
    UntilOption,
    UsefulFrom,
    UsefulOption,
    window_of,
)

__all__ = ["golden_app"]

golden_app = typer.Typer(
    help="Judged questions, frozen: make a set, ask it of a retriever, compare it with what is asked now. Each takes --json.",
    epilog="Example: ragledger golden run golden.json --retriever app.search:retriever",
    no_args_is_help=True,
    rich_markup_mode=None,
)
OutArgument = Annotated[Path, typer.Argument(help="The file to write.")]


@golden_app.command("build")
def build_command(  # noqa: PLR0913  one parameter per option of the command line
    context: typer.Context,
    out: OutArgument,
    questions: QuestionsOption = None,
    stored_texts: StoredTextsOption = False,  # noqa: FBT002
    source: SourceOption = None,
    topics: TopicsOption = None,
    grade: GradeOption = None,
    unit: UnitOption = Units.chunk,
    voter: VoterOption = None,
    min_votes: MinVotesOption = None,
    min_agreement: MinAgreementOption = None,
    name: NameOption = None,
    replace: ReplaceOption = False,  # noqa: FBT002
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    project: ProjectOption = None,
    surface: SurfaceOption = None,
    corpus: CorpusOption = None,
    since: SinceOption = "90d",
    until: UntilOption = None,
    useful_from: UsefulOption = UsefulFrom.relevant,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Freeze judged questions into a file: from the votes of a window, or from a file with --from.

    The table holds no text: that of the questions comes from --questions FILE, or from search_texts with --stored-texts.

    Example: ragledger golden build golden.json --questions asked.txt --since 90d --min-votes 2
    """
    refuse_unused(context)
    called = name or out.stem
    if source is not None:
        about = golden_import.About(called, unit.value, corpus)
        golden = golden_import.imported(source, topics, about, grades_of(grade or []))
    else:
        window = window_of(project=project, surface=surface, corpus=corpus, since=since, until=until)
        recipe = _recipe(unit.value, voter, _rule({}, min_votes, min_agreement, useful_from.value), {})
        golden = _from_votes(open_target(dsn, schema), window, recipe, called, questions)
    _say_built(golden, golden_files.save(golden, out, replace=replace), out, as_json=as_json)


@golden_app.command("run")
def run_command(  # noqa: PLR0913  one parameter per option of the command line
    golden_file: GoldenArgument,
    retriever: RetrieverOption,
    out: Annotated[
        Optional[Path],  # noqa: UP045  typer on Python 3.10 reads it at run time
        typer.Option("--out", help="Write the report here too, as JSON."),
    ] = None,
    votes: VoteOption = False,  # noqa: FBT002
    no_record: NoRecordOption = False,  # noqa: FBT002
    useful_from: UsefulOption = UsefulFrom.relevant,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Ask a golden set's questions of a retriever and measure what comes back. Exit code 1 when a question failed.

    Example: ragledger golden run golden.json --retriever app.search:retriever
    """
    from ragledger.measures.golden_run import heading, tables

    if votes and no_record:
        raise typer.BadParameter("--vote needs the searches in the table: not with --no-record")
    needs_analysis("golden run")
    golden, digest = golden_files.load(golden_file)
    named = retriever_named(retriever, Path.cwd())
    with asking(golden) as tick:
        asked = ask_all(golden, named, record=not no_record, tick=tick)
    found = report_of(golden, digest, asked, useful_from.value)
    encoded = msgspec.json.format(msgspec.json.encode(found), indent=2)
    if out is not None:
        _write(out, encoded + b"\n")
    if as_json:
        typer.echo(encoded.decode())
    else:
        from .report_table import show

        show(heading(found), tables(found))
    if votes:
        typer.echo(_voted(vote(golden, asked)), err=True)
    raise typer.Exit(1 if found.failed else 0)


@golden_app.command("drift")
def drift_command(  # noqa: PLR0913  one parameter per option of the command line
    golden_file: GoldenArgument,
    ids: IdsOption = None,
    voter: VoterOption = None,
    min_votes: MinVotesOption = None,
    min_agreement: MinAgreementOption = None,
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    project: ProjectOption = None,
    surface: SurfaceOption = None,
    corpus: CorpusOption = None,
    since: SinceOption = "30d",
    until: UntilOption = None,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Compare a golden set with the votes and questions of a later window, and with the corpus as it is now.

    Exit code 1 when later votes contradict a judgment, or a judged item is gone; 2 when neither could be measured.

    Example: ragledger golden drift golden.json --since 30d
    """
    golden, _ = golden_files.load(golden_file)
    window = window_of(project=project, surface=surface, corpus=corpus, since=since, until=until)
    made = golden.provenance
    rule = _rule(made, min_votes, min_agreement, made.get("useful_from", "relevant"))
    recipe = _recipe(golden.unit, voter, rule, made)
    there = golden_import.ids_of(ids) if ids is not None else None
    with open_target(dsn, schema) as target:
        key = load_key(target.settings.key, config_home(os.environ))
        with connected(target) as connection:
            found = drift_of(connection, golden, window, recipe, key=key, ids=there)
    if as_json:
        typer.echo(as_pretty_json(found))
    else:
        for line in _drift_lines(found):
            typer.echo(line)
    raise typer.Exit(int(found.has_drifted) if found.is_measured else 2)


def _write(out: Path, content: bytes) -> None:
    try:
        out.write_bytes(content)
    except OSError as exc:
        raise UnusableJudgments(f"{out} cannot be written ({type(exc).__name__})") from None


def _rule(
    made: Mapping[str, Any], min_votes: int | None, min_agreement: float | None, useful: Outcome
) -> Rule:
    """As asked for, else as the set was made."""
    return Rule(
        made.get("min_votes", 2) if min_votes is None else min_votes,
        made.get("min_agreement", 0.7) if min_agreement is None else min_agreement,
        GRADES[useful],
    )


def _recipe(unit: Unit, voter: list[ActorKinds] | None, rule: Rule, made: Mapping[str, Any]) -> Recipe:
    kinds: tuple[ActorKind, ...] = tuple(dict.fromkeys(each.value for each in voter or ()))
    return Recipe(unit, kinds or tuple(made.get("voters", ("human",))), rule)


def _from_votes(
    opening: AbstractContextManager[Target], window: Window, recipe: Recipe, name: str, questions: Path | None
) -> GoldenSet:
    with opening as target:
        key = load_key(target.settings.key, config_home(os.environ))
        texts = None
        if questions is not None:
            texts = {query_key(text, key): text for text in golden_import.question_texts(questions)}
        with connected(target) as connection:
            return build(connection, window, recipe, name=name, texts=texts, key=key)


def _say_built(golden: GoldenSet, digest: str, out: Path, *, as_json: bool) -> None:
    judgments = sum(len(question.judgments) for question in golden.questions)
    if as_json:
        built = {
            "file": str(out),
            "content_hash": digest,
            "questions": len(golden.questions),
            "judgments": judgments,
        }
        typer.echo(msgspec.json.encode(built | {"provenance": golden.provenance}).decode())
        return
    typer.echo(
        f"{out}: {len(golden.questions):,} questions with {judgments:,} judged {golden.unit}s, {digest}"
    )
    for reason, n in golden.provenance.get("left_out", {}).items():
        if n:
            typer.echo(f"  left out: {n:,} {reason.replace('_', ' ')}")


def _voted(counts: Voted) -> str:
    unvoted = [(counts.not_recorded, "not recorded"), (counts.several, "recorded as more than one search")]
    rest = "".join(f"; {n:,} questions were {why}" for n, why in unvoted if n)
    return f"{counts.votes:,} votes of kind judge{rest}"


def _drift_lines(found: Drift) -> list[str]:
    lines = []
    for name in ("contradicted", "vanished", "not_asked"):
        if name in found.reasons:
            lines.append(f"{name.replace('_', ' ')}: not measured: {found.reasons[name]}")
    if found.contradicted is not None:
        lines.append(
            f"{len(found.contradicted)} of {found.judged_again} judgments that were voted on again are contradicted, "
            f"{found.regraded} have another grade on the same side"
        )
        lines += [
            f"  question {each.question}, {each.id}: grade {each.grade}, now {each.now} "
            f"({each.votes} votes, agreement {each.agreement:.2f})"
            for each in found.contradicted
        ]
    if found.vanished is not None:
        hopeless = found.vanished.questions_without_a_useful_one
        lines.append(
            f"{len(found.vanished.ids)} of {found.vanished.of} judged items are gone; "
            f"{len(hopeless)} questions have no useful one left"
        )
        lines += [f"  gone: {each}" for each in found.vanished.ids]
        lines += [f"  question {each} has no useful one left" for each in hopeless]
    if found.not_asked is not None:
        lines.append(
            f"{len(found.not_asked)} of {found.questions} questions were not asked in the window; "
            f"{found.new} others were"
        )
    return lines
