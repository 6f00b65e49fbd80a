"""The verdict on a claim about whole trajectories, for euler and for gd.

Structured instances inside D.1 to D.5 are followed in balls, each once for all claims that share
:class:`Runs`, and violations are looked for on them. A violation counts once two ball runs of
different precision decide it (both sides, the anchor, and every step between) and D.1 to D.5 are
confirmed with explicit constants. A claim that survives is looked for on random instances, followed
in floats; if nothing is found it is *tested*. Nothing is ever proved here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import flint
import numpy as np
import sympy

from swingby.proofs.certify.ball_run import BallState
from swingby.proofs.language.claim import Claim
from swingby.proofs.prover.evidence import Judged, Witness
from swingby.proofs.prover.trajectories import instances
from swingby.proofs.prover.trajectories.instances import TrajectoryInstance
from swingby.proofs.prover.trajectories.violation import (
    Recorded,
    SignedLog,
    Violation,
    exact_letters,
    from_floats,
    inequality,
    letters_at,
    letters_in,
    noise,
    scan,
)
from swingby.simulate.run import run_on
from swingby.simulate.state import RunRecord, float_matrix, make_problem, make_state
from swingby.theory import balls, numbers
from swingby.theory.balls import precision
from swingby.theory.initial import Scaled, initial_matrix
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

#: A ball run is recorded at every step in which some entry is on its way between 0 and 1 or
#: outside, and otherwise at two neighbouring steps in so many.
SPACING = 50
SMALL, NEAR_ONE, ABOVE_ONE = 1e-3, 0.999, 1.001
#: Random runs are recorded at so many pairs of steps over the whole run, and around each stage.
GRID, AROUND = 300, 40
#: Random instances: (dimension, nearly degenerate, how many).
RANDOM = ((2, False, 110), (3, False, 85), (4, False, 15), (2, True, 25), (3, True, 25))


@dataclass(frozen=True, eq=False)
class BallRun:
    """A trajectory in balls: what a scan needs of it, and the balls themselves."""

    instance: TrajectoryInstance
    dynamics: str
    recorded: Recorded
    states: Mapping[int, BallState]


@dataclass
class Runs:
    """Trajectories that were followed, by instance and dynamics: each is followed once.

    `progress`: called with one line per stage. `seed`: of the random instances.
    """

    progress: Callable[[str], None] | None = None
    seed: int = 20250101
    _balls: dict[tuple[str, str], BallRun] = field(default_factory=dict)
    _floats: dict[tuple[int, str], Recorded] = field(default_factory=dict)
    _again: dict[tuple[str, str, int], dict[int, BallState]] = field(default_factory=dict)

    @functools.cached_property
    def candidates(self) -> tuple[TrajectoryInstance, ...]:
        """The structured instances, simplest first."""
        return tuple(instances.candidates())

    @functools.cached_property
    def random(self) -> tuple[TrajectoryInstance, ...]:
        """The random instances."""
        self.report("random instances inside D.1 to D.5 are drawn")
        rng = np.random.default_rng(self.seed)
        return tuple(
            instances.random_instance(rng, d, degenerate=degenerate)
            for d, degenerate, count in RANDOM
            for _ in range(count)
        )

    def report(self, line: str) -> None:
        """Pass a line on to whoever watches."""
        if self.progress is not None:
            self.progress(line)

    def in_balls(self, instance: TrajectoryInstance, dynamics: str) -> BallRun:
        """The trajectory of an instance in balls of its own precision."""
        key = (instance.name, dynamics)
        if key not in self._balls:
            self.report(f"{dynamics}, balls of {instance.bits} bits: {instance}")
            self._balls[key] = ball_run(instance, dynamics)
        return self._balls[key]

    def again(
        self, instance: TrajectoryInstance, dynamics: str, bits: int, steps: set[int]
    ) -> dict[int, BallState]:
        """Some steps of a second run, with all that the first one has: claims share it."""
        key = (instance.name, dynamics, bits)
        if key not in self._again:
            wanted = steps.union(self.in_balls(instance, dynamics).states)
            self._again[key] = states_at(instance, dynamics, bits, wanted)
        if not steps <= self._again[key].keys():
            self._again[key] |= states_at(instance, dynamics, bits, steps)
        return self._again[key]

    def in_floats(self, index: int, dynamics: str) -> Recorded:
        """The trajectory of a random instance in floats."""
        key = (index, dynamics)
        if key not in self._floats:
            self._floats[key] = float_run(self.random[index], dynamics)
        return self._floats[key]


def ball_run(
    instance: TrajectoryInstance, dynamics: str, stop: Callable[[], bool] | None = None
) -> BallRun:
    """The steps of an instance that a scan looks at, in balls, as far as these are narrow."""
    kept: list[BallState] = []
    with precision(instance.bits):
        for state in instance.follow(dynamics):
            if state.step % SPACING < 2 or _is_moving(state):
                if not state.is_sound:
                    break
                kept.append(state.copy())
            if stop is not None and state.step % 1000 == 999 and stop():
                break
    return BallRun(instance, dynamics, _as_logs(kept), {state.step: state for state in kept})


def states_at(
    instance: TrajectoryInstance, dynamics: str, bits: int, steps: Iterable[int]
) -> dict[int, BallState]:
    """The balls at some steps, from a run of its own."""
    wanted = set(steps)
    found = {}
    with precision(bits):
        for state in instance.follow(dynamics, max(wanted)):
            if state.step in wanted:
                found[state.step] = state.copy()
    return found


def float_run(instance: TrajectoryInstance, dynamics: str) -> Recorded:
    """Follow an instance in floats through all its stages, recorded around each of them.

    As :func:`swingby.simulate` does, but for the test loss, which no claim speaks of.
    """
    stages = _stages(instance)
    # Under (D.2) a concept without a pivot runs away late: what it grows from is a rest of others.
    longer = 1.6 if dynamics == "euler" and not instance.pivot_share else 1.1
    last = math.ceil(longer * max(time + 9 * width for time, width in stages))
    wanted = [np.geomspace(1, last, GRID // 3), np.linspace(0, last, GRID)]
    wanted += [np.linspace(time - 3 * w, time + 5 * w, AROUND) for time, w in stages]
    steps = np.concatenate(wanted).astype(np.int64)
    steps = np.unique(np.concatenate([steps, steps + 1]))
    steps = steps[(steps >= 0) & (steps <= last)]
    signal = np.array([float(a) for a in instance.signal])
    W0 = Scaled([[float(entry) for entry in row] for row in instance.matrix], instance.omega)
    initial = initial_matrix(W0, instance.d)
    missing = initial.missing(signal, dynamics)
    problem = make_problem(signal, float(instance.eta), dynamics, missing=missing)
    state, record = make_state(initial, problem.point), RunRecord.at(steps, instance.d)
    run_on(problem, state, record, last, skip=True)
    steps, W = steps[: state.recorded], record.W[: state.recorded]
    if steps[-1] != state.step:  # the last one before W left the float range
        steps = np.append(steps, state.step)
        W = np.concatenate([W, float_matrix(state.X, state.exponent)[None]])
    finite = np.isfinite(W).all(axis=(1, 2))
    return Recorded(steps[finite], from_floats(W[finite]))


def _stages(instance: TrajectoryInstance) -> list[tuple[float, float]]:
    """When each pivot has grown to 1, and the width of that stage, in steps.

    A diagonal entry stands in for a pivot of 0.
    """
    found = []
    for k, pivot in enumerate(instances.pivots(instance.matrix)):
        rate = float(instance.eta * instance.signal[k])
        size = pivot or instance.matrix[k][k]
        time = -numbers.log_of(size * instance.omega) / math.log1p(2 * rate)
        found.append((time, 1 / rate))
    return found


def _is_moving(state: BallState) -> bool:
    for i, row in enumerate(state.W):
        size = abs(float(row[i]))
        if SMALL < size < NEAR_ONE or not size < ABOVE_ONE:
            return True
        for j in range(i):
            if not abs(float(row[j])) < SMALL:
                return True
    return False


def _as_logs(states: list[BallState]) -> Recorded:
    d = len(states[0].W)
    sign, log = np.zeros((2, len(states), d, d))
    for n, state in enumerate(states):
        for i in range(d):
            for j in range(i + 1):
                sign[n, i, j], log[n, i, j] = sign[n, j, i], log[n, j, i] = _log(state.W[i][j])
    return Recorded(np.array([state.step for state in states]), SignedLog(sign, log))


def _log(number: flint.arb) -> tuple[float, float]:
    middle = number.mid()
    value = float(middle)
    if 1e-300 < abs(value) < 1e300:
        return math.copysign(1.0, value), math.log(abs(value))
    if middle == 0:
        return 0.0, -math.inf
    with precision(64):
        return (1.0 if middle > 0 else -1.0), float(abs(middle).log())


#: Digits of a number in a witness.
DIGITS = 50


def meets(claim: Claim, instance: TrajectoryInstance) -> bool:
    """Whether the hypotheses that a claim adds certainly hold at an instance."""
    relations = [given.relation for given in claim.given]
    free = [relation for relation in relations if "lambda" not in letters_in(relation)]
    with precision(balls.PRECISIONS[1]):
        return _all_hold(free, _fixed(instance, None))


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
    fixed = _fixed(instance, violation.lam)
    fixed |= {"a_i": balls.ball(instance.signal[i]), "a_j": balls.ball(instance.signal[j])}
    fixed |= letters_at("0", flint.arb(0), lambda p, q: balls.ball(instance.W0[p][q]), i, j)
    fixed |= _seen("t_0", states[start], i, j)
    if not _all_hold([given.relation for given in claim.given], fixed):
        return None
    if not _all_hold(conclusion.when, fixed) or (not conclusion.when and start != 0):
        return None

    def present(state: BallState) -> dict[str, flint.arb]:
        drift = noise(instance, i, j, lambda p, q: state.W[p][q], balls.ball)
        return _seen("t", state, i, j) | {"N_ij(t)": drift}

    between = [states[n] for n in range(start, step + 1) if n in states]
    for state in between if conclusion.during else ():
        if not _all_hold(conclusion.during, fixed | present(state)):
            return None
    if conclusion.until is not None and not flint.arb(step) <= _value(conclusion.until, fixed):
        return None
    values = fixed | present(states[step])
    if step + 1 in states:
        values |= _seen("t+1", states[step + 1], i, j)
    try:
        small, large = (_value(side, values) for side in inequality(violation.relation).sides)
    except KeyError:
        return None
    if not small > large:
        return None
    turned = isinstance(violation.relation, sympy.Ge | sympy.Gt)
    left, right = map(_shown, (large, small) if turned else (small, large))
    return left, right


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
        values[f"w_{i + 1}{j + 1}(t_0)"] = _shown(states[violation.anchor].W[i][j])
    for p in range(instance.d):
        for q in range(p + 1):
            values[f"w_{p + 1}{q + 1}(t)"] = _shown(states[violation.step].W[p][q])
    return Witness(values, str(violation.relation), *sides, checked)


def _shown(number: flint.arb) -> str:
    return str(number.str(DIGITS, radius=False))


def _fixed(instance: TrajectoryInstance, lam: Any) -> dict[str, flint.arb]:
    found = {name: balls.ball(value) for name, value in exact_letters(instance, lam).items()}
    return found | {"P": flint.arb(10) ** balls.ball(instance.constants.log10_P)}


def _seen(at: str, state: BallState, i: int, j: int) -> dict[str, flint.arb]:
    return letters_at(at, flint.arb(state.step), lambda p, q: state.W[p][q], i, j)


def _value(expression: Any, values: Mapping[str, flint.arb]) -> flint.arb:
    filled = {symbol: values[symbol.name] for symbol in expression.free_symbols}
    return balls.evaluate(expression, filled)


def _all_hold(relations: Any, values: Mapping[str, flint.arb]) -> bool:
    for relation in map(inequality, relations):
        small, large = (_value(side, values) for side in relation.sides)
        if not (small < large if relation.kind == "<" else small <= large):
            return False
    return True


DYNAMICS = ("euler", "gd")


def judge_trajectory(
    claim: Claim,
    *,
    progress: Callable[[str], None] | None = None,
    runs: Runs | None = None,
) -> Judged:
    """The verdict on a claim about trajectories, in parts ``"euler"`` and ``"gd"``.

    It is *refuted* where it is so under euler, the map of the paper, and otherwise the weaker of
    the two. `runs`: trajectories followed for an earlier claim, to be used again.
    """
    runs = Runs() if runs is None else runs
    if progress is not None:
        runs.progress = progress
    return _together({dynamics: _judge_under(claim, dynamics, runs) for dynamics in DYNAMICS})


def _together(parts: dict[str, Judged]) -> Judged:
    euler, verdicts = parts["euler"], {part.verdict for part in parts.values()}
    worst, witness, cases = Finding.UNDECIDED, None, 0
    if euler.verdict == Finding.REFUTED:
        worst, witness = Finding.REFUTED, euler.witness
    elif Finding.UNDECIDED not in verdicts:
        worst, cases = Finding.TESTED, sum(part.cases for part in parts.values())
    return Judged(
        worst,
        "; ".join(f"{name}: {part.verdict.value}" for name, part in parts.items()),
        tuple(f"{name}: {line}" for name, part in parts.items() for line in part.evidence),
        witness,
        cases,
        tuple(f"{name}: {line}" for name, part in parts.items() for line in part.tried),
        parts,
    )


def _judge_under(claim: Claim, dynamics: str, runs: Runs) -> Judged:
    followed: list[str] = []
    for instance in runs.candidates:
        if dynamics not in instance.dynamics or not meets(claim, instance):
            continue
        run = runs.in_balls(instance, dynamics)
        violation = scan(claim, instance, run.recorded)
        if violation is not None:
            judged = decided(claim, violation, run, runs.report, runs.again)
            if judged is not None:
                return judged
        followed.append(instance.name)
    runs.report(f"{dynamics}, random instances: {claim.id}")
    return _test(claim, dynamics, runs, followed)


def decided(
    claim: Claim,
    violation: Violation,
    run: BallRun,
    report: Callable[[str], None],
    states: Callable[..., dict[int, BallState]] | None = None,
) -> Judged | None:
    """*Refuted*, with a witness, if two ball runs decide a violation; None if they do not.

    `states`: what follows the second run, in place of :func:`states_at`.
    """
    instance, bits = run.instance, run.instance.bits
    with precision(bits):
        first = confirm(claim, violation, instance, run.states)
    if first is None or not instance.is_admissible():
        return None
    more = bits + max(256, bits // 8)
    report(f"{run.dynamics}, {instance.name}: confirmed in balls of {more} bits")
    steps = set(steps_needed(claim, violation))
    again = (states or states_at)(instance, run.dynamics, more, steps)
    with precision(more):
        second = confirm(claim, violation, instance, again)
    if second is None:
        return None
    checked = (
        f"balls of {bits} bits",
        f"balls of {more} bits",
        "D.1 to D.5 with these constants, and W(0) = U U^T, exactly",
    )
    line = (
        f"entry ({violation.i + 1}, {violation.j + 1}) at step {violation.step}, "
        f"eta t = {float(instance.eta * violation.step):.6g}: "
        + " against ".join(flint.arb(side).str(6, radius=False) for side in second)
    )
    shown = witness(violation, instance, run.dynamics, second, again, checked)
    return Judged(Finding.REFUTED, "trajectory in balls", (str(instance), line), shown)


def _test(claim: Claim, dynamics: str, runs: Runs, followed: list[str]) -> Judged:
    cases = steps = doubtful = 0
    for index, instance in enumerate(runs.random):
        if not meets(claim, instance):
            continue
        recorded = runs.in_floats(index, dynamics)
        violation = scan(claim, instance, recorded)
        cases += 1
        steps += len(recorded.steps)
        if violation is not None:
            judged = confirm_violation(claim, violation, instance, dynamics, runs.report)
            if judged is not None:
                return judged
            doubtful += 1
    lines = tuple(f"no violation: {name}" for name in followed)
    if doubtful or not cases:
        reason = (
            f"{doubtful} of {cases} random instances show a violation that balls do not confirm"
        )
        return Judged(Finding.UNDECIDED, "random trajectories", lines, tried=(reason,))
    summary = f"no violation on {cases} random instances, {steps} recorded steps"
    return Judged(Finding.TESTED, "random trajectories", (*lines, summary), cases=cases)


def confirm_violation(
    claim: Claim,
    violation: Violation,
    instance: TrajectoryInstance,
    dynamics: str,
    report: Callable[[str], None],
) -> Judged | None:
    """Decide what a run in floats showed, by two ball runs and exact constants.

    Returns *refuted*; None where balls see no violation, or do not decide it.
    """
    exact = replace(instance, steps=violation.step + 2)
    report(f"{dynamics}, a violation of {claim.id} is looked at in balls: {instance}")
    run = ball_run(exact, dynamics)
    again = scan(claim, exact, run.recorded)
    return None if again is None else decided(claim, again, run, report)
