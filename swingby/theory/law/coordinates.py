r"""The coordinates of the law: pivots and factors of W, relative to the size of its rows.

.. math:: W = E^{1/2}\, V\, \mathrm{diag}(z)\, V^\top E^{1/2}, \qquad E = \mathrm{diag}(e^u),

V unit lower triangular: :math:`e^{u_k} z_k` are the pivots of :math:`W = L D L^\top` and V is L
with rows and columns scaled by their square roots. u follows its own growth, so z stays 1 under gd
and the flow; under euler z changes slowly and may go through zero, which is a trap. While W is
small u is linear and V constant, so the cost of a stage does not depend on its length; nothing
under- or overflows, whatever the size of W; and equal signals are nothing special.

With :math:`\dot W = N W + W N^\top + R`, :math:`Z = V^{-1} N V` and :math:`S = V^{-1} R V^{-\top}`
in the scaling of V,

.. math::
   \dot u_k = 2 Z_{kk}, \quad \dot z_k = S_{kk}, \quad
   \dot V = V T + V_{jk} (Z_{kk} - Z_{jj}), \quad
   T_{jk} = \frac{Z_{jk} z_k + Z_{kj} z_j + S_{jk}}{z_k} \ (j > k).

The modified flow: the differential equation whose solution the steps follow.

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

All arrays end in an axis of n lanes: one instance is a batch of one; a vector (d, n) stands for a
matrix with equal rows. The functions use nothing but arithmetic and a few products, so the same
text runs on NumPy, on torch, and as instructions for compiled code
(:mod:`swingby.theory.law.tape`), which has products of its own under the same names.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853

from swingby.theory.growth import DYNAMICS, growth_rates


def library(x: Any) -> Any:
    """NumPy, or torch where x is one of its tensors."""
    return np if isinstance(x, np.ndarray) else importlib.import_module("torch")


def like(x: Any, constant: Any) -> Any:
    """An array of NumPy as one of the library of x."""
    return library(x).asarray(constant)


def dot(P: Any, Q: Any) -> Any:
    """Matrix product in every lane."""
    return (Q.swapaxes(0, 2) @ P.swapaxes(0, 2)).swapaxes(0, 2)


def turned(P: Any) -> Any:
    """Transpose in every lane."""
    return P.swapaxes(0, 1)


def symmetric(P: Any) -> Any:
    """P + P^T in every lane."""
    return P + turned(P)


def dot_turned(P: Any, Q: Any) -> Any:
    """P Q^T in every lane."""
    return dot(P, turned(Q))


def diagonal(P: Any) -> Any:
    """The diagonal (d, n)."""
    return P.diagonal(0, 0, 1).swapaxes(0, 1)


def exponential(x: Any) -> Any:
    """Exponential function."""
    return library(x).exp(x)


def solve_lower(V: Any, M: Any) -> Any:
    """V^-1 M for unit lower triangular V."""
    if not isinstance(V, np.ndarray):
        lanes = (V.permute(2, 0, 1), M.permute(2, 0, 1))
        solve = library(V).linalg.solve_triangular
        return solve(*lanes, upper=False, unitriangular=True).permute(1, 2, 0)
    found = M.copy()
    for i in range(1, len(found)):
        found[i] -= np.add.reduce(V[i, :i, None] * found[:i])
    return found


def weighted(weights: Any, slopes: Any) -> Any:
    """Sum of the slopes so far, each with its weight."""
    if isinstance(slopes[0], np.ndarray):
        # Not by BLAS, whose last bit depends on where arrays lie in memory.
        known = np.asarray(slopes)
        return (weights[: len(slopes), None, None, None] * known).sum(axis=0)
    return sum(weight * slope for weight, slope in zip(weights, slopes, strict=False) if weight)


def positive_part(x: Any) -> Any:
    """1/x where x is not 0, else 0."""
    where = library(x).where
    return where(x == 0.0, 0.0 * x, 1.0 / where(x == 0.0, 1.0, x))


class Flow(NamedTuple):
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


def make_flow(signal: Any, h: Any, order: Any, dynamics: str) -> Flow:
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
        own = half.sum(axis=0)
        pairs = exact - total * _series(total, powers, divisors) + total - own - own[:, None]
    return Flow(
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
    """log_factor(h rate)/(h rate) to the order of each lane: what the field has of it by itself."""
    total: Any = 1.0
    for n, (power, divisor) in enumerate(zip(powers, divisors, strict=False), 1):
        total = total + power * rate**n / divisor
    return total


def generator(C: Any, e: Any, flow: Flow) -> Any:
    """That of the flow itself, B."""
    return flow.drive + flow.pair * C * e


def generator_on_factors(C: Any, e: Any, flow: Flow) -> Any:
    """The generator of the modified flow of gradient descent: U' = N U."""
    pair = flow.pair * e
    B = flow.drive + pair * C
    BC = dot(B, C)
    F = pair * symmetric(BC)
    G = dot(B, B) + F
    G1 = pair * symmetric(dot(G, C))
    H = dot(B, G) + G1
    Q = 2.0 * dot(F, B) + 2.0 * (pair * dot_turned(BC, B))
    X = 0.25 * H + Q / 12.0
    inner = symmetric(dot(X, C)) + symmetric(dot_turned(BC, G)) / 12.0
    third = dot(B, X) + pair * inner + (dot(F, G) + dot(G1, B)) / 12.0
    second = Q / 12.0 + H / 3.0
    return B - flow.first * G + flow.second * second - flow.third * third + flow.linear


