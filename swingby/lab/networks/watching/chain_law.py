"""Half-times of a chain of linear layers in training, by the law of any data, with their bars.

The law is :mod:`swingby.theory.law.descent_law`, from the layers and the velocity of now. A bar is
the difference to a coarser path, what both leave out, and what rounding to the floats of the
training may move.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from swingby.lab.networks.watching.components import Components
from swingby.theory.law.batch_noise import batch_spread
from swingby.theory.law.descent_flow import Descent
from swingby.theory.law.descent_law import amplified_rounding, mode_times, principal
from swingby.theory.law.descent_path import COARSE, FINE
from swingby.theory.law.rounding import parts_beside, rounding_bars
from swingby.theory.numbers import Floats

#: Gradients that a forecast may take, about a second.
_GRADIENTS = 60_000
#: The coarser path may take so many times as long, so that it gets as far.
_FARTHER = 1.1
#: Bars are at least so many steps, and so many per step.
_LEAST_BAR, _RELATIVE_BAR = 0.01, 1e-6


@dataclass(frozen=True)
class Chain:
    """A linear chain in training: its layers now, and the rule of its steps."""

    #: W_1, ..., W_L, first applied first.
    layers: tuple[Floats, ...]
    #: Minus the momentum buffer of each layer, or None before the first step.
    velocity: tuple[Floats, ...] | None
    rule: Descent
    #: Spacing of the floats of the weights, around 1.
    spacing: float = 2.0**-52


def chain_half_times(
    chain: Chain, data: Components, *, level: float, horizon: float
) -> tuple[Floats, Floats]:
    """Steps from now at which each a_k crosses `level`, as real numbers, and their bars.

    0 where it is above already, inf where it comes to rest below, and nan beyond the horizon or
    the budget.
    """
    options: dict[str, Any] = {
        "gradients": _GRADIENTS,
        "velocity": chain.velocity,
        "level": level,
        "to_rest": False,
    }
    fine, coarse = (
        mode_times(
            chain.layers, data.modes, chain.rule, accuracy=accuracy, longest=longest, **options
        )
        for accuracy, longest in ((FINE, horizon), (COARSE, _FARTHER * horizon))
    )
    times, rough = fine.first, coarse.first
    parts = parts_beside(chain.layers, times)
    with np.errstate(invalid="ignore"):
        bars = np.abs(times - rough) + _RELATIVE_BAR * times + _LEAST_BAR
    bars += rounding_bars(times, parts, chain.spacing)
    bars += amplified_rounding(
        fine,
        chain.layers,
        data.modes,
        chain.rule,
        spacing=chain.spacing,
        longest=horizon,
        **options,
    )[0]
    # What only one of both paths sees, or rounding decides, is undecided.
    never = np.isinf(times) & np.isinf(rough)
    times = np.where(never | (np.isfinite(bars) & (times <= horizon)), times, np.nan)
    return times, np.where(np.isfinite(times) & (times > 0), bars, 0.0)


def chain_spread(
    chain: Chain,
    data: Components,
    X: Floats,
    Y: Floats,
    times: Floats,
    *,
    batch: float,
    replacement: bool,
    summed: bool,
) -> tuple[Floats, Floats]:
    """Mean delay and standard deviation of times from now, by the order of minibatches."""
    state, modes = principal(chain.layers, data.modes, chain.velocity)
    return batch_spread(
        state.layers,
        X @ data.modes.directions,
        Y,
        modes,
        chain.rule,
        times,
        batch=batch,
        replacement=replacement,
        summed=summed,
        velocity=state.velocity,
    )
