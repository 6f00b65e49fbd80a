"""What a prediction is: events, half-times, W(t) in closed form."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.theory import numbers
from swingby.theory.gaussian import GaussianTimes
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from swingby.theory.law.stages import Stages


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
    spread : tuple of two float
        5 % and 95 % quantiles over Gaussian initializations, when no W(0) was given.
    """

    entry: tuple[int, int]
    event: str
    time: float
    lower: float = math.nan
    upper: float = math.nan
    error: float = math.nan
    reason: str = ""
    spread: tuple[float, float] = (math.nan, math.nan)

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
        The law's answer; `warnings` says where it is undecided.
    warnings : tuple of str
        Where and why the law is out of range or undecided.
    stages : Stages or None
        The law itself, when W(0) was given.
    gaussian : GaussianTimes or None
        The distribution, when (omega, width) were given.
    spread : ndarray of shape (2, d)
        5 % and 95 % quantiles over Gaussian initializations; equal to half_times from a W(0).
    make_events, make_window_reason : callable
        Make :attr:`events` and :attr:`window_reason`.
    """

    task: SIMTask
    eta: Fraction
    dynamics: str
    half_times: NDArray[np.float64]
    error: NDArray[np.float64]
    trapped: NDArray[np.bool_]
    warnings: tuple[str, ...]
    stages: Stages | None
    gaussian: GaussianTimes | None
    spread: NDArray[np.float64] = field(repr=False)
    make_events: Callable[[], tuple[Event, ...]] = field(repr=False, compare=False)
    make_window_reason: Callable[[], str] = field(repr=False, compare=False)

    @functools.cached_property
    def events(self) -> tuple[Event, ...]:
        """All predicted events; found on first use, because half-times alone are cheaper."""
        return self.make_events()

    @functools.cached_property
    def window_reason(self) -> str:
        """Why the lemma windows are empty, or which constants they use."""
        return self.make_window_reason()

    @property
    def crossing(self) -> NDArray[np.float64]:
        """Real step at which each w_kk crosses 1/2, shape (d,); the median without a W(0)."""
        return self.half_times if self.stages is None else self.stages.crossing

    @property
    def undecided(self) -> NDArray[np.bool_]:
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

    def evaluate(self, t: ArrayLike) -> NDArray[np.float64]:
        """W at given steps: to about 1e-6, and minor entries to 1e-4 of their peaks.

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
            raise InvalidInput("W0", MISSING, "must be given to evaluate W(t)", "(D.2)")
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
        return (
            f"<Schedule {self.dynamics}, eta={numbers.scientific(self.eta)}: half_times=({times})>"
        )

    def __str__(self) -> str:
        from swingby.verify.tables import schedule_grid

        return schedule_grid(self).to_text()

    def _repr_html_(self) -> str:
        from swingby.verify.tables import schedule_grid

        return schedule_grid(self).to_html()

    def to_latex(self) -> str:
        """The events as a LaTeX table (booktabs).

        Returns
        -------
        str
        """
        from swingby.verify.tables import schedule_grid

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
