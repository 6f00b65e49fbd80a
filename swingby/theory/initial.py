"""W(0): an initial matrix, read and checked once, with its scale, its pivots and its exponents.

The scale is kept apart from the matrix, so that W(0) may lie below the float range. Pivots are
those of LDL^T in descending order of a signal: in floats where these leave no doubt that all are
positive, and else exactly, as entries of W(0) are exact numbers.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.hints import Hinted
from swingby.report.number_text import python_text, scientific
from swingby.report.result_formats import ReadOnly
from swingby.theory import numbers
from swingby.theory.growth import DYNAMICS
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.theory.scaled_matrices import binary, choose_exponents

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

#: Relative asymmetry that a matrix product in floats leaves behind, at least, and in spacings of
#: shorter floats; more is refused.
_SYMMETRY_TOLERANCE, _SPACINGS = 1e-9, 8


def symmetry_tolerance(W0: object) -> float:
    """Asymmetry, relative to the largest entry, that rounding explains in floats of this type."""
    return max(_SYMMETRY_TOLERANCE, _SPACINGS * numbers.spacing(W0))


def asymmetry_text(asymmetry: float) -> tuple[str, str, str]:
    """What is said of a W(0) that is asymmetric by a share of its largest entry."""
    got = f"an asymmetry of {asymmetry:.2g} of its largest entry"
    requirement = "must be symmetric, as W = U U^T is: give (W0 + W0.T) / 2, or a factor as U0"
    return got, requirement, "(D.2)"


#: Concepts that belong together, as tuples of indices.
Blocks = tuple[tuple[int, ...], ...]

#: What else may be meant, by the number of axes.
_NOT_SQUARE = {
    0: "; of a scale give omega, or swingby.gaussian(task, omega, rng=0)",
    1: ": numpy.diag(w) of its diagonal w, or w.reshape(d, d)",
    2: "; of a factor of W(0) = U U^T give U0",
}
#: A larger entry would leave the float range in the first product.
LARGEST_ENTRY = Fraction(10) ** 300

#: Entries of U(0) further apart would leave the float range in W(0).
_LARGEST_RATIO = 1e150

#: A float pivot above this fraction of its diagonal entry is positive beyond doubt (the rounding
#: of elimination is about d 2^-53); only below it are exact rationals needed.
_CLEARLY_POSITIVE = 1e-9
#: Above this d LAPACK takes less time for the pivots of a matrix.
_WRITTEN_PIVOTS = 8
#: Rounding W(0) moves a positive pivot below this fraction by more than 1e-4 of itself.
_LOST = Fraction(1, 10**12)


@dataclass(frozen=True)
class Scaled(Hinted):
    """The matrix ``omega * matrix``, for omega below the float range.

    Parameters
    ----------
    matrix : array_like of shape (d, d)
        Symmetric.
    omega : float, int, Fraction, str or mpmath number
        Positive; ``"1e-400"`` works.

    Raises
    ------
    InvalidInput
        If matrix is not a finite array or omega not positive.

    Examples
    --------
    >>> Scaled([[2, 1], [1, 2]], "1e-400")
    Scaled([[2.0, 1.0], [1.0, 2.0]], "1e-400")
    """

    matrix: NDArray[np.float64]
    omega: Fraction
    #: The matrix as rationals, where floats do not hold it.
    rational: NDArray[np.object_] | None

    def __init__(self, matrix: ArrayLike, omega: Any) -> None:
        self.__dict__.update(
            matrix=numbers.real_array(matrix, "W0.matrix"),
            omega=numbers.positive(omega, "W0.omega", "Assumption D.4"),
            rational=numbers.beyond_floats(matrix, "W0.matrix"),
        )

    def __repr__(self) -> str:
        matrix = str(self.matrix.tolist())
        if self.rational is not None:
            matrix = repr([[str(entry) for entry in row] for row in self.rational.tolist()])
        return f"Scaled({matrix}, {python_text(self.omega)})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show Python that makes it again, to IPython and Hypothesis."""
        printer.text(repr(self))

    @property
    def _exact(self) -> NDArray[Any]:
        return np.asarray(self.matrix if self.rational is None else self.rational)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Scaled)
            and self.omega == other.omega
            and np.array_equal(self._exact, other._exact)
        )

    __hash__ = None  # type: ignore[assignment]


