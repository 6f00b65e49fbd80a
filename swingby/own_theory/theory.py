"""Theory: a theory of one's own as one object, which answers checks, tables, tests and hunts."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.own_theory.settings import Settings, joined, samples
from swingby.own_theory.statement import Statement
from swingby.own_theory.strategy import settings_of
from swingby.theory import numbers
from swingby.verbs import Answering

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from swingby.proofs.audit.ledger import Ledger

#: Where each verb is answered.
_VERBS = {
    "check": "checking.check_theory",
    "compare": "comparing.compare_theory",
    "hunt": "hunting.hunt_theory",
    "sweep": "sweeping.sweep_theory",
    "threshold": "threshold.threshold_theory",
}


class Theory(Statement, Answering):
    r"""A theory of your own: its dynamics, its assumptions and its predictions.

    Settings lie along the **last** axis of every array, so code for one setting runs unchanged.
    Functions are called by the names of their parameters: numbers, vectors, draws, measured
    quantities, ``t`` (the step), ``d`` (the length), ``n`` (the number of settings), ``rng``. The
    first parameter of `step` and of observables is the state.

    Parameters
    ----------
    name : str
    numbers : dict
        Symbols of sympy with (low, usual, high), all positive; an ``IndexedBase`` with a
        :class:`~swingby.own.Vector`.
    assume : dict from str to relation
        Relations of sympy with ``<=`` and the like; ``Each(relation, i < j)`` for entries; or a
        function of numbers that returns the margin in decades, negative outside.
    start, step : callable
        The state at step 0, and the state one step later; step None for a theory without motion.
    observe : dict from str to callable
        Observables: functions of the state.
    predict : sequence
        Of :class:`~swingby.own.Passage`, ``Value``, ``Bound``, ``Before``, ``Outcome``.
    flow, runs : callable, optional
        In place of `step`: the derivative of the state, for times in units instead of steps; or
        what runs of one's own show, by prediction, as an array (settings,), with entries (d,
        settings): passages in steps, inf for never and nan for not known.
    draws : dict from str to callable
        Free arrays, of ``rng`` and shapes. They have no structure: a shrinker changes each entry.
    measured : dict from symbol or str to callable
        Structured quantities derived from numbers and draws; relations and predictions may use
        them.
    exists : dict from symbol to (low, high)
        Constants that must exist. If a search finds none, a check is *undecided*.
    lengths : sequence of int
        Lengths of the vectors: a theory for each.
    seeds : int
        Runs of each setting, for ``Value(stat="mean")`` and ``"var"``.
    steps : int
        Largest number of steps. A setting that needs more is undecided and is never drawn.
    proof, reference : str
        A ``.proof`` file, judged by :meth:`audit`, and the source of the theory.

    Raises
    ------
    InvalidInput
        If the parts do not fit together; the message names them.

    See Also
    --------
    swingby.check, swingby.compare, swingby.hunt, swingby.sweep, swingby.threshold,
    swingby.testing.assert_theory

    References
    ----------
    ``docs/theories``: theories of papers in this form; the one below is the exact curve of
    A. Saxe, J. McClelland, S. Ganguli (2014), arXiv 1312.6120, for one mode:
    :math:`u(t) = s/(1 + (s/u_0 - 1) e^{-2hst})`, half at :math:`\log(s/u_0 - 1)/(2hs)` steps.

    Examples
    --------
    >>> import numpy as np, sympy as sp, swingby
    >>> from swingby.own import Passage
    >>> s, u0, h = sp.symbols("s u0 h", positive=True)
    >>> time = sp.log(s / u0 - 1) / (2 * h * s)
    >>> theory = swingby.Theory(
    ...     "a mode of a linear network",
    ...     numbers={s: (0.1, 1, 10), u0: (1e-9, 1e-3, 0.1), h: (1e-3, 1e-2, 0.1)},
    ...     assume={"small step": h * s <= 0.02, "small start": u0 <= s / 10},
    ...     start=lambda s, u0: np.sqrt([u0, u0]),
    ...     step=lambda z, s, h: z + h * z[::-1] * (s - z[0] * z[1]),
    ...     observe={"u": lambda z: z[0] * z[1]},
    ...     predict=[Passage("half", "u", level=s / 2, time=time, within=1 + h * s * time / 2)],
    ... )
    >>> report = swingby.check(theory, h=0.05)
    >>> report.holds, report.binding, round(report.largest("h"), 6)
    (False, 'small step', 0.02)
    >>> print(swingby.compare(theory, u0=1e-6))
    a mode of a linear network
    s=1, u0=1e-06, h=0.01
    prediction   predicted   observed   allowed   off/allowed   verdict
    ───────────────────────────────────────────────────────────────────
    half           690.775    693.706   4.45388         0.658   kept
    >>> swingby.hunt(theory, seconds=5, count=64, rng=0).found
    False
    """

    def settings(self, *, outside: str = "", length: int | None = None) -> SearchStrategy[Settings]:
        """A Hypothesis strategy of settings inside the assumptions.

        Parameters
        ----------
        outside : str
            An assumption that is to be broken, and it alone.
        length : int, optional
            Of the vectors; by default each of `lengths`.

        Examples
        --------
        ``@given(theory.settings())`` above ``def test(setting): assert_theory(theory, setting)``.
        """
        return settings_of(self, outside, length)

    def sample(
        self, count: int, *, rng: Any = None, outside: str = "", length: int | None = None
    ) -> Settings:
        """Settings inside the assumptions, of one length; `outside` breaks one of them alone."""
        size = numbers.whole(count, "count", 1)
        generator = np.random.default_rng(0 if rng is None else rng)
        length = length or int(generator.choice(list(self.lengths)))
        return joined(list(samples(self, size, generator, outside, length)))

    def audit(self) -> Ledger:
        """The lines of the file `proof`, each with its verdict; see :func:`swingby.audit`."""
        from swingby.proofs.audit.audit import audit

        if not self.proof:
            raise InvalidInput("proof", MISSING, "must be a .proof file of the theory")
        return audit(str(self.proof))

    def answer(self, verb: str, *arguments: Any, **options: Any) -> Any:
        """The result of a verb of swingby, such as ``swingby.check(theory)``."""
        if verb not in _VERBS:
            raise InvalidInput("theory", self.name, f"must not be passed to {verb}")
        module, _, name = _VERBS[verb].partition(".")
        function = getattr(importlib.import_module(f"swingby.own_theory.{module}"), name)
        try:
            inspect.signature(function).bind(self, *arguments, **options)
        except TypeError as error:
            required = f"{error}: numbers of a theory have names, {verb}(theory, h=0.1)"
            raise InvalidInput(verb, MISSING, required) from None
        return function(self, *arguments, **options)
