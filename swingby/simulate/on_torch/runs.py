"""What a device is asked to run: the same arrangement that the lanes take; NumPy only."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from swingby.simulate.duration import most_executed, most_steps
from swingby.simulate.growth_table import growth_table
from swingby.simulate.lanes.run import Arranged
from swingby.simulate.state import Booleans, Floats, Integers


class Runs(NamedTuple):
    """What does not change in any run of a piece.

    signal (m, d); eta (m,); stop (m,): the step at which each ends; null (m, d): concepts whose
    pivot is kept at zero; goal (m, d): where w_kk is at rest, nan for anywhere; order (m, d):
    concepts by descending a; growth (u, 2, 4, d, d): one for each different pair of signal and
    eta, and which one is whose (m,); point (m, d): the test point; swing (m,): by how much the
    test loss has to fall to descend.
    """

    signal: Floats
    eta: Floats
    stop: Integers
    null: Booleans
    goal: Floats
    order: Integers
    growth: Floats
    which: Integers
    point: Floats
    swing: Floats


class Course(NamedTuple):
    """How some runs are taken along.

    gd: by the map gd, else euler; watched: descents are counted; rest: a run at rest ends; skip:
    by jumps; block: steps between two looks; tail: steps of each after its last whole block;
    most: computed steps of each.
    """

    gd: bool
    watched: bool
    rest: bool
    skip: bool
    block: int
    tail: int
    most: int


class Numbers(NamedTuple):
    """What steps change: arrays on the host, tensors on a device, one run per row.

    X (n, d, d); below (n, d): 1 as long as w_kk has not reached 1/2; waited (n, d): steps for
    which it has not. Of the zigzag filter of :func:`swingby.simulate.events.turning_points` over
    the test loss: extremes (n, 2), the lowest and minus the highest value since the last turn;
    heading (n,); descents (n,). transient (n,): the largest w_ij, i and j different.
    """

    X: Any
    below: Any
    waited: Any
    extremes: Any
    heading: Any
    descents: Any
    transient: Any


def make_runs(
    arranged: Arranged,
    point: Floats,
    missing: Booleans,
    steps: int | None,
    dynamics: str,
    *,
    skip: bool,
) -> Runs:
    """What does not change in the runs of a piece.

    Parameters
    ----------
    arranged : Arranged
    point : ndarray of shape (m, d)
    missing : ndarray of bool, shape (m, d)
        Concepts that W(0) has no component for.
    steps : int or None
    dynamics : {"euler", "gd"}
    skip : bool

    Returns
    -------
    Runs
    """
    # numba takes 0.4 s to import, so only a run pays for it.
    from swingby.simulate.lanes.prepare import distinct

    signal, eta = arranged.signal, arranged.eta
    total, d = signal.shape
    growth, which = np.zeros((1, 2, 4, d, d)), np.zeros(total, dtype=np.int64)
    if skip:
        first, which = distinct(signal, eta)
        growth = growth_table(signal[first], eta[first], dynamics)
    if steps is None:
        stop = most_steps(signal, eta, arranged.log_smallest, dynamics)
    else:
        stop = np.full(total, steps)
    return Runs(
        signal=signal,
        eta=eta,
        stop=stop,
        null=missing if dynamics == "gd" else np.zeros_like(missing),
        goal=np.where(signal > 0, np.where(missing, 0.0, 1.0), np.nan),
        order=arranged.order,
        growth=growth,
        which=which,
        point=point,
        swing=_column(arranged, arranged.at.swing) if arranged.watched else np.zeros(total),
    )


def make_course(
    d: int, steps: int | None, dynamics: str, block: int, *, watched: bool, skip: bool
) -> Course:
    """How some runs are taken along.

    Parameters
    ----------
    d : int
    steps : int or None
    dynamics : {"euler", "gd"}
    block : int
    watched, skip : bool

    Returns
    -------
    Course
        Without a number of steps every run ends after whole blocks.
    """
    rest = steps is None
    most = max(block, int(most_executed(d)) // block * block) if rest else 2**62
    tail = 0 if steps is None else steps % block
    return Course(dynamics == "gd", watched, rest, skip, block, tail, most)


def in_whole_blocks(runs: Runs, course: Course) -> Runs:
    """The same runs, each as long as its course lets it.

    Parameters
    ----------
    runs : Runs
    course : Course

    Returns
    -------
    Runs
    """
    if not course.rest:
        return runs
    return runs._replace(stop=-(-runs.stop // course.block) * course.block)


def first_numbers(arranged: Arranged, members: Integers) -> Numbers:
    """Some runs at their step 0.

    Parameters
    ----------
    arranged : Arranged
    members : ndarray of int, shape (n,)

    Returns
    -------
    Numbers
    """
    at, d = arranged.at, arranged.signal.shape[1]
    given = arranged.numbers[members]
    row, column = np.triu_indices(d)
    X = np.empty((len(members), d, d))
    X[:, row, column] = given[:, at.X : at.X + len(row)]
    X[:, column, row] = given[:, at.X : at.X + len(row)]
    low, high, transient = np.zeros((3, len(members)))
    if arranged.watched:
        low, high, transient = (given[:, k] for k in (at.low, at.high, at.transient))
    return Numbers(
        X=X,
        below=given[:, at.below : at.below + d],
        waited=given[:, at.waited : at.waited + d],
        extremes=np.stack([low, -high], axis=1),
        heading=np.zeros(len(members)),
        descents=np.zeros(len(members)),
        transient=transient,
    )


def first_lost(arranged: Arranged, members: Integers) -> Booleans:
    """Which runs begin with a W that is not positive semidefinite.

    Parameters
    ----------
    arranged : Arranged
    members : ndarray of int, shape (n,)

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    return np.asarray(_column(arranged, arranged.at.lost)[members] != 0.0)


def _column(arranged: Arranged, place: int) -> Floats:
    return np.ascontiguousarray(arranged.numbers[:, place])
