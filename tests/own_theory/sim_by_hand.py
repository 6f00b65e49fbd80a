"""The SIM theory as a stranger states it: gd on U step by step, the law of pivots, D.1 to D.5."""

import numpy as np
import sympy as sp

from swingby.own import Each, Passage, Theory, Vector, d, i, j, k

a = sp.IndexedBase("a", positive=True)
omega, eta, beta = sp.symbols("omega eta beta", positive=True)


def step(U, a, eta):
    W = np.einsum("ip...,jp...->ij...", U, U)
    B = -(a[:, None] + a[None, :]) * W / 2
    B[np.arange(len(a)), np.arange(len(a))] += a
    return U + eta * np.einsum("ij...,jp...->ip...", B, U)


def pivots(a, U, omega):  # in descending order of a, of W(0) = omega U U^T / d'
    W = (
        np.moveaxis(np.einsum("ip...,jp...->ij...", U, U), -1, 0)
        * omega[:, None, None]
        / U.shape[1]
    )
    shares = np.ones_like(a)
    for n, order in enumerate(np.argsort(-a, axis=0).T):
        minors = [np.linalg.det(W[n][np.ix_(order[:q], order[:q])]) for q in range(len(a) + 1)]
        shares[order, n] = np.divide(minors[1:], minors[:-1])
    return shares


theory = Theory(
    "SIM, by hand",
    numbers={a: Vector(0.3, 1, 3), omega: (1e-9, 1e-6, 1e-3), eta: (5e-3, 1e-2, 0.05)},
    assume={"apart": Each(a[i] >= 1.3 * a[j], i < j), "step": Each(eta * a[k] <= 0.05)},
    start=lambda U, omega: np.sqrt(omega / U.shape[1]) * U,
    step=step,
    observe={"w": lambda U: (U**2).sum(axis=1)},
    draws={"U": lambda a, rng: rng.standard_normal((len(a), len(a) + 1, a.shape[-1]))},
    measured={"pivots": pivots},
    predict=[
        Passage(
            "half",
            "w",
            level=0.5,
            time=lambda pivots, a, eta, k: -np.log(pivots[k - 1]) / (2 * np.log1p(eta * a[k - 1])),
            within=lambda eta, a, k: 2 + 3 / (eta * a[k - 1]),
            each=True,
        )
    ],
    lengths=(2, 3),
    steps=30_000,
)

P, K, kappa, C, alpha, gamma = sp.symbols("P K kappa C alpha gamma", positive=True)
rate = sp.Min(kappa - 1, 1 - 1 / sp.sqrt(kappa))
#: D.1 to D.5 as printed, with constants that have to exist; nothing is run.
assumptions = Theory(
    "D.1 to D.5, by hand",
    numbers={
        a: Vector(0.1, 1, 16),
        omega: (1e-140, 1e-120, 1e-60),
        eta: (1e-6, 1e-4, 1),
        beta: (1.01, 2, 100),
    },
    assume={
        "D.1": Each(a[k] >= alpha),
        "D.1 upper": Each(a[k] <= gamma * alpha),
        "D.2": eta <= 1 / (9 * K * gamma * alpha),
        "D.3": P * omega * beta <= sp.Rational(2, 5),
        "D.4": omega <= rate / (P * K * gamma * d * beta**2),
        "D.4 root": omega <= 1 / sp.sqrt(2 * beta),
        "D.4 kappa": kappa <= 1 + K / (2 * C),
        "D.5": Each(
            (a[i] + a[j]) / (2 * a[i])
            <= sp.log(P) / (10 * kappa**2 * sp.log(1 / (P * beta * omega)) + sp.log(P * beta)),
            i < j,
        ),
        "D.5 apart": Each(a[i] - 3 * a[j] >= alpha / C, i < j),
    },
    start=None,
    step=None,
    observe={},
    predict=[],
    exists={
        P: (2, 1e140),
        K: (20, 1e6),
        kappa: (1.1 + 1e-9, 20),
        C: (1 + 1e-9, 1e6),
        alpha: (1e-3, 16),
        gamma: (1 + 1e-9, 1e4),
    },
    lengths=(2, 3),
)
