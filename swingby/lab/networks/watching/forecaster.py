"""Makes forecasts of a training as it stands: by the law of linear chains, or by coarse copies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from swingby.lab.networks.watching.chain_law import Chain, chain_half_times, chain_spread
from swingby.lab.networks.watching.coarse_copy import CopyPlan, copied_half_times, noisy_half_times
from swingby.lab.networks.watching.grades import chain_order, in_order, layers_of, loss_multiple
from swingby.lab.networks.watching.gradient_check import GradientCheck
from swingby.lab.networks.watching.mode_forecast import ModeForecast
from swingby.lab.networks.watching.observer import Observer, quiet_copy
from swingby.lab.networks.watching.update_rule import LearningRates, group_rules, is_sgd
from swingby.theory.law.batch_noise import DEVIATIONS
from swingby.theory.law.descent_flow import Descent
from swingby.theory.numbers import Floats

#: Copies that are tried, coarse first: steps after which a step is twice as long in the middle
#: one, and the longest step. The next is tried where bars are above a part of the wait. Under Adam
#: the coarsest may agree and be wrong by a tenth: its first steps are those of signs.
_COPIES = ((24.0, 720.0), (72.0, 360.0), (216.0, 180.0))
_COPIES_OF_ADAM = ((72.0, 360.0), (216.0, 180.0))
#: A step of Adam costs so many times its gradient, which is what a copy costs.
_ADAM_STEP = 1.5
#: Finer copies are tried where bars are above a part of the wait, and so many steps.
_WIDE, _WIDE_STEPS = 0.01, 2.0
#: Bars of copies: in units of what three copies differ by, and beside that so many steps and such
#: a part of the wait. Measured by ``python -m benchmarks.watching --copies``.
_COPY_FACTOR, _COPY_STEPS, _COPY_PART = 2.0, 0.6, 1e-3
#: A bar above this part of the wait is no forecast.
_HOPELESS = 0.5
#: Copies of fewer gradients forecast nothing.
LEAST_GRADIENTS = 150
#: Up to so many points a step costs about the same.
_FEW_POINTS = 256
#: Points up to which copies begin before a step shows whether it is on all of them.
MANY_POINTS = 2048


@dataclass(frozen=True)
class Outlook:
    """What forecasts are made for, beside the state of the training."""

    observer: Observer
    check: GradientCheck
    level: float
    #: Steps after which nothing is looked for, and the part of them that gradients may amount to.
    horizon: float
    share: float
    schedule: Any = None
    every: int = 1

    @property
    def budget(self) -> int:
        """Gradients that a forecast may take."""
        return max(int(self.share * self.horizon), 1)


def affordable(outlook: Outlook) -> int:
    """Gradients at all points that a forecast may take: each is worth n / B steps on B points."""
    batch, n = outlook.check.batch, len(outlook.observer.X)
    points = n if batch is None else max(batch, _FEW_POINTS)
    return int(outlook.budget * min(1.0, points / max(n, 1)))


def made_forecast(
    outlook: Outlook, optimizer: Any, step: int, *, lawful: bool
) -> tuple[ModeForecast, int]:
    """A forecast from the state of now, and how many gradients it took."""
    observer, check = outlook.observer, outlook.check
    rates = LearningRates(optimizer, step, outlook.schedule, outlook.every)
    summed = check.summed() if check.batch is not None else False
    plan = CopyPlan(
        outlook.level, check.scale, check.clip, outlook.horizon, rates, step, check.batch, summed
    )
    grade, spent = "copy", 0
    times = bars = np.full(len(observer.data), math.nan)
    if lawful:
        chain = chain_of(observer, optimizer, check.scale)
        times, bars = chain_half_times(
            chain, observer.data, level=outlook.level, horizon=outlook.horizon
        )
        grade = "law"
    if (not lawful or np.isnan(times).any()) and affordable(outlook) >= LEAST_GRADIENTS:
        copied, copied_bars, spent = _from_copies(outlook, optimizer, plan)
        # Where the budget of the law ends before a copy does, all is the copy's.
        if not lawful or np.isfinite(copied[np.isnan(times)]).any():
            times, bars, grade = copied, copied_bars, "copy"
    at_least = False
    if check.batch is not None and check.batch < len(observer.X):
        if grade == "law":
            at_least = check.epoch is not None
            shift, noise = _of_batches(chain, outlook, times)
        elif affordable(outlook) >= LEAST_GRADIENTS:
            shift, noise, more = noisy_half_times(
                observer, optimizer, plan, times, affordable(outlook)
            )
            spent += more
        else:
            at_least, shift, noise = True, np.zeros(len(times)), np.zeros(len(times))
        waiting = np.isfinite(times) & (times > 0)
        times = np.where(waiting, np.maximum(times + shift, 0.0), times)
        # Half-times go as 1 / multiple.
        noise = noise + check.uncertainty / (1 - min(check.uncertainty, 0.5)) * times
        bars = np.where(waiting, bars + noise, bars)
        times = np.where(np.isfinite(bars), times, math.nan)
    bars = np.where(np.isfinite(bars), bars, 0.0)
    crossing = step + times
    forecast = ModeForecast(grade, step, np.ceil(crossing), crossing, bars, at_least=at_least)
    return forecast, spent


def _of_batches(chain: Chain, outlook: Outlook, times: Floats) -> tuple[Floats, Floats]:
    """Mean delay of times by the law in minibatches, and the half-widths of their bars."""
    observer, check = outlook.observer, outlook.check
    assert check.batch is not None
    X, Y = layers_of((observer.X, observer.Y))
    delay, deviation = chain_spread(
        chain,
        observer.data,
        X,
        Y,
        times,
        batch=check.batch,
        replacement=check.epoch is None,
        summed=check.summed(),
    )
    return delay, DEVIATIONS * deviation


def chain_of(observer: Observer, optimizer: Any, scale: float) -> Chain:
    """The linear chain that a model is, with the state of its training."""
    parameters = list(observer.model.parameters())
    rule = group_rules(optimizer)[0]
    buffers = [optimizer.state.get(entry, {}).get("momentum_buffer") for entry in parameters]
    order, velocity = chain_order(quiet_copy(observer.model), observer.X), None
    if rule.momentum and all(entry is not None for entry in buffers):
        velocity = tuple(-layer for layer in in_order(buffers, order))
    multiple = loss_multiple(observer.loss, observer.Y)
    assert multiple is not None
    lr, momentum, decay = rule.lr, rule.momentum, rule.weight_decay
    return Chain(
        layers=in_order(parameters, order),
        velocity=velocity,
        rule=Descent(lr, scale * multiple, momentum, rule.nesterov, decay),
        spacing=float(torch.finfo(parameters[0].dtype).eps),
    )


def _from_copies(outlook: Outlook, optimizer: Any, plan: CopyPlan) -> tuple[Floats, Floats, int]:
    """Times and bars of the first copies that agree, within the budget."""
    quiet = CopyPlan(**{**vars(plan), "batch": None})
    best, spent = None, 0
    sgd = is_sgd(optimizer)
    budget = int(affordable(outlook) * (1 if sgd else _ADAM_STEP))
    for grain, longest in _COPIES if sgd else _COPIES_OF_ADAM:
        copied = copied_half_times(
            outlook.observer, optimizer, quiet, grain, longest, budget - spent
        )
        spent += copied.gradients
        bars = _COPY_FACTOR * copied.differences + _COPY_STEPS + _COPY_PART * copied.times
        if best is None or _quality(copied.times, bars) >= _quality(*best):
            best = copied.times, bars
        # Finer ones where copies disagree, as long as they may get as far.
        disputed = np.isinf(copied.differences) | (bars > _WIDE * copied.times + _WIDE_STEPS)
        if not disputed.any() or 2 * copied.gradients > budget - spent:
            break
    assert best is not None
    times, bars = best
    bars = np.where(times == 0, 0.0, bars)
    times = np.where(bars <= _HOPELESS * np.nan_to_num(times) + _WIDE_STEPS, times, math.nan)
    return times, bars, spent


def _quality(times: Floats, bars: Floats) -> float:
    """More for more times, and for narrower bars among as many."""
    finite = np.isfinite(times) & np.isfinite(bars)
    width = float((bars[finite] / (times[finite] + 1)).max(initial=0.0))
    return float(finite.sum()) - width / (1 + width)
