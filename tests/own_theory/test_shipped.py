"""The theories that ship in docs/theories: kept with power, and faults in them found."""

from pathlib import Path

import pytest

import swingby
from benchmarks.own_theory import mutants, shipped
from swingby.testing import assert_theory

ROOT = Path(__file__).resolve().parents[2]
THEORIES = shipped()
#: A fault that a hunt has to find, in each of them.
FAULTS = {
    "catapult": "fate: edges x 1.1",
    "diagonal_network": "jump: x 1.1",
    "edge_of_stability": "edge: x 1.1",
    "oja": "angle: x 2",
    "ou_variance": "variance: x 2",
    "phase_retrieval": "half: x 1.1",
    "pl_descent": "rate: x 1.1",
    "saxe_modes": "half: x 1.1",
}
#: Hunts of more than a few seconds.
LONG = ("diagonal_network", "oja", "ou_variance", "saxe_modes")


@pytest.mark.parametrize("name", THEORIES)
def test_a_shipped_theory_is_kept_with_power(name):
    result = assert_theory(THEORIES[name], count=40)
    assert result.settings >= 40
    assert swingby.compare(THEORIES[name]).kept


@pytest.mark.parametrize("name", THEORIES)
def test_a_shipped_theory_is_short_and_has_its_source(name):
    path = ROOT / f"docs/theories/{name}.py"
    assert 20 <= len(path.read_text(encoding="utf-8").splitlines()) <= 60
    assert THEORIES[name].reference
    assert name in (ROOT / "docs/own_theory.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in THEORIES],
)
def test_a_fault_is_found_in_few_digits(name):
    (mutant,) = [it for change, it in mutants(THEORIES[name]) if change == FAULTS[name]]
    hunt = swingby.hunt(mutant, rng=0)
    assert hunt.found
    assert hunt.violation.longest <= 3
    assert hunt.rerun()
    assert min(hunt.violation.margins.values(), default=0) >= -1e-12


def test_a_theory_has_the_verdicts_of_its_proof():
    ledger = THEORIES["pl_descent"].audit()
    assert {str(record.verdict) for record in ledger} <= {"proved", "can be met", "tested"}
    assert any(str(record.verdict) == "proved" for record in ledger)
    with pytest.raises(swingby.InvalidInput, match="proof must be a"):
        THEORIES["oja"].audit()


def test_mutants_are_one_change_from_their_theory():
    names = [name for name, _ in mutants(THEORIES["saxe_modes"])]
    assert names[:3] == ["without 'small step'", "without 'small start'", "without 'apart'"]
    assert len(names) == len(set(names))
    signs = [name for name in names if "one sign" in name]
    powers = [name for name in names if "one power" in name]
    assert signs
    assert powers
