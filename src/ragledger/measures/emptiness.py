"""What every command says where it finds nothing: what was asked for, and what there is instead, in one sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from msgspec import Struct

__all__ = ["There", "nothing"]

_LISTED = 8


class There(Struct, frozen=True, kw_only=True):
    """What there is instead, and `where`. A null among the corpora: searches that named none."""

    where: str
    searches: int
    first_search: datetime
    last_search: datetime
    projects: Sequence[str]
    corpora: Sequence[str | None]


def nothing(
    to_do: str,
    kind: str,
    asked: Mapping[str, object],
    there: There | None,
    otherwise: str = "the table holds no search",
) -> str:
    """The sentence, with `otherwise` where there is nothing at all. `kind`: of search, such as `search that ran`; `asked`: the filters, None filters nothing."""
    named = [
        f"{name.replace('_', ' ')} {value!r}"
        for name, value in asked.items()
        if isinstance(value, str) and value
    ]
    bounds = [
        f"{name} {_minute(value)}"
        for name in ("since", "until")
        if isinstance(value := asked.get(name), datetime)
    ]
    searches = " ".join([f"no {kind}", *([f"of {', '.join(named)}"] if named else []), *bounds])
    return f"nothing to {to_do}: {searches}; {_instead(there) if there else otherwise}"


def _instead(there: There) -> str:
    seen = f"from {_minute(there.first_search)} to {_minute(there.last_search)}"
    projects = _listed("project", "projects", there.projects)
    corpora = _listed("corpus", "corpora", [corpus or "(none)" for corpus in there.corpora])
    return f"{there.where}: {there.searches:,}, {seen}, {projects}, {corpora}"


def _listed(one: str, several: str, names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"{one if len(names) == 1 else several} {', '.join(sorted(names)[:_LISTED])}{more}"


def _minute(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
