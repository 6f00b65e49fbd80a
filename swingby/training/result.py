"""TrainingRun: what some networks did while they were trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory import numbers
from swingby.training.following import LEAST_TURN, thinned
from swingby.training.setting import Setting

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class TrainingRun:
    """Some networks while they were trained, in the coordinates of the concepts.

    Parameters
    ----------
    settings : tuple of r Setting
    index : tuple of p tuples
        v of each test point (B.1); the last is the test point of Sec. 2.1, all ones.
    points : ndarray of shape (r, p, s)
        The test points.
    steps : ndarray of int, shape (n,)
        Steps of the optimizer that were kept; step 0 is before the first.
    output : ndarray of shape (r, n, p, s)
        Along the concepts.
    jacobian : ndarray of shape (r, n, s, s)
        Derivative of output i along concept j at the last test point: W where f(x) = W x.
    point_loss : ndarray of shape (r, n, p)
        Half the squared distance of output and test point, in all d dimensions.
    half_times : ndarray of shape (r, s)
        First step at which the output at the last test point has reached half of it along a
        concept; nan for never. Found at every step, whatever was kept.
    jacobian_half_times : ndarray of shape (r, s)
        The same for the diagonal of the Jacobian.
    first_loss : ndarray of shape (r,)
        At the last test point, before the first step.
    turns : ndarray of shape (k, 4)
        Turns of that loss by more than a thousandth of its first value: run, step, loss, and 1
        for a maximum or -1 for a minimum.
    train_loss_steps : ndarray of int, shape (e,)
    train_loss : ndarray of shape (r, e)
        The loss (2.1) on the whole training set.
    weights : tuple of ndarray of shape (r, ...)
        Parameters at the end, in the coordinates in which the network was trained.

    References
    ----------
    Sec. 2.1, App. B, App. F.1.
    """

    settings: tuple[Setting, ...]
    index: tuple[tuple[int, ...], ...]
    points: Floats
    steps: NDArray[np.int64]
    output: Floats
    jacobian: Floats
    point_loss: Floats
    half_times: Floats
    jacobian_half_times: Floats
    first_loss: Floats
    turns: Floats
    train_loss_steps: NDArray[np.int64]
    train_loss: Floats
    weights: tuple[Floats, ...]

    def __len__(self) -> int:
        return len(self.settings)

    def __repr__(self) -> str:
        return f"<TrainingRun {len(self)} networks, {int(self.steps[-1])} steps>"

    @property
    def epochs(self) -> Floats:
        """Steps in passes over the training set, shape (n,)."""
        return np.asarray(self.steps / self.settings[0].steps_per_epoch)

    @property
    def test_loss(self) -> Floats:
        """Loss at the test point of Sec. 2.1, shape (r, n)."""
        return self.point_loss[:, :, -1]

    def extrema(self, run: int, least: float = 0.01) -> list[tuple[int, float, str]]:
        """Turns of the test loss of one network.

        Parameters
        ----------
        run : int
        least : number
            Smallest rise or fall that counts, as a part of the loss before the first step; at
            least a thousandth.

        Returns
        -------
        list of (step, loss, "max" or "min")
            The start and the last extreme included.

        Raises
        ------
        InvalidInput
            For a network that is not there, or a smaller part.
        """
        place = numbers.whole(run, "run", 0, most=len(self) - 1)
        part = numbers.within_float(numbers.positive(least, "least"), "least")
        if part < LEAST_TURN:
            raise InvalidInput("least", least, f"must be at least {LEAST_TURN}: what was followed")
        mine = self.turns[self.turns[:, 0] == place]
        known = [(int(step), float(loss), int(kind)) for _, step, loss, kind in mine]
        kept = thinned(known, part * float(self.first_loss[place]))
        return [(step, loss, "max" if kind > 0 else "min") for step, loss, kind in kept]

    def descents(self, least: float = 0.01) -> NDArray[np.int64]:
        """How often the test loss of each network fell.

        Parameters
        ----------
        least : number
            As for :meth:`extrema`.

        Returns
        -------
        ndarray of int, shape (r,)
        """
        found = []
        for run in range(len(self)):
            kinds = [kind for _, _, kind in self.extrema(run, least)]
            found.append(sum(a == "max" for a in kinds[:-1]))
        return np.array(found, dtype=np.int64)

    def order(self) -> NDArray[np.int64]:
        """Concepts of each network as they are learned, shape (r, s), from 0; -1 where never."""
        found = np.argsort(self.half_times, axis=1, kind="stable")
        times = np.take_along_axis(self.half_times, found, axis=1)
        return np.where(np.isnan(times), -1, found)

    def to_frame(self) -> pd.DataFrame:
        """One row per network and concept: half-times in steps and epochs, descents, losses.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        return pd.DataFrame(list(self._rows()))

    def _rows(self) -> Iterator[dict[str, Any]]:
        descents = self.descents()
        for run, setting in enumerate(self.settings):
            for concept in range(setting.task.s):
                half = float(self.half_times[run, concept])
                yield {
                    "network": run,
                    "seed": setting.seed,
                    "concept": concept + 1,
                    "mu": float(setting.task.mu[concept]),
                    "sigma": float(setting.task.sigma[concept]),
                    "half_time": half,
                    "half_time_epochs": half / setting.steps_per_epoch,
                    "descents": int(descents[run]),
                    "test_loss": float(self.test_loss[run, -1]),
                    "train_loss": float(self.train_loss[run, -1]),
                }

    def to_dict(self) -> dict[str, Any]:
        """The rows of :meth:`to_frame` and the settings, as JSON can hold them.

        Returns
        -------
        dict
        """
        rows = [
            {key: None if value != value else value for key, value in row.items()}
            for row in self._rows()
        ]
        return {"settings": [one.to_dict() for one in self.settings], "concepts": rows}

    def __str__(self) -> str:
        from swingby.training.run_report import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Output trajectories at the test point, in the plane of the first two concepts.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        from swingby.training.run_report import plot_trajectories

        return plot_trajectories(self, ax)

    def save(self, path: str | Path) -> None:
        """Write an npz file; nothing in it is pickled.

        Parameters
        ----------
        path : path
        """
        from swingby.training.archive import write_run

        write_run(self, path)

    @classmethod
    def load(cls, path: str | Path) -> TrainingRun:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : path

        Returns
        -------
        TrainingRun

        Raises
        ------
        InvalidInput
            If the file is missing or not such a file.
        """
        from swingby.training.archive import read_run

        return read_run(path)


def join(parts: Sequence[TrainingRun], places: Sequence[Sequence[int]]) -> TrainingRun:
    """One run of all groups, networks in the order in which their settings were given.

    Parameters
    ----------
    parts : sequence of TrainingRun
    places : sequence of sequence of int
        Where the networks of each part belong.

    Returns
    -------
    TrainingRun
        Its weights are empty where the groups have other shapes.
    """
    if len(parts) == 1 and list(places[0]) == sorted(places[0]):
        return parts[0]
    order = np.argsort(np.concatenate([np.asarray(one) for one in places]), kind="stable")
    first = parts[0]

    def stacked(name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in parts])[order]

    settings = [one for part in parts for one in part.settings]
    turns = []
    for part, mine in zip(parts, places, strict=True):
        moved = part.turns.copy()
        moved[:, 0] = np.asarray(mine)[moved[:, 0].astype(np.int64)]
        turns.append(moved)
    shapes = {tuple(one.shape[1:] for one in part.weights) for part in parts}
    weights: tuple[Any, ...] = ()
    if len(shapes) == 1:
        groups = zip(*(part.weights for part in parts), strict=True)
        weights = tuple(np.concatenate(same)[order] for same in groups)
    names = ("points", "output", "jacobian", "point_loss", "half_times", "jacobian_half_times")
    return TrainingRun(
        settings=tuple(settings[k] for k in order),
        index=first.index,
        steps=first.steps,
        turns=np.concatenate(turns),
        first_loss=stacked("first_loss"),
        train_loss_steps=first.train_loss_steps,
        train_loss=stacked("train_loss"),
        weights=weights,
        **{name: stacked(name) for name in names},
    )
