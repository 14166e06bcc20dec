"""Plans a comparison with an epoch, writes the plan down, and keeps count of who looked before it was reached."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

import msgspec

from ragledger.errors import NothingToMeasure, SchemaError
from ragledger.ids import new_id
from ragledger.measures.comparison_report import Comparison, Look, Plan, PlanState
from ragledger.measures.planning import Baseline, baseline, look_at, needed, state
from ragledger.model import ActorKind, Outcome
from ragledger.postgres.connection import Connection, by_name, reading
from ragledger.sql import named_queries

from .sides import Asked, read_side, resolved

__all__ = ["Aim", "Planned", "Proposal", "planned", "propose", "with_look", "write"]


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison is to find: from one precision (None: the epoch's own) to another, or by `effect`."""

    voter: ActorKind = "human"
    k: int = 5
    share_from: float | None = None
    share_to: float | None = None
    effect: float | None = None
    power: float = 0.8
    alpha: float = 0.05


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that is not written down yet, and what it was estimated from."""

    plan: Plan
    baseline: Baseline


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A plan that was found, the looks before this one, and what is written of this one."""

    plan: Plan
    other: str
    looks: Sequence[Look]
    may_write: bool


def propose(connection: Connection, asked: Asked, aim: Aim, useful_from: Outcome) -> Proposal:
    """How many votes each side needs to tell the aim from an epoch's precision.

    Raises:
        NothingToMeasure: the epoch has too few votes to estimate from.
        ValueError: the aim names no difference between 0 and 1.
    """
    with reading(connection):
        side = resolved(connection, asked, useful_from)
        facts = read_side(connection, side, useful_from)
    found = baseline(facts, aim.voter, aim.k)
    if found is None or side.epoch is None:
        raise NothingToMeasure(
            f"nothing to plan from: fewer than two searches of {side.name} have {aim.voter} votes in the first {aim.k}"
        )
    share_from = found.precision if aim.share_from is None else aim.share_from
    share_to = share_from + (aim.effect or 0.0) if aim.share_to is None else aim.share_to
    votes, searches = needed(found, share_from, share_to, power=aim.power, alpha=aim.alpha)
    window = side.window
    plan = Plan(
        plan_id=new_id(),
        planned_at=datetime.now(timezone.utc),
        planned_by=_user(connection),
        project=window.project,
        corpus=window.corpus,
        surface=window.surface,
        epoch=side.epoch,
        voter=aim.voter,
        k=aim.k,
        useful_from=useful_from,
        share_from=share_from,
        share_to=share_to,
        power=aim.power,
        alpha=aim.alpha,
        design_effect=found.design_effect,
        votes=votes,
        searches=searches,
    )
    return Proposal(plan=plan, baseline=found)


def write(connection: Connection, plan: Plan) -> None:
    """Writes a plan down.

    Raises:
        SchemaError: this user may not.
    """
    if not _may_write(connection):
        raise SchemaError(
            "the plan was not written down: this user may not insert into `plans`; GRANT ragledger_collector TO it"
        )
    connection.execute(named_queries("plan")["write_plan"], msgspec.structs.asdict(plan))


def planned(connection: Connection, a: Asked, b: Asked, useful_from: Outcome) -> Planned | None:
    """The latest plan for A under the same filters, with the looks that were taken at B."""
    if a.epoch is None:
        return None
    queries = named_queries("plan")
    window = a.window
    filters = {"project": window.project, "corpus": window.corpus, "surface": window.surface}
    asked = {**filters, "epoch": a.epoch, "useful_from": useful_from}
    rows = list(by_name(connection.execute(queries["plan_of"], asked)))
    if not rows:
        return None
    plan = msgspec.convert(rows[0], Plan)
    other = b.epoch or f"{b.window.since or 'all'}..{b.window.until or 'now'}"
    looks = by_name(connection.execute(queries["looks"], {"plan_id": plan.plan_id, "other": other}))
    return Planned(
        plan=plan,
        other=other,
        looks=[msgspec.convert(row, Look) for row in looks],
        may_write=_may_write(connection),
    )


def with_look(connection: Connection, comparison: Comparison, found: Planned) -> Comparison:
    """The comparison with the state of its plan; the look is written down where it is one and this user may."""
    votes = look_at(found.plan, comparison)
    known = any((look.votes_a, look.votes_b) == votes for look in found.looks)
    if found.may_write and not known and all(votes):
        look = {"plan_id": found.plan.plan_id, "look_id": new_id(), "other": found.other}
        look |= {"looked_at": datetime.now(timezone.utc), "votes_a": votes[0], "votes_b": votes[1]}
        connection.execute(named_queries("plan")["write_look"], look)
    told: PlanState = state(found.plan, votes, found.looks, written=found.may_write)
    return msgspec.structs.replace(comparison, plan=told)


def _may_write(connection: Connection) -> bool:
    row = connection.execute(named_queries("plan")["may_write"]).fetchone()
    return bool(row and row[0])


def _user(connection: Connection) -> str:
    row = connection.execute(named_queries("plan")["user"]).fetchone()
    return str(row[0]) if row else ""
