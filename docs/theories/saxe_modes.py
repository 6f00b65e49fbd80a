"""Modes of a two-layer linear network: each follows a curve of its own, the strongest first.

A. Saxe, J. McClelland, S. Ganguli (2014), Exact solutions to the nonlinear dynamics of learning in
deep linear neural networks, arXiv 1312.6120, eq. (8): from a balanced start u_0 a mode of strength
s is u(t) = s / (1 + (s/u_0 - 1) exp(-2 s t)), with t = h times the step, so that it is half learned
after log(s/u_0 - 1) / (2 h s) steps.
"""

import numpy as np
import sympy as sp

from swingby.own import Before, Each, Passage, Theory, Value, Vector, i, j, k

s = sp.IndexedBase("s", positive=True)
u0, h = sp.symbols("u0 h", positive=True)
logarithm = sp.log(s[k] / u0 - 1)
time = logarithm / (2 * h * s[k])


def start(s, u0):
    return np.sqrt(u0) * np.ones((2, *s.shape))


def step(z, s, h):
    a, b = z
    error = s - a * b
    return np.stack([a + h * b * error, b + h * a * error])


theory = Theory(
    "modes of a two-layer linear network",
    numbers={s: Vector(0.1, 1, 10), u0: (1e-12, 1e-3, 0.1), h: (1e-4, 1e-2, 0.3)},
    assume={
        "small step": Each(h * s[k] <= sp.Rational(1, 50)),
        "small start": Each(u0 <= s[k] / 10),
        "apart": Each(s[i] >= sp.Rational(11, 10) * s[j], i < j),
    },
    start=start,
    step=step,
    observe={"u": lambda z: z[0] * z[1]},
    # Euler's method is late by a share h s / 2 of the time, and the step is a whole number.
    predict=[
        Passage("half", "u", s[k] / 2, time, within=1 + logarithm / 4, each=True),
        Value(
            "at 1.2 half",
            "u",
            at=1.2 * time,
            value=s[k] / (1 + (s[k] / u0 - 1) ** sp.Rational(-1, 5)),
            within=s[k] / 20,
            each=True,
        ),
        Before("stronger first", "half[1]", "half[2]"),
    ],
    lengths=(1, 2, 3),
    reference="arXiv 1312.6120, eq. (8)",
)
