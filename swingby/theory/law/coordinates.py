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
from swingby.theory.law.modified import (
    EULER,
    GD,
    Flow,
    generator_on_factors,
    remainder_on_entries,
)

# The explicit Runge-Kutta pair of order 8 by Dormand and Prince, DOP853 (Hairer, Norsett, Wanner,
# Solving Ordinary Differential Equations I, 2nd edition, Sec. II.5), as rows of weights.
_ROWS = (
    (0.05260015195876773,),
    (0.0197250569845379, 0.0591751709536137,),
    (0.02958758547680685, 0.0, 0.08876275643042054,),
    (0.2413651341592667, 0.0, -0.8845494793282861, 0.924834003261792,),
    (0.037037037037037035, 0.0, 0.0, 0.17082860872947386, 0.12546768756682242,),
    (0.037109375, 0.0, 0.0, 0.17025221101954405, 0.06021653898045596, -0.017578125,),
    (0.03709200011850479, 0.0, 0.0, 0.17038392571223998, 0.10726203044637328, -0.015319437748624402, 0.008273789163814023,),
    (0.6241109587160757, 0.0, 0.0, -3.3608926294469414, -0.868219346841726, 27.59209969944671, 20.154067550477894, -43.48988418106996,),
    (0.47766253643826434, 0.0, 0.0, -2.4881146199716677, -0.590290826836843, 21.230051448181193, 15.279233632882423, -33.28821096898486, -0.020331201708508627,),
    (-0.9371424300859873, 0.0, 0.0, 5.186372428844064, 1.0914373489967295, -8.149787010746927, -18.52006565999696, 22.739487099350505, 2.4936055526796523, -3.0467644718982196,),
    (2.273310147516538, 0.0, 0.0, -10.53449546673725, -2.0008720582248625, -17.9589318631188, 27.94888452941996, -2.8589982771350235, -8.87285693353063, 12.360567175794303, 0.6433927460157636,),
    (0.054293734116568765, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003, -5.801203960010585, 0.3111643669578199, -0.1521609496625161, 0.20136540080403034, 0.04471061572777259,),
)
_FIFTH = (0.01312004499419488, 0.0, 0.0, 0.0, 0.0, -1.2251564463762044, -0.4957589496572502, 1.6643771824549864, -0.35032884874997366, 0.3341791187130175, 0.08192320648511571, -0.022355307863886294)
_THIRD = (-0.18980075407240762, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003, -5.801203960010585, -0.4226823213237919, -0.1521609496625161, 0.20136540080403034, 0.02265179219836082)

#: Weights of the stages so far: for each later stage, and in the last row for the step.
STAGES = np.array([[*row, *[0.0] * (12 - len(row))] for row in _ROWS])
#: Weights of the two error estimates.
FIFTH, THIRD = np.array(_FIFTH), np.array(_THIRD)


def slope(y: Any, free: Any, flow: Flow, kind: int) -> Any:
    """Derivative of the coordinates y (d, d + 2, n); concepts with `free` 0 stand still."""
    return joined(*derivative(y[:, 0], y[:, 1], y[:, 2:], free, flow, kind))


def derivative(u: Any, z: Any, V: Any, free: Any, flow: Flow, kind: int) -> tuple[Any, Any, Any]:
    """Derivatives of u and z, (d, n), and of V, (d, d, n)."""
    e = exponential(u)
    C = dot_turned(V * z, V)
    if kind == GD:
        N = generator_on_factors(C, e, flow)
    else:
        N = flow.drive + flow.pair * C * e
    still = 0.0 * z
    if kind == EULER:
        R = remainder_on_entries(C, e, flow, N)
        S = solve_lower(V, turned(solve_lower(V, R)))
        N, still = N + flow.linear, diagonal(S)
    Z = solve_lower(V, dot(N, V))
    rate = free * diagonal(Z)
    moved = symmetric(Z * z)
    if kind == EULER:
        moved = moved + S
    lower = flow.strict * V
    turning = dot(V, flow.strict * moved * (free * positive_part(z)))
    growing = free * (lower * rate - turned(turned(lower) * rate))
    return 2.0 * rate, free * still, turning + growing


def attempt(y: Any, first: Any, dt: Any, free: Any, flow: Flow, kind: int) -> Any:
    """One step of size dt (n,) from y with slope `first`: the new y and the stages' slopes."""
    slopes = [first]
    for stage in range(11):
        slopes.append(slope(y + dt * weighted(STAGES[stage], slopes), free, flow, kind))
    return y + dt * weighted(STAGES[11], slopes), slopes
