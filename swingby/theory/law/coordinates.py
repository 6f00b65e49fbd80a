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
"""

from __future__ import annotations

from typing import Any

from swingby.theory.law.lane_products import (
    diagonal,
    dot,
    dot_transpose,
    exponential,
    inverse_or_zero,
    library,
    solve_lower,
    symmetric,
    transpose,
)
from swingby.theory.law.modified_flow import FIELDS, FieldConstants


def slope(y: Any, moving: Any, flow: FieldConstants, dynamics: str) -> Any:
    """Derivative of the coordinates y (d, d + 2, n); concepts with `moving` 0 stand still."""
    u, z, V = derivative(y[:, 0], y[:, 1], y[:, 2:], moving, flow, dynamics)
    return library(V).concatenate((u[:, None], z[:, None], V), 1)


def derivative(
    u: Any, z: Any, V: Any, moving: Any, flow: FieldConstants, dynamics: str
) -> tuple[Any, Any, Any]:
    """Derivatives of u and z, (d, n), and of V, (d, d, n)."""
    e = exponential(u)
    C = dot_transpose(V * z, V)
    generator, remainder = FIELDS[dynamics]
    N, still = generator(C, e, flow), 0.0 * z
    if remainder is not None:
        R = remainder(C, e, flow, N)
        S = solve_lower(V, transpose(solve_lower(V, R)))
        N, still = N + flow.linear, diagonal(S)
    Z = solve_lower(V, dot(N, V))
    rate = moving * diagonal(Z)
    inner = symmetric(Z * z)
    if remainder is not None:
        inner = inner + S
    lower = flow.strict * V
    turning = dot(V, flow.strict * inner * (moving * inverse_or_zero(z)))
    growing = moving * (lower * rate - transpose(transpose(lower) * rate))
    return 2.0 * rate, moving * still, turning + growing
