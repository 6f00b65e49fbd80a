"""predict_swing_batch: descents of the test loss and transient entries of many W(0) at once.

The composite W(t) of the stage law (:mod:`swingby.theory.law.stages`) is followed in compiled code from
one stage to the next; nothing is run. Its correction is integrated until it converges, where the
scalar law stops after at most four sweeps, so for the flow the curve is exact to rounding of the
quadrature, and for euler and gd its error is that of the finite step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.theory.growth import require_dynamics
from swingby.verify.batched.curve_arguments import read_arguments
from swingby.verify.curves import LOSS_SWING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from swingby.verify.batched.curve import Found

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

#: The largest margin: smaller swings of the loss are not kept.
LARGEST_MARGIN = 100.0
#: A larger error of a decisive size, as a logarithm, is no smaller doubt.
_LARGEST_ERROR = 50.0


@dataclass(frozen=True, eq=False, repr=False)
class BatchSwing:
    r"""What the test loss of many instances does. Made by :func:`predict_swing_batch`.

    A *decisive size* is a size of rise or fall at which the number of descents changes: with the
    threshold s, the loss has as many descents as there are decisive sizes of at least s.

    Attributes
    ----------
    dynamics : str
    descents : ndarray of int, shape (...)
        How often the test loss descends by the threshold; -1 where undecided. Where W runs away,
        the descents before.
    least_descents, most_descents : ndarray of int, shape (...)
        The number if every decisive size is off by `needed_margin`; -1 outside the range of the
        law.
    swing_margin : ndarray of shape (...)
        The smallest ratio by which a decisive size exceeds or misses the threshold, at least 1
        and at most 100; nan outside the range of the law.
    needed_margin : ndarray of shape (...)
        The ratio up to which a decisive size may be wrong, an error bar for 99 % of them.
    transient : ndarray of shape (...)
        Largest :math:`|w_{ij}|` over time, i and j different: the size of the swing; inf where W
        runs away, nan outside the range of the law.
    entry : ndarray of int, shape (..., 2)
        User indices of that entry, from 0 and ascending; -1 where there is none.
    diverges : ndarray of bool, shape (...)
        Where a negative pivot makes W run away (euler only).
    undecided : ndarray of bool, shape (...)
        Where `swing_margin` is below `needed_margin`, or the law is out of its range: it is open
        whether a concept is trapped, eta a_max is at least 1/2 (euler, gd), the largest eigenvalue
        of W(0) is at least 0.95, or W(0) is not positive semidefinite (gd, flow).
    scalar : ndarray of bool, shape (...)
        Which instances the scalar law has started, a millisecond for each.
    """

    dynamics: str
    descents: Integers
    least_descents: Integers
    most_descents: Integers
    swing_margin: Floats
    needed_margin: Floats
    transient: Floats
    entry: Integers
    diverges: Booleans
    undecided: Booleans
    scalar: Booleans

    @property
    def swing_by(self) -> Booleans:
        """Where the test loss is predicted to descend at least twice, however it is decided."""
        return np.asarray(self.least_descents >= 2)

    @property
    def shape(self) -> tuple[int, ...]:
        """Axes of the instances."""
        return self.descents.shape

    def __len__(self) -> int:
        """Length of the first axis."""
        if not self.shape:
            raise TypeError("one instance has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return (
            f"<BatchSwing {self.dynamics}: shape {self.shape}; {int(self.swing_by.sum())} with a "
            f"swing-by, {int(self.diverges.sum())} diverge, {int(self.undecided.sum())} undecided>"
        )


def predict_swing_batch(
    signal: ArrayLike,
    W0: ArrayLike,
    eta: ArrayLike,
    dynamics: str = "euler",
    *,
    test_point: ArrayLike | None = None,
    omega: Any = None,
    log_scale: ArrayLike | None = None,
    swing: ArrayLike = LOSS_SWING,
) -> BatchSwing:
    r"""Descents of the test loss, and the largest transient entry, of many instances.

    Parameters
    ----------
    signal : array_like of shape (..., d)
        The signal a of each instance; at least 0, one entry positive. Leading axes broadcast.
    W0 : array_like of shape (..., d, d)
        Symmetric initial matrices, or what `omega` or `log_scale` multiplies.
    eta : array_like of shape (...)
        Step sizes in the clock of (D.2); positive.
    dynamics : {"euler", "gd", "flow"}
    test_point : array_like of shape (..., d), optional
        Where the loss :math:`\tfrac12 |W x - x|^2` is taken; its length does not matter. By
        default that of ``SIMTask.from_signal``, :math:`x_p = \sqrt{s a_p}`.
    omega : number or text, optional
        W(0) is ``omega * W0`` for all instances; may lie below the float range (``"1e-400"``).
    log_scale : array_like of shape (...), optional
        W(0) is ``exp(log_scale) * W0``, for every instance its own.
    swing : array_like of shape (...)
        A descent counts from this share of the initial loss on; at least 1e-9. Small ones take
        longer, by the inverse cube root.

    Returns
    -------
    BatchSwing
        A result does not depend on the other instances, not in a bit.

    Raises
    ------
    InvalidInput
        For shapes that do not broadcast, and for values out of range.

    Notes
    -----
    A trapped concept is predicted without the component that W(0) lacks: it stays at 0, and the
    loss comes to rest above 0. An instance that the law leaves open is undecided, not guessed.

    References
    ----------
    Sec. 4.2.2 and App. E.1 for the descents; the law is ours (:mod:`swingby.theory.odds`).

    Examples
    --------
    >>> W0 = [[[2e-3, 1e-3], [1e-3, 2e-3]], [[2e-3, 0], [0, 2e-3]]]
    >>> found = predict_swing_batch([4.0, 1.0], W0, 0.01, "gd")
    >>> found.descents.tolist(), found.transient.round(3).tolist()
    ([2, 1], [0.031, 0.0])
    """
    require_dynamics(dynamics)
    given = read_arguments(signal, W0, eta, test_point, omega, log_scale, swing)
    # numba takes 0.4 s to import, so only a call pays for it.
    from swingby.verify.batched.curve import batched_curve

    parts: list[dict[str, NDArray[Any]]] = []
    for piece in given.pieces():
        found = batched_curve(
            piece["signal"],
            piece["W0"],
            piece["eta"],
            piece["log_scale"],
            piece["test_point"],
            piece["swing"],
            dynamics,
        )
        parts.append(_judge(found))
    fields = {
        name: np.concatenate([part[name] for part in parts]).reshape(given.shape + values.shape[1:])
        for name, values in parts[0].items()
    }
    return BatchSwing(dynamics=dynamics, **fields)


def _judge(found: Found) -> dict[str, NDArray[Any]]:
    """Counts and margins from decisive sizes."""
    sizes, needed = found.sizes, np.exp(np.minimum(found.error, _LARGEST_ERROR))[:, None]
    with np.errstate(all="ignore"):
        ratios = np.fmax(sizes, 1 / sizes)
        counts = [(sizes >= level).sum(axis=1) for level in (1.0, needed, 1 / needed)]
    margin = np.fmin(np.fmin.reduce(ratios, axis=1), LARGEST_MARGIN)
    count, least, most = (np.where(found.outside, -1, values) for values in counts)
    undecided = found.outside | (least < most)
    return {
        "descents": np.where(undecided, -1, count),
        "least_descents": least,
        "most_descents": most,
        "swing_margin": np.where(found.outside, np.nan, margin),
        "needed_margin": needed[:, 0],
        "transient": found.transient,
        "entry": found.entry,
        "diverges": found.diverges,
        "undecided": undecided,
        "scalar": found.scalar,
    }
