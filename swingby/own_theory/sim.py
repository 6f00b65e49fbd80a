"""The SIM theory as a theory like any other: the stage law and D.1 to D.5, with their exact powers.

Three hooks carry them: margins are those of :func:`swingby.check`, which decides exactly and finds
the constants; times those of :func:`swingby.predict_batch`; runs those of
:func:`swingby.simulate_batch`, which jumps over linear steps. A generic theory of the same dynamics
in the tests agrees with it to the step.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from swingby.own_theory.kinds import Each, Outcome, Passage, Vector, k
from swingby.own_theory.theory import Theory
from swingby.simulate.batch import simulate_batch
from swingby.simulate.outcome import Outcome as Ending
from swingby.theory.growth import require_dynamics
from swingby.theory.initial import Scaled
from swingby.theory.numbers import Floats
from swingby.theory.verdict import Verdict
from swingby.verify.check import check, require_edition
from swingby.verify.checking.report import Report
from swingby.verify.predict_batch import predict_batch
from swingby.verify.predict_swing import predict_swing_batch

#: A margin of what holds and what fails, where only that is known.
_SURE = 1.0
#: The margin of what fails by nothing.
_TINY = 1e-9
#: Runs jump over linear steps, so that these cost nothing.
_MOST_STEPS = 10**15
#: Ranges of omega and eta with all of D.1 to D.5, and without.
_VACUOUS = {"omega": (1e-300, 1e-150, 1e-6), "eta": (5e-5, 2e-4, 1e-3)}
_USUAL = {"omega": (1e-30, 1e-6, 1e-2), "eta": (1e-4, 1e-3, 0.05)}


def sim(dynamics: str = "gd", *, edition: str = "", lengths: tuple[int, ...] = (2, 3)) -> Theory:
    r"""The SIM theory as a :class:`swingby.Theory`.

    The numbers are the signal ``a``, ``omega`` and ``eta``; ``U`` is a free Gaussian draw, and W(0)
    is :math:`\omega\, U U^\top / d'`. Half-times are predicted within the error bar of the stage
    law and a step. The label of the test loss, *falls* or *rises*, is predicted if the law decides
    it.

    Parameters
    ----------
    dynamics : {"gd", "euler", "flow"}
    edition : {"", "printed", "corrected", "repaired"}
        Edition of the assumptions to add to those of the law; they take milliseconds per setting.
    lengths : tuple of int
        Numbers of concepts.

    Returns
    -------
    Theory
        With steps as the unit of times.

    Raises
    ------
    InvalidInput
        For an unknown dynamics or edition.

    References
    ----------
    Assumptions D.1-D.5; the law is ours (:mod:`swingby.theory.law.stages`).

    Examples
    --------
    >>> import swingby
    >>> theory = swingby.own.sim()
    >>> table = swingby.compare(theory, a=[4, 1], omega=1e-6, eta=0.01)
    >>> [row.verdict for row in table.rows]
    ['kept', 'kept', 'kept']
    >>> swingby.check(swingby.own.sim(edition="printed"), a=[4, 1], omega=1e-60).binding
    'D.4'
    """
    require_dynamics(dynamics)
    if edition:
        require_edition(edition)
    a = sp.IndexedBase("a", positive=True)
    omega, eta = sp.symbols("omega eta", positive=True)

    def setting(a: Floats, omega: Floats, eta: Floats, U: Floats) -> dict[str, Any]:
        W0 = np.einsum("ip...,jp...->...ij", U, U) / U.shape[1]
        return {"signal": a.T, "W0": W0, "eta": eta, "dynamics": dynamics}

    @_remembered
    def law(a: Floats, omega: Floats, eta: Floats, U: Floats) -> Any:
        return predict_batch(**setting(a, omega, eta, U), log_scale=np.log(omega))

    @_remembered
    def descents(a: Floats, omega: Floats, eta: Floats, U: Floats) -> Floats:
        swing = predict_swing_batch(**setting(a, omega, eta, U), log_scale=np.log(omega))
        return np.where(swing.undecided, np.nan, swing.descents)

    def in_range(a: Floats, omega: Floats, eta: Floats, U: Floats) -> Floats:
        times = law(a, omega, eta, U)
        inside = np.isfinite(times.crossing) & np.isfinite(times.error)
        return np.where(inside.all(axis=1), _SURE, -_SURE)

    def runs(a: Floats, omega: Floats, eta: Floats, U: Floats) -> dict[str, Floats]:
        more: dict[str, Any] = {"omega": omega, "test_point": np.sqrt(a.T)}
        batch = simulate_batch(**setting(a, omega, eta, U), steps=None, **more)
        assert batch.descents is not None
        ended = batch.outcome != Ending.STOPPED_EARLY
        missed = np.isnan(batch.half_times) & ended[:, None]
        return {
            "half": np.where(missed, np.inf, batch.half_times).T,
            "loss": np.where(ended, batch.descents, np.nan),
        }

    ranges = _VACUOUS if edition else _USUAL
    assume: dict[str, Any] = {"a step": Each(eta * a[k] <= sp.Rational(1, 2)), "law": in_range}
    if edition:
        assume |= _margins(edition)
    return Theory(
        f"SIM, {dynamics}{', ' * bool(edition)}{edition}",
        numbers={a: Vector(0.1, 1, 10), omega: ranges["omega"], eta: ranges["eta"]},
        assume=assume,
        start=None,
        step=None,
        observe={},
        runs=runs,
        draws={"U": lambda a, rng: rng.standard_normal((len(a), len(a) + 1, a.shape[-1]))},
        predict=[
            Passage(
                "half",
                "w",
                level=0.5,
                time=lambda a, omega, eta, U, k: law(a, omega, eta, U).crossing[:, k - 1],
                within=lambda a, omega, eta, U, k: 1 + law(a, omega, eta, U).error[:, k - 1],
                each=True,
            ),
            Outcome(
                "loss",
                "descents",
                at=0,
                predicted={
                    "falls": lambda a, omega, eta, U: descents(a, omega, eta, U) < 2,
                    "rises": lambda a, omega, eta, U: descents(a, omega, eta, U) >= 2,
                },
                observed=lambda last, _: "" if math.isnan(last) else _LABELS[last >= 2],
            ),
        ],
        lengths=lengths,
        steps=_MOST_STEPS,
        reference="Sec. 4.2 and App. D; the stage law",
    )


_LABELS = {True: "rises", False: "falls"}


def _remembered(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a, omega, eta and U that is asked once for the same arrays."""

    @functools.lru_cache(4)
    def of_bytes(*packed: tuple[bytes, tuple[int, ...]]) -> Any:
        return function(*(np.frombuffer(content).reshape(shape) for content, shape in packed))

    @functools.wraps(function)
    def remembered(a: Floats, omega: Floats, eta: Floats, U: Floats) -> Any:
        return of_bytes(*((array.tobytes(), array.shape) for array in (a, omega, eta, U)))

    return remembered


