"""How far a run is followed: exact steps that leave the range, and balls that get wide."""

from fractions import Fraction

import flint
import pytest

from swingby.theory.task import SIMTask
from swingby.verify.certification.followed import (
    LOOK,
    Telling,
    first_steps,
    follow_in_balls,
    read_given,
)
from swingby.verify.certify import certify

ONE = SIMTask.from_signal([1])


def logistic(w, eta, steps):
    """(D.2) of one concept alone, exactly."""
    for _ in range(steps):
        w += 2 * eta * w * (1 - w)
    return w


@pytest.mark.parametrize(
    ("steps", "last"),
    # By hand, with eta a = 1: -1, -5, -65, -8645, and then about -1.5e8, past 10^6. With a
    # number of steps the limit is 10^100.
    [(None, 3), (3, 3), (4, 4)],
)
def test_a_run_that_leaves_the_range_in_exact_steps_needs_no_bits(steps, last):
    certificate = certify(ONE, [[-1]], 1, steps=steps)
    assert certificate.steps == last
    assert certificate.bits is None
    assert "decided with" not in str(certificate)
    (end,) = certificate.end[0]
    exact = logistic(Fraction(-1), 1, last)
    assert Fraction(end.lower) <= exact <= Fraction(end.upper)
    assert [away.step for away in certificate.runs_away] == [0]
    assert certificate.undecided == ()


def in_balls(bits, steps=None):
    given = read_given(ONE, [["1e-9"]], "1/10", "euler", steps)
    with flint.ctx.workprec(bits):
        start, finished = first_steps(given, Telling(None))
        assert not finished
        return follow_in_balls(given, start, bits, strict=False, tell=Telling(None))


def test_balls_that_are_wide_between_two_looks_do_not_end_a_run():
    # With 16 bits w is known to less than a thousandth around step 115, where it rises; the map
    # contracts near 1, so that it is known again long before the next look.
    coarse = in_balls(16)
    fine = in_balls(256)
    assert fine.watch.undecided == set()
    for (name, k), reached in fine.watch.passages.items():
        path = f"passages/{name}/{k + 1}"
        found = coarse.watch.passages.get((name, k))
        # A level in the wide part may be open, but what is decided is right.
        assert path in coarse.watch.undecided if found is None else found.step == reached.step
    assert coarse.watch.passages["99/100", 0].step < LOOK
    assert abs(coarse.W[0][0] - 1) < 1e-3
