"""The snippet for thumbs, in a real browser, on a page of another origin, against a real server."""

from __future__ import annotations

import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from fix_pg import Database
from web.world import TOKENS, VOTER, search, serving

from ragledger import Ledger

pytestmark = pytest.mark.pg
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")

PAGE = """<!doctype html><meta charset="utf-8"><title>thumbs</title>
<p>first <span id="first" data-ragledger-search="{search}" data-ragledger-rank="1"></span></p>
<p>second <span id="second" data-ragledger-search="{search}" data-ragledger-chunk="b"></span></p>
<p>not returned <span id="third" data-ragledger-search="{search}" data-ragledger-rank="9"></span></p>
<script src="{url}/thumbs.js" data-url="{url}" data-token="{token}" data-actor="human:ana"></script>
<script>
  function press(id, number) {{ document.querySelectorAll("#" + id + " button")[number].click(); }}
  window.addEventListener("load", function () {{
    ragledger.thumbs(document.getElementById("first"));  // twice is once
    press("first", 1);
    press("second", 0);
    press("third", 0);
    setTimeout(function () {{ press("first", 0); }}, 500);  // a changed mind
  }});
</script>
"""


@pytest.mark.skipif(BROWSER is None, reason="no chromium here: apt-get install chromium")
@pytest.mark.timeout(300)
def test_a_thumb_is_a_vote_and_the_page_shows_what_became_of_it(
    ledger: Ledger, database: Database, tmp_path: Path
) -> None:
    search_id = search(ledger, "a", "b")
    assert ledger.flush()
    file = tmp_path / "tokens"
    file.write_text(TOKENS)
    pages: dict[str, str] = {}
    with (
        page_server(pages) as origin,
        serving(database, "--tokens", str(file), "--cors-origin", origin) as url,
    ):
        pages["/"] = PAGE.format(search=search_id, url=url, token=VOTER)
        document = opened(f"{origin}/", tmp_path)
    assert states(document) == {"first": "done", "second": "done", "third": "failed"}
    assert pressed(document, "first") == ["Useful"]
    assert document.count("<button") == 6
    votes = database.rows("SELECT rank, outcome, actor_kind, actor_id FROM current_votes ORDER BY rank")
    assert votes == [(1, "relevant", "human", "ana"), (2, "relevant", "human", "ana")]
    assert database.value("SELECT count(*) FROM feedback WHERE rank = 1") == 2


def states(document: str) -> dict[str, str]:
    found = re.findall(r'<span id="(\w+)"[^>]*data-ragledger-state="(\w+)"', document)
    return dict(found)


def pressed(document: str, name: str) -> list[str]:
    [inside] = re.findall(rf'<span id="{name}".*?</span>', document, re.DOTALL)
    return re.findall(r'title="([^"]+)"[^>]*aria-pressed="true"', inside)


def opened(url: str, profile: Path) -> str:
    """The page as it is after its scripts and requests have run."""
    assert BROWSER is not None
    options = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    )
    options += "--disable-component-update --disable-sync --disable-dev-shm-usage --virtual-time-budget=20000 --dump-dom"
    done = subprocess.run(
        [BROWSER, *options.split(), f"--user-data-dir={profile / 'profile'}", url],
        capture_output=True, text=True, timeout=240, check=True,
    )  # fmt: skip
    return done.stdout


@contextmanager
def page_server(pages: dict[str, str]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = pages.get(self.path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
