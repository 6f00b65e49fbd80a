"""The stage law of many instances: their starts side by side, walked in compiled lanes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from swingby.theory.growth import DYNAMICS
from swingby.theory.law.pivots import MANY_ROUNDINGS, Given, closed_law, lanes_of
from swingby.theory.law.stages import TOLERANCE, End, Verdict, decide, shares, verdict_of
from swingby.theory.numbers import Floats, Integers

#: Instances that are prepared and walked together, so that they stay in the cache.
TOGETHER = 1024
#: Fields of :class:`Given` from here on are not arguments.
_FOUND = Given._fields.index("eigenvalue")


class _Scaled(NamedTuple):
    """W(0) as :class:`Given` reads it."""

    matrix: Floats
    log_scale: float
    factor: None = None


def stage_laws(
    signal: Floats, W0: Floats, eta: Floats, log_scale: Floats, dynamics: str, *, full: bool = True
) -> tuple[Verdict, Floats]:
    """The law of n instances exp(log_scale) W0, and the share of each pivot in its terms.

    Where not `full`, that of the closed law, without the overlap of the stages.
    """
    parts = []
    with np.errstate(all="ignore"):
        for first in range(0, max(len(eta), 1), TOGETHER):
            some = slice(first, first + TOGETHER)
            given = prepare(signal[some], W0[some], eta[some], log_scale[some], dynamics)
            verdict = _walked(given, dynamics) if full else _closed(given, dynamics)
            parts.append((verdict, shares(given, verdict)))
    verdicts, found = zip(*parts, strict=True)
    fields = (np.concatenate(field) for field in zip(*verdicts, strict=True))
    return Verdict(*fields), np.concatenate(found)


def _walked(given: Given, dynamics: str) -> Verdict:
    # numba takes 0.4 s to import, so only a call pays for it.
    from swingby.theory.law.lanes import follow_all, walk_all

    ends = []
    for order in DYNAMICS[dynamics].orders:
        walk = lanes_of(given, dynamics, np.full(len(given.eta), order), TOLERANCE)
        walk_all(walk, dynamics, order)
        ends.append(End.of(walk, given.eta))
    return verdict_of(given, ends, dynamics, follow_all)


def _closed(given: Given, dynamics: str) -> Verdict:
    crossing = closed_law(given.signal, given.matrix, given.log_scale, given.eta, dynamics)
    lost = np.isnan(crossing) | given.by_concept(given.sign <= 0)
    never = np.full(len(crossing), np.inf)
    nowhere = np.full(crossing.shape, -np.inf)
    end = End(np.where(lost, np.nan, crossing), nowhere, lost, never, never)
    return decide(given, end, end, 0.0, dynamics, tolerances=0.0)


def prepare(signal: Floats, W0: Floats, eta: Floats, log_scale: Floats, dynamics: str) -> Given:
    """Pivots and factors of n instances; those that are special by :meth:`Given.of`."""
    n, d = signal.shape
    order = np.argsort(-signal, axis=1, kind="stable")
    W0 = (W0 + W0.swapaxes(1, 2)) / 2
    diagonal = W0.diagonal(axis1=1, axis2=2)
    size = np.sqrt(np.take_along_axis(diagonal, order, axis=1))
    rest = np.take_along_axis(W0, order[:, :, None], axis=1)
    rest = np.take_along_axis(rest, order[:, None, :], axis=2) / size[:, :, None] / size[:, None, :]
    uncertain = np.abs(rest.diagonal(axis1=1, axis2=2))
    V, logs, roundings = np.tile(np.eye(d), (n, 1, 1)), np.empty((n, d)), np.empty((n, d))
    pivots = np.empty((n, d))
    for k in range(d):
        pivots[:, k] = pivot = rest[:, k, k].copy()
        roundings[:, k] = lost = uncertain[:, k] / np.abs(pivot)
        column = rest[:, k + 1 :, k].copy()
        V[:, k + 1 :, k] = column / pivot[:, None]
        more = column * column / np.abs(pivot)[:, None] * lost[:, None]
        uncertain[:, k + 1 :] = np.maximum(uncertain[:, k + 1 :], more)
        rest[:, k + 1 :, k + 1 :] -= column[:, :, None] * column[:, None, :] / pivot[:, None, None]
    logs = np.log(pivots) + 2 * np.log(size)
    # V relative to the square roots of the pivots: L_ij sqrt(pi_j / pi_i).
    V = np.tril(V * np.sqrt(pivots[:, None, :] / pivots[:, :, None]), -1) + np.eye(d)
    scale = np.exp(np.minimum(log_scale, 700.0))
    large = d * np.abs(W0).max(axis=(1, 2), initial=0.0) * scale > 1
    eigenvalue = np.zeros(n)
    eigenvalue[large] = np.linalg.eigvalsh(W0[large])[:, -1] * scale[large]
    logs, levels = logs + log_scale[:, None], diagonal * scale[:, None]
    by_pivot = np.ones((n, d)), logs, roundings, logs.copy(), V, np.zeros((n, d), dtype=bool)
    steps = np.zeros(n, dtype=np.int64)
    given = Given(signal, levels, W0, log_scale, eta, eigenvalue, order, *by_pivot, steps)
    usual = ((pivots > 0) & (roundings <= MANY_ROUNDINGS) & np.isfinite(logs)).all(axis=1)
    for place in np.flatnonzero(~usual):
        scaled = _Scaled(W0[place], float(log_scale[place]))
        one = Given.of(signal[place], scaled, float(eta[place]), dynamics)  # type: ignore[arg-type]
        for values, value in zip(given[_FOUND:], one[_FOUND:], strict=True):
            values[place] = value[0]
    return given


class Path(NamedTuple):
    """The steps of all lanes, m rows by instance and time: see ``lanes.walk_all``."""

    instance: Integers
    time: Floats
    size: Floats
    concept: Integers
    forms: Floats


def paths(given: Given, share: Floats, least: Floats, dynamics: str) -> tuple[Verdict, list[Path]]:
    """Walk n instances until W is at rest to within `least`, in every order that is walked."""
    from swingby.theory.law.lanes import walk_all

    found, ends = [], []
    for order in DYNAMICS[dynamics].orders:
        orders, noted, room = np.full(len(given.eta), order), None, 64 * len(given.eta)
        while noted is None:
            walk = lanes_of(given, dynamics, orders, share, whole=least)
            noted = walk_all(walk, dynamics, order, room)
            room *= 4
        steps, forms = noted
        first = np.argsort(steps[:, 0], kind="stable")
        steps, forms = steps[first], forms[first]
        whole = (steps[:, 0].astype(np.int64), steps[:, 3:].astype(np.int64))
        found.append(Path(whole[0], steps[:, 1], steps[:, 2], whole[1], forms))
        ends.append(End.of(walk, given.eta))
    return decide(given, ends[0], ends[-1], share, dynamics), found
