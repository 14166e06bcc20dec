"""`ragledger serve`, as a process of its own: votes for another process's searches, a clean end, a fuzzed interface."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from fix_pg import Database
from integration.shipping import RAGLEDGER
from web.world import READER, TOKENS, VOTER, search, serving

from ragledger import Ledger

pytestmark = [pytest.mark.pg, pytest.mark.processes]


def test_a_vote_for_another_processs_search_is_checked_kept_and_shipped(
    ledger: Ledger, database: Database
) -> None:
    search_id = search(ledger, "a", "b")
    assert ledger.flush()
    with serving(database) as url:
        vote = {"search_id": search_id, "chunk_id": "b", "outcome": "highly_relevant", "actor": "human:ana"}
        given = httpx.post(f"{url}/v1/feedback", json=vote)
        refused = httpx.post(f"{url}/v1/feedback", json=vote | {"chunk_id": "z"})
        assert (given.status_code, given.json()["status"]) == (201, "journalled")
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "hit_not_returned")
    assert database.rows("SELECT rank, outcome, actor_id FROM current_votes") == [
        (2, "highly_relevant", "ana")
    ]


def test_tokens_come_from_a_file_or_the_environment(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(TOKENS)
    for options, environ in (
        (["--tokens", str(file)], {}),
        ([], {"RAGLEDGER_HTTP_TOKENS": TOKENS.replace("\n", ";")}),
    ):
        with serving(database, *options, **environ) as url:
            assert httpx.get(f"{url}/v1/metrics").status_code == 401
            known = {"Authorization": f"Bearer {READER}"}
            assert httpx.get(f"{url}/v1/metrics", headers=known).status_code == 404


@pytest.mark.parametrize(
    ("options", "environ", "message"),
    [
        (["--host", "0.0.0.0"], {}, "without tokens only this host is let in"),
        (["--tokens", "/not/there"], {}, "the file of --tokens cannot be read"),
        ([], {"RAGLEDGER_HTTP_TOKENS": f"ui:admin:{VOTER}"}, "write name:scopes:secret"),
    ],
)
def test_what_cannot_be_served_is_one_line_and_exit_code_2(
    database: Database, options: list[str], environ: dict[str, str], message: str
) -> None:
    done = subprocess.run(
        [*RAGLEDGER, "serve", "--port", "0", *options],
        env=dict(os.environ) | {"RAGLEDGER_DSN": database.dsn} | environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert message in done.stderr
    assert VOTER not in done.stderr


def test_a_port_that_is_taken_is_one_line_and_exit_code_2(database: Database) -> None:
    with serving(database) as url:
        done = subprocess.run(
            [*RAGLEDGER, "serve", "--port", url.rpartition(":")[2]],
            env=dict(os.environ) | {"RAGLEDGER_DSN": database.dsn},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        2,
        "ragledger: nobody can listen at that host and port (Address already in use)\n",
    )


@pytest.mark.timeout(300)
def test_whatever_is_sent_the_answer_is_one_of_the_document_and_no_fault(
    ledger: Ledger, database: Database
) -> None:
    pytest.importorskip("schemathesis")
    search(ledger, "a")
    assert ledger.flush()
    with serving(database, "--rate", "100000") as url:
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run", f"{url}/openapi.json", "--max-examples", "40", "--seed", "1",
             "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
