"""Runs of a theory: every setting stepped in one batch, and each prediction judged."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from swingby.own_theory.family import Family, Floats, Promise, Values
from swingby.own_theory.flowing import LOOKS, flowed, joined_states
from swingby.own_theory.kinds import Before, Bound, Order, Outcome, Passage, Value
from swingby.own_theory.settings import Settings, last_step, least_margin, lowest, no_value
from swingby.own_theory.statement import call, parameters, refused

#: Roundings of a step, relative, which a bound is allowed.
_ROUNDING = 1e-9
#: Smaller numbers have lost digits, on both sides of a bound.
_UNDERFLOW = 1e-290
#: Standard errors of an estimate over seeds that a promise is allowed.
SIGMAS = 4.0
#: What the integration of a flow may add to a bound.
_FLOW_ERROR = 1e-6
#: Settings are dropped as they finish, at every so many steps.
_DROP = 128


@dataclass(frozen=True, eq=False)
class Judged:
    """A prediction at some settings.

    `ratio` is off/allowed: broken above 1, kept up to it, nan where undecided. `noise`: the error
    of the estimate in units of the promise, over seeds. `step`: where a bound came closest.
    `constant`: off/e of a promise of size O(e), which no single setting decides.
    """

    promise: Promise
    predicted: NDArray[Any]
    observed: NDArray[Any]
    ratio: Floats
    noise: Floats | None = None
    step: Floats | None = None
    within: Floats | None = None
    constant: Floats | None = None


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
        self.last = np.maximum(promise.last_step(values), 0)
        self.observed = np.full(columns, np.nan)
        self.largest = np.full(columns, -np.inf)
        self.step = np.full(columns, np.nan)
        self._before = np.full(columns, np.nan)

    def look(self, step: Any, x: Floats, who: Any, gap: Any = 1.0) -> None:
        """Take note of the observable of the columns `who` at a step, `gap` after the last look.

        A flow has a time of its own for each column, and looks that are a share of its run apart.
        """
        kind, is_flow = self.promise.prediction, np.ndim(step) > 0
        now, gap = (np.broadcast_to(time, self.last.shape)[who] for time in (step, gap))
        if isinstance(kind, Outcome) or not (is_flow or isinstance(kind, Bound)):
            # What comes later is not its own: it would depend on the other settings of the batch.
            live = now <= self.last[who]
            x, who, now, gap = x[live], who[live], now[live], gap[live]
        before = self._before[who]
        self._before[who] = x
        if isinstance(kind, Passage):
            level, sign = self.form["level"][who], -1 if kind.falling else 1
            hit = np.isnan(self.observed[who]) & (sign * x >= sign * level)
            rise = x - before
            share = np.where((rise == 0) | np.isnan(rise), 1.0, (level - before) / rise)
            self.observed[who[hit]] = (now - gap * (1 - share))[hit]
        elif isinstance(kind, Bound):
            self._bound(kind, step, x, who)
        else:
            past = now - self.form["at"][who]
            hit = np.isnan(self.observed[who]) & (past >= 0)
            x_at = x - (x - before) * past / gap if is_flow and (now > 0).all() else x
            self.observed[who[hit]] = x_at[hit]
            self.largest[who] = np.fmax(self.largest[who], np.where(np.isfinite(x), x, np.inf))

    def _bound(self, kind: Bound, step: Any, x: Floats, who: Any) -> None:
        allowed = _FLOW_ERROR if np.ndim(step) else _ROUNDING * (1 + step)
        for name in ("below", "above"):
            if name not in self.promise.formulas:
                continue
            limit = self.promise.formulas[name](self.values, step)[who]
            live = (step >= self.form["start"][who]) & (step <= self.form["until"][who])
            live &= ~((name == "below") & (x <= self.form["floor"][who]))
            live &= np.maximum(np.abs(x), np.abs(limit)) > _UNDERFLOW
            ratio = _share(x, limit) if name == "below" else _share(limit, x)
            ratio = np.where(live, ratio / (1 + allowed), -np.inf)
            higher = ratio > self.largest[who]
            self.largest[who[higher]] = ratio[higher]
            self.step[who[higher]] = np.broadcast_to(step, self.last.shape)[who][higher]
            self.observed[who[higher]] = x[higher]

    def judged(self, copies: int, sigmas: float) -> Judged:
        """The prediction at every setting."""
        judged = self._judged(copies, sigmas)
        judged.ratio[self.blank[::copies]] = np.nan
        if not isinstance(getattr(self.promise.prediction, "within", None), Order):
            return judged
        return replace(judged, ratio=np.full(len(judged.ratio), np.nan), constant=judged.ratio)

    def _judged(self, copies: int, sigmas: float) -> Judged:
        kind, shape = self.promise.prediction, (-1, copies)
        observed = self.observed.reshape(shape)
        form = {name: column[::copies] for name, column in self.form.items()}
        if isinstance(kind, Passage):
            seen_mean, aim = observed.mean(axis=1), form["time"]
            ratio = _share(np.abs(seen_mean - aim), form["within"])
            return Judged(self.promise, aim, seen_mean, ratio, within=form["within"])
        if isinstance(kind, Value):
            return self._value(kind, observed, form, sigmas)
        if isinstance(kind, Bound):
            # A bound that no step came under, such as one below its floor throughout, is kept.
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
            ratio = _share(np.abs(mean - aim), within)
            return Judged(self.promise, aim, mean, ratio, within=within)
        if kind.stat == "mean":
            estimate, error = mean, x.std(axis=1, ddof=1) / math.sqrt(copies)
        else:
            estimate = x.var(axis=1, ddof=1)
            fourth = ((x - mean[:, None]) ** 4).mean(axis=1)
            error = np.sqrt(np.maximum(fourth - estimate**2, 0) / copies)
        ratio = _share(np.maximum(np.abs(estimate - aim) - sigmas * error, 0), within)
        noise = SIGMAS * error / within
        return Judged(self.promise, aim, estimate, ratio, noise, within=within)

    def _outcome(self, kind: Outcome, last: Floats, largest: Floats, copies: int) -> Judged:
        names = [*self.promise.labels]
        rows = [self.promise.labels[name](self.values)[::copies] for name in names]
        conditions = np.array(rows).astype(bool)
        chosen = np.array([*names], object)[conditions.argmax(axis=0)]
        predicted = np.where(conditions.any(axis=0), chosen, "")
        pairs = zip(last, largest, strict=True)
        observed = np.array([str(kind.observed(float(a), float(b))) for a, b in pairs], object)
        ratio = np.where(predicted == observed, 0.0, np.inf)
        return Judged(self.promise, predicted, observed, np.where(predicted == "", np.nan, ratio))


def _share(part: Floats, whole: Floats) -> Floats:
    """part/whole, and inf where the whole is not positive, or nothing, and the part is larger."""
    share = np.where(whole > 0, part / whole, np.where(part <= whole, 0.0, np.inf))
    return np.where(np.isnan(share), np.inf, share)


def judge(
    settings: Settings, seed: int = 0, copies: int | None = None, sigmas: float = SIGMAS
) -> dict[str, Judged]:
    """Every prediction at every setting; undecided (nan) where the run would be too long."""
    family, count = settings.family, settings.count
    if not family.promises:
        raise refused("predict", "is empty: only check answers for assumptions alone")
    copies = copies or family.statement.seeds
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

    def among(column: Any) -> Any:
        if column is None:
            return None
        empty = "" if column.dtype == object else np.nan
        full = np.full(count, empty, column.dtype)
        full[short] = column
        full[last > family.statement.longest] = empty
        return full

    names = ("predicted", "observed", "ratio", "noise", "step", "within", "constant")
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
    return Judged(promise, predicted, observed, np.where(undecided, np.nan, ratio))


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
            state = call(statement.step, values, state)
            if step % _DROP == _DROP - 1:
                going = last[who] > step
                if going.mean() < 0.6:
                    values, state = _shorter(values, going), _taken(state, going, len(who))
                    who = who[going]
    return watches


def _look_along(settings: Settings, last: Floats, watches: list[Watch]) -> None:
    """Show a flow to those who watch, at looks between 0 and the last time of each setting."""
    family, statement = settings.family, settings.family.statement
    alone = [settings.take(column) for column in range(settings.count)]
    runs = [
        flowed(statement, one.values, begun(family, one.values, 1), float(end))
        for one, end in zip(alone, last, strict=True)
    ]
    every = np.arange(settings.count)
    for look, states in enumerate(zip(*runs, strict=True)):
        now = last * (look / LOOKS)
        values = {**settings.values, "t": now}
        _look(family, values, joined_states([*states]), watches, now, every, last / LOOKS)


def _observe_runs(runs: Any, values: Values, watches: list[Watch]) -> None:
    """Show to those who watch what runs of the user's own give, by prediction; nan: not known."""
    results, count = call(runs, values), values["n"]
    for watch in watches:
        name, k = watch.promise.prediction.name, watch.promise.k
        x = np.asarray(results.get(name, np.nan), float)
        x = x[k - 1] if k is not None and x.ndim > 1 else x
        if x.shape != (count,):
            form = f"({count},)" if k is None else f"({values['d']}, {count})"
            words = f"shape {np.shape(results[name])}" if name in results else "nothing"
            required = f"returned {words}, must return {form}: settings are the last axis"
            raise refused(f"runs: {name}", required)
        watch.observed, watch.largest = x, x
        watch.blank = watch.blank | np.isnan(x)


