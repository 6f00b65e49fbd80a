"""Outcomes of a run: the ways in which it ends, and which of them applies, with its reason."""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np

from swingby import moved
from swingby.report.entry_pictures import entry_name
from swingby.report.number_text import scientific_log10
from swingby.simulate.state import (
    LEVELS,
    RunProblem,
    RunState,
)
from swingby.theory.growth import NEITHER
from swingby.theory.numbers import Booleans

__getattr__ = moved.names(
    __name__,
    "swingby.simulate.series",
    *("Extremum", "Peak", "Turns", "descents", "first_reach", "loss_at", "turning_points"),
)


class Outcome(StrEnum):
    """The ways in which a run ends.

    The first that applies, in this order:

    diverged
        An entry of W left the float range.
    converged
        At the last step W is within 0.01 of the identity on the concepts with a > 0. When W had
        lost positive semidefiniteness on the way and came back, the reason says so.
    lost_psd
        W is no longer positive semidefinite (euler only), so the theory no longer applies; the
        concept named is on its way to minus infinity.
    trapped
        A concept stays below 1/2 because W(0) has no component left for it: for ever, or, as the
        reason then says, until one of smaller signal turns into it.
    stopped_early
        The steps ran out.
    """

    CONVERGED = "converged"
    TRAPPED = "trapped"
    LOST_PSD = "lost_psd"
    DIVERGED = "diverged"
    STOPPED_EARLY = "stopped_early"


def judge(
    problem: RunProblem,
    state: RunState,
    missing: Booleans,
    spent: str,
    displaceable: Booleans | None = None,
) -> tuple[Outcome, str]:
    """The outcome of a run, with a sentence on its cause and on the setting to change."""
    last, half_times = state.step, state.passages[LEVELS.index(0.5)]
    waiting = problem.counted & np.isnan(half_times)
    below = problem.counted & ~(state.levels >= 0.5)
    pivot = f"pivot of concept {state.psd_concept + 1}"
    remedy = "; use a smaller eta"
    if not problem.keeps_psd:
        remedy += ", or dynamics='gd', which keeps W = U U^T"
    if state.diverged >= 0:
        sentence = f"W left the float range at step {state.diverged}"
        if state.psd_lost >= 0:
            step = state.psd_lost
            sentence += f", after losing positive semidefiniteness at step {step} ({pivot})"
        return Outcome.DIVERGED, f"{sentence}{remedy}."
    if state.exceeded < last or not problem.counted.any():
        sentence = f"W is within 0.01 of the identity from step {state.exceeded + 1} on"
        if state.psd_lost >= 0:
            step = state.psd_lost
            sentence += f", although it was not positive semidefinite at step {step} ({pivot})"
        return Outcome.CONVERGED, sentence + "."
    if state.psd_lost >= 0:
        sentence = (
            f"W is not positive semidefinite from step {state.psd_lost} on: the LDL^T {pivot}"
        )
        return Outcome.LOST_PSD, f"{sentence} turned negative{remedy}."
    stuck = missing & below
    if stuck.any():
        names = _names(stuck)
        turning = displaceable is not None and bool((stuck & displaceable).any())
        how_long = "until concepts of smaller signal turn into them" if turning else "for ever"
        sentence = (
            f"{names} below 1/2 {how_long}: W(0) has no component left for"
            f" {'it' if stuck.sum() == 1 else 'them'} (LDL^T pivot at most 0 in descending order"
            " of a); start from a W(0) of full rank"
        )
        if turning:
            sentence += " (floats cannot tell when they turn: use swingby.certify)"
        others = waiting & below & ~stuck
        if others.any():
            sentence += f"; {_waiting_clause(problem, state, others)}"
        return Outcome.TRAPPED, sentence + "."
    if waiting.any():
        sentence = f"{spent} ended at step {last}: {_waiting_clause(problem, state, waiting)}"
    elif below.any():
        names = ", ".join(entry_name(k, k) for k in np.flatnonzero(below).tolist())
        sentence = (
            f"{spent} ended at step {last}: {names} below 1/2 again, after having reached it;"
            f" {_remedy(problem)}"
        )
    else:
        sentence = (
            f"{spent} ended at step {last}: every concept with a > 0 has reached 1/2, but W is"
            f" not yet within 0.01 of the identity; {_remedy(problem)}"
        )
    return Outcome.STOPPED_EARLY, sentence + "."


def _remedy(problem: RunProblem) -> str:
    """What ends a run within 0.01 of the identity: steps of eta a above 1 are driven off w = 1."""
    k = int(problem.rates.argmax())
    if problem.dynamics == "flow" or problem.rates[k] < 1:
        return "give more steps"
    return (
        f"eta a_{k + 1} = {problem.rates[k]:.3g} is not below 1, so w = 1 repels:"
        f" use an eta below {1 / problem.signal[k]:.3g}"
    )


def _names(which: Booleans) -> str:
    numbers_from_one = [str(k + 1) for k in np.flatnonzero(which)]
    if len(numbers_from_one) == 1:
        return f"concept {numbers_from_one[0]} stays"
    return f"concepts {', '.join(numbers_from_one)} stay"


def _waiting_clause(problem: RunProblem, state: RunState, waiting: Booleans) -> str:
    logs = state.log_diagonal
    sizes = []
    needed = 0.0
    for k in np.flatnonzero(waiting).tolist():
        if math.isnan(logs[k]):
            sizes.append(f"{entry_name(k, k)} = {state.X[k, k] * state.weight[k, k]:.3g}")
            continue
        size = scientific_log10(logs[k] / math.log(10), 3)
        sizes.append(f"{entry_name(k, k)} = {size}")
        rate = float(problem.own_growth[NEITHER, k]) * math.log(2)
        needed = max(needed, -logs[k] / rate if rate > 0 else math.inf)
    clause = f"{', '.join(sizes)} below 1/2"
    if 0 < needed < math.inf:
        more = math.ceil(needed) if needed < 1e15 else f"{needed:.3g}"
        clause += f"; at the present growth about {more} more steps are needed"
    return clause
