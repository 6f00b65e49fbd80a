"""What is said of a setting before it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from swingby.diffusion.vectors.laws import both_law, sim_law
from swingby.diffusion.vectors.setting import VectorSetting
from swingby.report import Drawn, Grid
from swingby.theory import numbers
from swingby.training.setting import Floats, several

INSIDE = "inside"


@dataclass(frozen=True, eq=False, repr=False)
class VectorPrediction(Drawn, numbers.ReadOnly):
    """Made by :func:`swingby.diffusion.vectors.predict_vectors`."""

    setting: VectorSetting
    #: What half-times follow from: "Theorem 4.1", "stage law", "two exponentials", "growth under
    #: M" (the last two where both are read, where the SIM theory does not speak), or "none".
    law: str
    #: "inside", or why the SIM theory does not cover the setting.
    range: str
    #: First step at which the diagonal of the conditional map is at least 1/2, (s,); nan where
    #: there is no law or the setting lies outside its range.
    half_times: Floats
    #: Error bars in steps: four standard deviations, one step for rounding up, the error bar of
    #: the law, and what batches change to second order.
    error: Floats
    #: Standard deviation that comes from the noise of batches, in steps.
    deviation: Floats
    #: Rates of growth or decay per step to leading order: their inverses are as the half-times of
    #: small starts.
    rates: Floats
    #: What the SIM theory would say if the condition alone were read; nan where there is no law.
    plain: Floats
    #: How often the test loss falls by `turn`; -1 where that is open.
    descents: int
    #: A hundredth of the loss at the start, or more where the noise of batches makes turns of that
    #: size by itself.
    turn: float

    def __repr__(self) -> str:
        times = ", ".join(f"{one:.0f}" for one in self.half_times)
        return f"<VectorPrediction: half-times {times}; {self.range}>"

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
        """Ratio of two half-times and its error bar."""
        times, bars = self.half_times, self.error
        low = (times[slow] - bars[slow]) / (times[fast] + bars[fast])
        left = times[fast] - bars[fast]
        high = (times[slow] + bars[slow]) / left if left > 0 else np.inf
        ratio = float(times[slow] / times[fast])
        return ratio, float(max(high - ratio, ratio - low))

    def to_grid(self) -> Grid:
        """What is predicted, with its range."""
        setting = self.setting
        columns = (setting.task.signal, self.half_times, self.error, self.deviation, self.plain)
        rows = [
            [str(p), f"{a:.4g}", f"{half:.0f}", f"{error:.1f}", f"{deviation:.1f}", f"{plain:.0f}"]
            for p, (a, half, error, deviation, plain) in enumerate(zip(*columns, strict=True), 1)
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
        names = ("half_times", "error", "deviation", "rates", "plain")
        arrays = {
            name: [float(one) if np.isfinite(one) else None for one in getattr(self, name)]
            for name in names
        }
        words = {"law": self.law, "range": self.range, "descents": self.descents, "turn": self.turn}
        return {**words, "order": list(self.order), **arrays}


@overload
def predict_vectors(settings: VectorSetting) -> VectorPrediction: ...


@overload
def predict_vectors(settings: Sequence[VectorSetting]) -> list[VectorPrediction]: ...


def predict_vectors(
    settings: VectorSetting | Sequence[VectorSetting],
) -> VectorPrediction | list[VectorPrediction]:
    r"""What the SIM theory, or where it ends the form M, says of training.

    Where only the condition is read, the diffusion loss is :math:`\int \alpha^2 d\gamma` times
    the SIM loss (2.1) of f and a constant. One matrix then follows Theorem 4.1, :math:`U U^\top`
    the stage law, and :math:`W_2 W_1` that of :math:`U = (W_1^\top + W_2)/2`.

    Where both are read the noisy data tell the datum as well. The loss of a concept is then the
    form M of :func:`swingby.diffusion.theory.Noise.form` in
    :math:`(1 - W_{pp}, 1 - P_{pp})`, and half-times are those of the sampled map.

    Parameters
    ----------
    settings : VectorSetting or sequence of them

    Examples
    --------
    >>> from swingby.theory.task import SIMTask
    >>> print(predict_vectors(VectorSetting(SIMTask([1, 2], "1/20"), "linear", eta=0.1)))
    linear, reads condition: Theorem 4.1
    concept        a   half-time   error   deviation   plain SIM
    ────────────────────────────────────────────────────────────
          1   0.5025          14     2.0         0.3          14
          2    2.002           4     1.5         0.1           4
    Range of the SIM theory: inside.
    Test loss: no swing-by of 0.022 of its start.
    """
    if isinstance(settings, VectorSetting):
        return _predict(settings)
    return [_predict(one) for one in several(settings, "settings", VectorSetting)]


def _predict(setting: VectorSetting) -> VectorPrediction:
    plain = sim_law(setting)
    law, reason = plain, f"outside: {plain.doubt}" if plain.doubt else INSIDE
    if setting.reads == "both":
        law = both_law(setting)
        reason = "outside: noisy data tell what the condition tells"
        reason += f"; {law.doubt}" if law.doubt else ""
    elif law.name == "none":
        reason = "outside: the law is that of linear denoisers"
    told = law.name != "none" and not law.doubt
    nothing = np.full(setting.task.s, np.nan)
    return VectorPrediction(
        setting=setting,
        law=law.name,
        range=reason,
        half_times=np.ceil(law.crossing) if told else nothing,
        error=law.error if told else nothing,
        deviation=law.deviation if told else nothing,
        rates=law.rates,
        plain=np.ceil(plain.crossing) if told and not plain.doubt else nothing,
        descents=law.descents if told else -1,
        turn=law.turn,
    )
