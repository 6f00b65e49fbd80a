"""What a ball leaves open is never decided: doubt where the watch is strict, else a note."""

from functools import partial

import flint
import pytest

from swingby.verify.certification.events import Doubt, Watch


def watching(*, strict, watches_psd=True):
    """A watch over two coupled concepts, with nothing seen yet."""
    return Watch(((0, 1),), None, (0, 1), frozenset(), watches_psd, strict)


def rows(first, off, second):
    return [[flint.arb(first), flint.arb(off)], [flint.arb(off), flint.arb(second)]]


def look(watch, step, W, semidefinite=True):
    rest = [1 - W[0][0], 1 - W[1][1]]
    watch.observe(step, W, rest, partial(lambda answer: answer, semidefinite))


#: Short binary fractions are exact balls.
START = rows("0.25", "0.03125", "0.0625")
OPEN = {
    "passages/1/2/1": (rows("0.5 +/- 1e-9", "0.015625", "0.0625"), True),
    "peaks/1,2": (rows("0.25", "0.03125 +/- 1e-9", "0.0625"), True),
    "runs_away/2": (rows("0.25", "0.015625", "0 +/- 1e-9"), True),
    "psd": (rows("0.25", "0.015625", "0.0625"), None),
}


@pytest.mark.parametrize("path", OPEN)
def test_an_open_entry_is_doubted_or_noted(path):
    """A ball across a level, a tie, a sign, a pivot: the entry is named, and not filled in."""
    W, semidefinite = OPEN[path]
    strict = watching(strict=True)
    look(strict, 0, START)
    with pytest.raises(Doubt, match=f"^{path}$"):
        look(strict, 1, W, semidefinite)
    watch = watching(strict=False)
    look(watch, 0, START)
    look(watch, 1, W, semidefinite)
    assert watch.undecided == {path}
    assert ("1/2", 0) not in watch.passages
    assert not watch.negative
    assert watch.first_loss is None
    assert watch.peaks[0, 1].step == 0


def test_a_decided_entry_is_filled_in():
    """The same places, with balls that decide."""
    watch = watching(strict=True)
    look(watch, 0, START)
    look(watch, 2, rows("0.625", "-0.0625", "-0.0625"), semidefinite=False)
    assert watch.passages["1/2", 0].step == 2
    assert watch.negative == {1: 2}
    assert watch.first_loss == 2
    assert watch.peaks[0, 1].step == 2
    assert not watch.undecided
