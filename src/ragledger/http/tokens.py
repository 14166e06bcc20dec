"""Named bearer tokens with scopes. Kept as digests, compared in constant time, never repeated in a message."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from typing import Literal, NamedTuple, get_args

from ragledger.errors import ConfigError

__all__ = ["Scope", "Token", "Tokens", "is_loopback", "read_tokens"]

Scope = Literal["vote", "read"]
_SCOPES: tuple[Scope, ...] = get_args(Scope)
_SHORTEST = 16
_LONGEST = 512


class Token(NamedTuple):
    """Who may do what: `digest` is the SHA-256 of the secret."""

    name: str
    scopes: frozenset[Scope]
    digest: bytes


class Tokens:
    """The tokens that are let in; without any, only who calls from this host is."""

    def __init__(self, tokens: Iterable[Token] = ()) -> None:
        self._tokens = tuple(tokens)

    def __bool__(self) -> bool:
        return bool(self._tokens)

    def find(self, secret: str) -> Token | None:
        """The token with this secret. Takes as long for every secret: all are compared, and whole."""
        given = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
        found: Token | None = None
        for token in self._tokens:
            if hmac.compare_digest(token.digest, given):
                found = token
        return found


def read_tokens(text: str) -> tuple[Token, ...]:
    """Tokens from lines such as `ui:vote:SECRET` or `grafana:vote,read:SECRET`; `#` begins a comment.

    Raises:
        ConfigError: a line is not of that form, a name comes twice, or a secret is shorter than 16 characters.
    """
    found: dict[str, Token] = {}
    for number, line in enumerate(text.replace(";", "\n").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, rest = line.strip().partition(":")
        words, _, secret = rest.partition(":")
        scopes = frozenset(word.strip() for word in words.split(","))
        if not name or not scopes.issubset(_SCOPES):
            raise ConfigError(f"tokens, line {number}: write name:scopes:secret with scopes of vote and read")
        if not _SHORTEST <= len(secret) <= _LONGEST or not secret.isascii() or not secret.isprintable():
            raise ConfigError(
                f"tokens, line {number}: a secret has {_SHORTEST} to {_LONGEST} plain characters"
            )
        if name in found:
            raise ConfigError(f"tokens, line {number}: the name of an earlier line")
        found[name] = Token(name, scopes, hashlib.sha256(secret.encode()).digest())  # type: ignore[arg-type]
    return tuple(found.values())


def is_loopback(host: str | None) -> bool:
    """Whether an address or the name in a Host header means this very host."""
    if host is None:
        return False
    bare = host.strip("[]")
    if bare.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(bare).is_loopback
    except ValueError:
        return False
