"""Pieces of a recorded trajectory, and the maps whose steps they are."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from swingby.simulate.steps import steps_of_many
from swingby.theory.growth import DYNAMICS
from swingby.theory.numbers import Floats, Integers

#: A piece ends once W has moved by this share of itself, or after so much of 1/(eta a_max).
MOVED, _REACH = 0.2, 0.5
#: Pieces compared, and the steps of the longest.
_PIECES, LONGEST = 64, 4000
#: Squared misfit below which a trajectory moves as a map does: a table of five digits does.
EXACT = 1e-8
#: Concepts whose rates are fitted by the map; beyond, by its slope.
_MOST_FITTED = 8
#: Paces looked for exactly: eta itself, that of a rate lr given as eta, and the reverse.
_PACES = (1.0, 2.0, 0.5)
#: Steps that may lie between two rows, and the share of a step that is no whole number of them.
_MOST_BETWEEN, _NOT_WHOLE = 5000, 0.05
#: A search for the nearest ends at so many times its count, and not below the cube of this.
_PATIENCE = 5


class Pieces(NamedTuple):
    """W (m, d, d) at starts of pieces, its change to their ends, their steps (m,)."""

    start: Floats
    change: Floats
    counts: Integers

    @property
    def size(self) -> Floats:
        """The largest entries at the starts, (m, 1, 1)."""
        return np.asarray(np.abs(self.start).max(axis=(1, 2), keepdims=True))

    def residual(self, rates: Floats, dynamics: str) -> Floats:
        """Change that the map with these rates leaves unexplained, relative to W, (m, d, d)."""
        moved = steps_of_many(self.start, rates, dynamics, self.counts) - self.start
        rest = (self.change - moved) / self.size
        return np.nan_to_num(rest, nan=1e6, posinf=1e6, neginf=-1e6).clip(-1e6, 1e6)

    def misfit(self, rates: Floats, dynamics: str) -> float:
        """The unexplained share of the squared change: 0 for the map itself, 1 for none."""
        total = float(np.square(self.change / self.size).sum())
        rest = float(np.square(self.residual(rates, dynamics)).sum())
        return rest / total if total else math.inf

    def forwards(self, rates: Floats, dynamics: str) -> float:
        """The share of the pieces whose change has a part along that of the map."""
        moved = self.change / self.size - self.residual(rates, dynamics)
        return float(((moved * self.change).sum(axis=(1, 2)) > 0).mean())

    def farther(self, rates: Floats, dynamics: str) -> float:
        """How many times as far as the map W moves in a typical piece."""
        change = self.change / self.size
        moved = change - self.residual(rates, dynamics)
        lengths = [np.square(each).sum(axis=(1, 2)) for each in (change, moved)]
        return math.sqrt(np.median(lengths[0] / np.maximum(lengths[1], 1e-300)))

    def closer(self, other: Floats, rates: Floats, dynamics: str) -> float:
        """The share of the pieces that other rates explain better."""
        squares = [
            np.square(self.residual(each, dynamics)).sum(axis=(1, 2)) for each in (other, rates)
        ]
        return float((squares[0] < squares[1]).mean())


def pieces_of(W: Floats, steps: Integers, rates: Floats) -> Pieces:
    """Pieces of a trajectory one after the other: those in which W moves most."""
    longest = int(min(max(1.0, _REACH / rates.max()), LONGEST))
    starts, ends, at = [], [], 0
    while at + 1 < len(W):
        last = max(int(np.searchsorted(steps, steps[at] + longest, side="right")) - 1, at + 1)
        change = np.abs(W[at + 1 : last + 1] - W[at]).max(axis=(1, 2))
        far = np.flatnonzero(change >= MOVED * np.abs(W[at]).max())
        end = at + 1 + int(far[0]) if len(far) else last
        if steps[end] - steps[at] <= LONGEST and W[at].any():
            starts.append(at)
            ends.append(end)
        at = end
    first, final = np.array(starts, np.int64), np.array(ends, np.int64)
    moved = np.abs(W[final] - W[first]).max(axis=(1, 2), initial=0.0)
    moved /= np.abs(W[first]).max(axis=(1, 2), initial=0.0)
    most = np.sort(np.argsort(-moved)[:_PIECES])
    first, final = first[most], final[most]
    return Pieces(W[first], W[final] - W[first], steps[final] - steps[first])


def fit(pieces: Pieces, dynamics: str) -> Floats:
    """The rates with which a dynamics moves most like the pieces."""
    from scipy.optimize import least_squares

    d = pieces.start.shape[-1]
    columns = []
    for unit in np.eye(d):
        # The slope is linear in the rates: its mean over both ends of a piece starts the search.
        slopes = [
            unit[:, None] * W + W * unit - _symmetric_part(W * unit @ W + unit[:, None] * (W @ W))
            for W in (pieces.start, pieces.start + pieces.change)
        ]
        columns.append((slopes[0] + slopes[1]) / 2 * pieces.counts[:, None, None] / pieces.size)
    table = np.stack(columns, axis=-1).reshape(-1, d)
    target = (pieces.change / pieces.size).ravel()
    guess = np.linalg.lstsq(table, target, rcond=1e-10)[0]
    if d > _MOST_FITTED:
        return np.asarray(guess)

    def unexplained(rates: Floats) -> Floats:
        return pieces.residual(rates, dynamics).ravel()

    scale = float(np.abs(guess).max()) or 1.0
    done = least_squares(unexplained, guess, x_scale=scale, max_nfev=20)
    return np.asarray(done.x)


def _symmetric_part(M: Floats) -> Floats:
    return (M + M.swapaxes(-1, -2)) / 2


class Spacing(NamedTuple):
    """A map of which every piece is a whole number of steps.

    `pace`: its eta over that stated; `stride`: its steps in one of the pieces' own, 0 if it varies.
    """

    dynamics: str
    pace: float
    stride: int
    misfit: float


def steps_between(
    start: Floats, end: Floats, rates: Floats, dynamics: str
) -> tuple[Integers, Floats]:
    """Steps (m,) after which the map from each start is nearest to its end, and how far it is.

    The distance is squared, relative to the change (m,).
    """
    total = np.square(end - start).sum(axis=(1, 2))
    total = np.where(total > 0, total, 1.0)
    X, counts = start, np.zeros(len(start), np.int64)
    nearest = np.where((end == start).all(axis=(1, 2)), 0.0, np.inf)
    for count in range(1, _MOST_BETWEEN + 1):
        X = steps_of_many(X, rates, dynamics, np.ones(len(X), np.int64))
        with np.errstate(all="ignore"):
            off = np.square(X - end).sum(axis=(1, 2)) / total
        nearer = off < nearest
        counts[nearer], nearest[nearer] = count, off[nearer]
        # Past an exact hit, or long past the nearest, nothing nearer comes.
        ended = count > _PATIENCE * (counts + _PATIENCE**2)
        if (((nearest < EXACT) & ~nearer) | ended).all():
            break
    return counts, nearest


def spacings(pieces: Pieces, rates: Floats, dynamics: str) -> list[Spacing]:
    """Maps whose steps the pieces are but for rounding, the plainest first."""
    names = [dynamics, *(name for name in DYNAMICS if name != dynamics)]
    tried = [
        _spacing(pieces, pace, rates, name)
        for name in names
        # The flow has no step of its own.
        for pace in (_PACES if name != "flow" else _PACES[:1])
    ]
    return sorted(filter(None, tried), key=lambda spacing: not spacing.stride)


def _spacing(pieces: Pieces, pace: float, rates: Floats, dynamics: str) -> Spacing | None:
    ends, rates = pieces.start + pieces.change, pace * rates
    (count,), (off,) = steps_between(pieces.start[:1], ends[:1], rates, dynamics)
    if off >= EXACT:
        return None
    stride, rest = divmod(int(count), int(pieces.counts[0]))
    if not rest:
        misfit = pieces._replace(counts=stride * pieces.counts).misfit(rates, dynamics)
        if misfit < EXACT:
            return Spacing(dynamics, pace, stride, misfit)
    counts, apart = steps_between(pieces.start, ends, rates, dynamics)
    if len(set(counts / pieces.counts)) < 2 or not counts.all():
        return None
    whole = (apart < EXACT) & (apart * np.square(counts) < _NOT_WHOLE**2)
    return Spacing(dynamics, pace, 0, float(apart.max())) if whole.all() else None
