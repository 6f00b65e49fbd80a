"""The letters of Sec. 4 and App. B to D as symbols: matrices, samples, entries, sums and means.

Matrices are noncommutative symbols, each with its transpose (:func:`transpose`); the identity is
the letter I. Entries are indexed (``a[k]``, ``w[i, j]``), sums over entries are ``sympy.Sum``, and
four operators are written as undefined functions: :data:`over_samples`, :data:`squared_norm`,
:data:`mean` and :data:`rest`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.theory.assumptions import d as d
from swingby.theory.assumptions import eta as eta

#: Sizes: samples per cluster, clusters, rows and columns of U (d above).
s, n, d_prime = sympy.symbols("s n d'", positive=True)
t = sympy.Symbol("t", nonnegative=True)
tau = sympy.Symbol("tau", positive=True)

#: Indices: entries, rows, clusters.
i, j, k, p, q = sympy.symbols("i j k p q", integer=True, positive=True)

#: The random cluster of (C.7).
cluster = sympy.Symbol("eta", integer=True, positive=True)


@dataclass(frozen=True)
class Letter:
    """A matrix that a word may contain: its symbol does not commute.

    `transposed`: the same symbol where the matrix is symmetric. `rows`, `columns` in {"d", "d'",
    "1"}. `entries`: their name; a diagonal matrix has one index. `sample`: it differs from sample
    to sample.
    """

    symbol: Any
    transposed: Any
    rows: str
    columns: str
    entries: str
    latex: str
    diagonal: bool = False
    sample: bool = False


#: Every letter by its symbol. A and its root are symmetric; the provers use no more than that
#: wherever the text has not yet made A diagonal.
LETTERS: dict[Any, Letter] = {}


def _letter(
    name: str,
    latex: str,
    entries: str = "",
    shape: tuple[str, str] = ("d", "d"),
    *,
    diagonal: bool = False,
    sample: bool = False,
) -> tuple[Any, Any]:
    """A new letter and its transpose."""
    symbol = sympy.Symbol(name, commutative=False)
    transposed = symbol if diagonal else sympy.Symbol(f"{name}^T", commutative=False)
    raised = latex if latex.isalpha() else f"{{{latex}}}"
    sides = (
        (symbol, transposed, shape, latex),
        (transposed, symbol, shape[::-1], f"{raised}^\\top"),
    )
    for key, flipped, sizes, text in sides[: 1 if diagonal else 2]:
        LETTERS[key] = Letter(key, flipped, *sizes, entries or name, text, diagonal, sample)
    return symbol, transposed


#: The identity matrix of size d.
I = sympy.Symbol("I", commutative=False)  # noqa: E741

U, Ut = _letter("U", "U", "u", ("d", "d'"))
U_next, U_nextt = _letter("U(t+1)", "U(t+1)", "u(t+1)", ("d", "d'"))
gradient, gradientt = _letter("gradL(U)", r"\nabla\mathcal{L}(U)", "g", ("d", "d'"))
W, Wt = _letter("W", "W", "w")
W_start, W_startt = _letter("W(0)", "W(0)", "w(0)")
direction, directiont = _letter("E", "E", "e")
#: A direction for U.
direction_U, direction_Ut = _letter("F", "F", "f", ("d", "d'"))
#: The data matrix, its symmetric root, its inverse with 0 * 0^-1 = 0, and exp(-A t).
A, _ = _letter("A", "A", "a", diagonal=True)
root, _ = _letter("A^(1/2)", "A^{1/2}", "a^(1/2)", diagonal=True)
inverse, _ = _letter("A^-1", "A^{-1}", "a^-1", diagonal=True)
decay, _ = _letter("exp(-A t)", r"e^{-At}", "exp(-a t)", diagonal=True)
#: A sample x_k^(p), the model's output there, and what (2.1) prints in their place.
x, xt = _letter("x_k^(p)", "x_k^{(p)}", "x", ("d", "1"), sample=True)
f, ft = _letter("f(x_k^(p))", "f(x_k^{(p)})", "f", ("d", "1"), sample=True)
x_last, x_lastt = _letter("x_k^(s)", "x_k^{(s)}", "x", ("d", "1"), sample=True)
f_last, f_lastt = _letter("f(x_k^(s))", "f(x_k^{(s)})", "f", ("d", "1"), sample=True)
#: Any vector z, and the k-th basis vector.
z, zt = _letter("z", "z", "z", ("d", "1"))
unit, unitt = _letter("1_k", r"\mathbf{1}_k", "1_k", ("d", "1"))

#: Letters of the last cluster's samples.
LAST_CLUSTER = frozenset({x_last, x_lastt, f_last, f_lastt})

#: Entries. w is the Jacobian, u the entry of a Gaussian U(0), xi standard Gaussian.
a, a_inverse, exp_decay = (sympy.IndexedBase(name) for name in ("a", "a^-1", "exp(-a t)"))
w, w_start, u, z_entry = (sympy.IndexedBase(name) for name in ("w", "w(0)", "u", "z"))
mu, sigma, xi, x_entry, v = (sympy.IndexedBase(name) for name in ("mu", "sigma", "xi", "x", "v"))

#: Sum over all samples, p = 1..s and k = 1..n; squared Euclidean or Frobenius norm; mean over the
#: data or over U(0); sum over an index from 1 to d without i and j; 1{p <= s}.
over_samples, squared_norm, mean, rest, inside = (
    sympy.Function(name) for name in ("over_samples", "squared_norm", "mean", "rest", "inside")
)
delta = sympy.KroneckerDelta


def transpose(expression: Any) -> Any:
    """The transpose of a polynomial in matrices."""
    if expression.is_commutative or expression == I or expression.func == squared_norm:
        return expression
    if expression in LETTERS:
        return LETTERS[expression].transposed
    if expression.is_Add:
        return sympy.Add(*(transpose(term) for term in expression.args))
    if expression.is_Mul:
        return sympy.Mul(*(transpose(factor) for factor in reversed(expression.args)))
    if expression.is_Pow:
        return transpose(expression.base) ** expression.exp
    if expression.func == over_samples:
        return over_samples(transpose(expression.args[0]))
    raise InvalidInput("expression", expression, "must be a polynomial in the paper's matrices")


def substitute(expression: Any, where: tuple[tuple[Any, Any], ...]) -> Any:
    """An expression with definitions put in, in their order; a transpose follows its matrix."""
    for symbol, definition in where:
        swap = {symbol: definition}
        if symbol in LETTERS and definition != LETTERS[symbol].transposed:
            swap[LETTERS[symbol].transposed] = transpose(definition)
        # xreplace would leave nested functions unevaluated as they are, which is what is wanted
        expression = expression.xreplace(swap)
    return expression
