r"""Stage times over Gaussian initializations: the distribution, and the share never learned.

For :math:`U(0) = \tau N` with independent standard normal entries, Bartlett's decomposition
makes the pivots of :math:`W(0) = U U^\top` independent,
:math:`\pi_k = \tau^2 \chi^2_{d' - k + 1}` for the concept of rank k (by descending signal), so
with :math:`t_k = -\log \pi_k / g_{kk}`

.. math::
   \mathbb E\,t_k = \frac{-\log(2\tau^2) - \psi\big((d' - k + 1)/2\big)}{g_{kk}}, \qquad
   \operatorname{sd} t_k = \frac{\sqrt{\psi'\big((d' - k + 1)/2\big)}}{g_{kk}},

:math:`\psi` the digamma function.

That is the law of gradient descent and of the flow where stages do not overlap. Under euler the
drift makes small pivots negative, and where signals are nearly tied or omega is not small the
stages shift each other. There the stage law is applied to starts drawn from Bartlett's factor of
W(0), whose :math:`d (d + 1)/2` entries are independent. The starts lie on a lattice of Korobov's
kind, without a seed: they are always the same, and every single pivot has nearly its exact
quantiles. Where measured, shares of starts are off by .006 (1021 starts) and .0015 (4093).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput, named
from swingby.report.result_formats import ReadOnly
from swingby.theory import budget, numbers
from swingby.theory.growth import DYNAMICS, LARGEST_STEP, growth_rates
from swingby.theory.share import share_of
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
#: Numbers of drawn starts, for the leading and for the full law, and generators of the lattices.
MANY_STARTS, STARTS = 4093, 1021
_GENERATORS = {MANY_STARTS: 1516, STARTS: 76}
_GOLDEN = (math.sqrt(5) - 1) / 2
#: From this E w_ii(0) on, half-times over Gaussian initializations mean nothing.
LARGEST_OMEGA = 0.5
#: Stages are apart where none shifts the log of a later pivot by more, in all but about 5 % of the
#: starts, and eta a_max is at most as large. Chosen after seeing where closed quantiles are off by
#: a tenth of a standard deviation.
_LARGEST_SHIFT = _LARGEST_APART = 0.1
#: Of more concepts, starts are not drawn; of more than the second, not walked by the full law.
_MOST_DRAWN, _MOST_WALKED = 32, 8
#: The full law of the drawn starts takes about this times d^3.
_SECONDS_A_CUBE = 5e-3
#: What the distribution rests on.
CLOSED, LEADING, FULL = (
    "closed form",
    f"leading law of {MANY_STARTS} starts",
    f"stage law of {STARTS} starts",
)


@dataclass(frozen=True)
class GaussianTimes(ReadOnly):
    """Distribution of the half-times over Gaussian U(0).

    `log_tau_squared`: log of the variance of the entries of U(0).
    `width`: d', the number of columns of U(0).
    `growth` (d,): growth of w_kk per step, in the user's order.
    `freedom` (d,): degrees of freedom d' - k + 1 of each pivot's chi-square; 0 where a_k = 0.
    `overlap`: whether the overlap of stages is followed where they are not apart.
    """

    task: SIMTask
    log_tau_squared: float
    width: int
    eta: Fraction
    dynamics: str
    growth: NDArray[np.float64]
    freedom: NDArray[np.float64]
    overlap: bool = True

    @functools.cached_property
    def out_of_range(self) -> str:
        """Why nothing is claimed (then means and quantiles are nan), or ``""``."""
        if self.log_tau_squared + math.log(self.width) >= math.log(LARGEST_OMEGA):
            return f"omega is at least {LARGEST_OMEGA:g}, so many entries start above 1/2"
        step = DYNAMICS[self.dynamics]
        if step.of and float(self.eta) * self.task.signal.max() > LARGEST_STEP:
            return f"eta a_max is above {LARGEST_STEP:g}; such steps need not converge at all"
        if not step.keeps_psd and self.task.dim > _MOST_DRAWN:
            return f"the drift of euler is not followed for more than {_MOST_DRAWN} concepts"
        return ""

    @functools.cached_property
    def apart(self) -> bool:
        r"""Whether the stages are so far apart that the leading law holds.

        To leading order stage k adds :math:`\xi^2 \tau^2 \pi_k^{-r}\,
        \Gamma(r)\,\Gamma(\tfrac{3-r}2) / \Gamma(\tfrac{1+r}2)` to the log of the pivot of the next
        concept, :math:`r = a_j/a_k` and xi standard normal. Its 95 % point is taken for xi, and its
        5 % point for the pivot.
        """
        from scipy.special import gammaincinv

        order = [k for k in self.task.order if self.freedom[k] > 0]
        if not order:
            return True
        pivots = self.log_tau_squared + np.log(2 * gammaincinv(self.freedom / 2, 0.05))
        largest = math.log(2 * gammaincinv(0.5, 0.95))
        start = math.log(2 * gammaincinv(self.freedom[order[0]] / 2, 0.95))
        shifts = [start + self.log_tau_squared]
        for k, j in itertools.pairwise(order):
            r = self.task.signal[j] / self.task.signal[k]
            factor = math.lgamma(r) + math.lgamma((3 - r) / 2) - math.lgamma((1 + r) / 2)
            shifts.append(largest + self.log_tau_squared - r * pivots[k] + factor)
        fastest = float(self.eta) * self.task.signal.max()
        coarse = bool(DYNAMICS[self.dynamics].of) and fastest > _LARGEST_APART
        return max(shifts) <= math.log(_LARGEST_SHIFT) and not coarse

    @functools.cached_property
    def basis(self) -> str:
        """What the distribution rests on: :data:`CLOSED`, :data:`LEADING` or :data:`FULL`."""
        walked = self.overlap and not self.apart and self.task.dim <= _MOST_WALKED
        if self.out_of_range or (DYNAMICS[self.dynamics].keeps_psd and not walked):
            return CLOSED
        return FULL if walked else LEADING

    @functools.cached_property
    def drawn(self) -> NDArray[np.float64]:
        """Half-times of the n drawn starts, shape (n, d), inf for never; n = 0 in closed form.

        Starts that the law leaves undecided are left out.
        """
        if self.basis == CLOSED:
            return np.zeros((0, self.task.dim))
        # Of directions that are not learned, those without a pivot are left out: they shift
        # half-times by less than omega.
        d, n = min(self.task.dim, self.width), STARTS if self.basis == FULL else MANY_STARTS
        concepts = list(self.task.order[:d])
        signal = np.broadcast_to(self.task.signal[concepts], (n, d))
        scale = np.full(n, self.log_tau_squared + math.log(self.width))
        eta = float(self.eta)
        if not DYNAMICS[self.dynamics].of:
            # Steps only measure the time of the flow; with coarse ones the law decides less.
            eta = min(eta, _LARGEST_APART / self.task.signal.max())
        start = (signal, _drawn_matrices(d, self.width, n), np.full(n, eta), scale)
        times = np.full((n, self.task.dim), np.inf)
        undecided: NDArray[np.bool_] = np.zeros(n, dtype=np.bool_)
        if self.basis == LEADING:
            from swingby.theory.law.pivots import closed_law

            crossing, blow_up = closed_law(*start, self.dynamics)
            crossing[crossing > blow_up[:, None]] = np.nan
        else:
            from swingby.theory.law.stages import stage_laws

            budget.expect("the law of the drawn starts", _SECONDS_A_CUBE * d**3)
            verdict = stage_laws(*start, self.dynamics, bars=False)
            crossing, undecided = verdict.crossing, np.asarray(verdict.undecided.any(axis=1))
        times[:, concepts] = np.where(
            np.isnan(crossing), np.inf, crossing * (eta / float(self.eta))
        )
        return np.asarray(times[~undecided])

    @property
    def never(self) -> NDArray[np.float64]:
        """Share of the starts that never learn each concept, shape (d,).

        1 where a_k = 0; nan where nothing is claimed.
        """
        if self.basis != CLOSED:
            return np.asarray(np.isinf(self.drawn).mean(axis=0))
        return np.where(self.freedom > 0, np.nan if self.out_of_range else 0.0, 1.0)

    @property
    def never_error(self) -> NDArray[np.float64]:
        """Error bar of `never`, shape (d,): 0 in closed form, else that of independent starts.

        The further end of Wilson's 95 % interval; the error of a lattice is smaller.
        """
        if self.basis == CLOSED:
            return np.where(np.isnan(self.never), np.inf, 0.0)
        shares = map(share_of, np.isinf(self.drawn).T)
        free = self.freedom == 0
        ends = [max(share.value - share.low, share.high - share.value) for share in shares]
        return np.where(free, 0.0, ends)

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean of each half-time in steps, shape (d,), over the starts that learn the concept.

        inf where none does.
        """
        from scipy.special import digamma

        if self.basis != CLOSED:
            return np.array([t.mean() if len(t) else math.inf for t in self._learned_times()])
        return self._where_learned(lambda nu: -self.log_tau_squared - math.log(2) - digamma(nu / 2))

    @property
    def sd(self) -> NDArray[np.float64]:
        """Standard deviation in steps, shape (d,), over the starts that learn; nan if none does."""
        from scipy.special import polygamma

        if self.basis != CLOSED:
            return np.array([t.std() if len(t) else math.nan for t in self._learned_times()])
        spread = self._where_learned(lambda nu: np.sqrt(polygamma(1, nu / 2)))
        return np.where(np.isinf(spread), np.nan, spread)

    def _learned_times(self) -> list[NDArray[np.float64]]:
        return [times[np.isfinite(times)] for times in self.drawn.T]

    @named
    def quantile(self, level: float | Sequence[float]) -> NDArray[np.float64]:
        """Quantiles of each half-time in steps, shape (d,) or (n, d), over all starts.

        Starts that never learn the concept count as inf, so a quantile is inf where more than
        1 - level of them never do. Levels that the drawn starts do not resolve are refused.
        """
        try:
            levels = np.asarray(level, dtype=np.float64)[..., None]
        except (TypeError, ValueError):
            levels = np.full(1, np.nan)
        if not ((levels > 0) & (levels < 1)).all():
            raise InvalidInput("level", level, "must lie strictly between 0 and 1")
        if self.basis != CLOSED:
            last = len(self.drawn) - 1
            ranks = np.ceil(levels[..., 0] * (last + 1)).astype(int) - 1
            if ((ranks < 1) | (ranks > last - 1)).any():
                raise InvalidInput("level", level, f"must be resolved by {last + 1} drawn starts")
            return np.asarray(np.sort(self.drawn, axis=0)[ranks])
        return self._closed_quantile(levels)

    def _closed_quantile(self, levels: Any) -> NDArray[np.float64]:
        from scipy.special import gammaincinv

        # A late half-time is a small pivot: the q-quantile of t is the (1 - q)-quantile of pi.
        times = self._where_learned(
            lambda nu: -self.log_tau_squared - np.log(2 * gammaincinv(nu / 2, 1 - levels))
        )
        # A w_kk that starts above 1/2 has its half-time at step 0.
        return np.maximum(times, 0.0)

    @property
    def closed_form(self) -> NDArray[np.float64]:
        """Half-times by the closed form, of median pivots, shape (d,); nan out of range."""
        return self._closed_quantile(0.5)

    def _where_learned(self, waiting: Any) -> NDArray[np.float64]:
        learned = self.freedom > 0
        times = waiting(self.freedom[learned]) / self.growth[learned]
        times = np.full_like(times, np.nan) if self.out_of_range else times
        result = np.full((*times.shape[:-1], self.task.dim), np.inf)
        result[..., learned] = times
        return result

    def peak_heights(self, level: Sequence[float]) -> dict[tuple[int, int], NDArray[np.float64]]:
        r"""Quantiles of the peak of each minor entry around its stage, leading order, no drift.

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
        """One row per concept: signal, mean, sd, quantiles in steps; the share never learned."""
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
                "never": self.never,
            }
        )

    def __str__(self) -> str:
        frame = self.to_frame()
        frame["a"] = [f"{value:.4g}" for value in frame["a"]]
        frame["never"] = [*map(share_text, self.never, self.never_error)]
        text = str(frame.to_string(index=False, float_format=lambda value: f"{value:.1f}"))
        return f"{text}\nout of range: {self.out_of_range}" if self.out_of_range else text


def share_text(value: float, error: float = 0.0) -> str:
    """A share of starts as text, with its bar; ``-`` where nothing is claimed."""
    if math.isnan(value):
        return "-"
    bar = f" +- {100 * error:.2g}%" if error else ""
    return (f"{value:.1%}" if 0 < value < 0.1 else f"{value:.0%}") + bar


@functools.lru_cache(maxsize=8)
def _drawn_matrices(d: int, width: int, n: int) -> NDArray[np.float64]:
    """W(0) of n drawn starts over E w_ii(0), shape (n, d, d), for d of at most `width`.

    By Bartlett's factor; entry m of it takes coordinate m of the lattice.
    """
    from scipy.special import gammaincinv, ndtri

    rows, columns = np.tril_indices(d)
    # Shifted, because the origin of a lattice is a corner in every coordinate at once.
    shifts = (n * (_GOLDEN * np.arange(1, len(rows) + 1) % 1)).astype(np.int64)
    multipliers = np.array([pow(_GENERATORS[n], m, n) for m in range(len(rows))])
    points = ((np.arange(n)[:, None] * multipliers + shifts) % n + 0.5) / n
    factor, diagonal = np.zeros((n, d, d)), rows == columns
    factor[:, rows, columns] = ndtri(points)
    freedom = width - np.arange(d)
    factor[:, range(d), range(d)] = np.sqrt(2 * gammaincinv(freedom / 2, points[:, diagonal]))
    matrices = factor @ factor.swapaxes(1, 2) / width
    matrices.setflags(write=False)
    return np.asarray(matrices)


def gaussian_times(
    task: SIMTask,
    tau_squared: Fraction,
    width: int,
    eta: Fraction,
    dynamics: str,
    *,
    overlap: bool = True,
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
    log_tau_squared = numbers.log_of(tau_squared)
    return GaussianTimes(
        task, log_tau_squared, width, eta, dynamics, growth, freedom, overlap=overlap
    )
