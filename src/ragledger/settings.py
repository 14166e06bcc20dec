"""One frozen value for every setting. The environment is read here and nowhere else."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote

import msgspec

from .errors import ConfigError

__all__ = ["ENVIRONMENT", "Settings", "config_home", "data_home", "state_home"]

ENVIRONMENT: dict[str, str] = {
    "RAGLEDGER_DSN": "dsn: where the table is; a libpq URI or conninfo, or `embedded`",
    "RAGLEDGER_SCHEMA": "schema: the Postgres schema (default ragledger)",
    "RAGLEDGER_PROJECT": "project: the application's name (default OTEL_SERVICE_NAME, else `default`)",
    "RAGLEDGER_JOURNAL_DIR": "journal_dir: where the journal lives (default under the XDG state directory)",
    "RAGLEDGER_JOURNAL_CAP_MB": "journal_cap_mb: past this, records are refused and counted (default 2048)",
    "RAGLEDGER_WRITE": "write: `journal` (default), or `direct`: the table takes each record while the caller waits, 250 ms at most",
    "RAGLEDGER_JOURNAL_FSYNC": "journal_fsync: `none` (default), `batch` or `always`; see docs/operations.md",
    "RAGLEDGER_SHIP": "ship: `thread` (default) or `sidecar` (`ragledger ship --follow` does it)",
    "RAGLEDGER_CHUNK_ID_KEY": "chunk_id_key: the metadata key that holds a chunk's own id; wins over the framework's id",
    "RAGLEDGER_DOCUMENT_ID_KEYS": "document_id_keys: metadata keys that may name a chunk's document, the first found counts (default document_id,doc_id,source_id)",
    "RAGLEDGER_SOURCE_KIND_KEY": "source_kind_key: the metadata key that says what kind of source a chunk is from",
    "RAGLEDGER_STRICT": "strict: 1 re-raises our own faults; for tests",
    "RAGLEDGER_PRIVACY": "privacy: `ids` (default), `keyed` or `structure`; see docs/privacy.md",
    "RAGLEDGER_QUERY_KEYS": "query_keys: 1 keeps a keyed fingerprint of each question, so that repeated ones are known",
    "RAGLEDGER_CONTENT_KEYS": "content_keys: 1 keeps a keyed fingerprint of each chunk, so that votes survive a reindex",
    "RAGLEDGER_STORE_TEXT": "store_text: 1 keeps query and chunks as text in `search_texts`; needs `ragledger init --with-text`",
    "RAGLEDGER_SPAN_DOCUMENT_IDS": "span_document_ids: 1 puts ids and scores of the first 20 hits on spans (default 0)",
    "RAGLEDGER_SPAN_QUERY_TEXT": "span_query_text: 1 puts the query on spans; needs a second switch, see docs/privacy.md",
    "RAGLEDGER_SPAN_CHUNK_TEXT": "span_chunk_text: 1 puts the texts of the first 20 hits on spans; likewise",
    "RAGLEDGER_SPAN_FEEDBACK": "span_feedback: 1 makes a span of each vote, linked to the search's (default 0)",
    "RAGLEDGER_PUSH": "push: `phoenix`, `langfuse` or both with a comma: votes go there too; see docs/spans.md",
    "RAGLEDGER_KEY": "key: the secret that keys every hash; the same on every host",
    "RAGLEDGER_HOME": "base of the embedded server and of the key file",
    "RAGLEDGER_EMBEDDED_LINGER_S": "how long the embedded server outlives its last user (default 0)",
    "RAGLEDGER_HTTP_TOKENS": "tokens of `ragledger serve`: name:scopes:secret, with `;` between",
    "RAGLEDGER_TEST_DSN": "a server for the project's own tests instead of the embedded one",
}
"""Every RAGLEDGER_* name there is, with its meaning."""


PUSH_TARGETS = frozenset({"langfuse", "phoenix"})


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a ledger records. Of a search, `max_candidates` items are kept in all, and `max_admitted` hits in any case."""

    dsn: str
    schema: str = "ragledger"
    project: str = "default"
    journal_dir: Path | None = None
    journal_cap_mb: int = 2048
    write: Literal["journal", "direct"] = "journal"
    journal_fsync: Literal["none", "batch", "always"] = "none"
    ship: Literal["thread", "sidecar"] = "thread"
    strict: bool = False
    key: bytes | None = None
    privacy: Literal["structure", "keyed", "ids"] = "ids"
    query_keys: bool = False
    content_keys: bool = False
    store_text: bool = False
    chunk_id_key: str | None = None
    document_id_keys: tuple[str, ...] = ("document_id", "doc_id", "source_id")
    source_kind_key: str | None = None
    max_candidates: int = 50
    max_admitted: int = 1000
    vote_deadline_h: float = 24.0
    exit_drain_s: float = 2.0
    span_document_ids: bool = False
    span_query_text: bool = False
    span_chunk_text: bool = False
    span_feedback: bool = False
    push: str = ""

    def __repr__(self) -> str:
        """Without the dsn and the key: a repr ends up in logs."""
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("project", self.project), ("schema", self.schema), ("ship", self.ship)]

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", self.schema):
            raise ConfigError("schema must be a plain lower-case Postgres name such as `ragledger`")
        if self.write == "direct" and self.ship == "sidecar":
            raise ConfigError(
                "write='direct' leaves no journal that a sidecar could ship; choose one of the two"
            )
        if self.store_text and self.write == "direct":
            raise ConfigError(
                "store_text needs the journal: with write='direct' every search would wait for the table twice; choose one"
            )
        if not set(self.push_targets) <= PUSH_TARGETS:
            raise ConfigError(f"push names {' and '.join(sorted(PUSH_TARGETS))}, with a comma between them")
        if self.store_text and self.privacy != "ids":
            raise ConfigError(
                f"store_text keeps queries and chunks as they are, privacy={self.privacy!r} not even their ids; choose one"
            )
        if self.journal_cap_mb < 1:
            raise ConfigError(f"journal_cap_mb must be at least 1, got {self.journal_cap_mb}")
        if self.max_candidates < 1 or self.max_admitted < 1:
            raise ConfigError("max_candidates and max_admitted must be at least 1")
        # What a text column does not take would cost every row. A surrogate is a byte that was not UTF-8.
        if not re.fullmatch(r"[^\0\ud800-\udfff]{1,512}", self.project):
            raise ConfigError("project must be a name of at most 512 characters, in UTF-8 and without NUL")

    @property
    def push_targets(self) -> tuple[str, ...]:
        """Where votes go beside the table."""
        return tuple(name.strip() for name in self.push.split(",") if name.strip())

    @classmethod
    def from_env(cls, environ: Mapping[str, str], **given: Any) -> Settings:
        """Settings from arguments (those that are not None), then RAGLEDGER_*, then OpenTelemetry's own names.

        Raises:
            ConfigError: an unknown RAGLEDGER_* name, a value of the wrong form, or no dsn at all.
        """
        unknown = sorted(
            name for name in environ if name.startswith("RAGLEDGER_") and name not in ENVIRONMENT
        )
        if unknown:
            known = ", ".join(ENVIRONMENT)
            raise ConfigError(f"unknown setting {unknown[0]} in the environment; known are {known}")
        values: dict[str, Any] = _from_environ(environ)
        values.update({name: value for name, value in given.items() if value is not None})
        values.setdefault("project", _service_name(environ))
        if not values.get("dsn"):
            raise ConfigError(
                "no database given: set RAGLEDGER_DSN, or pass dsn='postgresql://...' or dsn='embedded'"
            )
        if isinstance(key := values.get("key"), str):
            values["key"] = key.encode("utf-8", "surrogateescape")
        try:
            return msgspec.convert(values, cls, dec_hook=_path)
        except msgspec.ValidationError as exc:
            # It names a field and types; a value only of those that are one of a few words.
            raise ConfigError(f"a setting cannot be used: {exc}") from None


