"""A diagonal linear network on orthogonal data: the coordinates jump to their values one by one.

B. Woodworth et al. (2020), Kernel and rich regimes in overparametrized models, arXiv 2002.09277;
S. Pesme, N. Flammarion (2023), Saddle-to-saddle dynamics in diagonal linear networks, arXiv
2304.00488: beta = w_+^2 - w_-^2 from w = alpha follows beta' = 2 sqrt(beta^2 + 4 alpha^4)
(y - beta), so that coordinate k jumps at log(y_k / alpha^2) / (2 h y_k), the largest first.
"""

import numpy as np
import sympy as sp

from swingby.own import Before, Each, Passage, Theory, Vector, i, j, k

y = sp.IndexedBase("y", positive=True)
alpha, h = sp.symbols("alpha h", positive=True)
logarithm = sp.log(y[k] / alpha**2)
time = logarithm / (2 * h * y[k])


def start(y, alpha):
    return np.stack([alpha + 0 * y] * 2)


def step(w, y, h):
    error = h * (y - (w[0] ** 2 - w[1] ** 2))
    return np.stack([w[0] * (1 + error), w[1] * (1 - error)])


theory = Theory(
    "jumps of a diagonal linear network",
    numbers={y: Vector(0.1, 1, 10), alpha: (1e-10, 1e-4, 1e-1), h: (1e-4, 5e-3, 0.1)},
    assume={
        "small step": Each(h * y[k] <= sp.Rational(1, 100)),
        "small start": Each(alpha**2 <= y[k] / 100),
        "apart": Each(y[i] >= sp.Rational(3, 2) * y[j], i < j),
    },
    start=start,
    step=step,
    observe={"beta": lambda w: w[0] ** 2 - w[1] ** 2},
    # Without the last term the promise is broken from alpha = 0.02 on, as a hunt says.
    predict=[
        Passage(
            "jump",
            "beta",
            level=y[k] / 2,
            time=time,
            within=1 + logarithm / 2 + alpha**2 / (h * y[k] ** 2),
            each=True,
        ),
        Before("larger first", "jump[1]", "jump[2]"),
    ],
    lengths=(2, 3),
    reference="arXiv 2002.09277; arXiv 2304.00488, Section 3",
)
