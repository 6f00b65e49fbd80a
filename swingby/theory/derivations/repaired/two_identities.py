"""The derivatives along the flow in the proof of the theorem on two concepts."""

from __future__ import annotations

import sympy

from swingby.theory import dynamics
from swingby.theory.claim import Claim
from swingby.theory.derivations.repaired.conclusions import FlowIdentity
from swingby.theory.derivations.repaired.two_simpler import step

_log = sympy.log


def _identities() -> tuple[Claim, ...]:
    """The derivatives along the flow, in the entries of W."""
    A, W, _ = dynamics.symbols(2)
    first, second, X, Z, off = A[0, 0], A[1, 1], W[0, 0], W[1, 1], W[0, 1]
    ratio = second / first
    U = off**2 / X
    P, share = Z - U, (1 - ratio) / 2
    V = _log(U) - ratio * _log(X) - share * _log(1 - X)
    listed = (
        ("[1.1]", "(log x)'", _log(X), 2 * first * (1 - X) - (first + second) * U),
        ("[1.2]", "(log p)'", _log(P), 2 * second * (1 - P) + (first - second) * U),
        (
            "[1.3]",
            "(log u)'",
            _log(U),
            2 * second * (1 - U) - (first + second) * X - (first + 3 * second) * P,
        ),
        (
            "[1.5]",
            "V' for V = log u - r log x - ((1-r)/2) log(1-x)",
            V,
            -(first + 3 * second) * P
            - second * (1 - ratio) * U
            - share * (first + second) * X * U / (1 - X),
        ),
        ("[1.9]", "(log(w_12^2/det W))'", _log(off**2 / W.det()), -(first + second) * (X + Z)),
        (
            "[1.10]",
            "(logit p)'",
            _log(P / (1 - P)),
            2 * second + (first - second) * U / (1 - P),
        ),
        (
            "[1.11]",
            "x' = 2 a_1 x (1-x)(1-g)",
            X,
            2 * first * X * (1 - X) * (1 - (1 + ratio) * U / (2 * (1 - X))),
        ),
        (
            "[1.12]",
            "(logit x)' = 2 a_1 - f/(1-x), f = (a_1+a_2) u",
            _log(X / (1 - X)),
            2 * first - (first + second) * U / (1 - X),
        ),
        (
            "[1.12.7]",
            "(log of x z/det W)'",
            _log(X * Z / W.det()),
            -(first + second) * U - (first + second) * off**2 / Z,
        ),
    )
    return tuple(
        step(name, about, FlowIdentity(((2, quantity, derivative),)), kind="identity")
        for name, about, quantity, derivative in listed
    )


IDENTITIES = _identities()
