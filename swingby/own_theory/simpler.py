"""Simpler settings near a counterexample: fewer entries, usual or round numbers, all inside."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from swingby.own_theory.family import Floats
from swingby.own_theory.settings import Settings, family, joined, least_margin

#: A margin this little below 0 is a rounding of a number on the edge.
EDGE = -1e-12
#: Values of one digit, to which another number is refitted, and decades around its own.
_LEADS, _DECADES = (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), range(-2, 3)


def digits(x: float) -> int:
    """Significant digits of a number, up to 6.

    >>> digits(0.02), digits(1.25e-7)
    (1, 3)
    """
    return len(f"{abs(x):.5e}".partition("e")[0].replace(".", "").strip("0")) or 1


def cost(settings: Settings) -> Floats:
    """The effort of reading each setting: digits, distance from the usual numbers, entries."""
    chosen = settings.family
    total = np.full(settings.count, 30.0 * chosen.length)
    for name, usual in zip(chosen.names, chosen.usual, strict=True):
        column = settings.scalars[name]
        total += [digits(x) + abs(math.log10(x / usual)) / 2 + (x != usual) for x in column]
    for array in settings.draws.values():
        columns = array.reshape(-1, settings.count).T
        total += [sum(map(digits, column)) for column in columns]
    return total


def simpler(setting: Settings) -> list[Settings]:
    """Batches of simpler settings, one for each length, all of them inside the assumptions."""
    chosen, batches = setting.family, dict[int, list[Settings]]()
    for batch in (*_shorter(setting), *_rounder(setting), *_plainer(setting)):
        inside = batch.take(np.flatnonzero(least_margin(batch) >= EDGE))
        if inside.count:
            cheaper = inside.take(np.flatnonzero(cost(inside) < cost(setting)[0] - 1e-9))
            batches.setdefault(inside.family.length, []).append(cheaper)
    full = {length: [batch for batch in rows if batch.count] for length, rows in batches.items()}
    lengths = sorted(length for length, rows in full.items() if rows)
    return [joined(full[length]) for length in lengths if length <= chosen.length]


def _shorter(setting: Settings) -> Iterator[Settings]:
    """Without some entries of every vector."""
    chosen = setting.family
    statement, length = chosen.statement, chosen.length
    smaller = [size for size in sorted(statement.lengths) if size < length]
    for size, entries in ((n, e) for n in smaller for e in combinations(range(length), n)):
        small, scalars = family(statement, size), dict(setting.scalars)
        for name in statement.vectors:
            columns = [scalars.pop(entry) for entry in chosen.entries(name)]
            scalars |= dict(zip(small.entries(name), [columns[q] for q in entries], strict=True))
        draws = {
            name: array[list(entries)] if array.shape[0] == length else array
            for name, array in setting.draws.items()
        }
        yield Settings(small, {name: scalars[name] for name in small.names}, draws)


def _rounder(setting: Settings) -> Iterator[Settings]:
    """With a number usual or round; where that leads outside, with another one refitted."""
    chosen = setting.family
    spans = dict(zip(chosen.names, zip(chosen.low, chosen.high, strict=True), strict=True))
    for name, usual in zip(chosen.names, chosen.usual, strict=True):
        x = float(setting.scalars[name][0])
        rounds = {usual, *(float(f"{x:.{q}e}") for q in range(3)), 10.0 ** round(math.log10(x))}
        rounds |= {1.0, float(f"{math.sqrt(x * usual):.0e}")}
        values = sorted(y for y in rounds - {x} if spans[name][0] <= y <= spans[name][1])
        if not values:
            continue
        batch = setting.repeated(len(values)).with_scalars(**{name: np.array(values)})
        yield batch
        outside = np.flatnonzero(least_margin(batch) < EDGE)
        for other in chosen.names if len(outside) else ():
            if other != name:
                yield _refitted(batch.take(outside), other, spans[other])


def _refitted(batch: Settings, name: str, span: tuple[float, float]) -> Settings:
    """Settings with a number at the three nearest values of one digit that lie inside."""
    x = float(batch.scalars[name][0])
    decade = math.floor(math.log10(x))
    grid = np.array([lead * 10.0 ** (decade + q) for q in _DECADES for lead in _LEADS])
    grid = np.array([float(f"{y:.2g}") for y in grid[(grid >= span[0]) & (grid <= span[1])]])
    if not len(grid):
        return batch.take(np.array([], int))
    many = batch.repeated(len(grid)).with_scalars(**{name: np.tile(grid, batch.count)})
    far = np.abs(np.log(np.tile(grid, batch.count) / x))
    far = np.where(least_margin(many) >= EDGE, far, np.inf).reshape(batch.count, -1)
    nearest = np.argsort(far, axis=1)[:, :3]
    rows = np.arange(batch.count)[:, None] * len(grid) + nearest
    return many.take(rows[np.isfinite(np.take_along_axis(far, nearest, 1))])


def _plainer(setting: Settings) -> Iterator[Settings]:
    """With the entries of a drawn array rounded, all at once or one by one."""
    for name, array in setting.draws.items():
        rounded = [np.array([float(f"{x:.{q}e}") for x in array.ravel()]) for q in (0, 1)]
        columns = [row.reshape(array.shape) for row in rounded]
        for at in np.ndindex(array.shape[:-1]):
            x = float(array[at][0])
            for y in {0.0, 1.0, float(np.round(x)), float(f"{x:.0e}")} - {x}:
                changed = array.copy()
                changed[at] = y
                columns.append(changed)
        many = setting.repeated(len(columns))
        draws = {**many.draws, name: np.concatenate(columns, axis=-1)}
        yield Settings(setting.family, many.scalars, draws)
