"""The check of a scenario turns red when one defence is taken out of the package, and is green when none is."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.adoption import play_beside_a_shipper
from faults.mutants import MUTANTS, Mutant, unchanged
from faults.page import Facts
from faults.points import play
from faults.truth import Outcome, Truth
from fix_pg import Database
from integration.shipping import World

pytestmark = [pytest.mark.pg, pytest.mark.faults]


def play_with(
    package: Path, scenario: tuple[str, ...], database: Database, signs: Path
) -> tuple[Truth, Outcome]:
    if len(scenario) == 1:
        return play_beside_a_shipper(World(database), signs, package)
    return play(World(database), *scenario, package)


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_mutant_turns_the_check_of_its_scenario_red(
    database: Database, facts: Facts, tmp_path: Path, mutant: Mutant
) -> None:
    truth, outcome = play_with(
        mutant.make(tmp_path / "mutant"), mutant.scenario, database, tmp_path / "signs"
    )
    facts("mutants", mutant.what, f"`{mutant.file}`; {', '.join(mutant.scenario)}", truth, outcome)
    assert outcome.faults, "nothing noticed it"


@pytest.mark.parametrize("scenario", sorted({mutant.scenario for mutant in MUTANTS}), ids=", ".join)
def test_an_unchanged_copy_of_the_package_is_green_in_the_scenario_of_a_mutant(
    database: Database, facts: Facts, tmp_path: Path, scenario: tuple[str, ...]
) -> None:
    truth, outcome = play_with(unchanged(tmp_path / "copy"), scenario, database, tmp_path / "signs")
    facts("mutants", "none: an unchanged copy", ", ".join(scenario), truth, outcome)
    assert outcome.faults == ()
