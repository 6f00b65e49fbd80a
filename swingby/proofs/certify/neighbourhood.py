r"""The neighbourhood of I in which every run of euler and of gradient descent converges.

**Lemma.** Let every a_k > 0, let
:math:`\rho = \max(|1 - 2\eta a_{\min}|, |1 - 2\eta a_{\max}|) < 1` and :math:`e = \|W - I\|_F`.
Then one step gives

.. math::
    e' \le \rho e + 2\eta a_{\max} e^2 \ \text{(euler)}, \qquad
    e' \le \rho e + 2\eta a_{\max} e^2 + \eta^2 a_{\max}^2 e^2 (1 + e) \quad\text{(gd)},

and if :math:`e \le R` then :math:`e' \le \frac{1 + \rho}2 e`, with
:math:`R = \frac{1 - \rho}{4\eta a_{\max}}` for euler and
:math:`R = \frac{1 - \rho}{4\eta a_{\max}(1 + \eta a_{\max})}` for gd. So W(t) converges to I once
it is that near, and :math:`\|W - I\|_F` falls in every step. Moreover :math:`R \le 1/2`, so W
stays positive definite.

**Proof.** Write W = I + E and :math:`S = (AE + EA)/2`. Then
:math:`B = A - (AW + WA)/2 = -S`, and (D.2) is

.. math:: E' = E - \eta(S(I + E) + (I + E)S) = E - \eta(AE + EA) - \eta(SE + ES).

Entry (i, j) of :math:`E - \eta(AE + EA)` is :math:`(1 - \eta(a_i + a_j))E_{ij}`, and
:math:`1 - \eta(a_i + a_j)` lies between :math:`1 - 2\eta a_{\max}` and
:math:`1 - 2\eta a_{\min}`, so the norm of this part is at most :math:`\rho e`. Entry (i, j) of S
is :math:`\frac12(a_i + a_j)E_{ij}`, so :math:`\|S\|_F \le a_{\max}e` and
:math:`\|SE + ES\|_F \le 2a_{\max}e^2`. For gd, :math:`W' = (I - \eta S)W(I - \eta S)` has the
further term :math:`\eta^2 S(I + E)S`, of norm at most :math:`\eta^2 a_{\max}^2 e^2(1 + e)`.

*R is at most 1/2:* :math:`1 - \rho \le 1 - (1 - 2\eta a_{\max}) = 2\eta a_{\max}`, hold against
:math:`4\eta a_{\max}`. *euler:* :math:`e \le R` makes :math:`2\eta a_{\max}e \le (1 - \rho)/2`.
*gd:* with :math:`y = \eta a_{\max}` and :math:`e \le R` the quotient e'/e exceeds :math:`\rho` by
at most

.. math::
    2ye + y^2e(1 + e) = 2ye\,(1 + \tfrac12 y(1 + e))
    \le \frac{1 - \rho}{2(1 + y)}(1 + \tfrac12 y(1 + e)) \le \frac{1 - \rho}2,

because :math:`e \le 1`. The least eigenvalue of W is at least :math:`1 - e \ge 1/2`. ∎
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from swingby.proofs.certify.ball_run import Rows


class Neighbourhood(NamedTuple):
    """Distance from I and rate of the lemma, as exact rationals."""

    radius: Fraction
    rate: Fraction


def neighbourhood(signal: Sequence[Fraction], eta: Fraction, dynamics: str) -> Neighbourhood | None:
    """Radius R and rate (1 + rho)/2 of the lemma; None where some a_k is 0 or rho at least 1."""
    largest = eta * max(signal)
    rho = max(abs(1 - 2 * eta * min(signal)), abs(1 - 2 * largest))
    if min(signal) <= 0 or rho >= 1:
        return None
    radius = (1 - rho) / (4 * largest)
    if dynamics == "gd":
        radius /= 1 + largest
    return Neighbourhood(radius, (1 + rho) / 2)


def squared_distance(W: Rows, rest: Sequence[Any]) -> Any:
    """The square of the distance of W from I, with 1 - w_ii in `rest`."""
    total = sum((x * x for x in rest[1:]), rest[0] * rest[0])
    for i, row in enumerate(W):
        for entry in row[:i]:
            total += 2 * entry * entry
    return total
