"""Assertion on a theory of one's own: its predictions are kept, by a test that can fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput
from swingby.own_theory.comparing import row_of
from swingby.own_theory.power import TheoryTest, examined
from swingby.own_theory.runs import judge
from swingby.own_theory.settings import Settings
from swingby.own_theory.statement import Statement
from swingby.theory import numbers

if TYPE_CHECKING:
    from swingby.own_theory.theory import Theory


def assert_theory(
    theory: Theory, setting: Settings | None = None, *, count: int = 200, rng: int = 0
) -> TheoryTest | None:
    r"""Assert that the predictions of a theory are kept, and that the test could have failed.

    Without a setting, `count` settings are drawn inside the assumptions. The test fails in three
    cases: a prediction is broken, :math:`|observed - predicted| > within`; a prediction that is
    wrong by a factor of 2 would have passed at 95 % of the settings (*powerless*); or more than
    5 % of the settings are undecided.

    Parameters
    ----------
    theory : Theory
    setting : Settings, optional
        One drawn by ``theory.settings()``, at which no prediction may be broken.
    count, rng : int
        How many settings, and the seed of their draw.

    Returns
    -------
    TheoryTest or None
        The results of the test, with its power; None for a single setting.

    Raises
    ------
    AssertionError
        With every fault in a line of its own.
    InvalidInput
        If no setting lies inside the assumptions, or the theory cannot be run.

    References
    ----------
    The rule for settings is that of :meth:`swingby.Theory.sample`.

    Examples
    --------
    >>> import sympy as sp, swingby
    >>> from swingby.own import Bound, t
    >>> r, h = sp.symbols("r h", positive=True)
    >>> decay = Bound("rate", "x", below=r * (1 - h) ** t, until=50)
    >>> theory = swingby.Theory(
    ...     "decay", {r: (0.1, 1, 10), h: (0.01, 0.1, 1)}, {"small step": h <= 0.5},
    ...     lambda r: 1 * r, lambda x, h: x - h * x, {"x": lambda x: x}, [decay])
    >>> assert_theory(theory, count=50).rows[0].broken
    0.0
    """
    __tracebackhide__ = True
    if not isinstance(theory, Statement):
        raise InvalidInput("theory", theory, "must be a swingby.Theory")
    seed = numbers.whole(rng, "rng", 0)
    if setting is None:
        result = examined(theory, numbers.whole(count, "count", 1), seed)
        if result.faults:
            raise AssertionError(result.to_text(width=100))
        return result
    for name, judged in judge(setting, seed).items():
        bad = np.flatnonzero(judged.ratio > 1)
        if len(bad):
            words = f"{row_of(judged, bad[0]).text} at {setting.text(int(bad[0]))}"
            raise AssertionError(f"{theory.name}: {name}: {words}")
    return None
