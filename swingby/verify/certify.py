"""certify: one trajectory with every number proved."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput, named
from swingby.theory import budget
from swingby.theory.balls import precision
from swingby.theory.task import SIMTask
from swingby.verify.certification.certificate import Certificate
from swingby.verify.certification.events import Doubt
from swingby.verify.certification.followed import (
    Telling,
    assemble,
    first_steps,
    follow_in_balls,
    read_given,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from swingby.theory.initial import Initial, Scaled

#: Working precisions in bits, tried one after the other until nothing is left open. The enclosures
#: ask for 40 decimal digits, 133 bits, at the end of a run; 256 bits leave room for rounding.
PRECISIONS = (256, 512, 1024, 2048, 4096, 8192)

#: A step in balls of 256 bits takes about this, and this for each product of two entries.
SECONDS_A_STEP, SECONDS_A_PRODUCT = 1e-5, 7e-7
A_YEAR = 3.2e7


@named
def certify(
    task: SIMTask | Sequence[Any],
    W0: ArrayLike | Scaled | Initial | Any,
    eta: Any,
    dynamics: str = "euler",
    steps: int | None = None,
    *,
    progress: Callable[[str], object] | None = None,
) -> Certificate:
    r"""Follow a discrete run from W(0) to its end and prove when everything happens.

    .. math:: W' = W + \eta (BW + WB) \quad\text{or}\quad (I + \eta B) W (I + \eta B),
              \qquad B = A - (AW + WA)/2

    as ``"euler"`` (D.2) or ``"gd"``. The first steps are taken in exact rational arithmetic, the
    others in ball arithmetic, where every number carries a bound of its error. What a ball leaves
    open, such as whether it lies above a level, is decided by starting again with twice the
    precision, up to 8192 bits; what is still open then is listed in ``undecided``.

    Parameters
    ----------
    task : SIMTask or sequence of numbers
        The task, or its signal a.
        At most 6 concepts.
    W0 : array_like of shape (d, d), nested lists of exact numbers, or Scaled
        Symmetric, with numbers of any size. Floats are the binary numbers that they store;
        ``"1/3"``, ``"1e-1000"``, Fraction, int and mpmath numbers are exact. For gd it must be
        positive semidefinite, exactly.
    eta : number
        Step size; positive. A float is the binary number that it stores.
    dynamics : {"euler", "gd"}
    steps : int, optional
        The last step. By default: until W is provably on its way to I, with
        ``|W - I|_F <= 1/100`` and less than every peak; where that cannot be, until every
        concept with a component in W(0) is learned and the other entries are past their peaks,
        or the time of exponential growth is over several times; at most 1,000,000 steps. A run
        with an entry that grows past 10^6 (10^100 where `steps` is given) ends before that.
    progress : callable, optional
        Gets a line of text now and then, at most once per second.

    Returns
    -------
    Certificate

    Raises
    ------
    InvalidInput
        For a wrong argument, naming it.

    References
    ----------
    (D.1), (D.2).

    Examples
    --------
    >>> task = SIMTask.from_signal([4, 1])
    >>> certificate = certify(task, [["2e-6", "1e-6"], ["1e-6", "2e-6"]], eta="1/100")
    >>> certificate.half_times, certificate.first_loss, certificate.converges.step
    ((170, 679), None, 776)
    """
    if progress is not None and not callable(progress):
        raise InvalidInput("progress", progress, "must be callable")
    given = read_given(task, W0, eta, dynamics, steps)
    tell = Telling(progress)
    seconds = given.last * (SECONDS_A_STEP + SECONDS_A_PRODUCT * len(given.signal) ** 3)
    if seconds > A_YEAR and math.isinf(budget.left()):
        raise InvalidInput("steps", given.last, "must be fewer: these take more than a year")
    budget.expect("the certificate", seconds, partial=True)
    with precision(PRECISIONS[0]):
        start, finished = first_steps(given, tell)
    for bits in PRECISIONS:
        strict = bits < PRECISIONS[-1]
        with precision(bits):
            try:
                if finished:
                    start.watch.strict = strict
                    return assemble(given, start, None)
                followed = follow_in_balls(given, start, bits, strict=strict, tell=tell)
                return assemble(given, followed, bits)
            except Doubt:
                continue
    raise AssertionError("the highest precision leaves entries open, and doubts nothing")
