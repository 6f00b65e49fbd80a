"""Settings inside the assumptions, and outside exactly one of them."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from swingby.errors import MISSING, InvalidInput
from swingby.testing import draw_matrices, draw_tasks, setting
from swingby.testing.draw_matrices import MOST_DIRECTIONS, Dimensions, choice, dimensions, fractions
from swingby.testing.draw_tasks import below
from swingby.testing.setting import Setting
from swingby.theory.initial import Scaled
from swingby.theory.task import SIMTask
from swingby.verify.check import EDITIONS
from swingby.verify.checking.feasibility import INFEASIBILITY_CERTIFICATE, K

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
        return setting.repaired_inside(dimensions(dim))
    if edition == "printed":
        return _inside(dimensions(dim), 1)
    if dim is None:
        raise InvalidInput("dim", MISSING, NO_SETTING)
    return _inside(dimensions(dim, most=1, requirement=NO_SETTING), 2)


@st.composite
def _inside(draw: st.DrawFn, sizes: Dimensions, power: int) -> Setting:
    task = draw_tasks.apart(draw, draw(sizes.strategy), sizes.most)
    beta = draw(BETAS)
    matrix = draw_matrices.any_form(draw, task.order, beta, sizes.most)
    omega = omega_inside(draw, setting.largest(draw_tasks.shape(task), beta, power)[0])
    eta = draw(below(largest_step(task)))
    edition = "printed" if power == 1 else "corrected"
    return Setting(task, omega, eta, beta, W0=Scaled(matrix, omega), edition=edition)


def omega_inside(draw: st.DrawFn, largest: Fraction) -> Fraction:
    """Draw omega next to or far below the largest."""
    digits, decades = draw(PLACES)
    return draw_tasks.down(largest, digits) * draw_tasks.power_of_ten(-decades)


def largest_step(task: SIMTask) -> Fraction:
    """The largest eta that D.2 admits."""
    return 1 / (9 * K * max(task.exact_signal))


PRINTED_IDS = ("D.1", "D.2", "D.3", "D.4", "D.5")
REPAIRED_IDS = ("D.1'", "D.3'", "D.4'")

#: Why some assumptions never fail alone.
_D3_FOLLOWS = (
    "must be another: D.4 gives P omega beta <= (1 - kappa^(-1/2))/(K gamma d beta) < 1/20, as "
    "K >= 20, gamma > 1, beta > 1 and P <= P^2, so D.3 holds wherever D.4 does"
)
_NO_OMEGA_0 = (
    "must be another: omega_0 exists only where D.1' and D.3' hold, so D.4' fails with either"
)
_NEVER_MET = f"must be another: D.4 fails besides. {INFEASIBILITY_CERTIFICATE}"

#: How far eta is above 1/(180 max a): first digits that are rounded up to, or a factor.
_STEPS = st.sampled_from(
    (
        *((Fraction(digits), True) for digits in ("1", "2", "5", "3/2")),
        *(
            (Fraction(factor), False)
            for factor in ("2", "18", "1001/1000", "1000000001/1000000000")
        ),
    )
)
_COIN = st.booleans()
_DIGITS = st.sampled_from((0, 1, 2, 3, 6, 9, 12, 15, 18))
_EIGHTHS = st.integers(0, 8)


def violating(
    assumption: str,
    edition: str = "printed",
    dim: int | st.SearchStrategy[int] | None = None,
) -> st.SearchStrategy[Setting]:
    r"""Draw settings in which exactly one assumption of an edition fails.

    Everything else is as in :func:`satisfying`, at the same distance from its own limits.

    - D.1: one direction is free (a = 0), or W(0) has zero entries.
    - D.2: eta is above 1/(180 max a), up to 18 times or by a factor of only 1 + 1e-9.
    - D.4: omega is too large, from next to its limit up to where D.3 would fail as well. As
      corrected with two concepts or more, where no omega is small enough: any omega below that.
    - D.5: some signal is at most three times the next smaller one, equal ones included.
    - D.4': omega is above omega_0; in a quarter of the draws next to it.

    Parameters
    ----------
    assumption : str
        ``"D.1"``, ``"D.2"``, ``"D.4"`` or ``"D.5"``; ``"D.4'"`` in the repaired edition.
    edition : {"printed", "corrected", "repaired"}
    dim : int or strategy, optional
        By default 1 to 4, as far as the assumption can fail alone.

    Returns
    -------
    strategy of Setting
        ``check().failing`` is the assumption alone, and so is ``check_numbers().failing``, except
        where a zero in W(0) violates D.1: the numbers alone know nothing of it, and hold.

    Raises
    ------
    InvalidInput
        If an argument is out of range, or the assumption cannot fail alone; with the reason.

    Examples
    --------
    >>> from hypothesis import find
    >>> find(violating("D.2", dim=2), lambda setting: True)
    Setting(SIMTask.from_signal([4, 1]), omega="1e-83", eta="0.01", beta=2,
            W0=Scaled([[1.0, 1.0], [1.0, 1.0]], "1e-83"))
    >>> violating("D.3")
    Traceback (most recent call last):
        ...
    swingby.errors.InvalidInput: assumption must be another: D.4 gives P omega beta <= ...
    """
    choice(edition, "edition", EDITIONS)
    repaired = edition == "repaired"
    choice(assumption, "assumption", REPAIRED_IDS if repaired else PRINTED_IDS)
    if assumption == "D.4'":
        return setting.repaired_outside(dimensions(dim))
    if repaired:
        raise InvalidInput("assumption", assumption, _NO_OMEGA_0)
    if assumption == "D.3":
        raise InvalidInput("assumption", assumption, _D3_FOLLOWS)
    if edition == "corrected" and assumption == "D.1":
        raise InvalidInput("assumption", assumption, _NEVER_MET)
    least = 2 if assumption in ("D.1", "D.5") else 1
    most = 1 if edition == "corrected" and assumption == "D.2" else MOST_DIRECTIONS
    sizes = dimensions(dim, least, most=most)
    return _outside(assumption, sizes, 1 if edition == "printed" else 2)


@st.composite
def _outside(draw: st.DrawFn, assumption: str, sizes: Dimensions, power: int) -> Setting:
    d, most = draw(sizes.strategy), sizes.most
    eta = None
    if assumption == "D.1":
        task, beta, matrix, omega = _without_D1(draw, d, most)
    elif assumption == "D.4":
        task, beta, matrix, omega = _without_D4(draw, d, most, power)
    else:
        task = (draw_tasks.too_close if assumption == "D.5" else draw_tasks.apart)(draw, d, most)
        beta = draw(BETAS)
        matrix = draw_matrices.any_form(draw, task.order, beta, most)
        shape = draw_tasks.shape(task)
        if assumption == "D.5":
            limit = setting.with_failing_D5(shape, beta, power)
        else:
            limit = setting.largest(shape, beta, power)[0]
            eta = _large_step(draw, largest_step(task))
        omega = omega_inside(draw, limit)
    if eta is None:
        eta = draw(below(largest_step(task)))
    edition = "printed" if power == 1 else "corrected"
    return Setting(task, omega, eta, beta, W0=Scaled(matrix, omega), edition=edition)


def _without_D1(
    draw: st.DrawFn, d: int, most: int
) -> tuple[SIMTask, Fraction, draw_matrices.Floats, Fraction]:
    """A zero signal, or a W(0) of blocks with zeros between them."""
    # The simplest draw is the one of fewest choices, a free direction.
    free = not draw(_COIN)
    task = (draw_tasks.apart_and_zero if free else draw_tasks.apart)(draw, d, most)
    beta = draw(BETAS)
    matrix = draw_matrices.any_form(draw, task.order, beta, most)
    pattern = draw(draw_matrices.between(1, 2 ** (d - 1) - 1))
    if not free:
        matrix = draw_matrices.in_blocks(matrix, pattern)
    omega = omega_inside(draw, setting.with_failing_D1(draw_tasks.shape(task), beta))
    return task, beta, matrix, omega


def _without_D4(
    draw: st.DrawFn, d: int, most: int, power: int
) -> tuple[SIMTask, Fraction, draw_matrices.Floats, Fraction]:
    """An omega that is too large both for beta and for W(0), whose entries reach 1 and beta."""
    task = draw_tasks.apart(draw, d, most)
    matrix = draw_matrices.any_form(draw, task.order, draw(BETAS), most, anchored=True)
    beta = Fraction(float(abs(matrix).max()))
    shape = draw_tasks.shape(task)
    largest = setting.with_failing_D4(shape, beta)
    far, digits, eighths = omega_inside(draw, largest), draw(_DIGITS), draw(_EIGHTHS)
    if d > 1 and power == 2:
        return task, beta, matrix, far
    smallest = setting.largest(shape, beta, power)[1]
    omega = draw_tasks.up(smallest, digits)
    # Up to the last power of ten below the largest, in eighths of the way.
    room = draw_tasks.decade(largest) - draw_tasks.decade(omega)
    omega *= draw_tasks.power_of_ten(max(room - 1, 0) * eighths // 8)
    return task, beta, matrix, min(omega, largest)


def _large_step(draw: st.DrawFn, largest: Fraction) -> Fraction:
    """A step size that D.2 refuses."""
    number, round_up = draw(_STEPS)
    if not round_up:
        return number * largest
    exponent = draw_tasks.decade(largest / number)
    return number * draw_tasks.power_of_ten(exponent + 1)
