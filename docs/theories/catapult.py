"""Large learning rates: lazy below h lambda_0 = 2, catapult from 2 to 4, divergence above 4.

A. Lewkowycz et al. (2020), The large learning rate phase of deep learning: the catapult mechanism,
arXiv 2003.02218: f = u v / sqrt(width) on one example with loss f^2/2 and curvature lambda =
(u^2 + v^2)/width, to leading order in 1/width.
"""

import numpy as np
import sympy as sp

from swingby.own import Outcome, Theory

width, f0, lam0, h = sp.symbols("width f0 lam0 h", positive=True)


def start(width, f0, lam0):  # u v = f0 sqrt(width), u^2 + v^2 = lam0 width
    total = np.sqrt(lam0 * width + 2 * f0 * np.sqrt(width))
    gap = np.sqrt(lam0 * width - 2 * f0 * np.sqrt(width))
    return np.stack([(total + gap) / 2, (total - gap) / 2])


def step(z, width, h):
    u, v = z
    f = u * v / np.sqrt(width)
    return np.stack([u - h * f * v / np.sqrt(width), v - h * f * u / np.sqrt(width)])


def fate(last, largest):
    if not last < 1e3:
        return "diverges"
    return "catapult" if largest > 2 else "lazy"


theory = Theory(
    "catapult on one example",
    numbers={width: (1e2, 1e4, 1e6), f0: (0.01, 0.1, 1), lam0: (0.2, 1, 5), h: (0.1, 1, 20)},
    assume={
        "wide": width >= 1000 * f0**2 / lam0**2,
        "off 2": sp.Abs(h * lam0 - 2) >= 0.2,
        "off 4": sp.Abs(h * lam0 - 4) >= 0.2,
        "below 6": h * lam0 <= 6,
    },
    start=start,
    step=step,
    observe={"output": lambda z, width, f0: np.abs(z[0] * z[1] / np.sqrt(width)) / f0},
    predict=[
        Outcome(
            "fate",
            "output",
            at=3000,
            predicted={
                "lazy": h * lam0 < 2,
                "catapult": (h * lam0 > 2) & (h * lam0 < 4),
                "diverges": h * lam0 > 4,
            },
            observed=fate,
        )
    ],
    reference="arXiv 2003.02218, Section 2",
)
