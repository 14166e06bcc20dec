from __future__ import annotations

from hypothesis import HealthCheck, settings

pytest_plugins = ["fix_ledger", "fix_otlp", "fix_pg", "fix_roles", "fix_spans"]

# No deadline and no verdict on speed: the machine may be shared, and a test never asserts an absolute time.
settings.register_profile("ragledger", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ragledger")
