"""The OpenAPI document of the application, its schemas made from the types that are really decoded and encoded."""

from __future__ import annotations

from functools import cache
from typing import Any, get_args

import msgspec

from ragledger.measurement import Measurement
from ragledger.model import Outcome

from .bodies import AccessedBody, Error, Given, Health, VoteBody

__all__ = ["document"]

_REF = "#/components/schemas/{name}"
_TYPES = (VoteBody, AccessedBody, Given, Error, Health, Measurement)
_NOT_DONE = {
    "400": "the request is malformed, the search unknown, or the hit was not returned",
    "401": "a token is needed",
    "403": "the token lacks the scope",
    "429": "too many requests; see Retry-After",
    "503": "not now; see Retry-After",
}
_BODY_NOT_DONE = {"408": "the body was too slow", "413": "the body is too large", "415": "not JSON"}


def document(root: str) -> dict[str, Any]:
    """The document, for an application that is mounted at `root`."""
    return _document() | {"servers": [{"url": root or "/"}]}


@cache
def _document() -> dict[str, Any]:
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template=_REF)
    schemas["VoteBody"]["properties"]["outcome"] = {"enum": list(get_args(Outcome))}
    for body in ("VoteBody", "AccessedBody"):
        schemas[body]["properties"]["search_id"] = {"type": "string", "format": "uuid"}
        schemas[body]["properties"]["actor"] |= {"examples": ["human:ana", "agent:planner"]}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ragledger",
            "version": "1",
            "description": "Votes on what a search returned, and what the votes say. No text of a query or a chunk.",
        },
        "paths": {
            "/v1/feedback": {"post": _giving("Judge a hit that a search returned", "VoteBody")},
            "/v1/accessed": {"post": _giving("Note that somebody opened a hit", "AccessedBody")},
            "/v1/searches/{search_id}": {"get": _search()},
            "/v1/metrics": {"get": _metrics()},
            "/healthz": {"get": _open("The process runs", "Health")},
            "/readyz": {"get": _open("Votes are taken", "Health") | {"responses": _health()}},
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _giving(summary: str, body: str) -> dict[str, Any]:
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": _content(body)},
        "responses": {
            "201": {"description": "kept", "content": _content("Given")},
            "202": {"description": "kept; it cannot be checked yet", "content": _content("Given")},
        }
        | _failures(_NOT_DONE | _BODY_NOT_DONE),
    }


def _search() -> dict[str, Any]:
    return {
        "summary": "The structure of one search: weights, hits, scores, votes",
        "parameters": [_parameter("search_id", "path", {"type": "string", "format": "uuid"})],
        "responses": {
            "200": {
                "description": "the search",
                "content": {"application/json": {"schema": {"type": "object"}}},
            }
        }
        | _failures(_NOT_DONE),
    }


def _metrics() -> dict[str, Any]:
    days = {"type": "integer", "default": 7, "description": "at least 1 and at most 90 are taken"}
    words = [
        _parameter(name, "query", {"type": "string", "maxLength": 512})
        for name in ("project", "corpus", "surface")
    ]
    return {
        "summary": "What a window says: calls, hits, latency, precision with what it rests on; in all and by surface",
        "parameters": [_parameter("days", "query", days), *words],
        "responses": {"200": {"description": "the measurement", "content": _content("Measurement")}}
        | _failures(_NOT_DONE | {"404": "no search in the window"}),
    }


def _open(summary: str, body: str) -> dict[str, Any]:
    return {
        "summary": summary,
        "security": [],
        "responses": {"200": {"description": "yes", "content": _content(body)}},
    }


def _health() -> dict[str, Any]:
    return {
        "200": {"description": "yes", "content": _content("Health")},
        "503": {"description": "no", "content": _content("Health")},
    }


def _parameter(name: str, where: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": where, "required": where == "path", "schema": schema}


def _content(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(name=name)}}}


def _failures(codes: dict[str, str]) -> dict[str, Any]:
    return {code: {"description": words, "content": _content("Error")} for code, words in codes.items()}
