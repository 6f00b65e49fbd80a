"""One case of equal and distinct indices, and the value of a formula in it.

The summation index is equal to one of the free indices or to none. For the latter one generic
summand is kept, behind a marker, and counted where it does not depend on the index.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from swingby.theory.derivations.matrices import cluster, d, d_prime, i, j, s
from swingby.verify.prover.algebra.words import Unsupported

#: Signal positive, signal zero inside [s], or a free direction.
STATES = ("positive", "zero", "outside")
OTHER = "other"


@dataclass(frozen=True)
class Pattern:
    """One case: which indices are equal, and where they lie.

    `labels`: a label for every index that is bound; equal indices share it.
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
        return sorted({label for label in self.labels.values() if label != OTHER})

    @property
    def inside(self) -> list[str]:
        """Those of them that lie in [s]."""
        return [label for label in self.free if self.states.get(label) in ("positive", "zero")]


def evaluate(expression: Any, pattern: Pattern) -> Any:
    """The value of a formula in one case, with a marker for generic summands."""
    if expression.is_Rational or expression.is_Symbol:
        return expression
    if isinstance(expression, sympy.Indexed):
        return _atom(expression, pattern)
    if expression.is_Add or expression.is_Mul or expression.is_Pow:
        return expression.func(*(evaluate(part, pattern) for part in expression.args))
    name = expression.func.__name__
    if name == "KroneckerDelta":
        one, two = (pattern.labels[index] for index in expression.args)
        return sympy.Integer(int(one == two))
    if name == "inside":
        return sympy.Integer(int(pattern.labels[expression.args[0]] in pattern.inside))
    if name == "Sum":
        return _sum(expression, pattern)
    if name == "rest":
        body, index = expression.args
        if {at for at in pattern.labels if at in (i, j)} != set(pattern.labels):
            raise Unsupported("the rest of a sum beside indices other than i and j")
        return marker(d) * evaluate(body, pattern.bind(index, OTHER))
    if name == "mean":
        return mean_in(expression.args[0], pattern)
    raise Unsupported(f"no case analysis for {expression}")


def marker(upper: Any) -> Any:
    """The symbol of the sum over the indices up to `upper` that equal no free index."""
    return sympy.Symbol(f"sum_{upper}")


def _sum(expression: Any, pattern: Pattern) -> Any:
    (index, _, upper), *others = expression.limits
    if others or OTHER in pattern.labels.values() or upper not in (s, d, d_prime):
        raise Unsupported("a sum inside another, or up to a size of another kind")
    met = {s: pattern.inside, d: pattern.free, d_prime: []}[upper]
    body = expression.function
    parts = [evaluate(body, pattern.bind(index, label)) for label in met]
    return sum(parts) + marker(upper) * evaluate(body, pattern.bind(index, OTHER))


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
        place = sympy.IndexedBase("mu")[expression.indices[0]]
        spread = sympy.IndexedBase("sigma")[expression.indices[0]]
        pattern.normal[symbol] = (
            met * evaluate(place, pattern),
            evaluate(spread, pattern) ** 2,
        )
    return symbol


def settle(value: Any, pattern: Pattern) -> Any:
    """Count the summands without a generic index; the others keep their marker."""
    counts = {s: s - len(pattern.inside), d: d - len(pattern.free), d_prime: d_prime}
    markers = {marker(upper): count for upper, count in counts.items()}
    total = sympy.Integer(0)
    for term in sympy.Add.make_args(sympy.expand(value)):
        found = [symbol for symbol in markers if term.has(symbol)]
        if not found:
            total += term
            continue
        (symbol,) = found if len(found) == 1 else (None,)
        if symbol is None or sympy.degree(term, symbol) != 1:
            raise Unsupported("a product of sums")
        total += term if generic(term) else term.subs(symbol, markers[symbol])
    return total


def mean_in(body: Any, pattern: Pattern) -> Any:
    """The mean of a formula over the cluster and the Gaussian letters, in one case."""
    names = {str(base) for base in body.atoms(sympy.IndexedBase)}
    if "x" not in names and cluster not in body.free_symbols:
        return gaussian_mean(body, pattern)
    if not pattern.states:
        raise Unsupported("a cluster without a statement on [s]")
    other = gaussian_mean(body, pattern.bind(cluster, OTHER))
    if generic(other):
        raise Unsupported("a mean that depends on the other clusters one by one")
    met = [gaussian_mean(body, pattern.bind(cluster, label)) for label in pattern.inside]
    return (sum(met) + (s - len(pattern.inside)) * other) / s


def gaussian_mean(body: Any, pattern: Pattern) -> Any:
    """The mean of a formula over its Gaussian letters, the cluster given."""
    pattern = replace(pattern, normal={})
    value = sympy.expand(evaluate(body, pattern))
    for symbol, (location, variance) in pattern.normal.items():
        powers = sympy.Poly(value, symbol).all_coeffs()[::-1]
        value = sympy.expand(
            sum(
                coefficient * raw_moment(order, location, variance)
                for order, coefficient in enumerate(powers)
            )
        )
    return value


def raw_moment(order: int, location: Any, variance: Any) -> Any:
    """E x^order for a Gaussian x, by Isserlis' theorem.

    Examples
    --------
    >>> raw_moment(4, 0, 1), raw_moment(2, 3, 1)
    (3, 10)
    """
    total = 0
    for pairs in range(order // 2 + 1):
        ways = math.comb(order, 2 * pairs) * math.prod(range(1, 2 * pairs, 2))
        total = total + ways * location ** (order - 2 * pairs) * variance**pairs
    return total


def generic(term: Any) -> bool:
    """Whether a term has an entry with the index that equals no free index."""
    return any(OTHER in atom.name.split("_", 1)[-1].split(",") for atom in term.free_symbols)
