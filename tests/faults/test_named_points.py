"""`kill -9` exactly where it hurts: each step of writing, shipping, adopting and promoting, around it and in it."""

from __future__ import annotations

import pytest
from faults.page import Facts
from faults.points import KILLS, MOMENTS, POINTS, play
from fix_pg import Database
from integration.shipping import World

pytestmark = [pytest.mark.pg, pytest.mark.faults]


@pytest.mark.parametrize(("point", "moment"), MOMENTS)
def test_p5_killed_at_a_named_point_every_receipt_is_in_the_table_once(
    database: Database, facts: Facts, point: str, moment: str
) -> None:
    truth, outcome = play(World(database), point, moment)
    place, function = (POINTS[point].inside if moment == "inside" else None) or POINTS[point][:2]
    owner = place.removeprefix("ragledger.").rpartition(".")[2]
    facts("named points", f"{point}, {moment}", f"`kill -9` {moment} `{owner}.{function}`", truth, outcome)
    assert outcome.faults == ()
    assert truth.kills == KILLS
