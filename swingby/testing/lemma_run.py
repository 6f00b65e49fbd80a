"""Where a run leaves the windows of Lemmas D.1 to D.8."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory import lemmas, numbers
from swingby.theory.initial import exact_pivots
from swingby.theory.lemmas import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.simulate.result import Run
    from swingby.theory.initial import Initial

    Floats = NDArray[np.float64]

#: Below this a recorded entry is no more than the edge of the float range.
LOG_SMALLEST = math.log(1e-290)


def violations(run: Run, scale: Scale, edition: str) -> list[str]:
    """What a run does that the lemmas exclude.

    Returns lines that begin with the name of the lemma, in the order of the lemmas.
    """
    return sorted(_violations(run, scale, edition), key=lambda line: line.partition(":")[0][:9])


def log_diagonal(initial: Initial) -> Floats:
    """Log w_kk(0), not finite where the entry is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.diag(initial.matrix)) + initial.log_scale)


def _violations(run: Run, scale: Scale, edition: str) -> Iterator[str]:
    phase = scale.log_initial_phase
    with np.errstate(divide="ignore", invalid="ignore"):
        log_size = np.log(np.abs(run.W))
    # A diverged entry is neither above nor below anything.
    log_size = np.where(np.isnan(log_size), np.inf, log_size)
    starts = log_diagonal(run.initial)
    for k in run.task.order:
        yield from _passages(run, scale, k, float(starts[k]), edition)
    early = run.steps <= lemmas.initial_phase_end(scale)
    for i, j in np.argwhere((log_size[early] > phase).any(axis=0)):
        if i <= j:
            step = run.steps[early][(log_size[early, i, j] > phase).argmax()]
            yield (
                f"Lemma D.2: {_entry(i, j)} is above P beta omega at step {step}, not before "
                f"{lemmas.initial_phase_end(scale):.6g}"
            )
    for k in run.task.order:
        by = lemmas.leave_initial_phase_by(
            scale, float(run.task.signal[k]), float(starts[k]), edition
        )
        late = (run.steps >= by) & ~(log_size[:, k, k] >= phase)
        if late.any():
            yield (
                f"Lemma D.3 ({edition}): {_entry(k, k)} is below P beta omega at step "
                f"{run.steps[late.argmax()]}, expected above from {by:.6g} on"
            )
    yield from _bands(run, scale)
    yield from _suppression(run, log_size)
    bound = lemmas.log_minor_bound(scale)
    for peak in run.peaks:
        size = math.log(abs(peak.value)) if peak.value else -math.inf
        if not size <= bound:
            yield (
                f"Lemma D.8: {_entry(peak.i, peak.j)} is {peak.value:.3g} at step {peak.step}, "
                f"at most P beta omega = {math.exp(bound):.3g} in size"
            )


def _passages(run: Run, scale: Scale, k: int, start: float, edition: str) -> Iterator[str]:
    a = float(run.task.signal[k])
    for level, times in run.level_times.items():
        observed = float(times[k])
        lower = lemmas.reach_not_before(scale, a, start, math.log(level))
        if observed < lower:
            yield (
                f"Lemma D.1: {_entry(k, k)} reaches {level} at step {observed:g}, not before "
                f"{lower:.6g}"
            )
        upper = lemmas.reach_by(scale, a, start, level, edition)
        found = f"reaches {level} at step {observed:g}"
        if math.isnan(observed):
            observed = float(run.last_step)
            found = f"has not reached {level} at step {observed:g}"
        if observed > upper:
            yield (
                f"Lemma D.4 ({edition}, with D.3): {_entry(k, k)} {found}, by {upper:.6g} expected"
            )


def _bands(run: Run, scale: Scale) -> Iterator[str]:
    low, high = lemmas.final_band(scale)
    for k in run.task.order:
        w = run.W[:, k, k]
        outside = ~((w >= 0) & (w <= high))
        if outside.any():
            place = outside.argmax()
            yield (
                f"Lemma D.5: {_entry(k, k)} is {w[place]:.4g} at step {run.steps[place]}, from 0 "
                f"to {high:g} expected"
            )
        learned = np.logical_or.accumulate(w >= low)
        fallen = learned & ~(w >= low)
        if fallen.any():
            place = fallen.argmax()
            yield (
                f"Lemma D.6: {_entry(k, k)} is {w[place]:.4g} at step {run.steps[place]}, expected "
                f"to stay above {low:g}"
            )


def _suppression(run: Run, log_size: Floats) -> Iterator[str]:
    """Once w_ii > 4/5, |w_ij| is at most the larger of omega and any earlier |w_ij| since."""
    smallest = max(numbers.log_of(run.initial.omega), LOG_SMALLEST)
    for place, i in enumerate(run.task.order):
        learned = run.W[:, i, i] > 0.8
        if not learned.any():
            continue
        for j in run.task.order[place + 1 :]:
            size = log_size[:, i, j]
            anchored = np.minimum.accumulate(np.where(learned, size, np.inf))
            # Rounding of the floats that a run is recorded in.
            grown = size > np.maximum(anchored, smallest) + 1e-9
            if grown.any():
                yield (
                    f"Lemma D.7: {_entry(i, j)} grows again at step {run.steps[grown.argmax()]}, "
                    f"after {_entry(i, i)} has passed 4/5"
                )


def missing_hypotheses(run: Run) -> Iterator[str]:
    """The hypotheses that the corrected lemmas add to D.1 to D.5 and a run does not meet."""
    order = np.array(run.task.order)
    matrix = run.initial.matrix[np.ix_(order, order)]
    share = min(
        pivot / Fraction(entry) if entry else Fraction(0)
        for pivot, entry in zip(exact_pivots(matrix), np.diag(matrix).tolist(), strict=True)
    )
    if share < Fraction(1, 2):
        yield (
            f"Note: D.1 to D.5 hold, but a pivot of W(0) is {float(share):.3g} of its diagonal "
            "entry; the corrected lemmas ask for at least 1/2."
        )
    steps = float(run.eta * max(run.task.exact_signal)) * -numbers.log_of(run.initial.omega)
    if run.dynamics == "euler" and steps > 0.5:
        yield (
            f"Note: D.1 to D.5 hold, but eta gamma alpha log(1/omega) is {steps:.3g}; the "
            "corrected lemmas ask for at most 1/2 under (D.2)."
        )


def _entry(i: int, j: int) -> str:
    separator = "," if max(i, j) > 8 else ""
    return f"w_{i + 1}{separator}{j + 1}"
