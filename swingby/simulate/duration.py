"""How long a run without a number of steps may last."""

from __future__ import annotations

import numpy as np

from swingby.simulate.state import Floats, Integers, Problem, State, log_diagonal

#: A run without a number of steps computes at most this many for d up to 8, and fewer in
#: proportion to 1/d^3 above; jumps are free.
MOST_EXECUTED = 50_000_000


def most_executed(d: int) -> float:
    """Most computed steps of a run that was given no number of steps.

    Parameters
    ----------
    d : int

    Returns
    -------
    float
    """
    return MOST_EXECUTED * min(1.0, (8 / d) ** 3)


def most_steps(signal: Floats, eta: Floats, log_smallest: Floats, dynamics: str) -> Integers:
    r"""Most steps of runs that were given no number of steps.

    .. math:: \frac{3 (\log(1/w) + 60)}{g}, \qquad
              g = \log(1 + 2 \eta a), \; 2 \log(1 + \eta a) \text{ or } 2 \eta a

    for euler, gd and the flow, with the smallest positive a.

    Parameters
    ----------
    signal : ndarray of shape (..., d)
        With a positive entry.
    eta : ndarray of shape (...)
    log_smallest : ndarray of shape (...)
        Logarithm of w, the smallest positive w_kk(0), or 0 if that is more.
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    ndarray of int, shape (...)
    """
    slowest = np.where(signal > 0, signal, np.inf).min(axis=-1) * eta
    if dynamics == "euler":
        growth = np.log1p(2 * slowest)
    else:
        growth = 2 * (np.log1p(slowest) if dynamics == "gd" else slowest)
    with np.errstate(divide="ignore", over="ignore"):
        most: Floats = np.minimum(3 * (60 - log_smallest) / growth, 2.0**52)
    return np.maximum(1, np.ceil(most)).astype(np.int64)


def most_steps_of(problem: Problem, state: State, dynamics: str) -> int:
    """The same of one run at its start.

    Parameters
    ----------
    problem : Problem
    state : State
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    int
    """
    smallest = float(np.nanmin(log_diagonal(state), initial=0.0))
    return int(most_steps(problem.signal, np.asarray(problem.eta), np.asarray(smallest), dynamics))
