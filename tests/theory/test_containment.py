"""Balls contain: every condition of every statement, at many points of boxes.

The second evaluation is that of ``benchmarks/containment.py``: fractions, or mpmath at 80 digits.
"""

import functools
import inspect
import types

import pytest
from hypothesis import settings

from benchmarks import containment
from swingby.theory import balls
from tests.forked import FULL

#: 100,000 in the full profile.
POINTS = min(100_000, 400 * settings.default.max_examples)
#: Made once: they ask the module of balls when they are called.
evaluators = functools.cache(containment.evaluators)


def test_no_value_lies_outside_the_ball_of_its_box():
    tallies = containment.measure(POINTS, seed=20)
    points = sum(tally.points for tally in tallies.values())
    assert points >= POINTS
    for group, tally in tallies.items():
        assert tally.escapes == 0, f"{group}: {tally.worst}"
        # Most boxes have a bound: containment is not bought by giving none.
        assert tally.unbounded <= 0.5 * tally.boxes, group
    # mpmath and fractions both have a share, and balls are not wide for their own sake.
    exact = sum(tally.exact for tally in tallies.values())
    assert 0.2 * points < exact < 0.8 * points
    assert min(tally.closest for tally in tallies.values()) < 1e-6


def test_every_edition_is_looked_at():
    groups = {evaluator.group for evaluator in evaluators()}
    assumptions = {f"D.{number}, printed" for number in range(1, 6)} | {"D.4, corrected"}
    assumptions |= {"D.1', repaired", "D.3', repaired", "D.4', repaired"}
    assert assumptions | {"every function"} <= groups


#: Seeded bugs in swingby.theory.balls: what is replaced, and by what.
BUGS = {
    "a sum forgets its radius": (
        "sum(terms, flint.arb(0))",
        "sum((term.mid() for term in terms), flint.arb(0))",
    ),
    "a sum forgets its first term": ("sum(terms,", "sum(terms[1:],"),
    "a power has the opposite sign": ("base**power", "base**-power"),
    "an even power of a ball around 0 is that of its middle": (
        "return largest.union(flint.arb(0))",
        "return base.mid() ** exponent",
    ),
    "an odd power of a ball around 0 is never negative": (
        "return largest.union(-largest)",
        "return largest.union(flint.arb(0))",
    ),
    "log of the middle": (
        '"log": flint.arb.log',
        '"log": lambda x: x.mid().log()',
    ),
    "Min is Max": ("reduce(flint.arb.min, balls)", "reduce(flint.arb.max, balls)"),
    "Max looks at two arguments": ("arb.max, balls)", "arb.max, balls[:2])"),
    "no absolute value": ('"Abs": abs', '"Abs": lambda x: x'),
    "a rational is rounded": (
        "return flint.arb(flint.fmpq(exact.numerator, exact.denominator))",
        "return flint.arb(float(exact)) if abs(exact) < 10**300 else flint.arb(0)",
    ),
}


def test_every_seeded_bug_is_in_the_source():
    source = inspect.getsource(balls)
    assert [bug for bug, (before, _) in BUGS.items() if before not in source] == []


@pytest.mark.parametrize("bug", BUGS if FULL else list(BUGS)[::4])
def test_a_seeded_bug_lets_values_escape(bug, monkeypatch):
    before, after = BUGS[bug]
    source = inspect.getsource(balls)
    broken = types.ModuleType("broken_balls")
    exec(compile(source.replace(before, after), "broken_balls", "exec"), broken.__dict__)
    monkeypatch.setattr(containment, "balls", broken)
    groups = {"every function", "D.1, printed", "D.4, printed", "D.5, printed"}
    chosen = [evaluator for evaluator in evaluators() if evaluator.group in groups]
    tallies = containment.measure(2_000, 1, chosen)
    assert sum(tally.escapes for tally in tallies.values()) > 0
