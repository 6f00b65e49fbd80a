"""A forecast of when each component is learned, made at a step and compared with what came."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from swingby.report.number_text import steps_text
from swingby.report.result_formats import ReadOnly
from swingby.theory.numbers import Booleans, Floats


@dataclass(frozen=True, eq=False)
class ModeForecast(ReadOnly):
    """When each component will be learned, as forecast at a step. Made by a :class:`Watch`."""

    #: "law" or "copy".
    grade: str
    #: Steps that the training had taken.
    made_at: int
    #: First step at which a_k is at least the level, counted from the start of the training, as
    #: for what is observed: inf where it comes to rest below, nan beyond what was looked at.
    half_times: Floats
    #: Real step of the crossing, and the half-width of its bar.
    crossing: Floats
    error: Floats
    #: Whether the bar lacks the noise of minibatches, and is a lower bound.
    at_least: bool = False
    #: From this step on the training is no longer the one that was forecast; None while it is.
    void_from: int | None = None
    #: Why.
    reason: str = ""

    def compared(self, learned: Floats) -> Booleans:
        """Which components it is answerable for: forecast, learned later, and before it was void.

        A component forecast never to be learned is judged where it is learned.
        """
        end = math.inf if self.void_from is None else self.void_from
        return (learned > self.made_at) & (learned < end) & ~np.isnan(self.half_times)

    def inside(self, learned: Floats) -> Booleans:
        """Where a step at which a component was learned is one that the bar allows."""
        low, high = np.ceil(self.crossing - self.error), np.ceil(self.crossing + self.error)
        return (learned >= low) & (learned <= high)

    def phrase(self, k: int, learned: float) -> str:
        """What it says of a component, and how it came out; "" where it says nothing."""
        if learned <= self.made_at or math.isnan(self.half_times[k]):
            return ""
        void = self.void_from is not None and not learned < self.void_from
        if math.isinf(self.half_times[k]):
            text = f"at {self.made_at}: never"
        else:
            bar = self.error[k]
            bar_text = f"{bar:.2g}" if bar < 10 else f"{bar:.0f}"
            bound = "at least " if self.at_least else ""
            text = f"at {self.made_at}: {steps_text(self.half_times[k], 0)} +- {bound}{bar_text}"
        if void:
            return f"{text} (void from {self.void_from})"
        if math.isfinite(learned) and math.isfinite(self.half_times[k]):
            return f"{text} (off by {self.half_times[k] - learned:+.0f})"
        return text
