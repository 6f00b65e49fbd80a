r"""The structured identity mapping (SIM) task of Sec. 2.

A task is s Gaussian clusters in d dimensions: cluster p is centred at :math:`\mu_p \mathbf 1_p`
and has standard deviation :math:`\sigma_q` along axis q. All the linear theory needs of it is
the signal :math:`a_p = \sigma_p^2 + \mu_p^2 / s` and the test point
:math:`\hat x = \sum_p \mu_p \mathbf 1_p`.
"""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput, SwingbyWarning, named
from swingby.hints import Hinted, HintedType
from swingby.report.number_text import python_list
from swingby.theory import numbers
from swingby.theory.clusters import read_clusters

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

#: 2^16 test points are the most that test_points() makes.
_MOST_TEST_POINT_CONCEPTS = 16
#: Nothing here is meant for more directions; a typing error should not fill the memory.
LARGEST_DIMENSION = 1024


@dataclass(frozen=True, repr=False)
class SIMTask(Hinted, metaclass=HintedType):
    r"""A SIM task: cluster distances, cluster spreads, dimension.

    .. math:: a_p = \sigma_p^2 + \mu_p^2 / s \quad (p \le s), \qquad a_p = 0 \quad (p > s).

    Parameters
    ----------
    mu : sequence of s numbers
        Distance of each cluster centre from the origin; positive. Exact numbers (int,
        Fraction, text such as ``"1/3"``) stay exact; a float is the binary number it stores.
    sigma : sequence of s numbers, or one number for all
        Standard deviation of the data along each concept's axis; at least 0.
    dim : int, optional
        Dimension d of the input space, at least s. Default s.

    Attributes
    ----------
    mu, sigma : tuple of Fraction, length s
    dim : int
    signal_override : tuple of Fraction of length d, or None
        The signal a where it does not follow from mu and sigma; see :meth:`with_signal`.
    note : str
        Where an overridden signal comes from.
    rotation : ndarray of shape (d, d), or None
        Orthogonal matrix whose column p is the direction of concept p, for data that is not
        axis-aligned; found by :meth:`from_samples`.
    warnings : tuple of str
        Differences between the data and a SIM task; results repeat them.

    Raises
    ------
    InvalidInput
        For numbers that are not finite, mu not positive, sigma negative, lengths that differ,
        or dim below s.

    References
    ----------
    Sec. 2.1, and (C.7)-(C.13) for the signal.

    Examples
    --------
    >>> task = SIMTask(mu=[1, 2], sigma=["1/20", "1/20"])
    >>> task.exact_signal
    (Fraction(201, 400), Fraction(801, 400))
    >>> task.test_point
    array([1., 2.])
    """

    mu: tuple[Fraction, ...]
    sigma: tuple[Fraction, ...]
    dim: int
    signal_override: tuple[Fraction, ...] | None = None
    note: str = ""
    rotation: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    warnings: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @named
    def __init__(
        self,
        mu: Sequence[Any],
        sigma: Sequence[Any] | Any = 0,
        dim: int | None = None,
        *,
        signal_override: tuple[Fraction, ...] | None = None,
        note: str = "",
        rotation: NDArray[np.float64] | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        source = "Sec. 2.1"
        centres = numbers.vector(mu, "mu", source, sign="positive")
        scalar_array = isinstance(sigma, np.ndarray) and sigma.ndim == 0
        shared = scalar_array or isinstance(sigma, str) or not isinstance(sigma, Iterable)
        spread_values = (sigma,) if shared else sigma
        spreads = numbers.vector(spread_values, "sigma", source, sign="not negative")
        spreads = spreads * len(centres) if shared else spreads
        if len(spreads) != len(centres):
            requirement = f"must have as many values as mu, which has {len(centres)}"
            raise InvalidInput("sigma", f"{len(spreads)} values", requirement, source)
        size = numbers.whole(len(centres), "number of values of mu", 1, source, LARGEST_DIMENSION)
        if dim is not None:
            size = numbers.whole(dim, "dim", 1, source, most=LARGEST_DIMENSION)
        if size < len(centres):
            requirement = f"must be at least the number of concepts, {len(centres)}"
            raise InvalidInput("dim", size, requirement, source)
        # The fields of a frozen dataclass.
        self.__dict__.update(mu=centres, sigma=spreads, dim=size)
        self.__dict__.update(signal_override=signal_override, note=note, rotation=rotation)
        self.__dict__.update(warnings=warnings)
        named_values = (
            ("mu[{}]", centres),
            ("sigma[{}]", spreads),
            ("a[{}] = sigma^2 + mu^2/s", self.exact_signal),
            ("2 a[{}]", [2 * value for value in self.exact_signal]),
        )
        for name, values in named_values:
            for position, value in enumerate(values, 1):
                numbers.within_float(value, name.format(position), source)

    def __repr__(self) -> str:
        """Python that makes the same task again, but for the rotation of its data."""
        signal = "" if self.signal_override is None else python_list(self.signal_override)
        if signal and not self.note and self == SIMTask.from_signal(self.exact_signal):
            return f"SIMTask.from_signal({signal})"
        text = f"SIMTask({python_list(self.mu)}, {python_list(self.sigma)}"
        text += ")" if self.dim == self.s else f", {self.dim})"
        return f"{text}.with_signal({signal}, {self.note!r})" if signal else text

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Text for IPython and Hypothesis."""
        printer.text(repr(self))

    @property
    def s(self) -> int:
        """Number of concept classes."""
        return len(self.mu)

    @functools.cached_property
    def exact_signal(self) -> tuple[Fraction, ...]:
        """The signal a as exact rationals, length d, in the order of the user's concepts."""
        if self.signal_override is not None:
            return self.signal_override
        informative = tuple(
            spread**2 + centre**2 / self.s
            for centre, spread in zip(self.mu, self.sigma, strict=True)
        )
        return informative + (Fraction(0),) * (self.dim - self.s)

    @property
    def signal(self) -> NDArray[np.float64]:
        """The signal a, shape (d,): the concept signal strength per unit of eta times steps."""
        return np.array([float(value) for value in self.exact_signal])

    @property
    def test_point(self) -> NDArray[np.float64]:
        """The out-of-distribution test point: the sum of the cluster centres, shape (d,)."""
        point = np.zeros(self.dim)
        point[: self.s] = [float(centre) for centre in self.mu]
        return point

    @functools.cached_property
    def order(self) -> tuple[int, ...]:
        """Indices of the directions by descending signal; equal signals keep the user's order."""
        exact = self.exact_signal
        return tuple(sorted(range(self.dim), key=lambda place: -exact[place]))

    def test_points(self) -> dict[tuple[int, ...], NDArray[np.float64]]:
        r"""The 2^s test points :math:`\hat x^{(v)} = \sum_p v_p \mu_p \mathbf 1_p` of App. B.

        Returns
        -------
        dict
            From the index tuple v in {0, 1}^s to a point of shape (d,).

        Raises
        ------
        InvalidInput
            For more than 16 concepts.

        References
        ----------
        (B.1).

        Examples
        --------
        >>> points = SIMTask([1, 2]).test_points()
        >>> points[0, 1], len(points)
        (array([0., 2.]), 4)
        """
        if self.s > _MOST_TEST_POINT_CONCEPTS:
            requirement = f"must be at most {_MOST_TEST_POINT_CONCEPTS} for test_points"
            raise InvalidInput("the number of concepts", self.s, requirement, "(B.1)")
        full = self.test_point
        points = {}
        for index in itertools.product((0, 1), repeat=self.s):
            mask = np.zeros(self.dim)
            mask[: self.s] = index
            points[index] = mask * full
        return points

    @named
    def sample(
        self,
        n_per_class: int,
        rng: np.random.Generator | int | None = None,
        center_cluster: bool = False,
        rotation: ArrayLike | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Training points of the task.

        Parameters
        ----------
        n_per_class : int
            Points per cluster.
        rng : numpy Generator, seed or None
            Source of randomness (SPEC 7).
        center_cluster : bool
            Add the optional cluster centred at the origin (Sec. 2.1), with label -1. The second
            moment of such data is ``sigma^2 + mu^2/(s + 1)``, not :attr:`signal`.
        rotation : array of shape (d, d), optional
            Orthogonal; column p is the direction given to axis p. Default: the task's own.

        Returns
        -------
        points : ndarray of shape (N, d)
        labels : ndarray of shape (N,)
            Cluster numbers 0 to s - 1, and -1 for the centre cluster.

        Raises
        ------
        InvalidInput
            If n_per_class is not a positive whole number or rotation is not orthogonal.

        Examples
        --------
        >>> points, labels = SIMTask([1, 2], [0, 0]).sample(1, rng=0)
        >>> points.tolist(), labels.tolist()
        ([[1.0, 0.0], [0.0, 2.0]], [0, 1])
        """
        count = numbers.whole(n_per_class, "n_per_class", 1, "Sec. 2.1")
        generator = numbers.random_source(rng)
        classes = [*range(self.s), *([-1] if center_cluster else [])]
        labels = np.repeat(np.array(classes, dtype=np.int64), count)
        spread = np.zeros(self.dim)
        spread[: self.s] = [float(value) for value in self.sigma]
        # Adding 0.0 turns the -0.0 of a zero spread into 0.0.
        points = generator.standard_normal((labels.size, self.dim)) * spread + 0.0
        informative = labels >= 0
        points[informative, labels[informative]] += self.test_point[labels[informative]]
        turn = self.rotation if rotation is None else orthogonal(rotation, self.dim)
        return (points if turn is None else points @ turn.T), labels

    def with_signal(self, signal: Sequence[Any], note: str) -> SIMTask:
        """The same geometry with another signal.

        The public code of the authors runs its theory figures with the squares of a; such
        variants keep their test point and say in `note` where the signal comes from.

        Parameters
        ----------
        signal : sequence of d numbers
            At least 0.
        note : str
            Where it comes from.

        Returns
        -------
        SIMTask
        """
        values = numbers.vector(signal, "signal", "Sec. 4")
        if len(values) != self.dim:
            raise InvalidInput("signal", f"{len(values)} values", f"must have {self.dim} values")
        numbers.vector(values, "signal", "Sec. 4", sign="not negative")
        if not any(values):
            raise InvalidInput("signal", "all zeros", "must have a positive entry", "Sec. 4")
        return replace(self, signal_override=values, note=note)

    @classmethod
    @named
    def from_signal(cls, a: Sequence[Any]) -> SIMTask:
        r"""A task given by its signal alone: :math:`\mu_p = \sqrt{s a_p}`, sigma = 0.

        Parameters
        ----------
        a : sequence of numbers
            Positive; zeros are allowed at the end and are free directions (p > s).

        Returns
        -------
        SIMTask
            Its :attr:`exact_signal` is `a` exactly, while mu is rounded to floats.

        Raises
        ------
        InvalidInput
            If a is empty, negative, has no positive entry, or a zero before a positive entry.

        Examples
        --------
        >>> SIMTask.from_signal([4, 1]).signal
        array([4., 1.])
        """
        values = numbers.vector(a, "a", "Sec. 4", sign="not negative")
        s = sum(value > 0 for value in values)
        if not s or not all(values[:s]):
            requirement = "have its zeros (free directions) last" if s else "have a positive entry"
            raise InvalidInput("a", list(map(str, values)), f"must {requirement}", "Sec. 4")
        mu = [
            math.sqrt(numbers.within_float(s * value, f"s a[{position}]", "Sec. 4"))
            for position, value in enumerate(values[:s], 1)
        ]
        return cls(mu, [0] * s, len(values), signal_override=values)

    @classmethod
    @named
    def from_samples(cls, X: ArrayLike, labels: ArrayLike) -> SIMTask:
        """The task estimated from a data set.

        The direction of concept p is the class mean of label p, made orthonormal by the polar
        decomposition (the orthonormal frame nearest to the unit means); mu is the mean along
        it, sigma the pooled within-class standard deviation along it.

        Parameters
        ----------
        X : array of shape (N, d)
        labels : array of shape (N,)
            Whole numbers. Class -1 is the centre cluster: it counts for sigma only. The other
            labels, in ascending order, become concepts 1 to s.

        Returns
        -------
        SIMTask
            With :attr:`rotation` set to the frame found, completed to d directions.

        Raises
        ------
        InvalidInput
            For shapes that do not match, more classes than dimensions, a class with fewer than
            two points, points less their own mean (clusters lie at mu_p e_p from the origin), or
            class means that do not span s directions beyond their noise.

        Warns
        -----
        SwingbyWarning
            If the data differ from a SIM task by more than sampling noise, and by enough to matter:
            class means that are not orthogonal, or as if all points were shifted; spread that is
            correlated, or in a direction without a concept; classes of unequal size. The second
            moment of the data then differs from that of the task, and so do the times at which
            concepts are learned.
        """
        clusters = read_clusters(X, labels)
        doubts = clusters.doubts()
        for doubt in doubts:
            warnings.warn(doubt, SwingbyWarning, stacklevel=3)
        centres, spreads, frame = clusters.centres, clusters.spreads, clusters.rotation
        dim = len(frame)
        return cls(centres.tolist(), spreads.tolist(), dim, rotation=frame, warnings=doubts)


def orthogonal(rotation: ArrayLike, dim: int) -> NDArray[np.float64]:
    """A rotation as an array: of this shape, with orthonormal columns."""
    turn = numbers.real_array(rotation, "rotation")
    if turn.shape != (dim, dim):
        raise InvalidInput("rotation", f"shape {turn.shape}", f"must have shape ({dim}, {dim})")
    if np.abs(turn.T @ turn - np.eye(dim)).max() > 1e-8:
        raise InvalidInput("rotation", "this matrix", "must be orthogonal")
    return turn


def task_to_plain(task: SIMTask) -> dict[str, Any]:
    """A task as plain values that JSON can hold, but for the rotation of its data."""
    override = task.signal_override
    return {
        "mu": [str(value) for value in task.mu],
        "sigma": [str(value) for value in task.sigma],
        "dim": task.dim,
        "signal": None if override is None else [str(value) for value in override],
        "note": task.note,
    }


def task_from_plain(
    plain: Mapping[str, Any], rotation: NDArray[np.float64] | None = None
) -> SIMTask:
    """The task that :func:`task_to_plain` wrote; KeyError or InvalidInput where it is broken."""
    task = SIMTask(plain["mu"], plain["sigma"], plain["dim"], rotation=rotation)
    if plain["signal"] is None:
        return task
    # Quotients may be longer than those that a user may write.
    signal = [
        Fraction(value) if "/" in str(value) and len(value) > 400 else value
        for value in plain["signal"]
    ]
    return task.with_signal(signal, str(plain["note"]))


def as_task(task: SIMTask | Sequence[Any]) -> SIMTask:
    """The task itself, or the task of a signal a, which every function takes in its place."""
    if isinstance(task, SIMTask):
        return task
    nested = np.ndim(task) > 1 if isinstance(task, (list, tuple, np.ndarray)) else False
    if nested or isinstance(task, (str, bytes, dict, set)) or not hasattr(task, "__len__"):
        needed = "must be a SIMTask, or its signal a as a sequence of numbers"
        needed += "; a result has it as .task" if hasattr(task, "task") else ": [4, 1]"
        raise InvalidInput("task", task, needed, "Sec. 2.1")
    return SIMTask.from_signal(task)