class _InitialPivots(NamedTuple):
    """Pivots of LDL^T of W(0), with the concepts in descending order of a signal a.

    shares (d,): each pivot over w_kk(0), by concept; exact unless `clear`. clear: all pivots are
    positive beyond doubt. missing (d,): concepts with a > 0 and no positive pivot, so that W(0)
    has no component for them. lost (d,): concepts with a > 0 that have a pivot by U(0), but none
    that U(0) U(0)^T in floats resolves.
    """

    shares: NDArray[Any]
    clear: bool
    missing: Booleans
    lost: Booleans

    @property
    def rank(self) -> int:
        """The number of positive pivots: the rank of a positive semidefinite W(0)."""
        return int((self.shares > 0).sum())


@dataclass(frozen=True, eq=False)
class Initial(ReadOnly):
    """A checked W(0), which every function takes as it is. Made by :func:`initial_state`.

    `matrix` (d, d): exactly symmetric.
    `scale`: W(0) is ``scale * matrix``; 1 for a plain array.
    `factor` (d, m): W(0) is ``scale * factor factor^T``, and `matrix` that product rounded once per
    entry.
    `rational` (d, d): W(0) over its scale as it was stated, where floats do not hold it.
    """

    #: Where a U(0) comes from.
    FACTORED: ClassVar = "W(0) = U(0) U(0)^T, Sec. 4.2"

    matrix: NDArray[np.float64]
    scale: Fraction
    factor: NDArray[np.float64] | None = None
    rational: NDArray[np.object_] | None = None

    @classmethod
    def of_factor(cls, U0: ArrayLike | Scaled, dim: int) -> Initial:
        """Check U(0) of shape (d, m), where W(0) = U(0) U(0)^T; floats lose its small pivots."""
        if isinstance(U0, Scaled):
            U, omega, rational = U0.matrix, U0.omega, U0.rational
        else:
            U, omega = numbers.real_array(U0, "U0", cls.FACTORED), Fraction(1)
            rational = numbers.beyond_floats(U0, "U0", cls.FACTORED)
        if U.ndim != 2 or len(U) != dim:
            requirement = f"must have shape ({dim}, m)"
            raise InvalidInput("U0", f"shape {U.shape}", requirement, cls.FACTORED)
        sizes = np.abs(U)
        if not (largest := sizes.max()):
            raise InvalidInput("U0", f"zeros of shape {U.shape}", "must not be zero", cls.FACTORED)
        if (smallest := sizes[sizes > 0].min()) < largest / _LARGEST_RATIO:
            raise InvalidInput(
                "U0",
                f"{smallest:.3g} beside {largest:.3g} in shape {U.shape}",
                f"must have entries within a factor {_LARGEST_RATIO:g} of the largest, or zero",
                cls.FACTORED,
            )
        power = int(np.frexp(largest)[1])
        factor = np.ldexp(U, -power)
        scale, exact = Fraction(4) ** power * omega**2, _gram(factor)
        if exact.max() * scale > LARGEST_ENTRY:
            got = f"{largest:.3g} in shape {U.shape}"
            raise InvalidInput("U0", got, "must have U0 U0^T below 1e300", cls.FACTORED)
        if rational is not None:
            rational = rational @ rational.T / Fraction(4) ** power
        return cls(exact.astype(np.float64), scale, factor, rational)

    def __str__(self) -> str:
        sizes = " to ".join(map(scientific, dict.fromkeys((self.omega, self.largest))))
        return f"W(0) of {len(self.matrix)} concepts, entries of size {sizes}"

    @functools.cached_property
    def exact(self) -> NDArray[np.object_]:
        """W(0) over its scale as rationals: that of floats, from which runs start."""
        if self.factor is None:
            return np.array([[Fraction(x) for x in row] for row in self.matrix.tolist()])
        return _gram(self.factor)

    @property
    def stated(self) -> NDArray[np.object_]:
        """W(0) over its scale as rationals: that which was stated, of which theorems speak."""
        return self.exact if self.rational is None else self.rational

    @property
    def _sizes(self) -> NDArray[Any]:
        """Sizes of the entries over the scale, in floats where those are exact: that is faster."""
        return np.asarray(np.abs(self.matrix if self.factor is None else self.exact))

    @property
    def log_scale(self) -> float:
        """Natural logarithm of the scale."""
        return 0.0 if self.scale == 1 else numbers.log_of(self.scale)

    @property
    def entries(self) -> list[list[Fraction]]:
        """W(0) as exact rationals."""
        return [[entry * self.scale for entry in row] for row in self.exact.tolist()]

    @property
    def omega(self) -> Fraction:
        """The smallest entry in size: the largest omega that (D.8) admits."""
        return Fraction(self._sizes.min()) * self.scale

    @property
    def smallest_nonzero(self) -> Fraction:
        """The smallest entry in size that is not zero."""
        return Fraction(self._sizes[self._sizes > 0].min()) * self.scale

    @property
    def largest(self) -> Fraction:
        """The largest entry in size: beta times omega in (D.8)."""
        return Fraction(self._sizes.max()) * self.scale

    @functools.cached_property
    def is_psd(self) -> bool:
        """W(0) is positive semidefinite up to rounding (relative 1e-12)."""
        eigenvalues = np.linalg.eigvalsh(self.matrix)
        largest = max(abs(eigenvalues[-1]), abs(eigenvalues[0]))
        return bool(eigenvalues[0] >= -1e-12 * largest)

    def require_psd(self, dynamics: str) -> None:
        """Refuse a W(0) that is no U U^T where the dynamics is one of U."""
        if DYNAMICS[dynamics].keeps_psd and not self.is_psd:
            low, *_, high = np.linalg.eigvalsh(self.matrix)
            raise InvalidInput(
                "W0",
                f"an eigenvalue of {low / max(-low, high):.2g} of the largest",
                f"must be positive semidefinite for dynamics={dynamics!r}, defined on W = U U^T: "
                "give U0 in its place where there is one",
                "(D.1)",
            )

    @functools.cached_property
    def _pivots_by_signal(self) -> dict[bytes, _InitialPivots]:
        """The pivots for every signal that was asked for."""
        return {}

    def pivots(self, signal: Floats) -> _InitialPivots:
        """Pivots of LDL^T in descending order of a signal (d,); formed once for each signal."""
        key = signal.tobytes()
        if key not in self._pivots_by_signal:
            self._pivots_by_signal[key] = _eliminate(self, signal)
        return self._pivots_by_signal[key]

    def missing(self, signal: Floats, dynamics: str) -> Booleans:
        """Concepts (d,) that W(0) has no component for and that the dynamics do not create.

        gd and the flow keep the rank of W. euler does not: only a concept whose whole row is zero
        stays missing.
        """
        missing = self.pivots(signal).missing
        return missing if DYNAMICS[dynamics].keeps_psd else missing & ~self.matrix.any(axis=1)

    def displaceable(
        self, signal: Floats, dynamics: str, missing: Booleans | None = None
    ) -> Booleans:
        """Missing concepts (d,) that may be learned yet, in place of a concept of smaller signal.

        gd and the flow keep the rank of W, but not which pivot is zero. A W(0) of rank r whose r
        components are not those of the r largest signals learns others first and may then turn:
        say concept 3 into concept 2, at a rate of a_2 - a_3. How late that begins depends on terms
        far below the rounding of floats; :func:`swingby.certify` resolves it.
        """
        missing = self.missing(signal, dynamics) if missing is None else missing
        displaceable = np.zeros(len(signal), dtype=np.bool_)
        if not missing.any() or not DYNAMICS[dynamics].keeps_psd:
            return displaceable
        for block in connected_blocks(self.matrix.tolist()):
            present = [a for k in block if not missing[k] and (a := signal[k]) > 0]
            for k in block:
                displaceable[k] = missing[k] and any(a < signal[k] for a in present)
        return displaceable

    @functools.cached_property
    def exponents(self) -> Integers:
        """The whole numbers m (d,) with which a run holds W(0) as D X D, D = diag(2^m)."""
        mantissa, power = binary(self.scale)
        diagonal = np.diag(self.matrix * mantissa)
        return np.asarray(choose_exponents(diagonal[None], np.array([power]))[0])

    @functools.cached_property
    def held(self) -> Floats:
        """The X (d, d) of W(0) = D X D, whose entries lie in the float range."""
        (mantissa, power), m = binary(self.scale), self.exponents
        shifts = (power - m[:, None] - m[None, :]).clip(-3000, 3000)
        with np.errstate(all="ignore"):
            X: Floats = np.ldexp(self.matrix * mantissa, shifts)
        X.setflags(write=False)
        return X


