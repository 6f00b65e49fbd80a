"""Settings of a theory: given, or drawn free of structure and brought inside its assumptions."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from swingby.errors import InvalidInput
from swingby.hints import suggestion
from swingby.own_theory.family import Family, Floats
from swingby.own_theory.kinds import Before
from swingby.own_theory.statement import Statement, call, is_function, real, refused
from swingby.theory import numbers

#: What is too long to be run is left out of the draws as if an assumption said so.
TOO_LONG = "too long"
#: Halvings that find the edge of an assumption, and draws for each setting asked for, at most.
_HALVINGS, _TRIES = 30, 60
#: Draws among which an anchor is looked for, the first of them of the usual numbers.
_ANCHORS = 4096
#: Decades inside that are clear, and spacings of the usual vector, the first to be tried first.
_CLEAR = 0.05
_SPACINGS = tuple((x, y) for y in (0.5, 0.0, 1.0) for x in (3.0, 2.0, 5.0, 1.5, 10.0, 1.0))
#: Entries of a drawn array that are shown in full.
_SHOWN = 12
#: Candidates for the constants of a setting, generations of them, and searches until one is met.
_POPULATION, _GENERATIONS, _SEARCHES = 40, 120, 3


@dataclass(frozen=True, eq=False)
class Settings:
    """Settings of a theory of one length; the last axis of every array counts them."""

    family: Family
    scalars: Mapping[str, Floats]
    draws: Mapping[str, Floats]

    def __post_init__(self) -> None:
        """Round the numbers that are whole."""
        if self.family.whole:
            rounded = {
                name: np.rint(x) if name in self.family.whole else x
                for name, x in self.scalars.items()
            }
            object.__setattr__(self, "scalars", rounded)

    @property
    def count(self) -> int:
        """Number of settings."""
        return len(self.scalars[self.family.names[0]])

    @functools.cached_property
    def values(self) -> dict[str, Any]:
        """Scalars, vectors, draws and what is measured of them, by name."""
        family, statement = self.family, self.family.statement
        values: dict[str, Any] = {**self.scalars, **self.draws, "d": family.length, "n": self.count}
        for name in statement.vectors:
            values[name] = np.array([self.scalars[entry] for entry in family.entries(name)])
        with np.errstate(all="ignore"):
            for symbol, function in statement.measured.items():
                name = str(symbol)
                values[name] = _arrays(f"measured[{name!r}]", call(function, values), self.count)
        return values

    def take(self, index: Any) -> Settings:
        """Some of the settings."""
        return self.with_arrays(lambda array: array[..., np.atleast_1d(index)])

    def repeated(self, times: int) -> Settings:
        """Each setting as many times, one after the other."""
        return self.with_arrays(lambda array: np.repeat(array, times, axis=-1))

    def with_arrays(self, change: Any) -> Settings:
        """Every array changed."""
        scalars = {name: change(array) for name, array in self.scalars.items()}
        return Settings(self.family, scalars, {name: change(x) for name, x in self.draws.items()})

    def with_scalars(self, **scalars: Floats) -> Settings:
        """Some numbers replaced."""
        return replace(self, scalars={**self.scalars, **scalars})

    def text(self, index: int = 0) -> str:
        """A setting in a line."""
        parts = [f"{name}={array[index]:.6g}" for name, array in self.scalars.items()]
        for name, array in self.draws.items():
            entry = array[..., index]
            options: dict[str, Any] = {"precision": 6, "threshold": _SHOWN, "edgeitems": 2}
            entries = np.array2string(entry, separator=", ", **options)
            parts.append(f"{name}={' '.join(entries.split())}")
        return ", ".join(parts)

    def __repr__(self) -> str:
        more = f" and {self.count - 1} more" if self.count > 1 else ""
        return f"<Settings {self.text()}{more}>"


def joined(batches: Sequence[Settings]) -> Settings:
    """Settings of one length as one batch."""
    first = batches[0]
    scalars = {
        name: np.concatenate([batch.scalars[name] for batch in batches]) for name in first.scalars
    }
    draws = {
        name: np.concatenate([batch.draws[name] for batch in batches], axis=-1)
        for name in first.draws
    }
    return Settings(first.family, scalars, draws)


def drawn(family: Family, scalars: Mapping[str, Floats], seed: int) -> Settings:
    """Settings with these numbers, and draws by a seed."""
    statement, count = family.statement, len(scalars[family.names[0]])
    values = {**scalars, "d": family.length, "n": count, "rng": np.random.default_rng(seed)}
    for name in statement.vectors if statement.draws else ():
        values[name] = np.array([scalars[entry] for entry in family.entries(name)])
    draws = {}
    for name, function in statement.draws.items():
        values[name] = draws[name] = _arrays(f"draws[{name!r}]", call(function, values), count)
    return Settings(family, scalars, draws)


def _arrays(title: str, result: Any, count: int) -> Floats:
    """What a function of the user returned, as an array whose last axis counts the settings."""
    x: Floats = real(title, result)
    if x.shape[-1:] != (count,):
        shape = f"returned shape {x.shape} for {count} settings"
        raise refused(title, f"{shape}, must end in {count}: settings are the last axis")
    return x


def usual(family: Family, count: int = 1, seed: int = 0) -> Settings:
    """The usual setting."""
    columns = {name: np.full(count, x) for name, x in zip(family.names, family.usual, strict=True)}
    return drawn(family, columns, seed)


@functools.lru_cache(256)
def family(statement: Statement, length: int) -> Family:
    """The theory at a length, its usual vectors spaced so that the assumptions hold clearly."""
    chosen = Family(statement, length)
    best, most = chosen.usual, -np.inf
    for spacing, share in _SPACINGS if statement.vectors and length > 1 else ():
        chosen.usual = chosen.spaced(spacing, share)
        settings = usual(chosen)
        clear = float(min(least_margin(settings)[0], slack(settings, TOO_LONG)[0]))
        if clear > most + 1e-9:
            best, most = chosen.usual, clear
        if clear >= _CLEAR:
            break
    chosen.usual = best
    return chosen


def at_numbers(
    statement: Statement, at: Mapping[str, Any], rng: Any = 0, vary: Iterable[str] = ()
) -> Settings:
    """The usual setting with the numbers, vectors and draws of a call in place of some.

    Its length is that of the vectors, or the smallest that has the entries named.
    """
    for name in {*at} & {*vary}:
        raise InvalidInput(name, at[name], "must not be given in at: it is what varies")
    lengths = {len(at[name]) for name in statement.vectors if name in at and np.ndim(at[name])}
    if len(lengths) > 1:
        raise refused("at", f"has vectors of lengths {', '.join(map(str, sorted(lengths)))}")
    entries = [name.rpartition("_") for name in (*at, *vary)]
    needed = [int(q) for name, _, q in entries if name in statement.vectors and q.isdigit()]
    able = [length for length in statement.lengths if length >= max(needed, default=1)]
    chosen = family(statement, lengths.pop() if lengths else [*able, statement.lengths[0]][0])
    base = usual(chosen, seed=numbers.whole(rng or 0, "rng", 0))
    scalars, draws = dict(base.scalars), dict(base.draws)
    for name, value in at.items():
        if name in chosen.whole:
            scalars[name] = np.array([float(numbers.whole(value, name, 1))])
        elif name in scalars:
            scalars[name] = np.array([numbers.within_float(numbers.positive(value, name), name)])
        elif name in statement.vectors:
            if not np.ndim(value):
                required = f"must be a list of {chosen.length}: {name} is a vector"
                raise InvalidInput(name, value, required)
            for entry, x in zip(chosen.entries(name), value, strict=True):
                scalars[entry] = np.array([numbers.within_float(numbers.positive(x, name), name)])
        elif name in draws:
            draws[name] = np.asarray(value, float)[..., None]
        else:
            known = [*map(str, statement.numbers), *statement.draws]
            hint = suggestion(name, known)
            required = f"is not a number of {statement.name!r} ({', '.join(known)}){hint}"
            raise InvalidInput(name, value, required)
    return Settings(chosen, scalars, draws)


# Assumptions


def margins(settings: Settings) -> dict[str, Floats]:
    """Decades inside every assumption; with constants those of the best that a search meets."""
    relations, values = settings.family.relations, settings.values
    if settings.family.statement.exists:
        values = {**values, **witness(settings)}
    return {name: relation.margin(values) for name, relation in relations.items()}


def witness(settings: Settings) -> dict[str, Floats]:
    """The constants with the largest least margin that a search meets, for each setting.

    Differential evolution of all settings at once, anew where it met none; the same every time.
    """
    names = [str(name) for name in settings.family.statement.exists]
    ends = np.log(np.array(list(settings.family.statement.exists.values()), float))
    logs = np.tile(ends.mean(axis=1), (settings.count, 1))
    score = np.full(settings.count, -np.inf)
    for seed in range(_SEARCHES):
        unmet = np.flatnonzero(score < 0)
        if not len(unmet):
            break
        found, margin = _evolved(settings.take(unmet), names, ends, np.random.default_rng(seed))
        better = ~(margin <= score[unmet])
        logs[unmet[better]], score[unmet[better]] = found[better], margin[better]
    return dict(zip(names, np.exp(logs).T, strict=True))


def _evolved(
    settings: Settings, names: list[str], ends: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Logarithms of constants (n, m) and their least margin (n,), after so many rounds."""
    family, count, size = settings.family, settings.count, _POPULATION
    low, high = ends.T
    values = settings.repeated(size).values

    def least(logs: Floats) -> Floats:
        constants = dict(zip(names, np.exp(logs.reshape(-1, len(names)).T), strict=True))
        rows = [r.margin({**values, **constants}) for r in family.relations.values()]
        return lowest(rows).reshape(count, size)

    logs = rng.uniform(low, high, (count, size, len(names)))
    score = least(logs)
    for _ in range(_GENERATIONS):
        best = logs[np.arange(count), score.argmax(axis=1)][:, None, :]
        first, second = rng.permutation(size), rng.permutation(size)
        trial = best + rng.uniform(0.5, 1) * (logs[:, first] - logs[:, second])
        mixed = np.where(rng.random(logs.shape) < 0.7, np.clip(trial, low, high), logs)
        new = least(mixed)
        better = new > score
        logs, score = np.where(better[..., None], mixed, logs), np.where(better, new, score)
    every, best_of = np.arange(count), score.argmax(axis=1)
    return logs[every, best_of], score[every, best_of]


