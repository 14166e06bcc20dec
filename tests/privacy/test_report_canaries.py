"""P9: the page of `ragledger report` holds ids and names that the application gave, and no text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from privacy.canaries import CHUNK, ERROR, META, QUERY, found_in
from privacy.scene import Scene
from privacy.world import langchain_searches, llama_index_searches

from ragledger import Candidate

pytestmark = pytest.mark.pg


def reported(scene: Scene, tmp_path: Path) -> str:
    """The page, and what the command says."""
    file = tmp_path / "report.html"
    scene.run("ship")
    said = scene.run("report", "--collect", "--html", str(file))
    assert "searches in" in said
    return said + file.read_text(encoding="utf-8")


async def test_p9_a_page_holds_no_text(make_scene: Callable[..., Scene], tmp_path: Path) -> None:
    scene = make_scene(privacy="ids")
    with scene.ledger.search(corpus="handbook", surface="study", query=QUERY) as search:
        search.candidates(Candidate("c1", score=0.5))
    with pytest.raises(ValueError, match=QUERY), scene.ledger.search():
        raise ValueError(f"{ERROR}: {QUERY}") from LookupError(META)
    await langchain_searches(scene.ledger)
    await llama_index_searches(scene.ledger)
    text = reported(scene, tmp_path)
    assert "handbook" in text
    assert found_in(text) == set()


def test_the_page_is_looked_at_where_names_would_be(make_scene: Callable[..., Scene], tmp_path: Path) -> None:
    """Names and ids are shown as given, so a text that an application puts into one is found."""
    scene = make_scene(privacy="ids")
    with scene.ledger.search(corpus=f"about {QUERY}", surface=f"on {META}") as search:
        search.candidates(Candidate("c1", CHUNK, score=0.5))
    assert found_in(reported(scene, tmp_path)) == {QUERY, META}
