"""Step sizes."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

from hypothesis import strategies as st

from swingby.testing import rounding
from swingby.testing.arguments import readable
from swingby.theory import numbers
from swingby.theory.task import SIMTask

#: eta max(a) by default: far below 1/2, where the discrete maps leave [0, 1].
LARGEST_STEP = Fraction(1, 10)

#: First digits of a step size and the decades it stays below the largest, simplest first; None
#: stands for the largest itself.
_SIZES = (
    *(
        (Fraction(digits), decades)
        for decades, digits in product(range(5), ("1", "2", "5", "3/2", "3"))
    ),
    None,
)


def step_sizes(task: SIMTask, most: Any = None) -> st.SearchStrategy[Fraction]:
    """Draw step sizes for a task.

    A round number (one of 1, 2, 5, 1.5, 3 times a power of ten) in the five decades below the
    largest, or in one of 26 draws the largest itself. Shrinks to the largest power of ten.

    Parameters
    ----------
    task : SIMTask
    most : number or text, optional
        The largest step size, in the clock of (D.2); by default eta max(a) is at most 1/10.

    Returns
    -------
    strategy of Fraction

    Raises
    ------
    InvalidInput
        If task is no task, or most not positive.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(step_sizes(SIMTask.from_signal([4, 1])), lambda eta: True)
    Fraction(1, 100)
    """
    largest_signal = max(readable(task).exact_signal)
    largest = LARGEST_STEP / largest_signal if most is None else numbers.positive(most, "most")
    return below(largest)


def below(largest: Fraction) -> st.SearchStrategy[Fraction]:
    """Draw round numbers of at most a given size; see :func:`step_sizes`."""
    return st.sampled_from(_SIZES).map(lambda size: _rounded(largest, size))


def _rounded(largest: Fraction, size: tuple[Fraction, int] | None) -> Fraction:
    if size is None:
        return largest
    digits, decades = size
    return digits * rounding.power_of_ten(rounding.decade(largest / digits) - decades)
