r"""The convex problem below two linear layers with weight decay: a fit with the nuclear norm.

Since :math:`\tfrac12 (\lVert W_1 \rVert^2 + \lVert W_2 \rVert^2) \ge \lVert W_2 W_1 \rVert_*`,
their loss with decay :math:`\lambda` is at least

.. math:: \tfrac12 \lVert G - W D \rVert^2 + \lambda \lVert W \rVert_*
          \;\ge\; \tfrac12 \lVert G \rVert^2 - \tfrac12 \lVert G - E \rVert^2

for every E with :math:`\lVert E D^\top \rVert_2 \le \lambda`; layers that are wide enough end at
its minimum. The residual, scaled to that, is such an E. Since the loss is strongly convex in W D, a
gap :math:`\gamma` between the two sides bounds the distance of every a_k from where it ends by
:math:`\sqrt{2 \gamma}/\sigma_k`.
"""

from __future__ import annotations

import math

import numpy as np

from swingby.theory.linear_modes import LinearModes
from swingby.theory.numbers import Floats

#: Steps of the method, and after how many the gap is looked at.
_MOST, _LOOK = 20_000, 50
#: A level is known so well.
_DIGITS = 1e-4


def duality_gap(modes: LinearModes, decay: float, W: Floats, penalty: float) -> float:
    """How much the loss with a penalty, of W, may be above its minimum."""
    rest = modes.fit - W @ modes.root
    top = float(np.linalg.norm(rest @ modes.root.T, 2))
    inside = rest * min(1.0, decay / top) if top > 0 else rest
    dual = 0.5 * float((modes.fit**2).sum() - ((modes.fit - inside) ** 2).sum())
    return max(0.5 * float((rest**2).sum()) + penalty - dual, 0.0)


def nuclear_fit_levels(modes: LinearModes, decay: float, W: Floats) -> Floats:
    """Levels a_k at the minimum, from W on; nan where they are not found in time.

    By accelerated proximal gradients that start again where they turn back (Beck and Teboulle,
    SIAM J. Imaging Sciences 2, 2009; O'Donoghue and Candes, Found. Comput. Math. 15, 2015).
    """
    step = 1 / float(np.linalg.norm(modes.S, 2))
    ahead, momentum = W, 1.0
    for count in range(_MOST):
        raw = ahead + step * (modes.K - ahead @ modes.S)
        u, s, v = np.linalg.svd(raw, full_matrices=False)
        s = np.maximum(s - step * decay, 0.0)
        new = (u * s) @ v
        if count % _LOOK == 0:
            gap = duality_gap(modes, decay, new, decay * float(s.sum()))
            if math.sqrt(2 * gap) <= _DIGITS * modes.sigma.min():
                return modes.levels(new)
        if float(((ahead - new) * (new - W)).sum()) > 0:
            momentum = 1.0
        later = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead, W, momentum = new + (momentum - 1) / later * (new - W), new, later
    return np.full(len(modes.sigma), np.nan)
