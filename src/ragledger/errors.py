"""The error tree. A search never raises one of these: they belong to opening, voting and commands.

RagledgerError
├── ConfigError            a setting that cannot be used (exit code 2)
├── EmbeddedError          the embedded Postgres could not be started or shared
├── DatabaseUnavailable    no usable connection to the database now
├── SchemaError            the schema is missing, older or newer than this release
├── NothingToMeasure       the window holds no search
├── NotComparable          two sides that may not be laid side by side
├── UnusableJudgments      a golden set, a floor or a retriever that cannot be used as given
│   ├── EmbeddingUnavailable   the embedding provider was not to be had while a golden set was asked
│   └── InfraUnavailable       a database or a system call failed under the retriever
├── CollectorBusy          another collector is at work in this schema
└── VoteRefused            a vote that can never count
    ├── MalformedReference     not a search id, not a rank, not an outcome
    ├── UnknownSearch          no such search
    └── HitNotReturned         the search exists and did not return this hit
"""

from __future__ import annotations

__all__ = [
    "CollectorBusy",
    "ConfigError",
    "DatabaseUnavailable",
    "EmbeddedError",
    "EmbeddingUnavailable",
    "HitNotReturned",
    "InfraUnavailable",
    "MalformedReference",
    "NotComparable",
    "NothingToMeasure",
    "RagledgerError",
    "SchemaError",
    "UnknownSearch",
    "UnusableJudgments",
    "VoteRefused",
]


class RagledgerError(Exception):
    """Root of every error that Ragledger raises on purpose."""


class ConfigError(RagledgerError):
    """A setting cannot be used as given."""


class EmbeddedError(RagledgerError):
    """The embedded Postgres could not be started or shared."""


class DatabaseUnavailable(RagledgerError):
    """The database cannot be reached now.

    Carries a summary without the driver's message: that can quote connection strings and row values.
    """


class SchemaError(RagledgerError):
    """The schema in the database does not fit this release."""


class NothingToMeasure(RagledgerError):
    """The window holds no search."""


class NotComparable(RagledgerError):
    """Two sides that may not be laid side by side, or that cannot be told."""


class UnusableJudgments(RagledgerError):
    """A golden set, what it is made of, a floor or a retriever cannot be used as given: nothing was checked.

    `reason` is a code for programs.
    """

    reason = "unusable"


class EmbeddingUnavailable(UnusableJudgments):
    """The embedding provider was not to be had: the one reason that says nothing of the retriever."""

    reason = "embedding_unavailable"


class InfraUnavailable(UnusableJudgments):
    """A database or a system call failed under the retriever."""

    reason = "infra_unavailable"


class CollectorBusy(RagledgerError):
    """Another collector is at work in this schema."""

    def __init__(self) -> None:
        super().__init__("another collector is at work in this schema; it will do")


class VoteRefused(RagledgerError):
    """A vote that can never count. `reason` is one of the three codes of promise P7."""

    reason = "refused"


class MalformedReference(VoteRefused):
    """The reference or the outcome is not of the right form."""

    reason = "malformed_reference"


class UnknownSearch(VoteRefused):
    """No search with this id was recorded."""

    reason = "unknown_search"

    def __init__(self, search_id: object) -> None:
        super().__init__(f"no search {search_id} was recorded here; vote with the search_id of a receipt")
        self.search_id = search_id


class HitNotReturned(VoteRefused):
    """The search exists and did not return this hit to its caller."""

    reason = "hit_not_returned"

    def __init__(self, search_id: object, what: str) -> None:
        super().__init__(f"search {search_id} did not return {what}; vote on a hit of its receipt")
        self.search_id = search_id
