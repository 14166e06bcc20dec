"""The application over a real ledger and a real table: in this process, or as `ragledger serve`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from fix_pg import Database
from integration.shipping import RAGLEDGER

from ragledger import Candidate, Ledger

VOTER = "v" * 16
READER = "r" * 16
TOKENS = f"ui:vote:{VOTER}\ngrafana:read:{READER}"


def search(ledger: Ledger, *chunks: str, **said: str) -> str:
    with ledger.search(corpus="c", weights={"vector": 0.6}, top_k=3, **said) as found:
        found.candidates(*[Candidate(chunk, f"doc-{chunk}", vector=0.5, score=0.5) for chunk in chunks])
    return str(found.receipt.search_id)


@contextmanager
def serving(database: Database, *options: str, **environ: str) -> Iterator[str]:
    """The address of a `ragledger serve` of its own."""
    command = [*RAGLEDGER, "serve", "--port", "0", *options]
    said = dict(os.environ) | {"RAGLEDGER_DSN": database.dsn, "RAGLEDGER_PROJECT": "served"} | environ
    with subprocess.Popen(command, env=said, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        try:
            yield found[0]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, process.stderr.read()
