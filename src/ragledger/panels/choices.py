"""The variables that dashboards share. "All" of the projects is spelled out, because rollups are found by project; "All"
of the rest is one word, so that a thousand epochs do not make a statement of a thousand words."""

from __future__ import annotations

from .panel import Annotation, Variable

__all__ = ["ACTOR_KIND", "ALL", "CHANGES", "CORPUS", "EPOCH", "NONE", "PROJECT", "SURFACE", "VOTER", "K"]

ALL = "(all)"
"""The value that stands for every one."""

NONE = "(none)"
"""The value that stands for what was not named."""

PROJECT = Variable(
    name="project",
    label="Project",
    description="The application whose searches are counted.",
    query="project",
)
CORPUS = Variable(
    name="corpus",
    label="Corpus",
    description="What was searched; (none): the search named no corpus.",
    query="corpus",
    every=ALL,
)
SURFACE = Variable(
    name="surface",
    label="Surface",
    description="Where in the product; (none): the search named no surface.",
    query="surface",
    every=ALL,
)
EPOCH = Variable(
    name="epoch",
    label="Epoch",
    description="Searches with equal ranking parameters, index version and embedding model; the latest first.",
    query="epoch",
    every=ALL,
)
ACTOR_KIND = Variable(
    name="actor_kind",
    label="Actor kind",
    description="Who asked: human, agent, judge, or system, which is also the unknown.",
    query="actor_kind",
    every=ALL,
)
VOTER = Variable(
    name="voter",
    label="Votes of",
    description="Whose votes count. Votes of people, agents and judges are never mixed.",
    options=("human", "agent", "judge", "system"),
    multi=False,
)
K = Variable(
    name="k",
    label="k",
    description="Hits up to this rank are counted.",
    options=("5", "1", "3", "10"),
    multi=False,
)
CHANGES = Annotation(name="Weights, index or embedding model changed", query="epochs", colour="notice")
