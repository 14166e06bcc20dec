"""Columns that many panels have, so that they mean and look the same on each."""

from __future__ import annotations

from .panel import Column

__all__ = ["CORPUS", "DOCUMENT", "HIGH", "JUDGED", "JUDGED_SHARE", "LOW", "PRECISION", "PROJECT", "TIME", "N"]

TIME = Column(name="time", meaning="start of the minute, hour or day that is counted", unit="time")
N = Column(
    name="n", meaning="how many searches the share or mean rests on", colour="neutral", style="support"
)
LOW = Column(
    name="low", meaning="lower end of the 95 % interval", unit="share", colour="interval", style="edge"
)
HIGH = Column(
    name="high", meaning="upper end of the 95 % interval", unit="share", colour="interval", style="band"
)
PRECISION = Column(
    name="precision", meaning="useful hits / judged hits, up to rank k", unit="share", colour="useful"
)
JUDGED = Column(
    name="judged hits", meaning="hits that the precision rests on", colour="neutral", style="support"
)
JUDGED_SHARE = Column(
    name="judged share", meaning="judged hits / shown hits, up to rank k", unit="share", colour="judged"
)
PROJECT = Column(name="project", meaning="the application", unit="text")
CORPUS = Column(name="corpus", meaning="what was searched; (none): nobody said", unit="text")
DOCUMENT = Column(name="document", meaning="id of the document", unit="text")
