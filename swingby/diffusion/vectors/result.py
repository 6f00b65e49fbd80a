"""Trained denoisers of vectors: their conditional maps at every step."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.diffusion.vectors.setting import SCHEDULE, VectorSetting
from swingby.errors import InvalidInput
from swingby.report import Drawn, Grid
from swingby.simulate.outcome import descents, turning_points
from swingby.theory import numbers
from swingby.training.result import storable

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Smallest turn of the test loss that counts, as a part of its start.
TURN = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class VectorRun(Drawn, numbers.ReadOnly):
    """Runs of settings of one kind. Made by :func:`swingby.diffusion.vectors.train_vectors`.

    Parameters
    ----------
    settings : tuple of r VectorSetting
    weights : tuple of ndarray of shape (r, steps + 1, ...)
        Every layer before the first step and after each.
    diffusion : ndarray of shape (r, steps)
        Diffusion loss of every batch, in nats per point.
    """

    settings: tuple[VectorSetting, ...]
    weights: tuple[Floats, ...]
    diffusion: Floats

    def __len__(self) -> int:
        return len(self.settings)

    def __repr__(self) -> str:
        return f"<VectorRun of {len(self)}, {self.settings[0].steps} steps>"

    def to_grid(self) -> Grid:
        """A table of half-times, descents and losses."""
        return run_grid(self)

    @property
    def index(self) -> tuple[tuple[int, ...], ...]:
        """The 2^s test points as places in {0, 1}^s; the last is the test point of Sec. 2.1."""
        return tuple(itertools.product((0, 1), repeat=self.settings[0].task.s))

    @property
    def points(self) -> Floats:
        """The test points, shape (r, 2^s, s)."""
        corners = np.array(self.index, dtype=np.float64)
        return np.stack([corners * one.task.test_point for one in self.settings])

    @functools.cached_property
    def product(self) -> Floats:
        """The matrix of a linear denoiser, shape (r, steps + 1, s, inputs)."""
        kind = self.settings[0].denoiser
        if kind == "mlp":
            raise InvalidInput("product", "an MLP", "must be of a linear denoiser")
        if kind == "linear":
            return self.weights[0]
        if kind == "symmetric":
            return self.weights[0] @ self.weights[0].swapaxes(-1, -2)
        return self.weights[1] @ self.weights[0]

    @functools.cached_property
    def jacobian(self) -> Floats:
        """Derivative of the conditional map at the test point, shape (r, steps + 1, s, s).

        W where the condition alone is read; where both are, the mean of samples of
        ``sample_steps`` steps as a matrix on the condition.
        """
        first = self.settings[0]
        with np.errstate(over="ignore", invalid="ignore"):
            if first.denoiser == "mlp":
                slope = self._slope()
                return np.asarray(self.weights[1] @ (slope[..., None] * self.weights[0]))
            if first.reads == "condition":
                return self.product
            s = first.task.s
            W, P = self.product[..., :s], self.product[..., s:]
            return SCHEDULE.sampled_map(W, P, first.sample_steps)

    def _slope(self) -> Floats:
        """Derivative of the activation at the test point, shape (r, steps + 1, h)."""
        from scipy.special import ndtr

        inside = np.einsum("rnhs,rs->rnh", self.weights[0], self.points[:, -1])
        if self.settings[0].activation == "relu":
            return np.asarray((inside > 0).astype(np.float64))
        density = np.exp(-(inside**2) / 2) / np.sqrt(2 * np.pi)
        return np.asarray(ndtr(inside) + inside * density)

    @functools.cached_property
    def output(self) -> Floats:
        """The conditional map at every test point, shape (r, steps + 1, 2^s, s)."""
        if self.settings[0].denoiser != "mlp":
            with np.errstate(over="ignore", invalid="ignore"):
                return np.einsum("rnij,rpj->rnpi", self.jacobian, self.points)
        from scipy.special import ndtr

        inside = np.einsum("rnhs,rps->rnph", self.weights[0], self.points)
        relu = self.settings[0].activation == "relu"
        hidden = np.maximum(inside, 0) if relu else inside * ndtr(inside)
        return np.einsum("rnsh,rnph->rnps", self.weights[1], hidden)

    @functools.cached_property
    def test_loss(self) -> Floats:
        """Half the squared distance of output and test point at the last, (r, steps + 1)."""
        rest = self.output[:, :, -1] - self.points[:, None, -1]
        return np.asarray(0.5 * (rest**2).sum(-1))

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Whether the weights of each run away, shape (r,)."""
        large = [np.abs(one).max(axis=(1, 2, 3)) for one in self.weights]
        return np.array([not (one < 1e6).all() for one in np.stack(large, 1)])

    @functools.cached_property
    def half_times(self) -> Floats:
        """First step at which the diagonal of the Jacobian is at least 1/2, nan for never."""
        return first_half(np.diagonal(self.jacobian, axis1=2, axis2=3))

    @functools.cached_property
    def output_half_times(self) -> Floats:
        """The same for the output at the test point, in parts of mu; both of shape (r, s)."""
        return first_half(self.output[:, :, -1] / self.points[:, None, -1])

    def order(self) -> NDArray[np.int64]:
        """Concepts as they are learned, from 0, shape (r, s); -1 where never."""
        found = np.argsort(self.half_times, axis=1, kind="stable")
        times = np.take_along_axis(self.half_times, found, axis=1)
        return np.where(np.isnan(times), -1, found)

    def descents(self, least: float = TURN) -> NDArray[np.int64]:
        """How often the test loss of each fell by a part of its start; -1 where it ran away."""
        part = numbers.within_float(numbers.positive(least, "least"), "least")
        found = [
            -1 if ran else falls(loss, part)
            for loss, ran in zip(self.test_loss, self.diverged, strict=True)
        ]
        return np.array(found, dtype=np.int64)

    def sampled(self, step: int, n: int = 1000, *, seed: int = 0, steps: int | None = None) -> Any:
        """Samples of every run after some step of training, at every test point as condition."""
        from swingby.diffusion.vectors.train import sampled

        return sampled(self, step, n, seed, steps)

    def to_frame(self) -> pd.DataFrame:
        """One row per run and concept."""
        import pandas as pd

        return pd.DataFrame(list(run_rows(self)))

    def to_dict(self) -> dict[str, Any]:
        """The rows of :meth:`to_frame` as JSON can hold them."""
        return {"rows": [storable(row) for row in run_rows(self)]}


