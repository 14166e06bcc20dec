"""`ragledger compare`: is B better than A, by how much, and may one believe it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import typer

from ragledger.measures.comparison_tables import comparison_heading, comparison_tables, plan_lines
from ragledger.measures.report import Window
from ragledger.model import Outcome

from .compare_options import (
    DEFAULT_K,
    AlphaOption,
    CutOption,
    EffectOption,
    EpochsSinceOption,
    FailOption,
    ForceOption,
    FromOption,
    PlanOption,
    PowerOption,
    SeedOption,
    SideA,
    SideB,
    ToOption,
    VoterOption,
    refuse_ignored,
    side,
)
from .progress import progress
from .report_table import show
from .session import DsnOption, JsonOption, SchemaOption, as_pretty_json, open_connection
from .windows import (
    ActorKinds,
    CorpusOption,
    ProjectOption,
    SurfaceOption,
    UntilOption,
    UsefulFrom,
    UsefulOption,
    window_of,
)

if TYPE_CHECKING:
    from ragledger.analyses.sides import Asked
    from ragledger.measures.comparison_report import Comparison

__all__ = ["compare_command", "is_worse"]


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """What both halves of the command need."""

    dsn: str | None
    schema: str | None
    useful_from: Outcome
    as_json: bool


def compare_command(  # noqa: PLR0913  one parameter per option of the command line
    context: typer.Context,
    a: SideA = None,
    b: SideB = None,
    dsn: DsnOption = None,
    schema: SchemaOption = None,
    project: ProjectOption = None,
    surface: SurfaceOption = None,
    corpus: CorpusOption = None,
    since: EpochsSinceOption = "all",
    until: UntilOption = None,
    useful_from: UsefulOption = UsefulFrom.relevant,
    k: CutOption = None,
    seed: SeedOption = 0,
    force: ForceOption = False,  # noqa: FBT002
    fail_if_worse: FailOption = False,  # noqa: FBT002
    plan: PlanOption = False,  # noqa: FBT002
    share_from: FromOption = None,
    share_to: ToOption = None,
    effect: EffectOption = None,
    power: PowerOption = 0.8,
    alpha: AlphaOption = 0.05,
    voter: VoterOption = ActorKinds.human,
    as_json: JsonOption = False,  # noqa: FBT002
) -> None:
    """Compare two epochs or two windows: difference and interval first, per voter kind and k. Or plan it, with --plan.

    Exit code 0 whatever the result; 2 when it could not be run, such as across a change of the index without --force.

    Example: ragledger compare previous current --project shop; ragledger compare current --plan --effect 0.05
    """
    refuse_ignored(context, plan=plan)
    window = window_of(project=project, surface=surface, corpus=corpus, since=since, until=until)
    where = Where(dsn=dsn, schema=schema, useful_from=useful_from.value, as_json=as_json)
    if plan:
        change = {"share_from": share_from, "share_to": share_to, "effect": effect}
        aim = change | {"power": power, "alpha": alpha, "voter": voter.value, "k": k or DEFAULT_K}
        return _plan(where, _only(a, b, window), aim)
    sides = side(a or "previous", window), side(b or "current", window)
    return _compare(where, sides, {"k": k, "seed": seed, "force": force}, fail_if_worse=fail_if_worse)


def is_worse(comparison: Comparison) -> list[str]:
    """The voter kinds whose verdict is that B is worse."""
    return [str(kind) for kind, said in comparison.voters.items() if said.verdict.word == "worse"]


def _compare(where: Where, sides: tuple[Asked, Asked], how: dict[str, Any], *, fail_if_worse: bool) -> None:
    from ragledger.analyses.comparison import Question, compare

    question = Question(a=sides[0], b=sides[1], useful_from=where.useful_from, **how)
    with open_connection(where.dsn, where.schema) as connection, progress("comparing", "steps") as step:
        comparison = compare(connection, question, step)
    if where.as_json:
        typer.echo(as_pretty_json(comparison))
    else:
        show(comparison_heading(comparison), comparison_tables(comparison))
    if fail_if_worse and (worse := is_worse(comparison)):
        typer.echo(f"ragledger compare: B is worse by {', '.join(worse)} votes", err=True)
        raise typer.Exit(1)


def _plan(where: Where, asked: Asked, aim: dict[str, Any]) -> None:
    from ragledger.analyses.plan import Aim, propose, write

    if (aim["share_to"] is None) == (aim["effect"] is None):
        raise typer.BadParameter("--plan needs --to or --effect, and not both")
    with open_connection(where.dsn, where.schema) as connection:
        try:
            proposal = propose(connection, asked, Aim(**aim), where.useful_from)
        except ValueError as exc:
            raise typer.BadParameter(f"--from, --to, --effect, --power, --alpha: {exc}") from None
        if where.as_json:
            typer.echo(as_pretty_json(proposal))
        else:
            typer.echo("\n".join(plan_lines(proposal.plan, proposal.baseline)))
        write(connection, proposal.plan)
    typer.echo("ragledger compare: the plan was written down", err=True)


def _only(a: str | None, b: str | None, window: Window) -> Asked:
    asked = side(a or "current", window)
    if b is not None or asked.epoch is None:
        raise typer.BadParameter("--plan takes one epoch, the one that a change will be compared with")
    return asked
