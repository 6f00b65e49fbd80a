"""The schedule of a linear network: when each of its modes is learned, as values and pictures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from swingby.errors import InvalidInput, named
from swingby.report import Grid
from swingby.report.entry_pictures import (
    draw_half_time,
    entry_label,
    entry_name,
    finish_entries,
)
from swingby.report.number_text import as_typed, scientific, steps_text
from swingby.report.picture_style import COLORS
from swingby.report.pictures import Pictured
from swingby.report.result_formats import ReadOnly
from swingby.theory import numbers
from swingby.theory.law.descent_flow import Descent
from swingby.theory.linear_modes import LinearModes
from swingby.theory.numbers import Booleans, Floats
from swingby.theory.task import SIMTask
from swingby.theory.verdict import Verdict
from swingby.verify.schedule import given_text, json_ready

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Modes that a picture shows, the largest first.
_DRAWN = 6
#: Bars from here on are printed in whole steps; smaller ones than this are not told apart.
_LARGE, _SMALLEST = 10.0, 0.01


@dataclass(frozen=True)
class NetworkSchedule(Pictured, ReadOnly):
    """Predicted half-times of a linear network. Made by :func:`predict_network`.

    Of a SIM task the modes are its concepts, d of them, and the level of each is w_kk. Of other
    data they are those of the best linear fit, the one of the largest variance first, which need
    not be the one that is learned first.
    """

    #: None where data were given.
    task: SIMTask | None
    #: Learning rate, of the loss (4.1) with a task, else of `loss`.
    lr: Fraction
    #: Of the input, of the hidden layers, and of the output: depth + 1 numbers.
    widths: tuple[int, ...]
    #: "full" or "leading".
    accuracy: str
    #: First step at which a mode is learned, a_k >= 1/2; inf for never, nan where undecided; (m,).
    half_times: Floats
    #: Real step at which a_k crosses 1/2, and the half-width of its bar; inf out of range.
    crossing: Floats
    error: Floats
    #: Modes as they are learned, counted from 0; those that are not are left out.
    order: tuple[int, ...]
    #: *holds* where every half-time has a bar and no two bars of neighbours overlap; else
    #: *undecided*, and why.
    verdict: Verdict
    reasons: tuple[str, ...]
    #: First step from which on a_k stays at 1/2 or above; inf for never, nan where undecided. It
    #: differs from `half_times` where a mode is lost: a layer narrower than there are modes may
    #: swap them, momentum may overshoot, weight decay may shrink what was learned at the start.
    retained: Floats
    #: a_k where it settles, of modes that are never learned or lost for good, else nan.
    settles: Floats
    #: Share of the variance of the best linear fit that each mode explains.
    explained: Floats
    #: Share of the mean square of Y that the best linear fit has; nan with a task.
    fitted: float
    momentum: float
    nesterov: bool
    weight_decay: float
    #: "half", "mse" or "sum".
    loss: str
    #: Size of minibatches, None for the full batch, and whether they are drawn with replacement.
    batch: int | None
    replacement: bool
    #: The modes themselves: their directions in outputs and inputs, and sigma.
    modes: LinearModes = field(repr=False)
    rule: Descent = field(repr=False)
    start: tuple[Floats, ...] = field(repr=False)
    #: Gradients that it may cost.
    budget: int = field(repr=False)

    @property
    def depth(self) -> int:
        """Number of layers L."""
        return len(self.widths) - 1

    @property
    def never(self) -> Booleans:
        """Modes that are never learned, shape (m,)."""
        return np.isposinf(self.half_times)

    @property
    def bottleneck(self) -> bool:
        """Whether a layer is too narrow for all modes."""
        return min(self.widths) < len(self.modes.sigma)

    @property
    def lost(self) -> Booleans:
        """Modes that are learned and lost again, for a while or for good, shape (m,)."""
        return np.isfinite(self.half_times) & (self.retained > self.half_times)

    @property
    def _shows_losses(self) -> bool:
        """Whether a table says from when on modes are retained."""
        return self.bottleneck or bool(self.lost.any())

    @named
    def evaluate(self, t: ArrayLike) -> Floats:
        """W, the product of the layers, at given steps of full-batch training.

        `t` (n,): steps; need not be whole. Returns (n, outputs, inputs): to about 1e-6 of its
        parts; nan beyond the budget and where training diverges. Raises InvalidInput for times that
        are negative or not finite.
        """
        from swingby.theory.law.descent_law import products_at

        times = np.atleast_1d(numbers.real_array(t, "t"))
        if times.ndim != 1 or (times < 0).any():
            raise InvalidInput("t", t, "must be one axis of steps, none negative")
        return products_at(self.start, self.modes, self.rule, times, self.budget)

    def __repr__(self) -> str:
        times = ", ".join(f"{value:.6g}" for value in self.half_times)
        lr = as_typed(self.lr)
        return f"<NetworkSchedule depth {self.depth}, lr={lr}: half_times=({times})>"

    def facts(self) -> list[str]:
        """The rule of training and the network, as a table says them."""
        facts = [f"lr = {as_typed(self.lr)}"]
        if self.task is None:
            facts.append(f'loss "{self.loss}"')
        if self.momentum:
            kind = "Nesterov momentum" if self.nesterov else "momentum"
            facts.append(f"{kind} {self.momentum:g}")
        if self.weight_decay:
            facts.append(f"weight decay {self.weight_decay:g}")
        if self.batch is not None:
            how = "drawn with replacement" if self.replacement else "reshuffled every epoch"
            facts.append(f"batches of {self.batch} {how}")
        widths = " x ".join(map(str, self.widths))
        return [*facts, f"depth {self.depth}", f"widths {widths}"]

    def label(self, k: int) -> str:
        """The name of a mode in tables."""
        return entry_name(k, k) if self.task is not None else f"mode {k + 1}"

    def to_grid(self) -> Grid:
        """A row for each mode, in the order of learning."""
        facts = self.facts()
        if self.task is not None:
            above = [given_text(self.task.exact_signal, *facts, f"{self.accuracy} accuracy")]
        else:
            share = f"The best linear fit explains {percent(self.fitted)} of the mean square of Y."
            above = [", ".join(facts), share]
        rows = [self._cells(k) for k in self.shown_order()]
        below = [f"{self.verdict}: {'; '.join(self.reasons)}"] if self.reasons else []
        columns = ["entry", ">half at step"] if self.task is not None else ["mode", ">variance"]
        if self.task is None:
            columns.append(">first learned" if self._shows_losses else ">learned at step")
        at_least = self.batch is not None and not self.replacement
        columns.append(">+- at least" if at_least else ">+-")
        if self._shows_losses:
            columns.append(">retained from")
        if np.isfinite(self.settles).any():
            columns.append(">settles at")
        return Grid("Predicted half-times", columns, rows, above=above, below=below)

    def _cells(self, k: int) -> list[str]:
        time = self.half_times[k]
        cells = [self.label(k)]
        if self.task is None:
            cells.append(percent(self.explained[k]))
        cells.append("undecided" if math.isnan(time) else steps_text(time, 0))
        cells.append(self.bar(k))
        if self._shows_losses:
            last = self.retained[k]
            cells.append("undecided" if math.isnan(last) else steps_text(last, 0))
        if np.isfinite(self.settles).any():
            cells.append("" if math.isnan(self.settles[k]) else f"{self.settles[k]:.2f}")
        return cells

    def shown_order(self) -> list[int]:
        """Modes in the order of learning, then those that are not learned."""
        return [*self.order, *sorted({*range(len(self.half_times))} - {*self.order})]

    def bar(self, k: int) -> str:
        """The bar of a half-time in tables."""
        error = self.error[k]
        if not math.isfinite(self.half_times[k]):
            return "-"
        if self.task is None and 0 < error < _SMALLEST:
            return f"<{_SMALLEST}"
        digits = 0 if self.task is None and _LARGE <= error < math.inf else 2
        return "out of range" if math.isinf(error) else steps_text(error, digits)

    def to_frame(self) -> Any:
        """One row per mode: signal or sigma, explained, half_time, crossing, error, retained."""
        import pandas

        size = {"sigma": self.modes.sigma} if self.task is None else {"signal": self.task.signal}
        columns = {
            "explained": self.explained,
            "half_time": self.half_times,
            "crossing": self.crossing,
            "error": self.error,
            "retained": self.retained,
            "settles": self.settles,
        }
        return pandas.DataFrame({**size, **columns})

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and text, ready for JSON; inf and nan as text."""
        names = ("half_times", "crossing", "error", "retained", "settles", "explained")
        signal = None if self.task is None else [str(value) for value in self.task.exact_signal]
        return {
            "signal": signal,
            "sigma": self.modes.sigma.tolist(),
            "lr": scientific(self.lr, 15),
            "loss": self.loss,
            "momentum": self.momentum,
            "nesterov": self.nesterov,
            "weight_decay": self.weight_decay,
            "batch": self.batch,
            "replacement": self.replacement,
            "widths": list(self.widths),
            "accuracy": self.accuracy,
            **{name: [*map(json_ready, getattr(self, name))] for name in names},
            "fitted": json_ready(self.fitted),
            "order": list(self.order),
            "verdict": str(self.verdict),
            "reasons": list(self.reasons),
        }

    def drawn_modes(self) -> Iterator[tuple[int, int, str, str]]:
        """The modes of a picture: index among those with a signal, among all, colour and label."""
        indices = np.flatnonzero(self.explained > 0)
        largest = np.argsort(-self.modes.sigma, kind="stable")[:_DRAWN]
        for i, color in zip(largest, itertools.cycle(COLORS), strict=False):
            k = int(indices[i])
            name = f"mode {k + 1} ({percent(self.explained[k])})"
            yield int(i), k, color, name if self.task is None else entry_label(k, k)

    def draw(self, ax: Axes) -> None:
        """Draw a_k of the largest modes, the loss, and half-times with their bars."""
        times = self.half_times[np.isfinite(self.half_times) & (self.half_times > 0)]
        first = max(1.0, float(times.min(initial=np.inf)) / 8) if times.size else 1.0
        last = max(2 * first, 1.5 * float(times.max(initial=100 * first)))
        grid = np.unique(np.geomspace(first, last, 300))
        W = self.evaluate(np.concatenate([[0.0], grid]))
        levels, rest = self.modes.levels(W), self.modes.fit - W @ self.modes.root
        loss = (rest**2).sum(axis=(1, 2))
        ax.plot(grid, loss[1:] / loss[0], color="black", linewidth=1.1, label="loss / start")
        for i, k, color, label in self.drawn_modes():
            ax.plot(grid, levels[1:, i], color=color, label=label)
            time, error = self.half_times[k], self.error[k]
            if math.isfinite(time) and first <= time <= last:
                width = error if math.isfinite(error) else 0.0
                draw_half_time(ax, time, min(width, time), min(width, last - time), color)
        finish_entries(ax, first, last, f"predicted, {self.facts()[0]}", float(levels.min()))
        ax.set_ylabel("$a_k$, loss / start" if self.task is None else "entry of W, loss / start")


def percent(share: float) -> str:
    """A share in three digits."""
    return f"{100 * share:.3g} %"
