"""Clusters of labelled points: distances, spreads, directions, and whether they are a SIM task.

Gradient descent feels the data by their second moment alone. In a SIM task it is diagonal in the
directions of the concepts, with the signal on its diagonal. Each doubt is one reason why that of
the data is not, beyond the noise of a sample: a t-test with the variance of the points themselves,
and by enough to move a learning time by some per cent.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.theory.numbers import Floats, Integers

#: Probability that a doubt arises in points of a SIM task, all tests of one kind together.
_FALSE_ALARM = 1e-4
#: A part of the second moment below this share of the signals does not matter.
_MATTERS = 0.02
#: Fewer points of a class say nothing about its own spread.
_OWN_SPREAD = 30
#: Class means closer than this angle may be those of one cluster or line, within so much of noise.
_NARROW, _WITHIN_NOISE = math.pi / 6, 2.5
#: Points whose mean is below this share of their size had it subtracted: no task has it at 0.
_CENTRED = 1e-6
#: What to do about an origin that is elsewhere.
_ORIGIN = "subtract the point that stands for a zero input, not the mean of the data"


@dataclass(frozen=True, eq=False)
class Clusters:
    """Points (N, d) by class: see :meth:`swingby.SIMTask.from_samples`.

    means: (d, s), those of the concepts; rotation: (d, d), its first s columns are the directions.
    """

    points: Floats
    marks: Integers
    classes: tuple[int, ...]
    means: Floats
    rotation: Floats

    @property
    def frame(self) -> Floats:
        """The directions of the concepts, (d, s)."""
        return self.rotation[:, : len(self.classes)]

    @property
    def centres(self) -> Floats:
        """The mean of each concept along its direction, (s,)."""
        return np.asarray(np.einsum("dp,dp->p", self.frame, self.means))

    @property
    def spreads(self) -> Floats:
        """The pooled standard deviation within classes along each direction, (s,)."""
        along = self.centred @ self.frame
        return np.asarray(np.sqrt(np.square(along).sum(axis=0) / self.freedom))

    @functools.cached_property
    def centred(self) -> Floats:
        """The points, each less the mean of its class."""
        centred = self.points.copy()
        for mark in np.unique(self.marks):
            centred[self.marks == mark] -= self.points[self.marks == mark].mean(axis=0)
        return centred

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the pooled spread."""
        return len(self.points) - len(np.unique(self.marks))

    @functools.cached_property
    def distinct(self) -> float:
        """The share of the points that are no copies of others: copies carry no information."""
        return len(np.unique(self.points, axis=0)) / len(self.points)

    @property
    def signal(self) -> Floats:
        """The signal of the task, (s,)."""
        return np.asarray(self.spreads**2 + self.centres**2 / len(self.classes))

    def bound(self, tests: int) -> float:
        """The size of t that noise passes with the probability of a false alarm."""
        from scipy.stats import t

        freedom = max(1.0, self.freedom * self.distinct)
        return float(t.isf(_FALSE_ALARM / 2 / max(tests, 1), freedom))

    def error(self, direction: Floats, index: int) -> float:
        """The standard error of the mean of a concept along a direction (d,)."""
        own = self.marks == self.classes[index]
        along = self.centred @ direction
        if own.sum() * self.distinct >= _OWN_SPREAD:
            variance = float(np.square(along[own]).sum() / (own.sum() - 1))
        else:
            variance = float(np.square(along).sum() / self.freedom)
        return math.sqrt(variance / (own.sum() * self.distinct))

    def cosine(self, p: int, q: int) -> tuple[float, float]:
        """The cosine between the means of two concepts, and its standard error."""
        lengths = np.linalg.norm(self.means, axis=0)
        u, v = self.means[:, p] / lengths[p], self.means[:, q] / lengths[q]
        cosine = float(u @ v)
        errors = (
            self.error(v - cosine * u, p) / lengths[p],
            self.error(u - cosine * v, q) / lengths[q],
        )
        return cosine, math.hypot(*errors)

    def tilt(self, p: int, q: int) -> float:
        """The standard error of the angle by which the frame is turned from p to q."""
        axes, lengths = self.rotation, np.linalg.norm(self.means, axis=0)
        turn = self.error(axes[:, q], p) / float(lengths[p])
        if q >= len(self.classes):
            return turn
        return math.hypot(turn, self.error(axes[:, p], q) / lengths[q]) / 2

    def noise(self, *indices: int) -> float:
        """The typical length of the noise in a mean, or in the difference of two."""
        trace = float(np.square(self.centred).sum()) / self.freedom
        counts = [float((self.marks == self.classes[p]).sum() * self.distinct) for p in indices]
        return math.sqrt(trace * math.fsum(1 / count for count in counts))

    def require_directions(self) -> None:
        """Refuse two labels of one cluster, and clusters on one line through the origin."""
        lengths = np.linalg.norm(self.means, axis=0)
        for p, q in itertools.combinations(range(len(self.classes)), 2):
            cosine, _ = self.cosine(p, q)
            angle = math.acos(min(1.0, abs(cosine)))
            if angle > _NARROW:
                continue
            names = f"labels {self.classes[p]} and {self.classes[q]}"
            apart, noise = (
                float(np.linalg.norm(self.means[:, p] - self.means[:, q])),
                self.noise(p, q),
            )
            if apart <= _WITHIN_NOISE * noise and apart < lengths[[p, q]].min() / 2:
                got = f"{names} with means {apart:.2g} apart, by noise {noise:.2g}"
                raise InvalidInput("labels", got, "must name different clusters: join the two")
            if angle <= min(_NARROW / 2, _WITHIN_NOISE * self.noise(p, q) / lengths[[p, q]].min()):
                turn = math.degrees(math.acos(max(-1.0, min(1.0, cosine))))
                got = f"{names} at {turn:.1f} degrees"
                requirement = "must have class means in different directions"
                if cosine < 0:
                    requirement += f", seen from the origin; if it is not at 0, {_ORIGIN}"
                raise InvalidInput("X", got, requirement)

    def require_origin(self) -> None:
        """Refuse points less their mean: clusters of a task lie at mu_p e_p from the origin."""
        size = math.sqrt(float(np.square(self.points).sum(axis=1).mean()))
        if np.linalg.norm(self.points.mean(axis=0)) > _CENTRED * size:
            return
        requirement = "must have clusters at mu_p e_p from the origin, so their mean is not 0"
        raise InvalidInput(
            "X",
            "points with mean 0",
            f"{requirement}: from the data as they were {_ORIGIN}; if it is not known,"
            " give SIMTask(mu, sigma)",
        )

    def doubts(self) -> tuple[str, ...]:
        """What speaks against a SIM task, with numbers."""
        doubts = self._angles()
        # Of directions that are no axes of the data, spread says nothing.
        doubts = doubts or [*self._correlations(), *self._free_spread()]
        doubts += [*self.near_origin(), *self._sizes()]
        if not doubts:
            return ()
        doubts[-1] += f" ({self._difference()})"
        return tuple(doubts)

    def _difference(self) -> str:
        """By how much the second moment of the points is not that of the task."""
        along, s = self.points @ self.rotation, len(self.classes)
        difference = along.T @ along / len(along)
        difference[range(s), range(s)] -= self.signal
        p, q = sorted(np.unravel_index(np.abs(difference).argmax(), difference.shape))
        share = abs(difference[p, q]) / self.signal.min()
        where = f"concepts {p + 1} and {q + 1}" if p < q < s else f"concept {p + 1}"
        if q >= s:
            where = "a direction of no concept" if p >= s else f"{where} and one of no concept"
        signal = ", ".join(f"{value:.3g}" for value in self.signal)
        return (
            f"signal {signal}; the second moment of the points differs from it by up to "
            f"{difference[p, q]:.3g}, {share:.2g} of the least signal, along {where}: "
            "swingby.predict_network([W1, W2], X=X, Y=X, lr=...) uses the points themselves"
        )

    def _angles(self) -> list[str]:
        pairs = list(itertools.combinations(range(len(self.classes)), 2))
        bound, lengths = self.bound(len(pairs)), np.linalg.norm(self.means, axis=0)
        texts, worst = [], 0.0
        for p, q in pairs:
            cosine, error = self.cosine(p, q)
            weight = lengths[p] * lengths[q] / len(self.classes)
            matters = abs(cosine) * weight > _MATTERS * math.sqrt(self.signal[p] * self.signal[q])
            if abs(cosine) > bound * error + 1e-9 and matters:
                degrees, spread = math.degrees(math.acos(cosine)), math.degrees(error)
                names = f"{self.classes[p]} and {self.classes[q]}"
                texts.append((abs(cosine), f"{names} {degrees:.1f} +- {spread:.2f} degrees"))
                worst = max(worst, abs(cosine))
        if not texts:
            return []
        texts.sort(reverse=True)
        more = f" and {len(texts) - 3} more pairs" if len(texts) > 3 else ""
        listed = ", ".join(text for _, text in texts[:3])
        return [f"class means are not orthogonal: labels {listed}{more}{self._shift(worst)}"]

    def _shift(self, worst: float) -> str:
        """That one shift of all points explains angles, where it does."""
        from scipy.optimize import least_squares

        s = len(self.classes)
        rows, columns = np.triu_indices(s, 1)

        def products(shift: Floats) -> Floats:
            moved = self.means - shift[:, None]
            return np.asarray((moved.T @ moved)[rows, columns])

        # Small shifts first: far from the means others solve the same equations.
        shift = least_squares(products, np.zeros(len(self.means)), max_nfev=50).x
        moved = self.means - shift[:, None]
        lengths = np.linalg.norm(moved, axis=0)
        left = np.abs(products(shift) / (lengths[rows] * lengths[columns])).max()
        size = float(np.linalg.norm(shift))
        if left > worst / 10 or size > np.linalg.norm(self.means, axis=0).min():
            return ""
        entries = ", ".join(f"{entry:.3g}" for entry in np.round(shift / size, 3)[:6] * size + 0.0)
        entries += ", ..." if len(shift) > 6 else ""
        return (
            f"; a shift of all points, such as by ({entries}), explains it: {_ORIGIN}, or, if it is"
            " not known, this shift"
        )

    def _correlations(self) -> list[str]:
        s, along = len(self.classes), self.centred @ self.rotation
        pairs = [(p, q) for p in range(s) for q in range(p + 1, along.shape[1])]
        bound, texts = self.bound(len(pairs)), []
        for p, q in pairs:
            product = along[:, p] * along[:, q]
            moment = float(product.sum() / self.freedom)
            error = float(product.std() / math.sqrt(len(product) * self.distinct))
            squares = np.square(along[:, [p, q]]).sum(axis=0) / self.freedom
            error = math.hypot(error, self.tilt(p, q) * abs(squares[0] - squares[1]))
            other = self.signal[q] if q < s else self.signal[p]
            if abs(moment) > bound * error and abs(moment) > _MATTERS * math.sqrt(
                self.signal[p] * other
            ):
                sizes = math.sqrt(np.square(along[:, p]).mean() * np.square(along[:, q]).mean())
                name = f"concept {q + 1}" if q < s else "a direction of no concept"
                text = f"concepts {p + 1} and {q + 1}" if q < s else f"concept {p + 1} and {name}"
                texts.append((abs(moment), f"{text} {float(product.mean()) / sizes:.2f}"))
        if not texts:
            return []
        texts.sort(reverse=True)
        listed = ", ".join(text for _, text in texts[:3])
        more = f" and {len(texts) - 3} more pairs" if len(texts) > 3 else ""
        return [f"points within a class are correlated: {listed}{more}; a task has no correlation"]

    def _free_spread(self) -> list[str]:
        free = self.centred @ self.rotation[:, len(self.classes) :]
        if not free.size:
            return []
        largest = float(np.linalg.eigvalsh(free.T @ free / self.freedom)[-1])
        if largest <= _MATTERS * self.signal.min():
            return []
        size = math.sqrt(largest)
        return [
            f"points spread by {size:.2g} in directions without a concept; those of a task do not"
        ]

    def near_origin(self) -> list[str]:
        """Labels whose points surround the origin, as far as this sample says."""
        texts = []
        for p, mark in enumerate(self.classes):
            length, noise = float(np.linalg.norm(self.means[:, p])), self.noise(p)
            if length <= 2 * noise and (self.marks == mark).sum() >= _OWN_SPREAD:
                text = f"the mean of label {mark} is {length:.2g} from the origin, by noise "
                texts.append(f"{text}{noise:.2g}: label points around the origin -1")
        return texts

    def _sizes(self) -> list[str]:
        from scipy.stats import chi2

        s = len(self.classes)
        counts = np.array([(self.marks == mark).sum() for mark in self.classes])
        expected = counts.sum() / s
        statistic = float(np.square(counts - expected).sum() / expected)
        moved = np.abs(counts / expected - 1) * np.square(self.centres) / s / self.signal
        if s == 1 or statistic < chi2.isf(_FALSE_ALARM, s - 1) or moved.max() < _MATTERS:
            return []
        listed = ", ".join(map(str, counts[:6])) + (", ..." if s > 6 else "")
        return [f"classes have {listed} points; a task has as many in each"]


