"""The demo's corpus: the language reference that ships with every CPython, cut into passages.

Pure: it reads `pydoc_data.topics` and nothing else, and gives the same passages every time on the same
Python. Between Python versions the wording, the cuts and so the chunk ids differ: nothing outside one run
may name a chunk id.

The reference repeats itself (`compound` contains `with`, `specialnames` contains `customization`), and the
repeats stay in: a reader of either page needs the passage there, and real corpora are like that.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["MAX_CHARS", "Passage", "load_corpus", "split_topics"]

MAX_CHARS = 1100
"""No passage is longer."""

_WANTED_CHARS = 300  # a passage this long is complete
_FULL_CHARS = 900  # a passage is not grown beyond this
_PIECE_CHARS = 750  # where a single block that is longer than a passage is cut
_LEAD_CHARS = 200  # "The following code:" moves to the next passage with its code, a long paragraph does not
_SCRAP_CHARS = 120  # a shorter passage is joined to its neighbour

_UNDERLINE = re.compile(r"([*=\-~^\"'#+])\1{2,}")
_TABLE_RULE = re.compile(r"\+[-=+]+\+|\|[=+|]+\|")
_BULLET = re.compile(r"\s*(\*|\d+\.|\(\d+\))\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What the demo indexes: one row of the vector table.

    `chunk_id` is `<topic>#<ordinal>` (`with#003`), `document_id` the topic, `ordinal` counts from 0 in it.
    """

    chunk_id: str
    document_id: str
    ordinal: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """What stood between two blank lines. `opens`: starts a passage; `leads`: is nothing without the next."""

    text: str
    opens: bool = False
    leads: bool = False


def load_corpus() -> list[Passage]:
    """Return the passages of this interpreter's language reference, in the order of topic and text."""
    # Half a megabyte that only a demo needs.
    from pydoc_data.topics import topics

    return split_topics(topics)


def split_topics(topics: Mapping[str, str]) -> list[Passage]:
    """Cut topics (name to text, as pydoc keeps them) into passages, topics in alphabetical order."""
    return [
        Passage(chunk_id=f"{topic}#{ordinal:03d}", document_id=topic, ordinal=ordinal, text=text)
        for topic in sorted(topics)
        for ordinal, text in enumerate(_passages(topics[topic]))
    ]


def _passages(text: str) -> list[str]:
    """Join a topic's blocks until they say something, and begin anew at headings and signatures."""
    done: list[str] = []
    open_blocks: list[_Block] = []
    for block in _blocks(text):
        if _must_close(open_blocks, block):
            carried = [] if all(b.leads for b in open_blocks) else _carried(open_blocks)
            _close(done, open_blocks[: len(open_blocks) - len(carried)])
            open_blocks = carried
        open_blocks.append(block)
        if _length(open_blocks) >= _WANTED_CHARS and not block.leads:
            _close(done, open_blocks)
            open_blocks = []
    _close(done, open_blocks)
    return _without_scraps(done)


def _must_close(open_blocks: list[_Block], block: _Block) -> bool:
    if all(b.leads for b in open_blocks):
        return _length([*open_blocks, block]) > MAX_CHARS
    return block.opens or _length([*open_blocks, block]) > _FULL_CHARS


def _carried(open_blocks: list[_Block]) -> list[_Block]:
    """Return the blocks at the end that lead to what comes next, as far as they are short."""
    carried: list[_Block] = []
    for block in reversed(open_blocks):
        if not block.leads or _length([block, *carried]) > _LEAD_CHARS:
            break
        carried.insert(0, block)
    return carried


def _close(done: list[str], blocks: list[_Block]) -> None:
    if blocks:
        done.append(_joined(blocks))


def _joined(blocks: list[_Block]) -> str:
    return "\n\n".join(block.text for block in blocks)


def _length(blocks: list[_Block]) -> int:
    return len(_joined(blocks))


def _without_scraps(passages: list[str]) -> list[str]:
    """Join what is too short to be found or judged to the passage before it, or else to the one after."""
    kept: list[str] = []
    for text in passages:
        if kept and min(len(kept[-1]), len(text)) < _SCRAP_CHARS and len(kept[-1]) + len(text) < _FULL_CHARS:
            kept[-1] = f"{kept[-1]}\n\n{text}"
        else:
            kept.append(text)
    return kept


def _blocks(text: str) -> Iterator[_Block]:
    """Yield a topic's blocks: underlines gone, tables as `cell | cell` rows, long blocks in pieces."""
    parts = [part.split("\n") for part in re.split(r"\n(?:[ \t]*\n)+", text.expandtabs().strip("\n"))]
    for i, lines in enumerate(parts):
        if (
            len(lines) > 1
            and _UNDERLINE.fullmatch(lines[1].strip())
            and not _TABLE_RULE.fullmatch(lines[1].strip())
        ):
            yield _Block(text=lines[0].strip(), opens=True, leads=True)
            del lines[:2]
        if not lines or (len(lines) == 1 and _UNDERLINE.fullmatch(lines[0].strip())):
            continue
        if any(_TABLE_RULE.fullmatch(line.strip()) for line in lines):
            lines = _rows(lines)
        if _is_signature(lines, parts[i + 1] if i + 1 < len(parts) else []):
            yield _Block(text=_text(lines), opens=True, leads=True)
            continue
        for piece in _pieces(lines):
            yield _Block(text=piece, leads=piece.endswith(":"))


def _is_signature(lines: list[str], following: list[str]) -> bool:
    """Tell whether the lines name something that the indented text after them describes."""
    if not following or len(_text(lines)) > _FULL_CHARS // 2 or any(_BULLET.match(line) for line in lines):
        return False
    indent = _indent(lines[0])
    return _indent(following[0]) > indent and not lines[-1].rstrip().endswith((".", ":", ",", "::", "?"))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _rows(lines: list[str]) -> list[str]:
    """Turn an ASCII table into one line for each row; a row's cells are wrapped over several lines."""
    rows: list[str] = []
    cells: list[str] = []
    for line in [*lines, "+--+"]:
        bare = line.strip()
        if _TABLE_RULE.fullmatch(bare):
            if any(cells):
                rows += textwrap.wrap(" | ".join(cell for cell in cells if cell), _PIECE_CHARS)
            cells = []
        elif bare.startswith("|"):
            wrapped = [cell.strip() for cell in bare.strip("|").split(" | ")]
            cells = wrapped if len(cells) != len(wrapped) else _continued(cells, wrapped)
        else:
            rows.append(line)
    return rows


def _continued(cells: list[str], wrapped: list[str]) -> list[str]:
    return [f"{cell} {more}".strip() for cell, more in zip(cells, wrapped, strict=True)]


def _pieces(lines: list[str]) -> Iterator[str]:
    """Yield a block whole, or cut where a sentence, an item or a row ends if it is longer than a passage."""
    if len(_text(lines)) <= _FULL_CHARS:
        yield _text(lines)
        return
    piece: list[str] = []
    for i, line in enumerate(lines):
        piece.append(line)
        following = lines[i + 1] if i + 1 < len(lines) else ""
        length = len(_text(piece)) + len(following)
        ends_here = line.endswith((".", ":", ";", ")")) or " | " in line or bool(_BULLET.match(following))
        if length > _FULL_CHARS or (length > _PIECE_CHARS and ends_here):
            yield _text(piece)
            piece = []
    if piece:
        yield _text(piece)


def _text(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).strip("\n")
