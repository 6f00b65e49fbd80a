r"""Half-times of any network, from coarse copies of its own training.

The network and the rule of its optimizer, on a copy, in steps :math:`1 + h \min(t / g, k)` times as
long after t steps, for h = 2, 1 and 1/2; their errors are linear in h to leading order, so the last
two are extrapolated to 0, and the first says how much that is worth. No theory stands behind a
copy: it is a cheaper run of the same training, on all points at once.

A step of length k has the learning rate k lr. The memory :math:`\beta` of momentum and of Adam's
two averages becomes :math:`\beta_k` with :math:`\beta_k / (1 - \beta_k) = \beta / (1 - \beta) / k`,
which keeps the mean lag exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from swingby.lab.networks.watching.observer import Observer, quiet_copy, traceless
from swingby.lab.networks.watching.update_rule import (
    GroupRule,
    LearningRates,
    group_rules,
    is_sgd,
)
from swingby.theory.numbers import Floats

#: What the excess over a step of 1 is multiplied by, in the three copies.
_COARSENESS = (2.0, 1.0, 0.5)
#: Copies with noise, and Student's factor for 95 % of a further one.
_NOISY_COPIES, _QUANTILE = 5, 3.04
#: Steps on so many times all points are taken without noise.
_ALL = 20.0


@dataclass(frozen=True)
class CopyPlan:
    """What copies are made of: the multiple of the loss, clipping, the level and the rates."""

    level: float
    #: Gradients of the training are so many times those of the loss.
    scale: float
    #: The norm to which gradients are clipped, or inf.
    clip: float
    #: Steps after which no copy looks.
    horizon: float
    rates: LearningRates
    #: Steps since the training began.
    step: int
    #: Points in a minibatch, or None where every step is on all; and whether the loss is a sum
    #: over points.
    batch: float | None = None
    summed: bool = False


def copied_half_times(
    observer: Observer, optimizer: Any, plan: CopyPlan, grain: float, longest: float, budget: int
) -> tuple[Floats, Floats, int]:
    """Steps from now to each crossing of the level, their bars, and gradients that it took.

    nan where a copy does not get there.
    """
    results, spent = [], 0
    for coarseness in _COARSENESS:
        copy = _CoarseRun(observer, optimizer, plan)
        results.append(copy.crossings(grain, longest, coarseness, budget - spent))
        spent += copy.gradients
    coarse, middle, fine = results
    rough, times = 2 * middle - coarse, 2 * fine - middle
    bars = np.abs(times - rough)
    return np.where(np.isfinite(bars), times, np.nan), bars, spent


def noisy_half_times(
    observer: Observer, optimizer: Any, plan: CopyPlan, grain: float, longest: float, budget: int
) -> tuple[Floats, Floats, int]:
    """What minibatches do to half-times: mean shift, half-width of 95 % of orders, gradients.

    Copies with noise, against a copy without. A step of length k stands for k minibatches of B
    points: it is taken on k B points, drawn with replacement. (Reshuffled epochs are quieter.)
    """
    without = replace(plan, batch=None)
    reference = _CoarseRun(observer, optimizer, without)
    quiet = reference.crossings(grain, longest, 1.0, budget)
    spent, runs = reference.gradients, []
    for seed in range(_NOISY_COPIES):
        copy = _CoarseRun(observer, optimizer, plan, torch.Generator().manual_seed(seed))
        runs.append(copy.crossings(grain, longest, 1.0, budget))
        spent += copy.gradients
    shifts = np.array(runs) - quiet
    return shifts.mean(axis=0), _QUANTILE * shifts.std(axis=0, ddof=1), spent


class _CoarseRun:
    """One copy of a network and of the averages of its optimizer."""

    def __init__(
        self, observer: Observer, optimizer: Any, plan: CopyPlan, noise: Any = None
    ) -> None:
        self.observer, self.plan, self.noise = observer, plan, noise
        self.rules = group_rules(optimizer)
        self.sgd = is_sgd(optimizer)
        originals = [
            [entry for entry in group["params"] if entry.requires_grad]
            for group in optimizer.param_groups
        ]
        self.net = quiet_copy(observer.model)
        self.groups = [observer.twin_parameters(group, self.net) for group in originals]
        self.parameters = [entry for group in self.groups for entry in group]
        states = [optimizer.state.get(entry, {}) for group in originals for entry in group]
        self.buffers = self._averages(states, "momentum_buffer" if self.sgd else "exp_avg")
        self.squares = [] if self.sgd else self._averages(states, "exp_avg_sq")
        self.updates = float(states[0].get("step", 0.0)) if states and not self.sgd else 0.0
        self.gradients = 0

    def _averages(self, states: Sequence[Any], name: str) -> list[Any]:
        return [
            torch.zeros_like(entry) if state.get(name) is None else state[name].detach().clone()
            for state, entry in zip(states, self.parameters, strict=True)
        ]

    def crossings(self, grain: float, longest: float, coarseness: float, budget: int) -> Floats:
        """Steps from now at which each share crosses the level; nan where it does not."""
        plan, t = self.plan, 0.0
        with traceless():
            times = before = np.full(len(self.observer.data), math.nan)
            t_before = 0.0
            while self.gradients < budget:
                length = 1 + coarseness * min(t / grain, longest)
                shares, gradients = self._evaluated(length)
                if not t:
                    times = np.where(shares >= plan.level, 0.0, np.nan)
                else:
                    crossed = np.isnan(times) & (shares >= plan.level)
                    part = _between(before, shares, plan.level)
                    times[crossed] = (t_before + part * (t - t_before))[crossed]
                if not np.isnan(times).any() or t > plan.horizon or not np.isfinite(shares).all():
                    break
                before, t_before = shares, t
                self._move(gradients, t, length)
                t += length
        return np.asarray(times)

    def _evaluated(self, length: float) -> tuple[Floats, list[Any]]:
        """Shares of now, and the gradients as the optimizer would be given them."""
        observer, plan = self.observer, self.plan
        self.gradients += 1
        n = len(observer.X)
        if plan.batch is None or plan.batch * length >= _ALL * n:
            outputs = self.net(observer.X)
            shares, loss = observer.shares_of(outputs), observer.loss(outputs, observer.Y)
        else:
            with torch.no_grad():
                shares = observer.shares_of(self.net(observer.X))
            count = max(round(plan.batch * length), 1)
            rows = torch.randint(n, (count,), generator=self.noise).to(observer.X.device)
            loss = observer.loss(self.net(observer.X[rows]), observer.Y[rows])
            if plan.summed:
                loss = loss * (n / count)
        raw = torch.autograd.grad(loss, self.parameters, allow_unused=True)
        gradients = [
            torch.zeros_like(entry) if value is None else plan.scale * value
            for value, entry in zip(raw, self.parameters, strict=True)
        ]
        if math.isfinite(plan.clip):
            norm = float(torch.linalg.vector_norm(torch.stack([g.norm() for g in gradients])))
            if norm > plan.clip:
                gradients = [value * (plan.clip / norm) for value in gradients]
        return shares, gradients

    def _move(self, gradients: list[Any], t: float, length: float) -> None:
        """One step of some length."""
        begin = self.plan.step + t
        rates = self.plan.rates.mean(begin, begin + length)
        self.updates += length
        move = self._sgd if self.sgd else self._adam
        index = 0
        with torch.no_grad():
            for group, rule, lr in zip(self.groups, self.rules, rates, strict=True):
                for entry in group:
                    move(index, entry, gradients[index], rule, float(lr), length)
                    index += 1

    def _sgd(
        self, index: int, entry: Any, gradient: Any, rule: GroupRule, lr: float, length: float
    ) -> None:
        if rule.weight_decay:
            gradient = gradient + rule.weight_decay * entry
        m = rule.momentum
        if m:
            memory = _memory(m, length)
            buffer = self.buffers[index]
            buffer.mul_(memory).add_(gradient, alpha=(1 - memory) / (1 - m))
            gradient = gradient + m * buffer if rule.nesterov else buffer
        entry.add_(gradient, alpha=-lr * length)

    def _adam(
        self, index: int, entry: Any, gradient: Any, rule: GroupRule, lr: float, length: float
    ) -> None:
        if rule.decoupled:
            entry.mul_((1 - lr * rule.weight_decay) ** length)
        elif rule.weight_decay:
            gradient = gradient + rule.weight_decay * entry
        first, second = rule.betas
        memory, memory_of_squares = _memory(first, length), _memory(second, length)
        mean, square = self.buffers[index], self.squares[index]
        mean.mul_(memory).add_(gradient, alpha=1 - memory)
        square.mul_(memory_of_squares).addcmul_(gradient, gradient, value=1 - memory_of_squares)
        root = (square / (1 - second**self.updates)).sqrt().add_(rule.eps)
        entry.addcdiv_(mean / (1 - first**self.updates), root, value=-lr * length)


def _memory(beta: float, length: float) -> float:
    """The memory of an average in steps of some length, with the same mean lag."""
    lag = beta / (1 - beta) / length
    return lag / (1 + lag)


def _between(before: Floats, after: Floats, level: float) -> Floats:
    """The part of a stretch after which shares that grow logistically cross the level."""
    low, high = (np.clip(values, 1e-12, 1 - 1e-6) for values in (before, after))
    rise = _logit(high) - _logit(low)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = (math.log(level / (1 - level)) - _logit(low)) / rise
    return np.asarray(np.clip(np.where(np.isfinite(part), part, 1.0), 0.0, 1.0))


def _logit(shares: Floats) -> Floats:
    return np.log(shares / (1 - shares))
