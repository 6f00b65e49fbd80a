r"""Half-times of any network, from coarse copies of its own training.

The network and the rule of its optimizer, on a copy, in steps :math:`1 + h \min(t / g, k)` times as
long after t steps, for h = 2, 1 and 1/2; their errors are linear in h to leading order, so the last
two are extrapolated to 0, and the first says how much that is worth. Where the loss of the first
rises, its step is taken back, and k is less for all three from there on. No theory stands behind a
copy: it is a cheaper run of the same training, on all points at once.

A step of length k has the learning rate k lr. The memory :math:`\beta` of momentum and of Adam's
two averages becomes :math:`\beta_k` with :math:`\beta_k / (1 - \beta_k) = \beta / (1 - \beta) / k`,
which keeps the mean lag exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from swingby.lab.networks.watching.observer import Observer, quiet_copy, traceless
from swingby.lab.networks.watching.update_rule import (
    GroupRule,
    LearningRates,
    group_rules,
    is_sgd,
    parameters_of,
)
from swingby.theory.numbers import Floats

#: What the excess over a step of 1 is multiplied by, in the three copies.
_COARSENESS = (2.0, 1.0, 0.5)
#: Grain and longest step of the copies with noise, which are compared with each other.
_NOISY_GRAIN, _NOISY_LONGEST = 24.0, 60.0
#: Copies with noise, and Student's factor for 95 % of a further one.
_NOISY_COPIES, _QUANTILE = 5, 3.04
#: By how much the loss may rise in a step of the first copy, and excesses that are not halved.
_RISE, _LEAST_EXCESS = 1.01, 0.5
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


class Copied(NamedTuple):
    """What three copies say."""

    #: Steps from now to each crossing of the level, nan where not all copies get there.
    times: Floats
    #: What the two extrapolations differ by; inf where only some get there, nan where none does.
    differences: Floats
    gradients: int


def copied_half_times(
    observer: Observer, optimizer: Any, plan: CopyPlan, grain: float, longest: float, budget: int
) -> Copied:
    """Steps from now to each crossing of the level, extrapolated from three copies.

    They end together: the first takes a seventh of the budget, as the others take twice and four
    times as many gradients.
    """
    results, spent = [], 0
    pace, shorter = _Pace(grain, [(0.0, longest)]), plan
    for coarseness in _COARSENESS:
        copy = _CoarseRun(observer, optimizer, shorter)
        adapts = coarseness == _COARSENESS[0]
        most = budget // 7 if adapts else budget - spent
        results.append(copy.crossings(pace, coarseness, most, adapts=adapts))
        spent += copy.gradients
        if adapts and np.isnan(results[0]).any():
            shorter = replace(plan, horizon=copy.end)
    coarse, middle, fine = results
    rough, times = 2 * middle - coarse, 2 * fine - middle
    differences = np.abs(times - rough)
    count = np.isfinite(results).sum(axis=0)
    differences = np.where(count == 3, differences, np.where(count > 0, np.inf, np.nan))
    return Copied(np.where(count == 3, times, np.nan), differences, spent)


def noisy_half_times(
    observer: Observer, optimizer: Any, plan: CopyPlan, times: Floats, budget: int
) -> tuple[Floats, Floats, int]:
    """What minibatches do to half-times: mean shift, half-width of 95 % of orders, gradients.

    Copies with noise, against a copy without. A step of length k stands for k minibatches of B
    points: it is taken on k B points, drawn with replacement. (Reshuffled epochs are quieter.)
    Components that are not reached within the budget have the largest part of the wait that those
    reached have; nan where none is.
    """
    each = budget // (1 + _NOISY_COPIES)
    without = replace(plan, batch=None)
    reference = _CoarseRun(observer, optimizer, without)
    pace = _Pace(_NOISY_GRAIN, [(0.0, _NOISY_LONGEST)])
    quiet = reference.crossings(pace, 1.0, each, adapts=True)
    spent, runs = reference.gradients, []
    for seed in range(_NOISY_COPIES):
        copy = _CoarseRun(observer, optimizer, plan, torch.Generator().manual_seed(seed))
        runs.append(copy.crossings(pace, 1.0, each))
        spent += copy.gradients
    shifts = np.array(runs) - quiet
    shift, noise = shifts.mean(axis=0), _QUANTILE * shifts.std(axis=0, ddof=1)
    reached = np.isfinite(noise) & (quiet > 0)
    if reached.any():
        largest = float((noise[reached] / quiet[reached]).max())
        noise = np.where(np.isnan(noise), largest * times, noise)
        shift = np.where(np.isnan(shift), 0.0, shift)
    return shift, noise, spent


@dataclass(frozen=True)
class _Pace:
    """How long steps are: the excess over 1 for h = 1, and how much it may be from when on."""

    grain: float
    #: Steps and the longest excess from there on; grows as the first copy finds steps too long.
    limits: list[tuple[float, float]]

    def excess(self, t: float) -> float:
        """By how much the step at t is longer than 1."""
        longest = next(limit for begin, limit in reversed(self.limits) if begin <= t)
        return min(t / self.grain, longest)


@dataclass(frozen=True)
class _FlatGroup:
    """Parameters with one rule, and their averages, side by side; steps write into the tensors."""

    group: int
    rule: GroupRule
    parameters: list[Any]
    values: Any
    #: Of gradients (momentum, or Adam's first), and of their squares.
    average: Any
    squares: Any


class _CoarseRun:
    """One copy of a network and of the averages of its optimizer."""

    def __init__(
        self, observer: Observer, optimizer: Any, plan: CopyPlan, noise: Any = None
    ) -> None:
        self.observer, self.plan, self.noise = observer, plan, noise
        self.sgd = is_sgd(optimizer)
        self.net = quiet_copy(observer.model)
        self.blocks = self._blocks(optimizer)
        self.parameters = [entry for block in self.blocks for entry in block.parameters]
        states = [optimizer.state.get(entry, {}) for entry in parameters_of(optimizer)]
        self.updates = max((float(state.get("step", 0.0)) for state in states), default=0.0)
        #: Gradients that were taken, and the step up to which it went.
        self.gradients, self.end = 0, 0.0

    def _blocks(self, optimizer: Any) -> list[_FlatGroup]:
        """The parameters of each group and kind of float, side by side in one tensor."""
        blocks = []
        for index, (group, rule) in enumerate(
            zip(optimizer.param_groups, group_rules(optimizer), strict=True)
        ):
            originals = [entry for entry in group["params"] if entry.requires_grad]
            kinds = dict.fromkeys((entry.dtype, entry.device) for entry in originals)
            for kind in kinds:
                alike = [entry for entry in originals if (entry.dtype, entry.device) == kind]
                mine = self.observer.twin_parameters(alike, self.net)
                values = torch.cat([entry.detach().reshape(-1) for entry in mine])
                begin = 0
                for entry in mine:
                    entry.data = values[begin : begin + entry.numel()].view_as(entry)
                    begin += entry.numel()
                states = [optimizer.state.get(entry, {}) for entry in alike]
                average = _side_by_side(states, "momentum_buffer" if self.sgd else "exp_avg", mine)
                squares = _side_by_side(states, "exp_avg_sq", mine)
                blocks.append(_FlatGroup(index, rule, mine, values, average, squares))
        return blocks

    def crossings(
        self, pace: _Pace, coarseness: float, budget: int, *, adapts: bool = False
    ) -> Floats:
        """Steps from now at which each share crosses the level; nan where it does not.

        `adapts`: steps in which the loss rises are halved, for later copies as well.
        """
        plan, t = self.plan, 0.0
        with traceless():
            times = before = np.full(len(self.observer.data), math.nan)
            t_before, loss_before, state = 0.0, math.inf, self._state()
            while self.gradients < budget:
                length = 1 + coarseness * pace.excess(t)
                shares, loss, gradients = self._evaluated(length)
                excess = (t - t_before - 1) / coarseness
                if adapts and excess > _LEAST_EXCESS and not loss <= _RISE * loss_before:
                    pace.limits.append((t_before, excess / 2))
                    self._restore(state)
                    t, loss_before = t_before, math.inf
                    continue
                self.end = t
                if not t:
                    times = np.where(shares >= plan.level, 0.0, np.nan)
                else:
                    crossed = np.isnan(times) & (shares >= plan.level)
                    if crossed.any():
                        share = _between(before, shares, plan.level)
                        times[crossed] = (t_before + share * (t - t_before))[crossed]
                if not np.isnan(times).any() or t > plan.horizon or not np.isfinite(shares).all():
                    break
                before, t_before, loss_before = shares, t, loss
                state = self._state() if adapts else state
                self._move(gradients, t, length)
                t += length
        return np.asarray(times)

    def _state(self) -> tuple[Any, ...]:
        """Parameters and averages, to come back to."""
        tensors = [(block.values, block.average, block.squares) for block in self.blocks]
        return self.updates, [[entry.clone() for entry in block] for block in tensors]

    def _restore(self, state: tuple[Any, ...]) -> None:
        self.updates, tensors = state
        with torch.no_grad():
            for block, entries in zip(self.blocks, tensors, strict=True):
                for mine, entry in zip(
                    (block.values, block.average, block.squares), entries, strict=True
                ):
                    mine.copy_(entry)

    def _evaluated(self, length: float) -> tuple[Floats, float, list[Any]]:
        """Shares and loss of now, and the gradients as the optimizer would be given them."""
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
        filled = [
            torch.zeros_like(entry) if value is None else value
            for value, entry in zip(raw, self.parameters, strict=True)
        ]
        gradients, begin = [], 0
        for block in self.blocks:
            end = begin + len(block.parameters)
            flat = torch.cat([value.reshape(-1) for value in filled[begin:end]])
            gradients.append(flat.mul_(plan.scale))
            begin = end
        if math.isfinite(plan.clip):
            norm = math.sqrt(sum(float(flat.double().square().sum()) for flat in gradients))
            if norm > plan.clip:
                gradients = [flat * (plan.clip / norm) for flat in gradients]
        return shares, float(loss.detach()), gradients

    def _move(self, gradients: list[Any], t: float, length: float) -> None:
        """One step of some length."""
        begin = self.plan.step + t
        rates, memories = self.plan.rates.mean(begin, begin + length)
        self.updates += length
        move = self._sgd if self.sgd else self._adam
        with torch.no_grad():
            for block, gradient in zip(self.blocks, gradients, strict=True):
                rate, memory = float(rates[block.group]), float(memories[block.group])
                move(block, gradient, rate, memory, length)

    def _sgd(self, block: _FlatGroup, gradient: Any, lr: float, m: float, length: float) -> None:
        rule = block.rule
        if rule.weight_decay:
            gradient.add_(block.values, alpha=rule.weight_decay)
        if m:
            memory = _memory(m, length)
            block.average.mul_(memory).add_(gradient, alpha=(1 - memory) / (1 - m))
            gradient = gradient + m * block.average if rule.nesterov else block.average
        block.values.add_(gradient, alpha=-lr * length)

    def _adam(
        self, block: _FlatGroup, gradient: Any, lr: float, first: float, length: float
    ) -> None:
        rule = block.rule
        if rule.decoupled:
            block.values.mul_((1 - lr * rule.weight_decay) ** length)
        elif rule.weight_decay:
            gradient.add_(block.values, alpha=rule.weight_decay)
        second = rule.betas[1]
        memory, memory_of_squares = _memory(first, length), _memory(second, length)
        block.average.mul_(memory).add_(gradient, alpha=1 - memory)
        block.squares.mul_(memory_of_squares)
        block.squares.addcmul_(gradient, gradient, value=1 - memory_of_squares)
        root = (block.squares / (1 - second**self.updates)).sqrt_().add_(rule.eps)
        factor = -lr * length / (1 - first**self.updates)
        block.values.addcdiv_(block.average, root, value=factor)


def _side_by_side(states: Sequence[Any], name: str, parameters: Sequence[Any]) -> Any:
    """An average of the optimizer for all of some parameters; 0 where it has not begun."""
    averages = [
        torch.zeros_like(entry) if state.get(name) is None else state[name].detach()
        for state, entry in zip(states, parameters, strict=True)
    ]
    return torch.cat([average.reshape(-1) for average in averages])


def _memory(beta: float, length: float) -> float:
    """The memory of an average in steps of some length, with the same mean lag."""
    lag = beta / (1 - beta) / length
    return lag / (1 + lag)


def _between(before: Floats, after: Floats, level: float) -> Floats:
    """The part of a stretch after which shares that grow logistically cross the level."""
    low, high = (np.clip(values, 1e-12, 1 - 1e-6) for values in (before, after))
    rise = _logit(high) - _logit(low)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (math.log(level / (1 - level)) - _logit(low)) / rise
    return np.asarray(np.clip(np.where(np.isfinite(share), share, 1.0), 0.0, 1.0))


def _logit(shares: Floats) -> Floats:
    return np.log(shares / (1 - shares))
