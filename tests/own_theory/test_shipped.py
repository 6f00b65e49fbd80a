"""The theories that ship in docs/theories: kept with power, and faults in them found."""

import itertools
import math
from dataclasses import replace
from pathlib import Path

import pytest

import swingby
from benchmarks.own_theory import mutants, shipped
from docs import make_theories
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


def test_the_edge_of_stability_ends_where_its_range_does_not():
    """Beyond the range of the product, at its corners; at one of them by a loop in plain Python."""
    theory = THEORIES["edge_of_stability"]
    product = [*theory.numbers][2]
    ends = {}
    for corner in itertools.product((0.03, 0.1), (0.01, 0.5)):
        at = dict(zip(("h", "excess"), corner, strict=True))
        turn = swingby.threshold(theory, "edge kept", vary="product", at=at, between=(1.06, 1.8))
        assert turn.sides["observed"].first
        if turn.observed:
            ends[corner] = turn.observed[0]
        else:  # runs that leave the range of floats answer nothing
            assert "no answer at" in str(turn)
    assert min(ends, key=ends.get) == (0.1, 0.01)
    assert 1.41 < ends[0.1, 0.01] < 1.42  # it is kept again here and there beyond
    assert theory.numbers[product][2] < 1.41
    for value, is_kept in ((1.3, True), (1.41, True), (1.5, False)):
        size = (1 + 0.01) / 0.1
        total, gap = math.sqrt(size + 2 * value), math.sqrt(size - 2 * value)
        x, y = (total - gap) / 2, (total + gap) / 2
        for _ in range(1600):
            r = 1 - (x * y) ** 2
            x, y = x + 0.1 * r * x * y**2, y + 0.1 * r * x**2 * y
        assert (2 - 20 * 0.1**2 / 3 <= 2 * 0.1 * (x * x + y * y) <= 2) == is_kept
    wide = replace(theory, numbers={**theory.numbers, product: (0.5, 0.9, 1.8)})
    hunt = swingby.hunt(wide, rng=0)
    assert hunt.violation.numbers["product"] > 1.41
    assert any(line.startswith("broken for product from") for line in hunt.scan)


def test_the_page_of_theories_has_a_source_a_table_and_a_picture_of_each(tmp_path):
    text = make_theories.main(tmp_path).read_text(encoding="utf-8")
    sections = text.split("\n## ")[1:]
    assert len(sections) == len(THEORIES) == 8
    for name, section in zip(sorted(THEORIES), sections, strict=True):
        assert "arXiv" in section or "Oja" in section
        assert "theory = Theory(" in section
        assert "kept" in section
        assert "broken" not in section.partition("```text")[2]
        assert f"theory_{name}.png" in section
        assert (tmp_path / f"theory_{name}.png").stat().st_size > 5000


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
