"""Rights: the group roles may do exactly what they must (P2), and the ledger does all its work as the writer."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from fix_pg import Database
from psycopg.conninfo import make_conninfo

from ragledger import Candidate, HitNotReturned, Ledger, UnknownSearch, schema
from ragledger.ids import new_id
from ragledger.postgres.connection import acting_as
from ragledger.postgres.lookup import PostgresLookup
from ragledger.postgres.store import Store
from ragledger.wiring import target_from

pytestmark = pytest.mark.pg

ALL = "all"  # the privilege on the whole relation, not on columns of it
_SEEN = (
    *("writer_fates", "writer_refusals", "rejections", "pending_votes", "collector_arrears"),
    *("collector_waiting", "shipping_delays", "listed_documents"),
)
_VIEWS = ("current_votes", "logical_searches", "real_hits", *_SEEN)
_TABLES = (
    *("searches", "hits", "deliveries", "assessments", "feedback", "pending_feedback"),
    *("writers", "rejected", "inventory"),
)
_ROLLUPS = (
    *("rollup_series", "rollup_searches", "rollup_latency", "rollup_words", "rollup_judged", "rollup_shown"),
    *(
        "rollup_votes",
        "rollup_latency_parts",
        "rollup_document_days",
        "rollup_documents",
        "rollup_corpus_days",
    ),
    *("rollup_corpora", "rollup_inventories", "epochs"),
)
_PLANS = ("plans", "plan_looks")
_MARKS = ("rollup_arrivals", "rollup_dirty", "rollup_dirty_days", "rollup_dirty_corpora")

# role -> relation -> privilege -> columns. This is reference/traps.md "Rights", with what the readers see.
GRANTS: dict[str, dict[str, dict[str, Any]]] = {
    "ragledger_writer": {
        "searches": {"INSERT": ALL, "SELECT": {"search_id", "trace_id", "span_id", "sampled", "span_owner"}},
        "hits": {"INSERT": ALL, "SELECT": {"search_id", "rank", "chunk_id", "admitted"}},
        "deliveries": {"INSERT": ALL},
        "assessments": {"INSERT": ALL},
        "feedback": {"INSERT": ALL, "SELECT": {"search_id", "feedback_id"}},
        "pending_feedback": {"INSERT": ALL, "SELECT": ALL, "DELETE": ALL},
        "writers": {
            "INSERT": ALL,
            "SELECT": ALL,
            "UPDATE": {"last_seen_at", "finished_at", "attempted", "refused", "shipped", "landed"},
        },
        "rejected": {"INSERT": ALL},
        "schema_migrations": {"SELECT": ALL},
    },
    "ragledger_reader": {
        name: {"SELECT": ALL} for name in (*_SEEN, "schema_migrations", "rollup_sealed", *_ROLLUPS, *_PLANS)
    },
    "ragledger_collector": {
        **{name: {"SELECT": ALL} for name in (*_TABLES, *_VIEWS, "schema_migrations", "rollup_sealed")},
        **{
            name: dict.fromkeys(("SELECT", "INSERT", "UPDATE", "DELETE"), ALL)
            for name in (*_ROLLUPS, *_MARKS)
        },
        **{name: {"SELECT": ALL, "INSERT": ALL} for name in _PLANS},
    },
    "ragledger_texts": {},  # what it may where there is a table for texts: tests/integration/test_texts.py
}

_GRANTED = """
SELECT c.relname, x.privilege_type, NULL FROM pg_class c, aclexplode(c.relacl) x
WHERE c.relnamespace = 'ragledger'::regnamespace AND x.grantee = %(role)s::regrole
UNION ALL
SELECT c.relname, x.privilege_type, a.attname FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid, aclexplode(a.attacl) x
WHERE c.relnamespace = 'ragledger'::regnamespace AND x.grantee = %(role)s::regrole
"""


@pytest.mark.parametrize("role", GRANTS)
def test_p2_a_group_role_has_exactly_these_rights(database: Database, role: str) -> None:
    found: dict[str, dict[str, Any]] = {}
    with database.connect() as connection:
        for relation, privilege, column in connection.execute(_GRANTED, {"role": role}):
            held = found.setdefault(relation, {})
            held[privilege] = ALL if column is None else {column, *held.get(privilege, ())}

    assert found == GRANTS[role]


def test_p2_nobody_else_has_any_right(database: Database) -> None:
    """None for PUBLIC, and the owner role has all on every relation."""
    strangers = """
        SELECT c.relname, x.grantee FROM pg_class c, aclexplode(c.relacl) x
        WHERE c.relnamespace = 'ragledger'::regnamespace
          AND x.grantee NOT IN (c.relowner, 'ragledger_owner'::regrole, 'ragledger_writer'::regrole,
              'ragledger_reader'::regrole, 'ragledger_collector'::regrole)"""
    owned = """
        SELECT relname FROM pg_class WHERE relnamespace = 'ragledger'::regnamespace AND relkind IN ('r', 'v')
          AND has_table_privilege('ragledger_owner', oid, 'DELETE')"""

    assert database.rows(strangers) == []
    assert {name for (name,) in database.rows(owned)} == {
        *(*_TABLES, *_VIEWS, *_ROLLUPS, *_MARKS, *_PLANS),
        *("schema_migrations", "rollup_sealed"),
    }


def test_p2_group_roles_may_use_the_schema_and_not_make_anything_in_it(database: Database) -> None:
    rights = """
        SELECT x.grantee::regrole::text, array_agg(x.privilege_type::text) FROM pg_namespace n, aclexplode(n.nspacl) x
        WHERE n.nspname = 'ragledger' AND x.grantee <> n.nspowner GROUP BY 1"""

    assert dict(database.rows(rights)) == {role: ["USAGE"] for role in schema.ROLES}


def test_p2_group_roles_cannot_log_in_and_are_no_members_of_each_other(database: Database) -> None:
    attributes = """
        SELECT rolname, rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls FROM pg_roles
        WHERE rolname = ANY(%s)"""
    members = "SELECT FROM pg_auth_members WHERE member IN (SELECT oid FROM pg_roles WHERE rolname = ANY(%s))"
    names = list(schema.ROLES)

    assert sorted(database.rows(attributes, names)) == sorted((name, *[False] * 5) for name in names)
    assert database.rows(members, names) == []


# --- what that means ---------------------------------------------------------------------------------------

_FORBIDDEN = [
    f"{what} {table}{rest}"
    for table in ("searches", "hits")
    for what, rest in (
        ("UPDATE", " SET search_id = search_id"),
        ("DELETE FROM", ""),
        ("TRUNCATE", " CASCADE"),
    )
]


@pytest.mark.parametrize("role", ["ragledger_writer", "ragledger_reader", "ragledger_collector"])
@pytest.mark.parametrize("statement", _FORBIDDEN)
def test_p2_update_and_delete_of_searches_and_hits_are_refused(
    database: Database, role: str, statement: str
) -> None:
    with database.connect(role=role) as connection:
        assert acting_as(connection) == role
        with pytest.raises(psycopg.errors.InsufficientPrivilege) as refused:
            connection.execute(statement)

    assert refused.value.sqlstate == "42501"


@pytest.mark.parametrize("statement", _FORBIDDEN)
def test_p2_they_are_refused_to_the_ledgers_own_connections_as_well(
    database: Database, statement: str
) -> None:
    """Even where the dsn is a superuser's: the ledger acts as the writer."""
    shipping = target_from(dsn=database.dsn).connect()
    voting = PostgresLookup(database.dsn, "ragledger")
    voting.find(new_id())
    assert voting._connection is not None
    for connection in (shipping, voting._connection):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)
    shipping.close()
    voting.close()


