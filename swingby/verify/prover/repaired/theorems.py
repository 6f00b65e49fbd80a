"""The conclusions of the repaired theorems put to the test on random instances.

Every instance is run by the compiled kernels and looked at whole: the peaks of all w_ij, the times
at which the w_ii reach 0.8 and whether they stay there, and the end. Under the flow the passage
between two steps is found on the cubic that has the values and slopes of the logit at both; under
gd, which exists at whole steps only, *by time T* reads *by step ceil(T/eta)*. Peaks are compared
with a relative allowance of :data:`ROUNDING` for floats; nothing else is widened.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from swingby.errors import InvalidInput
from swingby.simulate.state import Floats
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import Judged, Witness
from swingby.verify.prover.repaired.runs import Runs, passage_times, run_trials
from swingby.verify.prover.repaired.trials import DRAWS, LEVEL, Trials

#: Allowance for the rounding of floats, relative; runs are right to about 1e-12.
ROUNDING = 1e-9
#: Where W(t) counts as having arrived at I.
ARRIVED = 1e-3
#: Initial matrices per drawn setting.
PER_SETTING = 50


@dataclass
class Tally:
    """What was found over many instances.

    `instances`, `violations`: a violation is an instance that breaks at least one promise.
    `slack`: the smallest slack of each bound: *peak*, log of bound over peak; *reach*, what is left
    of the time allowed, in units of 1/(2 a_i); *keep*, smallest w_ii - 0.8 after the passage;
    *end*, the largest distance from I at the end, subtracted from 1e-3; *det*, the smallest change
    of log det of the correlation matrix (Theorem G).
    `relative`: the smallest slack divided by eta a_1, the size of what gd changes.
    `broken`: violations by bound.
    `example`: the first violation.
    """

    instances: int = 0
    violations: int = 0
    slack: dict[str, float] = field(default_factory=dict)
    relative: dict[str, float] = field(default_factory=dict)
    broken: dict[str, int] = field(default_factory=dict)
    example: Witness | None = None


def slacks(trials: Trials, dynamics: str) -> dict[str, Floats]:
    """Run the trials and compare with what is promised.

    Returns (n,): one slack per instance and bound, as described at :class:`Tally`, each raised by
    :data:`ROUNDING`; negative where the bound is broken.
    """
    runs = run_trials(trials, dynamics)
    d = trials.starts.shape[1]
    found = {
        "reach": _reach_slack(trials, runs, dynamics) + ROUNDING,
        "end": ARRIVED - np.abs(runs.ends - np.eye(d)).max(axis=(1, 2)) + ROUNDING,
    }
    if trials.keeps:
        upper = np.triu_indices(d, 1)
        left = (trials.log_peaks - runs.log_peaks)[:, upper[0], upper[1]]
        found["peak"] = left.min(axis=1) + ROUNDING
        diagonal = np.diagonal(runs.paths, axis1=2, axis2=3)
        later = (runs.steps[None, :, None] >= runs.passages[:, None, :]) & (runs.passages >= 0)[
            :, None, :
        ]
        kept = np.where(later, diagonal - LEVEL, np.inf)
        found["keep"] = kept.min(axis=(1, 2)) + ROUNDING
    else:
        thinned = runs.paths[:, :: max(1, len(runs.steps) // 20)]
        found["det"] = np.diff(log_correlation(thinned), axis=1).min(axis=1) + ROUNDING
    return found


def log_correlation(W: Floats) -> Floats:
    """The logarithm of the determinant of the correlation matrix."""
    diagonal = np.diagonal(W, axis1=-2, axis2=-1)
    return np.asarray(np.linalg.slogdet(W)[1] - np.log(diagonal).sum(axis=-1))


def _reach_slack(trials: Trials, runs: Runs, dynamics: str) -> Floats:
    """The smallest 2 a_i (T_i - t_i) of each instance; minus infinity where w_ii never passed."""
    if dynamics == "flow":
        times = passage_times(trials, runs)
    else:
        # Broken only where a whole step at or after the time allowed is still below the level.
        times = np.maximum(runs.passages - 1, 0) * trials.eta
    left = np.where(runs.passages >= 0, 2 * trials.signal * (trials.reach - times), -np.inf)
    # What starts above the level is there at time 0, whatever is promised.
    return np.asarray(np.where(runs.passages == 0, np.inf, left).min(axis=1))


def measure(
    name: str,
    dynamics: str,
    instances: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    *,
    effective: bool = False,
    per_setting: int = PER_SETTING,
) -> Tally:
    """Count violations and record the smallest slacks.

    `name` in {"Theorem two", "Theorem R", "Theorem G"}.
    `dynamics` in {"flow", "gd"}.
    `progress`: called with the instances done and to do.
    `effective`: the form tested for gd: the promises at the signal log(1 + eta a)/eta, at which an
    entry grows while everything is small, in place of a, and peaks up to a factor 1 + eta a_1.
    `per_setting`: initial matrices per drawn (a, beta, rho, omega).
    """
    if name not in DRAWS:
        raise InvalidInput("name", name, f"must be one of {', '.join(DRAWS)}")
    if dynamics not in ("flow", "gd"):
        raise InvalidInput("dynamics", dynamics, "must be flow or gd")
    tally = Tally()
    while tally.instances < instances:
        count = min(per_setting, instances - tally.instances)
        trials = DRAWS[name](count, rng, dynamics, effective)
        found = slacks(trials, dynamics)
        broken = np.zeros(count, dtype=bool)
        for bound, values in found.items():
            wrong = ~(values >= 0)
            broken |= wrong
            tally.broken[bound] = tally.broken.get(bound, 0) + int(wrong.sum())
            smallest = float(values.min()) - ROUNDING
            tally.slack[bound] = min(tally.slack.get(bound, math.inf), smallest)
            share = smallest / (trials.eta * trials.signal[0])
            tally.relative[bound] = min(tally.relative.get(bound, math.inf), share)
            if tally.example is None and wrong.any():
                tally.example = _witness(trials, int(np.argmax(wrong)), bound, values)
        tally.violations += int(broken.sum())
        tally.instances += count
        if progress is not None:
            progress(tally.instances, instances)
    return tally


def test_theorem(
    name: str,
    dynamics: str,
    instances: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,  # noqa: PT028
    *,
    effective: bool = False,  # noqa: PT028
) -> Judged:
    """Test a theorem's conclusions on random instances.

    `name`, `dynamics`, `instances`, `rng`, `progress`, `effective`: as in :func:`measure`.
    Returns *tested* with the number of cases, or *refuted* with the first instance that breaks a
    promise. The theorems speak of the flow; under gd a refutation says that their bounds do not
    carry over as they stand.

    Examples
    --------
    >>> judged = test_theorem("Theorem two", "flow", 20, np.random.default_rng(0))
    >>> str(judged.verdict), judged.cases
    ('tested', 20)
    """
    tally = measure(name, dynamics, instances, rng, progress, effective=effective)
    evidence = tuple(
        f"{bound}: {tally.broken[bound]} violations, smallest slack {tally.slack[bound]:.3g}"
        for bound in sorted(tally.slack)
    )
    verdict = Finding.REFUTED if tally.violations else Finding.TESTED
    method = f"random instances under {dynamics}"
    if effective:
        method += ", promises at the signal log(1 + eta a)/eta, peaks up to a factor 1 + eta a_1"
    return Judged(verdict, method, evidence, tally.example, tally.instances)


def _witness(trials: Trials, place: int, bound: str, values: Floats) -> Witness:
    return Witness(
        {"setting": trials.text, "W(0)": repr(trials.starts[place].tolist())},
        f"slack of {bound} >= 0",
        f"{values[place]:.17g}",
        "0",
        ("compiled run in floats",),
    )
