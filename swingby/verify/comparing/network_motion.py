"""Whether recorded weights move as it is stated that they are trained; if not, as what."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from swingby.errors import InvalidInput
from swingby.theory.law.descent_flow import Descent
from swingby.theory.law.descent_law import products_at
from swingby.theory.numbers import Floats, Integers
from swingby.verify.network_input import LOSSES
from swingby.verify.network_schedule import NetworkSchedule

#: W is looked at where it has gone this share of its way.
_LOOK = 0.1
#: Distances from the stated motion, as a share of it, that noise and rounding leave, and that a
#: mistake may leave which explains it.
_NOISE, _EXPLAINED = 0.05, 0.02
#: Paces nearer to the stated one than this factor may be noise of minibatches.
_NEAR = 1.3
#: Paces that are tried, by steps so much finer, then near the best.
_PACES, _CLOSER, _FINER = np.geomspace(1e-4, 1e4, 321), (1.4, 1.4, 1.2, 1.1, 1.03, 1.005), 1e-4
#: Distance of the weights from those of training by a rule, at times.
_Apart = Callable[..., Floats]
_MOMENTA = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99)


def require_network_motion(
    schedule: NetworkSchedule, products: Floats, steps: Integers, n: int, *, dated: bool
) -> tuple[str, ...]:
    """Warnings about weights that move otherwise; InvalidInput where a mistake explains it.

    `products` (n, q, p): W at steps. `n`: samples, of a minibatch if there are any; 1 of a task.
    `dated`: whether steps were given.
    """
    way = np.linalg.norm(products - products[0], axis=(1, 2))
    if not way.max() > 0:
        return ("the weights are the same at every step",)
    look = int(np.argmax(way >= _LOOK * way.max()))
    W, end = products[look], float(steps[look] - steps[0])

    def apart(rule: Descent, *times: float) -> Floats:
        """Distance from W of training by a rule at times, as a share of its way."""
        predicted = products_at(
            schedule.start, schedule.modes, rule, np.array(times), schedule.budget
        )
        return np.asarray(np.linalg.norm(predicted - W, axis=(1, 2)) / way[look])

    rule = schedule.rule
    off = float(apart(rule, end)[0])
    if off <= _NOISE:
        return ()
    # By steps that are much finer first: those of a wrong lr may diverge.
    slow = replace(rule, lr=rule.lr * _FINER)
    stretch, _ = _nearest(_PACES, apart(slow, *(_PACES * end / _FINER)))
    pace, best = _pace(apart, rule, end, stretch)
    mistakes = [
        text
        for text, other, time in _mistakes(schedule, apart, stretch, end, n, dated=dated)
        if apart(other, time)[0] <= _EXPLAINED
    ]
    if best <= _EXPLAINED and (math.isnan(off) or abs(math.log(pace)) > math.log(_NEAR)):
        mistakes.append(f"lr near {rule.lr * pace:.3g}")
    if mistakes and schedule.batch is None:
        got = f"weights that are elsewhere at step {steps[look]}"
        words = f"must be that of the run: give {' or '.join(mistakes)}"
        raise InvalidInput("the stated training", got, words)
    if math.isnan(off):
        return ()
    text = f"from step {steps[0]} to {steps[look]} the weights are off the stated training by "
    text += f"{100 * off:.2g} % of their way"
    if best <= _EXPLAINED:
        text += f"; they move {pace:.3g} times as fast"
    elif schedule.batch is None:
        text += ": minibatches (batch=), another loss, optimizer, schedule or data?"
    return (text,)


def _pace(apart: _Apart, rule: Descent, end: float, pace: float) -> tuple[float, float]:
    """The multiple of lr that comes nearest to where the weights are, and how far it is off."""
    best = math.inf
    for closer in _CLOSER:
        paces = np.geomspace(1 / closer, closer, 61)
        factor, best = _nearest(paces, apart(replace(rule, lr=rule.lr * pace), *(paces * end)))
        pace *= factor if math.isfinite(best) else 1.0
    return pace, best


def _nearest(values: Floats, distances: Floats) -> tuple[float, float]:
    """The value of the smallest distance, and this; nan is far."""
    distances = np.nan_to_num(distances, nan=math.inf)
    return float(values[distances.argmin()]), float(distances.min())


def _mistakes(
    schedule: NetworkSchedule, apart: _Apart, stretch: float, end: float, n: int, *, dated: bool
) -> Iterator[tuple[str, Descent, float]]:
    """What may have been typed in place of the truth, its rule of training, and the time."""
    rule = schedule.rule
    if schedule.task is None:
        for name, multiple in LOSSES.items():
            if name != schedule.loss:
                other = replace(rule, multiple=multiple(n, schedule.widths[-1]))
                yield f'loss="{name}"', other, end
    for momentum in _MOMENTA:
        if momentum != rule.momentum:
            nesterov = rule.nesterov and momentum > 0
            other = replace(rule, momentum=momentum, nesterov=nesterov)
            yield f"momentum={momentum:g}", other, end
    if rule.decay:
        yield "weight_decay=0", replace(rule, decay=0.0), end
    strides = np.unique(np.round(stretch * np.geomspace(0.4, 4, 301)))
    if not dated and strides[-1] > 1:
        stride = _nearest(strides, apart(rule, *(strides * end)))[0]
        yield f"every={stride:.0f}", rule, end * stride
