"""What an observer saw, and what the table says to it: lost, doubled, wrong, and the sum of promise P5."""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from integration.shipping import RAGLEDGER, World

Hits = list[list[Any]]
"""[chunk, score] of each hit, in order."""


@dataclass
class Truth:
    """Receipts by process. A vote has the process that got its receipt."""

    searches: dict[int, dict[UUID, Hits]] = field(default_factory=dict)
    votes: dict[tuple[UUID, int], int] = field(default_factory=dict)
    refused: int = 0
    raised: int = 0
    kills: int = 0

    @property
    def all(self) -> dict[UUID, Hits]:
        return {search: hits for given in self.searches.values() for search, hits in given.items()}

    @property
    def receipts(self) -> int:
        # Counted without a walk: others may be searching meanwhile.
        return sum(map(len, self.searches.values())) + len(self.votes)

    @property
    def caller(self) -> str:
        """What the application noticed."""
        return f"{self.receipts + self.refused} calls, {self.refused} without a receipt, {self.raised} exceptions"

    def gave(self, pid: int, search_id: str, hits: Hits) -> None:
        """Notes what a search returned to its caller."""
        if search_id == "None":
            self.refused += 1
        else:
            self.searches.setdefault(pid, {})[UUID(search_id)] = hits


@dataclass(frozen=True)
class Outcome:
    """The table beside the receipts. `faults` names what must not be; empty is green."""

    receipts: int
    rows: int
    lost: int
    doubled: int
    wrong: int
    faults: tuple[str, ...]


def outcome_of(
    world: World,
    truth: Truth,
    *,
    torn: int = 0,
    shipped: int = 0,
    over: bool = True,
    rejected: dict[str, int] | None = None,
) -> Outcome:
    """Compares.

    Args:
        torn, shipped: what `torn_in` found, and the exit code of the last `ragledger ship`.
        over: every process is dead and everything was shipped, so that no file may be left.
        rejected: what the database must have rejected, by reason.
    """
    rows = world.database.rows(
        "SELECT s.search_id, w.pid, json_agg(json_build_array(h.chunk_id, h.score) ORDER BY h.rank)"
        " FILTER (WHERE h.admitted) FROM searches s JOIN writers w USING (writer_id)"
        " LEFT JOIN hits h ON h.search_id = s.search_id WHERE s.depth = 0"
        " GROUP BY s.search_id, s.writer_seq, w.pid"
    )
    stored = {search: hits or [] for search, _, hits in rows}
    votes = Counter((row[0], row[1]) for row in world.database.rows(_VOTES))
    refused = dict(world.database.rows("SELECT reason, count(*)::int4 FROM rejected GROUP BY reason"))
    given = truth.all
    lost = [search for search in given if search not in stored] + [
        vote for vote in truth.votes if not votes[vote]
    ]
    doubled = (
        len(rows)
        - len(stored)
        + sum(votes[vote] - 1 for vote in truth.votes if votes[vote] > 1)
        + refused.get("database:23505", 0)
    )
    wrong = [search for search, hits in given.items() if search in stored and stored[search] != hits]
    more = Counter(pid for search, pid, _ in rows if search not in given)
    more += Counter(_voters(world, truth))
    found = {
        f"{len(lost)} receipts without a row": lost,
        f"{doubled} rows twice": doubled,
        f"{len(wrong)} rows with wrong content": wrong,
        f"rejected: {sorted(refused)}": refused != (rejected or {}),
        "more rows than one kill can leave without a receipt": [
            pid for pid, rest in more.items() if rest > 1
        ],
        f"{torn} unfinished records that look like whole ones": torn,
        f"`ragledger ship` ended with exit code {shipped}": shipped,
        f"files left: {_left(world.directory)}": over and _left(world.directory),
    }
    faults = [words for words, wrong_ones in found.items() if wrong_ones] + verify(world)
    return Outcome(truth.receipts, len(rows) + votes.total(), len(lost), doubled, len(wrong), tuple(faults))


_VOTES = """
SELECT search_id, rank FROM feedback
UNION ALL
SELECT search_id, coalesce(rank, 1) FROM pending_feedback p
WHERE NOT EXISTS (SELECT FROM searches s WHERE s.search_id = p.search_id)
"""


def _voters(world: World, truth: Truth) -> list[int]:
    """The process of each vote that is stored and had no receipt."""
    rows = world.database.rows(
        "SELECT f.search_id, f.rank, w.pid FROM feedback f JOIN writers w USING (writer_id)"
        " UNION ALL SELECT p.search_id, p.rank, w.pid FROM pending_feedback p JOIN writers w USING (writer_id)"
    )
    return [pid for search, rank, pid in rows if (search, rank) not in truth.votes]


def _left(directory: Path) -> list[str]:
    """What nobody will ever take away. A process that died while it made its lock file is swept a minute later."""
    return sorted({path.suffix for path in directory.iterdir() if path.suffix != ".new"})


def verify(world: World) -> list[str]:
    """`ragledger verify --writers`, as a person would run it; what it complains of."""
    done = command(world, "verify", "--writers", "--json")
    assert done.returncode in (0, 1), done.stderr
    faults = [fault for writer in json.loads(done.stdout) for fault in writer["faults"]]
    assert bool(faults) == (done.returncode == 1)
    return (
        [f"`ragledger verify --writers` finds {len(faults)} faults, such as: {faults[0]}"] if faults else []
    )


def command(world: World, *arguments: str, package: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`ragledger ...` on the world's target, by default of the package under test."""
    environ = dict(os.environ) | {"RAGLEDGER_DSN": world.database.dsn}
    environ |= {"PYTHONPATH": str(package)} if package is not None else {}
    try:
        return subprocess.run(
            [*RAGLEDGER, *arguments], capture_output=True, text=True, timeout=90, check=False, env=environ
        )
    except subprocess.TimeoutExpired as exc:  # a mutant may run in circles
        return subprocess.CompletedProcess(exc.cmd, -signal.SIGKILL, "", "no end")


_MAGIC = struct.pack("<I", 0x474C_F00D)
_FRAME = struct.Struct("<IIIIQ")
_HEADER_SIZE = 64


def torn_in(directory: Path) -> int:
    """Records in the journal that have their magic and are not whole. Reads the format by its description alone."""
    torn = 0
    for path in directory.glob("*.seg"):
        data = path.read_bytes()
        at = data.find(_MAGIC, _HEADER_SIZE)
        while at != -1:
            _, length, crc, _, number = _FRAME.unpack_from(data, at)
            end = at + _FRAME.size + length
            body = data[at + _FRAME.size : end]
            whole = len(body) == length and crc == zlib.crc32(body, zlib.crc32(struct.pack("<Q", number)))
            torn += not whole
            at = data.find(_MAGIC, end if whole else at + 8)
    return torn
