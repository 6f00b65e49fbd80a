"""Where training starts: U(0) and W(0) = U(0) U(0)^T, drawn; the concepts that W(0) lacks.

And many instances at once: their arguments, read, checked, and spread out a piece at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from swingby.errors import InvalidInput, named
from swingby.simulate.state import Problem, clear_pivots, in_order
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.initial import (
    LARGEST_ENTRY,
    SYMMETRY_TOLERANCE,
    Initial,
    Scaled,
    connected_blocks,
    exact_pivots,
)
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.task import LARGEST_DIMENSION, SIMTask

Source = np.random.Generator | int | None

#: U(0) is drawn in full, so its width has to fit the memory.
LARGEST_WIDTH = 100_000
#: Below this, omega is kept apart from the matrix, because W would leave the float range.
SMALLEST_FLOAT_OMEGA = Fraction(1, 10**290)
#: Rounding W(0) moves a positive pivot below this fraction by more than 1e-4 of itself.
LOST = Fraction(1, 10**12)
#: Between two projections rounding of 1e-16 may grow to 1e-12.
NOISE_GROWTH = 1e4
#: Most steps between two projections.
MOST_QUIET = 256
#: Matrices looked at together.
SLICE = 65536


def gaussian_factor(
    dim: int | SIMTask, scale: Any, width: int | None = None, rng: Source = None
) -> Floats:
    """U(0) with independent entries ``scale * N(0, 1)``.

    `dim`: the dimension d, or a task that has it.
    `scale`: standard deviation tau of an entry; positive, in the float range.
    `width`: number of columns d' (width of the hidden layer); default d.
    Raises InvalidInput if the scale is not positive or a size is not a positive whole number.

    References
    ----------
    Sec. 4.2, W = U U^T.
    """
    rows, columns = _shape(dim, width)
    deviation = numbers.within_float(numbers.positive(scale, "scale"), "scale")
    return numbers.random_source(rng).standard_normal((rows, columns)) * deviation


@named
def gaussian(
    dim: int | SIMTask, omega: Any, width: int | None = None, rng: Source = None
) -> Floats | Scaled:
    r"""W(0) = U U^T for Gaussian U, scaled so that the expected diagonal entry is omega.

    .. math:: W(0) = U U^T, \qquad u_{ij} \sim N(0, \tau^2), \qquad \tau^2 = \omega / d'.

    Parameters
    ----------
    dim : int or SIMTask
    omega : float, int, Fraction, str or mpmath number
        Positive; ``"1e-400"`` works.
    width : int, optional
        The number d' of columns of U; default d. Below d, W(0) has not full rank.
    rng : numpy Generator, seed or None

    Returns
    -------
    ndarray of shape (d, d), or Scaled
        :class:`swingby.theory.initial.Scaled` when omega is below 1e-290.

    Raises
    ------
    InvalidInput
        If omega is not positive or a size is not a positive whole number.

    Examples
    --------
    >>> gaussian(2, "1e-400", rng=0).omega == Fraction(1, 10**400)
    True
    """
    rows, columns = _shape(dim, width)
    scale = numbers.positive(omega, "omega", "Assumption D.1")
    U = numbers.random_source(rng).standard_normal((rows, columns)) / math.sqrt(columns)
    matrix: Floats = _symmetric(U)
    if scale < SMALLEST_FLOAT_OMEGA:
        return Scaled(matrix, scale)
    return matrix * numbers.within_float(scale, "omega")


def uniform(dim: int | SIMTask, scale: Any, rng: Source = None) -> Floats:
    """W(0) = U U^T with the entries of U uniform on [0, scale], as in the authors' public code.

    All entries of U are positive, so W(0) is close to rank one and all its entries are positive.

    `scale`: positive; 0.1 in most of the authors' scripts. Raises InvalidInput if the scale is not
    positive or dim is not a positive whole number.
    """
    rows, columns = _shape(dim, None)
    largest = numbers.within_float(numbers.positive(scale, "scale"), "scale")
    return _symmetric(numbers.random_source(rng).random((rows, columns)) * largest)


def _shape(dim: int | SIMTask, width: int | None) -> tuple[int, int]:
    rows = (
        dim.dim
        if isinstance(dim, SIMTask)
        else numbers.whole(dim, "dim", 1, most=LARGEST_DIMENSION)
    )
    return rows, rows if width is None else numbers.whole(width, "width", 1, most=LARGEST_WIDTH)


def _symmetric(U: Floats) -> Floats:
    W = U @ U.T
    return (W + W.T) / 2


def clearly_positive(initial: Initial, signal: Floats) -> bool:
    """Whether W(0) is positive definite beyond doubt, by its LDL^T pivots in floats."""
    order = np.argsort(-signal, kind="stable")
    return bool(clear_pivots(initial.matrix[np.ix_(order, order)][None])[0])


def missing_concepts(initial: Initial, signal: Floats) -> Booleans:
    """Concepts whose pivot in LDL^T of W(0), in descending order of a, is at most 0."""
    if clearly_positive(initial, signal):
        return np.zeros(len(signal), dtype=np.bool_)
    return doubtful_concepts(initial, signal)[0]


def doubtful_concepts(initial: Initial, signal: Floats) -> tuple[Booleans, Booleans]:
    """Concepts without a pivot, and those of which U(0) has one that U(0) U(0)^T in floats loses.

    Pivots of LDL^T in descending order of a, exactly, as shares of positive w_kk(0).
    """
    order, shares = np.argsort(-signal, kind="stable"), np.zeros(len(signal), dtype=object)
    pivots = exact_pivots(initial.exact[np.ix_(order, order)])
    shares[order] = [
        p / w if (w := initial.exact[k, k]) > 0 else p for k, p in zip(order, pivots, strict=True)
    ]
    lost = (shares > 0) & (shares < LOST) & (signal > 0) & (initial.factor is not None)
    return np.asarray((shares <= 0) & (signal > 0)), np.asarray(lost)


def lasting(missing: Booleans, W0: Floats, dynamics: str) -> Booleans:
    """Missing concepts that the dynamics do not create.

    gd and the flow keep the rank of W. euler does not: only a concept whose whole row is zero
    stays missing.
    """
    return missing if DYNAMICS[dynamics].keeps_psd else missing & ~W0.any(axis=1)


def displaceable(missing: Booleans, initial: Initial, signal: Floats) -> Booleans:
    """Missing concepts that may still be learned, in place of one with a smaller signal.

    gd and the flow keep the rank of W, but not which pivot is zero. A W(0) of rank r whose r
    components are not those of the r largest signals learns others first and may then turn: say
    concept 3 into concept 2, at a rate of a_2 - a_3. How late that begins depends on terms far
    below the rounding of floats; :func:`swingby.certify` resolves it.
    """
    found = np.zeros(len(signal), dtype=np.bool_)
    if not missing.any():
        return found
    for block in connected_blocks(initial.matrix.tolist()):
        there = [a for k in block if not missing[k] and (a := signal[k]) > 0]
        for k in block:
            found[k] = missing[k] and any(a < signal[k] for a in there)
    return found


def quiet_steps(fastest: float) -> int:
    """How many steps may lie between two projections: a power of two.

    `fastest` is the largest eta a. What rounding makes of an absent component grows by at most
    (1 + eta a)^2 a step; it is not to grow by more than NOISE_GROWTH.
    """
    steps = MOST_QUIET
    while steps > 1 and 2.0 * steps * math.log1p(fastest) > math.log(NOISE_GROWTH):
        steps //= 2
    return steps


def without_null(problem: Problem, X: Floats) -> Floats:
    """X with the pivots of the null concepts back at exactly zero."""
    if not problem.null.any():
        return X
    return np.asarray(without_null_many(X[None], problem.null[None], problem.order[None])[0])


def without_null_many(X: Floats, null: Booleans, order: Integers) -> Floats:
    """Matrices (m, d, d) with the pivots of their null concepts (m, d) back at exactly zero.

    gd and the flow keep the rank of W; in floats a zero pivot becomes rounding noise, which would
    then grow like a concept. Only the Schur complement rows of null concepts are removed, and they
    are nothing but that noise. Concepts are eliminated in `order` (m, d).
    """
    kept = in_order(X, order)
    rest, absent = kept.copy(), np.take_along_axis(null, order, axis=1)
    with np.errstate(all="ignore"):
        for k in range(X.shape[1]):
            row = np.where(absent[:, k, None], kept[:, k, k:] - rest[:, k, k:], kept[:, k, k:])
            kept[:, k, k:], kept[:, k:, k] = row, row
            pivot = rest[:, k, k]
            taken = (~absent[:, k] & (pivot > 0.0))[:, None]
            factor = np.where(taken, rest[:, k, k + 1 :] / pivot[:, None], 0.0)
            rest[:, k + 1 :, k + 1 :] -= factor[:, :, None] * rest[:, k, None, k + 1 :]
    return in_order(kept, np.argsort(order, axis=1))


@dataclass(frozen=True, eq=False)
class Arguments:
    """Arrays by name whose leading axes broadcast to one shape."""

    given: dict[str, Floats]
    shape: tuple[int, ...]

    @classmethod
    def of(cls, signal: object, W0: object, eta: object, **more: Floats) -> Arguments:
        """Read signal (..., d), W0 (..., d, d) and eta (...); `more` arrays are read already."""
        given = {
            "signal": read_array(signal, "signal", "Sec. 4"),
            "W0": read_array(W0, "W0", "(D.2)"),
            "eta": read_array(eta, "eta", "(D.2)"),
            **more,
        }
        signals, rates = given["signal"], given["eta"]
        if signals.ndim < 1 or signals.shape[-1] < 1:
            shown = f"shape {signals.shape}"
            raise InvalidInput("signal", shown, "must have shape (..., d), d at least 1", "Sec. 4")
        own = _own_axes(signals.shape[-1])
        for name, source in (("W0", "(D.2)"), ("test_point", "Sec. 2.1")):
            if name in given and given[name].shape[-len(own[name]) :] != own[name]:
                requirement = f"must have shape (..., {', '.join(map(str, own[name]))})"
                raise InvalidInput(name, f"shape {given[name].shape}", requirement, source)
        if (signals < 0).any():
            raise InvalidInput("signal", float(signals.min()), "must not be negative", "Sec. 4")
        if (rates <= 0).any():
            raise InvalidInput("eta", float(rates.min()), "must be positive", "(D.2)")
        leading = {
            name: array.shape[: array.ndim - len(own.get(name, ()))]
            for name, array in given.items()
        }
        try:
            return cls(given, np.broadcast_shapes(*leading.values()))
        except ValueError:
            several = {name: str(shape) for name, shape in leading.items() if shape}
            shown = ", ".join(several.values())
            raise InvalidInput(", ".join(several), shown, "must broadcast") from None

    @property
    def total(self) -> int:
        """Number of instances."""
        return math.prod(self.shape)

    def piece(self, first: int, last: int) -> dict[str, Floats]:
        """Instances number `first` to `last` - 1, in the order of a flattened array."""
        own, found = _own_axes(self.given["signal"].shape[-1]), {}
        some: Any = ...
        if last - first < self.total:
            some = np.unravel_index(np.arange(first, last), self.shape)
        for name, values in self.given.items():
            axes = own.get(name, ())
            if values.shape == (*self.shape, *axes) and values.flags.c_contiguous:
                found[name] = values.reshape(self.total, *axes)[first:last]
            else:
                taken = np.broadcast_to(values, (*self.shape, *axes))[some]
                found[name] = np.ascontiguousarray(taken).reshape(last - first, *axes)
        return found

    def check_matrices(self, log_scale: Floats, scale: str) -> None:
        """Refuse the first W0 that is no W(0), and a `scale` that makes one too large."""
        W0 = self.given["W0"]
        flat = W0.reshape(-1, *W0.shape[-2:])
        sizes = np.empty(len(flat))
        for first in range(0, len(flat), SLICE):
            part = flat[first : first + SLICE]
            sizes[first : first + SLICE] = largest = np.abs(part).max(axis=(1, 2))
            apart = np.abs(part - part.swapaxes(1, 2)).max(axis=(1, 2))
            zero = ("the zero matrix", "must not be zero", "Assumption D.1")
            refuse_first(largest == 0, "W0", W0.shape[:-2], *zero, first=first)
            crooked = ("this matrix", "must be symmetric, as W = U U^T is", "(D.2)")
            unlike = apart > SYMMETRY_TOLERANCE * largest
            refuse_first(unlike, "W0", W0.shape[:-2], *crooked, first=first)
        total = np.log(sizes).reshape(W0.shape[:-2]) + log_scale
        if (total > math.log(LARGEST_ENTRY)).any():
            if log_scale.any():
                size = numbers.scientific_log10(float(total.max()) / math.log(10), 3)
                shown = f"an entry of {size}"
                raise InvalidInput(scale, shown, "must leave W(0) below 1e300", "(D.2)")
            raise InvalidInput("W0", f"{sizes.max():.3g}", "must be below 1e300", "(D.2)")


def _own_axes(d: int) -> dict[str, tuple[int, ...]]:
    """Axes of an argument that belong to one instance; of all others, none."""
    return {"signal": (d,), "W0": (d, d), "test_point": (d,), "omega": (2,)}


def read_array(values: object, argument: str, source: str = "") -> Floats:
    """A finite float64 array, which may be empty. Not copied where it is one already."""
    if values is None:
        raise InvalidInput(argument, values, "must be an array of real numbers", source)
    if type(values) is np.ndarray:
        if values.size == 0 and values.dtype.kind in "iuf":
            return np.array(values, dtype=np.float64)
        if values.dtype == np.float64 and np.isfinite(values).all():
            return values
    return numbers.real_array(values, argument, source)


def refuse_first(
    wrong: Booleans, argument: str, shape: tuple[int, ...], *words: str, first: int = 0
) -> None:
    """Refuse the first instance that is wrong, by its place; they begin with number `first`."""
    if wrong.any():
        place = np.unravel_index(first + int(wrong.argmax()), shape)
        index = ", ".join(str(int(one)) for one in place)
        raise InvalidInput(f"{argument}[{index}]" if index else argument, *words)
