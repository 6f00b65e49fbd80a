"""What a run returns: the recorded trajectory, its events, its outcome."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from swingby.errors import InvalidInput, MissingExtra
from swingby.simulate import archive, events
from swingby.simulate.events import Extremum, Peak
from swingby.simulate.outcome import Outcome
from swingby.simulate.state import Floats, Integers
from swingby.theory import numbers
from swingby.theory.initial import Initial
from swingby.theory.task import SIMTask


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    r"""One trajectory of W with its events. Made by :func:`swingby.simulate.run.simulate`.

    Attributes
    ----------
    task : SIMTask
    initial : Initial
        The checked W(0).
    eta : Fraction
        Step size; time in steps times eta is the time of the flow.
    dynamics : str
        ``"euler"``, ``"gd"`` or ``"flow"``.
    steps : ndarray of int, shape (n,)
        The recorded steps; the last one is :attr:`last_step`.
    W : ndarray of shape (n, d, d)
        W at the recorded steps; entries below the float range are 0.
    level_times : dict from float to ndarray of shape (d,)
        First step at which w_kk is at least the level; nan where it never was.
    peaks : tuple of Peak
        One per off-diagonal entry i < j.
    extrema : tuple of Extremum
        Turning points of the test loss over all steps, recorded or not, that swing by at least
        1e-9 of its initial value; the first and the last step count when the loss moves away
        from them.
    extrema_complete : bool
        False when the loss turned more than 512 times; the first 512 are kept.
    psd_lost : int or None
        First step at which W is not positive semidefinite beyond rounding (euler only). Above
        d = 96 a loss that lasts for less than eight steps may not be seen.
    end : int or None
        First step from which on ``max |W - I| <= 0.01`` on the concepts with a > 0.
    last_step : int
    outcome : Outcome
    reason : str
        One sentence.
    executed_steps : int
        Steps actually computed; the others were jumped over.
    """

    task: SIMTask
    initial: Initial
    eta: Fraction
    dynamics: str
    steps: Integers
    W: Floats
    level_times: dict[float, Floats]
    peaks: tuple[Peak, ...]
    extrema: tuple[Extremum, ...]
    extrema_complete: bool
    psd_lost: int | None
    end: int | None
    last_step: int
    outcome: Outcome
    reason: str
    executed_steps: int

    @property
    def half_times(self) -> Floats:
        """Step at which each w_kk first is at least 1/2, shape (d,); nan where it never was."""
        return self.level_times[0.5]

    @property
    def output(self) -> Floats:
        """The output W x at the test point, shape (n, d)."""
        with np.errstate(all="ignore"):
            return self.W @ self.task.test_point

    @property
    def test_loss(self) -> Floats:
        """The loss ``1/2 |W x - x|^2`` at the test point, shape (n,)."""
        with np.errstate(all="ignore"):
            loss: Floats = 0.5 * ((self.output - self.task.test_point) ** 2).sum(axis=-1)
        return loss

    @property
    def train_loss(self) -> Floats:
        """The loss ``1/2 |(W - I) A^(1/2)|_F^2`` of (4.1), shape (n,)."""
        with np.errstate(all="ignore"):
            distance = (self.W - np.eye(self.task.dim)) ** 2 * self.task.signal
            loss: Floats = 0.5 * distance.sum(axis=(-2, -1))
        return loss

    def first_reach(self, level: float) -> Floats:
        """First step at which each w_kk is at least `level`, found inside the loop.

        Parameters
        ----------
        level : {0.1, 0.5, 0.8, 0.99}

        Returns
        -------
        ndarray of shape (d,)
            Whole numbers; nan where the level is not reached.

        Raises
        ------
        InvalidInput
            For another level: use :func:`swingby.simulate.events.first_reach` on ``run.W``.
        """
        if level not in self.level_times:
            raise InvalidInput("level", level, f"must be one of {sorted(self.level_times)}")
        return self.level_times[level]

    def descents(self, swing: float = 1e-3) -> int:
        """How often the test loss descends by at least `swing` times its initial value.

        Parameters
        ----------
        swing : float
            At least 1e-9.

        Returns
        -------
        int

        Raises
        ------
        InvalidInput
            If the swing is smaller.
        """
        if not swing >= 1e-9:
            raise InvalidInput("swing", swing, "must be at least 1e-9")
        return events.descents(self.extrema, swing * float(self.test_loss[0]))

    def __repr__(self) -> str:
        return (
            f"<Run d={self.task.dim} dynamics={self.dynamics!r} last_step={self.last_step}"
            f" outcome={str(self.outcome)!r}>"
        )

    def __str__(self) -> str:
        lines = [
            f"{self.dynamics}, eta = {numbers.scientific(self.eta)}, {self.last_step} steps"
            f" ({self.executed_steps} computed)",
            f"{self.outcome}: {self.reason}",
            f"{'concept':>7}  {'a':>10}  {'w(0)':>10}  {'half-time':>10}  {'w at end':>10}",
        ]
        entries = self.initial.entries
        for k in range(self.task.dim):
            half = self.half_times[k]
            lines.append(
                f"{k + 1:>7}  {self.task.signal[k]:>10.4g}"
                f"  {numbers.scientific(entries[k][k], 3):>10}"
                f"  {'-' if np.isnan(half) else int(half):>10}  {self.W[-1, k, k]:>10.4g}"
            )
        lines.append(f"descents of the test loss (swing 1e-3): {self.descents()}")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """The recorded trajectory as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row per recorded step: ``step``, ``w_i_j`` for i <= j (from 1), ``output_i``,
            ``test_loss``, ``train_loss``.

        Raises
        ------
        MissingExtra
            If pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError:
            raise MissingExtra("pandas", "tables") from None
        d = self.task.dim
        columns: dict[str, Any] = {"step": self.steps}
        for i in range(d):
            for j in range(i, d):
                columns[f"w_{i + 1}_{j + 1}"] = self.W[:, i, j]
        output = self.output
        for i in range(d):
            columns[f"output_{i + 1}"] = output[:, i]
        columns["test_loss"] = self.test_loss
        columns["train_loss"] = self.train_loss
        return pandas.DataFrame(columns)

    def to_dict(self) -> dict[str, Any]:
        """Inputs, events and outcome as plain Python values; no trajectory.

        Returns
        -------
        dict
            Ready for JSON; exact numbers are text, steps not reached are None.
        """
        return archive.to_dict(self)

    def save(self, path: str | Path) -> Path:
        """Write the run to an npz file without pickled objects.

        Parameters
        ----------
        path : str or Path
            ``.npz`` is added when it is missing.

        Returns
        -------
        Path
            The file written.
        """
        return archive.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read a run that :meth:`save` wrote.

        Parameters
        ----------
        path : str or Path

        Returns
        -------
        Run

        Raises
        ------
        InvalidInput
            If the file is missing, broken, or something else.
        """
        return cls(**archive.load(path))
