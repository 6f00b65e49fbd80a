r"""The modified flow: the differential equation whose solution the steps follow.

(D.2) is explicit Euler on W, gradient descent is explicit Euler on U, both of one flow,

.. math:: \dot W = f(W) = B W + W B, \qquad B(W) = A - \tfrac12 (A W + W A), \qquad
          \dot U = B(U U^\top) U .

Backward error analysis gives the field whose exact flow over a time h is one explicit Euler step,

.. math::
   \tilde f = f - \tfrac h2 f'f + h^2 \bigl(\tfrac1{12} f''(f,f) + \tfrac13 f'f'f\bigr)
            - h^3 \bigl(\tfrac14 f'f'f'f + \tfrac1{12} f'f''(f,f) + \tfrac1{12} f''(f,f'f)\bigr)
            + O(h^4),

and the term of fourth order, on W where :math:`f''' = 0`, is

.. math::
   h^4 \bigl(\tfrac15 f'f'f'f'f + \tfrac3{40} f'f'f''(f,f) + \tfrac1{10} f'f''(f,f'f)
   + \tfrac1{120} f''(f,f''(f,f)) + \tfrac1{20} f''(f,f'f'f) + \tfrac1{60} f''(f'f,f'f)\bigr).

The remaining term of third order, :math:`f'''(f,f,f)`, carries the Bernoulli number
:math:`B_3 = 0`. (D.2) is followed to fourth order, because a pivot that its drift nearly cancels
magnifies what is left out; gradient descent to third. The linear part is summed to all orders: an
entry grows at :math:`\log(1 + h(a_i + a_j))/h` on W, a row at :math:`\log(1 + h a_i)/h` on U, so
a long linear phase costs no accuracy.

Matrices are held relative to the sizes of the rows of W, :math:`W_{ij} = \sqrt{e_i e_j}\, C_{ij}`,
so that they may lie far below the float range. Two kinds occur: symmetric ones such as C, and
generators N of :math:`\dot W = N W + W N^\top`, held as
:math:`N_{ij} \sqrt{e_j / e_i}`. A is the same in both, products of generators stay products, and
the derivative of B in a direction P is the generator :math:`-\tfrac12 (a_i + a_j) P_{ij} e_j`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swingby.theory.growth import DYNAMICS, growth_rates
from swingby.theory.law.lane_products import dot, dot_transpose, like, symmetric


class FieldConstants(NamedTuple):
    """The constants of the modified field, each ending in an axis of n lanes.

    pair: -(a_i + a_j)/2; drive: diag(a); linear: what the exact growth adds to the generator;
    mixed: what it adds to entries beside that; first to fourth: h/2, h^2, h^3, h^4, or 0 where a
    lane stops at a lower order; strict: 1 below the diagonal.
    """

    pair: Any
    drive: Any
    linear: Any
    mixed: Any
    first: Any
    second: Any
    third: Any
    fourth: Any
    strict: Any


def make_flow(signal: Any, h: Any, order: Any, dynamics: str) -> FieldConstants:
    """Constants of the field for signals (d, n) and steps h (n,), to the orders (n,) in h."""
    d, everywhere = len(signal), like(signal, np.ones((len(signal), len(signal), 1)))
    of, _, divisors, _ = DYNAMICS[dynamics]
    h = h if of else 0.0 * h
    powers = first, second, third, fourth = [
        h**k * like(h, (order >= k) * 1.0) for k in (1, 2, 3, 4)
    ]
    unit = like(signal, np.eye(d)[:, :, None])
    total = signal[:, None, :] + signal[None, :, :]
    single, exact = signal * unit, total
    linear = pairs = 0.0 * total
    if of:
        exact = growth_rates(signal.swapaxes(0, 1), h, dynamics).swapaxes(0, 2) / h
    half = exact * unit / 2
    if of == "U":
        linear = half - single * _series(single, powers, divisors)
    if of == "W":
        linear = half - single
        row_rates = half.sum(axis=0)
        pairs = (
            exact
            - total * _series(total, powers, divisors)
            + total
            - row_rates
            - row_rates[:, None]
        )
    return FieldConstants(
        pair=-total / 2,
        drive=single,
        linear=linear,
        mixed=pairs,
        first=first / 2 * everywhere,
        second=second * everywhere,
        third=third * everywhere,
        fourth=fourth * everywhere,
        strict=like(signal, np.tri(d, k=-1)[:, :, None]) * (everywhere + 0.0 * h),
    )


def _series(rate: Any, powers: list[Any], divisors: tuple[float, ...]) -> Any:
    """The series of log_factor(h rate)/(h rate), up to the order of each lane."""
    total: Any = 1.0
    for n, (power, divisor) in enumerate(zip(powers, divisors, strict=False), 1):
        total = total + power * rate**n / divisor
    return total


def generator(C: Any, e: Any, flow: FieldConstants) -> Any:
    """The generator of the flow itself, B."""
    return flow.drive + flow.pair * C * e


def generator_on_factors(C: Any, e: Any, flow: FieldConstants) -> Any:
    """The generator of the modified flow of gradient descent: U' = N U."""
    pair = flow.pair * e
    B = flow.drive + pair * C
    BC = dot(B, C)
    F = pair * symmetric(BC)
    G = dot(B, B) + F
    G1 = pair * symmetric(dot(G, C))
    H = dot(B, G) + G1
    Q = 2.0 * dot(F, B) + 2.0 * (pair * dot_transpose(BC, B))
    X = 0.25 * H + Q / 12.0
    inner = symmetric(dot(X, C)) + symmetric(dot_transpose(BC, G)) / 12.0
    third = dot(B, X) + pair * inner + (dot(F, G) + dot(G1, B)) / 12.0
    second = Q / 12.0 + H / 3.0
    return B - flow.first * G + flow.second * second - flow.third * third + flow.linear


def remainder_on_entries(C: Any, e: Any, flow: FieldConstants, B: Any) -> Any:
    """Symmetric remainder of the modified field of (D.2) beside B W + W B and its linear part."""
    pair = flow.pair * e
    F = symmetric(dot(B, C))
    F1 = pair * F
    G = symmetric(dot(B, F) + dot(F1, C))
    G1 = pair * G
    H = symmetric(dot(B, G) + dot(G1, C))
    Q = 2.0 * symmetric(dot(F1, F))
    P = symmetric(dot(B, H) + dot(pair * H, C))
    R = symmetric(dot(B, Q) + dot(pair * Q, C))
    S = symmetric(dot(F1, G) + dot(G1, F))
    X = P / 5.0 + 0.075 * R + 0.1 * S
    Y = Q / 120.0 + H / 20.0
    last = dot(B, X) + dot(pair * X, C) + dot(F1, Y) + dot(pair * Y, F) + dot(G1, G) / 30.0
    second = Q / 12.0 + H / 3.0
    third = 0.25 * P + (R + S) / 12.0
    low = flow.second * second - flow.first * G + flow.mixed * C
    return low - flow.third * third + flow.fourth * symmetric(last)


#: By dynamics: the generator, and what the field has beside it where steps are of W.
FIELDS = {
    "euler": (generator, remainder_on_entries),
    "gd": (generator_on_factors, None),
    "flow": (generator, None),
}
