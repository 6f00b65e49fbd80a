r"""The scalar map of one concept under gradient descent, and its first passages in balls.

.. math:: F_y(w) = w (1 + y(1-w))^2, \qquad y = \eta a, \quad 0 < y \le 1/2.

With :math:`g = 1 - yw(2 + y(1-w))` it is :math:`1 - F = (1-w) g`, so that F maps [0, 1) into
itself, and in logits, :math:`\Lambda = \operatorname{logit} \circ F \circ \operatorname{expit}`:

- [0.2] :math:`\Lambda(\xi) - \xi \ge \lambda = 2 \log(1+y)`, and
- [0.3] :math:`\Lambda(\xi) - \xi - \lambda \le y^2 (3+y) w / ((1+y) g)`;
- [0.4] :math:`\Lambda' \ge 1`: an error made in any step, moved to the start, is no smaller there.

So where a pivot moves by F up to errors that add up to D in logits, its first passage of a level
lies between those of F from its start plus D and minus D.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import flint

from swingby.theory import balls, budget
from swingby.theory.balls import precision

#: w up to which steps are summed rather than taken, by attempt, and the bits of the attempt.
_ATTEMPTS = ((24, 128), (64, 192), (192, 448), (512, 1152))
#: Steps in balls that are taken at most; about a minute.
_LONGEST = 20_000_000
_SECONDS_A_STEP = 3e-6
#: Logits that are this close start from one ball.
_CLOSE = 1e-6


def growth(y: flint.arb) -> flint.arb:
    """What a small w gains per step, in logits: lambda = 2 log(1 + y)."""
    return 2 * y.log1p()


#: What counts first passages of F: :func:`first_passage`, or :func:`unless_uncovered`.
Passage = Callable[
    [Fraction, tuple[flint.arb, flint.arb], tuple[flint.arb, flint.arb]], "tuple[int, int] | None"
]


def unless_uncovered(
    _: Fraction, start: tuple[flint.arb, flint.arb], level: tuple[flint.arb, flint.arb]
) -> tuple[int, int] | None:
    """In place of a first passage, for whether a theorem applies, without its count of steps."""
    return (0, 0) if all(logit.is_finite() for logit in (*start, *level)) else None


def first_passage(
    y: Fraction, start: tuple[flint.arb, flint.arb], level: tuple[flint.arb, flint.arb]
) -> tuple[int, int] | None:
    """Bounds of first passages of F, in whole steps; None where it takes too many.

    `start`: logits between which it starts. `level`: logits. Returns at most the first step at
    which F from the upper start has reached the lower level, and at least the one at which it has
    reached the upper level from the lower start; no tighter than the balls allow.
    """
    low, high = start
    bounds: tuple[int, int] | None = None
    for bits, working in _ATTEMPTS:
        with precision(working):
            # The same steps serve both ends where these differ by next to nothing.
            starts = (low.union(high),) if high - low < _CLOSE else (high, low)
            passages = [_passage(y, logit, level, bits) for logit in starts]
        earliest, latest = passages[0], passages[-1]
        if earliest is None or latest is None:
            break
        bounds = earliest[0], latest[1]
        if earliest[0] == earliest[1] and latest[0] == latest[1]:
            break
    return bounds


def _passage(
    y: Fraction, start: flint.arb, level: tuple[flint.arb, flint.arb], bits: int
) -> tuple[int, int] | None:
    """The first step that may have reached the lower level, and the first that has the upper."""
    rate = balls.ball(y)
    low, high = (1 / (1 + (-logit).exp()) for logit in level)
    steps, xi = _linear_phase(rate, start, bits)
    remaining = ((level[1] - xi) / growth(rate)).upper()
    if not remaining < _LONGEST:
        return None
    budget.expect("the proof of a half-time", _SECONDS_A_STEP * float(remaining))
    w = 1 / (1 + (-xi).exp())
    earliest = None
    # None remain from a start above the level.
    for _ in range(max(0, int(float(remaining))) + 3):
        if earliest is None and not w < low:
            earliest = steps
        if w >= high:
            assert earliest is not None
            return earliest, steps
        factor = 1 + rate * (1 - w)
        w, steps = w * factor * factor, steps + 1
    return None


def _linear_phase(y: flint.arb, start: flint.arb, bits: int) -> tuple[int, flint.arb]:
    """Steps taken at once, and the logit after them.

    By [0.2] the logit after n steps is at least v = start + n lambda. It exceeds that by at most
    c 2 e^v / (e^lambda - 1), c = y^2 (3+y)/((1+y)(1 - 4 y e^v)), as long as this is below log 2:
    up to there w_t <= 2 exp(start + t lambda) by induction, and [0.3] is summed.
    """
    rate = growth(y)
    count = ((-bits * flint.arb(2).log() - start) / rate).lower().floor()
    if not count > 0:
        return 0, start
    steps = int(count.unique_fmpz())
    xi = start + steps * rate
    size = 2 * xi.exp()
    excess = y * y * (3 + y) / ((1 + y) * (1 - 2 * y * size)) * size / (2 * y + y * y)
    assert excess < flint.arb(2).log()
    return steps, xi + excess.union(flint.arb(0))
