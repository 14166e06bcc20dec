from __future__ import annotations

pytest_plugins = ["fix_ledger", "fix_otlp", "fix_pg", "fix_roles", "fix_spans"]