def _eliminate(initial: Initial, signal: Floats) -> _InitialPivots:
    """Pivots of W(0), exactly where floats leave a doubt."""
    order = np.argsort(-signal, kind="stable")
    matrix = initial.matrix[np.ix_(order, order)]
    pivots = _pivots_of(matrix)
    # As in clear_pivots.
    if (pivots > _CLEARLY_POSITIVE * np.abs(matrix.diagonal())).all():
        shares, nowhere = np.empty(len(signal)), np.zeros(len(signal), dtype=np.bool_)
        shares[order] = pivots / matrix.diagonal()
        return _InitialPivots(shares, True, nowhere, nowhere)
    exact = np.zeros(len(signal), dtype=object)
    for k, pivot in zip(order, exact_pivots(initial.exact[np.ix_(order, order)]), strict=True):
        exact[k] = pivot / entry if (entry := initial.exact[k, k]) > 0 else pivot
    missing = np.asarray((exact <= 0) & (signal > 0))
    lost = (exact > 0) & (exact < _LOST) & (signal > 0) & (initial.factor is not None)
    return _InitialPivots(exact, False, missing, np.asarray(lost))


@np.errstate(all="ignore")
def _pivots_of(matrix: Floats) -> Floats:
    """The pivots of LDL^T of a matrix (d, d) in floats."""
    if len(matrix) > _WRITTEN_PIVOTS:
        with contextlib.suppress(np.linalg.LinAlgError):
            return np.asarray(np.linalg.cholesky(matrix).diagonal() ** 2)
    return np.concatenate(list(_float_pivots(matrix[None])))