def test_p2_a_vote_cannot_be_changed_or_taken_back_by_the_writer(database: Database) -> None:
    with database.connect(role="ragledger_writer") as connection:
        for statement in (
            "UPDATE feedback SET outcome = 'relevant'",
            "DELETE FROM feedback",
            "DELETE FROM writers",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE writers SET removed = '{}'")


@pytest.mark.parametrize(
    "relation", [*_TABLES, "current_votes", "logical_searches", "real_hits"]
)  # all but the fates, which hold counts only
def test_the_reader_sees_no_raw_rows(database: Database, relation: str) -> None:
    with database.connect(role="ragledger_reader") as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(f"SELECT FROM {relation}")
        assert connection.execute("SELECT count(*) FROM writer_fates").fetchone() == (0,)


# --- the writer can do all that the ledger does ------------------------------------------------------------


@pytest.mark.parametrize("membership", ["INHERIT", "NOINHERIT"])
def test_a_login_that_is_only_a_member_of_the_writer_does_all_the_ledgers_work(
    make_login: Callable[..., str],
    database: Database,
    make_ledger: Callable[..., Ledger],
    membership: str,
) -> None:
    login = make_login(membership, member_of=("ragledger_writer",))
    dsn = make_conninfo(database.dsn, user=login)
    with target_from(dsn=dsn).connect() as connection:
        assert acting_as(connection) == "ragledger_writer"

    ledger = make_ledger(dsn=dsn)
    search_id = _search(ledger)
    ledger.vote(search_id, "a", "relevant", actor="human:ana")
    ledger.accessed(search_id, rank=1, actor="human:ana")
    ledger.deliver(search_id, [1], scores=[0.9])
    ledger.assess(search_id, "citation_coverage", 0.6, weights={"a": 1})
    ledger.skip(reason="no_goal")
    with pytest.raises(HitNotReturned):
        ledger.vote(search_id, "b", "relevant")
    assert ledger.flush()

    assert _counts(database) == {
        "searches": 2,
        "hits": 2,
        "feedback": 2,
        "deliveries": 1,
        "assessments": 1,
        "pending_feedback": 0,
        "rejected": 0,
    }
    fates = "SELECT shipped, written, removed, pending, rejected, refused FROM writer_fates"
    assert database.rows(fates) == [(6, 6, 0, 0, 0, 0)]


def test_the_writer_checks_votes_for_searches_of_other_processes(
    make_login: Callable[..., str], database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    ours = make_ledger()
    dsn = make_conninfo(database.dsn, user=make_login(member_of=("ragledger_writer",)))
    other = make_ledger(dsn=dsn, name="other", vote_deadline_h=0.0)
    search_id = _search(ours)
    assert ours.flush()

    assert other.vote(search_id, "a", "relevant").status == "journalled"
    assert other.vote(search_id, rank=1, outcome="relevant").status == "journalled"
    with pytest.raises(HitNotReturned):
        other.vote(search_id, "b", "relevant")
    with pytest.raises(UnknownSearch):
        other.vote(UUID(int=4), "a", "relevant")
    assert other.flush()
    assert _counts(database)["feedback"] == 2


def test_the_writer_promotes_and_rejects_votes_that_waited(
    make_login: Callable[..., str], database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    dsn = make_conninfo(database.dsn, user=make_login(member_of=("ragledger_writer",)))
    ledger = make_ledger(dsn=dsn)
    later = new_id()
    assert ledger.vote(later, "a", "relevant").status == "pending"
    assert ledger.vote(later, "never returned", "relevant").status == "pending"
    assert ledger.flush()
    assert _counts(database)["pending_feedback"] == 2

    ledger.recorder.new_id = lambda: later
    _search(ledger)
    ledger.close()
    with target_from(dsn=dsn).connect() as connection:
        Store(connection).promote_pending()

    assert (_counts(database)["feedback"], _counts(database)["pending_feedback"]) == (1, 0)
    assert database.rows("SELECT kind, reason FROM rejected") == [("feedback", "hit_not_returned")]


_KILLED = """
import os, sys, ragledger
ledger = ragledger.open(sys.argv[1], ship="sidecar")
with ledger.search() as search:
    search.candidates(ragledger.Candidate("a"))
os._exit(0 if search.receipt.status == "journalled" else 1)
"""


def test_the_writer_adopts_what_a_dead_process_left(
    make_login: Callable[..., str], database: Database, make_ledger: Callable[..., Ledger]
) -> None:
    dsn = make_conninfo(database.dsn, user=make_login(member_of=("ragledger_writer",)))
    subprocess.run([sys.executable, "-c", _KILLED, dsn], check=True, timeout=60)
    assert database.value("SELECT count(*) FROM searches") == 0

    ledger = make_ledger(dsn=dsn)
    _search(ledger)
    ledger.close()

    assert database.value("SELECT count(*) FROM searches") == 2
    assert database.value("SELECT count(*) FROM writers WHERE finished_at IS NOT NULL") == 2


def _search(ledger: Ledger) -> UUID:
    with ledger.search(corpus="handbook", weights={"vector": 0.6}) as search:
        search.candidates(Candidate("a", score=0.9, vector=0.9), Candidate("b", score=0.1, admitted=False))
    found = search.receipt.search_id
    assert found is not None
    return found


def _counts(database: Database) -> dict[str, int]:
    tables = (
        *("searches", "hits", "feedback", "deliveries", "assessments"),
        *("pending_feedback", "rejected"),
    )
    return {table: database.value(f"SELECT count(*) FROM {table}") for table in tables}
