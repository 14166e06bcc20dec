"""The README's block of relevance numbers, made from the committed reports. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["BLOCK", "block", "replaced"]

BLOCK = "relevance"
_BEGIN = "<!-- relevance: made by make eval -->"
_END = "<!-- /relevance -->"
_MEASURES = ("nDCG@10", "P@1", "P@10", "R@10", "RR", "Bpref")
_NAMES = {None: "", "langchain": ", through LangChain", "llama_index": ", through LlamaIndex"}


def replaced(readme: str, demo: Mapping[str, Any], cranfield: Mapping[str, Any]) -> str:
    """The README with its block as the reports have it.

    Raises:
        ValueError: it has no such block, or more than one.
    """
    text, found = re.subn(
        f"{re.escape(_BEGIN)}.*?{re.escape(_END)}",
        lambda _: f"{_BEGIN}\n{block(demo, cranfield)}\n{_END}",
        readme,
        flags=re.DOTALL,
    )
    if found != 1:
        raise ValueError(f"the README needs {_BEGIN} ... {_END} once, it has it {found} times")
    return text


def block(demo: Mapping[str, Any], cranfield: Mapping[str, Any]) -> str:
    """The tables, with what they rest on."""
    return "\n\n".join(
        [
            "Means over questions with their 95 % interval; what is not judged counts as not useful, so the share that is "
            "judged stands beside. `make eval` writes the reports in `reports/` and this section from them.",
            _sentence(
                demo,
                f"The language reference of Python {demo['made_with']['python']}, which judges every passage",
            ),
            _table(demo["runs"]),
            _sentence(cranfield, "Cranfield, where grades 1 to 3 are useful, without a threshold"),
            _table(cranfield["runs"]),
        ]
    )


def _sentence(found: Mapping[str, Any], about: str) -> str:
    corpus = found["corpus"]
    return (
        f"**{about}**: {corpus['passages']:,} passages, {corpus['questions']:,} questions, {corpus['answerable']:,} of "
        f"them with a useful passage, {corpus['judgments']:,} judgments; embedding model `{found['embedding_model']}`."
    )


def _table(runs: Sequence[Mapping[str, Any]]) -> str:
    columns = ("vector : lexical", *_MEASURES, "useful in the first 5", "judged of the first 10")
    lines = [f"| {' | '.join(columns)} |", f"|---|{'---|' * (len(columns) - 1)}"]
    lines += [f"| {' | '.join(_cells(run))} |" for run in runs]
    return "\n".join(lines)


def _cells(run: Mapping[str, Any]) -> list[str]:
    settings, answered = run["settings"], run["useful_in_first"]["5"]
    name = f"{settings['vector']:g} : {settings['lexical']:g}{_NAMES[run['by']]}"
    return [
        name,
        *(_value(run["measures"][measure]) for measure in _MEASURES),
        f"{answered['n']} of {answered['of']}",
        f"{run['measures']['Judged@10']['value']:.0%}",
    ]


def _value(measure: Mapping[str, Any]) -> str:
    interval = (
        "interval not measured"
        if measure["low"] is None
        else f"{measure['low']:.3f} to {measure['high']:.3f}"
    )
    return f"{measure['value']:.3f} ({interval})"
