"""Assertions on runs: half-times are those of the stage law, and the lemmas are kept.

On failure the first line names the statement that does not hold. They need neither ``assert`` nor
pytest. The windows of Lemmas D.1 to D.8 are the functions of :mod:`swingby.theory.lemmas`; their
text is ``swingby/proofs/language/texts/trajectories.proof``, which the prover judges.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from swingby.errors import InvalidInput
from swingby.proofs.language.claims import by_id
from swingby.report.entry_pictures import entry_name
from swingby.report.number_text import scientific
from swingby.simulate.series import Peak
from swingby.simulate.trajectory import Run
from swingby.testing.assumption_setting import Setting, choice
from swingby.testing.claim_assertions import MESSAGE_WIDTH
from swingby.theory import lemmas, numbers
from swingby.theory.assumptions import P, beta, omega
from swingby.theory.initial import exact_pivots
from swingby.theory.lemmas import Scale
from swingby.verify.check import check
from swingby.verify.checking.report import Report
from swingby.verify.schedule import Schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from swingby.theory.initial import Initial

    Floats = NDArray[np.float64]


#: Largest relative error of a half-time by default. The law is far better inside its range (see
#: the page on accuracy); this is what a reader of a figure would call the same.
_RTOL = 0.02
#: Half-times are whole steps, rounded up on both sides.
_ATOL = 1.0


def assert_stages(
    run: Run,
    schedule: Schedule,
    rtol: float = _RTOL,
    atol: float = _ATOL,
    *,
    windows: bool = False,
    in_range_only: bool = False,
) -> None:
    """Assert that every half-time of a run is as predicted.

    A half-time may be off by ``atol + rtol * observed`` steps. A concept that is predicted to be
    trapped, or has no signal, must stay below 1/2 to the end of the run.

    Parameters
    ----------
    run : Run
    schedule : Schedule
        Predicted from the W(0) of the run, with the same task, eta and dynamics.
    rtol : float
        Relative, of the observed step; 0.02 by default.
    atol : float
        Steps; 1 by default, because half-times are whole steps.
    windows : bool
        Also ask that the steps lie in the lemma windows of the schedule, and minor entries below
        their bound. Windows of the printed edition do not hold: use ``edition="corrected"``.
    in_range_only : bool
        Skip concepts that the law marks as undecided or out of its range (their error bar is
        infinite).

    Raises
    ------
    AssertionError
        With a table: concept, a, predicted, observed, relative error, allowed, verdict.
    InvalidInput
        If run and schedule are not about the same setting, or a tolerance is negative or nan.

    Examples
    --------
    >>> import swingby
    >>> pair, W0 = swingby.SIMTask.from_signal([4, 1]), [[2e-6, 1e-6], [1e-6, 2e-6]]
    >>> run = swingby.simulate(pair, W0, eta=0.01, dynamics="gd")
    >>> assert_stages(run, swingby.predict(pair, W0, eta=0.01, dynamics="gd"))
    """
    __tracebackhide__ = True
    _require_prediction_of(run, schedule)
    relative, absolute = _tolerance(rtol, "rtol"), _tolerance(atol, "atol")
    rows, broken = [], []
    for k in run.task.order:
        message, cells = _judged_stage(run, schedule, k, relative, absolute)
        verdict = "off" if message else "ok"
        if math.isinf(schedule.error[k]):
            verdict = "not judged" if in_range_only else f"{verdict}, out of range"
            message = "" if in_range_only else message
        rows.append([*cells, verdict])
        broken += [message] * bool(message)
    if windows:
        broken += list(_outside_windows(run, schedule))
    if broken:
        raise AssertionError(_stage_table(run, schedule, rows, broken))


def _judged_stage(
    run: Run, schedule: Schedule, k: int, rtol: float, atol: float
) -> tuple[str, list[str]]:
    """The fault of a half-time, empty where there is none, and its row of the table."""
    from swingby.report.number_text import percent_text, steps_text

    predicted, observed = float(schedule.half_times[k]), float(run.half_times[k])
    a, is_observed, is_predicted = (
        run.task.signal[k],
        not math.isnan(observed),
        math.isfinite(predicted),
    )
    distance, allowed = abs(predicted - observed), atol + rtol * observed
    prediction = (
        f"{predicted:g}" if is_predicted else "trapped" if math.isnan(predicted) else "never"
    )
    mismatch = ""
    if is_predicted and is_observed:
        if distance > allowed:
            mismatch = f"observed {observed:g}: off by {distance:g} steps, {allowed:.3g} allowed"
    elif is_observed:
        mismatch = f"observed {observed:g}"
    elif is_predicted:
        mismatch = f"not observed: the run ends at step {run.last_step} ({run.outcome})"
    elif (prediction == "never") != (run.task.exact_signal[k] == 0):
        mismatch = f"with a_{k + 1} = {a:g}"
    cells = [
        str(k + 1),
        f"{a:.4g}",
        "trapped" if math.isnan(predicted) else steps_text(predicted, 0),
        steps_text(observed, 0) if is_observed else "not learned",
        percent_text(predicted / observed - 1)
        if is_predicted and is_observed and observed
        else "-",
        f"{allowed:.3g}" if is_predicted and is_observed else "-",
    ]
    name = f"stage law: half-time of concept {k + 1} predicted {prediction}, "
    return mismatch and name + mismatch, cells


def _outside_windows(run: Run, schedule: Schedule) -> Iterator[str]:
    """Events of a run that lie outside the lemma windows of a schedule."""
    if schedule.window_reason.startswith("no lemma windows"):
        raise InvalidInput("windows", True, f"must be False: {schedule.window_reason}")
    edition = "corrected" if "corrected" in schedule.window_reason else "printed"
    peaks = {(peak.i, peak.j): peak for peak in run.peaks}
    for event in schedule.events:
        if event.event == "peak height":
            bound = math.log(event.upper) if event.upper else -math.inf
            yield from _outside_bound(peaks[event.entry], bound)
        if event.event in ("half", "0.8"):
            level = 0.5 if event.event == "half" else 0.8
            yield from _outside_passage(
                run, event.entry[0], level, event.lower, event.upper, edition
            )


def _stage_table(run: Run, schedule: Schedule, rows: list[list[str]], broken: list[str]) -> str:
    from swingby.report import Grid

    signal = ", ".join(map(str, run.task.exact_signal))
    columns = ("concept", ">a", ">predicted", ">observed", ">relative error", ">allowed", "verdict")
    grid = Grid(
        broken[0],
        columns,
        rows,
        above=[
            *broken[1:],
            f"{run.dynamics}, eta = {scientific(run.eta)}, a = ({signal}); the run "
            f"{run.outcome}: {run.reason}",
        ],
        below=[f"the law warns: {warning}" for warning in schedule.warnings],
    )
    # A line is not broken here: a summary shows the first one alone.
    return grid.to_text(width=max(MESSAGE_WIDTH, *(len(line) for line in (*broken, *grid.above))))


def _require_prediction_of(run: Any, schedule: Any) -> None:
    if not isinstance(run, Run):
        raise InvalidInput("run", run, "must be a Run, as simulate returns it")
    if not isinstance(schedule, Schedule):
        raise InvalidInput("schedule", schedule, "must be a Schedule, as predict returns it")
    if schedule.stages is None:
        raise InvalidInput("schedule", repr(schedule), "must be predicted from the W(0) of the run")
    _require_same("schedule.signal", schedule.task.exact_signal, run.task.exact_signal)
    _require_same("schedule.eta", schedule.eta, run.eta)
    _require_same("schedule.dynamics", schedule.dynamics, run.dynamics)


def _require_same(argument: str, actual: Any, expected: Any) -> None:
    """Refuse a value that is not that of the run."""

    def scalar_text(value: Any) -> str:
        if isinstance(value, tuple):
            return f"({', '.join(map(scalar_text, value))})"
        return value if isinstance(value, str) else scientific(value)

    if actual != expected:
        raise InvalidInput(
            argument, scalar_text(actual), f"must be that of the run, {scalar_text(expected)}"
        )


def _tolerance(value: Any, name: str) -> float:
    exact = numbers.exact(value, name)
    if exact < 0:
        raise InvalidInput(name, value, "must not be negative")
    return numbers.within_float(exact, name)


#: Below this a recorded entry is no more than the edge of the float range.
_LOG_SMALLEST = math.log(1e-290)


def _log_diagonal(initial: Initial) -> Floats:
    """Log w_kk(0), not finite where the entry is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(np.diag(initial.matrix)) + initial.log_scale)