def least_margin(settings: Settings) -> Floats:
    """The least margin of each setting, inf without assumptions."""
    rows = list(margins(settings).values())
    return lowest(rows) if rows else np.full(settings.count, np.inf)


def lowest(rows: Sequence[Floats]) -> Floats:
    """The smallest of several rows, column by column."""
    smallest: Floats = np.min(np.array(rows), axis=0)
    return smallest


def last_step(settings: Settings) -> Floats:
    """The step after which every prediction is decided; inf where a formula has no value."""
    with np.errstate(all="ignore"):
        last = [promise.last_step(settings.values) for promise in settings.family.promises]
    return -lowest([np.zeros(settings.count), *(-np.where(np.isnan(r), np.inf, r) for r in last)])


def slack(settings: Settings, name: str) -> Floats:
    """The margin of an assumption, or that of "the run is short enough"."""
    if name == TOO_LONG:
        last: Floats = np.maximum(last_step(settings), 0) + 1
        return -np.log10(last / settings.family.statement.longest)
    if settings.family.statement.exists:
        return margins(settings)[name]
    return settings.family.relations[name].margin(settings.values)


@functools.lru_cache(256)
def anchor(family: Family) -> Floats:
    """Numbers inside the assumptions, to which draws are pulled: usual ones, or the nearest drawn.

    Refused where none of some thousand is inside, in words about the usual setting.
    """
    try:
        require_usual(family)
    except InvalidInput:
        low, high = np.log([family.low, family.high])
        size = (_ANCHORS, len(family.names))
        rows = np.exp(np.random.default_rng(0).uniform(low, high, size))
        rows = np.clip(rows, family.low, family.high)
        rows[: _ANCHORS // 8] = family.usual  # with other draws
        settings = drawn(family, dict(zip(family.names, rows.T, strict=True)), 0)
        rows = rows[is_as_asked(settings, "")]
        if not len(rows):
            raise
        nearest: Floats = rows[np.abs(np.log(rows / family.usual)).sum(axis=1).argmin()]
        return nearest
    return family.usual


def require_usual(family: Family) -> None:
    """Refuse a theory whose usual setting breaks an assumption, or is too long to be run."""
    settings = usual(family)
    for name, margin in margins(settings).items():
        if math.isnan(margin[0]):
            raise refused("assume:", f'"{name}" has the margin nan at {settings.text()}')
        if margin[0] < -1e-12:
            relation = family.relations[name].relation
            spelled = "" if is_function(relation) else f"{relation} "
            raise refused(
                "no setting inside:",
                f'at the usual setting "{name}" fails by {-margin[0]:.2f} decades'
                f" ({spelled}at {settings.text()})",
            )
    if last_step(settings)[0] > family.statement.longest:
        raise too_long(settings)


def too_long(settings: Settings) -> InvalidInput:
    """An error that names the prediction whose run is too long."""
    most = settings.family.statement.longest
    for promise in settings.family.promises:
        if not isinstance(promise.prediction, Before):
            with np.errstate(all="ignore"):
                last = float(promise.last_step(settings.values)[0])
            if math.isnan(last):
                return no_value(settings, promise.name)
            if last > most:
                advice = "raise steps=, or narrow the range of what slows it"
                words = f"is decided after {last:.2g} steps, more than {most} are not run"
                return refused(promise.name, f"{words}: {advice} ({settings.text()})")
    return refused("steps", "must be larger")


def no_value(settings: Settings, name: str) -> InvalidInput:
    """An error about a formula that has no value at a setting inside the assumptions."""
    promise = next(promise for promise in settings.family.promises if promise.name == name)
    with np.errstate(all="ignore"):
        bare = [
            field
            for field, formula in promise.formulas.items()
            if math.isnan(float(formula(settings.values)[0]))
        ]
    field = bare[0] if bare else "time"
    reason = _missing_logarithm(settings, getattr(promise.prediction, field), promise.k)
    where = f"has no value at {settings.text()}{reason}"
    return refused(f"{name}:", f"{field} {where}; an assumption should exclude that")


def _missing_logarithm(settings: Settings, formula: Any, entry: int | None) -> str:
    import sympy as sp

    if not isinstance(formula, sp.Basic):
        return ""
    lowered = settings.family.lowered(formula, **({} if entry is None else {"k": entry}))
    numbers_at = {
        s: float(settings.values[str(s)][0]) for s in lowered.free_symbols if str(s) != "t"
    }
    for kind, word in ((sp.log, "logarithm"), (sp.Pow, "power")):
        for part in sorted(lowered.atoms(kind), key=str):
            inner = part.args[0].subs(numbers_at)
            if inner.is_number and inner <= 0:
                return f": {word} of {float(inner):.3g}"
    return ""


# Draws


def sample(
    family: Family, count: int, rng: np.random.Generator, outside: str = "", edge: float = 0.3
) -> Settings:
    """At most `count` settings inside the assumptions: uniform in the logarithms, then pulled in.

    Of a broken assumption only the numbers that it speaks of are pulled towards the anchor, a
    share `edge` of them onto the edge itself. `outside` names one assumption that is to be broken.
    """
    start_of = anchor(family)
    low, middle, high = (np.log(row) for row in (family.low, start_of, family.high))
    size = (count, len(low))
    x = rng.uniform(low, high, size)
    x = np.where(rng.random(size) < 0.25, middle, x)  # some numbers stay usual
    seed = int(rng.integers(2**31))
    start = _of_logs(family, x, middle, start_of, None, seed)
    pulls = np.ones(size)

    def pulled(pulls: Floats) -> Settings:
        return _of_logs(family, middle + pulls * (x - middle), middle, start_of, start, seed)

    names = [name for name in (*family.relations, TOO_LONG) if not is_named(name, outside)]
    for turn in range(3):
        for name in names:
            if name == TOO_LONG and not (turn or outside):
                _require_values(pulled(pulls))
            bad = slack(pulled(pulls), name) < 0
            if not bad.any():
                continue
            spoken = speaking(family, name)
            low_share, high_share = np.zeros(count), np.ones(count)
            for _ in range(_HALVINGS):
                share = (low_share + high_share) / 2
                trial = pulled(np.where(spoken, pulls * share[:, None], pulls))
                good = slack(trial, name) >= 0
                low_share = np.where(good, share, low_share)
                high_share = np.where(good, high_share, share)
            on_edge = rng.random(count) < edge
            share = low_share * np.where(on_edge, 1.0, rng.random(count))
            pulls = np.where(spoken & bad[:, None], pulls * share[:, None], pulls)
    settings = pulled(pulls)
    if outside:
        settings = pushed(settings, outside)
    return settings.take(np.flatnonzero(is_as_asked(settings, outside)))


def _require_values(settings: Settings) -> None:
    """Refuse a formula without a value inside the assumptions, such as the log of a negative."""
    with np.errstate(all="ignore"):
        for promise in settings.family.promises:
            bad = np.isnan(promise.last_step(settings.values)) & (least_margin(settings) >= 0)
            if bad.any():
                raise no_value(settings.take(np.flatnonzero(bad)[0]), promise.name)


def is_named(name: str, assumption: str) -> bool:
    """Whether a relation is one of the assumption of this name."""
    return bool(assumption) and name.partition("[")[0] == assumption.partition("[")[0]


def speaking(family: Family, name: str) -> Any:
    """Which numbers an assumption speaks of, as flags."""
    if name == TOO_LONG:
        spoken = frozenset().union(*(promise.speaks_of for promise in family.promises))
    else:
        spoken = family.relations[name].speaks_of
    return np.array([column in spoken for column in family.names])


def _of_logs(
    family: Family, logs: Floats, middle: Floats, exact: Floats, start: Settings | None, seed: int
) -> Settings:
    columns = np.where(logs == middle, exact, np.exp(logs))
    scalars = dict(zip(family.names, columns.T, strict=True))
    return drawn(family, scalars, seed) if start is None else replace(start, scalars=scalars)


def is_as_asked(settings: Settings, outside: str) -> Any:
    """True where every assumption holds, or where the one that is named alone fails."""
    rows = margins(settings)
    inside = [row >= 0 for name, row in rows.items() if not is_named(name, outside)]
    broken = [row < -1e-9 for name, row in rows.items() if is_named(name, outside)]
    flags = np.all(np.array([*inside, slack(settings, TOO_LONG) >= 0]), axis=0)
    return flags & np.any(np.array(broken), axis=0) if outside else flags


def pushed(settings: Settings, outside: str) -> Settings:
    """Settings moved out of one assumption alone, along its numbers, where that can be done."""
    family = settings.family
    named = [name for name in family.relations if is_named(name, outside)]
    if not named:
        known = ", ".join(family.statement.assume)
        raise InvalidInput("outside", outside, f"must be an assumption of the theory: {known}")
    flags = np.any([speaking(family, name) for name in named], axis=0)
    columns = [name for name, flag in zip(family.names, flags, strict=True) if flag][:4]
    spans = dict(zip(family.names, zip(family.low, family.high, strict=True), strict=True))
    best, done = settings, is_as_asked(settings, outside)
    for corner in itertools.product(*(spans[name] for name in columns)):
        for share in np.linspace(0.05, 1, 20):
            if done.all():
                return best
            moved = {
                name: settings.scalars[name] ** (1 - share) * end**share
                for name, end in zip(columns, corner, strict=True)
            }
            trial = settings.with_scalars(**moved)
            fits = is_as_asked(trial, outside) & ~done
            scalars = {n: np.where(fits, trial.scalars[n], best.scalars[n]) for n in family.names}
            best, done = best.with_scalars(**scalars), done | fits
    return best


def samples(
    statement: Statement,
    count: int,
    rng: np.random.Generator,
    outside: str = "",
    length: Any = None,
) -> Iterable[Settings]:
    """Batches of settings of varied length, as many as asked for in all."""
    made = tries = 0
    while made < count:
        chosen = family(statement, int(length or rng.choice(list(statement.lengths))))
        batch = sample(chosen, min(32, count - made), rng, outside)
        tries, made = tries + 1, made + batch.count
        if batch.count:
            yield batch
        elif tries > _TRIES:
            where = f'that breaks "{outside}" alone' if outside else "inside"
            advice = "widen a range, or put the usual numbers well inside"
            raise refused("no setting", f"{where} was met in {tries} draws: {advice}")
