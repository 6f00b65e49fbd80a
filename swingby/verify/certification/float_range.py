r"""What float64 resolves of a run: balls that contain what the kernels of simulate compute.

The run is followed in balls of :data:`FLOAT_BITS` = 48 bits, and every entry of W(0) and of every
later W is widened by a relative :math:`2^{-48}` on top of that. So at every step each term of the
map is rounded by at least :math:`2^{-48}`, 32 times the :math:`2^{-53}` of float64. The kernels of
:mod:`swingby.simulate` form an entry in at most d + 6 roundings of terms no larger than these, and
jump over linear steps with an error of about :math:`10^{-17}`; for d at most 6 that is within 32. A
diagonal entry is stored as w_kk and never as 1 - w_kk, so near 1 it is rounded by
:math:`2^{-48}` itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import flint

from swingby.verify.certification.ball_run import BallState, follow
from swingby.verify.certification.certificate import Certificate

#: Working precision of the balls that stand for float64.
FLOAT_BITS = 48
#: The bar of swingby.simulate.observe for a negative pivot, times d w_kk.
PIVOT_BAR = 8 * 2.0**-52


def states(certificate: Certificate, last: int) -> Iterator[BallState]:
    """The run of a certificate in balls, at the current working precision.

    `last`: the last step.
    """
    given = certificate
    return follow(given.signal, given.W0, given.eta, given.dynamics, last)


def float_states(certificate: Certificate, last: int) -> Iterator[BallState]:
    """The run in balls that contain the run in float64; at a working precision of FLOAT_BITS.

    `last`: the last step. Yields the same object at every step.
    """
    error = flint.arb(0, 2.0**-FLOAT_BITS)
    for state in states(certificate, last):
        for i, row in enumerate(state.W):
            for j in range(i):
                row[j] = state.W[j][i] = row[j] + row[j] * error
            change = row[i] * error
            row[i] = row[i] + change
            state.rest[i] = state.rest[i] + change
        yield state


def negative_pivot(signal: Sequence[Fraction], state: BallState) -> bool | None:
    """Whether the kernels see a negative pivot in LDL^T, in descending order of a.

    `signal`: a, length d. `state`: from :func:`float_states`. Returns None where a pivot is about
    the bar of the kernels, 8 d 2^-52 w_kk below 0 and above.
    """
    order = sorted(range(len(signal)), key=lambda k: -signal[k])
    rest = [[state.W[i][j] for j in order] for i in order]
    bar = 2 * PIVOT_BAR * len(signal)
    for k, own in enumerate(order):
        slack = bar * abs(state.W[own][own])
        pivot = rest[k][k]
        if pivot < -slack:
            return True
        if not pivot > slack:
            return None
        for i in range(k + 1, len(order)):
            for j in range(k + 1, len(order)):
                rest[i][j] = rest[i][j] - rest[i][k] * rest[k][j] / pivot
    return False


def resolution(number: flint.arb | None) -> str:
    """What float64 resolves of an entry, as an explanation.

    `number`: from :func:`float_states`; None where the balls ended before.
    """
    if number is None or not number.is_finite() or float(number.rad()) > 0.01:
        return "float64 resolves nothing there: rounding has grown to the size of W"
    return f"within what float64 resolves, {float(number.rad()):.2g}"
