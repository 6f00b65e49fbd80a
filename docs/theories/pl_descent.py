"""Gradient descent under the Polyak-Lojasiewicz inequality converges at a linear rate.

H. Karimi, J. Nutini, M. Schmidt (2016), Linear convergence of gradient and proximal-gradient
methods under the Polyak-Lojasiewicz condition, arXiv 1608.04636, Theorem 1: with |f'|^2 >= 2 mu f
and an L-smooth f, f(x_t) <= (1 - h mu)^t f(x_0) for h <= 1/L. Their example x^2 + 3 sin(x)^2 is not
convex, has L = 8 and mu = 1/32; here it is scaled by c.
"""

from pathlib import Path

import numpy as np
import sympy as sp

from swingby.own import Bound, Theory, t

c, r, h = sp.symbols("c r h", positive=True)


def loss(x, c):
    return c * (x**2 + 3 * np.sin(x) ** 2)


theory = Theory(
    "gradient descent under PL",
    numbers={c: (0.01, 1, 100), r: (1e-3, 1, 100), h: (1e-6, 0.01, 10)},
    assume={"h <= 1/L": 8 * c * h <= 1},
    start=lambda r: 1.0 * r,
    step=lambda x, c, h: x - h * c * (2 * x + 3 * np.sin(2 * x)),
    observe={"loss": loss},
    predict=[
        Bound(
            "rate",
            "loss",
            below=(1 - h * c / 32) ** t * c * (r**2 + 3 * sp.sin(r) ** 2),
            until=500,
            floor=1e-28 * c,
        )
    ],
    proof=Path(__file__).parents[1] / "proofs/gradient_descent.proof",
    reference="arXiv 1608.04636, Theorem 1",
)
