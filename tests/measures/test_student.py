"""Quantiles of Student's t agree with scipy's."""

from __future__ import annotations

import pytest
from scipy import stats

from ragledger.measures.student import t_quantile

DEGREES = [*range(1, 260), 500, 1_000, 10_000, 1_000_000]


@pytest.mark.parametrize("share", [0.6, 0.75, 0.9, 0.95, 0.975, 0.995, 0.9995])
def test_agrees_with_scipy(share: float) -> None:
    assert [t_quantile(share, degrees) for degrees in DEGREES] == pytest.approx(
        [stats.t.ppf(share, degrees) for degrees in DEGREES], rel=1e-9
    )


def test_known_values() -> None:
    assert t_quantile(0.975, 1) == pytest.approx(12.706204736174694, rel=1e-10)
    assert t_quantile(0.975, 9) == pytest.approx(2.2621571628541, rel=1e-10)


@pytest.mark.parametrize(("share", "degrees"), [(0.975, 0), (0.975, -3), (0.5, 4), (1.0, 4), (0.2, 4)])
def test_what_has_no_quantile_is_refused(share: float, degrees: int) -> None:
    with pytest.raises(ValueError, match=r"degree|share"):
        t_quantile(share, degrees)
