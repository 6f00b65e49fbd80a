"""SGD with a constant step on a quadratic: its stationary variance is h v / (2 lam).

S. Mandt, M. Hoffman, D. Blei (2017), Stochastic gradient descent as approximate Bayesian inference,
arXiv 1704.04289: near a minimum with curvature lam and gradient noise of variance v, SGD is an
Ornstein-Uhlenbeck process. The exact variance of the recursion is h v / (lam (2 - h lam)).
"""

import numpy as np
import sympy as sp

from swingby.own import Theory, Value

lam, h, v = sp.symbols("lam h v", positive=True)
variance = h * v / (2 * lam)


def step(x, lam, h, v, rng):
    return x - h * lam * x + h * np.sqrt(v) * rng.standard_normal(x.shape)


theory = Theory(
    "stationary variance of SGD",
    numbers={lam: (0.01, 1, 100), h: (1e-4, 0.05, 10), v: (1e-3, 1, 100)},
    assume={"small step": h * lam <= sp.Rational(1, 5)},
    start=lambda lam: 0.0 * lam,
    step=step,
    observe={"x": lambda x: x},
    predict=[
        Value("variance", "x", 6 / (h * lam), variance, within=variance / 5, stat="var"),
        Value("mean", "x", 6 / (h * lam), 0, within=sp.sqrt(variance) / 8, stat="mean"),
    ],
    seeds=1500,
    steps=400,
    reference="arXiv 1704.04289, eq. (13)",
)
