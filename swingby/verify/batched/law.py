"""The stage-time law on arrays of instances: chunks of lanes, and the scalar law for the rest."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from swingby.theory.initial import Initial
from swingby.theory.pivots import Pivots
from swingby.theory.stages import Stages, stage_law
from swingby.theory.task import SIMTask
from swingby.verify.batched.pivots import find_pivots, put_pivots, some
from swingby.verify.batched.rows import DYNAMICS, layout, lengths

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Numbers of concepts that loops are compiled for; others go to the scalar law.
COMPILED = range(2, 7)
#: Groups of lanes that go through the stages together, so that they stay in the cache.
_GROUPS = 32
#: Fates of an instance: more sweeps, the scalar law, the pivots of the scalar law, once more with
#: nothing left out; more sweeps, as is thought beforehand.
DONE, MORE, SCALAR, PIVOTS, AGAIN, LIKELY_MORE = 0, 1, 2, 3, 4, 5


@dataclass(frozen=True, eq=False)
class Found:
    """The law on n instances.

    Parameters
    ----------
    crossing, error : ndarray of shape (n, d)
    trapped, undecided : ndarray of bool, shape (n, d)
    share : ndarray of shape (n, d)
        Pivots relative to the terms that they are formed from, signed.
    scalar : ndarray of bool, shape (n,)
        Which instances were given to the scalar law.
    swept : ndarray of bool, shape (n,)
        Which ones needed more than one sweep of the compiled quadrature.
    """

    crossing: Floats
    error: Floats
    trapped: NDArray[np.bool_]
    undecided: NDArray[np.bool_]
    share: Floats
    scalar: NDArray[np.bool_]
    swept: NDArray[np.bool_]


def batched_law(
    signal: Floats, matrix: Floats, eta: Floats, log_scale: Floats, dynamics: str, *, leading: bool
) -> Found:
    """The law on n checked instances.

    Parameters
    ----------
    signal : ndarray of shape (n, d)
    matrix : ndarray of shape (n, d, d)
        W(0) up to a factor.
    eta : ndarray of shape (n,)
    log_scale : ndarray of shape (n,)
        Logarithm of that factor.
    dynamics : {"euler", "gd", "flow"}
    leading : bool
        Whether to leave out the quadrature.

    Returns
    -------
    Found
    """
    count, d = signal.shape
    found = Found(
        np.full((count, d), np.nan),
        np.full((count, d), np.nan),
        np.zeros((count, d), dtype=np.bool_),
        np.zeros((count, d), dtype=np.bool_),
        np.full((count, d), np.nan),
        np.zeros(count, dtype=np.bool_),
        np.zeros(count, dtype=np.bool_),
    )
    fate = np.full(count, SCALAR, dtype=np.int8)
    if d in COMPILED and count:
        given = (signal, matrix, eta, log_scale)
        first = 0 if leading else 1
        _run(np.arange(count), given, dynamics, first, found, fate, quick=not leading)
        likely = np.flatnonzero(fate == LIKELY_MORE)
        _run(likely, given, dynamics, 4, found, fate, unsure=True)
        found.swept[likely] = fate[likely] == DONE
        unresolved = np.flatnonzero(fate == PIVOTS)
        if len(unresolved):
            a, W, step, scale = (part[unresolved] for part in given)
            pivots = find_pivots(a, W, step, scale, dynamics)
            _run(unresolved, given, dynamics, first, found, fate, pivots=pivots)
            swept = fate[unresolved] == MORE
            found.swept[unresolved] = swept
            pivots = some(pivots, swept)
            _run(unresolved[swept], given, dynamics, 4, found, fate, pivots=pivots)
        _run(np.flatnonzero(fate == AGAIN), given, dynamics, first, found, fate)
        again = np.flatnonzero(fate == MORE)
        found.swept[again] = True
        _run(again, given, dynamics, 4, found, fate)
    found.scalar[:] = (fate == SCALAR) | (fate == PIVOTS)
    for place in np.flatnonzero(found.scalar):
        stages = scalar_law(
            signal[place],
            matrix[place],
            float(eta[place]),
            float(log_scale[place]),
            dynamics,
            sweeps=0 if leading else None,
        )
        order = np.argsort(-signal[place], kind="stable")
        found.crossing[place, order] = stages.crossing
        found.error[place, order] = stages.error
        found.trapped[place, order] = stages.trapped
        found.undecided[place, order] = stages.undecided
        share = stages.pivots.sign * np.exp(-stages.pivots.cancellation)
        found.share[place, order] = share[np.argsort(stages.order)]
    return found


def _run(
    chosen: NDArray[np.int64],
    given: tuple[Floats, ...],
    dynamics: str,
    sweeps: int,
    found: Found,
    fate: NDArray[np.int8],
    *,
    pivots: Pivots | None = None,
    quick: bool = False,
    unsure: bool = False,
) -> None:
    from swingby.verify.batched import drive, transfer
    from swingby.verify.batched.vectors import LANES

    if not len(chosen):
        return
    d, kind = given[0].shape[1], DYNAMICS[dynamics]
    shared, own = lengths(d)
    array = np.zeros((shared + _GROUPS * own, LANES))
    at = transfer.places(d)
    lanes = array[shared:].reshape(_GROUPS, own, LANES)
    more = layout(d)["more"].start
    begin, follow = drive.begin(d, kind), drive.follow(d)
    quadrature, end = drive.quadrature(d), drive.end(d, kind)
    quick_quadrature = drive.quick_quadrature(d)
    size = _GROUPS * LANES
    for low in range(0, len(chosen), size):
        part = chosen[low : low + size]
        groups = -(-len(part) // LANES)
        transfer.bring(part, *given, array, shared, own, at)
        begin(array, shared, own, groups)
        if pivots is not None:
            put_pivots(lanes, some(pivots, slice(low, low + size)))
        follow(array, shared, own, groups)
        if quick:
            left = transfer.pack(part, array, shared, own, at)
            fate[part[left:]] = LIKELY_MORE
            part, groups = part[:left], -(-left // LANES)
        if quick:
            quick_quadrature(array, shared, own, groups)
        elif sweeps:
            quadrature(array, shared, own, groups, sweeps)
        end(array, shared, own, groups, sweeps)
        if sweeps > 1 and not unsure:
            lanes[:, more] = 0.0
        transfer.fetch(
            part,
            given[0],
            array,
            shared,
            own,
            at,
            found.crossing,
            found.error,
            found.trapped,
            found.undecided,
            found.share,
            fate,
        )


def scalar_law(
    signal: Floats,
    matrix: Floats,
    eta: float,
    log_scale: float,
    dynamics: str,
    *,
    sweeps: int | None = None,
) -> Stages:
    """The law on one instance, concepts in descending order of the signal.

    Parameters
    ----------
    signal : ndarray of shape (d,)
    matrix : ndarray of shape (d, d)
    eta, log_scale : float
    dynamics : {"euler", "gd", "flow"}
    sweeps : int, optional

    Returns
    -------
    Stages
    """
    order = np.argsort(-signal, kind="stable")
    task = SIMTask.from_signal(signal[order].tolist())
    start = ((matrix + matrix.T) / 2)[np.ix_(order, order)]
    return stage_law(
        task, Initial(start, exponential(log_scale)), Fraction(eta), dynamics, sweeps=sweeps
    )


@functools.lru_cache(1000)
def exponential(logarithm: float) -> Fraction:
    """The exponential of a float as a rational, also where no float holds it.

    Examples
    --------
    >>> exponential(0.0)
    Fraction(1, 1)
    """
    if logarithm == 0:
        return Fraction(1)
    import mpmath

    context: Any = mpmath.mp.clone()
    context.prec = 80
    value = context.exp(context.mpf(logarithm))
    sign, mantissa, exponent, _ = value._mpf_
    scaled = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -scaled if sign else scaled
