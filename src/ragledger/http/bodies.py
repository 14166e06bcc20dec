"""What goes over the wire. Nothing here has a field for text of a query, a chunk or an exception."""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from msgspec import Struct

from ragledger.model import Receipt

__all__ = ["AccessedBody", "Error", "ErrorCode", "Failure", "Given", "Health", "VoteBody"]

ErrorCode = Literal[
    "malformed_body", "malformed_reference", "unknown_search", "hit_not_returned", "malformed_query",
    "unauthorized", "forbidden", "not_found", "nothing_to_measure", "method_not_allowed", "timeout",
    "too_large", "unsupported_media_type", "too_many_requests", "unavailable", "fault",
]  # fmt: skip


class AccessedBody(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Somebody opened the full content of a hit. Either `chunk_id` or `rank` names it."""

    search_id: str
    chunk_id: str | None = None
    rank: int | None = None
    actor: str | None = None


class VoteBody(AccessedBody, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A judgment of a hit that a search returned."""

    outcome: str


class Given(Struct, frozen=True):
    """What became of it: `journalled` and `written` are kept, `pending` is kept and cannot be checked yet."""

    search_id: UUID
    status: Literal["journalled", "written", "pending", "unknown"]

    @classmethod
    def of(cls, receipt: Receipt) -> Given | None:
        """None for a receipt of nothing."""
        if receipt.search_id is None or receipt.status not in {"journalled", "written", "pending", "unknown"}:
            return None
        return cls(receipt.search_id, receipt.status)


class Failure(Struct, frozen=True):
    """Why a request was not done."""

    code: ErrorCode
    message: str


class Error(Struct, frozen=True):
    """The body of every answer that is no success."""

    error: Failure


class Health(Struct, frozen=True):
    """`table` says whether votes can be checked now; without it they are kept as pending."""

    status: Literal["ok", "ready", "not_ready"]
    table: Literal["reachable", "unreachable"] | None = None
