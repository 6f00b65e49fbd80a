"""A tie that a ball leaves open is never decided: doubt where the watch is strict, else a note."""

from functools import partial

import flint
import pytest

from swingby.verify.certification.events import Doubt, Watch


def look(watch, step, W):
    rest = [1 - W[0][0], 1 - W[1][1]]
    watch.observe(step, W, rest, partial(bool, 1))


def rows(first, off, second):
    return [[flint.arb(first), flint.arb(off)], [flint.arb(off), flint.arb(second)]]


def test_an_open_peak_is_doubted_or_noted():
    for strict in (True, False):
        watch = Watch(((0, 1),), None, (0, 1), frozenset(), watches_psd=True, strict=strict)
        # Short binary fractions are exact balls.
        look(watch, 0, rows("0.25", "0.03125", "0.0625"))
        tie = rows("0.25", "0.03125 +/- 1e-9", "0.0625")
        if strict:
            with pytest.raises(Doubt, match=r"^peaks/1,2$"):
                look(watch, 1, tie)
        else:
            look(watch, 1, tie)
            assert watch.undecided == {"peaks/1,2"}
        assert watch.peaks[0, 1].step == 0
