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
#: Distances that always are, as a share of W, and in spacings of its floats.
_FLOOR, _ROUNDED = 1e-4, 20.0
#: Bars that the weights may be late by; and the noise between two records of minibatches.
_BARS, _JUMPS = 2.0, 4.0
#: A refit explains what it leaves such a share of; others so many times worse do, too.
_REST, _AS_GOOD = 0.1, 3.0
#: Rounds of a refit, its difference, and the step at which it ends, in units of what is refitted.
_ROUNDS, _DIFFERENCE, _CLOSE = 8, 1e-4, 1e-5
#: Paces nearer to the stated one than this factor may be noise of minibatches.
_NEAR = 1.3
#: Paces that are tried, by steps so much finer, then near the best.
_PACES, _CLOSER, _FINER = np.geomspace(1e-4, 1e4, 321), (1.4, 1.4, 1.2, 1.1, 1.03, 1.005), 1e-4
#: Distance of the weights from those of training by a rule, at times.
_Apart = Callable[..., Floats]
_MOMENTA = (0.0, 0.5, 0.8, 0.9, 0.95, 0.99)


def require_network_motion(
    schedule: NetworkSchedule,
    products: Floats,
    steps: Integers,
    n: int,
    *,
    dated: bool,
    spacing: float,
) -> tuple[str, ...]:
    """Warnings about weights that move otherwise; InvalidInput where a mistake explains it.

    `products` (n, q, p): W at steps. `n`: samples, of a minibatch if there are any; 1 of a task.
    `dated`: whether steps were given. `spacing`: of the floats in which they were recorded.
    """
    way = np.linalg.norm(products - products[0], axis=(1, 2))
    if not way.max() > 0:
        return ("the weights are the same at every step",)
    look, motion = int(np.argmax(way >= _LOOK * way.max())), Motion(schedule, products, steps)
    off, allowed = motion.off(schedule.rule), motion.allowed(spacing)
    beyond, lost = np.where(off > allowed, off, 0.0), math.isnan(off[look])
    worst, faster, pace = int(beyond.argmax()), "", 1.0
    if not beyond[worst] and not lost:
        return ()
    mistakes: list[str] = []
    if lost or beyond[look] * way.max() > _NOISE * way[look]:
        worst, mistakes, pace = look, *_coarse(schedule, motion, look, n, dated=dated)
        faster = f"they move {pace:.3g} times as fast" if math.isfinite(pace) else ""
    if not lost and all(text.startswith("lr near") for text in mistakes):
        # A stride is nearly another lr: all records tell them apart.
        mistakes = motion.refits(off, allowed, pace) or mistakes
    share = off[worst] * way.max() / way[worst]
    if mistakes and schedule.batch is None and not share <= _NOISE:
        got = f"weights that differ at step {steps[worst]}"
        words = f"must be that of the run: give {' or '.join(mistakes)}"
        raise InvalidInput("the stated training", got, words)
    if lost:
        return ()
    text = f"from step {steps[0]} to {steps[worst]} the weights are off the stated training by "
    text += f"{100 * share:.2g} % of their path"
    if mistakes or faster:
        text += f"; {'give ' + ' or '.join(mistakes) if mistakes else faster}"
    elif schedule.batch is None:
        text += "; no other lr, momentum, decay or stride explains it, but minibatches (batch=),"
        text += " another loss, optimizer, schedule or other data may"
    return (text,)


