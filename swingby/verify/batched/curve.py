"""Descents of the test loss and transient entries on arrays of instances.

The start is that of the batched law, or of the scalar law where that one has to be asked; from
there the composite is followed by :mod:`swingby.verify.batched.curve_walk`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.theory import finite_step
from swingby.theory.odds import ABSENT
from swingby.theory.pivots import MOST_ROUNDING
from swingby.theory.reliability import LARGEST_EIGENVALUE, LARGEST_STEP
from swingby.theory.stages import Stages
from swingby.verify.batched.law import COMPILED, batched_law, scalar_law
from swingby.verify.batched.rows import DYNAMICS, layout, lengths, pair

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Logarithm of the odds of a component that runs away at which the composite is cut off.
_LAST = -0.5
#: Groups of lanes that are started together.
_GROUPS = 128
#: Error of a decisive size, as a logarithm: a constant, the share of eta a_max, and under euler
#: that of its square times how far a pivot has canceled. Calibrated on random instances to hold
#: for 99 % of the sizes.
ERROR = {"euler": (0.002, 4.0, 8.0), "gd": (0.002, 3.0, 0.0), "flow": (0.002, 0.1, 0.0)}


@dataclass(frozen=True, eq=False)
class Found:
    """What the composite does, on n instances.

    Parameters
    ----------
    sizes : ndarray of shape (n, k)
        Decisive sizes of the test loss in units of the threshold, then nan
        (:mod:`swingby.verify.batched.curve_turns`).
    error : ndarray of shape (n,)
        Error of their logarithms.
    transient : ndarray of shape (n,)
        Largest |w_ij| off the diagonal; inf where W runs away.
    entry : ndarray of int, shape (n, 2)
        Its place, in the user's order; -1 where all are zero.
    diverges : ndarray of bool, shape (n,)
    outside : ndarray of bool, shape (n,)
        Where the law is out of its range or leaves open whether a concept is trapped.
    scalar : ndarray of bool, shape (n,)
        Which instances the scalar law has started.
    """

    sizes: Floats
    error: Floats
    transient: Floats
    entry: NDArray[np.int64]
    diverges: NDArray[np.bool_]
    outside: NDArray[np.bool_]
    scalar: NDArray[np.bool_]


def batched_curve(
    signal: Floats,
    matrix: Floats,
    eta: Floats,
    log_scale: Floats,
    point: Floats,
    swing: Floats,
    dynamics: str,
) -> Found:
    """Follow the composite of n checked instances.

    Parameters
    ----------
    signal : ndarray of shape (n, d)
    matrix : ndarray of shape (n, d, d)
        W(0) up to a factor.
    eta : ndarray of shape (n,)
    log_scale : ndarray of shape (n,)
        Logarithm of that factor.
    point : ndarray of shape (n, d)
        Test points, not zero; only their directions matter.
    swing : ndarray of shape (n,)
        Thresholds, as shares of the initial test loss.
    dynamics : {"euler", "gd", "flow"}

    Returns
    -------
    Found
    """
    from swingby.verify.batched.curve_turns import MOST
    from swingby.verify.batched.curve_walk import Swings, walk

    count, d = signal.shape
    law = batched_law(signal, matrix, eta, log_scale, dynamics, leading=False)
    outside = np.asarray((law.undecided & (signal > 0)).any(axis=1))
    h = eta * signal.max(axis=1, initial=0.0)
    if dynamics != "flow":
        outside = outside | ~(h < LARGEST_STEP)
    order = np.argsort(-signal, axis=1, kind="stable")
    rows, canceled, scalar = _start(signal, matrix, eta, log_scale, dynamics)
    for place in np.flatnonzero(scalar):
        given = (signal[place], matrix[place], float(eta[place]), float(log_scale[place]))
        stages = scalar_law(*given, dynamics)
        canceled[place] = math.exp(min(float(stages.pivots.cancellation.max()), MOST_ROUNDING))
        outside[place] |= not _fill(rows[place], stages)
        outside[place] |= _largest_eigenvalue(given[1], given[3]) >= LARGEST_EIGENVALUE
    columns = _columns(rows, d)
    columns["point"][:] = np.take_along_axis(point, order, axis=1)
    diverges = np.isfinite(columns["cut"][:, 0])
    if dynamics != "euler":
        # The flow and gd keep W = U U^T; a matrix that has not this form is not theirs.
        outside = outside | diverges
    found = Swings(
        np.zeros(count, dtype=np.int64),
        np.full((count, MOST), np.nan),
        np.zeros(count),
        np.full((count, 2), -1, dtype=np.int64),
    )
    inside = np.flatnonzero(~outside)
    follow = walk(d, DYNAMICS[dynamics])
    if len(inside) == count:
        follow(d, rows, swing, found)
    else:
        part = Swings(
            found.number[inside], found.sizes[inside], found.transient[inside], found.entry[inside]
        )
        follow(d, rows[inside], swing[inside], part)
        found.number[inside], found.sizes[inside] = part.number, part.sizes
        found.transient[inside], found.entry[inside] = part.transient, part.entry
    outside = outside | (found.number < 0) | ~np.isfinite(found.transient)
    entry = np.sort(np.take_along_axis(order, np.maximum(found.entry, 0), axis=1), axis=1)
    entry[(found.entry[:, 0] < 0) | outside] = -1
    constant, linear, drift = ERROR[dynamics]
    return Found(
        sizes=found.sizes,
        error=constant + linear * h + drift * h * h * canceled,
        transient=np.where(outside, np.nan, np.where(diverges, math.inf, found.transient)),
        entry=entry,
        diverges=diverges & ~outside,
        outside=outside,
        scalar=scalar,
    )


def _columns(rows: Floats, d: int) -> dict[str, Floats]:
    """Views of the rows that the walk is given, by name."""
    from swingby.verify.batched.curve_levels import CONCEPT_NAMES, PAIR_NAMES, SINGLE_NAMES

    sizes = dict.fromkeys(CONCEPT_NAMES, d) | dict.fromkeys(PAIR_NAMES, d * (d - 1) // 2)
    views, start = {}, 0
    for name, size in (sizes | dict.fromkeys(SINGLE_NAMES, 1)).items():
        views[name] = rows[:, start : start + size]
        start += size
    return views


def _start(
    signal: Floats, matrix: Floats, eta: Floats, log_scale: Floats, dynamics: str
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Rows for the walk, how far pivots have canceled, and which rows are still to be filled."""
    from swingby.verify.batched import drive, transfer
    from swingby.verify.batched.curve_levels import row_length
    from swingby.verify.batched.vectors import LANES

    count, d = signal.shape
    rows = np.zeros((count, row_length(d)))
    canceled, scalar = np.ones(count), np.ones(count, dtype=np.bool_)
    if d not in COMPILED:
        return rows, canceled, scalar
    shared, own = lengths(d)
    array = np.zeros((shared + _GROUPS * own, LANES))
    begin, follow = drive.begin(d, DYNAMICS[dynamics]), drive.follow(d)
    places, at = layout(d), transfer.places(d)
    for low in range(0, count, _GROUPS * LANES):
        part = np.arange(low, min(low + _GROUPS * LANES, count))
        groups = -(-len(part) // LANES)
        transfer.bring(part, signal, matrix, eta, log_scale, array, shared, own, at)
        begin(array, shared, own, groups)
        follow(array, shared, own, groups)
        lanes = array[shared:].reshape(_GROUPS, own, LANES)[:groups]

        def read(name: str, lanes: Floats = lanes, size: int = len(part)) -> Floats:
            place = places[name]
            length = math.prod(place.shape)
            values = lanes[:, place.start : place.start + length].swapaxes(1, 2)
            return values.reshape(-1, length)[:size]

        columns = _columns(rows[low : low + len(part)], d)
        for name in ("signal", "rate", "log_odds", "eta"):
            columns[name][:] = read(name)
        for name in ("column", "unit_log", "climb", "power_k", "power_j"):
            columns[name][:] = read(name)
        negative = (read("canceled") < 0) & (read("signal") > 0)
        columns["log_odds"][negative] = read("log_pivot")[negative]
        columns["sign"][:] = np.where(negative, -1.0, 1.0)
        _complete(columns, d, dynamics)
        canceled[part] = np.abs(read("canceled")).max(axis=1)
        scalar[part] = ~((read("fine") > 0.5) & (read("resolved") > 0.5)).any(axis=1)
    return rows, canceled, scalar


def _complete(columns: dict[str, Floats], d: int, dynamics: str) -> None:
    """What follows: the finite-step phase, powers taken out of units, where a run is cut off."""
    log_odds, negative = columns["log_odds"], columns["sign"] < 0
    with np.errstate(all="ignore"):
        ends = np.maximum((_LAST - log_odds) / columns["rate"], 0.0)
        columns["cut"][:, 0] = np.where(negative, ends, math.inf).min(axis=1)
        soft = np.where(negative, 0.0, np.logaddexp(0.0, log_odds))
        h = columns["eta"] * columns["signal"]
        shift = finite_step.linearizing_shift(-np.expm1(-soft), h, dynamics, -soft)
    columns["phase"][:] = log_odds + shift
    for j in range(d):
        for k in range(j):
            number = pair(j, k)
            risen = columns["power_k"][:, number] * soft[:, k]
            risen += columns["power_j"][:, number] * soft[:, j]
            columns["unit_log"][:, number] -= risen


def _fill(row: Floats, stages: Stages) -> bool:
    """The row of one instance from the scalar law; whether floats hold it."""
    d, order = len(stages.order), stages.order
    columns = _columns(row[None], d)
    leading, growth = stages.leading, stages.leading.growth
    signal = stages.task.signal[order]
    negative = (stages.pivots.sign < 0) & (signal > 0)
    columns["signal"][:] = signal
    columns["rate"][:] = np.diag(growth)
    columns["log_odds"][:] = np.where(negative, stages.pivots.log, leading.log_odds)
    columns["sign"][:] = np.where(negative, -1.0, 1.0)
    columns["eta"][:] = stages.eta
    for j in range(d):
        for k in range(j):
            number = pair(j, k)
            columns["column"][0, number] = leading.column[j, k]
            columns["unit_log"][0, number] = max(leading.unit_log[j, k], 4 * ABSENT)
            columns["climb"][0, number] = growth[j, k] - growth[k, k]
            columns["power_k"][0, number] = leading.power_k[j, k]
            columns["power_j"][0, number] = leading.power_j[j, k]
    _complete(columns, d, stages.dynamics)
    return bool(np.isfinite(row[:-1]).all())


def _largest_eigenvalue(matrix: Floats, log_scale: float) -> float:
    if math.log(float(np.abs(matrix).max())) + log_scale > 1.0:
        return math.inf
    W = matrix * math.exp(max(log_scale, -700.0))
    return float(np.linalg.eigvalsh((W + W.T) / 2)[-1])
