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
# fmt: off
_ROWS = (
    (0.05260015195876773,),
    (0.0197250569845379, 0.0591751709536137,),
    (0.02958758547680685, 0.0, 0.08876275643042054,),
    (0.2413651341592667, 0.0, -0.8845494793282861, 0.924834003261792,),
    (0.037037037037037035, 0.0, 0.0, 0.17082860872947386, 0.12546768756682242,),
    (0.037109375, 0.0, 0.0, 0.17025221101954405, 0.06021653898045596, -0.017578125,),
    (0.03709200011850479, 0.0, 0.0, 0.17038392571223998, 0.10726203044637328,
     -0.015319437748624402, 0.008273789163814023,),
    (0.6241109587160757, 0.0, 0.0, -3.3608926294469414, -0.868219346841726, 27.59209969944671,
     20.154067550477894, -43.48988418106996,),
    (0.47766253643826434, 0.0, 0.0, -2.4881146199716677, -0.590290826836843, 21.230051448181193,
     15.279233632882423, -33.28821096898486, -0.020331201708508627,),
    (-0.9371424300859873, 0.0, 0.0, 5.186372428844064, 1.0914373489967295, -8.149787010746927,
     -18.52006565999696, 22.739487099350505, 2.4936055526796523, -3.0467644718982196,),
    (2.273310147516538, 0.0, 0.0, -10.53449546673725, -2.0008720582248625, -17.9589318631188,
     27.94888452941996, -2.8589982771350235, -8.87285693353063, 12.360567175794303,
     0.6433927460157636,),
    (0.054293734116568765, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003,
     -5.801203960010585, 0.3111643669578199, -0.1521609496625161, 0.20136540080403034,
     0.04471061572777259,),
)
_FIFTH = (
    0.01312004499419488, 0.0, 0.0, 0.0, 0.0, -1.2251564463762044, -0.4957589496572502,
    1.6643771824549864, -0.35032884874997366, 0.3341791187130175, 0.08192320648511571,
    -0.022355307863886294,
)
_THIRD = (
    -0.18980075407240762, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003,
    -5.801203960010585, -0.4226823213237919, -0.1521609496625161, 0.20136540080403034,
    0.02265179219836082,
)
# Three more stages and the interpolation of order 7 through all of them (the same, Sec. II.6).
_EXTRA = (
    (0.056167502283047954, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25350021021662483, -0.2462390374708025,
     -0.12419142326381637, 0.15329179827876568, 0.00820105229563469, 0.007567897660545699,
     -0.008298, 0.0, 0.0, 0.0,),
    (0.03183464816350214, 0.0, 0.0, 0.0, 0.0, 0.028300909672366776, 0.053541988307438566,
     -0.05492374857139099, 0.0, 0.0, -0.00010834732869724932, 0.0003825710908356584,
     -0.00034046500868740456, 0.1413124436746325, 0.0, 0.0,),
    (-0.42889630158379194, 0.0, 0.0, 0.0, 0.0, -4.697621415361164, 7.683421196062599,
     4.06898981839711, 0.3567271874552811, 0.0, 0.0, 0.0, -0.0013990241651590145,
     2.9475147891527724, -9.15095847217987, 0.0,),
)
_DENSE = (
    (-8.428938276109013, 0.0, 0.0, 0.0, 0.0, 0.5667149535193777, -3.0689499459498917,
     2.38466765651207, 2.117034582445028, -0.871391583777973, 2.2404374302607883,
     0.6315787787694688, -0.08899033645133331, 18.148505520854727, -9.194632392478356,
     -4.436036387594894,),
    (10.427508642579134, 0.0, 0.0, 0.0, 0.0, 242.28349177525817, 165.20045171727028,
     -374.5467547226902, -22.113666853125306, 7.733432668472264, -30.674084731089398,
     -9.332130526430229, 15.697238121770845, -31.139403219565178, -9.35292435884448,
     35.81684148639408,),
    (19.985053242002433, 0.0, 0.0, 0.0, 0.0, -387.0373087493518, -189.17813819516758,
     527.8081592054236, -11.57390253995963, 6.8812326946963, -1.0006050966910838,
     0.7777137798053443, -2.778205752353508, -60.19669523126412, 84.32040550667716,
     11.99229113618279,),
    (-25.69393346270375, 0.0, 0.0, 0.0, 0.0, -154.18974869023643, -231.5293791760455,
     357.6391179106141, 93.40532418362432, -37.45832313645163, 104.0996495089623, 29.8402934266605,
     -43.53345659001114, 96.32455395918828, -39.17726167561544, -149.72683625798564,),
)
# fmt: on

#: Weights of the stages so far: for each later stage, and in the last row for the step.
STAGES = np.array([[*row, *[0.0] * (12 - len(row))] for row in _ROWS])
#: The same for the three stages after the step, and the coefficients of the interpolation.
EXTRA, DENSE = np.array(_EXTRA), np.array(_DENSE)
#: Weights of the two error estimates.
FIFTH, THIRD = np.array(_FIFTH), np.array(_THIRD)


def slope(y: Any, free: Any, flow: Flow, kind: int) -> Any:
    """Derivative of the coordinates y (d, d + 2, n); concepts with `free` 0 stand still."""
    return joined(*derivative(y[:, 0], y[:, 1], y[:, 2:], free, flow, kind))


def derivative(u: Any, z: Any, V: Any, free: Any, flow: Flow, kind: int) -> tuple[Any, Any, Any]:
    """Derivatives of u and z, (d, n), and of V, (d, d, n)."""
    e = exponential(u)
    C = dot_turned(V * z, V)
    N = generator_on_factors(C, e, flow) if kind == GD else flow.drive + flow.pair * C * e
    still = 0.0 * z
    if kind == EULER:
        R = remainder_on_entries(C, e, flow, N)
        S = solve_lower(V, turned(solve_lower(V, R)))
        N, still = N + flow.linear, diagonal(S)
    Z = solve_lower(V, dot(N, V))
    rate = diagonal(Z)
    moved = symmetric(Z * z)
    if kind == EULER:
        moved = moved + S
    lower = flow.strict * V
    turning = dot(V, flow.strict * moved * (free * positive_part(z)))
    growing = free * (lower * rate - turned(turned(lower) * rate))
    return 2.0 * (free * rate), free * still, turning + growing


def attempt(y: Any, first: Any, dt: Any, free: Any, flow: Flow, kind: int) -> Any:
    """One step of size dt (n,) from y with slope `first`: the new y and the stages' slopes."""
    slopes = [first]
    for stage in range(11):
        slopes.append(slope(y + dt * weighted(STAGES[stage], slopes), free, flow, kind))
    return y + dt * weighted(STAGES[11], slopes), slopes


def between(forms: Any, shares: Any) -> Any:
    """The coordinates at shares (n,) of m steps, (m, n, ...), from their forms (m, 8, ...)."""
    weights = np.ones((len(shares), 8))
    for number in range(1, 8):
        weights[:, number] = weights[:, number - 1] * (shares if number % 2 else 1.0 - shares)
    return weights @ forms
