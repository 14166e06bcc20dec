"""`python -m ragledger.panels [FOLDER]`: writes the JSON of every dashboard, for Grafana to be provisioned with."""

from __future__ import annotations

import sys
from pathlib import Path

from ragledger.panels import dashboards
from ragledger.panels.grafana import as_json


def main(folder: Path) -> None:
    """One file per dashboard."""
    folder.mkdir(parents=True, exist_ok=True)
    for dashboard in dashboards():
        (folder / f"{dashboard.name}.json").write_text(as_json(dashboard), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("dashboards"))
