r"""Random settings of the model of Sec. 4.2, U U^T, with their U(0): what the law is tried on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.task import SIMTask
from swingby.training.clock import clock
from swingby.training.parts import Data, Network, Optimizer
from swingby.training.setting import Setting
from swingby.verify.predict_batch import BatchSchedule, predict_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Successive signals differ by such factors, and the largest and smallest by at most the last.
RATIOS, LARGEST_RATIO = (1.3, 4.0), 8.0
#: eta a_max.
STEP_SIZES = (0.002, 0.05)


@dataclass(frozen=True, eq=False)
class Starts:
    """Settings of one dimension that are trained together, and where each starts.

    Parameters
    ----------
    settings : tuple of n Setting
    U : ndarray of shape (n, d, d')
    W0 : ndarray of shape (n, d, d)
        U U^T, symmetric to the last bit.
    """

    settings: tuple[Setting, ...]
    U: Floats
    W0: Floats

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def signal(self) -> Floats:
        """The signal of each, shape (n, d)."""
        return np.stack([one.task.signal for one in self.settings])

    @property
    def eta(self) -> Floats:
        """Time of the theory per step, shape (n,)."""
        return np.array([clock(one) for one in self.settings])

    @property
    def law(self) -> BatchSchedule:
        """The stage law for gradient descent."""
        return predict_batch(self.signal, self.W0, self.eta, "gd")

    def __getitem__(self, places: Any) -> Starts:
        chosen = np.arange(len(self))[places]
        return Starts(tuple(self.settings[k] for k in chosen), self.U[chosen], self.W0[chosen])


def draw_starts(
    count: int,
    d: int,
    rng: np.random.Generator | int | None = None,
    *,
    omega: tuple[float, float] = (1e-8, 1e-5),
    width: int | None = None,
    loss: str = "paper",
) -> Starts:
    r"""Draw settings and Gaussian U(0) with :math:`\mathbb E\,w_{ii}(0) = \omega`.

    Successive signals differ by factors between 1.3 and 4 and all by at most 8, in random order;
    eta a_max lies between 0.002 and 0.05, and omega is uniform in its logarithm.

    Parameters
    ----------
    count : int
    d : int
        Number of concepts and of dimensions.
    rng : numpy Generator, seed or None
    omega : pair of float
        Range.
    width : int, optional
        d'; d by default.
    loss : {"paper", "torch", "both"}
        "both" takes them in turn.

    Returns
    -------
    Starts
        With 0 steps; :func:`lasting` sets them.

    Raises
    ------
    InvalidInput
    """
    source = np.random.default_rng(rng)
    runs, size = numbers.whole(count, "count", 1), numbers.whole(d, "d", 1)
    columns = size if width is None else numbers.whole(width, "width", 1)
    low, high = (numbers.within_float(numbers.positive(one, "omega"), "omega") for one in omega)
    if not low <= high:
        raise InvalidInput("omega", omega, "must be a range")
    network = Network(2, columns, bias=False, symmetric=True)
    losses = ("paper", "torch") if loss == "both" else (loss,)
    settings, factors = [], []
    for k in range(runs):
        signal = _signal(size, source)
        scale = math.exp(source.uniform(math.log(low), math.log(high)))
        plain = Setting(
            SIMTask.from_signal(signal.tolist()),
            Data(None),
            network,
            Optimizer("gd", lr=1.0, loss=losses[k % len(losses)]),
            steps=0,
            precision="float64",
        )
        rate = source.uniform(*STEP_SIZES) / float(signal.max()) / clock(plain)
        settings.append(replace(plain, optimizer=replace(plain.optimizer, lr=rate)))
        factors.append(source.standard_normal((size, columns)) * math.sqrt(scale / columns))
    U = np.stack(factors)
    return Starts(tuple(settings), U, gram(U))


def _signal(d: int, rng: np.random.Generator) -> Floats:
    """Between 1 and at most :data:`LARGEST_RATIO`."""
    while True:
        ratios = rng.uniform(*RATIOS, d - 1)
        if np.prod(ratios) <= LARGEST_RATIO:
            return rng.permuted(np.cumprod(np.concatenate([[1.0], ratios])))


def gram(U: Floats) -> Floats:
    """U U^T, symmetric to the last bit."""
    W = U @ U.swapaxes(-1, -2)
    return np.asarray((W + W.swapaxes(-1, -2)) / 2)


def lasting(starts: Starts, size: int = 50, margin: float = 1.25) -> Iterator[Starts]:
    """Groups that are trained together, each until well after its last predicted half-time.

    Parameters
    ----------
    starts : Starts
    size : int
        Largest group; instances of similar duration share one.
    margin : float
        Steps, in units of the last predicted half-time. A stage that comes later is missed, and
        counts as an error.
    """
    times = starts.law.half_times
    last = np.nanmax(np.where(np.isfinite(times), times, np.nan), axis=1)
    order = np.argsort(last)
    for first in range(0, len(order), size):
        group = starts[order[first : first + size]]
        steps = math.ceil(margin * float(last[order[first : first + size]].max())) + 20
        settings = tuple(replace(one, steps=steps) for one in group.settings)
        yield Starts(settings, group.U, group.W0)
