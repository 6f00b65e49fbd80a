"""Settings inside the assumptions."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from swingby.errors import MISSING, InvalidInput
from swingby.testing import bounded_matrices, limits, repaired_settings, rounding, signals
from swingby.testing.arguments import Dimensions, choice, dimensions, fractions
from swingby.testing.draw_step_sizes import below
from swingby.testing.setting import Setting
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.check import EDITIONS
from swingby.verify.feasibility import INFEASIBILITY_CERTIFICATE, K

#: beta, simplest first; 1 is the limit of beta > 1 from above.
BETAS = st.sampled_from(fractions("2 1 3 4 3/2 10 6/5 5 100 1000001/1000000 1000"))
#: Where omega lies: digits it is rounded to next to its limit, and decades below; simplest first.
PLACES = st.sampled_from(
    (
        (0, 0),
        *((0, decades) for decades in (1, 2, 5, 10, 30, 100, 300, 1000, 2000)),
        *((digits, 0) for digits in (1, 2, 3, 6, 9, 12, 15, 18)),
    )
)
NO_SETTING = f"must be 1: {INFEASIBILITY_CERTIFICATE} With one concept D.5 is empty."


def satisfying(
    edition: str = "printed", dim: int | st.SearchStrategy[int] | None = None
) -> st.SearchStrategy[Setting]:
    r"""Draw settings in which every assumption of an edition holds.

    Signals are products of round ratios in any order (above 3 as printed, from 1.1 as repaired),
    and come with sigma = 0. About half of the omegas lie next to the largest one, rounded down to
    0 to 18 digits, the others up to 2000 decades below it. eta is a round number in the five
    decades up to 1/(180 max a), or this itself (as repaired, where eta converts time only, up to
    1/(10 max a)). W(0) is rank-deficient or nearly degenerate in part of the draws, but positive
    definite as repaired. Shrinks to signals 4^k, powers of ten, and W(0) of small whole numbers.

    Parameters
    ----------
    edition : {"printed", "corrected", "repaired"}
    dim : int or strategy, optional
        By default 1 to 4. The corrected edition has settings with dim = 1 only.

    Returns
    -------
    strategy of Setting
        ``check()`` and ``check_numbers()`` hold.

    Raises
    ------
    InvalidInput
        If an argument is out of range; for the corrected edition unless dim is 1, with the proof
        that nothing satisfies it.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(satisfying(dim=2), lambda setting: True)
    Setting(SIMTask.from_signal([4, 1]), omega="1e-83", eta="0.001", beta=2,
            W0=Scaled([[1.0, 1.0], [1.0, 1.0]], "1e-83"))
    """
    choice(edition, "edition", EDITIONS)
    if edition == "repaired":
        return repaired_settings.inside(dimensions(dim))
    if edition == "printed":
        return _inside(dimensions(dim), 1)
    if dim is None:
        raise InvalidInput("dim", MISSING, NO_SETTING)
    return _inside(dimensions(dim, most=1, requirement=NO_SETTING), 2)


@st.composite
def _inside(draw: st.DrawFn, sizes: Dimensions, power: int) -> Setting:
    task = signals.apart(draw, draw(sizes.strategy), sizes.most)
    beta = draw(BETAS)
    matrix = bounded_matrices.any_form(draw, task.order, beta, sizes.most)
    omega = omega_inside(draw, limits.largest(signals.shape(task), beta, power)[0])
    eta = draw(below(largest_step(task)))
    edition = "printed" if power == 1 else "corrected"
    return Setting(task, omega, eta, beta, W0=Scaled(matrix, omega), edition=edition)


def omega_inside(draw: st.DrawFn, largest: Fraction) -> Fraction:
    """Draw omega next to or far below the largest."""
    digits, decades = draw(PLACES)
    return rounding.down(largest, digits) * rounding.power_of_ten(-decades)


def largest_step(task: SIMTask) -> Fraction:
    """The largest eta that D.2 admits."""
    return 1 / (9 * K * max(task.exact_signal))
