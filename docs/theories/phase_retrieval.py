"""Phase retrieval on the population loss: the signal escapes from a small start.

Y. Chen, Y. Chi, J. Fan, C. Ma (2019), Gradient descent with random initialization: fast global
convergence for nonconvex phase retrieval, arXiv 1803.07726, eq. (14): the part p along the signal
and the size q of the rest move by p (1 + 3 h (1 - p^2 - q^2)) and q (1 + h (1 - 3 (p^2 + q^2))).
While both are small, p grows by 1 + 3 h a step: it reaches order 1 after log(1/p_0) / (3 h).
"""

import numpy as np
import sympy as sp

from swingby.own import Passage, Theory

p0, q0, h = sp.symbols("p0 q0 h", positive=True)
time = sp.log(1 / p0) / (3 * h)


def step(z, h):
    p, q = z
    size = p**2 + q**2
    return np.stack([p * (1 + 3 * h * (1 - size)), q * (1 + h * (1 - 3 * size))])


theory = Theory(
    "escape time of phase retrieval",
    numbers={p0: (1e-12, 1e-4, 0.1), q0: (1e-12, 1e-4, 0.1), h: (1e-4, 1e-3, 0.1)},
    assume={
        "small signal": p0 <= sp.Rational(1, 100),
        "rest is smaller": q0 <= p0,
        "small step": h <= sp.Rational(1, 100),
    },
    start=lambda p0, q0: np.stack([p0, q0]),
    step=step,
    observe={"p^2": lambda z: z[0] ** 2},
    # Half is reached as soon as 1 would be by growth alone, but for p - p^3 and Euler's method.
    predict=[
        Passage("half", "p^2", 0.5, time, within=1 + time * 3 * h / 2 + sp.Rational(1, 10) / h)
    ],
    reference="arXiv 1803.07726, eq. (14)",
)
