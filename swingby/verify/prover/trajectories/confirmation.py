"""What a scan found, decided in balls: both sides, the anchor, and every step between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import flint
import sympy

from swingby.theory import balls
from swingby.theory.claim import Claim
from swingby.verify.certification.ball_run import BallState
from swingby.verify.prover.evidence import Witness
from swingby.verify.prover.trajectories.instances import TrajectoryInstance
from swingby.verify.prover.trajectories.valuation import constant_letters, small_and_large
from swingby.verify.prover.trajectories.violation import Violation

#: Digits of a number in a witness.
DIGITS = 50


@dataclass(frozen=True)
class Sides:
    """Both sides of a relation that is certainly broken, as text."""

    left: str
    right: str


def meets(claim: Claim, instance: TrajectoryInstance) -> bool:
    """Whether the hypotheses that a claim adds certainly hold at an instance."""
    relations = [given.relation for given in claim.given]
    free = [relation for relation in relations if "lambda" not in map(str, relation.free_symbols)]
    with flint.ctx.workprec(balls.PRECISIONS[1]):
        return _all_hold(free, _constants(instance, None))


def steps_needed(claim: Claim, violation: Violation) -> range | tuple[int, ...]:
    """The steps whose balls decide a violation."""
    if claim.conclusion.during:
        return range(violation.anchor, violation.step + 2)
    return (0, violation.anchor, violation.step, violation.step + 1)


def confirm(
    claim: Claim,
    violation: Violation,
    instance: TrajectoryInstance,
    states: Mapping[int, BallState],
) -> Sides | None:
    """Decide a violation in balls, at the current working precision.

    Returns None where the balls do not decide, or decide otherwise.
    """
    conclusion, start, step = claim.conclusion, violation.anchor, violation.step
    if start not in states or step not in states:
        return None
    fixed = _constants(instance, violation.lam)
    i, j = violation.i, violation.j
    fixed |= {"a_i": balls.ball(instance.signal[i]), "a_j": balls.ball(instance.signal[j])}
    fixed |= {"w_ij(0)": balls.ball(instance.W0[i][j]), "w_ii(0)": balls.ball(instance.W0[i][i])}
    anchor = states[start]
    fixed |= {"w_ij(t_0)": anchor.W[i][j], "w_ii(t_0)": anchor.W[i][i], "t_0": flint.arb(start)}
    if not _all_hold([given.relation for given in claim.given], fixed):
        return None
    if not _all_hold(conclusion.when, fixed) or (not conclusion.when and start != 0):
        return None
    between = [states[n] for n in range(start, step + 1) if n in states]
    for state in between if conclusion.during else ():
        if not _all_hold(conclusion.during, fixed | _present(instance, state, i, j)):
            return None
    if conclusion.until is not None and not flint.arb(step) <= _value(conclusion.until, fixed):
        return None
    values = fixed | _present(instance, states[step], i, j)
    if step + 1 in states:
        following = states[step + 1].W
        values |= {"w_ij(t+1)": following[i][j], "w_ii(t+1)": following[i][i]}
    try:
        small, large = (_value(side, values) for side in small_and_large(violation.relation))
    except KeyError:
        return None
    if not small > large:
        return None
    if isinstance(violation.relation, sympy.Ge | sympy.Gt):
        small, large = large, small
    return Sides(small.str(DIGITS, radius=False), large.str(DIGITS, radius=False))


def witness(
    violation: Violation,
    instance: TrajectoryInstance,
    dynamics: str,
    sides: Sides,
    states: Mapping[int, BallState],
    checked: tuple[str, ...],
) -> Witness:
    """Everything that is needed to run a counterexample again, and what is seen there."""
    i, j = violation.i, violation.j
    values = {"dynamics": dynamics} | instance.values()
    if violation.lam is not None:
        values["lambda"] = str(violation.lam)
    values |= {"i": str(i + 1), "j": str(j + 1), "t": str(violation.step)}
    values["eta t"] = str(instance.eta * violation.step)
    if violation.anchor:
        values["t_0"] = str(violation.anchor)
        values[f"w_{i + 1}{j + 1}(t_0)"] = _shown(states[violation.anchor].W[i][j])
    for p in range(instance.d):
        for q in range(p + 1):
            values[f"w_{p + 1}{q + 1}(t)"] = _shown(states[violation.step].W[p][q])
    return Witness(values, str(violation.relation), sides.left, sides.right, checked)


def _shown(number: flint.arb) -> str:
    return str(number.str(DIGITS, radius=False))


def _constants(instance: TrajectoryInstance, lam: Any) -> dict[str, flint.arb]:
    found = {name: balls.ball(value) for name, value in constant_letters(instance, lam).items()}
    return found | {"P": flint.arb(10) ** balls.ball(instance.constants.log10_P)}


def _present(
    instance: TrajectoryInstance, state: BallState, i: int, j: int
) -> dict[str, flint.arb]:
    W, signal = state.W, instance.signal
    noise = flint.arb(0)
    for k, a_k in enumerate(signal):
        if k not in (i, j):
            noise += balls.ball((signal[i] + signal[j] + 2 * a_k) / 2) * W[k][i] * W[k][j]
    return {
        "w_ij(t)": W[i][j],
        "w_ii(t)": W[i][i],
        "w_jj(t)": W[j][j],
        "N_ij(t)": noise,
        "t": flint.arb(state.step),
    }


def _value(expression: Any, values: Mapping[str, flint.arb]) -> flint.arb:
    filled = {symbol: values[str(symbol)] for symbol in expression.free_symbols}
    return balls.evaluate(expression, filled)


def _all_hold(relations: Any, values: Mapping[str, flint.arb]) -> bool:
    for relation in relations:
        small, large = (_value(side, values) for side in small_and_large(relation))
        strict = isinstance(relation, sympy.Lt | sympy.Gt)
        if not (small < large if strict else small <= large):
            return False
    return True
