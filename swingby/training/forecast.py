r"""Later half-times from the beginning of a training run.

Once the first concept has been learned, the run is cut. What is known then: the Jacobian W(T) at
the cut, the signals, and how fast :math:`w_{kk}` of the first concept grew, which is a clock: its
logit rises by :math:`g_{kk}` per step. The stage law continues from W(T) on that clock.

Two simpler forecasts are put beside: each concept alone, by the logistic curve through its own
:math:`w_{kk}(T)`; and times in the ratio of the signals, :math:`t_k = t_1 a_1 / a_k`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.first_stage import continued, first_stage
from swingby.training.result import TrainingRun
from swingby.training.setting import Setting

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: The run is cut where the first concept has reached this.
CUT = 0.6


@dataclass(frozen=True, eq=False)
class Forecast:
    """Half-times of the concepts that come after the first. Made by :func:`forecast`.

    Parameters
    ----------
    cut : ndarray of shape (r,)
        Recorded step up to which the run was looked at; nan where there was nothing to go on.
    first : ndarray of int, shape (r,)
        The concept that was learned by then; -1 where there is none.
    eta : ndarray of shape (r,)
        Time of the theory per step, from the growth of that concept.
    law, alone, ratio : ndarray of shape (r, s)
        Forecasts in steps; nan for the first concept and where there is none.
    observed : ndarray of shape (r, s)
        The half-times, nan for the first concept and where a concept is never learned.
    within : ndarray of bool, shape (r,)
        Whether the law is made for the network: U U^T without noise. Two linear layers obey it
        as long as W is nearly diagonal; for everything else `law` is an extrapolation.
    reason : tuple of r str
        Why there is no forecast, "" where there is one for every concept.
    """

    cut: Floats
    first: NDArray[np.int64]
    eta: Floats
    law: Floats
    alone: Floats
    ratio: Floats
    observed: Floats
    within: NDArray[np.bool_]
    reason: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.cut)

    def errors(self, name: str) -> Floats:
        """Error of a forecast, in units of the time that was left.

        Only concepts of which all three forecasts exist: the three are compared on the same.

        Returns
        -------
        ndarray of shape (r, s)
            abs(forecast - observed) / (observed - cut); nan where anything is unknown.

        Raises
        ------
        InvalidInput
        """
        if name not in ("law", "alone", "ratio"):
            raise InvalidInput("name", name, "must be law, alone or ratio")
        left = self.observed - self.cut[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.abs(getattr(self, name) - self.observed) / left
        known = np.isfinite(self.law) & np.isfinite(self.alone) & np.isfinite(self.ratio)
        return np.asarray(np.where(known & (left > 0), found, np.nan))

    @property
    def best(self) -> NDArray[np.bool_]:
        """Where the law beats both others, over the concepts of a run together, shape (r,).

        By the largest error of a run; never where there is no forecast.
        """
        worst = [_largest(self.errors(name)) for name in ("law", "alone", "ratio")]
        return np.asarray((worst[0] < worst[1]) & (worst[0] < worst[2]))

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Runs with a forecast that can be compared with what happened, shape (r,)."""
        return np.asarray(np.isfinite(_largest(self.errors("law"))))

    def to_frame(self) -> pd.DataFrame:
        """One row per network and later concept."""
        import pandas as pd

        return pd.DataFrame(self._rows())

    def to_dict(self) -> dict[str, Any]:
        """The rows of :meth:`to_frame`, as JSON can hold them."""
        plain = [
            {name: None if value != value else value for name, value in row.items()}
            for row in self._rows()
        ]
        return {"cut_level": CUT, "rows": plain}

    def _rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for run, concept in np.ndindex(*self.law.shape):
            if concept == self.first[run]:
                continue
            rows.append(
                {
                    "network": run,
                    "concept": concept + 1,
                    "cut": float(self.cut[run]),
                    "law": float(self.law[run, concept]),
                    "alone": float(self.alone[run, concept]),
                    "ratio": float(self.ratio[run, concept]),
                    "observed": float(self.observed[run, concept]),
                    "within": bool(self.within[run]),
                    "reason": self.reason[run],
                }
            )
        return rows


def _largest(values: Floats) -> Floats:
    """Largest along the concepts; nan where there is none."""
    known = ~np.isnan(values)
    found = np.where(known, values, -np.inf).max(axis=1)
    return np.where(known.any(axis=1), found, np.nan)


def forecast(run: TrainingRun, *, cut: Any = CUT) -> Forecast:
    """Forecast the later half-times of every network from the beginning of its run.

    Nothing that was recorded after the cut is used.

    Parameters
    ----------
    run : TrainingRun
        With steps recorded densely enough to see the first concept rise.
    cut : number
        Level of the first concept at which the run is cut, between 1/2 and 0.9.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> from swingby.training import Data, Network, Optimizer, Setting, train
    >>> network = Network(
    ...     2, bias=False, symmetric=True, initialization="gaussian", scale=0.01
    ... )
    >>> optimizer = Optimizer("gd", lr=0.01, loss="paper")
    >>> task = SIMTask([1, 2])
    >>> run = train(Setting(task, Data(None), network, optimizer, steps=1500, precision="float64"))
    >>> found = forecast(run)
    >>> abs(found.errors("law")[0, 0]) < 0.01
    np.True_
    """
    if not isinstance(run, TrainingRun):
        raise InvalidInput("run", run, "must be a TrainingRun")
    level = numbers.within_float(numbers.positive(cut, "cut"), "cut")
    if not 0.5 <= level <= 0.9:
        raise InvalidInput("cut", cut, "must lie between 1/2 and 0.9")
    r, s = run.half_times.shape
    times = {name: np.full((r, s), np.nan) for name in ("law", "alone", "ratio")}
    at, eta, first = np.full(r, np.nan), np.full(r, np.nan), np.full(r, -1)
    observed = run.jacobian_half_times.copy()
    reasons = []
    for place in range(r):
        place_at, which, step, reason = first_stage(run, place, level)
        if reason:
            reasons.append(reason)
            observed[place] = np.nan
            continue
        at[place], first[place], eta[place] = run.steps[place_at], which, step
        observed[place, which] = np.nan
        W = run.jacobian[place, place_at]
        signal = run.settings[place].task.signal[:s]
        law, reason = continued(W, signal, step, which)
        times["law"][place] = at[place] + law
        growth = np.where(signal > 0, 2 * np.log1p(step * signal), np.nan)
        level_now = np.diagonal(W)
        with np.errstate(divide="ignore", invalid="ignore"):
            logit = np.log(level_now / (1 - level_now))
            times["alone"][place] = at[place] - logit / growth
            times["ratio"][place] = _half(run, place, which) * signal[which] / signal
        for values in times.values():
            values[place, which] = np.nan
        reasons.append(reason)
    return Forecast(
        cut=at,
        first=first,
        eta=eta,
        observed=observed,
        within=np.array([_within(one) for one in run.settings]),
        reason=tuple(reasons),
        **times,
    )


def _within(setting: Setting) -> bool:
    exact = setting.data.n_per_class is None and setting.optimizer.kind == "gd"
    return setting.network.symmetric and exact


def _half(run: TrainingRun, place: int, which: int) -> float:
    return float(run.jacobian_half_times[place, which])
