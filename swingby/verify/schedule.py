"""The schedule of a prediction: half-times and events as values, tables and pictures."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import MISSING, InvalidInput, named
from swingby.report import Grid
from swingby.report.entry_pictures import (
    draw_entries,
    draw_half_time,
    entry_label,
    finish_entries,
    is_named,
    step_axis,
)
from swingby.report.number_text import as_typed, scientific, steps_text
from swingby.report.picture_style import COLORS
from swingby.report.pictures import Pictured
from swingby.report.result_formats import ReadOnly, Timed
from swingby.simulate.series import loss_at
from swingby.theory import numbers
from swingby.theory.gaussian import GaussianTimes, share_text
from swingby.theory.growth import growth_rates, per_step
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask
from swingby.verify.predicted_events import (
    Event,
    Windows,
    curve_events,
    half_time_events,
    median_events,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from swingby.theory.law.stages import Stages
    from swingby.theory.repaired.proved_half_times import ProvedHalfTimes


def json_ready(value: Any) -> Any:
    """Ready for JSON: inf and nan as text."""
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    return value


@dataclass(frozen=True)
class Schedule(Timed, Pictured, ReadOnly):
    """Predicted stages.

    Parameters
    ----------
    task : SIMTask
    eta : Fraction
    dynamics : str
    half_times : ndarray of shape (d,)
        First step at which w_kk is at least 1/2, a whole number for a W(0) (the real crossing time
        is ``stages.crossing``); inf if a_k = 0, nan if the concept is trapped
        or, beside a runaway, cut off.
    error : ndarray of shape (d,)
        Error bar in steps; inf if the law is out of its range.
    trapped : ndarray of bool, shape (d,)
        Concepts that are never learned, for certain; `warnings` names those that are undecided.
    warnings : tuple of str
        Why the law is out of its range or undecided, concept by concept.
    stages : Stages or None
        The law itself, for a W(0).
    gaussian : GaussianTimes or None
        The distribution, for (omega, width).
    spread : ndarray of shape (2, d)
        5 % and 95 % quantiles over Gaussian initializations; for a W(0), equal to half_times.
    make_windows : callable
        Makes :attr:`windows`.
    accuracy : {"full", "leading"}
        ``"leading"``: only half-times, by the closed law and without error bars.
    theorem : ProvedHalfTimes or None
        The proved half-times, with ``proved=True``.
    """

    task: SIMTask
    eta: Fraction
    dynamics: str
    half_times: Floats
    error: Floats
    trapped: Booleans
    warnings: tuple[str, ...]
    stages: Stages | None
    gaussian: GaussianTimes | None
    spread: Floats = field(repr=False)
    make_windows: Callable[[], Windows] = field(repr=False, compare=False)
    accuracy: str = "full"
    theorem: ProvedHalfTimes | None = None

    @functools.cached_property
    def windows(self) -> Windows:
        """The lemma windows, computed on first use, because half-times alone are cheaper."""
        return self.make_windows()

    @functools.cached_property
    def events(self) -> tuple[Event, ...]:
        """All predicted events, each with its lemma window."""
        if self.stages is None:
            assert self.gaussian is not None
            events = median_events(self.task, self.gaussian, self.half_times, self.spread)
        elif self.accuracy == "leading":
            events = half_time_events(self.stages)
        else:
            exact = bool(self.stages.states)
            events = [event.in_whole_steps(exact=exact) for event in curve_events(self.stages)]
        return tuple(self.windows.beside(self._beside_closed_form(event)) for event in events)

    def _beside_closed_form(self, event: Event) -> Event:
        """A half-time with its closed form; other events have none."""
        if event.event != "half":
            return event
        return replace(event, closed_form=float(self.closed_form[event.entry[0]]))

    @functools.cached_property
    def closed_form(self) -> Floats:
        r"""The closed form of the half-times, in real steps, shape (d,).

        .. math:: t_k = -\log \pi_k / g_k, \qquad g_k = 2 \log(1 + \eta a_k),\
                  \log(1 + 2 \eta a_k) \text{ or } 2 \eta a_k

        under gd, euler or the flow. :math:`\pi_k` is the k-th pivot of :math:`LDL^\top` of W(0),
        concepts in descending order of a; without a W(0), its median over Gaussian U(0). t_k is the
        time at which the pivot alone, growing at the rate of a small W, reaches 1; there the
        logistic curve is at 1/2. The closed form ignores that stages overlap, and has no error bar.
        Under euler, ``accuracy="leading"`` also follows the drift of the pivots from stage to
        stage.

        It is inf if a_k = 0, 0 if the pivot is at least 1, and nan if the pivot is not positive
        (:attr:`log_pivots`) or the law is out of its range.
        """
        if self.stages is None:
            assert self.gaussian is not None
            return self.gaussian.closed_form
        signal = self.task.signal
        growth = np.diag(growth_rates(signal, float(self.eta), self.dynamics))
        with np.errstate(divide="ignore", invalid="ignore"):
            times = np.maximum(-self.stages.log_pivots / growth, 0.0)
        times = np.where(np.isinf(self.error), np.nan, times)
        return np.where(signal > 0, times, np.inf)

    @property
    def proved(self) -> NDArray[np.int64] | str | None:
        """Proved interval of each half-time, in whole steps, both ends included, shape (d, 2).

        ``"not covered"`` if no theorem covers some concept; `theorem` has the other concepts and
        the reasons. None without ``proved=True``.
        """
        return None if self.theorem is None else self.theorem.array

    def proved_text(self, event: Event) -> str:
        """The proved interval of a half-time, as text; no text beside other events."""
        if self.theorem is None or event.event != "half":
            return ""
        return self.theorem.text(event.entry[0])

    @property
    def log_pivots(self) -> Floats | None:
        r"""Natural logarithms of the pivots of W(0), shape (d,); None without a W(0).

        :math:`\pi_k` of :math:`W(0) = L \operatorname{diag}(\pi) L^\top`, concepts in descending
        order of a: the part of w_kk(0) that remains once the stronger concepts are removed. nan if
        it is not positive.
        """
        return None if self.stages is None else self.stages.log_pivots

    @property
    def _has_curve(self) -> bool:
        """Whether W(t) is predicted, and not half-times alone."""
        return self.stages is not None and self.accuracy == "full"

    @property
    def window_reason(self) -> str:
        """Reason for empty lemma windows, or the constants that they use."""
        return self.windows.reason

    @property
    def crossing(self) -> Floats:
        """Real step at which each w_kk crosses 1/2, shape (d,); the median without a W(0)."""
        return self.half_times if self.stages is None else self.stages.crossing

    @property
    def undecided(self) -> Booleans:
        """Where the law cannot say whether a concept is trapped, shape (d,)."""
        if self.stages is None:
            return np.zeros(self.task.dim, dtype=bool)
        return self.stages.undecided

    @property
    def blow_up(self) -> float:
        """Step at which a negative pivot has run out of the float range; inf if none does."""
        return math.inf if self.stages is None else self.stages.blow_up

    @property
    def blow_up_error(self) -> float:
        """Error bar of `blow_up` in steps."""
        return math.inf if self.stages is None else self.stages.blow_up_error

    @property
    def never(self) -> Floats:
        """Share of the starts that never learn each concept, shape (d,).

        Over Gaussian initializations from omega. For a W(0) it is 0, or 1 where a_k = 0, trapped or
        cut off. nan where the law is undecided or out of its range.
        """
        if self.gaussian is not None:
            return self.gaussian.never
        return np.where(self._open, np.nan, ~np.isfinite(self.half_times))

    @property
    def _open(self) -> Booleans:
        """Where nothing is claimed for a W(0), shape (d,)."""
        return self.undecided | np.isinf(self.error)

    @property
    def never_error(self) -> Floats:
        """Error bar of `never`, shape (d,); see :class:`swingby.theory.gaussian.GaussianTimes`."""
        if self.gaussian is not None:
            return self.gaussian.never_error
        return np.where(self._open, np.inf, 0.0)

    @named
    def evaluate(self, t: ArrayLike) -> Floats:
        """W at given steps: to about 1e-6, and minor entries to 1e-4 of their peaks.

        W(t) is that of the map itself if the half-times are, and under euler and gd if eta a_max is
        above 0.1; between whole steps it is then interpolated.

        `t` (n,): steps; need not be whole. Returns shape (n, d, d). Raises InvalidInput if the
        schedule was made without a W(0), or a time is negative or not finite.
        """
        if self.stages is None:
            raise InvalidInput("W0", MISSING, "must be given to evaluate W(t)", "(D.2)")
        if self.accuracy == "leading":
            raise InvalidInput("accuracy", self.accuracy, "must be full to evaluate W(t)")
        moments = np.atleast_1d(numbers.real_array(t, "t"))
        if moments.ndim != 1 or (moments < 0).any():
            raise InvalidInput("t", t, "must be one axis of steps, none negative")
        return self.stages.evaluate(moments)

    @named
    def test_loss(self, t: ArrayLike) -> Floats:
        """Test loss of the composite, |W(t) x - x|^2 / 2, at given steps t (n,)."""
        return loss_at(self.task.test_point, self.evaluate(t))

    def __repr__(self) -> str:
        times = ", ".join(f"{value:.6g}" for value in self.half_times)
        return f"<Schedule {self.dynamics}, eta={as_typed(self.eta)}: half_times=({times})>"

    @named
    def to_frame(self, unit: str = "step") -> Any:
        """A pandas DataFrame, one row per event.

        `unit` in {"step", "eta t"}: of all times. Columns entry, event, time, lower, upper, error,
        closed_form.
        """
        import pandas

        frame = pandas.DataFrame([event.row for event in self.events])
        return in_unit(frame, unit, self.eta)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; inf and nan as text."""
        return {
            "dynamics": self.dynamics,
            "eta": scientific(self.eta, 15),
            "signal": [str(value) for value in self.task.exact_signal],
            "half_times": [json_ready(value) for value in self.half_times],
            "error": [json_ready(value) for value in self.error],
            "trapped": [bool(value) for value in self.trapped],
            "never": [json_ready(value) for value in self.never],
            "never_error": [json_ready(value) for value in self.never_error],
            "accuracy": self.accuracy,
            "basis": None if self.gaussian is None else self.gaussian.basis,
            "events": [
                {name: json_ready(value) for name, value in event.row.items()}
                for event in self.events
            ],
            "proved": None if self.theorem is None else self.theorem.to_dict(),
            "warnings": list(self.warnings),
            "windows": self.window_reason,
        }

    def draw(self, ax: Axes) -> None:
        """Draw the predicted entries and test loss, and half-times with their bars or quantiles."""
        times = self.spread[np.isfinite(self.spread)]
        first = max(1.0, float(times.min(initial=np.inf)) / 8) if times.size else 1.0
        last = max(2 * first, 1.5 * float(times.max(initial=first)))
        title = f"predicted, {self.dynamics}"
        if not self._has_curve:
            self._draw_rows(ax, first, last, title)
            return
        self.draw_curves(ax, first, last, float(self.test_loss(np.zeros(1))[0]))
        order = self._drawn_concepts
        for k, color in zip(order, itertools.cycle(COLORS), strict=False):
            if is_named(k, order):
                ax.plot([], [], "v-", color=color, label=entry_label(k, k))
        ax.plot([], [], color="black", alpha=0.3, linewidth=3.2, label="test loss")
        finish_entries(ax, first, last, title)

    @property
    def _drawn_concepts(self) -> list[int]:
        """The concepts of a picture, those with a signal, the strongest first."""
        return [k for k in self.task.order if self.task.exact_signal[k] > 0]

    def draw_curves(self, ax: Axes, first: float, last: float, start: float) -> None:
        """Draw the composite, its loss over `start`, and half-times."""
        if self._has_curve:
            grid = np.unique(np.geomspace(first, last, 400))
            loss = self.test_loss(grid) / start
            draw_entries(ax, grid, self.evaluate(grid), self._drawn_concepts, loss, faint=True)
        self._draw_half_times(ax, first, last, itertools.repeat(0.5))

    def _draw_half_times(
        self, ax: Axes, first: float, last: float, levels: Iterable[float]
    ) -> None:
        order, colors = self._drawn_concepts, itertools.cycle(COLORS)
        for k, color, level in zip(order, colors, levels, strict=False):
            time = self.half_times[k]
            if math.isfinite(time) and first <= time <= last:
                early, late = np.abs(self.spread[:, k] - time)
                width = self.error[k] if math.isfinite(self.error[k]) else 0.0
                early, late = min(max(width, early), time), min(max(width, late), last - time)
                draw_half_time(ax, time, early, late, color, level)

    def _draw_rows(self, ax: Axes, first: float, last: float, title: str) -> None:
        """Half-times alone, a row for each concept: no entries are predicted, and no loss."""
        order = self._drawn_concepts
        self._draw_half_times(ax, first, last, itertools.count())
        named = {row: entry_label(k, k) for row, k in enumerate(order) if is_named(k, order)}
        ax.set_yticks([*named], [*named.values()])
        ax.set(ylim=(len(order) - 0.5, -0.5), ylabel="half-time of")
        ax.grid(axis="y", color="0.9", linewidth=0.6)
        step_axis(ax, first, last, title)
        ax.tick_params(axis="y", which="minor", left=False)

    def to_grid(self, unit: str = "step") -> Grid:
        """The predicted events, with their bars and the lemma windows; `unit`: step or eta t."""
        number = number_in(unit, self.eta)
        facts = [f"eta = {as_typed(self.eta)}", self.dynamics]
        if self.accuracy == "leading":
            facts.append("leading order: stages do not overlap")
        windows = any(not math.isnan(event.lower) for event in self.events)
        columns = ["entry", "event", ">closed form", f">{unit}", ">+-"]
        if self.gaussian is not None:
            width, basis = self.gaussian.width, self.gaussian.basis
            facts.append(f"median over Gaussian U(0) of width {width} ({basis})")
            columns[4:5] = [">5 % to 95 %", ">never"]
        if self.theorem is not None:
            columns.append(">proved")
        columns += [">lower", ">upper"] if windows else []
        below = [*self.warnings, self.window_reason]
        if self.theorem is not None:
            below.insert(0, f"Proved in whole steps: {self.theorem}.")
        return Grid(
            title="Predicted stages",
            columns=columns,
            rows=[self._cells(event, number, windows=windows) for event in self.events],
            above=[given_text(self.task.exact_signal, *facts)],
            below=["", *(line for line in below if line)],
            minor=["lower", "upper", "closed form"],
        )

    def state_of(self, event: Event) -> str:
        """What a half-time without a number is: undecided, trapped or cut off; else no word."""
        if event.event != "half" or self.stages is None or not math.isnan(event.time):
            return ""
        concept = event.entry[0]
        if self.stages.undecided[concept]:
            return "undecided"
        return "trapped" if self.trapped[concept] else "cut off"

    def _cells(self, event: Event, number: NumberText, *, windows: bool) -> list[str]:
        ends = (event.lower, event.upper) if windows else ()
        time, *window = (number(event.event, value) for value in (event.time, *ends))
        bar = bar_text(event.event, event.time, event.error, number)
        if self.gaussian is not None:
            low, high = event.spread
            quantiles = (number(event.event, low), number(event.event, high))
            bar = "-" if math.isnan(low) else " to ".join(quantiles)
            k = event.entry[0]
            never = share_text(self.never[k], self.never_error[k]) if event.event == "half" else ""
            window.insert(0, never)
        time = self.state_of(event) or time
        if self.theorem is not None:
            window.insert(0, self.proved_text(event))
        closed = closed_form_text(event.event, event.closed_form, number)
        return [event.label, event.event, closed, time, bar, *window]


