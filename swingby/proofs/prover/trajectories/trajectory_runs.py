"""Runs of instances in balls and in floats, each followed once for all claims that share them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import flint
import numpy as np

from swingby.proofs.certify.ball_run import BallState
from swingby.proofs.prover.trajectories import instances
from swingby.proofs.prover.trajectories.instances import TrajectoryInstance
from swingby.proofs.prover.trajectories.signed_log import SignedLog, from_floats
from swingby.proofs.prover.trajectories.trajectory_letters import RecordedPath
from swingby.simulate.run import run_on
from swingby.simulate.state import RunRecord, make_problem, make_state
from swingby.theory import numbers
from swingby.theory.balls import precision
from swingby.theory.initial import Scaled, initial_matrix
from swingby.theory.scaled_matrices import float_matrix

#: A ball run is recorded at every step in which some entry is on its way between 0 and 1 or
#: outside, and otherwise at two neighbouring steps in so many.
_SPACING = 50
_SMALL, _NEAR_ONE, _ABOVE_ONE = 1e-3, 0.999, 1.001
#: Random runs are recorded at so many pairs of steps over the whole run, and around each stage.
_GRID, _AROUND = 300, 40
#: Random instances: (dimension, nearly degenerate, how many).
_RANDOM = ((2, False, 110), (3, False, 85), (4, False, 15), (2, True, 25), (3, True, 25))


@dataclass(frozen=True, eq=False)
class BallRun:
    """A trajectory in balls: what a scan needs of it, and the balls themselves."""

    instance: TrajectoryInstance
    dynamics: str
    recorded: RecordedPath
    states: Mapping[int, BallState]


@dataclass
class TrajectoryRuns:
    """Trajectories that were followed, by instance and dynamics: each is followed once.

    `progress`: called with one line per stage. `seed`: of the random instances.
    """

    progress: Callable[[str], None] | None = None
    seed: int = 20250101
    _balls: dict[tuple[str, str], BallRun] = field(default_factory=dict)
    _floats: dict[tuple[int, str], RecordedPath] = field(default_factory=dict)
    _repeated: dict[tuple[str, str, int], dict[int, BallState]] = field(default_factory=dict)

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
            for d, degenerate, count in _RANDOM
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

    def repeat(
        self, instance: TrajectoryInstance, dynamics: str, bits: int, steps: set[int]
    ) -> dict[int, BallState]:
        """Some steps of a second run, with all that the first one has: claims share it."""
        key = (instance.name, dynamics, bits)
        if key not in self._repeated:
            needed = steps.union(self.in_balls(instance, dynamics).states)
            self._repeated[key] = states_at(instance, dynamics, bits, needed)
        if not steps <= self._repeated[key].keys():
            self._repeated[key] |= states_at(instance, dynamics, bits, steps)
        return self._repeated[key]

    def in_floats(self, index: int, dynamics: str) -> RecordedPath:
        """The trajectory of a random instance in floats."""
        key = (index, dynamics)
        if key not in self._floats:
            self._floats[key] = float_run(self.random[index], dynamics)
        return self._floats[key]


def ball_run(
    instance: TrajectoryInstance, dynamics: str, stop: Callable[[], bool] | None = None
) -> BallRun:
    """The steps of an instance that a scan looks at, in balls, as far as these are narrow."""
    states: list[BallState] = []
    with precision(instance.bits):
        for state in instance.follow(dynamics):
            if state.step % _SPACING < 2 or _is_moving(state):
                if not state.is_sound:
                    break
                states.append(state.copy())
            if stop is not None and state.step % 1000 == 999 and stop():
                break
    return BallRun(instance, dynamics, _as_logs(states), {state.step: state for state in states})


def states_at(
    instance: TrajectoryInstance, dynamics: str, bits: int, steps: Iterable[int]
) -> dict[int, BallState]:
    """The balls at some steps, from a run of its own."""
    targets = set(steps)
    states = {}
    with precision(bits):
        for state in instance.follow(dynamics, max(targets)):
            if state.step in targets:
                states[state.step] = state.copy()
    return states


def float_run(instance: TrajectoryInstance, dynamics: str) -> RecordedPath:
    """Follow an instance in floats through all its stages, recorded around each of them.

    As :func:`swingby.simulate` does, but for the test loss, which no claim speaks of.
    """
    stages = _stages(instance)
    # Under (D.2) a concept without a pivot runs away late: what it grows from is a rest of others.
    longer = 1.6 if dynamics == "euler" and not instance.pivot_share else 1.1
    last = math.ceil(longer * max(time + 9 * width for time, width in stages))
    grids = [np.geomspace(1, last, _GRID // 3), np.linspace(0, last, _GRID)]
    grids += [np.linspace(time - 3 * w, time + 5 * w, _AROUND) for time, w in stages]
    steps = np.concatenate(grids).astype(np.int64)
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
    return RecordedPath(steps[finite], from_floats(W[finite]))


def _stages(instance: TrajectoryInstance) -> list[tuple[float, float]]:
    """The time at which each pivot has grown to 1, and the width of that stage, in steps.

    A diagonal entry stands in for a pivot of 0.
    """
    stages = []
    for k, pivot in enumerate(instances.pivots(instance.matrix)):
        rate = float(instance.eta * instance.signal[k])
        size = pivot or instance.matrix[k][k]
        time = -numbers.log_of(size * instance.omega) / math.log1p(2 * rate)
        stages.append((time, 1 / rate))
    return stages


def _is_moving(state: BallState) -> bool:
    for i, row in enumerate(state.W):
        size = abs(float(row[i]))
        if _SMALL < size < _NEAR_ONE or not size < _ABOVE_ONE:
            return True
        for j in range(i):
            if not abs(float(row[j])) < _SMALL:
                return True
    return False


def _as_logs(states: list[BallState]) -> RecordedPath:
    d = len(states[0].W)
    sign, log = np.zeros((2, len(states), d, d))
    for n, state in enumerate(states):
        for i in range(d):
            for j in range(i + 1):
                sign[n, i, j], log[n, i, j] = sign[n, j, i], log[n, j, i] = _log(state.W[i][j])
    return RecordedPath(np.array([state.step for state in states]), SignedLog(sign, log))


def _log(number: flint.arb) -> tuple[float, float]:
    middle = number.mid()
    value = float(middle)
    if 1e-300 < abs(value) < 1e300:
        return math.copysign(1.0, value), math.log(abs(value))
    if middle == 0:
        return 0.0, -math.inf
    with precision(64):
        return (1.0 if middle > 0 else -1.0), float(abs(middle).log())
