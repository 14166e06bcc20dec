"""Searches with votes on two sides, as hypothesis draws them and as tests write them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from ragledger.measures.difference import Clusters

Row = tuple[bool, int, float, int]
"""Of B, surface, useful, judged."""


def clusters(rows: Sequence[Row]) -> Clusters:
    of_b, surface, useful, judged = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Clusters(
        of_b=np.array(of_b, dtype=bool),
        surface=np.array(surface, dtype=np.int64),
        useful=np.array(useful, dtype=float),
        judged=np.array(judged, dtype=float),
    )


def rows(*, smallest: int = 2, largest: int = 14, surfaces: int = 3) -> st.SearchStrategy[list[Row]]:
    one = st.integers(1, 5).flatmap(
        lambda judged: st.tuples(
            st.booleans(), st.integers(0, surfaces - 1), st.integers(0, judged).map(float), st.just(judged)
        )
    )
    return st.lists(one, min_size=smallest, max_size=largest)
