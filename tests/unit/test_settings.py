"""Settings: one frozen value, from arguments, then RAGLEDGER_*, then OpenTelemetry's names; nothing is passed over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ragledger
from ragledger.errors import ConfigError
from ragledger.settings import ENVIRONMENT, Settings, config_home, state_home

DSN = "postgresql://127.0.0.1:1/nowhere"
FULL = {
    "RAGLEDGER_DSN": DSN,
    "RAGLEDGER_SCHEMA": "telemetry",
    "RAGLEDGER_PROJECT": "app",
    "RAGLEDGER_JOURNAL_DIR": "/tmp/j",
    "RAGLEDGER_JOURNAL_CAP_MB": "64",
    "RAGLEDGER_SHIP": "sidecar",
    "RAGLEDGER_STRICT": "1",
    "RAGLEDGER_KEY": "k" * 32,
    "RAGLEDGER_CHUNK_ID_KEY": "chunk",
    "RAGLEDGER_DOCUMENT_ID_KEYS": "page, source",
    "RAGLEDGER_SOURCE_KIND_KEY": "kind",
}


def from_env(environ: dict[str, str] | None = None, **given: Any) -> Settings:
    return Settings.from_env({"RAGLEDGER_DSN": DSN} | (environ or {}), **given)


def test_the_keys_of_ids_are_settings_and_arguments_of_open():
    found = from_env(FULL)
    assert (found.chunk_id_key, found.document_id_keys, found.source_kind_key) == (
        "chunk",
        ("page", "source"),
        "kind",
    )
    ledger = ragledger.open(
        DSN, ship="sidecar", chunk_id_key="own", document_id_keys=("d",), source_kind_key="k"
    )
    try:
        assert (ledger.chunk_id_key, ledger.document_id_keys, ledger.source_kind_key) == ("own", ("d",), "k")
    finally:
        ledger.close()
    assert from_env().document_id_keys == ("document_id", "doc_id", "source_id")


def test_the_defaults():
    found = from_env()
    assert (found.dsn, found.schema, found.project) == (DSN, "ragledger", "default")
    assert (found.journal_dir, found.journal_cap_mb, found.ship, found.strict) == (
        None,
        2048,
        "thread",
        False,
    )
    assert (found.key, found.max_candidates, found.max_admitted) == (None, 50, 1000)
    assert (found.vote_deadline_h, found.exit_drain_s) == (24.0, 2.0)
    with pytest.raises(AttributeError):
        found.dsn = "other"  # type: ignore[misc]


def test_the_environment_sets_every_field_that_it_names():
    found = Settings.from_env(FULL)
    assert (found.dsn, found.schema, found.project) == (DSN, "telemetry", "app")
    assert (found.journal_dir, found.journal_cap_mb) == (Path("/tmp/j"), 64)
    assert (found.ship, found.strict, found.key) == ("sidecar", True, b"k" * 32)


def test_an_argument_wins_over_the_environment_and_none_says_nothing():
    found = Settings.from_env(
        FULL,
        schema="mine",
        project=None,
        journal_dir=None,
        journal_cap_mb=1,
        ship="thread",
        strict=False,
        key=b"b" * 16,
    )
    assert (found.schema, found.project, found.journal_cap_mb) == ("mine", "app", 1)
    assert (found.ship, found.strict, found.key, found.journal_dir) == (
        "thread",
        False,
        b"b" * 16,
        Path("/tmp/j"),
    )


@pytest.mark.parametrize("name", ["RAGLEDGER_DNS", "RAGLEDGER_", "RAGLEDGER_dsn"])
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(name: str):
    with pytest.raises(ConfigError) as caught:
        from_env({name: "x"})
    assert name in str(caught.value)
    assert all(known in str(caught.value) for known in ENVIRONMENT)


def test_every_known_name_is_taken_and_an_empty_value_says_nothing():
    assert from_env(dict.fromkeys(ENVIRONMENT, "") | {"RAGLEDGER_DSN": DSN}) == from_env()


@pytest.mark.parametrize(
    ("environ", "project"),
    [
        ({}, "default"),
        ({"OTEL_SERVICE_NAME": "svc"}, "svc"),
        ({"OTEL_SERVICE_NAME": "svc", "RAGLEDGER_PROJECT": "app"}, "app"),
        ({"OTEL_SERVICE_NAME": "svc", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other"}, "svc"),
        ({"OTEL_SERVICE_NAME": "", "OTEL_RESOURCE_ATTRIBUTES": "service.name=other"}, "other"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "a=b, service.name = my%20app%2C2 ,c"}, "my app,2"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=first,service.name=last"}, "last"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=a=b"}, "a=b"),
        ({"OTEL_RESOURCE_ATTRIBUTES": "service.name=,service.names=x,=,"}, "default"),
    ],
)
def test_the_project_is_a_setting_else_the_service(environ: dict[str, str], project: str):
    assert from_env(environ).project == project


def test_opentelemetrys_sdk_reads_the_same_name():
    from opentelemetry.sdk.resources import OTELResourceDetector

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=first,service.name=my%20app%2C2")
        expected = OTELResourceDetector().detect().attributes["service.name"]
    assert (
        from_env({"OTEL_RESOURCE_ATTRIBUTES": "service.name=first,service.name=my%20app%2C2"}).project
        == expected
    )


@pytest.mark.parametrize("environ", [{}, {"RAGLEDGER_DSN": ""}])
def test_no_database_at_all_says_how_to_name_one(environ: dict[str, str]):
    with pytest.raises(ConfigError, match="set RAGLEDGER_DSN"):
        Settings.from_env(environ)
    assert Settings.from_env(environ, dsn=DSN).dsn == DSN


@pytest.mark.parametrize(
    ("environ", "given"),
    [
        ({"RAGLEDGER_JOURNAL_CAP_MB": "much"}, {}),
        ({"RAGLEDGER_JOURNAL_CAP_MB": "-1"}, {}),
        ({"RAGLEDGER_JOURNAL_CAP_MB": "0"}, {}),
        ({"RAGLEDGER_STRICT": "yes"}, {}),
        ({"RAGLEDGER_SHIP": "pigeon"}, {}),
        ({"RAGLEDGER_SCHEMA": "public; DROP TABLE"}, {}),
        ({"RAGLEDGER_SCHEMA": "Upper"}, {}),
        ({"RAGLEDGER_SCHEMA": "x" * 64}, {}),
        ({"RAGLEDGER_PROJECT": "x" * 513}, {}),
        ({"OTEL_SERVICE_NAME": "bad\udcff"}, {}),
        ({}, {"project": "nul\0"}),
        ({}, {"project": 7}),
        ({}, {"projct": "app"}),
        ({}, {"ship": "pigeon"}),
        ({}, {"journal_cap_mb": "64"}),
        ({}, {"journal_dir": 7}),
        ({}, {"strict": "yes"}),
        ({}, {"key": 7}),
        ({}, {"max_candidates": 0}),
        ({}, {"max_admitted": -1}),
        ({}, {"dsn": 7}),
    ],
    ids=str,
)
def test_a_value_of_the_wrong_form_is_a_config_error(environ: dict[str, str], given: dict[str, Any]):
    with pytest.raises(ConfigError) as caught:
        from_env(environ, **given)
    assert "\n" not in str(caught.value)


def test_p9_no_secret_is_repeated_in_an_error():
    secret: Any = ["SECRET"]
    for name in ("dsn", "key"):
        with pytest.raises(ConfigError) as caught:
            from_env(**{name: secret})
        assert "SECRET" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_a_text_is_a_path_and_a_key_too(tmp_path: Path):
    assert from_env(journal_dir=str(tmp_path)).journal_dir == tmp_path
    assert from_env(journal_dir=tmp_path).journal_dir == tmp_path
    assert from_env(key="kéy" * 8).key == ("kéy" * 8).encode()
    assert from_env({"RAGLEDGER_KEY": "k" * 16 + "\udcff"}).key == b"k" * 16 + b"\xff"
    assert from_env(exit_drain_s=1).exit_drain_s == 1.0


def test_a_ledger_opens_by_its_settings_and_refuses_unknown_ones(tmp_path: Path):
    with pytest.raises(ConfigError, match="sidecart"):
        ragledger.open(DSN, sidecart=True)
    with pytest.raises(ConfigError, match="at least 16 bytes"):
        ragledger.open(DSN, key="short")
    ledger = ragledger.open(DSN, ship="sidecar", journal_dir=str(tmp_path / "j"), key="k" * 16)
    try:
        assert ledger.derive_id("text") == ledger.derive_id("text")
        assert (tmp_path / "j").is_dir()
    finally:
        ledger.close()


def test_where_things_live():
    assert state_home({"RAGLEDGER_HOME": "/h", "XDG_STATE_HOME": "/s"}) == Path("/h/journal")
    assert state_home({"XDG_STATE_HOME": "/s"}) == Path("/s/ragledger")
    assert state_home({}) == Path.home() / ".local/state/ragledger"
    assert config_home({"RAGLEDGER_HOME": "/h", "XDG_CONFIG_HOME": "/c"}) == Path("/h")
    assert config_home({"XDG_CONFIG_HOME": "/c"}) == Path("/c/ragledger")
    assert config_home({}) == Path.home() / ".config/ragledger"


def test_a_user_without_a_home_gets_one_clear_line(monkeypatch: pytest.MonkeyPatch):
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    for home in (state_home, config_home):
        with pytest.raises(ConfigError, match="set RAGLEDGER_HOME"):
            home({})


def test_p9_neither_password_nor_key_is_in_the_repr() -> None:
    settings = Settings(dsn="postgresql://u:SECRET-PASSWORD@h/d", key=b"SECRET-KEY-OF-32-BYTES-AT-LEAST!")

    assert "SECRET" not in repr(settings)
    assert "SECRET" not in str(settings)
