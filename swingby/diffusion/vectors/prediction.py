"""What is said of a setting before it is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.diffusion.vectors.setting import VectorSetting
from swingby.report import Grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

INSIDE = "inside"


@dataclass(frozen=True, eq=False, repr=False)
class VectorPrediction:
    r"""Made by :func:`swingby.diffusion.vectors.predict_vectors`.

    Parameters
    ----------
    setting : VectorSetting
    law : str
        What half-times follow from: "Theorem 4.1", "stage law", "two exponentials", "growth
        under M" (the last two where both are read, where the SIM theory does not speak), or
        "none".
    range : str
        "inside", or why the SIM theory does not cover the setting.
    half_times : ndarray of shape (s,)
        First step at which the diagonal of the conditional map is at least 1/2; nan where there
        is no law or the setting lies outside its range.
    error : ndarray of shape (s,)
        Error bars in steps: four standard deviations, one step for rounding up, the error bar of
        the law, and what batches change to second order.
    deviation : ndarray of shape (s,)
        Standard deviation that comes from the noise of batches, in steps.
    rates : ndarray of shape (s,)
        Rates of growth or decay per step to leading order: their inverses are as the half-times
        of small starts.
    plain : ndarray of shape (s,)
        What the SIM theory would say if the condition alone were read; the same as `half_times`
        where that is so. nan where there is no law.
    descents : int
        How often the test loss falls by `turn`; -1 where that is open.
    turn : float
        A hundredth of the loss at the start, or more where the noise of batches makes turns of
        that size by itself.
    """

    setting: VectorSetting
    law: str
    range: str
    half_times: Floats
    error: Floats
    deviation: Floats
    rates: Floats
    plain: Floats
    descents: int
    turn: float

    def __repr__(self) -> str:
        times = ", ".join(f"{one:.0f}" for one in self.half_times)
        return f"<VectorPrediction: half-times {times}; {self.range}>"

    def __str__(self) -> str:
        return self._grid().to_text(width=110)

    @property
    def inside(self) -> bool:
        """Whether the SIM theory covers the setting."""
        return self.range == INSIDE

    @property
    def order(self) -> tuple[int, ...]:
        """Concepts by predicted half-time, from 0; empty where one of them is not known."""
        if np.isnan(self.half_times).any():
            return ()
        return tuple(np.argsort(self.half_times, kind="stable").tolist())

    @property
    def order_decided(self) -> bool:
        """Whether no two error bars overlap."""
        if not self.order:
            return False
        places = list(self.order)
        times, bars = self.half_times[places], self.error[places]
        return bool((np.diff(times) > bars[1:] + bars[:-1]).all())

    @property
    def swings(self) -> bool | None:
        """Whether the test loss is expected to rise and fall again; None where that is open."""
        return None if self.descents < 0 else self.descents > 1

    def ratio(self, slow: int, fast: int) -> tuple[float, float]:
        """Ratio of two half-times and its error bar.

        Parameters
        ----------
        slow, fast : int
            Concepts, from 0.
        """
        times, bars = self.half_times, self.error
        low = (times[slow] - bars[slow]) / (times[fast] + bars[fast])
        left = times[fast] - bars[fast]
        high = (times[slow] + bars[slow]) / left if left > 0 else np.inf
        ratio = float(times[slow] / times[fast])
        return ratio, float(max(high - ratio, ratio - low))

    def _grid(self) -> Grid:
        setting = self.setting
        rows = [
            [
                str(p + 1),
                f"{float(setting.task.signal[p]):.4g}",
                f"{self.half_times[p]:.0f}",
                f"{self.error[p]:.1f}",
                f"{self.deviation[p]:.1f}",
                f"{self.plain[p]:.0f}",
            ]
            for p in range(setting.task.s)
        ]
        swings = {None: "open", True: "swing-by", False: "no swing-by"}[self.swings]
        return Grid(
            title=f"{setting.denoiser}, reads {setting.reads}: {self.law}",
            columns=[">concept", ">a", ">half-time", ">error", ">deviation", ">plain SIM"],
            rows=rows,
            below=[
                f"Range of the SIM theory: {self.range}.",
                f"Test loss: {swings} of {self.turn:.2g} of its start.",
            ],
        )

    def to_dict(self) -> dict[str, Any]:
        """The prediction as plain values, None where it is nan."""
        arrays = {
            name: [float(one) if np.isfinite(one) else None for one in getattr(self, name)]
            for name in ("half_times", "error", "deviation", "rates", "plain")
        }
        words = {"law": self.law, "range": self.range, "descents": self.descents, "turn": self.turn}
        return {**words, "order": list(self.order), **arrays}
