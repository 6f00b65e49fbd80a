"""When every stage of learning happens, predicted before anything is run.

``predict`` applies the sharp stage-time law of :mod:`swingby.theory.stages` to a W(0), or its
distribution over Gaussian initializations to (omega, width), and puts the windows of the
paper's lemmas beside, where the printed assumptions hold.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import lemmas, numbers
from swingby.theory.gaussian import QUANTILES, GaussianTimes, gaussian_times
from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import Initial, Scaled, initial_matrix
from swingby.theory.stages import Stages, stage_law
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.curves import SUPPRESSION_LEVEL, CurveEvents, curve_events

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from swingby.verify.feasibility import Constants, Problem


@dataclass(frozen=True)
class Event:
    """One predicted event.

    Parameters
    ----------
    entry : tuple of two int
        Index of the entry of W, counted from 0; (-1, -1) for the test loss and the end.
    event : str
        ``half``, ``0.8``, ``peak``, ``peak height``, ``suppressed``, ``loss min``,
        ``loss max`` or ``end``.
    time : float
        Step; the size |w_ij| for ``peak height``. inf for never, nan where nothing is predicted.
    lower, upper : float
        Lemma window in the same unit, or nan.
    error : float
        Error bar of `time`, same unit; inf where the law is out of its range.
    reason : str
        Why the window is empty, or what it rests on.
    """

    entry: tuple[int, int]
    event: str
    time: float
    lower: float = math.nan
    upper: float = math.nan
    error: float = math.nan
    reason: str = ""

    @property
    def label(self) -> str:
        """``w_21`` with concepts counted from 1 as in the paper, ``loss`` or ``all``."""
        if self.entry == (-1, -1):
            return "all" if self.event == "end" else "loss"
        separator = "," if max(self.entry) > 8 else ""
        return f"w_{self.entry[0] + 1}{separator}{self.entry[1] + 1}"


@dataclass(frozen=True)
class Schedule:
    """Predicted stages.

    Parameters
    ----------
    task : SIMTask
    eta : Fraction
    dynamics : str
    half_times : ndarray of shape (d,)
        First step at which w_kk is at least 1/2, a whole number when W(0) was given (the real
        crossing time is ``stages.crossing``); inf where a_k = 0, nan where trapped.
    error : ndarray of shape (d,)
        Error bar in steps; inf where the law is out of its range.
    trapped : ndarray of bool, shape (d,)
    warnings : tuple of str
        Where and why the law is out of range or undecided.
    window_reason : str
        Why the lemma windows are empty, or which constants they use.
    stages : Stages or None
        The law itself, when W(0) was given.
    gaussian : GaussianTimes or None
        The distribution, when (omega, width) were given.
    spread : ndarray of shape (2, d)
        5 % and 95 % quantiles over Gaussian initializations; equal to half_times from a W(0).
    make_events : callable
        Makes :attr:`events`.
    """

    task: SIMTask
    eta: Fraction
    dynamics: str
    half_times: NDArray[np.float64]
    error: NDArray[np.float64]
    trapped: NDArray[np.bool_]
    warnings: tuple[str, ...]
    window_reason: str
    stages: Stages | None
    gaussian: GaussianTimes | None
    spread: NDArray[np.float64] = field(repr=False)
    make_events: Callable[[], tuple[Event, ...]] = field(repr=False, compare=False)

    @functools.cached_property
    def events(self) -> tuple[Event, ...]:
        """All predicted events; found on first use, because half-times alone are cheaper."""
        return self.make_events()

    def evaluate(self, t: ArrayLike) -> NDArray[np.float64]:
        """W at given steps, as one composite closed form.

        Parameters
        ----------
        t : array of shape (n,)
            Steps; need not be whole.

        Returns
        -------
        ndarray of shape (n, d, d)

        Raises
        ------
        InvalidInput
            If the schedule was made without a W(0), or a time is negative or not finite.
        """
        if self.stages is None:
            raise InvalidInput("W0", "nothing", "must be given to evaluate W(t)", "(D.2)")
        moments = np.atleast_1d(numbers.real_array(t, "t"))
        if moments.ndim != 1 or (moments < 0).any():
            raise InvalidInput("t", t, "must be one axis of steps, none negative")
        return self.stages.evaluate(moments)

    def test_loss(self, t: ArrayLike) -> NDArray[np.float64]:
        """Test loss of the composite, |W(t) x - x|^2 / 2, at given steps.

        Parameters
        ----------
        t : array of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """
        point = self.task.test_point
        output = self.evaluate(t) @ point
        return np.asarray(((output - point) ** 2).sum(axis=1) / 2)

    def __repr__(self) -> str:
        times = ", ".join(f"{value:.6g}" for value in self.half_times)
        return f"<Schedule {self.dynamics}, eta={numbers.scientific(self.eta)}: half_times=({times})>"

    def __str__(self) -> str:
        from swingby.verify.schedule_report import schedule_grid

        return schedule_grid(self).to_text()

    def _repr_html_(self) -> str:
        from swingby.verify.schedule_report import schedule_grid

        return schedule_grid(self).to_html()

    def to_latex(self) -> str:
        """The events as a LaTeX table (booktabs).

        Returns
        -------
        str
        """
        from swingby.verify.schedule_report import schedule_grid

        return schedule_grid(self).to_latex()

    def to_frame(self) -> Any:
        """One row per event: entry, event, time, lower, upper, error.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas

        return pandas.DataFrame(
            [
                (event.label, event.event, event.time, event.lower, event.upper, event.error)
                for event in self.events
            ],
            columns=["entry", "event", "time", "lower", "upper", "error"],
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; inf and nan as text.

        Returns
        -------
        dict
        """

        def plain(value: float) -> float | str:
            return float(value) if math.isfinite(value) else str(float(value))

        return {
            "dynamics": self.dynamics,
            "eta": numbers.scientific(self.eta, 15),
            "signal": [str(value) for value in self.task.exact_signal],
            "half_times": [plain(value) for value in self.half_times],
            "error": [plain(value) for value in self.error],
            "trapped": [bool(value) for value in self.trapped],
            "events": [
                {
                    "entry": event.label,
                    "event": event.event,
                    "time": plain(event.time),
                    "lower": plain(event.lower),
                    "upper": plain(event.upper),
                    "error": plain(event.error),
                }
                for event in self.events
            ],
            "warnings": list(self.warnings),
            "windows": self.window_reason,
        }


def predict(
    task: SIMTask,
    W0: ArrayLike | Scaled | None = None,
    *,
    eta: Any,
    dynamics: str = "euler",
    omega: Any = None,
    beta: Any = 1.0,
    width: int | None = None,
    edition: str = "printed",
) -> Schedule:
    r"""When every stage of learning happens.

    Parameters
    ----------
    task : SIMTask
    W0 : array of shape (d, d) or Scaled, optional
        Initial matrix. Without it, `omega` has to be given.
    eta : number or text
        Step size in the clock of (D.2).
    dynamics : {"euler", "gd", "flow"}
    omega : number or text, optional
        Without W0: Gaussian U(0) of the given width with :math:`\mathbb E\,w_{ii}(0) = \omega`;
        half-times are medians, `spread` their 5 % and 95 % quantiles.
    beta : number or text
        With omega: :math:`|w_{ij}(0)| \le \beta\omega`, for the lemma windows only.
    width : int, optional
        d', the number of columns of U(0). Default d.
    edition : {"printed", "corrected"}
        Which lemma windows to put beside; see :mod:`swingby.theory.lemmas`.

    Returns
    -------
    Schedule

    Raises
    ------
    InvalidInput
        If neither or both of W0 and omega are given, or a number is out of range.

    References
    ----------
    The stage law is ours (:mod:`swingby.theory.stages`); windows: Lemmas D.1-D.8.

    Examples
    --------
    >>> task = SIMTask.from_signal([4, 1])
    >>> schedule = predict(task, [[2e-6, 1e-6], [1e-6, 2e-6]], eta=0.01, dynamics="gd")
    >>> schedule.half_times.round(1).tolist()
    [167.3, 673.8]
    """
    if dynamics not in DYNAMICS:
        raise InvalidInput("dynamics", dynamics, f"must be one of {', '.join(DYNAMICS)}", "(D.2)")
    if edition not in ("printed", "corrected"):
        raise InvalidInput("edition", edition, "must be printed or corrected for the windows")
    step = numbers.positive(eta, "eta", "Assumption D.2")
    numbers.within_float(step, "eta", "Assumption D.2")
    if (W0 is None) == (omega is None):
        given = "both" if omega is not None else "neither"
        raise InvalidInput("W0 and omega", given, "must be given one at a time")
    if W0 is not None:
        return _from_initial(task, initial_matrix(W0, task.dim), step, dynamics, edition)
    smallest = numbers.positive(omega, "omega", "Assumption D.4")
    spread = numbers.positive(beta, "beta", "Assumption D.1")
    if spread < 1:
        raise InvalidInput("beta", beta, "must be at least 1", "Assumption D.1")
    columns = task.dim if width is None else numbers.whole(width, "width", 1, "Sec. 4.2")
    return _from_scale(task, smallest, spread, columns, step, dynamics, edition)


def predict_gaussian(
    task: SIMTask, scale: Any, width: int, *, eta: Any, dynamics: str = "gd"
) -> GaussianTimes:
    """Distribution of the half-times when U(0) = scale * N(0, 1)^(d x width).

    Parameters
    ----------
    task : SIMTask
    scale : number or text
        Standard deviation tau of the entries of U(0).
    width : int
        d', at least the number of concepts with a positive signal.
    eta : number or text
        Step size in the clock of (D.2).
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    GaussianTimes
        ``mean``, ``sd`` and ``quantile(level)`` in steps, each of shape (d,).

    Raises
    ------
    InvalidInput
        If a number is out of range or the width traps a concept.

    References
    ----------
    App. E.2 for the setting; the law is derived in :mod:`swingby.theory.gaussian`.

    Examples
    --------
    >>> times = predict_gaussian(SIMTask([1, 1.5, 2.2]), 1e-3, 5, eta=0.01)
    >>> times.mean.round(0).tolist()
    [1834.0, 792.0, 345.0]
    """
    if dynamics not in DYNAMICS:
        raise InvalidInput("dynamics", dynamics, f"must be one of {', '.join(DYNAMICS)}", "(D.2)")
    tau = numbers.positive(scale, "scale", "App. E.2")
    columns = numbers.whole(width, "width", 1, "App. E.2")
    step = numbers.positive(eta, "eta", "Assumption D.2")
    numbers.within_float(step, "eta", "Assumption D.2")
    return gaussian_times(task, tau**2, columns, step, dynamics)


def _from_initial(
    task: SIMTask, initial: Initial, step: Fraction, dynamics: str, edition: str
) -> Schedule:
    stages = stage_law(task, initial, step, dynamics)
    windows = _Windows.of_initial(task, initial, step, edition)

    def events() -> tuple[Event, ...]:
        found = curve_events(stages)
        high = np.ceil(found.high)
        majors = _major_events(task, stages.half_times, stages.error, high, windows)
        return (*majors, *_curve_rows(found, windows))

    return Schedule(
        task=task,
        eta=step,
        dynamics=dynamics,
        half_times=stages.half_times,
        error=stages.error,
        trapped=stages.trapped,
        make_events=events,
        warnings=stages.warnings,
        window_reason=windows.reason,
        stages=stages,
        gaussian=None,
        spread=np.stack([stages.half_times, stages.half_times]),
    )


def _from_scale(
    task: SIMTask,
    omega: Fraction,
    beta: Fraction,
    width: int,
    step: Fraction,
    dynamics: str,
    edition: str,
) -> Schedule:
    times = gaussian_times(task, omega / width, width, step, dynamics)
    low, median, high = times.quantile(QUANTILES)
    windows = _Windows.of_scale(task, omega, beta, step, edition)
    none = np.full(task.dim, np.nan)
    with np.errstate(divide="ignore"):
        later = math.log(SUPPRESSION_LEVEL / (1 - SUPPRESSION_LEVEL)) / times.growth

    warnings = []
    if omega > Fraction(1, 10):
        warnings.append("omega > 0.1: initialization is not small, medians are rough")
    for i, j in zip(task.order, task.order[1:], strict=False):
        if task.exact_signal[i] == task.exact_signal[j] > 0:
            warnings.append(f"concepts {i + 1} and {j + 1} have equal signals: their order is undecided")
    return Schedule(
        task=task,
        eta=step,
        dynamics=dynamics,
        half_times=median,
        error=(high - low) / 2 if task.dim else none,
        trapped=np.zeros(task.dim, dtype=bool),
        make_events=lambda: tuple(_major_events(task, median, none, median + later, windows)),
        warnings=tuple(warnings),
        window_reason=windows.reason,
        stages=None,
        gaussian=times,
        spread=np.stack([low, high]),
    )


@dataclass(frozen=True)
class _Windows:
    """Lemma windows, or the reason why there are none."""

    scale: lemmas.Scale | None
    log_start: tuple[tuple[float, float], ...]  # smallest and largest log w_kk(0)
    signal: NDArray[np.float64]
    edition: str
    reason: str

    @classmethod
    def of_initial(
        cls, task: SIMTask, initial: Initial, step: Fraction, edition: str
    ) -> _Windows:
        smallest = initial.omega
        beta = initial.largest / smallest if smallest else Fraction(1)
        diagonal = np.diag(initial.matrix)
        starts = tuple(
            (math.log(value) + initial.log_scale,) * 2 if value > 0 else (math.nan,) * 2
            for value in diagonal.tolist()
        )
        return cls._build(task, smallest, beta, step, starts, edition)

    @classmethod
    def of_scale(
        cls, task: SIMTask, omega: Fraction, beta: Fraction, step: Fraction, edition: str
    ) -> _Windows:
        low = numbers.log_of(omega)
        starts = ((low, low + numbers.log_of(beta)),) * task.dim
        return cls._build(task, omega, beta, step, starts, edition)

    @classmethod
    def _build(
        cls,
        task: SIMTask,
        omega: Fraction,
        beta: Fraction,
        step: Fraction,
        starts: tuple[tuple[float, float], ...],
        edition: str,
    ) -> _Windows:
        from swingby.verify.feasibility import Problem, largest_eta, omega_verdict, witness

        problem = Problem(task.exact_signal, omega, step, beta)
        failing = _why_no_windows(problem)
        if not failing and step > largest_eta(problem):
            failing = "Assumption D.2 fails: eta is too large"
        if not failing and omega_verdict(problem) != Verdict.HOLDS:
            failing = "Assumption D.4 fails: omega is too large"
        if failing:
            reason = f"no lemma windows: {failing}"
            return cls(None, starts, task.signal, edition, reason)
        constants = witness(problem)
        shown = f"P = 1e{float(constants.log10_P):.3f}, kappa = {float(constants.kappa):g}"
        return cls(
            _scale(problem, constants),
            starts,
            task.signal,
            edition,
            f"lemma windows of the {edition} edition with {shown}",
        )

    def half(self, k: int, level: float) -> tuple[float, float]:
        """Window for w_kk reaching a level."""
        if self.scale is None:
            return math.nan, math.nan
        low, high = self.log_start[k]
        a = float(self.signal[k])
        return (
            lemmas.reach_not_before(self.scale, a, high, math.log(level)),
            lemmas.reach_by(self.scale, a, low, level, self.edition),
        )

    def height(self) -> tuple[float, float]:
        """Window for the size of a minor entry."""
        if self.scale is None:
            return math.nan, math.nan
        return 0.0, math.exp(lemmas.log_minor_bound(self.scale))


def _why_no_windows(problem: Problem) -> str:
    if min(problem.signal) == 0:
        return "Assumption D.1 fails: a free direction has a_k = 0"
    if problem.omega == 0:
        return "Assumption D.1 fails: W(0) has a zero entry"
    if not problem.separated:
        return "Assumption D.5 fails: some a_i <= 3 a_j"
    return ""


def _scale(problem: Problem, constants: Constants) -> lemmas.Scale:
    return lemmas.Scale(
        log_P=float(constants.log10_P) * math.log(10),
        log_beta=numbers.log_of(constants.beta),
        log_omega=numbers.log_of(problem.omega),
        kappa=float(constants.kappa),
        K=float(constants.K),
        alpha=float(constants.alpha),
        gamma=float(constants.gamma),
        eta=float(problem.eta),
    )


def _major_events(
    task: SIMTask,
    half_times: NDArray[np.float64],
    error: NDArray[np.float64],
    high: NDArray[np.float64],
    windows: _Windows,
) -> list[Event]:
    events = []
    for k in task.order:
        if task.exact_signal[k] == 0:
            events.append(Event((k, k), "half", math.inf, reason="a free direction is not learned"))
            continue
        for name, level, times in (
            ("half", 0.5, half_times),
            (f"{SUPPRESSION_LEVEL}", SUPPRESSION_LEVEL, high),
        ):
            lower, upper = windows.half(k, level)
            events.append(
                Event((k, k), name, float(times[k]), lower, upper, float(error[k]), windows.reason)
            )
    return events


def _curve_rows(found: CurveEvents, windows: _Windows) -> list[Event]:
    """Whole steps as a run counts them: the nearest for extrema, the next for passages."""
    lower, upper = windows.height()
    events = []
    for peak in found.peaks:
        events += [
            Event(peak.entry, "peak", _nearest(peak.time)),
            Event(peak.entry, "peak height", peak.height, lower, upper, reason=windows.reason),
            Event(peak.entry, "suppressed", float(np.ceil(peak.suppressed))),
        ]
    events += [Event((-1, -1), f"loss {kind}", _nearest(time)) for time, kind in found.turning]
    return [*events, Event((-1, -1), "end", float(np.ceil(found.end)))]


def _nearest(time: float) -> float:
    return float(np.rint(time))
