"""A law: a formula for a time or a size, with its letters, evaluated in ball arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import flint
import sympy

from swingby.errors import MISSING, InvalidInput
from swingby.theory import balls, numbers
from swingby.theory.assumptions import K, a_i, a_j, a_k, alpha, eta, gamma, kappa

t, tau = sympy.symbols("t tau", real=True)
eta_t = sympy.Symbol("eta t", real=True)
g_kk, g_kj = sympy.symbols("g_kk g_kj", positive=True)
w = sympy.Symbol("w_kk", positive=True)
theta = sympy.Symbol("theta", positive=True)
log_x = sympy.Symbol("log x_k", real=True)
M = sympy.Symbol("M_kj", real=True)
log_P, log_beta, log_omega = sympy.symbols("log_P log_beta log_omega", real=True)
log_start, log_level, log_anchor = sympy.symbols("log_start log_level log_anchor", real=True)
level = sympy.Symbol("lambda", positive=True)

#: What each letter measures.
UNITS: dict[Any, str] = {
    a_i: "1/(eta step)",
    a_j: "1/(eta step)",
    a_k: "1/(eta step)",
    alpha: "1/(eta step)",
    eta: "step size",
    t: "steps",
    eta_t: "eta times steps",
    tau: "steps after t_k",
    g_kk: "1/step",
    g_kj: "1/step",
    w: "1",
    theta: "1",
    level: "1",
    M: "1",
    log_x: "natural logarithm",
    log_P: "natural logarithm",
    log_beta: "natural logarithm",
    log_omega: "natural logarithm",
    log_start: "natural logarithm",
    log_level: "natural logarithm",
    log_anchor: "natural logarithm",
    K: "1",
    kappa: "1",
    gamma: "1",
}


@dataclass(frozen=True)
class Law:
    """A formula with its name, where it comes from, and its unit.

    Parameters
    ----------
    id : str
        Such as ``"growth.euler"``.
    title : str
    source : str
        Equation or lemma; ``"ours"`` for what the paper does not have.
    expression : sympy.Expr
    unit : str
        Of the value.
    """

    id: str
    title: str
    source: str
    expression: Any
    unit: str

    @property
    def letters(self) -> dict[str, str]:
        """Letters of the expression with what they measure, by name."""
        return {
            str(symbol): UNITS.get(symbol, _unit(str(symbol)))
            for symbol in sorted(self.expression.free_symbols, key=str)
        }

    def __str__(self) -> str:
        return f"{self.title} ({self.source}): {sympy.sstr(self.expression)}, in {self.unit}"

    def to_latex(self) -> str:
        """The expression as LaTeX.

        Returns
        -------
        str
        """
        return str(sympy.latex(self.expression))


def _unit(letter: str) -> str:
    """What a letter with a number for an index measures."""
    return "1/(eta step)" if letter.startswith("a_") else "1"


def evaluate(law: Law, values: Mapping[Any, Any]) -> flint.arb:
    """A ball that contains the value of a law, at the current working precision.

    Parameters
    ----------
    law : Law
    values : mapping from letter (symbol or name) to number, text or flint.arb
        Numbers are taken exactly.

    Returns
    -------
    flint.arb
        Not finite where the law is undefined at some point of the balls.

    Raises
    ------
    InvalidInput
        If a letter of the law has no value, or a value is not a number.

    Examples
    --------
    >>> law = Law("half-time", "time at which w_kk reaches 1/2", "ours", -log_x / g_kk, "steps")
    >>> evaluate(law, {"log x_k": -100, "g_kk": 2})
    50.0000000000000
    """
    given = {str(letter): value for letter, value in values.items()}
    filled = {}
    for symbol in law.expression.free_symbols:
        name = str(symbol)
        if name not in given:
            raise InvalidInput(name, MISSING, f"must be given for {law.id}", law.source)
        value = given[name]
        if isinstance(value, flint.arb):
            filled[symbol] = value
        else:
            filled[symbol] = balls.ball(numbers.exact(value, name, law.source))
    return balls.evaluate(law.expression, filled)