def remainder_on_entries(C: Any, e: Any, flow: Flow, B: Any) -> Any:
    """What the modified field of (D.2) has beside B W + W B and its linear part, symmetric."""
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


#: By dynamics: the generator, and where steps are those of W what the field has beside it.
FIELDS = {
    "euler": (generator, remainder_on_entries),
    "gd": (generator_on_factors, None),
    "flow": (generator, None),
}


# The explicit Runge-Kutta pair of order 8 by Dormand and Prince with its interpolation of order 7
# (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, 2nd edition, Secs. II.5-6).
#: Weights of the stages so far: for each later stage, and in the last row for the step.
STAGES = np.vstack([DOP853.A[1:12, :12], DOP853.B])
#: The same for the three stages after the step, and the coefficients of the interpolation.
EXTRA, DENSE = DOP853.A_EXTRA, DOP853.D
#: Weights of the two error estimates.
FIFTH, THIRD = DOP853.E5[:12], DOP853.E3[:12]


def slope(y: Any, free: Any, flow: Flow, dynamics: str) -> Any:
    """Derivative of the coordinates y (d, d + 2, n); concepts with `free` 0 stand still."""
    u, z, V = derivative(y[:, 0], y[:, 1], y[:, 2:], free, flow, dynamics)
    return library(V).concatenate((u[:, None], z[:, None], V), 1)


def derivative(
    u: Any, z: Any, V: Any, free: Any, flow: Flow, dynamics: str
) -> tuple[Any, Any, Any]:
    """Derivatives of u and z, (d, n), and of V, (d, d, n)."""
    e = exponential(u)
    C = dot_turned(V * z, V)
    generator, remainder = FIELDS[dynamics]
    N, still = generator(C, e, flow), 0.0 * z
    if remainder is not None:
        R = remainder(C, e, flow, N)
        S = solve_lower(V, turned(solve_lower(V, R)))
        N, still = N + flow.linear, diagonal(S)
    Z = solve_lower(V, dot(N, V))
    rate = free * diagonal(Z)
    moved = symmetric(Z * z)
    if remainder is not None:
        moved = moved + S
    lower = flow.strict * V
    turning = dot(V, flow.strict * moved * (free * positive_part(z)))
    growing = free * (lower * rate - turned(turned(lower) * rate))
    return 2.0 * rate, free * still, turning + growing


def attempt(y: Any, first: Any, dt: Any, free: Any, flow: Flow, dynamics: str) -> Any:
    """One step of size dt (n,) from y with slope `first`: the new y and the stages' slopes."""
    slopes = [first]
    for stage in range(11):
        slopes.append(slope(y + dt * weighted(STAGES[stage], slopes), free, flow, dynamics))
    return y + dt * weighted(STAGES[11], slopes), slopes


def between(forms: Any, shares: Any) -> Any:
    """Y at shares (n,) of steps, (m, n, ...), from their starts and the seven forms (m, 8, ...)."""
    weights = np.ones((len(shares), 8))
    for number in range(1, 8):
        weights[:, number] = weights[:, number - 1] * (shares if number % 2 else 1.0 - shares)
    return weights @ forms
