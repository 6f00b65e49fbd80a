"""The recorded trajectory of a run, its events and its outcome, with its files and tables."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import InvalidInput, named
from swingby.report import Grid, entry_pictures, pictures
from swingby.report.files import BROKEN, write_arrays
from swingby.report.number_text import as_typed, scientific
from swingby.report.result_formats import ReadOnly
from swingby.simulate import series
from swingby.simulate.outcome import Outcome
from swingby.simulate.series import Extremum, Peak
from swingby.theory import input_files, numbers
from swingby.theory.growth import per_step
from swingby.theory.initial import Initial
from swingby.theory.numbers import Floats, Integers
from swingby.theory.task import SIMTask, task_from_plain, task_to_plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: First word of every file; a change of layout changes the number.
FORMAT = "swingby run 2"


@dataclass(frozen=True, eq=False, repr=False)
class Run(pictures.Pictured, ReadOnly):
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
        First step at which w_kk is at least the level; nan if it never is.
    peaks : tuple of Peak
        One per off-diagonal entry i < j.
    extrema : tuple of Extremum
        Turning points of the test loss over all steps, recorded or not, between which it changes by
        at least 1e-9 of its initial value; the first and the last step count if the loss moves away
        from them.
    extrema_complete : bool
        False when the loss turned more than 512 times; the first 512 are kept.
    psd_lost : int or None
        First step at which W is not positive semidefinite beyond rounding (euler only)..
    end : int or None
        First step from which on ``max |W - I| <= 0.01`` on the concepts with a > 0.
    last_step : int
    outcome : Outcome
    reason : str
        One sentence.
    executed_steps : int
        Number of computed steps; the others were jumped over.
    rounding : ndarray of shape (d,)
        Steps by which rounding may move each half-time; nan if rounding decides whether there is
        one. None for recorded matrices.
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
    rounding: Floats | None = None

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
        return series.loss_at(self.task.test_point, self.W)

    @property
    def train_loss(self) -> Floats:
        """The loss ``1/2 |(W - I) A^(1/2)|_F^2`` of (4.1), shape (n,)."""
        with np.errstate(all="ignore"):
            distance = (self.W - np.eye(self.task.dim)) ** 2 * self.task.signal
            loss: Floats = 0.5 * distance.sum(axis=(-2, -1))
        return loss

    @named
    def first_reach(self, level: float) -> Floats:
        """First step (d,) at which each w_kk is at least `level`, found inside the loop; else nan.

        `level` in {0.1, 0.5, 0.8, 0.99}. Raises InvalidInput for another level: use
        :func:`swingby.simulate.series.first_reach` on ``run.W``.
        """
        if level not in self.level_times:
            raise InvalidInput("level", level, f"must be one of {sorted(self.level_times)}")
        return self.level_times[level]

    @named
    def descents(self, swing: float = 1e-3) -> int:
        """The number of descents of the test loss by at least `swing` times its initial value.

        Raises InvalidInput if the swing is below 1e-9.
        """
        smallest_swing = series.least_swing(swing)
        return series.descents(self.extrema, smallest_swing * float(self.test_loss[0]))

    def __repr__(self) -> str:
        return (
            f"<Run d={self.task.dim} dynamics={self.dynamics!r} last_step={self.last_step}"
            f" outcome={str(self.outcome)!r}>"
        )

    def to_grid(self) -> Grid:
        """A row per concept, with the outcome above."""
        entries = self.initial.entries
        rows = []
        for k in range(self.task.dim):
            half = "-" if np.isnan(self.half_times[k]) else str(int(self.half_times[k]))
            ends = scientific(entries[k][k], 3), half, f"{self.W[-1, k, k]:.4g}"
            rows.append([str(k + 1), f"{self.task.signal[k]:.4g}", *ends])
        computed = f"{self.last_step} steps ({self.executed_steps} computed)"
        return Grid(
            f"{self.dynamics}, eta = {as_typed(self.eta)}, {computed}",
            [">concept", ">a", ">w(0)", ">half-time", ">w at end"],
            rows,
            above=[f"{self.outcome}: {self.reason}"],
            below=[f"descents of the test loss (swing 1e-3): {self.descents()}"],
        )

    @named
    def to_frame(self, unit: str = "step") -> Any:
        """The recorded trajectory as a pandas DataFrame, with a row for each recorded step.

        `unit` in {"step", "eta t"}: of the times, and the name of their column. The others are
        ``w_i_j`` for i <= j (from 1), ``output_i``, ``test_loss``, ``train_loss``.
        """
        import pandas

        d = self.task.dim
        length = per_step(unit, self.eta)
        columns: dict[str, Any] = {unit: self.steps if unit == "step" else self.steps * length}
        for i in range(d):
            for j in range(i, d):
                columns[f"w_{i + 1}_{j + 1}"] = self.W[:, i, j]
        output = self.output
        for i in range(d):
            columns[f"output_{i + 1}"] = output[:, i]
        columns["test_loss"] = self.test_loss
        columns["train_loss"] = self.train_loss
        return pandas.DataFrame(columns)

    def draw(self, ax: Axes) -> None:
        """Draw the entries of W and the test loss over the recorded steps."""
        last = max(2.0, float(self.last_step if self.end is None else 1.5 * self.end))
        early = [time for time in self.half_times.tolist() if time > 0]
        first = max(1.0, min(early, default=8.0) / 8)
        low = self.draw_steps(ax, first, last)
        entry_pictures.finish_entries(ax, first, last, f"observed, {self.dynamics}", low)

    def draw_steps(self, ax: Axes, first: float, last: float) -> float:
        """Draw the entries and the test loss of some steps, and say how far below 0 they go."""
        order = [k for k in self.task.order if self.task.exact_signal[k] > 0]
        in_range = (self.steps >= first) & (self.steps <= last)
        loss = self.test_loss[in_range] / self.test_loss[0]
        entry_pictures.draw_entries(ax, self.steps[in_range], self.W[in_range], order, loss)
        return float(np.nanmin(np.clip(self.W[in_range], -0.4, 0)))

    def to_dict(self) -> dict[str, Any]:
        """Inputs, events and outcome as plain Python values, ready for JSON; no trajectory.

        Exact numbers are text, steps not reached are None.
        """
        return {
            "format": FORMAT,
            "task": task_to_plain(self.task),
            "W0": self.initial.matrix.tolist(),
            "W0_scale": str(self.initial.scale),
            "eta": str(self.eta),
            "dynamics": self.dynamics,
            "level_times": {
                str(level): [None if np.isnan(step) else int(step) for step in steps]
                for level, steps in self.level_times.items()
            },
            "peaks": [list(peak) for peak in self.peaks],
            "extrema": [list(extremum) for extremum in self.extrema],
            "extrema_complete": self.extrema_complete,
            "psd_lost": self.psd_lost,
            "end": self.end,
            "last_step": self.last_step,
            "outcome": str(self.outcome),
            "reason": self.reason,
            "executed_steps": self.executed_steps,
        }

    @named
    def save(self, path: str | Path) -> Path:
        """Write the run to an npz file without pickled objects, and return its path.

        ``.npz`` is added when it is missing. Raises InvalidInput for the ending of a table.
        """
        target = Path(path)
        if target.suffix in (".csv", ".json", ".txt", ".parquet"):
            raise InvalidInput(
                "path", path, "must end in .npz; to_frame().to_csv(path) for a table"
            )
        if target.suffix != ".npz":
            target = target.with_name(target.name + ".npz")
        rotation = self.task.rotation
        arrays = {
            "steps": self.steps,
            "W": self.W,
            "rotation": np.zeros((0, 0)) if rotation is None else rotation,
        }
        write_arrays(target, self.to_dict(), arrays, "path")
        return target

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Read a run that :meth:`save` wrote; InvalidInput if the file is missing or broken."""
        what = "a file written by Run.save, or by swingby simulate --out FILE.npz"
        facts, arrays = input_files.read_sealed(path, "path", what)
        try:
            steps, W, rotation = arrays["steps"], arrays["W"], arrays["rotation"]
            if facts["format"] != FORMAT or W.shape != (len(steps), *np.shape(facts["W0"])):
                raise ValueError("not a run")
            return cls(**_fields(facts, rotation if rotation.size else None), steps=steps, W=W)
        except BROKEN as error:
            raise InvalidInput("path", path, f"must be {what} ({error})") from None


def _fields(facts: dict[str, Any], rotation: Any) -> dict[str, Any]:
    plain_fields = ("dynamics", "extrema_complete", "psd_lost", "end", "last_step", "reason")
    return {
        "task": task_from_plain(facts["task"], rotation),
        "initial": Initial(np.array(facts["W0"]), _fraction(facts["W0_scale"])),
        "eta": numbers.positive(_fraction(facts["eta"]), "eta"),
        "level_times": {
            float(level): np.array([np.nan if step is None else step for step in row], float)
            for level, row in facts["level_times"].items()
        },
        "peaks": tuple(Peak(*peak) for peak in facts["peaks"]),
        "extrema": tuple(Extremum(*extremum) for extremum in facts["extrema"]),
        "outcome": Outcome(facts["outcome"]),
        "executed_steps": facts["executed_steps"],
        **{name: facts[name] for name in plain_fields},
    }


def _fraction(text: str) -> Fraction:
    """As it was written, p/q: an exponent could make it as long as it likes."""
    if "e" in text.lower():
        raise ValueError(f"{text} is no fraction")
    return Fraction(text)