_TEXTS = {
    "RAGLEDGER_DSN": "dsn",
    "RAGLEDGER_SCHEMA": "schema",
    "RAGLEDGER_PROJECT": "project",
    "RAGLEDGER_WRITE": "write",
    "RAGLEDGER_JOURNAL_FSYNC": "journal_fsync",
    "RAGLEDGER_SHIP": "ship",
    "RAGLEDGER_KEY": "key",
    "RAGLEDGER_PRIVACY": "privacy",
    "RAGLEDGER_CHUNK_ID_KEY": "chunk_id_key",
    "RAGLEDGER_SOURCE_KIND_KEY": "source_kind_key",
    "RAGLEDGER_PUSH": "push",
}
_SWITCHES = {
    "RAGLEDGER_STRICT": "strict",
    "RAGLEDGER_QUERY_KEYS": "query_keys",
    "RAGLEDGER_CONTENT_KEYS": "content_keys",
    "RAGLEDGER_STORE_TEXT": "store_text",
    "RAGLEDGER_SPAN_DOCUMENT_IDS": "span_document_ids",
    "RAGLEDGER_SPAN_QUERY_TEXT": "span_query_text",
    "RAGLEDGER_SPAN_CHUNK_TEXT": "span_chunk_text",
    "RAGLEDGER_SPAN_FEEDBACK": "span_feedback",
}


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, field in _TEXTS.items():
        if text := environ.get(name):
            values[field] = text
    if text := environ.get("RAGLEDGER_JOURNAL_DIR"):
        values["journal_dir"] = Path(text)
    if text := environ.get("RAGLEDGER_JOURNAL_CAP_MB"):
        if not text.isdecimal():
            raise ConfigError("RAGLEDGER_JOURNAL_CAP_MB must be a whole number of megabytes")
        values["journal_cap_mb"] = int(text)
    if text := environ.get("RAGLEDGER_DOCUMENT_ID_KEYS"):
        values["document_id_keys"] = tuple([key for part in text.split(",") if (key := part.strip())])
    values |= _switches(environ)
    return values


