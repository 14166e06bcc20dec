"""The options of `ragledger compare`, and the sides that its arguments name."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated, Optional

import msgspec
import typer

from ragledger.measures.precision import CUTS
from ragledger.measures.report import Window

from .session import needing
from .windows import ActorKinds, moment

if TYPE_CHECKING:
    from ragledger.analyses.sides import Asked

__all__ = [
    "DEFAULT_K",
    "AlphaOption",
    "CutOption",
    "EffectOption",
    "EpochsSinceOption",
    "FailOption",
    "ForceOption",
    "FromOption",
    "PlanOption",
    "PowerOption",
    "SeedOption",
    "SideA",
    "SideB",
    "ToOption",
    "VoterOption",
    "refuse_ignored",
    "side",
]

SideA = Annotated[
    Optional[str],  # noqa: UP045  typer on Python 3.10 reads it at run time
    typer.Argument(
        help="What was: an epoch (its id or the beginning of it, `previous`, `current`), or a window such as "
        "`2026-01-01..2026-02-01`, `14d..7d` or `7d..` (the end is exclusive). Default `previous`; with --plan `current`."
    ),
]
SideB = Annotated[
    Optional[str],  # noqa: UP045
    typer.Argument(help="What it is compared with, in the same forms. Default `current`."),
]
EpochsSinceOption = Annotated[
    str, typer.Option("--since", help="From when searches of epochs count, as in `measure`. Default all.")
]
DEFAULT_K = 5


def _cut(k: int | None) -> int | None:
    if k is not None and k not in CUTS:
        raise typer.BadParameter(f"one of {', '.join(map(str, CUTS))}")
    return k


CutOption = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        "--k", callback=_cut, help="Which of 1, 3, 5, 10 the verdict is about. Default the plan's, else 5."
    ),
]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Compare also where index version or embedding model changed.")
]
FailOption = Annotated[
    bool,
    typer.Option(
        "--fail-if-worse",
        help="Exit code 1 when the verdict of a voter kind is that B is worse.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of the shuffles.")]
PlanOption = Annotated[
    bool, typer.Option("--plan", help="Compute how many votes a comparison with A needs, and write it down.")
]
FromOption = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--from", help="With --plan: the precision to start from. Default A's own."),
]
ToOption = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--to", help="With --plan: the precision that must not be missed."),
]
EffectOption = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--effect", help="With --plan: the same as a difference, 0.05 is 5 points."),
]
PowerOption = Annotated[
    float, typer.Option("--power", help="With --plan: how surely such a difference is to be found.")
]
AlphaOption = Annotated[
    float, typer.Option("--alpha", help="With --plan: how often one may be found where there is none.")
]


VoterOption = Annotated[ActorKinds, typer.Option("--voter", help="With --plan: whose votes.")]


_PLANNING = {"share_from": "--from", "share_to": "--to"} | {
    name: f"--{name}" for name in ("effect", "power", "alpha", "voter")
}
_COMPARING = {"seed": "--seed", "force": "--force", "fail_if_worse": "--fail-if-worse"}


def refuse_ignored(context: typer.Context, *, plan: bool) -> None:
    """Refuses an option that would change nothing.

    Raises:
        typer.BadParameter: one of planning without --plan, or one of comparing with it.
    """
    for name, option in (_COMPARING if plan else _PLANNING).items():
        source = context.get_parameter_source(name)
        if source is not None and source.name not in {"DEFAULT", "DEFAULT_MAP"}:
            raise typer.BadParameter(f"{option} {'does nothing with' if plan else 'is for'} --plan")


def side(text: str, window: Window) -> Asked:
    """The side that an argument names, within the filters of `window`; a window of its own replaces the bounds.

    Raises:
        typer.BadParameter: a bound that cannot be read, or a window that ends before it begins.
        ConfigError: numpy is not installed.
    """
    _with_analysis()
    from ragledger.analyses.sides import Asked

    since, dots, until = text.partition("..")
    if not dots:
        return Asked(name=text, window=window, epoch=text)
    now = datetime.now(timezone.utc)
    try:
        bounds = [_bound(bound, now) for bound in (since, until)]
        own = msgspec.structs.replace(window, since=bounds[0], until=bounds[1])
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"a window is written `2026-01-01..2026-02-01`, `14d..7d` or `7d..` and begins before it ends, not {text!r}"
        ) from None
    return Asked(name=text, window=own)


def _with_analysis() -> None:
    """Refuses clearly where the extra `analysis` is missing.

    Raises:
        ConfigError: numpy is not installed.
    """
    with needing("analysis", "ragledger compare"):
        import numpy  # noqa: F401, ICN001


def _bound(text: str, now: datetime) -> datetime | None:
    return moment(text, now) if text else None
