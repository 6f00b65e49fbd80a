"""Confirmation of a violation in balls: both sides, the anchor, and every step between."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import flint
import sympy

from swingby.proofs.certify.ball_run import BallState
from swingby.proofs.language.claim import Claim
from swingby.proofs.prover.evidence import Witness
from swingby.proofs.prover.trajectories.instances import TrajectoryInstance
from swingby.proofs.prover.trajectories.trajectory_letters import (
    exact_letters,
    inequality,
    letters_at,
    letters_in,
    noise,
)
from swingby.proofs.prover.trajectories.violation import Violation
from swingby.theory import balls
from swingby.theory.balls import precision

#: Digits of a number in a witness.
_DIGITS = 50


def meets_hypotheses(claim: Claim, instance: TrajectoryInstance) -> bool:
    """Whether the hypotheses that a claim adds certainly hold at an instance."""
    relations = [hypothesis.relation for hypothesis in claim.given]
    without_lambda = [relation for relation in relations if "lambda" not in letters_in(relation)]
    with precision(balls.PRECISIONS[1]):
        return _all_hold(without_lambda, _constant_letters(instance, None))


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
) -> tuple[str, str] | None:
    """Both sides of what balls of the current working precision see broken, as text, or None."""
    conclusion, start, step = claim.conclusion, violation.anchor, violation.step
    if start not in states or step not in states:
        return None
    i, j = violation.i, violation.j
    fixed = _constant_letters(instance, violation.lam)
    fixed |= {"a_i": balls.ball(instance.signal[i]), "a_j": balls.ball(instance.signal[j])}
    fixed |= letters_at("0", flint.arb(0), lambda p, q: balls.ball(instance.W0[p][q]), i, j)
    fixed |= _letters_of_state("t_0", states[start], i, j)
    if not _all_hold([hypothesis.relation for hypothesis in claim.given], fixed):
        return None
    if not _all_hold(conclusion.when, fixed) or (not conclusion.when and start != 0):
        return None

    def present(state: BallState) -> dict[str, flint.arb]:
        drift = noise(instance, i, j, lambda p, q: state.W[p][q], balls.ball)
        return _letters_of_state("t", state, i, j) | {"N_ij(t)": drift}

    between = [states[n] for n in range(start, step + 1) if n in states]
    for state in between if conclusion.during else ():
        if not _all_hold(conclusion.during, fixed | present(state)):
            return None
    if conclusion.until is not None and not flint.arb(step) <= _ball_value(conclusion.until, fixed):
        return None
    values = fixed | present(states[step])
    if step + 1 in states:
        values |= _letters_of_state("t+1", states[step + 1], i, j)
    try:
        small, large = (_ball_value(side, values) for side in inequality(violation.relation).sides)
    except KeyError:
        return None
    if not small > large:
        return None
    reversed_sides = isinstance(violation.relation, sympy.Ge | sympy.Gt)
    left_text, right_text = map(_digits, (large, small) if reversed_sides else (small, large))
    return left_text, right_text


def witness(
    violation: Violation,
    instance: TrajectoryInstance,
    dynamics: str,
    sides: tuple[str, str],
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
        values[f"w_{i + 1}{j + 1}(t_0)"] = _digits(states[violation.anchor].W[i][j])
    for p in range(instance.d):
        for q in range(p + 1):
            values[f"w_{p + 1}{q + 1}(t)"] = _digits(states[violation.step].W[p][q])
    return Witness(values, str(violation.relation), *sides, checked)


def _digits(number: flint.arb) -> str:
    return str(number.str(_DIGITS, radius=False))


def _constant_letters(instance: TrajectoryInstance, lam: Any) -> dict[str, flint.arb]:
    letters = {name: balls.ball(value) for name, value in exact_letters(instance, lam).items()}
    return letters | {"P": flint.arb(10) ** balls.ball(instance.constants.log10_P)}


def _letters_of_state(at: str, state: BallState, i: int, j: int) -> dict[str, flint.arb]:
    return letters_at(at, flint.arb(state.step), lambda p, q: state.W[p][q], i, j)


def _ball_value(expression: Any, values: Mapping[str, flint.arb]) -> flint.arb:
    filled = {symbol: values[symbol.name] for symbol in expression.free_symbols}
    return balls.evaluate(expression, filled)


def _all_hold(relations: Any, values: Mapping[str, flint.arb]) -> bool:
    for relation in map(inequality, relations):
        small, large = (_ball_value(side, values) for side in relation.sides)
        if not (small < large if relation.kind == "<" else small <= large):
            return False
    return True
