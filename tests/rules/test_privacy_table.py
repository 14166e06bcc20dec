"""P9: docs/privacy.md says of every stored field what each level makes of it, and that is what happens."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest
from rules.source import ROOT
from rules.test_columns import COLUMNS, OPTIONAL

from ragledger.errors import ConfigError
from ragledger.model import Returned
from ragledger.privacy import WITHHELD, Privacy
from ragledger.settings import Settings
from ragledger.testing import make_hit, make_search, make_vote

PAGE = (ROOT / "docs/privacy.md").read_text(encoding="utf-8")
LEVELS = ("structure", "keyed", "ids")
ROWS = re.findall(r"^\| (\w+): ([\w, ]+) \| (.+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)
DOCUMENTED = {
    (table, field): dict(zip(LEVELS, words, strict=True))
    for table, fields, *words in ROWS
    for field in fields.split(", ")
}


def test_every_column_of_every_table_is_in_the_table_of_levels() -> None:
    stored = {
        (table, name)
        for table, types in (COLUMNS | OPTIONAL).items()
        for names in types.values()
        for name in names.split()
    }
    documented = [(table, field) for table, fields, *_ in ROWS for field in fields.split(", ")]
    assert sorted(documented) == sorted(stored - {("schema_migrations", name) for _, name in stored})


@pytest.mark.parametrize("level", LEVELS)
def test_texts_are_refused_where_the_table_says_so(level: Any) -> None:
    words = {DOCUMENTED["search_texts", name][level] for name in ("search_id", "rank", "text", "cut")}
    given: dict[str, Any] = {"dsn": "postgresql://127.0.0.1:1/nowhere", "privacy": level}
    assert not Settings(**given).store_text
    if level == "ids":
        assert words == {"only with `store_text`"}
        assert Settings(**given, store_text=True).store_text
    else:
        assert words == {"refused"}
        with pytest.raises(ConfigError, match="store_text keeps queries and chunks as they are"):
            Settings(**given, store_text=True)


@pytest.mark.parametrize("level", LEVELS)
def test_each_field_is_kept_as_the_table_says(level: Any) -> None:
    texts = {
        name: f"given-{name}"
        for name in [
            "corpus",
            "surface",
            "session_id",
            "actor_id",
            "retriever",
            "external_run_id",
            "index_version",
            "embedding_model",
        ]
    }
    search = make_search(**texts, query_key=b"q", trace_id=b"t", span_id=b"s", span_owner="ours")
    hit = make_hit(
        1, "given-chunk", document_id="given-doc", content_key=b"c", source_kind="pdf", score_source="x"
    )
    vote = make_vote(search.search_id, None, "given-chunk", actor_id="given-actor")
    privacy = Privacy(level, b"k" * 32)
    columns = Returned(chunk_ids=["given-chunk"], document_ids=["given-doc"])
    compare("searches", search, privacy.of(search), level)
    for hits in ((hit,), columns):
        kept: Any = privacy.of(msgspec.structs.replace(search, hits=hits))
        compare("hits", hits[0] if isinstance(hits, tuple) else hits.hits()[0], kept.hit_rows[0], level)
    compare("feedback", vote, privacy.of(vote), level)
    compare("pending_feedback", vote, privacy.of(vote), level)


def compare(table: str, given: Any, kept: Any, level: str) -> None:
    for name in kept.__struct_fields__:
        if (table, name) not in DOCUMENTED or getattr(given, name) is None:
            continue
        before, after = getattr(given, name), getattr(kept, name)
        words = DOCUMENTED[table, name][level]
        found = "as it is" if after == before else "null" if after is None else "keyed"
        found = f"`{WITHHELD}`" if after == WITHHELD else found
        assert (name, found) == (name, words)
        assert found != "keyed" or re.fullmatch(r"k:[0-9a-f]{32}", after)