def first_half(share: Floats) -> Floats:
    """First step at which each share is at least 1/2; nan where it never is.

    Examples
    --------
    >>> first_half(np.array([[[0.1, 0], [0.6, 0], [0.4, 0]]])).tolist()
    [[1.0, nan]]
    """
    with np.errstate(invalid="ignore"):
        reached = share >= 0.5
    return np.where(reached.any(axis=1), reached.argmax(axis=1).astype(np.float64), np.nan)


def falls(loss: Floats, part: float = TURN) -> int:
    """How often a curve fell by a part of its start."""
    swing = part * float(loss[0])
    return descents(turning_points(loss, swing), swing)


#: Rows of the table before the rest is summed up.
_MOST_ROWS = 24


def run_grid(run: VectorRun) -> Grid:
    """A table of half-times, descents and losses."""
    first = run.settings[0]
    order, descents = run.order(), run.descents()
    rows = []
    for k in range(min(len(run), _MOST_ROWS)):
        times = " ".join("never" if math.isnan(one) else f"{one:.0f}" for one in run.half_times[k])
        rows.append(
            [
                str(k),
                str(run.settings[k].seed),
                " ".join("-" if one < 0 else str(one + 1) for one in order[k]),
                times,
                "ran away" if descents[k] < 0 else str(descents[k]),
                f"{run.test_loss[k, -1]:.3g}",
            ]
        )
    below = [f"{first.steps} steps of {first.points} points."]
    if len(run) > _MOST_ROWS:
        below.insert(0, f"... and {len(run) - _MOST_ROWS} more.")
    names = ("run", "seed", "order", "half-times (steps)", "descents", "test loss")
    runs = "1 denoiser" if len(run) == 1 else f"{len(run)} denoisers"
    return Grid(
        title=f"{runs}: {first.denoiser}, reads {first.reads}, s = {first.task.s}",
        columns=[f">{name}" for name in names],
        rows=rows,
        below=below,
    )


def run_rows(run: VectorRun) -> Iterator[dict[str, Any]]:
    """One row of plain values per run and concept."""
    descents = run.descents()
    for place, setting in enumerate(run.settings):
        for concept in range(setting.task.s):
            yield {
                "run": place,
                "seed": setting.seed,
                "denoiser": setting.denoiser,
                "reads": setting.reads,
                "concept": concept + 1,
                "mu": float(setting.task.mu[concept]),
                "sigma": float(setting.task.sigma[concept]),
                "half_time": float(run.half_times[place, concept]),
                "descents": int(descents[place]),
                "test_loss": float(run.test_loss[place, -1]),
            }
