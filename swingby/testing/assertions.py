"""Assertions for ordinary tests: a claim has its verdict, a run keeps to the stage law.

On failure the first line names the statement that does not hold; a table of all rows follows. They
need neither ``assert`` nor pytest.

What a reader is told when a claim does not have the verdict expected of it.

The verdicts that are on record for the lines of the ledger.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput
from swingby.simulate.result import Run
from swingby.theory import numbers
from swingby.theory.claim import Claim
from swingby.theory.claim_text import to_text
from swingby.theory.verdict import Finding
from swingby.verify.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from swingby.theory.claim import Claim
    from swingby.verify.prover.evidence import Judged

#: Lines of evidence that are shown.
_MOST_LINES = 8
_WIDTH = 100


def claim_message(claim: Claim, expected: str, judged: Judged) -> str:
    """A claim, the verdict expected, the one found, and what it rests on.

    Returns the first line names the claim and both verdicts.
    """
    from swingby.verify.ledger_report import verdict_words, witness_lines

    place = f" ({claim.reference})" if claim.reference not in ("", claim.id) else ""
    edition = "" if claim.edition == "printed" else f", {claim.edition} edition"
    lines = [
        f"{claim.id}: expected {expected}, found {judged.verdict}",
        f"{claim.id}{place}{edition} says: {claim.about}.",
        *(f"  {line}" for line in to_text(claim).splitlines()),
        f"Verdict: {verdict_words(judged)}.",
        *(f"  {line}" for line in judged.evidence[:_MOST_LINES]),
    ]
    left = len(judged.evidence) - _MOST_LINES
    if left > 0:
        lines.append(f"  ... {left} more lines of evidence: swingby.audit shows a line of the text")
    lines += [f"  tried: {line}" for line in judged.tried]
    if judged.cases:
        lines.append(f"  cases: {judged.cases}")
    shown = {"": judged, **judged.parts}
    for name, part in shown.items():
        if part.witness is not None:
            word = "Counterexample" if part.verdict == Finding.REFUTED else "Witness"
            lines.append(f"{word}{f', {name}' if name else ''}:")
            lines += witness_lines(part.witness, _WIDTH)
            break
    return "\n".join(lines)


def ledger_verdicts() -> dict[str, str]:
    """The verdict expected of every line of the ledger, by id.

    They are those of a reading by hand, line by line; for claims about whole trajectories, those
    of the search on record.
    """
    source = resources.files("swingby") / "data" / "ledger_verdicts.json"
    found: dict[str, str] = json.loads(source.read_text(encoding="utf-8"))
    return found


def finding(word: object) -> Finding:
    """A verdict by its word.

    `word`: ``"proved"``, ``"refuted"``, ``"tested"`` or ``"undecided"``. Raises InvalidInput for
    anything else.
    """
    words = [str(finding) for finding in Finding]
    if not isinstance(word, str) or word not in words:
        raise InvalidInput("verdict", word, f"must be one of {', '.join(words)}")
    return Finding(word)


#: Largest relative error of a half-time by default. The law is far better inside its range (see
#: the page on accuracy); this is what a reader of a figure would call the same.
RTOL = 0.02
#: Half-times are whole steps, rounded up on both sides.
ATOL = 1.0


def assert_claim(claim: Claim | str, verdict: str = "proved") -> None:
    """Assert that a claim has the verdict expected of it.

    Parameters
    ----------
    claim : Claim or str
        A claim of one's own, or the id of a line of the ledger, such as ``"D.61"``. A claim about
        whole trajectories is searched for up to a minute.
    verdict : {"proved", "refuted", "tested", "undecided"}

    Raises
    ------
    AssertionError
        If the verdict is another one; the message names the claim.
    InvalidInput
        If the claim or the verdict is unknown.

    Examples
    --------
    >>> assert_claim("D.62")
    >>> assert_claim("D.61", "refuted")
    """
    __tracebackhide__ = True
    from swingby.theory.derivations.ledger import by_id
    from swingby.verify.prover.judge import judge

    expected = finding(verdict)
    if not isinstance(claim, Claim | str):
        raise InvalidInput("claim", claim, "must be a Claim or the id of a line of the ledger")
    asked = by_id(claim) if isinstance(claim, str) else claim
    judged = judge(asked)
    if judged.verdict != expected:
        raise AssertionError(claim_message(asked, expected, judged))


def assert_stages(
    run: Run,
    schedule: Schedule,
    rtol: float = RTOL,
    atol: float = ATOL,
    *,
    windows: bool = False,
    in_range_only: bool = False,
) -> None:
    """Assert that every half-time of a run is the one predicted.

    A half-time may be off by ``atol + rtol * observed`` steps. A concept that is predicted to be
    trapped, or to stay at rest for want of a signal, has to stay below 1/2 to the end of the run.

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
        Leave out concepts for which the law says itself that it is out of its range or undecided
        (their error bar is infinite).

    Raises
    ------
    AssertionError
        With a table: concept, a, predicted, observed, relative error, allowed, verdict.
    InvalidInput
        If the two are not about the same setting, or a tolerance is no number of at least 0.

    Examples
    --------
    >>> import swingby
    >>> pair, W0 = swingby.SIMTask.from_signal([4, 1]), [[2e-6, 1e-6], [1e-6, 2e-6]]
    >>> run = swingby.simulate(pair, W0, eta=0.01, dynamics="gd")
    >>> assert_stages(run, swingby.predict(pair, W0, eta=0.01, dynamics="gd"))
    """
    __tracebackhide__ = True
    _require_same_setting(run, schedule)
    relative, absolute = (
        float(_tolerance(x, name)) for x, name in ((rtol, "rtol"), (atol, "atol"))
    )
    rows = [_stage(run, schedule, k, relative, absolute, in_range_only) for k in run.task.order]
    broken = [row.message for row in rows if row.message]
    if windows:
        broken += list(_outside_windows(run, schedule))
    if broken:
        raise AssertionError(_report(run, schedule, rows, broken))


@dataclass(frozen=True)
class _Stage:
    """One concept: what was predicted and observed, and what is wrong with it, if anything."""

    cells: tuple[str, ...]
    message: str


def _stage(
    run: Run, schedule: Schedule, k: int, rtol: float, atol: float, in_range_only: bool
) -> _Stage:
    from swingby.report.numbers import percent_text, steps_text

    predicted, observed = float(schedule.half_times[k]), float(run.half_times[k])
    allowed = atol + rtol * observed
    name = f"stage law: half-time of concept {k + 1}"
    relative = predicted / observed - 1 if observed else math.nan
    message = ""
    if not math.isfinite(predicted):
        fate = "trapped" if math.isnan(predicted) else "never"
        if not math.isnan(observed):
            message = f"{name} predicted {fate}, observed {observed:g}"
        elif (fate == "never") != (run.task.exact_signal[k] == 0):
            message = f"{name} predicted {fate}, with a_{k + 1} = {run.task.signal[k]:g}"
    elif math.isnan(observed):
        end = f"the run ends at step {run.last_step} ({run.outcome})"
        message = f"{name} predicted {predicted:g}, not observed: {end}"
    elif not abs(predicted - observed) <= allowed:
        message = (
            f"{name} predicted {predicted:g}, observed {observed:g}: off by "
            f"{abs(predicted - observed):g} steps, {allowed:.3g} allowed"
        )
    verdict = "off" if message else "ok"
    if math.isinf(schedule.error[k]):
        verdict = "not judged" if in_range_only else f"{verdict}, out of range"
        message = "" if in_range_only else message
    fates = (
        "trapped" if math.isnan(predicted) else steps_text(predicted, 0),
        "not learned" if math.isnan(observed) else steps_text(observed, 0),
    )
    both = math.isfinite(predicted) and math.isfinite(observed)
    cells = (
        str(k + 1),
        f"{run.task.signal[k]:.4g}",
        *fates,
        percent_text(relative) if both else "-",
        f"{allowed:.3g}" if both else "-",
        verdict,
    )
    return _Stage(cells, message)


def _outside_windows(run: Run, schedule: Schedule) -> Iterator[str]:
    """Events of a run that lie outside the lemma windows of a schedule."""
    if schedule.window_reason.startswith("no lemma windows"):
        raise InvalidInput("windows", True, f"must be False: {schedule.window_reason}")
    edition = "corrected" if "corrected" in schedule.window_reason else "printed"
    sizes = {(peak.i, peak.j): peak for peak in run.peaks}
    for event in schedule.events:
        i, j = event.entry
        if event.event == "peak height" and not abs(sizes[i, j].value) <= event.upper:
            yield (
                f"Lemma D.8 ({edition}): |{event.label}| is {abs(sizes[i, j].value):.3g} at step "
                f"{sizes[i, j].step}, at most {event.upper:.3g} allowed"
            )
        if event.event not in ("half", "0.8") or math.isnan(event.lower):
            continue
        level = 0.5 if event.event == "half" else 0.8
        observed = float(run.first_reach(level)[i])
        if observed < event.lower:
            yield (
                f"Lemma D.1 ({edition}): {event.label} reaches {level} at step {observed:g}, not "
                f"before {event.lower:.6g}"
            )
        late = run.last_step if math.isnan(observed) else observed
        if late > event.upper:
            found = f"at step {observed:g}" if observed == late else f"not up to step {late}"
            yield (
                f"Lemmas D.3 and D.4 ({edition}): {event.label} reaches {level} {found}, by "
                f"{event.upper:.6g} expected"
            )


def _report(run: Run, schedule: Schedule, rows: list[_Stage], broken: list[str]) -> str:
    from swingby.report import Grid

    signal = ", ".join(map(str, run.task.exact_signal))
    columns = ("concept", ">a", ">predicted", ">observed", ">relative error", ">allowed", "verdict")
    grid = Grid(
        broken[0],
        columns,
        [row.cells for row in rows],
        above=[
            *broken[1:],
            f"{run.dynamics}, eta = {numbers.scientific(run.eta)}, a = ({signal}); the run "
            f"{run.outcome}: {run.reason}",
        ],
        below=[f"the law warns: {warning}" for warning in schedule.warnings],
    )
    # A line is not broken here: a summary shows the first one alone.
    return grid.to_text(width=max(100, *(len(line) for line in (*broken, *grid.above))))


def _require_same_setting(run: Any, schedule: Any) -> None:
    if not isinstance(run, Run):
        raise InvalidInput("run", run, "must be a Run, as simulate returns it")
    if not isinstance(schedule, Schedule):
        raise InvalidInput("schedule", schedule, "must be a Schedule, as predict returns it")
    if schedule.stages is None:
        raise InvalidInput("schedule", repr(schedule), "must be predicted from the W(0) of the run")
    pairs = (
        ("signal", schedule.task.exact_signal, run.task.exact_signal),
        ("eta", schedule.eta, run.eta),
        ("dynamics", schedule.dynamics, run.dynamics),
    )
    for name, predicted, observed in pairs:
        if predicted != observed:
            requirement = f"must be that of the run, {_shown(observed)}"
            raise InvalidInput(f"schedule.{name}", _shown(predicted), requirement)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"
    return value if isinstance(value, str) else numbers.scientific(value)


def _tolerance(value: Any, name: str) -> Any:
    exact = numbers.exact(value, name)
    if exact < 0:
        raise InvalidInput(name, value, "must not be negative")
    return exact
