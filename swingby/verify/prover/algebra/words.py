"""Noncommutative polynomials: the argument for matrix identities in every dimension.

A polynomial in matrices is a sum of words with scalar coefficients. Two polynomials whose words
agree are equal for all matrices of all sizes; transposition reverses a word, and inside a trace a
word may be rotated and transposed. Three rules are added: the identity is dropped,
A^(1/2) A^(1/2) = A, and a sum over samples is linear, so that what does not depend on the sample
moves in and out of it.

One case of equal and distinct indices, and the value of a formula in it.

The summation index is equal to one of the free indices or to none. For the latter one generic
summand is kept, behind a marker, and counted where it does not depend on the index.

Sums over indices for every d and s: the argument by cases of equal and distinct indices.

Free indices are equal or distinct, inside [s] or free directions; two formulas agree if they do
in every case, generic summand against generic summand.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from swingby.theory.derivations.letters import d
from swingby.theory.derivations.matrices import (
    LETTERS,
    A,
    I,
    U,
    Ut,
    W,
    cluster,
    d_prime,
    i,
    j,
    k,
    n,
    over_samples,
    root,
    s,
    squared_norm,
    substitute,
    transpose,
    unit,
    unitt,
    z,
    zt,
)
from swingby.theory.derivations.matrices import delta as kronecker

#: A word and whether it stands under the sum over samples.
Word = tuple[bool, tuple[Any, ...]]
Polynomial = dict[Word, Any]

ONE: Word = (False, ())


class Unsupported(Exception):
    """The expression is outside the language of a prover, which then has no opinion."""


class Misshapen(Unsupported):
    """Two matrices are multiplied whose shapes do not fit: the line has no meaning."""


def polynomial(expression: Any, where: tuple[tuple[Any, Any], ...] = ()) -> Polynomial:
    """The words of a polynomial in matrices.

    `expression`: in the letters of :mod:`swingby.theory.derivations.matrices`.
    `where`: definitions, put in one after the other; the rule for A^(1/2) is applied in between.
    Returns without words of coefficient zero.
    Raises Unsupported where the expression is no such polynomial.
    """
    return _expand(substitute(expression, where))


def normal_form(
    expression: Any, where: tuple[tuple[Any, Any], ...] = (), trace: bool = False
) -> Polynomial:
    """The words of a polynomial up to the rules that hold of every matrix.

    Raises Unsupported where the expression is no polynomial in matrices.
    """
    # a definition of A has to see every A that the root gives, so the root goes first
    words = reduced(_expand(substitute(expression, tuple(r for r in where if r[0] != A))), trace)
    for symbol, definition in where:
        if symbol == A:
            replaced = {A: _expand(definition)}
            words = reduced(_replace(words, replaced), trace)
    return words


def same(
    left: Any, right: Any, where: tuple[tuple[Any, Any], ...] = (), trace: bool = False
) -> bool:
    """Whether two polynomials agree word by word.

    Raises Unsupported where a side is no polynomial in matrices.
    """
    for side in (left, right):
        # in the difference, terms whose shapes do not fit could cancel
        normal_form(side, where, trace)
    return not normal_form(left - right, where, trace)


def derivative(words: Polynomial, variable: Any, towards: Any) -> Polynomial:
    """The derivative of a polynomial in the direction of a matrix."""
    swap = {variable: towards, transpose(variable): transpose(towards)}
    found: Polynomial = {}
    for (summed, word), coefficient in words.items():
        for place, letter in enumerate(word):
            if letter in swap:
                _add(
                    found, (summed, (*word[:place], swap[letter], *word[place + 1 :])), coefficient
                )
    return _clean(found)


def _expand(expression: Any) -> Polynomial:
    if expression == I:
        return {ONE: sympy.Integer(1)}
    if expression in LETTERS:
        return {(False, (expression,)): sympy.Integer(1)}
    if expression.is_commutative:
        if expression.has(sympy.Sum, sympy.Indexed):
            raise Unsupported("an expression in entries is no polynomial in matrices")
        return {ONE: expression}
    if expression.is_Add:
        total: Polynomial = {}
        for term in expression.args:
            for word, coefficient in _expand(term).items():
                _add(total, word, coefficient)
        return _clean(total)
    if expression.is_Mul:
        product: Polynomial = {ONE: sympy.Integer(1)}
        for factor in expression.args:
            product = _times(product, _expand(factor))
        return product
    if expression.is_Pow and expression.exp.is_Integer and expression.exp > 0:
        return _expand(sympy.Mul(*[expression.base] * int(expression.exp), evaluate=False))
    if expression.func == squared_norm:
        inner = expression.args[0]
        return _times(_expand(transpose(inner)), _expand(inner))
    if expression.func == over_samples:
        return _summed(_expand(expression.args[0]))
    raise Unsupported(f"no words for {expression}")


def _summed(words: Polynomial) -> Polynomial:
    total: Polynomial = {}
    for (summed, word), coefficient in words.items():
        if summed:
            raise Unsupported("a sum over samples inside another")
        if any(LETTERS[letter].sample for letter in word):
            _add(total, (True, word), coefficient)
        else:
            _add(total, (False, word), s * n * coefficient)
    return _clean(total)


def _times(left: Polynomial, right: Polynomial) -> Polynomial:
    product: Polynomial = {}
    for (first_summed, first), one in left.items():
        for (second_summed, second), two in right.items():
            if first_summed and second_summed:
                raise Unsupported("a product of two sums over samples")
            if first_summed or second_summed:
                outside = second if first_summed else first
                if any(LETTERS[letter].sample for letter in outside):
                    raise Unsupported("a sample beside a sum over samples")
            _add(product, (first_summed or second_summed, first + second), one * two)
    return _clean(product)


def _replace(words: Polynomial, rules: dict[Any, Polynomial]) -> Polynomial:
    total: Polynomial = {}
    for (summed, word), coefficient in words.items():
        product: Polynomial = {ONE: coefficient}
        for letter in word:
            product = _times(product, rules.get(letter, {(False, (letter,)): sympy.Integer(1)}))
        for (inner, found), value in product.items():
            if summed and inner:
                raise Unsupported("a sum over samples inside another")
            _add(total, (summed or inner, found), value)
    return _clean(total)


def reduced(words: Polynomial, trace: bool) -> Polynomial:
    """The words after A^(1/2) A^(1/2) = A, and up to rotation and transposition in a trace."""
    total: Polynomial = {}
    for (summed, word), coefficient in words.items():
        short = _pair_roots(word)
        if trace:
            while len(short) > 1 and short[0] == root == short[-1]:
                short = _pair_roots((*short[1:], short[0]))
            short = _first_of_class(short)
        _check_shape(short, trace)
        _add(total, (summed, short), coefficient)
    return _clean(total)


def _pair_roots(word: tuple[Any, ...]) -> tuple[Any, ...]:
    out: list[Any] = []
    for letter in word:
        if letter == root and out and out[-1] == root:
            out[-1] = A
        else:
            out.append(letter)
    return tuple(out)


def _first_of_class(word: tuple[Any, ...]) -> tuple[Any, ...]:
    flipped = tuple(LETTERS[letter].transposed for letter in reversed(word))
    turns = [
        chosen[turn:] + chosen[:turn] for chosen in (word, flipped) for turn in range(len(word))
    ]
    return min(turns, key=lambda turned: [letter.name for letter in turned], default=())


def _check_shape(word: tuple[Any, ...], trace: bool) -> None:
    letters = [LETTERS[letter] for letter in word]
    pairs = list(itertools.pairwise(letters))
    if trace and letters:
        pairs.append((letters[-1], letters[0]))
    for first, second in pairs:
        if first.columns != second.rows:
            raise Misshapen(f"{first.symbol} {second.symbol}: the shapes do not fit")


def _add(words: Polynomial, word: Word, coefficient: Any) -> None:
    words[word] = words.get(word, sympy.Integer(0)) + coefficient


def _clean(words: Polynomial) -> Polynomial:
    cleaned = {word: sympy.cancel(value) for word, value in words.items()}
    return {word: value for word, value in cleaned.items() if value != 0}


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
    """E x^order for a Gaussian x, by Isserlis' theorem."""
    total = 0
    for pairs in range(order // 2 + 1):
        ways = math.comb(order, 2 * pairs) * math.prod(range(1, 2 * pairs, 2))
        total = total + ways * location ** (order - 2 * pairs) * variance**pairs
    return total


def generic(term: Any) -> bool:
    """Whether a term has an entry with the index that equals no free index."""
    return any(OTHER in atom.name.split("_", 1)[-1].split(",") for atom in term.free_symbols)


#: The direction of the basis vector that stands for z, and the index of a sum inside a word.
basis, inner = sympy.symbols("m r", integer=True, positive=True)


def agree(left: Any, right: Any, *, symmetric: bool = False, square: bool = False) -> bool:
    """Whether two formulas in entries are equal for all sizes and indices.

    Returns False where some case does not come out as zero. Raises Unsupported where a formula is
    outside the language of this module.
    """
    if (
        len({_degree(side) for side in (left, right) if not side.has(basis)} | _basis_degree(left))
        > 1
    ):
        raise Unsupported("the two sides differ in their degree in z")
    difference = _at_basis(left) - _at_basis(right)
    for pattern in patterns(difference, symmetric, square):
        value = settle(evaluate(difference, pattern), pattern)
        if sympy.cancel(sympy.together(value)) != 0:
            return False
    return True


def patterns(expression: Any, symmetric: bool, square: bool) -> Iterator[Pattern]:
    """Every case that a formula in entries needs."""
    indices = sorted(_free_indices(expression), key=str)
    names = {str(base) for base in expression.atoms(sympy.IndexedBase)}
    located = expression.has(s) or "inside" in _operators(expression) or names & {"mu", "sigma"}
    for code in itertools.product(range(len(indices)), repeat=len(indices)):
        if any(label > max(code[:place], default=-1) + 1 for place, label in enumerate(code)):
            continue
        labels = {index: str(label) for index, label in zip(indices, code, strict=True)}
        distinct = sorted(set(labels.values()))
        options = STATES[:2] if square else STATES
        for states in itertools.product(options if located else ("",), repeat=len(distinct)):
            states_by_label = dict(zip(distinct, states, strict=True)) if located else {}
            yield Pattern(labels, states_by_label, symmetric)


def from_words(words: Polynomial) -> Any:
    """Entry (i, j) of a polynomial in matrices, or its value where it is a number.

    Returns a formula in entries.
    """
    total = sympy.Integer(0)
    with_z = int(any(letter in (z, zt) for _, word in words for letter in word))
    for (summed, word), coefficient in words.items():
        if summed:
            raise Unsupported("a sum over samples has no entries here")
        if len([letter for letter in word if letter in (z, zt)]) != with_z:
            raise Unsupported("words of different degree in z")
        total += coefficient * _word(_fold(word))
    return total


def _fold(word: tuple[Any, ...]) -> list[Any]:
    out: list[Any] = []
    for letter in word:
        if letter == Ut and out and out[-1] == U:
            out[-1] = W
        else:
            out.append(letter)
    return out


def _word(word: list[Any]) -> Any:
    row = {zt: basis, unitt: k}
    at = row.get(word[0], i) if word else i
    body, sums, ended = sympy.Integer(1), 0, at != i
    for place, letter in enumerate(word):
        known = LETTERS[letter]
        if letter in row and place == 0:
            continue
        if letter in (z, unit):
            body *= kronecker(at, basis if letter == z else k)
        elif known.diagonal:
            body *= sympy.IndexedBase(known.entries)[at]
        elif (known.rows, known.columns) == ("d", "d"):
            last = all(LETTERS[after].diagonal for after in word[place + 1 :])
            following = j if last else inner
            sums += not last
            flipped = letter.name.endswith("^T")
            body *= sympy.IndexedBase(known.entries)[
                (following, at) if flipped else (at, following)
            ]
            at = following
        else:
            raise Unsupported(f"no entries for {letter}")
    if sums > 1:
        raise Unsupported("a word with more than one inner index")
    if at == i and not ended:
        body *= kronecker(i, j)
    return sympy.Sum(body, (inner, 1, d)) if sums else body


def _at_basis(expression: Any) -> Any:
    swap = {
        entry: kronecker(entry.indices[0], basis)
        for entry in expression.atoms(sympy.Indexed)
        if str(entry.base) == "z"
    }
    return expression.xreplace(swap)


def _degree(expression: Any) -> int:
    if isinstance(expression, sympy.Indexed):
        return int(str(expression.base) == "z")
    if isinstance(expression, sympy.Sum):
        return _degree(expression.function)
    if expression.is_Mul:
        return sum(_degree(factor) for factor in expression.args)
    if expression.is_Add:
        found = {_degree(term) for term in expression.args}
        if len(found) > 1:
            raise Unsupported("terms of different degree in z")
        return found.pop()
    return 0


def _basis_degree(left: Any) -> set[int]:
    # a word that has given the basis vector contains z once, which from_words has seen to
    return {1} if left.has(basis) else set()


def _free_indices(expression: Any) -> set[Any]:
    known = {symbol for symbol in expression.free_symbols if symbol.is_integer}
    bound = {
        operator.args[1] for operator in expression.atoms(sympy.Function) if _is_rest(operator)
    }
    return known - bound - {cluster}


def _is_rest(operator: Any) -> bool:
    return bool(operator.func.__name__ == "rest")


def _operators(expression: Any) -> set[str]:
    return {operator.func.__name__ for operator in expression.atoms(sympy.Function)}
