"""P9: no column for text. Every column of every table is on this list and in docs/data.md; a new one fails here first."""

from __future__ import annotations

import ast
import re

import pytest
from fix_pg import Database
from rules.source import PARTS, ROOT, python_files, tree_of

from ragledger import schema

DATA = ROOT / "docs/data.md"

# Per table: the columns by type. A `text` column holds an id, a name or one of a few words; never a sentence.
COLUMNS: dict[str, dict[str, str]] = {
    "searches": {
        "uuid": "search_id parent_id root_id attempt_of served_from writer_id",
        "timestamptz": "started_at recorded_at",
        "text": "project corpus surface session_id actor_kind actor_id framework retriever status skip_reason "
        "error_type error_origin degraded_reason epoch index_version embedding_model extractor_version span_owner "
        "external_run_id",
        "_text": "flags",
        "bool": "degraded vector_available sampled",
        "float8": "latency_ms top_candidate_score top_admitted_score",
        "int4": "depth top_k candidate_count admitted_count",
        "int8": "writer_seq",
        "jsonb": "weights signals",
        "bytea": "query_key trace_id span_id",
    },
    "hits": {
        "uuid": "search_id",
        "int4": "rank",
        "text": "chunk_id chunk_id_source document_id source_kind score_kind score_source",
        "float8": "score vector_score lexical_score",
        "jsonb": "signals",
        "bool": "admitted",
        "bytea": "content_key",
    },
    "deliveries": {
        "uuid": "search_id delivery_id writer_id",
        "text": "by",
        "_int4": "hit_ranks",
        "_float8": "scores",
        "timestamptz": "delivered_at recorded_at",
        "int8": "writer_seq",
    },
    "assessments": {
        "uuid": "search_id assessment_id writer_id",
        "text": "name method",
        "float8": "value",
        "jsonb": "weights",
        "timestamptz": "assessed_at recorded_at",
        "int8": "writer_seq",
    },
    "feedback": {
        "uuid": "search_id feedback_id writer_id",
        "int4": "rank",
        "text": "stage outcome actor_kind actor_id",
        "timestamptz": "given_at recorded_at",
        "int8": "writer_seq",
    },
    "pending_feedback": {
        "uuid": "search_id feedback_id writer_id",
        "int4": "rank",
        "text": "chunk_id stage outcome actor_kind actor_id",
        "timestamptz": "given_at received_at",
        "int8": "writer_seq",
    },
    "writers": {
        "uuid": "writer_id",
        "text": "project host",
        "int4": "pid",
        "timestamptz": "started_at last_seen_at finished_at",
        "int8": "attempted base shipped",
        "jsonb": "refused",
        "int8multirange": "landed removed",
    },
    "rejected": {
        "uuid": "writer_id",
        "int8": "writer_seq",
        "text": "kind reason",
        "timestamptz": "rejected_at",
    },
    "inventory": {"text": "corpus document_id source_kind", "timestamptz": "first_seen_at last_seen_at"},
    "schema_migrations": {"int4": "version", "text": "name", "timestamptz": "applied_at"},
    "rollup_series": {
        "uuid": "series_id",
        "text": "project corpus surface actor_kind epoch",
        "bool": "has_session",
    },
    "rollup_searches": {
        "text": "grain project",
        "timestamptz": "bucket first_ran_at last_ran_at",
        "uuid": "series_id",
        "int8": "searches ok error cancelled skipped degraded vector_available vector_unavailable untold empty found "
        "delivered candidates candidates_known admitted admitted_known top_candidate_known top_admitted_known timed",
        "numeric": "top_candidate_sum top_admitted_sum",
    },
    "rollup_latency": {
        "text": "grain project",
        "timestamptz": "bucket",
        "uuid": "series_id",
        "int4": "bin",
        "int8": "searches",
    },
    "rollup_latency_parts": {
        "text": "grain project",
        "timestamptz": "bucket",
        "int4": "part",
        "int8": "searches",
        "_int8": "bins",
    },
    "rollup_words": {
        "text": "grain project what word",
        "timestamptz": "bucket",
        "uuid": "series_id",
        "int8": "n",
    },
    "rollup_judged": {
        "text": "grain project voter",
        "timestamptz": "bucket",
        "uuid": "series_id",
        "int4": "k",
        "int8": "searches judged judged_sq",
        "numeric": "useful useful_sq useful_judged",
    },
    "rollup_shown": {
        "text": "grain project",
        "timestamptz": "bucket",
        "uuid": "series_id",
        "int4": "position",
        "int8": "shown accessed",
    },
    "rollup_votes": {
        "text": "grain project voter",
        "timestamptz": "bucket",
        "uuid": "series_id",
        "int4": "position",
        "int8": "accessed judged",
        "numeric": "useful",
    },
    "rollup_document_days": {
        "text": "project corpus document_id",
        "timestamptz": "day",
        "int8": "retrieved admitted accessed judged useful not_useful",
        "int4": "best_rank",
    },
    "rollup_documents": {
        "text": "project corpus document_id",
        "int8": "retrieved admitted accessed judged useful not_useful",
        "int4": "best_rank",
        "timestamptz": "first_day",
    },
    "rollup_corpus_days": {
        "text": "project corpus",
        "timestamptz": "day",
        "int8": "retrieved admitted accessed judged useful",
    },
    "rollup_corpora": {
        "text": "project corpus",
        "timestamptz": "first_day",
        "int8": "retrieved listed admitted accessed judged useful",
    },
    "rollup_inventories": {"text": "corpus", "int8": "documents fingerprint"},
    "epochs": {
        "text": "project epoch index_version embedding_model",
        "timestamptz": "first_seen_at last_seen_at",
        "int8": "searches",
        "jsonb": "weights",
    },
    "plans": {
        "uuid": "plan_id",
        "timestamptz": "planned_at",
        "text": "planned_by project corpus surface epoch voter useful_from",
        "int4": "k",
        "float8": "share_from share_to power alpha design_effect",
        "int8": "votes searches",
    },
    "plan_looks": {
        "uuid": "plan_id look_id",
        "timestamptz": "looked_at",
        "text": "looked_by other",
        "int8": "votes_a votes_b",
    },
    "rollup_arrivals": {"uuid": "writer_id", "int8multirange": "landed"},
    "rollup_dirty": {"text": "project", "timestamptz": "bucket", "uuid": "mark"},
    "rollup_dirty_days": {"text": "project", "timestamptz": "day"},
    "rollup_dirty_corpora": {"text": "project corpus"},
    "rollup_sealed": {"text": "project", "timestamptz": "bucket"},
}