def _margins(edition: str) -> dict[str, Callable[..., Floats]]:
    """The margin of each assumption of an edition, as a function of numbers."""

    @_remembered
    def margins(a: Floats, omega: Floats, eta: Floats, U: Floats) -> Floats:
        rows = [
            _row(
                check(
                    column.tolist(),
                    eta=float(step),
                    edition=edition,
                    W0=Scaled(np.ascontiguousarray(factor @ factor.T / U.shape[1]), float(scale)),
                )
            )
            for column, scale, step, factor in zip(
                a.T, omega, eta, np.moveaxis(U, -1, 0), strict=True
            )
        ]
        return np.array(rows).T

    def margin(rank: int, a: Floats, omega: Floats, eta: Floats, U: Floats) -> Floats:
        return np.asarray(margins(a, omega, eta, U)[rank])

    names = [result.id for result in check([4, 1], "1e-80", "1e-4", edition=edition)]
    return {name: functools.partial(margin, rank) for rank, name in enumerate(names)}


def _row(report: Report) -> list[float]:
    """Margins with the sign of their verdicts, which are exact; nan where undecided."""
    margins = []
    for result in report:
        holds = result.verdict == Verdict.HOLDS
        least = max(result.margin, 0.0) if holds else min(result.margin, -_TINY)
        margins.append(math.nan if result.verdict == Verdict.UNDECIDED else least)
    return margins
