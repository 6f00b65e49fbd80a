r"""The coordinates of the law: pivots and factors of W, relative to the size of its rows.

.. math:: W = E^{1/2}\, V\, \mathrm{diag}(z)\, V^\top E^{1/2}, \qquad E = \mathrm{diag}(e^u),

V unit lower triangular: :math:`e^{u_k} z_k` are the pivots of :math:`W = L D L^\top` and V is L
with rows and columns scaled by their square roots. u follows its own growth, so z stays 1 under gd
and the flow; under euler z changes slowly and may go through zero, which is a trap. While W is
small u is linear and V constant, so the cost of a stage does not depend on its length; nothing
under- or overflows, whatever the size of W; and equal signals are nothing special.

With :math:`\dot W = N W + W N^\top + R`, :math:`Z = V^{-1} N V` and :math:`S = V^{-1} R V^{-\top}`
in the scaling of :mod:`swingby.theory.law.modified`,

.. math::
   \dot u_k = 2 Z_{kk}, \quad \dot z_k = S_{kk}, \quad
   \dot V = V T + V_{jk} (Z_{kk} - Z_{jj}), \quad
   T_{jk} = \frac{Z_{jk} z_k + Z_{kj} z_j + S_{jk}}{z_k} \ (j > k).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DOP853

from swingby.theory.law.arrays import (
    diagonal,
    dot,
    dot_turned,
    exponential,
    joined,
    positive_part,
    solve_lower,
    symmetric,
    turned,
    weighted,
)
from swingby.theory.law.modified import FIELDS, Flow

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
    return joined(*derivative(y[:, 0], y[:, 1], y[:, 2:], free, flow, dynamics))


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
