from __future__ import annotations

import pytest

from ragledger.measures.rates import degraded_share, hit_rate, skipped_share


@pytest.mark.parametrize("rate", [hit_rate, degraded_share, skipped_share])
def test_a_rate_over_nothing_is_unknown_not_zero(rate: object) -> None:
    assert rate(0, 0) is None  # type: ignore[operator]
    assert rate(0, 4) == 0.0  # type: ignore[operator]
    assert rate(3, 4) == 0.75  # type: ignore[operator]
