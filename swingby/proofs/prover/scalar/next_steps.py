"""What to try next where a line is undecided, in the words of a proof file."""

from __future__ import annotations

from collections.abc import Iterator

import sympy

from swingby.proofs.prover.scalar.counterexample import Search
from swingby.proofs.prover.scalar.critical_points import closest_places
from swingby.proofs.prover.scalar.relation import Relation
from swingby.theory.search_time import OutOfTime, processor_time

#: Such lines stand among what was tried, and begin so.
NEXT = "next: "


def next_steps(search: Search, goal: Relation) -> Iterator[str]:
    """Advice on a relation that is undecided: none of it says whether it is true."""
    letters = sorted(goal.symbols, key=str)
    sides = goal.sides
    curved = [x for side in sides for x in side.atoms(sympy.exp, sympy.Pow) if not x.exp.is_number]
    if curved and all(side.is_positive and not side.is_Add for side in sides):
        yield f"{NEXT}take logarithms of both sides: log of each is a line of its own"
    unsigned = [x for x in letters if x.is_real and x.is_nonnegative is None]
    if unsigned and goal.difference.xreplace({unsigned[0]: -unsigned[0]}) != goal.difference:
        x = unsigned[0]
        lines = f"lines for {x} <= 0 and {x} >= 0, put together by cases"
        yield f"{NEXT}split at the sign of {x}: {lines}"
    bounded = {
        x
        for each in search.hypotheses
        if each.small.is_number or each.large.is_number
        for x in each.symbols
    }
    is_curved = curved or goal.difference.has(sympy.exp, sympy.log)
    unbounded = [str(x) for x in letters if is_curved and x not in bounded]
    if unbounded:
        yield f"{NEXT}give a bound of {' and '.join(unbounded[:2])}, if there is one"
    try:
        with processor_time(5):
            place = next(closest_places(search.with_goal(goal)), {})
    except OutOfTime:
        place = {}
    if place and all(1e-6 < abs(x) < 1e6 for x in place.values()):
        where = ", ".join(f"{name} = {x:.4g}" for name, x in place.items())
        yield f"{NEXT}the sides come closest near {where}: name that point, and split there"
