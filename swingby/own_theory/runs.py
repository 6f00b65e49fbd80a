"""Runs of a theory: every setting stepped in one batch, and each prediction judged."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.errors import InvalidInput
from swingby.own_theory.family import Family, Floats, Promise, Values
from swingby.own_theory.flowing import Run, between, crossing, flowed, peak
from swingby.own_theory.kinds import Before, Bound, Order, Outcome, Passage, Value
from swingby.own_theory.settings import Settings, last_step, least_margin, lowest, no_value
from swingby.own_theory.statement import call, parameters, real, refused, state_of

#: Roundings of a step, relative, which a bound is allowed.
_ROUNDING = 1e-9
#: Roundings of a step, relative, that a value without them may be off.
_LAST_DIGIT = 1e-15
#: Smaller numbers have lost digits, on both sides of a bound.
_UNDERFLOW = 1e-290
#: Standard errors of an estimate over seeds that a promise is allowed.
SIGMAS = 4.0
#: What the integration of a flow may add to a bound.
_FLOW_ERROR = 1e-6
#: Skewness of a mean of that many numbers above which its standard errors say too little, and runs
#: of one setting that decide, at most.
_SKEW, _MOST_RUNS = 0.05, 200_000
#: Why a prediction is undecided.
_NOT_FINITE = "a number of the run is not finite"
_TAIL = "the seeds do not show it: a tail decides"
#: Settings are dropped as they finish, at every so many steps.
_DROP = 128


@dataclass(frozen=True, eq=False)
class Judged:
    """A prediction at some settings.

    `ratio` is off/allowed: broken above 1, kept up to it, nan where undecided. `noise`: the error
    of the estimate in units of `within`, over seeds, which is allowed, too. `step`: where a bound
    came closest.
    `constant`: off/e of a promise of size O(e), which no single setting decides. `reason`: why a
    setting is undecided, in words.
    """

    promise: Promise
    predicted: NDArray[Any]
    observed: NDArray[Any]
    ratio: Floats
    noise: Floats | None = None
    step: Floats | None = None
    within: Floats | None = None
    constant: Floats | None = None
    reason: NDArray[Any] | None = None

    @property
    def allowed(self) -> Floats | None:
        """What a prediction may be off: `within`, and four standard errors over seeds."""
        if self.within is None or self.noise is None:
            return self.within
        return self.within * (1 + self.noise)

    @property
    def undecided(self) -> Any:
        """Where nothing is known; of a promise of size O(e) where its constant is not."""
        return np.isnan(self.ratio if self.constant is None else self.constant)


def undecided_share(parts: Sequence[Judged]) -> tuple[float, str]:
    """The share of settings at which a prediction is undecided, and the most frequent reason."""
    flags = np.concatenate([part.undecided for part in parts])
    reasons = [x for part in parts if part.reason is not None for x in part.reason[part.undecided]]
    frequent = Counter(filter(None, reasons)).most_common(1)
    return float(np.mean(flags)), frequent[0][0] if frequent else ""


class Watch:
    """A prediction watched along a batch of runs; a column is a setting and a seed."""

    def __init__(self, promise: Promise, values: Values, columns: int) -> None:
        self.promise, self.values = promise, values
        self.form = {
            name: np.array(formula(values))
            for name, formula in promise.formulas.items()
            if name not in ("below", "above")
        }
        #: Where a formula has no value, nothing is predicted.
        self.blank = np.any([np.isnan(column) for column in self.form.values()], axis=0)
        #: Where a number is not finite, or no step is asked for, nothing is decided.
        self.lost, self.reason = np.zeros(columns, bool), np.full(columns, "", object)
        self.lose(self.blank, "a formula has no value")
        finite = np.all([np.isfinite(column) for column in self.form.values()], axis=0)
        self.lose(~finite, "a formula is not finite")
        if isinstance(promise.prediction, Bound):
            none = self.form["until"] < np.maximum(self.form["start"], 0)
            self.lose(none, "it asks for no step")
        elif "at" in self.form:
            self.lose(self.form["at"] < 0, "it asks for no step")
        self.last = np.maximum(promise.last_step(values), 0)
        self.observed = np.full(columns, np.nan)
        self.largest = np.full(columns, -np.inf)
        self.step = np.full(columns, np.nan)
        self._before = np.full(columns, np.nan)
        self._ready = np.zeros(columns, bool)

    def lose(self, columns: Any, reason: str) -> None:
        """Give up on columns, with a reason unless there is one."""
        self.lost[columns] = True
        self.reason[columns] = np.where(self.reason[columns] == "", reason, self.reason[columns])

    def look(self, step: int, x: Floats, who: Any) -> None:
        """Take note of the observable of the columns `who` at a step."""
        kind = self.promise.prediction
        # What comes later is not its own: it would depend on the other settings of the batch.
        live = step <= self.last[who]
        x, who = x[live], who[live]
        if isinstance(kind, Bound):
            self._bound(step, x, who)
            return
        finite, is_open = np.isfinite(x), np.isnan(self.observed[who])
        if isinstance(kind, Passage):
            before, level = self._before[who], self.form["level"][who]
            self._before[who] = x
            side = (x - level) * (-1 if kind.falling else 1)
            self._ready[who] |= side <= 0
            hit = is_open & finite & self._ready[who] & (side >= 0)
            rise = x - before
            share = np.where((rise == 0) | np.isnan(rise), 1.0, (level - before) / rise)
            self.observed[who[hit]] = (step - 1 + share)[hit]
            self.lose(who[is_open & ~finite], _NOT_FINITE)
        else:
            hit = is_open & (step >= self.form["at"][who])
            self.observed[who[hit]] = x[hit]
            self.largest[who] = np.fmax(self.largest[who], np.where(finite, x, np.inf))
            if isinstance(kind, Value):
                self.lose(who[hit & ~finite], _NOT_FINITE)

    def _bound(self, step: int, x: Floats, who: Any) -> None:
        form = {name: column[who] for name, column in self.form.items()}
        for name in self._sides:
            limit = self.promise.formulas[name](self.values, step)[who]
            ratio, lost = _used(name, x, limit, form, step, _ROUNDING * (1 + step))
            higher = ratio > self.largest[who]
            self.largest[who[higher]] = ratio[higher]
            self.step[who[higher]], self.observed[who[higher]] = step, x[higher]
            self.lose(who[lost & ~np.isfinite(x)], _NOT_FINITE)
            self.lose(who[lost], "its limit is not finite")

    @property
    def _sides(self) -> list[str]:
        return [name for name in ("below", "above") if name in self.promise.formulas]

    def follow(self, q: int, run: Run) -> None:
        """Take note of the observable of column `q` along a flow, also between its looks."""
        kind, form = self.promise.prediction, {name: x[q] for name, x in self.form.items()}
        if self.lost[q]:
            return
        if isinstance(kind, Passage):

            def side(times: Floats) -> Floats:
                off: Floats = run.x(times) - form["level"]
                return -off if kind.falling else off

            y = side(run.times)
            hits = np.flatnonzero(np.maximum.accumulate(y <= 0) & (y >= 0) & np.isfinite(y))
            end = hits[0] if len(hits) else len(y)
            if not np.isfinite(y[:end]).all():
                self.lose([q], _NOT_FINITE)
            if len(hits):
                self.observed[q] = crossing(side, run.times[max(end - 1, 0)], run.times[end])
        elif isinstance(kind, Bound):
            for name in self._sides:
                self._follow_bound(q, name, form, run)
        else:
            x = run.x(between(run.times, 0.0, form["at"]))
            self.observed[q] = x[-1]
            self.largest[q] = np.max(np.where(np.isfinite(x), x, np.inf))
            if isinstance(kind, Value) and not math.isfinite(x[-1]):
                self.lose([q], _NOT_FINITE)

    def _follow_bound(self, q: int, name: str, form: Values, run: Run) -> None:
        def used(times: Floats) -> tuple[Floats, Any]:
            limit = self.promise.formulas[name](run.values(times), times)
            return _used(name, run.x(times), limit, form, times, _FLOW_ERROR)

        times = between(run.times, max(form["start"], 0.0), form["until"])
        ratio, lost = used(times)
        if lost.any():
            self.lose([q], _NOT_FINITE)
        largest, at = peak(lambda x: used(x)[0], times, ratio)
        if largest > self.largest[q]:
            self.largest[q], self.step[q] = largest, at
            self.observed[q] = run.x(np.array([at]))[0]

    def judged(self, copies: int, sigmas: float) -> Judged:
        """The prediction at every setting."""
        kind, untested = self.promise.prediction, np.isneginf(self.largest)
        if isinstance(kind, Bound):  # one copy is a test
            untested = np.repeat(untested.reshape(-1, copies).all(axis=1), copies)
            self.lose(untested, "no step of it is above its floor")
        judged = self._judged(copies, sigmas)
        lost = self.lost.reshape(-1, copies).any(axis=1)
        if isinstance(kind, Bound):  # what broke it before counts
            lost &= ~(judged.ratio > 1)
        judged.ratio[lost] = np.nan
        reasons = self.reason.reshape(-1, copies).max(axis=1)
        if judged.reason is not None:
            reasons = np.where(reasons == "", judged.reason, reasons)
        reasons = np.where(np.isnan(judged.ratio), reasons, "").astype(object)
        judged = replace(judged, reason=reasons)
        if not isinstance(getattr(kind, "within", None), Order):
            return judged
        return replace(judged, ratio=np.full(len(judged.ratio), np.nan), constant=judged.ratio)

    def _judged(self, copies: int, sigmas: float) -> Judged:
        kind, shape = self.promise.prediction, (-1, copies)
        observed = self.observed.reshape(shape)
        form = {name: column[::copies] for name, column in self.form.items()}
        if isinstance(kind, Passage):
            seen_mean, aim = observed.mean(axis=1), form["time"]
            within = form["within"]
            return _off(self.promise, aim, seen_mean, within, seen_mean, aim)
        if isinstance(kind, Value):
            return self._value(kind, observed, form, sigmas)
        if isinstance(kind, Bound):
            ratio = np.maximum(self.largest.reshape(shape).max(axis=1), 0.0)
            empty = np.full(len(ratio), np.nan)
            step = self.step.reshape(shape).max(axis=1)
            return Judged(self.promise, empty, observed.max(axis=1), ratio, step=step)
        assert isinstance(kind, Outcome)
        return self._outcome(kind, observed[:, 0], self.largest.reshape(shape)[:, 0], copies)

    def _value(self, kind: Value, x: Floats, form: Values, sigmas: float) -> Judged:
        aim, within, copies = form["value"], form["within"], x.shape[1]
        mean = x.mean(axis=1)
        if not kind.stat:
            size = np.maximum(np.abs(aim), np.abs(self.largest.reshape(x.shape).max(axis=1)))
            return _off(self.promise, aim, mean, within, form["at"], size)
        parts, freedom = x, copies
        if kind.stat == "var":
            parts, freedom = (x - mean[:, None]) ** 2, copies - 1
        estimate, spread = parts.sum(axis=1) / freedom, parts.std(axis=1)
        error = spread / math.sqrt(copies)
        off = np.abs(estimate - aim)
        ratio = _share(off, within + sigmas * error)
        if sigmas:
            # A sample that has missed the tail is off towards its bulk, by an error too small.
            skew = ((parts - parts.mean(axis=1)[:, None]) ** 3).mean(axis=1)
            skew = skew / spread**3 / math.sqrt(copies) * np.sign(aim - estimate)
            ratio = np.where((ratio > 1) & (skew > _SKEW), np.nan, ratio)
        noise, reason = SIGMAS * error / within, np.full(len(ratio), _TAIL, object)
        return Judged(self.promise, aim, estimate, ratio, noise, within=within, reason=reason)

    def _outcome(self, kind: Outcome, last: Floats, largest: Floats, copies: int) -> Judged:
        names = [*self.promise.labels]
        rows = [self.promise.labels[name](self.values)[::copies] for name in names]
        conditions = np.array(rows) == 1
        chosen = np.array([*names], object)[conditions.argmax(axis=0)]
        predicted = np.where(conditions.any(axis=0), chosen, "")
        pairs = zip(last, largest, strict=True)
        title = f"{self.promise.name}: observed"
        observed = np.array([_label(title, kind, float(a), float(b)) for a, b in pairs], object)
        ratio = np.where(predicted == observed, 0.0, np.inf)
        unknown = (predicted == "") | (observed == "")
        reason = np.where(predicted == "", "no label is predicted", "the run shows no label")
        ratio = np.where(unknown, np.nan, ratio)
        return Judged(self.promise, predicted, observed, ratio, reason=reason)


def _off(
    promise: Promise, aim: Floats, observed: Floats, within: Floats, step: Floats, size: Floats
) -> Judged:
    """A prediction of a number; undecided where roundings of a run of this size decide."""
    off = np.abs(observed - aim)
    ratio = _share(off, within)
    rounding = _LAST_DIGIT * (1 + step) * np.abs(size)
    is_rounding = (ratio > 1) & np.isfinite(rounding) & (off <= rounding)
    ratio = np.where(is_rounding, np.nan, ratio)
    reason = np.full(len(ratio), "a rounding decides: type a larger within", object)
    return Judged(promise, aim, observed, ratio, within=within, reason=reason)


def _label(title: str, kind: Outcome, last: float, largest: float) -> str:
    """What a run shows; "" where it ends in nan, and the label is not that of an endless number."""
    ends = (last, math.inf) if math.isnan(last) else (last,)
    labels = [call(kind.observed, {}, end, largest) for end in ends]
    for label in labels:
        if not isinstance(label, str):
            raise refused(title, f"returned {label!s:.40}, must return a label, or '' for none")
    return str(labels[0]) if len({*labels}) == 1 else ""


def can_differ(kind: Outcome) -> bool:
    """Whether a run could show another label: of some ends and largest values not all are alike."""
    ends = (0.0, 1e-9, 0.5, 1.0, 2.0, 1e3, 1e9, math.inf, math.nan, -1.0, -math.inf)
    labels = set[str]()
    for last, largest in itertools.product(ends, ends):
        with contextlib.suppress(InvalidInput):  # a function may be of other numbers alone
            labels.add(_label(kind.name, kind, last, largest))
    return len(labels) > 1


def _used(
    name: str, x: Floats, limit: Floats, form: Values, step: Any, allowed: Any
) -> tuple[Floats, Any]:
    """The share of a bound that is used, -inf where nothing is asked, and where it is not known.

    Of two numbers that have lost their digits it is 0.
    """
    live = (step >= form["start"]) & (step <= form["until"])
    if name == "below":
        live = live & ~((x <= form["floor"]) & (form["floor"] > 0))
    finite = np.isfinite(x) & np.isfinite(limit)
    ratio = _share(x, limit) if name == "below" else _share(limit, x)
    used = np.where(np.maximum(np.abs(x), np.abs(limit)) > _UNDERFLOW, ratio / (1 + allowed), 0.0)
    return np.where(live & finite, used, -np.inf), live & ~finite


def _share(part: Floats, whole: Floats) -> Floats:
    """part/whole, of two negative numbers whole/part: at most 1 where the part is not larger.

    Where their signs differ, or the whole is 0, it is 0 or inf.
    """
    both = (whole < 0) & (part < 0)
    share = np.where(both, whole / part, np.where(part <= whole, 0.0, np.inf))
    share = np.where(whole > 0, part / whole, share)
    return np.where(np.isnan(share), np.inf, share)


def judge(
    settings: Settings, seed: int = 0, copies: int | None = None, sigmas: float = SIGMAS
) -> dict[str, Judged]:
    """Every prediction at every setting; undecided (nan) where the run would be too long.

    What looks broken over the seeds of the theory is decided anew on more and fresh ones.
    """
    seeds = settings.family.statement.seeds
    results = _judge(settings, seed, copies or seeds, sigmas)
    if copies is not None or seeds < 2 or not sigmas:
        return results
    suspects = [_is_suspect(judged) for judged in results.values()]
    for q in np.flatnonzero(np.any(suspects, axis=0)):
        for name, again in decided(settings.take(q), seed + 1, 4).items():
            if _is_over_seeds(again):
                for column in ("observed", "ratio", "noise", "reason"):
                    getattr(results[name], column)[q] = getattr(again, column)[0]
    return results


def decided(setting: Settings, seed: int, times: int) -> dict[str, Judged]:
    """The judgement that counts, of one setting: on as many times its seeds, or more if skewed."""
    seeds = setting.family.statement.seeds
    while True:
        results = _judge(setting, seed + times, times * seeds, SIGMAS)
        is_settled = not any(np.isnan(x.ratio[0]) and _is_suspect(x)[0] for x in results.values())
        if is_settled or 4 * times * seeds > _MOST_RUNS:
            return results
        times *= 4


def _is_over_seeds(judged: Judged) -> bool:
    return bool(getattr(judged.promise.prediction, "stat", ""))


def _is_suspect(judged: Judged) -> Any:
    """Where an estimate over seeds does not agree with its prediction, or its error is unknown."""
    if not _is_over_seeds(judged):
        return np.zeros(len(judged.ratio), bool)
    return np.isfinite(judged.observed) & ~(judged.ratio <= 1)


def _judge(settings: Settings, seed: int, copies: int, sigmas: float) -> dict[str, Judged]:
    family, count = settings.family, settings.count
    if not family.promises:
        raise refused("predict", "is empty: only check answers for assumptions alone")
    last = last_step(settings)
    short = np.flatnonzero(last <= family.statement.longest)
    if not len(short):
        short = np.array([0])
    used = settings.take(short)
    watches = _watched(used, np.minimum(last[short], family.statement.longest), seed, copies)
    with np.errstate(all="ignore"):
        results = {
            watch.promise.name: _spread(watch.judged(copies, sigmas), short, count, last, family)
            for watch in watches
        }
        for promise in family.promises:
            if isinstance(promise.prediction, Before):
                results[promise.name] = _order(promise, promise.prediction, results)
    return results


def _spread(judged: Judged, short: Any, count: int, last: Floats, family: Family) -> Judged:
    """What was judged on the short runs, among all settings."""
    reason = f"the run is longer than {family.statement.longest} steps"

    def among(column: Any) -> Any:
        if column is None:
            return None
        empty = "" if column.dtype == object else np.nan
        full = np.full(count, empty, column.dtype)
        full[short] = column
        full[last > family.statement.longest] = reason if column is judged.reason else empty
        return full

    names = ("predicted", "observed", "ratio", "noise", "step", "within", "constant", "reason")
    return replace(judged, **{name: among(getattr(judged, name)) for name in names})


def _order(promise: Promise, kind: Before, results: dict[str, Judged]) -> Judged:
    first, then = results[kind.first], results[kind.then]
    times = [np.where(np.isnan(side.observed), np.inf, side.observed) for side in (first, then)]
    larger = np.maximum(*times)
    gap = np.where(np.isinf(times[0]) & np.isinf(times[1]), np.nan, times[0] - times[1])
    ratio = 1 + gap / np.maximum(np.where(np.isinf(larger), 1e9, larger), 1)
    ratio = np.where(np.isinf(gap), np.where(gap > 0, 2.0, 0.0), ratio)
    undecided = np.isnan(first.ratio) | np.isnan(then.ratio) | np.isnan(gap)
    words = np.array([f"{kind.then} first", f"{kind.first} first"], object)
    predicted = np.full(len(ratio), words[1], object)
    observed = np.where(undecided, "", words[(times[0] < times[1]).astype(int)])
    ratio = np.where(undecided, np.nan, ratio)
    assert first.reason is not None
    assert then.reason is not None
    reason = np.where(np.isnan(first.ratio), first.reason, then.reason)
    reason = np.where(undecided & (reason == ""), "neither passage happens", reason).astype(object)
    return Judged(promise, predicted, observed, ratio, reason=reason)


def _watched(settings: Settings, last: Floats, seed: int, copies: int) -> list[Watch]:
    """Step all settings until each is decided, and watch their predictions."""
    family, statement = settings.family, settings.family.statement
    full = settings.repeated(copies) if copies > 1 else settings
    values = {**full.values, "rng": np.random.default_rng(seed)}
    columns, last = full.count, np.repeat(last, copies)
    with np.errstate(all="ignore"):
        watches = [
            Watch(promise, values, columns)
            for promise in family.promises
            if not isinstance(promise.prediction, Before)
        ]
        for watch in watches:
            if watch.blank.any():
                inside = watch.blank & (least_margin(full) >= 0)
                if inside.any():
                    raise no_value(full.take(np.flatnonzero(inside)[0]), watch.promise.name)
        if statement.runs is not None:
            _observe_runs(statement.runs, values, watches)
            return watches
        if statement.flow is not None:
            _look_along(full, last, watches)
            return watches
        state = begun(family, values, columns)
        who, stop = np.arange(columns), int(last.max())
        for step in range(stop + 1):
            values["t"] = step
            _look(family, values, state, watches, step, who)
            if step == stop or statement.step is None:
                break
            before, state = state, state_of("step", call(statement.step, values, state), state)
            if not step and _shapes(state) != _shapes(before):
                words = f"returned {_shapes(state)}, must keep {_shapes(before)}"
                raise refused("step", f"{words}, the shape of its state")
            if step % _DROP == _DROP - 1:
                going = last[who] > step
                if going.mean() < 0.6:
                    values, state = _shorter(values, going), _taken(state, going, len(who))
                    who = who[going]
    return watches


def _shapes(state: Any) -> Any:
    return [*map(np.shape, state)] if isinstance(state, tuple) else np.shape(state)


def _look_along(settings: Settings, last: Floats, watches: list[Watch]) -> None:
    """Show a flow to those who watch, setting by setting, at every time that they ask for."""
    family = settings.family
    for q in range(settings.count):
        one = settings.take(q)
        times, states = flowed(family.statement, one.values, begun(family, one.values, 1), last[q])

        def values(at: Floats, one: Settings = one) -> dict[str, Any]:
            many = {name: _taken(x, np.zeros(len(at), int), 1) for name, x in one.values.items()}
            return {**many, "n": len(at), "t": at}

        for watch in watches:

            def x(at: Floats, watch: Watch = watch, states: Any = states) -> Floats:
                with np.errstate(all="ignore"):
                    return _observable(family, values(at), states(at), watch, len(at), {})

            watch.follow(q, Run(times, x, values))


def _observe_runs(runs: Any, values: Values, watches: list[Watch]) -> None:
    """Show to those who watch what runs of the user's own give, by prediction; nan: not known."""
    results, count = call(runs, values), values["n"]
    if not isinstance(results, Mapping):
        raise refused(
            "runs", f"returned {results!r:.40}, must return a dict of arrays by prediction"
        )
    for watch in watches:
        name, k = watch.promise.prediction.name, watch.promise.k
        x = real(f"runs: {name}", results.get(name, np.nan))
        x = x[k - 1] if k is not None and x.ndim > 1 else x
        if x.shape != (count,):
            form = f"({count},)" if k is None else f"({values['d']}, {count})"
            words = f"shape {np.shape(results[name])}" if name in results else "nothing"
            required = f"returned {words}, must return {form}: settings are the last axis"
            raise refused(f"runs: {name}", required)
        watch.observed, watch.largest = x, x
        watch.lose(np.isnan(x), "runs= shows nothing of it")


