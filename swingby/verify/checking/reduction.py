r"""The reduction of the constants of D.1 to D.5 as sympy expressions.

The derivation is in :mod:`swingby.verify.checking.feasibility`, whose letters these are. Balls
evaluate them there, and the explorer prints them as JavaScript: a formula stands here once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy

LETTERS = sympy.symbols("u b p D s c Q rho kappa gamma d K n", positive=True)
u, b, p, D, s, c, Q, rho, kappa, gamma, d, K, n = LETTERS
gap = sympy.Symbol("gap", positive=True)

#: The letters of the kappa, gamma and rho of a setting.
MEANING = {
    D: sympy.log(K * d * gamma) - sympy.log(1 - 1 / sympy.sqrt(kappa)),
    s: 1 / (1 + 10 * kappa**2 * rho / (1 - rho)),
    c: 10 * kappa**2 - 1,
    Q: 10 * rho * kappa**2,
}
#: F: the constants exist where log(1/omega) is above it.
THRESHOLD = (D * (1 - rho + Q) + b * (2 - rho + Q)) / (1 - rho)
#: p_-, without the maximum with log 2.
P_LOW = (1 - s) * (u - b) + b / (1 / rho + c)
#: n (p_+ - p).
ABOVE = u - D - 2 * b - n * p
#: p_+ - p_- of the printed edition, n = 1.
SLACK = s * u - D - b - b / (1 + rho * c)
#: The largest alpha that the gap m of the signals admits.
ALPHA_BOUND = 10 * gap / (kappa - 1)


def function_of(expression: Any) -> Callable[..., Any]:
    """A rational expression as a function of its letters by name, for balls and fractions."""
    names = sorted(map(str, expression.free_symbols))
    return sympy.lambdify(names, expression, modules=[{}])  # type: ignore[no-any-return]