def read_clusters(X: ArrayLike, labels: ArrayLike) -> Clusters:
    """Clusters of points X (N, d) with labels (N,), checked."""
    points = numbers.real_array(X, "X")
    marks = np.asarray(labels)
    if points.ndim != 2:
        raise InvalidInput("X", f"an array of shape {points.shape}", "must have shape (N, d)")
    if marks.shape != points.shape[:1]:
        raise InvalidInput(
            "labels",
            f"shape {marks.shape}",
            f"must have shape ({points.shape[0]},)"
            + (": give labels.argmax(axis=1)" if marks.ndim == 2 else ""),
        )
    if marks.dtype.kind not in "iu":
        whole = "give numpy.unique(labels, return_inverse=True)[1]"
        raise InvalidInput(
            "labels", f"an array of {marks.dtype}", f"must be whole numbers: {whole}"
        )
    classes = [mark for mark in np.unique(marks) if mark != -1]
    dim = points.shape[1]
    if not 0 < len(classes) <= dim:
        raise InvalidInput(
            "labels", f"{len(classes)} classes", f"must name between 1 and d = {dim} classes"
        )
    for mark in np.unique(marks):
        if (marks == mark).sum() < 2:
            got = f"1 with label {mark}"
            raise InvalidInput("labels", got, "must have at least two points in each class")
    means = np.stack([points[marks == mark].mean(axis=0) for mark in classes], axis=1)
    lengths = np.linalg.norm(means, axis=0)
    if not (lengths > 0).all():
        raise InvalidInput("X", "a class mean at 0", "must have class means that are not 0")
    names = tuple(map(int, classes))
    clusters = Clusters(points, marks, names, means, np.eye(dim))
    clusters.require_origin()
    clusters.require_directions()
    if np.linalg.matrix_rank(means / lengths) < len(classes):
        reason = "".join(f": {text}" for text in clusters.near_origin()[:1])
        requirement = f"must span one direction per class{reason}"
        raise InvalidInput("X", "dependent class means", requirement)
    left_vectors, _, right_vectors = np.linalg.svd(means / lengths, full_matrices=True)
    frame = left_vectors[:, : len(classes)] @ right_vectors
    rotation = np.concatenate([frame, left_vectors[:, len(classes) :]], axis=1)
    return Clusters(points, marks, names, means, rotation)
