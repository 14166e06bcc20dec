from __future__ import annotations

import stat
from pathlib import Path

import psycopg
import pytest
from embedded.world import wait_until_gone

from ragledger.embedded import EmbeddedServer, cpu_supports_pgvector, status
from ragledger.errors import EmbeddedError

needs_avx2 = pytest.mark.skipif(cpu_supports_pgvector() is False, reason="this processor lacks AVX2")


def _value(dsn: str, query: str) -> object:
    with psycopg.connect(dsn) as connection:
        cursor = connection.execute(query)
        return cursor.fetchone()[0] if cursor.description else None


def test_data_survives_a_restart_with_the_newest_version(base: Path) -> None:
    with EmbeddedServer.acquire(base) as server:
        assert (server.version, server.base, server.data) == (18, base, base / "data")
        _value(server.dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
    wait_until_gone(base)
    with EmbeddedServer.acquire(base) as server:
        assert _value(server.dsn, "SELECT answer FROM kept") == 42
        assert _value(server.dsn, "SHOW fsync") == "on"
        assert _value(server.dsn, "SHOW server_encoding") == "UTF8"
    wait_until_gone(base)
    with EmbeddedServer.acquire(base, throwaway=True) as server:
        assert _value(server.dsn, "SHOW fsync") == "on", "what was made durable stays so"


def test_version_16_is_chosen_once_and_found_again_by_its_data_directory(base: Path) -> None:
    with EmbeddedServer.acquire(base, version=16, throwaway=True) as server:
        assert server.version == 16
        with pytest.raises(EmbeddedError, match="runs PostgreSQL 16, not 18"):
            EmbeddedServer.acquire(base, version=18, throwaway=True)
    wait_until_gone(base)
    with EmbeddedServer.acquire(base, throwaway=True) as server:
        assert str(_value(server.dsn, "SHOW server_version")).startswith("16.")
        if cpu_supports_pgvector() is not False:
            _value(server.dsn, "CREATE EXTENSION vector")
    wait_until_gone(base)
    with pytest.raises(EmbeddedError, match="was made by PostgreSQL 16, not 18; leave the version out"):
        EmbeddedServer.acquire(base, version=18, throwaway=True)
    assert status(base)["version"] == 16


@needs_avx2
def test_pgvector_can_be_created(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True) as server:
        _value(server.dsn, "CREATE EXTENSION IF NOT EXISTS vector")
        assert _value(server.dsn, "SELECT '[1,2]'::vector <-> '[1,4]'::vector") == 2


def test_the_only_door_is_a_private_socket_directory(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True) as server:
        assert _value(server.dsn, "SHOW listen_addresses") == ""
        directory = Path(str(status(used_base)["socket_dir"]))
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert stat.S_IMODE((used_base / "data").stat().st_mode) == 0o700
        assert [stat.S_IMODE((used_base / name).stat().st_mode) for name in ("lease", "server.log")] == [
            0o600,
            0o600,
        ]


def test_a_throwaway_server_is_fast_and_is_never_taken_for_a_durable_one(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True) as server:
        shown = [
            _value(server.dsn, f"SHOW {name}") for name in ("fsync", "synchronous_commit", "full_page_writes")
        ]
        assert shown == ["off", "off", "off"]
        with pytest.raises(EmbeddedError, match="was made as a throw-away server, which can lose data"):
            EmbeddedServer.acquire(used_base)
    wait_until_gone(used_base)
    with pytest.raises(EmbeddedError, match="was made as a throw-away server, which can lose data"):
        EmbeddedServer.acquire(used_base)


def test_a_dropped_database_is_made_again(used_base: Path) -> None:
    with EmbeddedServer.acquire(used_base, throwaway=True) as server:
        with psycopg.connect(server.dsn.replace("/ragledger?", "/postgres?"), autocommit=True) as connection:
            connection.execute("DROP DATABASE ragledger")
        server.ensure()
        assert _value(server.dsn, "SELECT current_database()") == "ragledger"


def test_failed_statements_and_their_values_stay_out_of_the_log(used_base: Path) -> None:
    """Promise P9: the server's log is no place for the application's text."""
    with EmbeddedServer.acquire(used_base, throwaway=True) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for query in ("SELECT 'secret-a'::int", "SELECT secret_b", "SELECT 1 / (length('secret-c') - 8)"):
                with pytest.raises(psycopg.Error):
                    connection.execute(query)
            with pytest.raises(psycopg.Error):
                connection.execute("SELECT %s::int", ["secret-d"])
        assert "secret" not in (used_base / "server.log").read_text()