def _look(
    family: Family, values: Values, state: Any, watches: list[Watch], step: int, who: Any
) -> None:
    """Show the observables of a state to those who watch."""
    observables: dict[str, Floats] = {}
    for watch in watches:
        watch.look(step, _observable(family, values, state, watch, len(who), observables), who)


def _observable(
    family: Family, values: Values, state: Any, watch: Watch, count: int, ready: dict[str, Floats]
) -> Floats:
    """What a prediction is of, at a state of so many columns; `ready`: what is observed already."""
    name, entry = watch.promise.prediction.of, watch.promise.k  # type: ignore[attr-defined]
    if name not in ready:
        ready[name] = real(
            f"observe[{name!r}]", call(family.statement.observe[name], values, state)
        )
    x = ready[name]
    if entry is not None and x.ndim > 1 and len(x) >= entry:
        x = x[entry - 1]
    if x.shape != (count,):
        form = f"({family.length}, {count})" if entry is not None else f"({count},)"
        got = f"returned shape {ready[name].shape} for {count} settings"
        required = f"{got}, must have {form}: settings are the last axis"
        raise refused(f"observe[{name!r}]", required)
    return x


def begun(family: Family, values: Values, columns: int) -> Any:
    """The state at step 0, whose last axis has to count the settings."""
    assert family.statement.start is not None
    state = state_of("start", call(family.statement.start, values))
    for array in state if isinstance(state, tuple) else (state,):
        if np.shape(array)[-1:] != (columns,):
            shape = f"returned shape {np.shape(array)} for {columns} settings"
            length = f" of length {family.length}" if family.statement.vectors else ""
            required = f"{shape}{length}, must end in {columns}: settings are the last axis"
            raise refused("start", required)
    return state


