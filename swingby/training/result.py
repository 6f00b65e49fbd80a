"""TrainingRun: what some networks did while they were trained."""

from __future__ import annotations

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

    from swingby.report import Grid

    Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class TrainingRun:
    """Some networks while they were trained, in the coordinates of the concepts.

    What is kept of every step (output, Jacobian, losses) is in the precision of the settings.

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
        concept; nan for never, and of a network that diverged. Found at every step, whatever was
        kept.
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
        Parameters at the end, in the coordinates in which the network was trained: those of the
        concepts, or with "adamw" those of the data. Empty where the networks differ in shape;
        see :meth:`parameters`.

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
        networks = "1 network" if len(self) == 1 else f"{len(self)} networks"
        return f"<TrainingRun {networks}, {int(self.steps[-1])} steps>"

    @property
    def epochs(self) -> Floats:
        """Steps in passes over the training set, shape (n,)."""
        return np.asarray(self.steps / self.settings[0].steps_per_epoch)

    @property
    def test_loss(self) -> Floats:
        """Loss at the test point of Sec. 2.1, shape (r, n)."""
        return self.point_loss[:, :, -1]

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What became of each network: ``"learned"``, ``"not learned"`` or ``"diverged"``.

        A network diverged if the last loss on its training set is not finite, or above both its
        first and that of the answer 0. It learned if its output at the test point reached half
        along every concept.
        """
        lost = diverged(self.settings, self.train_loss)
        late = np.asarray(np.isnan(self.half_times).any(axis=1))
        return tuple(
            "diverged" if one else "not learned" if other else "learned"
            for one, other in zip(lost, late, strict=True)
        )

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
        kinds = [[kind for _, _, kind in self.extrema(run, least)] for run in range(len(self))]
        return np.array([one[:-1].count("max") for one in kinds], dtype=np.int64)

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

        from swingby.training.run_report import run_rows

        return pd.DataFrame(list(run_rows(self)))

    def to_dict(self) -> dict[str, Any]:
        """The rows of :meth:`to_frame` and the settings, as JSON can hold them.

        Returns
        -------
        dict
        """
        from swingby.training.run_report import run_rows, storable

        rows = [storable(row) for row in run_rows(self)]
        return {"settings": [one.to_dict() for one in self.settings], "concepts": rows}

    def parameters(self, run: int) -> list[Floats]:
        """Parameters of one network at the end, in the coordinates in which its data is given.

        Parameters
        ----------
        run : int

        Returns
        -------
        list of ndarray
            Of the shapes of :func:`swingby.training.weights.shapes`, as `start` of
            :func:`swingby.training.train` takes them.

        Raises
        ------
        InvalidInput
            For a network that is not there, or one of a run of several shapes.
        """
        from swingby.training.weights import given_data

        place = numbers.whole(run, "run", 0, most=len(self) - 1)
        if not self.weights:
            raise InvalidInput("run", run, "has no weights kept: its networks differ in shape")
        return given_data(self.settings[place], [one[place] for one in self.weights])

    def to_grid(self) -> Grid:
        """The table that is printed."""
        from swingby.training.run_report import run_grid

        return run_grid(self)

    def to_markdown(self) -> str:
        """The table as GitHub Markdown."""
        return self.to_grid().to_markdown()

    def to_latex(self) -> str:
        """The table as LaTeX; needs the booktabs package."""
        return self.to_grid().to_latex()

    def __str__(self) -> str:
        from swingby.training.run_report import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        return self.to_grid().to_html()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Output trajectories at the test point, in the plane of the first two concepts.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        from swingby.training.run_pictures import plot_trajectories

        return plot_trajectories(self, ax)

    def plot_losses(self, ax: Axes | None = None) -> Axes:
        """Loss at the test point and on the training set against epochs.

        Parameters
        ----------
        ax : matplotlib Axes, optional

        Returns
        -------
        matplotlib Axes
        """
        from swingby.training.run_pictures import plot_losses

        return plot_losses(self, ax)

    def save_picture(self, path: str | Path) -> None:
        """Write trajectories and losses to a .png, .pdf or .svg file.

        Parameters
        ----------
        path : path

        Raises
        ------
        InvalidInput
            If the path cannot be written or has another ending.
        """
        from swingby.report.pictures import save_figure
        from swingby.training.run_pictures import run_figure

        save_figure(lambda: run_figure(self), path)

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


def diverged(settings: tuple[Setting, ...], train_loss: Floats) -> NDArray[np.bool_]:
    """Which networks end with a training loss that is no number, or above all that is sensible."""
    last = train_loss[:, -1]
    zero = np.array([0.5 * one.second_moment for one in settings])
    return np.asarray(~np.isfinite(last) | (last > np.maximum(train_loss[:, 0], zero)))
