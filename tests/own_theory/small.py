"""Small theories with faults of their own choosing, for the tests of this folder."""

from dataclasses import replace

import numpy as np
import sympy as sp

from swingby.own import Before, Bound, Each, Passage, Theory, Value, Vector, i, j, k, t

s = sp.IndexedBase("s", positive=True)
u0, h, r = sp.symbols("u0 h r", positive=True)
time = sp.log((s[k] - u0) / u0) / (2 * h * s[k])


def start(s, u0):
    return np.sqrt(u0) * np.ones((2, *s.shape))


def step(z, s, h):
    a, b = z
    return np.stack([a + h * b * (s - a * b), b + h * a * (s - a * b)])


#: The modes of a two-layer linear network: true.
modes = Theory(
    "modes of a deep linear network",
    numbers={s: Vector(0.1, 1, 10), u0: (1e-12, 1e-3, 0.1), h: (1e-4, 1e-2, 0.3)},
    assume={
        "small step": Each(h * s[k] <= sp.Rational(1, 50)),
        "small start": Each(u0 <= s[k] / 10),
        "apart": Each(s[i] >= 2 * s[j], i < j),
    },
    start=start,
    step=step,
    observe={"u": lambda z: z[0] * z[1]},
    predict=(
        Passage("half", "u", s[k] / 2, time, within=1 + h * s[k] * time / 2, each=True),
        Before("stronger first", "half[1]", "half[2]"),
    ),
    lengths=(2, 3),
    steps=1500,
)
#: The factor 2 of the time is left out.
doubled = replace(
    modes,
    name="modes, the 2 left out",
    predict=(Passage("half", "u", s[k] / 2, 2 * time, 1 + h * s[k] * time, each=True),),
)


def coupled(z, s, h, r):
    a, b = z
    error = s - a * b
    error = (1 - r) * error + r * error.sum(axis=0)
    return np.stack([a + h * b * error, b + h * a * error])


#: Modes that a coupling r mixes, of which no assumption speaks.
mixed = replace(
    modes,
    name="coupled modes, no word on r",
    numbers={**modes.numbers, r: (1e-6, 1e-5, 0.9)},
    step=coupled,
    predict=(Passage("half", "u", s[k] / 2, time, within=2 + time / 20, each=True),),
    lengths=(2,),
)

x0 = sp.Symbol("x0", positive=True)
#: x(t) = x0 (1 - h)^t exactly, and a bound that is attained.
decay = Theory(
    "decay",
    numbers={x0: (0.1, 1, 10), h: (0.001, 0.1, 1)},
    assume={"small step": h <= sp.Rational(1, 2)},
    start=lambda x0: 1 * x0,
    step=lambda x, h: x - h * x,
    observe={"x": lambda x: x},
    predict=(
        Bound("rate", "x", below=x0 * (1 - h) ** t, until=100),
        Passage("tenth", "x", x0 / 10, sp.log(10) / -sp.log(1 - h), within=1, falling=True),
    ),
)

v = sp.Symbol("v", positive=True)
#: The stationary variance of x -> (1 - h) x + noise is h v/2 to leading order.
noisy = Theory(
    "noisy decay",
    numbers={h: (0.05, 0.1, 0.5), v: (0.01, 1, 100)},
    assume={"small step": h <= sp.Rational(1, 5)},
    start=lambda h: 0.0 * h,
    step=lambda x, h, v, rng: x - h * x + h * np.sqrt(v) * rng.standard_normal(x.shape),
    observe={"x": lambda x: x},
    predict=(Value("variance", "x", 6 / h, h * v / 2, within=h * v / 8, stat="var"),),
    seeds=1500,
)
