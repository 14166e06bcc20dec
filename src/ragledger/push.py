"""Votes sent to Phoenix and Langfuse over HTTP, by a thread of its own, if configured. Best effort, and no text.

A vote that cannot be sent is counted and forgotten: it is in the table.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import threading
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .annotations import NAME, Annotation
from .errors import ConfigError
from .spans import quietly

if TYPE_CHECKING:
    from .guard import Guard

__all__ = ["Push", "targets_from"]

Target = Callable[[Annotation], urllib.request.Request]
"""The request that tells a backend of a vote."""

_WAITING = 1000
_TIMEOUT_S = 5.0


def targets_from(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, Target]:
    """The backends by name, reached by their own variables.

    Raises:
        ConfigError: one of these variables is missing or of the wrong form.
    """
    return {name: _MAKERS[name](environ) for name in names}


def _phoenix(environ: Mapping[str, str]) -> Target:
    url = _url(environ, "PHOENIX_COLLECTOR_ENDPOINT", "/v1/span_annotations")
    key = environ.get("PHOENIX_API_KEY")
    headers = {"Authorization": f"Bearer {key}"} if key else {}

    def request(vote: Annotation) -> urllib.request.Request:
        annotation = {
            "span_id": (vote.trace.span_id or b"").hex(),
            "name": NAME,
            "annotator_kind": "HUMAN" if vote.by_human else "CODE",
            "identifier": str(vote.vote_id),
            "result": {"label": vote.label, "score": vote.score},
            "metadata": {"search_id": str(vote.search_id), "rank": vote.rank},
        }
        return _post(url, {"data": [annotation]}, headers)

    return request


def _langfuse(environ: Mapping[str, str]) -> Target:
    host = "LANGFUSE_BASE_URL" if environ.get("LANGFUSE_BASE_URL") else "LANGFUSE_HOST"
    url = _url(environ, host, "/api/public/scores")
    public, secret = environ.get("LANGFUSE_PUBLIC_KEY"), environ.get("LANGFUSE_SECRET_KEY")
    if not public or not secret:
        raise ConfigError("push to langfuse needs LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY")
    headers = {"Authorization": f"Basic {base64.b64encode(f'{public}:{secret}'.encode()).decode()}"}

    def request(vote: Annotation) -> urllib.request.Request:
        score = {
            "id": str(vote.vote_id),
            "traceId": (vote.trace.trace_id or b"").hex(),
            "observationId": (vote.trace.span_id or b"").hex(),
            "name": NAME,
            "dataType": "NUMERIC",
            "value": vote.score,
            "metadata": {"search_id": str(vote.search_id), "rank": vote.rank, "label": vote.label},
        }
        return _post(url, score, headers)

    return request


_MAKERS: dict[str, Callable[[Mapping[str, str]], Target]] = {"langfuse": _langfuse, "phoenix": _phoenix}


def _url(environ: Mapping[str, str], name: str, path: str) -> str:
    base = environ.get(name, "")
    if not base.startswith(("http://", "https://")):
        raise ConfigError(f"push needs {name}, an http or https address")
    return base.rstrip("/") + path


def _post(url: str, body: Any, headers: Mapping[str, str]) -> urllib.request.Request:
    data = json.dumps(body).encode()
    return urllib.request.Request(url, data, {"Content-Type": "application/json", **headers}, method="POST")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer that was not hoped for: the key in the headers is for the configured address alone."""

    def redirect_request(self, *_: Any) -> None:
        """None: the 3xx is raised as the error that it is."""


_opener = urllib.request.build_opener(_NoRedirect)


class Push:
    """An `annotations.Teller`. What does not fit into its queue is counted and dropped; a vote never waits."""

    def __init__(self, targets: Mapping[str, Target], guard: Guard) -> None:
        self._targets = targets
        self._guard = guard
        # By process: in a forked child there is neither the parent's thread nor a lock that one can rely on.
        self._workers: dict[int, _Worker] = {}

    def __call__(self, annotation: Annotation) -> None:
        """Hands it to the thread. A span that was not sampled is nowhere to be annotated."""
        if annotation.trace.sampled:
            pid = os.getpid()
            worker = self._workers.get(pid) or self._workers.setdefault(pid, _Worker(self._send))
            if not worker.take(annotation):
                self._guard.count("push:full")

    def close(self, timeout_s: float) -> None:
        """Sends what waits, for about that time. What is left then is counted and forgotten."""
        worker = self._workers.pop(os.getpid(), None)
        if worker is not None:
            for _ in range(worker.close(timeout_s)):
                self._guard.count("push:left")

    def _send(self, vote: Annotation) -> None:
        for name, target in self._targets.items():
            try:
                with quietly(), _opener.open(target(vote), timeout=_TIMEOUT_S):
                    pass
            except Exception as exc:  # noqa: BLE001  a backend that is away, or refuses, costs the vote there
                self._guard.count(f"push:{name}", exc)


class _Worker:
    """One thread, started by the first vote, and its bounded queue."""

    def __init__(self, send: Callable[[Annotation], None]) -> None:
        self._send = send
        self._votes: queue.Queue[Annotation | None] = queue.Queue(_WAITING)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def take(self, vote: Annotation) -> bool:
        """False when the queue is full."""
        try:
            self._votes.put_nowait(vote)
        except queue.Full:
            return False
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ragledger-push", daemon=True)
                self._thread.start()
        return True

    def close(self, timeout_s: float) -> int:
        """Waits for the thread. It ends after the request that it is at, and the number left to it is returned."""
        self._closing.set()
        with suppress(queue.Full):
            self._votes.put_nowait(None)  # wakes it; one with a full queue is awake
        if self._thread is not None:
            self._thread.join(timeout_s)
        left = 0
        with suppress(queue.Empty):
            while True:
                left += self._votes.get_nowait() is not None
        with suppress(queue.Full):
            self._votes.put_nowait(None)  # the one above may have been among those
        return left

    def _run(self) -> None:
        while not (self._closing.is_set() and self._votes.empty()):
            vote = self._votes.get()
            if vote is not None:
                self._send(vote)
