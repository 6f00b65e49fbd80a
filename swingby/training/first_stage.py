"""What the first stage of a training run says: the clock, and the law from there on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from swingby.training.result import TrainingRun
from swingby.verify.predict_batch import predict_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Levels of the first concept between which its growth is measured.
LEVELS = (0.05, 0.5)
#: Most that W(T) may differ from its transpose, as a part of its largest minor entry.
LARGEST_SKEW = 0.5


def first_stage(run: TrainingRun, place: int, level: float) -> tuple[int, int, float, str]:
    """Where to cut, the first concept, the clock, and why not.

    Parameters
    ----------
    run : TrainingRun
    place : int
        Of the network.
    level : float
        Of the first concept at the cut.

    Returns
    -------
    at : int
        Place of the cut in the recorded steps.
    which : int
        The first concept, -1 for none.
    eta : float
        Time of the theory per step.
    reason : str
        Why there is nothing to go on, or "".
    """
    major = np.diagonal(run.jacobian[place], axis1=1, axis2=2)
    reached = major >= level
    if not reached.any():
        return 0, -1, math.nan, "no concept is learned"
    at = int(reached.any(axis=1).argmax())
    which = int(major[at].argmax())
    if at == 0:
        return 0, -1, math.nan, "a concept is learned before the first step"
    if (np.delete(major[at], which) >= 0.5).any():
        return 0, -1, math.nan, "undecided: another concept is learned by the cut, stages overlap"
    rise = major[: at + 1, which]
    below = np.flatnonzero(rise < LEVELS[0])
    begin = int(below[-1]) + 1 if below.size else 0
    shown = np.arange(begin, at + 1)
    shown = shown[rise[shown] <= LEVELS[1]] if (rise[shown] <= LEVELS[1]).sum() > 2 else shown
    values = rise[shown]
    if len(shown) < 3 or not (np.diff(values) > 0).all():
        return 0, -1, math.nan, "undecided: too few recorded steps while the first concept rises"
    signal = float(run.settings[place].task.signal[which])
    return at, which, _clock(run.steps[shown].astype(np.float64), values, signal), ""


def _clock(steps: Floats, values: Floats, signal: float) -> float:
    """Time of the theory per step, from the rise of one major entry."""
    logit = np.log(values / (1 - values))
    h = 0.0
    # The logit itself rises along a straight line for small steps only; h is eta a.
    for _ in range(4):
        line = logit + _koenigs(values, h)
        h = min(math.expm1(float(np.polyfit(steps, line, 1)[0]) / 2), 0.5)
    return h / signal


def _koenigs(w: Floats, h: float) -> Floats:
    """u(w) with logit(w) + u(w) advancing by 2 log(1 + h) a step of w (1 + h (1 - w))^2, to h^4."""
    log_rest = np.log1p(-np.minimum(w, 1 - 1e-6))
    third = 21 * w * w / 16 - 9 * w / 8 + 0.75 * log_rest
    return np.asarray(h * (1.5 * log_rest + h * (1.25 * w - 0.5 * log_rest + h * third)))


def continued(W: Floats, signal: Floats, eta: float, which: int) -> tuple[Floats, str]:
    """The stage law from W(T) on.

    Parameters
    ----------
    W : ndarray of shape (s, s)
        The Jacobian at the cut.
    signal : ndarray of shape (s,)
    eta : float
    which : int
        The first concept, which is learned already.

    Returns
    -------
    times : ndarray of shape (s,)
        Steps after the cut; nan where the law does not apply.
    reason : str
        Why it does not, or "".
    """
    nothing = np.full(len(signal), np.nan)
    minor = np.abs(W - np.diag(np.diagonal(W))).max()
    skew = np.abs(W - W.T).max() / 2
    if minor > 0 and skew > LARGEST_SKEW * minor:
        return nothing, "undecided: W is not symmetric"
    symmetric = (W + W.T) / 2
    if float(np.linalg.eigvalsh(symmetric)[-1]) >= 0.95:
        return nothing, "undecided: an eigenvalue of W is already near 1"
    if not 0 < eta * float(signal.max()) < 0.5:
        return nothing, "undecided: steps are too large for the law"
    law = predict_batch(signal, symmetric, eta, "gd")
    found = np.where(law.undecided | law.trapped, np.nan, law.crossing)
    open_ = np.isnan(found)
    open_[which] = False
    if open_.any():
        shown = ", ".join(str(k + 1) for k in np.flatnonzero(open_))
        return found, f"undecided for concept {shown}: W has no positive pivot left for it"
    return found, ""