def _taken(state: Any, columns: Any, count: int) -> Any:
    if isinstance(state, tuple):
        return tuple(_taken(array, columns, count) for array in state)
    is_column = isinstance(state, np.ndarray) and state.shape[-1:] == (count,)
    return state[..., columns] if is_column else state


def _shorter(values: Values, columns: Any) -> dict[str, Any]:
    count = values["n"]
    shorter = {name: _taken(value, columns, count) for name, value in values.items()}
    return {**shorter, "n": int(columns.sum())}


def require_separate(settings: Settings, steps: int = 25) -> None:
    """Refuse a step that mixes settings: each has to move alone as it does in a batch."""
    statement, count = settings.family.statement, settings.count
    values = {**settings.values, "rng": np.random.default_rng(0), "t": 0}
    functions = [function for function in (statement.start, statement.step) if function]
    has_noise = any("rng" in dict(parameters(function)) for function in functions)
    if not statement.predict or statement.runs is not None or count < 2 or has_noise:
        return
    lone = [{**settings.take(q).values, "rng": values["rng"], "t": 0} for q in range(count)]
    with np.errstate(all="ignore"):
        state = begun(settings.family, values, count)
        states = [begun(settings.family, single, 1) for single in lone]
        for step in range(steps if statement.step is not None else 1):
            _compare_states(settings, values, state, lone, states, step)
            if statement.step is not None:
                values["t"] = step
                state = call(statement.step, values, state)
                states = [
                    call(statement.step, {**single, "t": step}, alone)
                    for single, alone in zip(lone, states, strict=True)
                ]