# Made by `ragledger init --with-text` alone: the one column of text that there is.
OPTIONAL: dict[str, dict[str, str]] = {
    "search_texts": {
        "uuid": "search_id writer_id",
        "int4": "rank",
        "text": "text",
        "bool": "cut",
        "int8": "writer_seq",
        "timestamptz": "recorded_at",
    },
}


def _types(columns: dict[str, dict[str, str]]) -> dict[str, str]:
    return {
        f"{table}.{name}": kind
        for table, by_kind in columns.items()
        for kind, names in by_kind.items()
        for name in names.split()
    }


TYPES = _types(COLUMNS)
_COLUMNS_OF = """
    SELECT c.table_name || '.' || c.column_name, c.udt_name FROM information_schema.columns c
    JOIN information_schema.tables t USING (table_schema, table_name)
    WHERE c.table_schema = 'ragledger' AND t.table_type = 'BASE TABLE'"""


def _described(table: str) -> set[str]:
    """The words in backticks of the table's section, or of its line in the section of the small ones."""
    text = DATA.read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        title, _, body = section.partition("\n")
        if title.partition(":")[0] == table:
            return set(re.findall(r"`(\w+)`", body))
    lines = [line for line in text.splitlines() if line.startswith(f"| {table} |")]
    return {name for line in lines for name in re.findall(r"`(\w+)`", line)}


@pytest.mark.pg
def test_p9_the_schema_has_exactly_the_columns_on_the_list(database: Database):
    assert dict(database.rows(_COLUMNS_OF)) == TYPES


@pytest.mark.pg
def test_p9_with_text_there_is_that_table_and_nothing_else(database: Database):
    with database.connect() as connection:
        assert schema.apply(connection, "ragledger", with_text=True).texts
    assert dict(database.rows(_COLUMNS_OF)) == TYPES | _types(OPTIONAL)
    assert database.rows("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal") == []
    key = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'search_texts'::regclass AND contype = 'p'"
    assert database.value(key) == "PRIMARY KEY (search_id, rank)"


@pytest.mark.pg
def test_p9_a_view_has_no_text_that_a_table_has_not(database: Database):
    known = {name.partition(".")[2] for name, kind in TYPES.items() if kind in {"text", "_text", "jsonb"}}
    found = database.rows(
        "SELECT c.column_name FROM information_schema.columns c"
        " JOIN information_schema.tables t USING (table_schema, table_name)"
        " WHERE c.table_schema = 'ragledger' AND t.table_type = 'VIEW'"
        " AND c.udt_name NOT IN ('uuid', 'timestamptz', 'bool', 'float8', 'int4', 'int8', 'numeric', 'bytea')"
    )
    assert {name for (name,) in found} <= known


@pytest.mark.parametrize("table", [*COLUMNS, *OPTIONAL])
def test_the_data_dictionary_names_every_column(table: str):
    names = TYPES | _types(OPTIONAL)
    columns = {name.partition(".")[2] for name in names if name.startswith(f"{table}.")}
    described = _described(table)
    if table == "pending_feedback":
        described |= _described("feedback")  # "As feedback, with ..."
    assert columns - described == set()


def _flags() -> set[str]:
    """Every word that the source puts on a row: `flags.add("word")`, `observation.flag("word")`, a constant."""
    found = {"sanitised_id"}
    for path in python_files(*PARTS):
        for node in ast.walk(tree_of(path)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and (
                    node.func.attr == "flag"
                    or (node.func.attr == "add" and "flags" in ast.unparse(node.func.value))
                )
                and isinstance(node.args[0], ast.Constant)
            ):
                found.add(node.args[0].value)
    return found


def test_the_data_dictionary_names_every_flag():
    assert {"incomplete", "duplicate_hit", "hits_capped"} <= _flags()
    assert _flags() - _described("searches") == set()