def given_text(signal: Iterable[Any], *more: str) -> str:
    """The signal and the other arguments, in the line above a table."""
    return ", ".join([f"a = ({', '.join(map(as_typed, signal))})", *more])


#: How a number of an event is written: its event, the number, digits after the point of steps.
NumberText = Callable[..., str]


def number_in(unit: str, eta: Fraction) -> NumberText:
    """Numbers of events as text, their times in a unit."""
    length = per_step(unit, eta)

    def number(event: str, value: float, digits: int = 0) -> str:
        in_eta_t = event == "peak height" or unit != "step"
        if in_eta_t and math.isfinite(value):
            return f"{value * (1.0 if event == 'peak height' else length):.4g}"
        return steps_text(value, digits)

    return number


def bar_text(event: str, value: float, error: float, number: NumberText) -> str:
    """The error bar of a predicted number, as text."""
    if not math.isfinite(value):
        return "-"
    if event == "peak height" and math.isfinite(error):
        return f"{error:.2g}"
    return "out of range" if math.isinf(error) else number(event, error, 1)


def closed_form_text(event: str, value: float, number: NumberText) -> str:
    """The closed form of a half-time, as text; nothing beside other events."""
    return number(event, value, 2) if event == "half" else ""


def in_unit(frame: Any, unit: str, eta: Fraction) -> Any:
    """A frame of events with its times in another unit; heights and relative errors have none."""
    length = per_step(unit, eta)
    times = frame.columns.difference(["entry", "event", "relative_error", "inside", "proved"])
    frame.loc[frame["event"] != "peak height", times] *= length
    return frame