def _gram(factor: NDArray[np.float64]) -> NDArray[np.object_]:
    """U U^T as rationals: products of whole numbers over a power of two, so nothing rounds."""
    mantissa, exponent = np.frexp(factor)
    smallest = int(exponent[factor != 0].min())
    shifts = np.where(factor != 0, exponent - smallest, 0).astype(object)
    integers = np.ldexp(mantissa, 53).astype(np.int64).astype(object) << shifts
    return np.asarray((integers @ integers.T) * Fraction(4) ** (smallest - 53))


def initial_state(
    W0: ArrayLike | Scaled | Initial | None, U0: ArrayLike | Scaled | None, dim: int
) -> Initial:
    """The W(0) of d = `dim` concepts, from that of W0 and U0 which is given."""
    if W0 is not None and U0 is None:
        return initial_matrix(W0, dim)
    if W0 is None and U0 is not None:
        return Initial.of_factor(U0, dim)
    raise InvalidInput(
        "one of W0 and U0", MISSING if W0 is None else "both", "must be given", Initial.FACTORED
    )


def initial_matrix(W0: ArrayLike | Scaled | Initial, dim: int, *, argument: str = "W0") -> Initial:
    """Check an initial matrix: finite, d by d, not zero, and symmetric.

    An asymmetry that rounding explains is taken out.
    """
    if isinstance(W0, Initial):
        matrix, scale, rational = W0.matrix, W0.scale, W0.rational
    elif isinstance(W0, Scaled):
        matrix, scale, rational = W0.matrix.copy(), W0.omega, W0.rational
    else:
        matrix, scale = numbers.real_array(W0, argument), Fraction(1)
        rational = numbers.beyond_floats(W0, argument)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        requirement = "must be a square matrix" + _NOT_SQUARE.get(matrix.ndim, "")
        raise InvalidInput(argument, f"shape {matrix.shape}", requirement, "(D.2)")
    if matrix.shape != (dim, dim):
        raise InvalidInput(
            argument, f"shape {matrix.shape}", f"must have shape ({dim}, {dim})", "(D.2)"
        )
    if isinstance(W0, Initial):
        return W0
    size = np.abs(matrix).max()
    if not size:
        requirement = 'must not be zero; below the float range write swingby.Scaled(W, "1e-400")'
        raise InvalidInput(argument, "the zero matrix", requirement, "Assumption D.1")
    if Fraction(float(size)) * scale > LARGEST_ENTRY:
        raise InvalidInput(argument, f"an entry of size {size:.3g}", "must be below 1e300", "(D.2)")
    asymmetry = float(np.abs(matrix - matrix.T).max() / size)
    if asymmetry > symmetry_tolerance(W0):
        raise InvalidInput(argument, *asymmetry_text(asymmetry))
    if rational is not None:
        rational = (rational + rational.T) / 2
    return Initial((matrix + matrix.T) / 2, scale, rational=rational)


