"""threshold: the values of one number at which the answer to a question turns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import MISSING, InvalidInput, named
from swingby.simulate.batch import BatchRun, simulate_batch
from swingby.simulate.initialization import gaussian
from swingby.simulate.outcome import Outcome
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS, require_dynamics
from swingby.theory.initial import Initial, Scaled, initial_state
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask, as_task
from swingby.verbs import answered
from swingby.verify.predict_batch import BatchSchedule, predict_batch
from swingby.verify.predict_swing import BatchSwing, predict_swing_batch
from swingby.verify.predicted_events import LOSS_SWING
from swingby.verify.turning_values import Threshold, read_range, turning_values

#: Ranges of numbers that have no usual size: of omega, and of eta times the largest signal.
_OMEGAS, _ETAS = (1e-12, 0.1), (1e-3, 0.5)
#: Other numbers are varied by this factor both ways.
_FACTOR = 10.0
#: An entry off the diagonal goes this near to the geometric mean of its two diagonal ones.
_NEARLY = 1 - 1e-9
#: Outcomes in which W leaves, and in which a concept that was not learned never will be.
_GONE = (Outcome.DIVERGED, Outcome.LOST_PSD)
_FORMS = (
    '"loss rises", "order flips", "runs away", "never learned", "2 never learned", "1 before 2" or '
    '"2 by 500" (steps)'
)


@answered
@named
def threshold(
    task: SIMTask | Sequence[Any],
    question: str,
    W0: ArrayLike | Scaled | Initial | None = None,
    eta: Any = None,
    *,
    vary: str,
    dynamics: str = "gd",
    omega: Any = None,
    between: Sequence[Any] | None = None,
    width: int | None = None,
    rng: Any = 0,
) -> Threshold:
    r"""The values of one number at which the answer to a question turns, predicted and observed.

    The question is asked at 33 values over the range, in one batch. Between two neighbours with
    different answers it is asked at 31 more values, three times. So a turn is known to
    :math:`32^{-4}` of the logarithm of the range, or as far as error bars and whole steps decide.
    Two turns between neighbours of the first round are missed.

    Parameters
    ----------
    task : SIMTask, sequence of numbers, or Theory
        The task, or its signal a; or a theory of one's own, as described below.
    question : str
        ``"loss rises"``: the test loss rises by 0.1 % of its start, after a descent and before
        another. ``"order flips"``: a concept is learned before one of larger signal. ``"runs
        away"``: W leaves every bound, or is not positive semidefinite any more (euler).
        ``"never learned"``, ``"2 never learned"``: some concept, or that one, is trapped.
        ``"1 before 2"``: the half-time of concept 1 is smaller. ``"2 by 500"``: it is at most 500.
    W0, eta, dynamics
        As in :func:`swingby.predict`. Without W0, :func:`swingby.gaussian` draws U U^T of
        scale omega with `width` columns and the seed `rng`: one draw for all values.
    vary : str
        ``"omega"``, ``"eta"``, ``"a_1"`` (of a task that is a signal), ``"mu_1"``, ``"sigma_1"``,
        ``"sigma"`` (all of them), or ``"w_1_2"``, an entry of W0 and its mirror image.
    omega : number or text, optional
        W(0) is omega times W0, or times the draw; 1 for a W0.
    between : (low, high), optional
        The range. By default omega is 1e-12 to 0.1, eta 0.001 to 0.5 over the largest signal,
        ``w_1_2`` the values for which these two concepts stay positive definite, and other numbers
        vary tenfold.

    Returns
    -------
    Threshold
        ``predicted`` and ``observed``: the turns, in the unit of the number; ``sides`` has their
        brackets. Of an order of concepts also that of the closed form
        :math:`t_k = -\log \pi_k / g_{kk}`, without overlaps of stages.

    Raises
    ------
    InvalidInput
        For another question or number, and as :func:`swingby.predict`.

    Notes
    -----
    For a :class:`swingby.Theory` the call is ``threshold(theory, question, vary="s_2", at={"s": [1,
    1]})``; the question is ``"half[1] before half[2]"`` of passages, ``"fate is lazy"`` of an
    outcome, or ``"half kept"`` of any prediction.

    References
    ----------
    Sec. 4.2.2 (descents), App. E.3 (order); the law is that of :func:`swingby.predict_batch`.

    Examples
    --------
    >>> W0 = [[2, 1], [1, 2]]
    >>> turn = threshold([4, 1], "loss rises", W0, 0.01, vary="omega", between=(1e-4, 0.1))
    >>> print(turn)
    a = (4, 1), gd: loss rises?
    omega from 0.0001 to 0.1
                yes for                  turn known to
    ──────────────────────────────────────────────────
    predicted   omega up to 0.00458403           7e-05
    observed    omega up to 0.00458311           3e-08
    """
    task = as_task(task)
    require_dynamics(dynamics)
    ask = _question(question, task.dim)
    setting = _Setting.of(task, W0, eta, dynamics, omega, vary, width, rng)
    low, high = setting.range_of(between)
    return Threshold(
        f"a = ({', '.join(f'{a:.4g}' for a in task.signal)}), {dynamics}",
        question,
        vary,
        (low, high),
        turning_values(lambda values: ask(setting.at(values)), low, high),
    )


# Settings that differ in one number


@dataclass(frozen=True)
class _Instances:
    """Settings side by side: arguments of :func:`swingby.predict_batch` and its relatives.

    scale: logarithms, as those take them; omega: the same for runs, which take numbers.
    """

    setting: dict[str, Any]
    scale: Floats
    omega: list[Fraction]
    point: Floats

    def law(self, accuracy: str = "full") -> BatchSchedule:
        """Predicted half-times."""
        return predict_batch(**self.setting, log_scale=self.scale, accuracy=accuracy)

    def runs(self) -> BatchRun:
        """Runs until they are at rest."""
        more: dict[str, Any] = {"omega": self.omega, "test_point": self.point}
        return simulate_batch(**self.setting, steps=None, swing=LOSS_SWING, **more)

    def swing(self) -> BatchSwing:
        """Predicted descents of the test loss."""
        more: dict[str, Any] = {"log_scale": self.scale, "test_point": self.point}
        return predict_swing_batch(**self.setting, **more)


@dataclass(frozen=True)
class _Setting:
    """A task and a start, of which one number, `name` with its indices from 0, is varied."""

    task: SIMTask
    matrix: Floats
    scale: Fraction
    eta: float
    dynamics: str
    name: str
    indices: tuple[int, ...]

    @classmethod
    def of(
        cls,
        task: SIMTask,
        W0: ArrayLike | Scaled | Initial | None,
        eta: Any,
        dynamics: str,
        omega: Any,
        vary: str,
        width: int | None,
        rng: Any,
    ) -> _Setting:
        """The setting of a call, checked."""
        name, indices = _number(task, vary)
        step = math.nan
        if name != "eta":
            step = numbers.within_float(
                numbers.step_size(eta, task.exact_signal, "Assumption D.2"), "eta"
            )
        elif eta is not None:
            raise InvalidInput("eta", eta, "must not be given where eta is varied")
        if name == "omega" and omega is not None:
            raise InvalidInput("omega", omega, "must not be given where omega is varied")
        if W0 is None:
            if name != "omega" and omega is None:
                required = 'must be given, or W0: omega="1e-6" draws a Gaussian W(0)'
                raise InvalidInput("omega", MISSING, required)
            W0 = gaussian(task, 1, width, rng)
        elif width is not None:
            raise InvalidInput("width", width, "must not be given beside W0")
        initial = initial_state(W0, None, task.dim)
        scale = 1 if omega is None else numbers.positive(omega, "omega", "Assumption D.4")
        return cls(task, initial.matrix, initial.scale * scale, step, dynamics, name, indices)

    @property
    def has_sign(self) -> bool:
        """Whether the number may be 0 or negative: an entry of W(0) off the diagonal."""
        return self.name == "w" and self.indices[0] != self.indices[1]

    @property
    def usual_range(self) -> tuple[float, float]:
        """The range of a number where none is asked for."""
        if self.name == "omega":
            return _OMEGAS
        largest = float(self.task.signal.max())
        if self.name == "eta":
            return _ETAS[0] / largest, _ETAS[1] / largest
        if self.name == "w":
            low, high = self.definite
            if self.has_sign:
                middle, half = (low + high) / 2, _NEARLY * (high - low) / 2
                return middle - half, middle + half
            usual = float(self.matrix[self.indices])
            return max(usual / _FACTOR, low * (2 - _NEARLY)), usual * _FACTOR
        if self.name == "a":
            usual = float(self.task.signal[self.indices[0]])
        else:
            vector = self.task.mu if self.name == "mu" else self.task.sigma
            usual = float(vector[self.indices[0]])
        if not usual > 0:
            required = "must be given: the number is 0 here, such as between=(0.01, 1)"
            raise InvalidInput("between", MISSING, required)
        return usual / _FACTOR, usual * _FACTOR

    @property
    def definite(self) -> tuple[float, float]:
        """Where the number leaves W(0) positive semidefinite, by the Schur complement of others."""
        if self.name != "w":
            return -math.inf, math.inf
        own = [*dict.fromkeys(self.indices)]
        rest = [k for k in range(self.task.dim) if k not in own]
        between = self.matrix[np.ix_(own, rest)]
        C = (
            self.matrix[np.ix_(own, own)]
            - between @ np.linalg.pinv(self.matrix[np.ix_(rest, rest)], hermitian=True) @ between.T
        )
        x = float(self.matrix[self.indices])
        if len(own) == 1:
            return x - float(C[0, 0]), math.inf
        half = math.sqrt(max(C[0, 0] * C[1, 1], 0.0))
        return x - float(C[0, 1]) - half, x - float(C[0, 1]) + half

    def range_of(self, between: Sequence[Any] | None) -> tuple[float, float]:
        """The range that is asked for, checked."""
        if between is None:
            return self.usual_range
        low, high = read_range(between, self.has_sign)
        least, most = self.definite
        if DYNAMICS[self.dynamics].keeps_psd and not least <= low < high <= most:
            required = f"must lie within {least:.6g} to {most:.6g}"
            why = f"for W(0) to be positive semidefinite, as {self.dynamics} asks"
            raise InvalidInput("between", between, f"{required} {why}", "(D.1)")
        return low, high

    def at(self, values: Floats) -> _Instances:
        """The settings with these values of the number."""
        task, count = self.task, len(values)
        mu, sigma = ([*map(float, vector)] for vector in (task.mu, task.sigma))
        columns = {
            "a": np.tile(task.signal, (count, 1)),
            "mu": np.tile(mu, (count, 1)),
            "sigma": np.tile(sigma, (count, 1)),
            "w": np.tile(self.matrix, (count, 1, 1)),
        }
        eta, omega = np.full(count, self.eta), [self.scale] * count
        if self.name == "eta":
            eta = values
        elif self.name == "omega":
            omega = [self.scale * Fraction(value) for value in values.tolist()]
        elif self.name == "w":
            i, j = self.indices
            columns["w"][:, i, j] = columns["w"][:, j, i] = values
        else:
            columns[self.name][:, list(self.indices)] = values[:, None]
        if task.signal_override is None:
            columns["a"][:, : task.s] = columns["sigma"] ** 2 + columns["mu"] ** 2 / task.s
        elif self.name == "a" and not task.note:  # sqrt(s a) of SIMTask.from_signal
            columns["mu"] = np.sqrt(columns["a"] * task.s)
        point = np.zeros((count, task.dim))
        point[:, : task.s] = columns["mu"]
        setting = {"signal": columns["a"], "W0": columns["w"], "eta": eta}
        logs = np.array([numbers.log_of(scale) for scale in omega])
        return _Instances({**setting, "dynamics": self.dynamics}, logs, omega, point)


def _number(task: SIMTask, vary: str) -> tuple[str, tuple[int, ...]]:
    """The name of a number, and its indices from 0."""
    if vary in ("omega", "eta"):
        return vary, ()
    vary = str(vary)
    by_concept = ("mu", "sigma") if task.signal_override is None else ("a",)
    if vary == "sigma" and "sigma" in by_concept:
        return vary, tuple(range(task.s))
    match = re.fullmatch(r"(a|mu|sigma)_(\d+)|(w)_(\d+)_(\d+)", vary)
    name, *indices = [group for group in match.groups() if group] if match else [""]
    places = tuple(int(index) - 1 for index in indices)
    if name in (*by_concept, "w") and all(0 <= place < task.dim for place in places):
        return name, places
    listed = ", ".join(f"{known}_1" for known in by_concept)
    required = f"must be omega, eta, {listed} or w_1_2, of {task.dim} concepts"
    if vary == "beta":
        required += "; beta bounds W(0) and moves no run: vary omega, or w_1_2"
    elif name in ("a", "mu", "sigma"):
        required += f"; this task is stated by {' and '.join(by_concept)}"
    raise InvalidInput("vary", vary, required)


# Questions

_Ask = Callable[[_Instances], Mapping[str, Floats]]


def _question(question: str, d: int) -> _Ask:
    """The question as a function of settings."""
    match = re.fullmatch(r"(?:(\d+) )?(\D+?)(?: ([\d.e+]+))?", str(question).strip())
    first, verb, last = match.groups() if match else (None, "", None)
    asked = (verb, first is not None, last is not None)
    concepts = [int(word) - 1 for word in (first, last if verb == "before" else None) if word]
    if asked in _ASKED and all(0 <= k < d for k in concepts) and len({*concepts}) == len(concepts):
        if verb == "by":
            step = numbers.within_float(numbers.positive(last, "question"), "question")
            return lambda instances: _by(instances, concepts[0], step)
        return lambda instances: _ASKED[asked](instances, *concepts)
    raise InvalidInput("question", question, f"must be {_FORMS}, of concepts 1 to {d}")


def _settled(yes: Booleans, no: Booleans) -> Floats:
    return np.where(yes, 1.0, np.where(no, 0.0, np.nan))


def _rises(instances: _Instances) -> dict[str, Floats]:
    swing, descents = instances.swing(), instances.runs().descents
    assert descents is not None
    open_ = swing.undecided & (swing.least_descents < 0)
    predicted = _settled(swing.least_descents >= 2, ~open_ & (swing.most_descents < 2))
    return {"predicted": predicted, "observed": _settled(descents >= 2, descents < 2)}


def _runs_away(instances: _Instances) -> dict[str, Floats]:
    law, outcome = instances.law(), instances.runs().outcome
    gone = np.isfinite(law.blow_up)
    known = ~law.undecided.any(axis=1) & ~np.isinf(law.error).any(axis=1)
    predicted = _settled(gone & known, ~gone & known)
    stopped = outcome == Outcome.STOPPED_EARLY
    left = np.isin(outcome, _GONE)
    return {"predicted": predicted, "observed": _settled(left, ~left & ~stopped)}


def _never(instances: _Instances, concept: int | None = None) -> dict[str, Floats]:
    law, runs = instances.law(), instances.runs()
    chosen = slice(None) if concept is None else slice(concept, concept + 1)
    wanted = (instances.setting["signal"] > 0)[:, chosen]
    trapped = (law.trapped[:, chosen] & wanted).any(axis=1)
    known = ~law.undecided[:, chosen].any(axis=1)
    missed = (np.isnan(runs.half_times[:, chosen]) & wanted).any(axis=1)
    ended = runs.outcome != Outcome.STOPPED_EARLY
    observed = _settled(missed & ended, ~missed)
    return {"predicted": _settled(trapped & known, ~trapped & known), "observed": observed}


def _times(instances: _Instances) -> dict[str, tuple[Floats, Floats]]:
    """Half-times (n, d) and their error bars, of every side; inf where never."""
    law, closed, runs = instances.law(), instances.law("leading"), instances.runs()
    never = runs.outcome != Outcome.STOPPED_EARLY
    observed = np.where(np.isnan(runs.half_times) & never[:, None], np.inf, runs.half_times)
    return {
        "predicted": (np.where(law.trapped, np.inf, law.crossing), law.error),
        "observed": (observed, np.zeros(observed.shape)),
        "closed form": (np.where(closed.trapped, np.inf, closed.crossing), 0 * closed.crossing),
    }


def _earlier(times: Floats, error: Floats, i: int, j: int) -> Floats:
    """Whether concept i is learned before j, nan within the error bars."""
    first, then = times[:, i], times[:, j]
    bar = np.where(np.isinf(first) | np.isinf(then), 0.0, error[:, i] + error[:, j])
    return _settled(first + bar < then, then + bar < first)


def _before(instances: _Instances, i: int, j: int) -> dict[str, Floats]:
    return {side: _earlier(*pair, i, j) for side, pair in _times(instances).items()}


def _by(instances: _Instances, k: int, step: float) -> dict[str, Floats]:
    return {
        side: _settled(times[:, k] + error[:, k] <= step, times[:, k] - error[:, k] > step)
        for side, (times, error) in _times(instances).items()
    }


def _flips(instances: _Instances) -> dict[str, Floats]:
    signal = instances.setting["signal"]
    pairs = [(i, j) for i in range(signal.shape[1]) for j in range(signal.shape[1]) if i != j]
    sides = {}
    for side, pair in _times(instances).items():
        rows = [np.where(signal[:, i] > signal[:, j], _earlier(*pair, j, i), 0.0) for i, j in pairs]
        flipped = np.array(rows).reshape(len(pairs), len(signal))
        sides[side] = _settled((flipped == 1).any(axis=0), (flipped == 0).all(axis=0))
    return sides


#: Questions by their words, and whether a concept stands before them and a number behind.
_ASKED: dict[tuple[str, bool, bool], Callable[..., dict[str, Floats]]] = {
    ("loss rises", False, False): _rises,
    ("order flips", False, False): _flips,
    ("runs away", False, False): _runs_away,
    ("never learned", False, False): _never,
    ("never learned", True, False): _never,
    ("before", True, True): _before,
    ("by", True, True): _by,
}
