"""The lemma windows beside the text of the lemmas: both evaluated at the same numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import sympy

from swingby.theory import lemmas
from swingby.theory.assumptions import P, beta, omega
from swingby.theory.derivations.ledger import by_id
from swingby.theory.lemmas import Scale

#: Digits of an evaluation: P alone may have hundreds before the point.
_DIGITS = 40
_LEVELS = (0.5, 0.8)


def differences(scale: Scale, signal: float, log_start: float, rtol: float) -> Iterator[str]:
    """Where a window is not what the text of its lemma says, for one diagonal entry.

    `signal`: a_i, per unit of eta times steps. `log_start`: log w_ii(0). Yields a line that begins
    with the name of the lemma.
    """
    letters = _letters(scale, signal, log_start)
    for name, window, said in _pairs(scale, signal, log_start, letters):
        # A window that is nan, where the text says something, differs too.
        if not abs(window - said) <= rtol * max(1.0, abs(said)):
            yield f"{name}: the window gives {window:.12g}, the text {said:.12g}"
    for level in _open_levels(scale):
        found = lemmas.reach_by(scale, signal, log_start, level)
        if not math.isnan(found):
            yield (
                f"Lemma D.4: the window gives step {found:.6g} for the level {level:.6g}, of "
                "which the text says nothing"
            )


def _pairs(
    scale: Scale, a: float, start: float, letters: dict[str, Any]
) -> Iterator[tuple[str, float, float]]:
    """Name of a lemma, its window, and what the text says."""

    def log_bound(claim: Any, place: int, **values: Any) -> float:
        return float(sympy.log(_bound(claim.conditions[place], letters | values)))

    for level in _LEVELS:
        step = lemmas.reach_not_before(scale, a, start, math.log(level))
        name = f"Lemma D.1 (log w_ii at the step from which {level} is possible)"
        yield name, math.log(level), log_bound(by_id("Lemma D.1"), 0, t=step)
    said = float(_value(by_id("Lemma D.2").conclusion.until, letters))
    yield "Lemma D.2 (T_1)", lemmas.initial_phase_end(scale), said
    said = log_bound(by_id("Lemma D.2"), 0)
    yield "Lemma D.2 (log of P beta omega)", scale.log_initial_phase, said
    printed = lemmas.leave_initial_phase_by(scale, a, start, "printed")
    said = float(_value(by_id("Lemma D.3").conclusion.until, letters))
    yield "Lemma D.3 (T_1 as printed)", printed, said
    corrected = lemmas.leave_initial_phase_by(scale, a, start, "corrected")
    name = "Lemma D.3 (log of P beta omega, reached by the corrected T_1)"
    yield name, log_bound(by_id("Lemma D.3"), 0), log_bound(by_id("Lemma D.3"), 1, t=corrected)
    yield (
        name.replace("Lemma D.3", "(D.35)"),
        log_bound(by_id("Lemma D.3"), 0),
        log_bound(by_id("D.35"), 0, t=corrected),
    )
    for edition, left in (("printed", printed), ("corrected", corrected)):
        for level in _LEVELS:
            values = {
                "t": lemmas.reach_by(scale, a, start, level, edition),
                "t_0": left,
                "w_ii(t_0)": _value(P * beta * omega, letters),
                "lambda": level,
            }
            name = f"Lemma D.4 (log w_ii at the step by which it is {level}, {edition})"
            yield name, math.log(level), log_bound(by_id("Lemma D.4"), 0, **values)
    low, high = lemmas.final_band(scale)
    yield "Lemma D.5 (upper end of the band)", high, math.exp(log_bound(by_id("Lemma D.5"), 1))
    yield "Lemma D.6 (lower end of the band)", low, math.exp(log_bound(by_id("Lemma D.6"), 0))
    name = "Lemma D.8 (log of the bound on minor entries)"
    yield name, lemmas.log_minor_bound(scale), log_bound(by_id("Lemma D.8"), 0)


def _open_levels(scale: Scale) -> tuple[float, ...]:
    """Levels at the edge of what Lemma D.4 speaks of: P beta omega and 1 - 1/K are left out."""
    letters = _letters(scale, 1.0, 0.0)
    edges = []
    for given in by_id("Lemma D.4").given:
        edge = _bound(given.relation, letters)
        edges.append(float(edge))
    low, high = sorted(edges)
    outside = (low * (1 - 1e-9), high * (1 + 1e-9), 1.0)
    return tuple(level for level in outside if level > 0)


def _letters(scale: Scale, signal: float, log_start: float) -> dict[str, Any]:
    """The letters of the text as numbers of many digits."""
    start = sympy.exp(sympy.Float(log_start, _DIGITS))
    return {
        "P": sympy.exp(sympy.Float(scale.log_P, _DIGITS)),
        "beta": sympy.exp(sympy.Float(scale.log_beta, _DIGITS)),
        "omega": sympy.exp(sympy.Float(scale.log_omega, _DIGITS)),
        "kappa": scale.kappa,
        "K": scale.K,
        "alpha": scale.alpha,
        "gamma": scale.gamma,
        "eta": scale.eta,
        "a_i": signal,
        "a_j": signal,
        "w_ij(0)": start,
        "w_ii(0)": start,
    }


def _bound(relation: Any, letters: dict[str, Any]) -> Any:
    """The side of a relation that has a number: the other one is the entry at time t, or lambda."""
    sides = [side for side in relation.args if _names(side) <= set(letters)]
    return _value(max(sides, key=lambda side: len(_names(side))), letters)


def _names(expression: Any) -> set[str]:
    return {str(symbol) for symbol in expression.free_symbols}


def _value(expression: Any, letters: dict[str, Any]) -> Any:
    filled = {
        symbol: sympy.Float(letters[str(symbol)], _DIGITS) for symbol in expression.free_symbols
    }
    return expression.xreplace(filled).evalf(_DIGITS)
