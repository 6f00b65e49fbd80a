r"""Stage times over Gaussian initializations, in closed form.

For :math:`U(0) = \tau N` with independent standard normal entries, Bartlett's decomposition
makes the pivots of :math:`W(0) = U U^\top` independent,
:math:`\pi_k = \tau^2 \chi^2_{d' - k + 1}` for the concept of rank k (by descending signal), so
with :math:`t_k = -\log \pi_k / g_{kk}`

.. math::
   \mathbb E\,t_k = \frac{-\log(2\tau^2) - \psi\big((d' - k + 1)/2\big)}{g_{kk}}, \qquad
   \operatorname{sd} t_k = \frac{\sqrt{\psi'\big((d' - k + 1)/2\big)}}{g_{kk}},

:math:`\psi` the digamma function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput
from swingby.report.result_formats import ReadOnly
from swingby.theory import numbers
from swingby.theory.growth import growth_rates
from swingby.theory.task import SIMTask

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

#: Beyond this many columns the pivots do not fluctuate any more.
LARGEST_WIDTH = 10**9
#: Of more concepts, only neighbours in the order of a have their peak predicted: the first such
#: entries to appear, out of d (d - 1)/2.
_MOST_PEAKS = 64
#: Points per independent factor in the quantiles of products.
_GRID = 200
#: The quantiles shown beside a median: 90 % of initializations lie between the outer two.
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class GaussianTimes(ReadOnly):
    """Distribution of the half-times over Gaussian U(0).

    `log_tau_squared`: log of the variance of the entries of U(0).
    `width`: d', the number of columns of U(0).
    `growth` (d,): growth of w_kk per step, in the user's order.
    `freedom` (d,): degrees of freedom d' - k + 1 of each pivot's chi-square; 0 where a_k = 0.
    """

    task: SIMTask
    log_tau_squared: float
    width: int
    eta: Fraction
    dynamics: str
    growth: NDArray[np.float64]
    freedom: NDArray[np.float64]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of each half-time in steps, shape (d,); inf where a_k = 0."""
        from scipy.special import digamma

        return self._where_learned(lambda nu: -self.log_tau_squared - math.log(2) - digamma(nu / 2))

    @property
    def sd(self) -> NDArray[np.float64]:
        """Standard deviation of each half-time in steps, shape (d,); nan where a_k = 0."""
        from scipy.special import polygamma

        spread = self._where_learned(lambda nu: np.sqrt(polygamma(1, nu / 2)))
        return np.where(np.isinf(spread), np.nan, spread)

    def quantile(self, level: float | Sequence[float]) -> NDArray[np.float64]:
        """Quantiles of each half-time in steps, shape (d,) or (n, d); inf where a_k = 0."""
        from scipy.special import gammaincinv

        levels = np.asarray(level, dtype=float)[..., None]
        if not ((levels > 0) & (levels < 1)).all():
            raise InvalidInput("level", level, "must lie strictly between 0 and 1")
        # A late half-time is a small pivot: the q-quantile of t is the (1 - q)-quantile of pi.
        return self._where_learned(
            lambda nu: -self.log_tau_squared - np.log(2 * gammaincinv(nu / 2, 1 - levels))
        )

    @property
    def closed_form(self) -> NDArray[np.float64]:
        """Each half-time in steps by the closed form, from the median of its pivot, shape (d,)."""
        return np.maximum(self.quantile(0.5), 0.0)

    def _where_learned(self, waiting: Any) -> NDArray[np.float64]:
        learned = self.freedom > 0
        times = waiting(self.freedom[learned]) / self.growth[learned]
        result = np.full((*times.shape[:-1], self.task.dim), np.inf)
        result[..., learned] = times
        return result

    def peak_heights(self, level: Sequence[float]) -> dict[tuple[int, int], NDArray[np.float64]]:
        r"""Quantiles of the peak of each minor entry around its stage, leading order.

        Entry (k, j) with :math:`a_k > a_j` starts stage k as :math:`\tau\xi\sqrt{\pi_k}`, xi
        standard normal and independent of the pivot (Bartlett), so its peak is

        .. math:: |\xi|\,\tau\,\pi_k^{1/2 - g_{kj}/g_{kk}}\;
                  x^{(1+r)/2} (1 + x)^{-(3+r)/4}, \qquad x = \frac{2(1+r)}{1-r},\ r = a_j/a_k .

        By (i, j), user indices with i < j, sizes |w_ij| of shape (n,), 0 below the float range.
        Pairs with equal or zero signals are left out, and beyond :data:`_MOST_PEAKS` concepts all
        but neighbours in the order of a.
        """
        from scipy.special import gammaincinv, ndtri

        shares = (np.arange(_GRID) + 0.5) / _GRID
        log_normal = np.log(ndtri(0.5 + shares / 2))
        rates = growth_rates(self.task.signal, float(self.eta), self.dynamics)
        signal, order = self.task.signal, self.task.order
        heights = {}
        for rank, k in enumerate(order):
            for j in order[rank + 1 : rank + 2 if len(order) > _MOST_PEAKS else None]:
                if not signal[k] > signal[j] > 0:
                    continue
                r = signal[j] / signal[k]
                x = 2 * (1 + r) / (1 - r)
                shape = (1 + r) / 2 * math.log(x) - (3 + r) / 4 * math.log1p(x)
                pivot = np.log(2 * gammaincinv(self.freedom[k] / 2, shares)) + self.log_tau_squared
                power = 0.5 - rates[k, j] / rates[k, k]
                log_size = (
                    shape + self.log_tau_squared / 2 + np.add.outer(power * pivot, log_normal)
                )
                quantiles = np.quantile(log_size, level)
                heights[min(k, j), max(k, j)] = np.exp(np.maximum(quantiles, -800.0))
        return heights

    def to_frame(self) -> Any:
        """One row per concept: signal, mean, sd and quantiles of its half-time in steps."""
        import pandas

        low, middle, high = self.quantile(QUANTILES)
        return pandas.DataFrame(
            {
                "concept": np.arange(1, self.task.dim + 1),
                "a": self.task.signal,
                "mean": self.mean,
                "sd": self.sd,
                "q05": low,
                "median": middle,
                "q95": high,
            }
        )

    def __str__(self) -> str:
        frame = self.to_frame()
        frame["a"] = [f"{value:.4g}" for value in frame["a"]]
        return str(frame.to_string(index=False, float_format=lambda value: f"{value:.1f}"))


def gaussian_times(
    task: SIMTask,
    tau_squared: Fraction,
    width: int,
    eta: Fraction,
    dynamics: str,
) -> GaussianTimes:
    """The distribution for entries of U(0) of variance `tau_squared`, any size."""
    signal = task.signal
    learned = int((signal > 0).sum())
    if width > LARGEST_WIDTH:
        raise InvalidInput("width", width, f"must be at most {LARGEST_WIDTH}", "Sec. 4.2")
    if width < learned:
        raise InvalidInput(
            "width",
            width,
            f"must be at least {learned}, the number of concepts with a positive signal "
            "(a narrower U(0) traps the rest)",
            "Sec. 4.2",
        )
    freedom = np.zeros(task.dim)
    for rank, k in enumerate(task.order[:learned]):
        freedom[k] = width - rank
    growth = np.diag(growth_rates(signal, float(eta), dynamics)).copy()
    return GaussianTimes(task, numbers.log_of(tau_squared), width, eta, dynamics, growth, freedom)
