"""Trajectories followed once and kept: in balls from exact numbers, in floats from random ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import flint
import numpy as np

from swingby.simulate.run import simulate
from swingby.theory import numbers
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.certification.ball_run import BallState
from swingby.verify.prover.trajectories import instances, random_instances
from swingby.verify.prover.trajectories.instances import TrajectoryInstance
from swingby.verify.prover.trajectories.signed_logs import SignedLog, from_floats
from swingby.verify.prover.trajectories.valuation import Recorded

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
    bits: int
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
    _candidates: tuple[TrajectoryInstance, ...] = ()
    _random: tuple[TrajectoryInstance, ...] = ()

    @property
    def candidates(self) -> tuple[TrajectoryInstance, ...]:
        """The structured instances, simplest first."""
        if not self._candidates:
            self._candidates = tuple(instances.candidates())
        return self._candidates

    @property
    def random(self) -> tuple[TrajectoryInstance, ...]:
        """The random instances."""
        if not self._random:
            self.report("random instances inside D.1 to D.5 are drawn")
            rng = np.random.default_rng(self.seed)
            self._random = tuple(
                random_instances.random_instance(rng, d, degenerate=degenerate)
                for d, degenerate, count in RANDOM
                for _ in range(count)
            )
        return self._random

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

    def in_floats(self, index: int, dynamics: str) -> Recorded:
        """The trajectory of a random instance in floats."""
        key = (index, dynamics)
        if key not in self._floats:
            self._floats[key] = float_run(self.random[index], dynamics)
        return self._floats[key]


def ball_run(
    instance: TrajectoryInstance, dynamics: str, stop: Callable[[], bool] | None = None
) -> BallRun:
    """Follow an instance in balls and keep the steps that a scan looks at.

    Returns ends early where a ball is no longer narrow.
    """
    kept: list[BallState] = []
    with flint.ctx.workprec(instance.bits):
        for state in instance.follow(dynamics):
            if state.step % SPACING < 2 or _is_moving(state):
                if not state.is_sound:
                    break
                kept.append(state.copy())
            if stop is not None and state.step % 1000 == 999 and stop():
                break
    return BallRun(
        instance, dynamics, instance.bits, _as_logs(kept), {state.step: state for state in kept}
    )


def states_at(
    instance: TrajectoryInstance, dynamics: str, bits: int, steps: Iterable[int]
) -> dict[int, BallState]:
    """The balls at some steps, from a run of its own."""
    wanted = set(steps)
    found = {}
    with flint.ctx.workprec(bits):
        for state in instance.follow(dynamics, max(wanted)):
            if state.step in wanted:
                found[state.step] = state.copy()
    return found


def float_run(instance: TrajectoryInstance, dynamics: str) -> Recorded:
    """Follow an instance in floats through all its stages, recorded around each of them."""
    task = SIMTask.from_signal(instance.signal)
    W0 = Scaled([[float(entry) for entry in row] for row in instance.matrix], instance.omega)
    stages = _stages(instance)
    # Under (D.2) a concept without a pivot runs away late: what it grows from is a rest of others.
    longer = 1.6 if dynamics == "euler" and not instance.pivot_share else 1.1
    last = math.ceil(longer * max(time + 9 * width for time, width in stages))
    wanted = [np.geomspace(1, last, GRID // 3), np.linspace(0, last, GRID)]
    wanted += [np.linspace(time - 3 * w, time + 5 * w, AROUND) for time, w in stages]
    steps = np.concatenate(wanted).astype(np.int64)
    steps = np.unique(np.concatenate([steps, steps + 1]))
    steps = steps[(steps >= 0) & (steps <= last)]
    run = simulate(task, W0, instance.eta, steps=last, dynamics=dynamics, record=steps.tolist())
    finite = np.isfinite(run.W).all(axis=(1, 2))
    return Recorded(run.steps[finite].astype(np.int64), from_floats(run.W[finite]))


def _stages(instance: TrajectoryInstance) -> list[tuple[float, float]]:
    """When each pivot has grown to 1, and the width of that stage, in steps.

    A diagonal entry stands in for a pivot of 0.
    """
    found = []
    for k, row in enumerate(instances.eliminate(instance.matrix)):
        rate = float(instance.eta * instance.signal[k])
        size = row[k] or instance.matrix[k][k]
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
    with flint.ctx.workprec(64):
        return (1.0 if middle > 0 else -1.0), float(abs(middle).log())
