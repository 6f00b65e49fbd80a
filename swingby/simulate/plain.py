"""The three maps in plain NumPy: one step of each.

The steps are written on X, with ``W = D X D`` and squares ``s[k] = 2^(2 m_k)`` (:mod:`.state`). Up
to d = 8 sums over an inner concept run upwards, every product rounded, and the written-out steps of
:mod:`.steps` have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
#: One step: X, ``sums[i, j] = eta (a_i + a_j)``, the squares as a column, parts of a step.
Step = Callable[[Array, Array, Array, int], Array]

#: Above this dimension products of matrices are left to BLAS, which sums in an order of its own.
BLAS_ABOVE = 8

#: The Runge-Kutta formula of order 8 of Dormand and Prince (Hairer, Norsett, Wanner I, II.5; as in
#: scipy.integrate.DOP853): row s makes stage s of those before it, the last one the step.
DOP853 = np.zeros((13, 12))
DOP853[1, 0] = 0.05260015195876773
DOP853[2, :2] = 0.0197250569845379, 0.0591751709536137
DOP853[3, [0, 2]] = 0.02958758547680685, 0.08876275643042054
DOP853[4, [0, 2, 3]] = 0.2413651341592667, -0.8845494793282861, 0.924834003261792
DOP853[5, [0, 3, 4]] = 0.037037037037037035, 0.17082860872947386, 0.12546768756682242
DOP853[6, [0, 3, 4, 5]] = 0.037109375, 0.17025221101954405, 0.06021653898045596, -0.017578125
DOP853[7, [0, 3, 4]] = 0.03709200011850479, 0.17038392571223998, 0.10726203044637328
DOP853[7, [5, 6]] = -0.015319437748624402, 0.008273789163814023
DOP853[8, [0, 3, 4]] = 0.6241109587160757, -3.3608926294469414, -0.868219346841726
DOP853[8, [5, 6, 7]] = 27.59209969944671, 20.154067550477894, -43.48988418106996
DOP853[9, [0, 3, 4]] = 0.47766253643826434, -2.4881146199716677, -0.590290826836843
DOP853[9, [5, 6, 7]] = 21.230051448181193, 15.279233632882423, -33.28821096898486
DOP853[9, 8] = -0.020331201708508627
DOP853[10, [0, 3, 4]] = -0.9371424300859873, 5.186372428844064, 1.0914373489967295
DOP853[10, [5, 6, 7]] = -8.149787010746927, -18.52006565999696, 22.739487099350505
DOP853[10, [8, 9]] = 2.4936055526796523, -3.0467644718982196
DOP853[11, [0, 3, 4]] = 2.273310147516538, -10.53449546673725, -2.0008720582248625
DOP853[11, [5, 6, 7]] = -17.9589318631188, 27.94888452941996, -2.8589982771350235
DOP853[11, [8, 9, 10]] = -8.87285693353063, 12.360567175794303, 0.6433927460157636
DOP853[12, [0, 5, 6]] = 0.054293734116568765, 4.450312892752409, 1.8915178993145003
DOP853[12, [7, 8, 9]] = -5.801203960010585, 0.3111643669578199, -0.1521609496625161
DOP853[12, [10, 11]] = 0.20136540080403034, 0.04471061572777259


def product(left: Array, right: Array) -> Array:
    """Matrix product, summed upwards over the inner index."""
    if len(left) > BLAS_ABOVE:
        return left @ right
    return np.asarray((left[:, :, None] * right).sum(axis=1))


def _upwards(terms: Array) -> Array:
    """The sum over the first axis, in its order."""
    return np.asarray(np.add.accumulate(terms, axis=0)[-1])


def slope(X: Array, sums: Array, squares: Array) -> Array:
    """``eta (B W + W B)`` in terms of X: what euler adds in a step."""
    G = sums * X
    Y = product(G, squares * X)
    return G - 0.5 * (Y + Y.T)


def euler(X: Array, sums: Array, squares: Array, parts: int) -> Array:
    """``W + eta (B W + W B)``, the printed (D.2)."""
    return X + slope(X, sums, squares)


def gd(X: Array, sums: Array, squares: Array, parts: int) -> Array:
    """``(I + eta B) W (I + eta B)``: gradient descent on U, W = U U^T."""
    d = len(X)
    G = sums * X
    half = 0.5 * sums.diagonal()
    C = half.reshape(d, 1) * X - 0.5 * product(G, squares * X)
    V = X + ((C + C.T) + (half * C - 0.5 * product(C, squares * G)))
    return np.triu(V) + np.triu(V, 1).T


def flow(X: Array, sums: Array, squares: Array, parts: int) -> Array:
    """The flow over one step, right to rounding: `parts` Runge-Kutta steps of order 8."""
    d = len(X)
    K = np.empty((12, d, d))
    h = 1.0 / parts
    for _ in range(parts):
        K[0] = slope(X, sums, squares)
        for s in range(1, 12):
            K[s] = slope(X + h * _upwards(DOP853[s, :s].reshape(s, 1, 1) * K[:s]), sums, squares)
        X = X + h * _upwards(DOP853[12].reshape(12, 1, 1) * K)
    return X