def _look(
    family: Family,
    values: Values,
    state: Any,
    watches: list[Watch],
    step: Any,
    who: Any,
    gap: Any = 1.0,
) -> None:
    """Show the observables of a state to those who watch."""
    observables: dict[str, Floats] = {}
    for watch in watches:
        name, entry = watch.promise.prediction.of, watch.promise.k  # type: ignore[attr-defined]
        if name not in observables:
            observables[name] = np.asarray(
                call(family.statement.observe[name], values, state), float
            )
        x = observables[name]
        if entry is not None and x.ndim > 1 and len(x) >= entry:
            x = x[entry - 1]
        if x.shape != who.shape:
            form = f"({family.length}, {len(who)})" if entry is not None else f"({len(who)},)"
            got = f"returned shape {observables[name].shape} for {len(who)} settings"
            required = f"{got}, must have {form}: settings are the last axis"
            raise refused(f"observe[{name!r}]", required)
        watch.look(step, x, who, gap)


def begun(family: Family, values: Values, columns: int) -> Any:
    """The state at step 0, whose last axis has to count the settings."""
    assert family.statement.start is not None
    state = call(family.statement.start, values)
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
        times = np.linspace(0.0, last, LOOKS + 1)
        for now, then in zip(times, flowed(statement, values, state, last), strict=True):
            for name, (of, _) in curves.items():
                x = call(statement.observe[of], {**values, "t": now}, then)
                rows[name].append(np.ravel(np.asarray(x, float)))
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
