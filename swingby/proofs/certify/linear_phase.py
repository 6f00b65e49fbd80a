r"""The linear phase of gradient descent on U, skipped rigorously.

With :math:`U = (I + \eta A)^t V`, W = U U^T, y = eta a_1, row i of V moves by
:math:`(1+y_i)^{-t-1} \tfrac\eta2 \sum_k (a_i + a_k) w_{ik} U_k`, and since
:math:`\sum_k (a_i+a_k) w_{ik} U_k = U_i (a_i U^T U + U^T A U)`, by at most y |W| |V_i|. Let
sigma = 2 tr W(0) (1+y)^(2n)/(2y + y^2) with exp(2 sigma) <= 2. By induction over t <= n,

.. math:: |W(t)| \le |W(0)| (1+y)^{2t} e^{2S_t} \le 2 |W(0)| (1+y)^{2t},
          \qquad S_t = \sum_{s<t} |W(s)| \le \sigma,

as :math:`|I + \eta B| \le (1+y)(1 + |W|)`. So :math:`|V_i(n) - V_i(0)| \le \epsilon |V_i(0)|`,
epsilon = exp(y sigma) - 1, and

.. math:: |w_{ij}(n) - g_{ij}^n w_{ij}(0)| \le g_{ij}^n (2\epsilon + \epsilon^2)
          \sqrt{w_{ii}(0) w_{jj}(0)}, \qquad g_{ij} = (1+y_i)(1+y_j),

at n and, with the same epsilon, at every step before. Where that error is less than
(g-1)/(g+1) of |w_ij(0)|, |w_ij| rises in every one of these steps, so that no peak lies among them.
"""

from __future__ import annotations

import flint

from swingby.proofs.certify.ball_run import BallState
from swingby.proofs.certify.exact_inputs import ExactInputs
from swingby.theory import balls

#: Fewer steps than these are taken one by one.
_SHORTEST = 256


def after_linear_phase(inputs: ExactInputs) -> BallState | None:
    """W after the linear phase, in balls of the working precision; None where it is not skipped.

    It is skipped under gd, from a positive definite W(0) whose entries within a block are not zero
    and at least :data:`_SHORTEST` steps from three quarters of the working bits.
    """
    d = len(inputs.signal)
    if inputs.is_euler or len(inputs.pivots) < d or min(inputs.signal) <= 0:
        return None
    if any(not pivot > 0 for pivot in inputs.pivots.values()):
        return None
    y = [balls.ball(inputs.eta * a) for a in inputs.signal]
    top = balls.ball(inputs.eta * max(inputs.signal))
    W = [[balls.ball(entry) for entry in row] for row in inputs.W0]
    trace = sum((W[k][k] for k in range(d)), flint.arb(0))
    room = -flint.arb(2).log() * (3 * flint.ctx.prec // 4) - trace.log()
    count = (room / (2 * top.log1p())).lower().floor()
    if not count > _SHORTEST:
        return None
    n = int(count.unique_fmpz())
    if inputs.steps is not None and inputs.steps < n:
        return None
    sigma = 2 * trace * (2 * n * top.log1p()).exp() / (2 * top + top * top)
    if not (2 * sigma).exp() <= 2:
        return None
    epsilon = (top * sigma).expm1()
    share = 2 * epsilon + epsilon * epsilon
    start = [row[:] for row in W]
    block_of = {k: block for block in inputs.blocks for k in block}
    for i in range(d):
        for j in range(i + 1):
            if j not in block_of[i]:
                continue
            error = share * (start[i][i] * start[j][j]).sqrt()
            growth = (1 + y[i]) * (1 + y[j])
            if not (growth - 1) * abs(start[i][j]) > (growth + 1) * error:
                return None
            scale = (n * (y[i].log1p() + y[j].log1p())).exp()
            W[i][j] = W[j][i] = scale * (start[i][j] + error.union(-error))
    return BallState(n, W, [1 - W[k][k] for k in range(d)])
