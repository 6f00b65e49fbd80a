"""Assertions about Lemmas D.1 to D.8: a run against their windows, the windows against their text.

The windows are the functions of :mod:`swingby.theory.lemmas`; the text is that of
``swingby/theory/proofs/trajectories.proof``, which the prover judges. On failure every line
begins with the name of the lemma.

Where a run leaves the windows of Lemmas D.1 to D.8.

The lemma windows beside the text of the lemmas: both evaluated at the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from swingby.errors import InvalidInput
from swingby.simulate.result import Run
from swingby.testing.setting import Setting
from swingby.theory import lemmas, numbers
from swingby.theory.assumptions import P, beta, omega
from swingby.theory.derivations.ledger import by_id
from swingby.theory.initial import exact_pivots
from swingby.theory.lemmas import Scale
from swingby.verify.check import check
from swingby.verify.checking.report import Report

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


LEMMA_EDITIONS = ("printed", "corrected")


def assert_lemmas(
    run: Run, setting: Setting | Report | None = None, edition: str = "corrected"
) -> None:
    """Assert that a run inside Assumptions D.1 to D.5 keeps to Lemmas D.1 to D.8.

    Levels are passed within their windows (D.1, D.3, D.4), every entry is in the initial phase
    until its end (D.2), diagonal entries stay in their band (D.5, D.6), minor entries do not grow
    once the larger concept is learned (D.7), nor beyond P beta omega (D.8).

    Parameters
    ----------
    run : Run
        Under euler, the map of the lemmas, or another dynamics. Recorded steps are looked at, and
        the levels and peaks that were found at every step.
    setting : Setting or Report, optional
        Where the constants come from; by default :func:`swingby.check` of the run's own W(0) and
        eta.
    edition : {"printed", "corrected"}
        Of the lemmas. They differ in the time of Lemma D.3, which is too early as printed.

    Raises
    ------
    AssertionError
        One line per violation, beginning with the name of the lemma.
    InvalidInput
        If the run is not that of the setting, or Assumptions D.1 to D.5 do not hold there.

    Notes
    -----
    D.1 to D.5 do not imply the lemmas: they need pivots of W(0) that are not small and, for euler,
    few steps (see the ledger). A message says so where a run has neither.

    Examples
    --------
    >>> import swingby
    >>> pair, W0 = swingby.SIMTask.from_signal([4, 1]), swingby.Scaled([[2, 1], [1, 2]], "1e-90")
    >>> run = swingby.simulate(pair, W0, eta="1/2000")
    >>> assert_lemmas(run)
    >>> assert_lemmas(run, edition="printed")
    Traceback (most recent call last):
        ...
    AssertionError: Lemma D.3 (printed): w_11 is below P beta omega at step 44472, ...
    """
    __tracebackhide__ = True
    if not isinstance(run, Run):
        raise InvalidInput("run", run, "must be a Run, as simulate returns it")
    if edition not in LEMMA_EDITIONS:
        raise InvalidInput("edition", edition, f"must be one of {', '.join(LEMMA_EDITIONS)}")
    if setting is None:
        report = check(run.task, W0=run.initial, eta=run.eta)
    else:
        report = _report(setting)
        _require_same_setting(run, report)
    broken = violations(run, _scale(report), edition)
    if broken:
        raise AssertionError("\n".join([*broken, *missing_hypotheses(run)]))


def assert_windows_match_statements(setting: Setting | Report, *, rtol: float = 1e-9) -> None:
    """Assert that the lemma windows are what the text of the lemmas says, at a setting.

    Two encodings of Lemmas D.1 to D.6 and D.8, written apart, are evaluated at the constants of the
    setting, for every concept: closed forms in logarithms on one side, relations between letters
    on the other. Lemma D.7 has no window.

    Parameters
    ----------
    setting : Setting or Report
        Inside Assumptions D.1 to D.5 of the printed edition.
    rtol : float
        Relative.

    Raises
    ------
    AssertionError
        One line per difference, beginning with the name of the lemma.
    InvalidInput
        If Assumptions D.1 to D.5 do not hold at the setting.

    Examples
    --------
    >>> import swingby
    >>> pair = swingby.SIMTask.from_signal([4, 1])
    >>> assert_windows_match_statements(swingby.check(pair, omega="1e-90", eta="1/2000", beta=2))
    """
    __tracebackhide__ = True
    report = _report(setting)
    scale = _scale(report)
    starts = (
        log_diagonal(report.initial)
        if report.initial is not None
        else [scale.log_omega] * report.task.dim
    )
    found: list[str] = []
    for k in report.task.order:
        # The sign of w_kk(0) is not settled by D.1; the windows are about positive entries.
        if math.isfinite(starts[k]):
            found += differences(scale, float(report.task.signal[k]), float(starts[k]), rtol)
    if found:
        raise AssertionError("\n".join(dict.fromkeys(found)))


def _report(setting: Any) -> Report:
    if isinstance(setting, Setting):
        return setting.check()
    if not isinstance(setting, Report):
        raise InvalidInput("setting", setting, "must be a Setting or the Report of a check")
    return setting


def _scale(report: Report) -> Scale:
    """The constants that witness D.1 to D.5 at a report."""
    if report.edition == "repaired":
        raise InvalidInput("setting", "the repaired edition", "must be of the printed edition")
    if report.constants is None or report.constants.exact is None:
        failing = ", ".join(report.failing) or "the verdict is undecided"
        raise InvalidInput("setting", failing, "must satisfy Assumptions D.1 to D.5", "Lemma D.1")
    exact = report.constants.exact
    return Scale(
        log_P=float(exact.log10_P) * math.log(10),
        log_beta=numbers.log_of(exact.beta),
        log_omega=numbers.log_of(report.omega),
        kappa=float(exact.kappa),
        K=float(exact.K),
        alpha=float(exact.alpha),
        gamma=float(exact.gamma),
        eta=float(report.eta),
    )


def _require_same_setting(run: Run, report: Report) -> None:
    if report.task.exact_signal != run.task.exact_signal:
        shown = ", ".join(map(str, report.task.exact_signal))
        raise InvalidInput("setting.task", shown, "must have the signal of the run")
    if report.eta != run.eta:
        raise InvalidInput("setting.eta", report.eta, f"must be that of the run, {run.eta}")
    low, high = run.initial.omega, run.initial.largest
    if not report.omega <= low <= high <= report.beta * report.omega:
        size = f"{numbers.scientific(low)} to {numbers.scientific(high)}"
        raise InvalidInput(
            "setting.omega",
            numbers.scientific(report.omega),
            f"must fit the entries of the run's W(0), of size {size}",
            "(D.8)",
        )
