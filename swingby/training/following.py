"""Turns of the test loss and crossings of one half, found at every step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

#: Turns of the loss by less than this part of its first value are not kept.
LEAST_TURN = 1e-3


class Following(NamedTuple):
    """Where r runs stand.

    Parameters
    ----------
    first, extreme : ndarray of shape (r,)
        The first loss, and the extreme since the last turn.
    at : ndarray of int, shape (r,)
        Step of that extreme.
    heading : ndarray of int, shape (r,)
        1 while the loss rises, -1 while it falls, 0 before it moved.
    half_times, jacobian_half_times : ndarray of shape (r, s)
        First step at which the output, or the diagonal of the Jacobian, is at least half of
        what it should be; nan before.
    """

    first: Floats
    extreme: Floats
    at: Integers
    heading: Integers
    half_times: Floats
    jacobian_half_times: Floats


def start_following(runs: int, s: int) -> Following:
    """Runs of which nothing has been seen."""
    return Following(
        first=np.full(runs, np.nan),
        extreme=np.full(runs, np.nan),
        at=np.zeros(runs, dtype=np.int64),
        heading=np.zeros(runs, dtype=np.int64),
        half_times=np.full((runs, s), np.nan),
        jacobian_half_times=np.full((runs, s), np.nan),
    )


def follow(
    following: Following, start: int, loss: Floats, share: Floats, slope: Floats
) -> list[tuple[int, int, float, int]]:
    """Look at some steps.

    Parameters
    ----------
    following : Following
        Changed in place.
    start : int
        The first of the steps.
    loss : ndarray of shape (r, n)
        At the test point.
    share : ndarray of shape (r, n, s)
        Output at the test point in units of what it should be.
    slope : ndarray of shape (r, n, s)
        Diagonal of the Jacobian.

    Returns
    -------
    list of (run, step, loss, kind)
        Turns that are certain by now: kind 1 for a maximum, -1 for a minimum.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        return _followed(following, start, loss, share, slope)


def _followed(
    following: Following, start: int, loss: Floats, share: Floats, slope: Floats
) -> list[tuple[int, int, float, int]]:
    for seen, found in (
        (share, following.half_times),
        (slope, following.jacobian_half_times),
    ):
        reached = seen >= 0.5
        new = np.isnan(found) & reached.any(axis=1)
        found[new] = start + reached.argmax(axis=1)[new]
    turns: list[tuple[int, int, float, int]] = []
    fresh = np.isnan(following.first)
    for values in (following.first, following.extreme):
        values[fresh] = loss[fresh, 0]
    for run in np.flatnonzero(~_without_turn(following, start, loss)):
        _with_turns(following, int(run), start, loss[run], turns)
    return turns


def _without_turn(following: Following, start: int, loss: Floats) -> Any:
    """Go through the runs that do not turn, all at once; True for these."""
    heading, extreme = following.heading, following.extreme
    least = LEAST_TURN * following.first[:, None]
    height = heading[:, None] * loss
    top = np.maximum(np.maximum.accumulate(height, axis=1), (heading * extreme)[:, None])
    turns = top - height > least
    moves = np.abs(loss - extreme[:, None]) > least
    quiet = np.isfinite(loss).all(axis=1)
    quiet &= ~np.where(heading == 0, moves.any(axis=1), turns.any(axis=1))
    place = height.argmax(axis=1)
    best = np.take_along_axis(height, place[:, None], axis=1)[:, 0]
    further = quiet & (heading != 0) & (best > heading * extreme)
    extreme[further] = (heading * best)[further]
    following.at[further] = start + place[further]
    return quiet


def _with_turns(
    following: Following,
    run: int,
    start: int,
    loss: Floats,
    turns: list[tuple[int, int, float, int]],
) -> None:
    """Go through a run step by step."""
    extreme, at = float(following.extreme[run]), int(following.at[run])
    heading, least = int(following.heading[run]), LEAST_TURN * float(following.first[run])
    for step, one in enumerate(loss.tolist(), start):
        moved = one - extreme
        if (heading == 0 and abs(moved) > least) or heading * moved < -least:
            kind = 1 if moved < 0 else -1
            turns.append((run, at, extreme, kind))
            extreme, at, heading = one, step, -kind
        elif heading * moved > 0:
            extreme, at = one, step
    following.extreme[run], following.at[run], following.heading[run] = extreme, at, heading


def thinned(turns: list[tuple[int, float, int]], least: float) -> list[tuple[int, float, int]]:
    """The turns that are left when legs of less than `least` are passed over.

    Parameters
    ----------
    turns : list of (step, loss, kind)
        In order, maxima and minima in turn; the last is where the run ends.
    least : float
        Smallest leg, in units of the loss.

    Examples
    --------
    >>> thinned([(0, 1.0, 1), (5, 0.5, -1), (7, 0.6, 1), (9, 0.1, -1)], 0.2)
    [(0, 1.0, 1), (9, 0.1, -1)]
    """
    if not turns:
        return []
    kept: list[tuple[int, float, int]] = []
    extreme, heading = turns[0], 0
    for turn in turns[1:]:
        moved = turn[1] - extreme[1]
        if (heading == 0 and abs(moved) > least) or heading * moved < -least:
            kind = 1 if moved < 0 else -1
            kept.append((extreme[0], extreme[1], kind))
            heading, extreme = -kind, turn
        elif heading * moved > 0:
            extreme = turn
    if heading:
        kept.append((extreme[0], extreme[1], heading))
    return kept