def connected_blocks(W0: Sequence[Sequence[Any]]) -> Blocks:
    """Connected components of the graph of nonzero off-diagonal entries, by first concept.

    A is diagonal, so all dynamics keep the entries between two blocks at 0.
    """
    blocks = []
    waiting = list(range(len(W0)))
    while waiting:
        block = [waiting.pop(0)]
        for i in block:
            reached = [j for j in waiting if W0[i][j]]
            block += reached
            waiting = [j for j in waiting if j not in reached]
        blocks.append(tuple(sorted(block)))
    return tuple(blocks)


def exact_pivots(matrix: NDArray[Any]) -> list[Fraction]:
    """Pivots of LDL^T in the given order, exactly; a pivot of at most 0 is not eliminated."""
    schur = [[Fraction(entry) for entry in row] for row in matrix.tolist()]
    for k, row in enumerate(schur):
        for i in range(k + 1, len(schur)):
            factor = schur[i][k] / row[k] if row[k] > 0 else Fraction(0)
            if factor:
                for j in range(k + 1, len(schur)):
                    schur[i][j] -= factor * row[j]
    return [row[k] for k, row in enumerate(schur)]


def _float_pivots(matrices: Any) -> Iterator[Any]:
    """Yield the pivots of LDL^T in the given order, each for all matrices (m, d, d).

    Of NumPy or of torch.
    """
    schur = matrices * 1.0
    for k in range(matrices.shape[-1]):
        pivot, row = schur[:, k, k], schur[:, k, k + 1 :]
        yield pivot
        schur[:, k + 1 :, k + 1 :] -= (row / pivot[:, None])[:, :, None] * row[:, None, :]


@np.errstate(all="ignore")
def clear_pivots(matrices: Any, share: float = _CLEARLY_POSITIVE) -> Any:
    """The matrices (m, d, d) of which all pivots are above a share of their diagonal entries.

    Of NumPy or of torch.
    """
    clear = matrices[:, 0, 0] > 0.0
    for k, pivot in enumerate(_float_pivots(matrices)):
        clear = clear & (pivot > share * abs(matrices[:, k, k]))
    return clear
