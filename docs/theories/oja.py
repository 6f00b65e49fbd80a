"""Oja's rule with a constant step: its stationary angle to the first principal component.

E. Oja (1982), A simplified neuron model as a principal component analyzer. For inputs N(0, diag(l1,
l2)) the squared sine of the angle to e_1 settles at h l1 l2 / (2 (l1 - l2)), to first order in h:
its mean moves by -2 h (l1 - l2) sin^2 + h^2 l1 l2 in a step.
"""

import numpy as np
import sympy as sp

from swingby.own import Theory, Value

l1, l2, h = sp.symbols("l1 l2 h", positive=True)
angle = h * l1 * l2 / (2 * (l1 - l2))


def step(w, l1, l2, h, rng):
    x = rng.standard_normal(w.shape) * np.sqrt(np.stack([l1, l2]))
    y = (w * x).sum(axis=0)
    w = w + h * y * x
    return w / np.sqrt((w**2).sum(axis=0))


theory = Theory(
    "stationary angle of Oja's rule",
    numbers={l1: (0.1, 2, 10), l2: (0.1, 1, 10), h: (1e-4, 1e-2, 1)},
    assume={"gap": l1 >= 2 * l2, "small step": h * l1**2 / (l1 - l2) <= sp.Rational(1, 20)},
    start=lambda l1: np.stack([1 + 0 * l1, 0 * l1]),
    step=step,
    observe={"sin^2": lambda w: w[1] ** 2},
    predict=[Value("angle", "sin^2", 4 / (h * (l1 - l2)), angle, within=0.35 * angle, stat="mean")],
    seeds=600,
    steps=1000,
    reference="E. Oja, J. Math. Biol. 15 (1982)",
)
