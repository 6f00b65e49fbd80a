"""The rule of an optimizer's steps, read from its parameter groups; what schedules move."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from swingby.theory.numbers import Floats

#: Settings of a group that no forecast knows.
_UNKNOWN = ("dampening", "maximize", "amsgrad")


@dataclass(frozen=True)
class GroupRule:
    """Settings of one parameter group of SGD, Adam or AdamW."""

    lr: float
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.0, 0.0)
    eps: float = 0.0
    #: Decay that shrinks the weights (AdamW), not one that is added to the gradient.
    decoupled: bool = False

    @property
    def memory(self) -> float:
        """Momentum of SGD, or the first beta of Adam."""
        return self.momentum or self.betas[0]


def is_sgd(optimizer: Any) -> bool:
    """Whether its rule is that of torch's SGD."""
    return type(optimizer) is torch.optim.SGD


def group_rules(optimizer: Any) -> tuple[GroupRule, ...]:
    """The rule of each group, as its settings are now."""
    return tuple(
        GroupRule(
            lr=float(group["lr"]),
            momentum=float(group.get("momentum", 0.0)),
            nesterov=bool(group.get("nesterov", False)),
            weight_decay=float(group.get("weight_decay", 0.0)),
            betas=(float(betas[0]), float(betas[1])),
            eps=float(group.get("eps", 0.0)),
            decoupled=type(optimizer) is torch.optim.AdamW
            or bool(group.get("decoupled_weight_decay", False)),
        )
        for group in optimizer.param_groups
        for betas in [group.get("betas", (0.0, 0.0))]
    )


def parameters_of(optimizer: Any) -> list[Any]:
    """All parameters, group after group."""
    return [entry for group in optimizer.param_groups for entry in group["params"]]


def unknown_rule(optimizer: Any) -> str:
    """Why no coarse form of the optimizer's steps is known, or ""."""
    kind = type(optimizer)
    if kind not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        return f"no coarse form of the steps of {kind.__name__} is known"
    for group in optimizer.param_groups:
        for name in _UNKNOWN:
            if group.get(name):
                return f"the optimizer has {name}={group[name]}"
    return ""


class LearningRates:
    """Learning rates and momenta of all groups at the steps to come: as they are, or scheduled."""

    def __init__(self, optimizer: Any, step: int, schedule: Any = None, every: int = 1) -> None:
        self.constant = schedule is None
        self._now = _settings(optimizer)
        self._first = step
        self._ahead_of: list[Floats] = []
        self._sums = [np.zeros_like(self._now)]
        if hasattr(schedule, "get_last_lr"):
            self._ahead = _of_scheduler(schedule, self._now, step, every)
        else:
            self._ahead = _of_function(schedule, self._now, step)

    def at(self, step: int) -> Floats:
        """Rate and momentum of each group in the step after `step` steps, (2, groups)."""
        if self.constant or step < self._first:
            return self._now
        self._extend(step - self._first)
        return self._ahead_of[step - self._first]

    def mean(self, begin: float, end: float) -> Floats:
        """Their means, (2, groups), over a stretch of steps, whose ends may lie in steps."""
        if self.constant:
            return self._now
        return (self._total(end) - self._total(begin)) / (end - begin)

    def _total(self, end: float) -> Floats:
        steps = end - self._first
        count = int(steps)
        self._extend(count)
        return self._sums[count] + (steps - count) * self._ahead_of[count]

    def _extend(self, count: int) -> None:
        while len(self._ahead_of) <= count:
            # After the last step that a schedule knows its rate stays.
            settings = next(self._ahead, self._ahead_of[-1] if self._ahead_of else self._now)
            self._ahead_of.append(settings)
            self._sums.append(self._sums[-1] + settings)


def _settings(optimizer: Any) -> Floats:
    """Rate, and momentum or Adam's first beta, of each group: what schedulers of torch move."""
    rules = group_rules(optimizer)
    return np.array([[rule.lr for rule in rules], [rule.memory for rule in rules]])


def _of_function(schedule: Any, now: Floats, step: int) -> Iterator[Floats]:
    """Rates by a function of the step; a number is that of the first group."""
    first = now[0]
    for index in itertools.count(step):
        value = np.asarray(schedule(index), dtype=np.float64)
        scaled = first * (float(value) / first[0] if first[0] else 1.0) if not value.ndim else value
        yield np.array([scaled, now[1]])


def _of_scheduler(schedule: Any, now: Floats, step: int, every: int) -> Iterator[Floats]:
    """Settings by a copy of a scheduler of torch that takes a step every so many steps."""
    stand_in = torch.optim.SGD([{"params": [torch.zeros(1)], "lr": float(rate)} for rate in now[0]])
    for mine, theirs in zip(stand_in.param_groups, schedule.optimizer.param_groups, strict=True):
        mine.update({name: value for name, value in theirs.items() if name != "params"})
    # Copied now, not when the first rate is asked for: the scheduler moves on.
    twin = copy.deepcopy(schedule, {id(schedule.optimizer): stand_in})
    return _stepped(twin, stand_in, step, every)


def _stepped(twin: Any, stand_in: Any, step: int, every: int) -> Iterator[Floats]:
    for index in itertools.count(step):
        yield _settings(stand_in)
        if (index + 1) % every == 0:
            with warnings.catch_warnings():
                # Of an optimizer that has taken no step.
                warnings.simplefilter("ignore")
                try:
                    twin.step()
                except ValueError:  # a schedule of a fixed length is at its end
                    return
