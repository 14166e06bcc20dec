"""Every picture of the dashboards, defined once: what is asked, what each number is, how to read it.

`grafana.py` turns the definitions into Grafana's JSON (`dashboards/`), and a report may draw them without a Grafana:
`macros.py` expands in SQL what Grafana would have expanded. Nothing here opens a connection.
"""

from __future__ import annotations

from .panel import Dashboard

__all__ = ["dashboards"]


def dashboards() -> tuple[Dashboard, ...]:
    """All of them, in the order in which people look at them."""
    from .corpus import CORPUS
    from .overview import OVERVIEW
    from .pipeline import PIPELINE
    from .relevance import RELEVANCE

    return (OVERVIEW, RELEVANCE, CORPUS, PIPELINE)