def _switches(environ: Mapping[str, str]) -> dict[str, bool]:
    values = {}
    for name, field in _SWITCHES.items():
        if text := environ.get(name):
            if text not in {"0", "1"}:
                raise ConfigError(f"{name} must be 0 or 1")
            values[field] = text == "1"
    return values


def _path(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, (str, Path)):
        return Path(value)
    raise ValueError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")


def _service_name(environ: Mapping[str, str]) -> str:
    """As OpenTelemetry's SDK reads it: values are percent-encoded, the last of a name wins."""
    if name := environ.get("OTEL_SERVICE_NAME"):
        return name
    pairs = [pair.partition("=") for pair in environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")]
    named = [unquote(value.strip()) for name, _, value in pairs if name.strip() == "service.name"]
    return (named or [""])[-1] or "default"


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Where journals live: one directory per target below it. Raises ConfigError when nothing says where."""
    if home := environ.get("RAGLEDGER_HOME"):
        return Path(home) / "journal"
    return _base(environ, "XDG_STATE_HOME", ".local/state") / "ragledger"


def config_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the key file lives. Raises ConfigError when nothing says where."""
    if home := environ.get("RAGLEDGER_HOME"):
        return Path(home)
    return _base(environ, "XDG_CONFIG_HOME", ".config") / "ragledger"


def data_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Where what we make for the user lives. Raises ConfigError when nothing says where."""
    if home := environ.get("RAGLEDGER_HOME"):
        return Path(home)
    return _base(environ, "XDG_DATA_HOME", ".local/share") / "ragledger"


def _base(environ: Mapping[str, str], name: str, below_home: str) -> Path:
    if base := environ.get(name):
        return Path(base)
    try:
        return Path.home() / below_home
    except RuntimeError:  # a user id without a name, as in some containers, and no HOME
        raise ConfigError("this user has no home directory: set RAGLEDGER_HOME") from None
