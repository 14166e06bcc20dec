"""Alert rules: promtool runs their own tests; each has one, asks for metrics that exist, and leads to what there is to do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragledger_collector.meters import COUNTERS, GAUGES

COLLECTOR = Path(__file__).parents[2] / "collector"
OPERATIONS = COLLECTOR.parent / "docs/operations.md"
with_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="no promtool here (apt-get install prometheus)"
)


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((COLLECTOR / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


@with_promtool
@pytest.mark.parametrize(
    "command",
    [
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
        ("check", "config", "prometheus.yml"),
    ],
    ids=" ".join,
)
def test_promtool_is_content(command: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["promtool", *command], cwd=COLLECTOR, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_seen_to_fire_and_to_be_silent() -> None:
    tests = yaml.safe_load((COLLECTOR / "alerts_test.yml").read_text(encoding="utf-8"))["tests"]
    fired, silent = set(), set()
    for test in tests:
        for case in test["alert_rule_test"]:
            (fired if case["exp_alerts"] else silent).add(case["alertname"])
    names = {alert["alert"] for alert in alerts()}
    assert names == fired
    # The others are seen to be silent for other applications of the same test.
    assert names - silent <= {
        *(
            "RagledgerJournalWaits",
            "RagledgerErrorShare",
            "RagledgerDegraded",
        ),
        *("RagledgerHitRateDropped", "RagledgerPrecisionBelowFloor"),
    }


def test_each_alert_asks_for_metrics_that_are_told() -> None:
    told = {name.replace(".", "_") for name, _, _ in GAUGES}
    told |= {name.replace(".", "_") + "_total" for name, _, _ in COUNTERS}
    told |= {"ragledger_collector_lag_seconds", "ragledger_collector_interval_seconds"}
    told |= {"ragledger_journal_age_seconds"}
    for alert in alerts():
        without_labels = re.sub(r"\{[^}]*\}|by \([^)]*\)", "", alert["expr"])
        asked = set(re.findall(r"ragledger_\w+", without_labels))
        assert asked, alert["alert"]
        assert asked <= told, alert["alert"]


def test_every_metric_is_in_the_documentation() -> None:
    page = (COLLECTOR.parent / "docs/collector.md").read_text(encoding="utf-8")
    for name, _, _ in (*GAUGES, *COUNTERS):
        base, _, end = name.rpartition(".")
        written = f"`{name}`" in page or (f"`{base}`" in page and f"`.{end}`" in page)
        assert written or f"`.{'.'.join(name.split('.')[-2:])}`" in page, name


def test_each_alert_says_what_it_means_and_leads_to_what_there_is_to_do() -> None:
    headings = re.findall(r"^## (.+)$", OPERATIONS.read_text(encoding="utf-8"), re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    for alert in alerts():
        said = alert["annotations"]
        assert set(said) == {"summary", "description", "runbook_url"}
        page, _, anchor = said["runbook_url"].partition("#")
        assert (page, anchor in anchors) == ("docs/operations.md", True)
        assert alert["labels"]["severity"] in {"info", "warning", "critical"}
        assert f"`{alert['alert']}`" in OPERATIONS.read_text(encoding="utf-8")
