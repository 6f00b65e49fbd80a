"""The edge of stability: gradient descent ends at a minimum of sharpness just below 2/h.

X. Zhu, Z. Wang, X. Wang, M. Zhou, R. Ge (2023), Understanding edge-of-stability training dynamics
with a minimalist example, arXiv 2210.03294: on (1 - x^2 y^2)^2 / 4, whose minima have sharpness
2 (x^2 + y^2), gradient descent from beyond the edge ends with a sharpness in (2/h - 20 h/3, 2/h).
"""

import numpy as np
import sympy as sp

from swingby.own import Theory, Value

h, excess, product = sp.symbols("h excess product", positive=True)
slack = sp.Rational(10, 3) * h**2


def start(h, excess, product):  # x^2 + y^2 = (1 + excess)/h, x y = product
    size = (1 + excess) / h
    total, gap = np.sqrt(size + 2 * product), np.sqrt(size - 2 * product)
    return np.stack([(total - gap) / 2, (total + gap) / 2])


def step(z, h):
    x, y = z
    residual = 1 - (x * y) ** 2
    return np.stack([x + h * residual * x * y**2, y + h * residual * x**2 * y])


# From a product of 1.41 on the first steps may lose more sharpness than the excess, as a hunt says.
theory = Theory(
    "edge of stability of a scalar network",
    numbers={h: (0.03, 0.05, 0.1), excess: (0.01, 0.1, 0.5), product: (0.5, 0.9, 1.3)},
    assume={"off the minimum": sp.Abs(product - 1) >= sp.Rational(1, 20)},
    start=start,
    step=step,
    observe={"h sharpness": lambda z, h: 2 * h * (z[0] ** 2 + z[1] ** 2)},
    predict=[Value("edge", "h sharpness", at=16 / h**2, value=2 - slack, within=slack)],
    reference="arXiv 2210.03294, Theorem 3.1",
)
