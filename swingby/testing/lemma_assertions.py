"""Assertions about Lemmas D.1 to D.8: a run against their windows, the windows against their text.

The windows are the functions of :mod:`swingby.theory.lemmas`; the text is that of
``swingby/theory/proofs/trajectories.proof``, which the prover judges. On failure every line
begins with the name of the lemma.
"""

from __future__ import annotations

import math
from typing import Any

from swingby.errors import InvalidInput
from swingby.simulate.result import Run
from swingby.testing.lemma_run import log_diagonal, missing_hypotheses, violations
from swingby.testing.lemma_text import differences
from swingby.testing.setting import Setting
from swingby.theory import numbers
from swingby.theory.lemmas import Scale
from swingby.verify.check import check
from swingby.verify.judgement import Report

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