def _violations(run: Run, scale: Scale, edition: str) -> Iterator[str]:
    """Events of a run that the lemmas exclude: lines that begin with the lemma."""
    phase, end = scale.log_initial_phase, lemmas.initial_phase_end(scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_size = np.log(np.abs(run.W))
    # A diverged entry is neither above nor below anything.
    log_size = np.where(np.isnan(log_size), np.inf, log_size)
    starts = _log_diagonal(run.initial)
    early = run.steps <= end
    for i, j in np.argwhere((log_size[early] > phase).any(axis=0)):
        if i <= j:
            step = run.steps[early][(log_size[early, i, j] > phase).argmax()]
            yield (
                f"Lemma D.2: {entry_name(i, j)} is above P beta omega at step {step}, not before "
                f"{end:.6g}"
            )
    for k in run.task.order:
        a, start = float(run.task.signal[k]), float(starts[k])
        for level in run.level_times:
            lower = lemmas.reach_not_before(scale, a, start, math.log(level))
            upper = lemmas.reach_by(scale, a, start, level, edition)
            yield from _outside_passage(run, k, level, lower, upper, edition)
        by = lemmas.leave_initial_phase_by(scale, a, start, edition)
        late = (run.steps >= by) & ~(log_size[:, k, k] >= phase)
        if late.any():
            yield (
                f"Lemma D.3 ({edition}): {entry_name(k, k)} is below P beta omega at step "
                f"{run.steps[late.argmax()]}, expected above from {by:.6g} on"
            )
        yield from _bands(run, scale, k)
    yield from _suppression(run, log_size)
    for peak in run.peaks:
        yield from _outside_bound(peak, lemmas.log_minor_bound(scale))


def _outside_passage(
    run: Run, k: int, level: float, lower: float, upper: float, edition: str
) -> Iterator[str]:
    """Faults of the step at which w_kk reaches a level; a window of nan excludes nothing."""
    observed = float(run.first_reach(level)[k])
    passage = f"reaches {level} at step {observed:g}"
    if observed < lower:
        yield f"Lemma D.1: {entry_name(k, k)} {passage}, not before {lower:.6g}"
    if math.isnan(observed):
        observed = float(run.last_step)
        passage = f"has not reached {level} at step {observed:g}"
    if observed > upper:
        name = entry_name(k, k)
        yield f"Lemma D.4 ({edition}, with D.3): {name} {passage}, by {upper:.6g} expected"


def _outside_bound(peak: Peak, log_bound: float) -> Iterator[str]:
    size = math.log(abs(peak.value)) if peak.value else -math.inf
    if not size <= log_bound:
        yield (
            f"Lemma D.8: {entry_name(peak.i, peak.j)} is {peak.value:.3g} at step {peak.step}, "
            f"at most P beta omega = {math.exp(log_bound):.3g} in size"
        )


def _bands(run: Run, scale: Scale, k: int) -> Iterator[str]:
    low, high = lemmas.final_band(scale)
    w = run.W[:, k, k]
    outside = ~((w >= 0) & (w <= high))
    if outside.any():
        index = outside.argmax()
        yield (
            f"Lemma D.5: {entry_name(k, k)} is {w[index]:.4g} at step {run.steps[index]}, from 0 "
            f"to {high:g} expected"
        )
    fallen = np.logical_or.accumulate(w >= low) & ~(w >= low)
    if fallen.any():
        index = fallen.argmax()
        yield (
            f"Lemma D.6: {entry_name(k, k)} is {w[index]:.4g} at step {run.steps[index]}, expected "
            f"to stay above {low:g}"
        )


def _suppression(run: Run, log_size: Floats) -> Iterator[str]:
    """Once w_ii > 4/5, |w_ij| is at most the larger of omega and any earlier |w_ij| since."""
    smallest = max(numbers.log_of(run.initial.omega), _LOG_SMALLEST)
    for rank, i in enumerate(run.task.order):
        learned = run.W[:, i, i] > 0.8
        if not learned.any():
            continue
        for j in run.task.order[rank + 1 :]:
            size = log_size[:, i, j]
            anchored = np.minimum.accumulate(np.where(learned, size, np.inf))
            # Rounding of the floats that a run is recorded in.
            grown = size > np.maximum(anchored, smallest) + 1e-9
            if grown.any():
                yield (
                    f"Lemma D.7: {entry_name(i, j)} grows again at step "
                    f"{run.steps[grown.argmax()]}, after {entry_name(i, i)} has passed 4/5"
                )


def _missing_hypotheses(run: Run) -> Iterator[str]:
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


#: Digits of an evaluation: P alone may have hundreds before the point.
_DIGITS = 40
_LEVELS = (0.5, 0.8)


def _differences(scale: Scale, signal: float, log_start: float, rtol: float) -> Iterator[str]:
    """Differences between the windows and the text of their lemmas, for one diagonal entry."""
    letters = _letters(scale, signal, log_start)
    for name, window, stated in _pairs(scale, signal, log_start, letters):
        # A window that is nan, where the text says something, differs too.
        if not abs(window - stated) <= rtol * max(1.0, abs(stated)):
            yield f"{name}: the window gives {window:.12g}, the text {stated:.12g}"
    # At the edges of what Lemma D.4 speaks of, P beta omega and 1 - 1/K, and beyond.
    edges = (_bound(hypothesis.relation, letters) for hypothesis in by_id("Lemma D.4").given)
    low, high = sorted(map(float, edges))
    for level in (low * (1 - 1e-9), high * (1 + 1e-9), 1.0):
        step = lemmas.reach_by(scale, signal, log_start, level) if level > 0 else math.nan
        if not math.isnan(step):
            yield (
                f"Lemma D.4: the window gives step {step:.6g} for the level {level:.6g}, of "
                "which the text says nothing"
            )


def _pairs(
    scale: Scale, a: float, start: float, letters: dict[str, Any]
) -> Iterator[tuple[str, float, float]]:
    """Name of a lemma, its window, and the bound of the text."""

    def bound(line: str, index: int = 0, **values: Any) -> float:
        return float(sympy.log(_bound(by_id(line).conditions[index], letters | values)))

    def until(line: str) -> float:
        conclusion: Any = by_id(line).conclusion
        return float(_value(conclusion.until, letters))

    for level in _LEVELS:
        step = lemmas.reach_not_before(scale, a, start, math.log(level))
        name = f"Lemma D.1 (log w_ii at the step from which {level} is possible)"
        yield name, math.log(level), bound("Lemma D.1", t=step)
    yield "Lemma D.2 (T_1)", lemmas.initial_phase_end(scale), until("Lemma D.2")
    yield "Lemma D.2 (log of P beta omega)", scale.log_initial_phase, bound("Lemma D.2")
    printed, corrected = (
        lemmas.leave_initial_phase_by(scale, a, start, edition)
        for edition in ("printed", "corrected")
    )
    yield "Lemma D.3 (T_1 as printed)", printed, until("Lemma D.3")
    for title, line, index in (("Lemma D.3", "Lemma D.3", 1), ("(D.35)", "D.35", 0)):
        name = f"{title} (log of P beta omega, reached by the corrected T_1)"
        yield name, bound("Lemma D.3"), bound(line, index, t=corrected)
    for edition, leave_by in (("printed", printed), ("corrected", corrected)):
        for level in _LEVELS:
            values = {
                "t": lemmas.reach_by(scale, a, start, level, edition),
                "t_0": leave_by,
                "w_ii(t_0)": _value(P * beta * omega, letters),
                "lambda": level,
            }
            name = f"Lemma D.4 (log w_ii at the step by which it is {level}, {edition})"
            yield name, math.log(level), bound("Lemma D.4", **values)
    low, high = lemmas.final_band(scale)
    yield "Lemma D.5 (upper end of the band)", high, math.exp(bound("Lemma D.5", 1))
    yield "Lemma D.6 (lower end of the band)", low, math.exp(bound("Lemma D.6"))
    minor = lemmas.log_minor_bound(scale)
    yield "Lemma D.8 (log of the bound on minor entries)", minor, bound("Lemma D.8")


def _letters(scale: Scale, signal: float, log_start: float) -> dict[str, Any]:
    """The letters of the text as numbers of many digits."""
    logs = {"P": scale.log_P, "beta": scale.log_beta, "omega": scale.log_omega}
    logs |= dict.fromkeys(("w_ij(0)", "w_ii(0)"), log_start)
    values = {name: sympy.exp(sympy.Float(log, _DIGITS)) for name, log in logs.items()}
    values |= {name: getattr(scale, name) for name in ("kappa", "K", "alpha", "gamma", "eta")}
    return values | dict.fromkeys(("a_i", "a_j"), signal)


def _bound(relation: Any, letters: dict[str, Any]) -> Any:
    """The side of a relation with a number: the other side is the entry at time t, or lambda."""
    sides = [side for side in relation.args if _names(side) <= set(letters)]
    return _value(max(sides, key=lambda side: len(_names(side))), letters)


def _names(expression: Any) -> set[str]:
    return {str(symbol) for symbol in expression.free_symbols}


def _value(expression: Any, letters: dict[str, Any]) -> Any:
    filled = {
        symbol: sympy.Float(letters[str(symbol)], _DIGITS) for symbol in expression.free_symbols
    }
    return expression.xreplace(filled).evalf(_DIGITS)


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
        Under euler, the map of the lemmas, or another dynamics. The test uses the recorded steps,
        and the levels and peaks that were detected at every step.
    setting : Setting or Report, optional
        Source of the constants; by default :func:`swingby.check` of the run's own W(0) and eta.
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
    D.1 to D.5 do not imply the lemmas. The lemmas also need pivots of W(0) that are not small and,
    for euler, a bounded number of steps (see the ledger). The message says if a run lacks either.

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
    choice(edition, "edition", ("printed", "corrected"))
    if setting is None:
        report = check(run.task, W0=run.initial, eta=run.eta)
    else:
        report = _report_of(setting)
        _require_fits(run, report)
    broken = _violations(run, _scale(report), edition)
    ordered = sorted(broken, key=lambda line: line.partition(":")[0][:9])
    if ordered:
        raise AssertionError("\n".join([*ordered, *_missing_hypotheses(run)]))


def assert_windows_match_statements(setting: Setting | Report, *, rtol: float = 1e-9) -> None:
    """Assert that the lemma windows agree with the text of the lemmas at a setting.

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
    report, tolerance = _report_of(setting), _tolerance(rtol, "rtol")
    scale = _scale(report)
    starts = (
        _log_diagonal(report.initial)
        if report.initial is not None
        else [scale.log_omega] * report.task.dim
    )
    differences: list[str] = []
    for k in report.task.order:
        # The sign of w_kk(0) is not settled by D.1; the windows are about positive entries.
        if math.isfinite(starts[k]):
            differences += _differences(
                scale, float(report.task.signal[k]), float(starts[k]), tolerance
            )
    if differences:
        raise AssertionError("\n".join(dict.fromkeys(differences)))


def _report_of(setting: Any) -> Report:
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
    return report.constants.exact.scale(report.omega, report.eta)


def _require_fits(run: Run, report: Report) -> None:
    _require_same("setting.signal", report.task.exact_signal, run.task.exact_signal)
    _require_same("setting.eta", report.eta, run.eta)
    sizes = run.initial.omega, run.initial.largest
    if not report.omega <= sizes[0] <= sizes[1] <= report.beta * report.omega:
        requirement = "must fit the entries of the run's W(0), of size {} to {}"
        omega, *bounds = map(scientific, (report.omega, *sizes))
        raise InvalidInput("setting.omega", omega, requirement.format(*bounds), "(D.8)")