def _compare_states(
    settings: Settings, values: Values, state: Any, lone: Any, states: Any, step: int
) -> None:
    for q, alone in enumerate(states):
        arrays = (state, alone) if isinstance(state, tuple) else ((state,), (alone,))
        for batch, single in zip(*arrays, strict=True):
            one_of = np.asarray(batch)[..., q : q + 1]
            if np.allclose(one_of, single, rtol=1e-6, atol=1e-250, equal_nan=True):
                continue
            words = f"state of setting {q + 1} at step {step}"
            for name, function in settings.family.statement.observe.items():
                x, y = call(function, values, state), call(function, lone[q], alone)
                x, y = np.ravel(np.asarray(x)[..., q]), np.ravel(np.asarray(y)[..., 0])
                if not np.allclose(x, y, rtol=1e-6):
                    at = int(np.argmax(~np.isclose(x, y, rtol=1e-6)))
                    words = f"{name} of setting {q + 1} at step {step} is {x[at]:.2g}"
                    words += f" in a batch of {settings.count} and {y[at]:.2g} alone"
                    break
            raise refused("step", f"mixes settings: {words}; sums and norms need an axis")


def recorded(settings: Settings, seed: int = 0) -> tuple[Any, dict[str, Floats]]:
    """Steps and curves (steps, entries) of the first of some settings, thinned to some thousand.

    Curves are observables; where predictions are of a mean or a variance over seeds, these.
    """
    family, statement = settings.family, settings.family.statement
    alone = settings.take(0).repeated(statement.seeds)
    values = {**alone.values, "rng": np.random.default_rng(seed), "t": 0}
    kinds = [promise.prediction for promise in family.promises]
    over_seeds = [kind for kind in kinds if isinstance(kind, Value) and kind.stat]
    curves = {f"{kind.stat} of {kind.of}": (kind.of, kind.stat) for kind in over_seeds}
    curves = curves or {name: (name, "") for name in statement.observe}
    last = last_step(alone)[0] * (1.25 if any(isinstance(kind, Passage) for kind in kinds) else 1)
    state = begun(family, values, alone.count)
    steps, rows = list[float](), {name: list[Any]() for name in curves}
    if statement.flow is not None:
        times, states = flowed(statement, values, state, last)
        for name, (of, _) in curves.items():
            seen = [call(statement.observe[of], {**values, "t": t}, states([t])) for t in times]
            rows[name] = [np.ravel(np.asarray(x, float)) for x in seen]
        return times, {name: np.array(row) for name, row in rows.items()}
    stop = int(min(last, statement.steps))
    every = max(1, stop // 2000)
    with np.errstate(all="ignore"):
        for step in range(stop + 1):
            values["t"] = step
            if step % every == 0:
                steps.append(step)
                for name, (of, stat) in curves.items():
                    x = np.asarray(call(statement.observe[of], values, state), float)
                    rows[name].append(np.ravel(getattr(x, stat)(axis=-1) if stat else x[..., 0]))
            if statement.step is None:
                break
            state = call(statement.step, values, state)
    return np.array(steps), {name: np.array(row) for name, row in rows.items()}


def worst(results: dict[str, Judged]) -> Floats:
    """The largest off/allowed of each setting over all predictions, -1 where none is decided."""
    ratios = [judged.ratio for judged in results.values()]
    return -lowest([-np.where(np.isnan(ratio), -1.0, ratio) for ratio in ratios])
