"""Whether recorded weights move as it is stated that they are trained; if not, as what."""

from __future__ import annotations

import math
from collections.abc import Iterator
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
#: Paces that are tried, then near the best; steps so much finer stand in for training that diverges.
_PACES, _CLOSER, _FINER = np.geomspace(1e-4, 1e4, 321), (1.06, 1.002), 1e-4
_MOMENTA = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99)


def require_network_motion(
    schedule: NetworkSchedule, products: Floats, steps: Integers, n: int, *, dated: bool
) -> tuple[str, ...]:
    """Warnings about weights that move otherwise; InvalidInput where a mistake explains it.

    `products` (n, q, p): W at steps. `n`: samples, of a minibatch if there are any; 1 of a task.
    `dated`: whether steps were given.
    """
    t = (steps - steps[0]).astype(np.float64)
    way = np.linalg.norm(products - products[0], axis=(1, 2))
    if not way.max() > 0:
        return ("the weights are the same at every step",)
    look = int(np.argmax(way >= _LOOK * way.max()))
    W, end = products[look], float(t[look])

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
    finer = _FINER if math.isnan(off) else 1.0
    slow, paces, best = replace(rule, lr=rule.lr * finer), _PACES, math.nan
    for closer in _CLOSER:
        rest = np.nan_to_num(apart(slow, *(paces * end / finer)), nan=math.inf)
        pace, best = float(paces[rest.argmin()]), float(rest.min())
        paces = pace * np.geomspace(1 / closer, closer, 61)
    mistakes = [
        text
        for text, other, time in _mistakes(schedule, pace, end, n, dated=dated)
        if apart(other, time)[0] <= _EXPLAINED
    ]
    if best <= _EXPLAINED and (math.isnan(off) or abs(math.log(pace)) > math.log(_NEAR)):
        # Steps of another size end elsewhere by terms of their size, which are smaller now.
        again = np.geomspace(1 / _CLOSER[0], _CLOSER[0], 61)
        rest = apart(replace(rule, lr=rule.lr * pace), *(again * end))
        pace *= float(again[np.nan_to_num(rest, nan=math.inf).argmin()])
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


def _mistakes(
    schedule: NetworkSchedule, pace: float, end: float, n: int, *, dated: bool
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
    if not dated and round(pace) > 1:
        yield f"every={round(pace)}", rule, end * round(pace)
