"""Small matrices of fractions at which a line about matrices of every size fails.

Letters are drawn by their traits, and then moved until what is given holds: an equation that is
linear in a letter is solved for it, and in ``X <= Y`` a letter that stands alone is moved by a
square. What is found is judged by ``check_matrix.py``.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from swingby.proofs.checkers.check_matrix import (
    MatrixFile,
    MatrixRelation,
    Point,
    Rows,
    WordAlgebra,
    identity,
    multiplied,
    transposed,
)
from swingby.proofs.prover.scalar.positivity_certificate import solutions
from swingby.theory.search_time import seconds_left

#: Points that are drawn, and passes over what is given for each.
MOST_DRAWN, _PASSES = 600, 3
_ENTRIES = (0, 0, 1, -1, 1, 2, -2)
_NUMBERS = tuple(Fraction(x, 10) for x in (10, 20, 0, -10, 30, 5, -20, 1, 100, -30))
_TURN = [[Fraction(3, 5), Fraction(-4, 5)], [Fraction(4, 5), Fraction(3, 5)]]

#: By letter: a matrix, or a number.
_Values = dict[str, Any]


def failing_point(
    file: MatrixFile, points: int, is_allowed: Callable[[_Values], bool]
) -> tuple[dict[str, int], _Values, Point] | None:
    """Sizes and values at which what is given holds, and a line of the file fails; None without.

    Values that are not allowed do not count.
    """
    algebra, draw = file.plain, random.Random(0)  # noqa: S311
    names = {size for shape in algebra.shapes.values() for size in shape if not size.isdigit()}
    for trial in range(points):
        if seconds_left(60.0) < 1:
            return None
        largest = 1 if trial < 30 else 2 if trial < 450 else 3
        sizes = {
            name: draw.randint(1 + (trial % 3 > 0 < largest - 1), largest) for name in sorted(names)
        }
        lookup = {str(size): size for size in range(1, 7)} | sizes
        values: _Values = {}
        for name, trait in algebra.traits.items():
            rows, columns = (lookup[size] for size in algebra.shapes[name])
            values[name] = _drawn(trait, rows, columns, draw)
        values |= {
            name: _number(sign, draw) for name, sign in algebra.scalars.items() if name not in names
        }
        point = _moved(file, sizes, values, draw)
        if point is None or all(map(point.holds, file.says)):
            continue
        if is_allowed(values):
            return sizes, values, point
    return None


def _moved(
    file: MatrixFile, sizes: dict[str, int], values: _Values, draw: random.Random
) -> Point | None:
    """The point once its values are moved until what is given holds; None if it does not."""
    for attempt in range(_PASSES + 1):
        point = _point(file.plain, sizes, values)
        if point is None:
            return None
        broken = [relation for relation in file.given if not point.holds(relation)]
        if not broken:
            return point
        if attempt < _PASSES:
            for relation in broken:
                move = _solved if relation.sign == "=" else _raised
                move(file, sizes, values, relation, draw)
    return None


def _point(algebra: WordAlgebra, sizes: dict[str, int], values: _Values) -> Point | None:
    texts = {
        name: str(x) if isinstance(x, Fraction) else [list(map(str, row)) for row in x]
        for name, x in values.items()
    }
    try:
        return Point(algebra, sizes, texts)
    except (ValueError, ArithmeticError):
        return None


def _drawn(trait: str, rows: int, columns: int, draw: random.Random) -> Rows:
    """A matrix with a trait."""
    if trait == "orthogonal":
        if rows == 2 and draw.random() < 0.5:
            return _TURN
        order, signs = draw.sample(range(rows), rows), draw.choices((1, -1), k=rows)
        return [[Fraction(signs[p] * (order[p] == q)) for q in range(rows)] for p in range(rows)]
    style = draw.random()
    if style < 0.15:
        entries = [[Fraction(p == q) for q in range(columns)] for p in range(rows)]
    elif style < 0.3:
        entries = [[Fraction((p == q) * draw.choice(_ENTRIES)) for q in range(columns)]
                   for p in range(rows)]  # fmt: skip
    else:
        entries = [[Fraction(draw.choice(_ENTRIES)) for _ in range(columns)] for _ in range(rows)]
    if trait == "symmetric":
        return [[entries[min(p, q)][max(p, q)] for q in range(rows)] for p in range(rows)]
    if trait in ("semidefinite", "definite"):
        square = multiplied(transposed(entries), entries)
        shift = draw.choice((Fraction(1), Fraction(1, 4), Fraction(3))) * (trait == "definite")
        return [[x + shift * (p == q) for q, x in enumerate(row)] for p, row in enumerate(square)]
    if trait == "invertible":
        return [
            [x if p < q else Fraction(p == q) * draw.choice((1, -1, 2)) for q, x in enumerate(row)]
            for p, row in enumerate(entries)
        ]
    return entries


def _number(sign: str, draw: random.Random) -> Fraction:
    while True:
        value = draw.choice(_NUMBERS)
        low = value > 0 if "positive" in sign else value >= 0 or "nonnegative" not in sign
        if low and ("integer" not in sign or value.denominator == 1):
            return value


def _degree(algebra: WordAlgebra, relation: MatrixRelation, name: str) -> int:
    """How often a letter occurs in a word at most; 9 where it is not a polynomial in it."""
    same = {name, algebra.flips.get(name, name)}
    most = 0
    for row in relation.blocks:
        for word, total in ((w, t) for x in row for w, t in x.items()):
            for powers in total:
                degree = sum(letter in same for letter in word)
                degree += 9 * any(letter.startswith(f"{name}^-") for letter in word)
                for letter, power in powers:
                    traced = algebra.traced.get(letter, ())
                    degree += int(power) * sum(x in same for x in traced)
                    degree += 9 * any(x.startswith(f"{name}^-") for x in traced)
                    degree += int(abs(power)) * (letter == name)
                most = max(most, degree)
    return most


def _solved(
    file: MatrixFile,
    sizes: dict[str, int],
    values: _Values,
    broken: MatrixRelation,
    draw: random.Random,
) -> None:
    """Move a letter to a solution of the equations that are linear in it."""
    algebra = file.plain
    names = [
        name
        for name, value in values.items()
        if _degree(algebra, broken, name) == 1
        and (isinstance(value, Fraction) or algebra.traits[name] in ("", "symmetric"))
    ]
    if not names:
        return
    name = draw.choice(names)
    equations = [x for x in file.given if x.sign == "=" and _degree(algebra, x, name) == 1]
    old = values[name]
    units = _units(old, algebra.traits.get(name) == "symmetric")
    nought = Fraction(0) if isinstance(old, Fraction) else [[Fraction(0)] * len(r) for r in old]

    def residual(value: Any) -> dict[Any, Fraction]:
        point = _point(algebra, sizes, values | {name: value})
        if point is None:
            raise ValueError("no point")
        rows = [point.rows(x.words, point.shape(x.words)) for x in equations]
        return {(k, p, q): x for k, r in enumerate(rows) for p, row in enumerate(r)
                for q, x in enumerate(row)}  # fmt: skip

    try:
        start = residual(nought)
        slopes = [
            {key: x - start[key] for key, x in residual(unit).items() if x != start[key]}
            for unit in units
        ]
    except (ValueError, ArithmeticError):
        return
    target = {key: -x for key, x in start.items() if x}
    solved = solutions(target, slopes) if target or any(slopes) else None
    if solved is None:
        return
    weights, directions = solved
    for direction in directions:
        factor = draw.choice((0, 1, -1, 2))
        weights = [x + factor * y for x, y in zip(weights, direction, strict=True)]
    values[name] = _combined(nought, units, weights)


def _units(value: Any, symmetric: bool) -> list[Any]:
    """Matrices of one entry 1; of two where they stay symmetric."""
    if isinstance(value, Fraction):
        return [Fraction(1)]
    places = list(itertools.product(range(len(value)), range(len(value[0]))))
    if symmetric:
        places = [(p, q) for p, q in places if p <= q]
    return [
        [[Fraction((p, q) in {place, place[::-1] if symmetric else place})
          for q in range(len(value[0]))] for p in range(len(value))]
        for place in places
    ]  # fmt: skip


def _combined(nought: Any, units: list[Any], weights: list[Fraction]) -> Any:
    total = nought
    for unit, weight in zip(units, weights, strict=True):
        if isinstance(total, Fraction):
            total += weight * unit
        else:
            total = [
                [x + weight * y for x, y in zip(*both, strict=True)]
                for both in zip(total, unit, strict=True)
            ]
    return total


def _raised(
    file: MatrixFile,
    sizes: dict[str, int],
    values: _Values,
    broken: MatrixRelation,
    draw: random.Random,
) -> None:
    """Move a symmetric letter that stands alone in an inequality, so that a square is left."""
    algebra = file.plain
    if len(broken.blocks) > 1:
        return
    alone = [
        (word[0], total[()])
        for word, total in broken.words.items()
        if len(word) == 1 and total.keys() == {()} and word[0] in algebra.traits
        and algebra.flips[word[0]] == word[0] and _degree(algebra, broken, word[0]) == 1
    ]  # fmt: skip
    point = _point(algebra, sizes, values)
    if not alone or point is None:
        return
    name, factor = draw.choice(alone)
    rows = point.rows(broken.words, point.shape(broken.words))
    square = _drawn(
        "definite" if broken.sign == "<" else "semidefinite", len(rows), len(rows), draw
    )
    values[name] = [
        [x + (z - y) / factor for x, y, z in zip(*three, strict=True)]
        for three in zip(values[name], rows, square, strict=True)
    ]
    if transposed(values[name]) != values[name]:
        values[name] = identity(len(rows))
