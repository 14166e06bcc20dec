"""What SQL computes beside the rollups is what `measures/` computes."""

from __future__ import annotations

import itertools
from typing import Any

import psycopg
import pytest

from ragledger.measures.histogram import middle_ms
from ragledger.measures.interval import Sums, clustered, wilson
from ragledger.measures.student import t_quantile

pytestmark = pytest.mark.pg

_PRECISION = "SELECT low, high FROM precision_interval({})".format(", ".join(["%s::numeric"] * 6))
_SHARE = "SELECT low, high FROM share_interval(%s::numeric, %s::numeric)"


def _spread(searches: int, per_search: int, share: float) -> list[tuple[float, int]]:
    """Searches with 1 to `per_search` judged hits each; useful ones come in clusters, so that the design effect is not 1."""
    judged = [1 + number % per_search for number in range(searches)]
    return [(float(round(n * share * 2)) if number % 2 else 0.0, n) for number, n in enumerate(judged)]


GRID = [
    pytest.param(clusters, id=f"{searches}-{per}-{share}")
    for searches, per, share in itertools.product((1, 2, 3, 10, 31, 500, 100_000), (1, 5), (0.0, 0.25, 0.5))
    for clusters in [_spread(searches, per, share)]
] + [
    pytest.param([(1.0, 1)] * 40, id="all useful"),
    pytest.param([(0.5, 1), (1.0, 3), (0.25, 2)], id="shares of actors"),
]


@pytest.mark.parametrize("clusters", GRID)
def test_the_clustered_interval_is_that_of_measures(
    reader: psycopg.Connection[Any], clusters: list[tuple[float, int]]
) -> None:
    sums = Sums.of(clusters)
    given = [sums.clusters, sums.useful, sums.judged, sums.useful_sq, sums.judged_sq, sums.useful_judged]
    found = reader.execute(_PRECISION, given).fetchone()
    expected = clustered(sums)
    if expected is None:
        assert found in (None, (None, None))
    else:
        assert found == pytest.approx((expected.low, expected.high), abs=1e-3)


def test_p8_without_votes_there_is_no_interval(reader: psycopg.Connection[Any]) -> None:
    assert reader.execute(_PRECISION, [None] * 6).fetchone() == (None, None)
    assert reader.execute(_PRECISION, [0] * 6).fetchone() in (None, (None, None))
    assert reader.execute(_SHARE, [0, 0]).fetchone() == (None, None)
    assert reader.execute(_SHARE, [None, None]).fetchone() == (None, None)


@pytest.mark.parametrize(("part", "n"), [(0, 1), (1, 1), (3, 10), (999, 1000), (5_000_000, 10_000_000)])
def test_the_interval_of_a_share_is_wilsons(reader: psycopg.Connection[Any], part: int, n: int) -> None:
    found = reader.execute(_SHARE, [part, n]).fetchone()
    assert found == pytest.approx(wilson(part / n, n, 1.959963985), abs=1e-9)


def test_the_quantiles_are_students(reader: psycopg.Connection[Any]) -> None:
    degrees = [*range(1, 60), 100, 1000, 10**6]
    found = reader.execute("SELECT t_quantile(d) FROM unnest(%s::float8[]) AS d", [degrees]).fetchall()
    assert [one for (one,) in found] == pytest.approx([t_quantile(0.975, d) for d in degrees], rel=1e-5)
    assert reader.execute("SELECT t_quantile(0)").fetchone() == (None,)


def test_a_bin_stands_for_the_same_latency(reader: psycopg.Connection[Any]) -> None:
    bins = [*range(300), 1184, 1500, 3000, 3700]
    found = reader.execute("SELECT latency_ms(b) FROM unnest(%s::int4[]) AS b", [bins]).fetchall()
    assert [one for (one,) in found] == pytest.approx([middle_ms(b) for b in bins], rel=1e-12)


@pytest.mark.parametrize(
    ("hours", "projects", "grain"),
    [
        (1, 1, "minute"),
        (6, 1, "minute"),
        (7, 1, "hour"),
        (24, 20, "hour"),
        (1, 30, "minute"),
        (6, 20, "hour"),
        (192, 1, "hour"),
        (193, 1, "day"),
        (168, 20, "day"),
        (2160, None, "day"),
    ],
)
def test_a_query_reads_no_more_buckets_than_it_needs(
    reader: psycopg.Connection[Any], hours: int, projects: int | None, grain: str
) -> None:
    given = [1_772_355_600, 1_772_355_600 + hours * 3600, projects]
    assert reader.execute("SELECT rollup_grain(%s, %s, %s::int4)", given).fetchone() == (grain,)
