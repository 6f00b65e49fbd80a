r"""Growth rates of small entries: the linear part of the three dynamics.

While W is small, (D.2) is :math:`w_{ij} \mapsto (1 + \eta(a_i + a_j)) w_{ij}`; gradient descent
on U is :math:`w_{ij} \mapsto (1 + \eta a_i)(1 + \eta a_j) w_{ij}`; the flow is exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from swingby.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray


def log1p(x: Any) -> Any:
    """log(1 + x), of NumPy or torch."""
    return x.log1p() if hasattr(x, "log1p") else np.log1p(x)


class Dynamics(NamedTuple):
    """The row of a dynamics: its growth, and the orders of its law.

    of: what a step is one of, ``"W"`` or ``"U"``, or ``""`` for the flow itself; log_factor: the
    logarithm of the factor in a step of what grows at x = eta times its rate; divisors:
    log_factor(x)/x is 1 plus the sum of x^n over the n-th; orders: orders in the step size, that
    of the law and the one below it for the error bar. Its field is in
    :data:`swingby.theory.law.modified_flow.FIELDS`, its step in
    :data:`swingby.simulate.steps.MAPS`.
    """

    of: str
    log_factor: Callable[[Any], Any]
    divisors: tuple[float, ...]
    orders: tuple[int, ...]

    @property
    def keeps_psd(self) -> bool:
        """True where W stays U U^T, of its rank; only steps of W leave it."""
        return self.of != "W"


#: (D.2) is explicit Euler on W, gradient descent is explicit Euler on U.
DYNAMICS = {
    "euler": Dynamics("W", log1p, (-2, 3, -4, 5), (4, 3)),
    "gd": Dynamics("U", log1p, (-2, 3, -4, 5), (3, 2)),
    "flow": Dynamics("", lambda x: x, (), (0,)),
}

#: Above this eta a_max, times the largest eigenvalue of W(0) where that is above 1, an expansion
#: in the step size means nothing.
LARGEST_STEP = 0.5


def require_dynamics(dynamics: object) -> None:
    """Refuse an unknown name of a dynamics.

    Raises InvalidInput unless it is one of ``euler``, ``gd`` and ``flow``.
    """
    if not isinstance(dynamics, str) or dynamics not in DYNAMICS:
        raise InvalidInput("dynamics", dynamics, f"must be one of {', '.join(DYNAMICS)}", "(D.2)")


def require_accuracy(accuracy: object) -> None:
    """Refuse what is no accuracy of a prediction."""
    if accuracy not in ("full", "leading"):
        raise InvalidInput("accuracy", accuracy, "must be full or leading")


def growth_rates(
    signal: NDArray[np.float64], eta: float | NDArray[np.float64], dynamics: str
) -> NDArray[np.float64]:
    r"""Growth :math:`g_{ij}` of the logarithm of entry (i, j) per step while W is small.

    ``euler``: :math:`\log(1 + \eta(a_i + a_j))`; ``gd``:
    :math:`\log(1 + \eta a_i) + \log(1 + \eta a_j)`; ``flow``: :math:`\eta(a_i + a_j)`.

    `signal` (..., d): a, per unit of eta times steps.
    `eta` (...): step size.
    `dynamics` in {"gd", "euler", "flow"}.
    Returns (..., d, d): per step.
    Raises InvalidInput for another name of a dynamics.

    References
    ----------
    (D.2), (D.4).
    """
    require_dynamics(dynamics)
    of, log_factor = DYNAMICS[dynamics][:2]
    # Tensors of torch are welcome too.
    step: Any = eta if hasattr(eta, "log1p") else np.asarray(eta)
    if of == "U":
        single = log_factor(step[..., None] * signal)
        rates: NDArray[np.float64] = single[..., :, None] + single[..., None, :]
        return rates
    together = step[..., None, None] * (signal[..., :, None] + signal[..., None, :])
    return log_factor(together)  # type: ignore[no-any-return]


#: Which of the two concepts of an entry are learned: the first axis of :func:`log_factors`.
NEITHER, FIRST, BOTH = 0, 1, 2
#: Stands for "decays at once": the logarithm of a factor that is zero or negative.
AT_ONCE = -1e6


def log_factors(
    signal: NDArray[np.float64], eta: NDArray[np.float64] | float, dynamics: str
) -> NDArray[np.longdouble]:
    r"""Binary logarithm of the factor of each entry per step, near W = 1 on some concepts, else 0.

    Near the fixed point in which the concepts of a set S are learned and the others are not, every
    entry of the distance from it moves on its own: by :func:`growth_rates` where neither concept
    is in S; by :math:`1 - \eta(a_i - a_j)/2` where only i is; by :math:`1 - \eta(a_i + a_j)` where
    both are (the flow: by the exponential of the same).

    Returns (3, ..., d, d): for NEITHER, FIRST (i in S, j not) and BOTH. Long, because a jump over n
    steps multiplies it by n, and n times the rounding of a float would be visible in W.

    References
    ----------
    (D.3), linearised.
    """
    a = np.asarray(signal, dtype=np.longdouble)
    each = np.asarray(eta, dtype=np.longdouble)
    rate = each[..., None, None]
    together = a[..., :, None] + a[..., None, :]
    apart = (a[..., :, None] - a[..., None, :]) / 2
    with np.errstate(all="ignore"):
        neither = growth_rates(a, each, dynamics)  # type: ignore[arg-type]
        learned = DYNAMICS[dynamics].log_factor(np.stack([-rate * apart, -rate * together]))
        learned = np.where(np.isfinite(learned), learned, np.longdouble(AT_ONCE))
        factors = np.concatenate([neither[None], learned]) / np.log(np.longdouble(2))
    return np.asarray(factors)


#: What times are given in.
_UNITS = ("step", "eta t")


def per_step(unit: str, eta: Fraction) -> float:
    """The length of a step in a unit of time."""
    if unit not in _UNITS:
        raise InvalidInput("unit", unit, f"must be one of {', '.join(_UNITS)}", "(D.2)")
    return 1.0 if unit == "step" else float(eta)
