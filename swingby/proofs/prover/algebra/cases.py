"""Formulas in entries, for every d and s: the argument by cases of equal and distinct indices.

Free indices are equal or distinct, inside [s] or free directions. The index of a sum equals one of
them or none; for the latter one generic summand is kept behind a marker, and counted where it does
not depend on the index. Two formulas agree if they do in every case, generic summand against
generic summand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from swingby.proofs.language.matrices import (
    LETTERS,
    I,
    U,
    Ut,
    W,
    cluster,
    d_prime,
    i,
    j,
    k,
    s,
    unit,
    unitt,
    z,
    zt,
)
from swingby.proofs.language.matrices import delta as kronecker
from swingby.proofs.prover.algebra.words import Unsupported
from swingby.theory.assumptions import d

#: Signal positive, signal zero inside [s], or a free direction.
STATES = ("positive", "zero", "outside")
#: Label of an index that equals no free index, and the index of a sum inside a word.
OTHER, INNER = "other", sympy.Symbol("r", integer=True, positive=True)


def agree(left: Any, right: Any, *, symmetric: bool = False, square: bool = False) -> bool:
    """Whether two formulas in entries are equal in every case; in no free one where `square`.

    Raises Unsupported where a formula is outside the language of this module.
    """
    difference = left - right
    for pattern in patterns(difference, symmetric=symmetric, square=square):
        value = _settled(evaluate(difference, pattern), pattern)
        if sympy.cancel(sympy.together(value)) != 0:
            return False
    return True


def entry_of(expression: Any) -> Any:
    """Entry (i, j) of a polynomial in matrices, or its value where it is a number."""
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(expression)):
        scalars, factors = term.args_cnc()
        word: list[Any] = []
        for letter, power in (factor.as_base_exp() for factor in factors):
            if not (power.is_Integer and power > 0 and letter in {*LETTERS, I}):
                raise Unsupported(f"no entries for {letter**power}")
            for one in [letter] * int(power) if letter != I else []:
                word[-1:] = [W] if word[-1:] == [U] and one == Ut else [*word[-1:], one]
        total += sympy.Mul(*scalars) * _entry(tuple(word))
    return total


def _entry(word: tuple[Any, ...]) -> Any:
    """Entry (i, j) of a word; a vector at an end takes the place of the index there."""
    inner = [letter for letter in word if letter not in (z, zt, unit, unitt)]
    first = {zt: INNER, unitt: k}.get(word[0], i) if word else i
    last = {z: INNER, unit: k}.get(word[-1], j) if word else j
    full = [letter for letter in inner if not LETTERS[letter].diagonal]
    indices = [first, *[INNER] * (len(full) - 1), last]
    if not full:
        indices = [last if first == INNER else first]
    if indices.count(INNER) > 1:
        raise Unsupported("a word with more than one inner index")
    at, *later = indices
    body = sympy.Integer(1) if full or INNER in (first, last) else kronecker(first, last)
    body *= sympy.IndexedBase("z")[at] if zt in word else 1
    for letter in inner:
        base = sympy.IndexedBase(LETTERS[letter].entries)
        if LETTERS[letter].diagonal:
            body *= base[at]
            continue
        if (LETTERS[letter].rows, LETTERS[letter].columns) != ("d", "d"):
            raise Unsupported(f"no entries for {letter}")
        before, at = at, later.pop(0)
        body *= base[at, before] if letter.name.endswith("^T") else base[before, at]
    body *= sympy.IndexedBase("z")[at] if z in word else 1
    return sympy.Sum(body, (INNER, 1, d)) if INNER in indices else body


@dataclass(frozen=True)
class Pattern:
    """One case: which indices are equal, and where they lie.

    `labels`: of every index that is bound; equal indices share one.
    `states`: one of :data:`STATES` for every label; empty where no line speaks of [s].
    `symmetric`: w_ij = w_ji.
    `normal`: mean and variance of the Gaussian letters met so far.
    """

    labels: dict[Any, str]
    states: dict[str, str]
    symmetric: bool
    normal: dict[Any, tuple[Any, Any]] = field(default_factory=dict)

    def bind(self, index: Any, label: str) -> Pattern:
        """The same case with one more index bound."""
        return replace(self, labels=self.labels | {index: label})

    @property
    def free(self) -> list[str]:
        """The labels of the free indices, without repetition."""
        return sorted(set(self.labels.values()) - {OTHER})

    @property
    def inside(self) -> list[str]:
        """Those of them that lie in [s]."""
        return [label for label in self.free if self.states.get(label) in ("positive", "zero")]


def patterns(
    expression: Any, *, symmetric: bool = False, square: bool = False
) -> Iterator[Pattern]:
    """Every case that a formula in entries needs."""
    bound = {one.args[1] for one in expression.atoms(sympy.Function) if _name(one) == "rest"}
    free = {symbol for symbol in expression.free_symbols if symbol.is_integer} - bound - {cluster}
    free |= {i, j} if bound else set()
    indices = sorted(free, key=str)
    names = {str(base) for base in expression.atoms(sympy.IndexedBase)} & {"mu", "sigma"}
    inside = any(_name(one) == "inside" for one in expression.atoms(sympy.Function))
    located = bool(names) or inside or expression.has(s)
    options = STATES[:2] if square else STATES
    for code in itertools.product(range(len(indices)), repeat=len(indices)):
        if any(label > max(code[:place], default=-1) + 1 for place, label in enumerate(code)):
            continue
        labels = dict(zip(indices, map(str, code), strict=True))
        distinct = sorted(set(labels.values())) if located else []
        for states in itertools.product(options, repeat=len(distinct)):
            yield Pattern(labels, dict(zip(distinct, states, strict=True)), symmetric)


def _name(operator: Any) -> str:
    return str(operator.func.__name__)


def evaluate(expression: Any, pattern: Pattern) -> Any:
    """The value of a formula in one case, with a marker for generic summands."""
    if expression.is_Rational or expression.is_Symbol:
        return expression
    if isinstance(expression, sympy.Indexed):
        return _atom(expression, pattern)
    if expression.is_Add or expression.is_Mul or expression.is_Pow:
        return expression.func(*(evaluate(part, pattern) for part in expression.args))
    name, labels = _name(expression), pattern.labels
    if name == "KroneckerDelta":
        return sympy.Integer(int(labels[expression.args[0]] == labels[expression.args[1]]))
    if name == "inside":
        return sympy.Integer(int(labels[expression.args[0]] in pattern.inside))
    if name == "Sum":
        (index, lower, upper), *others = expression.limits
        if others or lower != 1 or OTHER in labels.values() or upper not in (s, d, d_prime):
            raise Unsupported("a sum inside another, or not from 1 to a size of this kind")
        met = {s: pattern.inside, d: pattern.free, d_prime: []}[upper]
        parts = [evaluate(expression.function, pattern.bind(index, label)) for label in met]
        return sum(parts) + _rest(expression.function, index, upper, pattern)
    if name == "rest":
        if set(labels) != set(labels) & {i, j}:
            raise Unsupported("the rest of a sum beside indices other than i and j")
        body, index = expression.args
        return _rest(body, index, d, pattern)
    if name == "mean":
        return _mean(expression.args[0], pattern)
    raise Unsupported(f"no case analysis for {expression}")


def _rest(body: Any, index: Any, upper: Any, pattern: Pattern) -> Any:
    """The sum over the indices up to `upper` that equal no free index, behind a marker."""
    return _marker(upper) * evaluate(body, pattern.bind(index, OTHER))


def _marker(upper: Any) -> Any:
    return sympy.Symbol(f"sum_{upper}")


def _atom(expression: Any, pattern: Pattern) -> Any:
    base = str(expression.base)
    labels = [pattern.labels[index] for index in expression.indices]
    state = pattern.states.get(labels[0], "")
    if state in ("zero", "outside") and base in ("a", "a^-1", "exp(-a t)"):
        return sympy.Integer(1 if base == "exp(-a t)" else 0)
    if state == "outside" and base in ("mu", "sigma"):
        return sympy.Integer(0)
    if base == "a^-1" and state == "positive":
        return 1 / sympy.Symbol(f"a_{labels[0]}")
    if base == "w" and pattern.symmetric:
        labels = sorted(labels)
    symbol = sympy.Symbol(f"{base}_{','.join(labels)}")
    if base == "xi":
        pattern.normal[symbol] = (sympy.Integer(0), sympy.Integer(1))
    if base == "u":
        pattern.normal[symbol] = (sympy.Integer(0), sympy.Symbol("tau", positive=True) ** 2)
    if base == "x":
        met = sympy.Integer(int(pattern.labels.get(cluster) == labels[0]))
        mu, sigma = (sympy.IndexedBase(name)[expression.indices[0]] for name in ("mu", "sigma"))
        pattern.normal[symbol] = (met * evaluate(mu, pattern), evaluate(sigma, pattern) ** 2)
    return symbol


def _settled(value: Any, pattern: Pattern) -> Any:
    """Count the summands without a generic index; the others keep their marker."""
    counts = {s: s - len(pattern.inside), d: d - len(pattern.free), d_prime: d_prime}
    markers = {_marker(upper): count for upper, count in counts.items()}
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(value)):
        found = [symbol for symbol in markers if term.has(symbol)]
        if len(found) > 1 or any(sympy.degree(term, symbol) != 1 for symbol in found):
            raise Unsupported("a product of sums")
        total += term if _is_generic(term) else term.subs(markers)
    return total


def _mean(body: Any, pattern: Pattern) -> Any:
    """The mean of a formula over the cluster and the Gaussian letters, in one case."""
    names = {str(base) for base in body.atoms(sympy.IndexedBase)}
    if "x" not in names and cluster not in body.free_symbols:
        return gaussian_mean(body, pattern)
    if not pattern.states:
        raise Unsupported("a cluster without a statement on [s]")
    other = gaussian_mean(body, pattern.bind(cluster, OTHER))
    if _is_generic(other):
        raise Unsupported("a mean that depends on the other clusters one by one")
    met = [gaussian_mean(body, pattern.bind(cluster, label)) for label in pattern.inside]
    return (sum(met) + (s - len(pattern.inside)) * other) / s


def gaussian_mean(body: Any, pattern: Pattern) -> Any:
    """The mean of a formula over its Gaussian letters, the cluster given."""
    pattern = replace(pattern, normal={})
    value = sympy.expand(evaluate(body, pattern))
    for symbol, (location, variance) in pattern.normal.items():
        powers = sympy.Poly(value, symbol).all_coeffs()[::-1]
        moments = [raw_moment(order, location, variance) for order in range(len(powers))]
        value = sympy.expand(sum(map(sympy.Mul, powers, moments)))
    return value


def raw_moment(order: int, location: Any, variance: Any) -> Any:
    """E x^order for a Gaussian x, by Isserlis' theorem."""
    total = 0
    for pairs in range(order // 2 + 1):
        ways = math.comb(order, 2 * pairs) * math.prod(range(1, 2 * pairs, 2))
        total = total + ways * location ** (order - 2 * pairs) * variance**pairs
    return total


def _is_generic(term: Any) -> bool:
    """Whether a term has an entry with the index that equals no free index."""
    return any(OTHER in atom.name.split("_", 1)[-1].split(",") for atom in term.free_symbols)