class Motion:
    """Recorded products beside those of training by any rule."""

    def __init__(self, schedule: NetworkSchedule, products: Floats, steps: Integers) -> None:
        self.schedule, self.products = schedule, products
        self.times = (steps - steps[0]).astype(np.float64)
        self.way = float(np.linalg.norm(products - products[0], axis=(1, 2)).max())

    def after(self, rule: Descent, times: Floats) -> Floats:
        """W of training by a rule at times, (n, q, p)."""
        schedule = self.schedule
        return products_at(schedule.start, schedule.modes, rule, times, schedule.budget)

    def off(self, rule: Descent, stretch: float = 1.0) -> Floats:
        """Distance of each record from training by a rule, as a share of the whole way."""
        rest = self.after(rule, stretch * self.times) - self.products
        return np.asarray(np.linalg.norm(rest, axis=(1, 2)) / self.way)

    def allowed(self, spacing: float) -> Floats:
        """Distances that rounding, bars and minibatches explain, as a share of the whole way."""
        schedule, times = self.schedule, self.times
        noisy = schedule.batch is not None
        size = float(np.linalg.norm(self.products, axis=(1, 2)).max())
        floor = (_FLOOR + _ROUNDED * spacing) * size / self.way
        learned = np.isfinite(schedule.half_times) & (schedule.half_times > 0)
        if np.isinf(schedule.error[learned]).any():
            return np.full(len(times), max(floor, _NOISE))
        late = _BARS * float(schedule.error[learned].max(initial=0.0))
        at = np.concatenate([times, times + late, np.maximum(times - late, 0)])
        now, later, sooner = np.split(self.after(schedule.rule, at), 3)
        moved = np.maximum(*(np.linalg.norm(W - now, axis=(1, 2)) for W in (later, sooner)))
        moved = np.nan_to_num(moved, nan=0.0) / self.way + floor
        if noisy and len(times) > 2:
            # What the law leaves from record to record, whose drift cancels in differences.
            jumps = np.linalg.norm(np.diff(self.products - now, 2, axis=0), axis=(1, 2))
            moved += _JUMPS * float(np.nan_to_num(np.median(jumps))) / math.sqrt(6) / self.way
        return np.asarray(moved)

    def refits(self, off: Floats, allowed: Floats, pace: float) -> list[str]:
        """What of lr, momentum, decay and stride leaves next to nothing when it is corrected.

        `pace`: the multiple of lr that one record tells, if it does.
        """
        rule, apart = self.schedule.rule, np.unique(np.diff(self.times))
        enough = np.maximum(allowed, _REST * np.nanmax(off))
        unit = max(rule.decay, 0.01 * rule.multiple * float(self.schedule.modes.sigma[0]))
        changes: dict[str, tuple[float, Callable[[float], tuple[Descent, float]]]] = {
            "lr": (rule.lr, lambda x: (replace(rule, lr=x), 1.0)),
            "weight_decay": (unit, lambda x: (replace(rule, decay=x), 1.0)),
            "momentum": (1.0, lambda x: (replace(rule, momentum=min(x, 0.999)), 1.0)),
        }
        if len(apart) == 1:
            changes["every"] = (float(apart[0]), lambda x: (rule, x / float(apart[0])))
        # A decay far too large has forbidden modes: only none knows of them.
        starts = {"weight_decay": {rule.decay, 0.0}, "momentum": {rule.momentum}}
        starts["lr"] = {rule.lr * pace if math.isfinite(pace) else rule.lr}
        rests: dict[str, float] = {}
        tries = [
            (name, start) for name in changes for start in starts.get(name, {changes[name][0]})
        ]
        for name, start in tries:
            scale, change = changes[name]
            value = self._refit(start, scale, change)
            if name == "every":
                value = float(round(value))
            left = self.off(*change(value))
            if (left <= enough).all():
                digits = f"={value:.0f}" if name == "every" else f" near {value:.4g}"
                rests[name + digits] = float(left.max())
        best = min(rests.values(), default=0.0)
        return [text for text, left in rests.items() if left <= max(_AS_GOOD * best, _FLOOR)]

    def _refit(
        self, value: float, scale: float, change: Callable[[float], tuple[Descent, float]]
    ) -> float:
        """The value that comes nearest to all records, by Gauss and Newton."""
        for _ in range(_ROUNDS):
            rule, stretch = change(value)
            base = self.after(rule, stretch * self.times)
            rule, stretch = change(value + _DIFFERENCE * scale)
            slope = (self.after(rule, stretch * self.times) - base) / (_DIFFERENCE * scale)
            square = float((slope**2).sum())
            if not (square > 0 and math.isfinite(square)):
                break
            step = float((slope * (self.products - base)).sum()) / square
            value = max(value + float(np.clip(step, -scale / 4, scale / 4)), 0.0)
            if abs(step) < _CLOSE * scale:
                break
        return value


def _coarse(
    schedule: NetworkSchedule, motion: Motion, look: int, n: int, *, dated: bool
) -> tuple[list[str], float]:
    """What explains a record that is far off, and how many times as fast weights move, or nan."""
    W, end = motion.products[look], float(motion.times[look])
    way = float(np.linalg.norm(W - motion.products[0]))

    def apart(rule: Descent, *times: float) -> Floats:
        """Distance from W of training by a rule at times, as a share of its way."""
        rest = motion.after(rule, np.array(times)) - W
        return np.asarray(np.linalg.norm(rest, axis=(1, 2)) / way)

    rule = schedule.rule
    off = float(apart(rule, end)[0])
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
    return mistakes, pace if best <= _EXPLAINED else math.nan


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
