"""The certificate made of a run that was followed to its end."""

from __future__ import annotations

from typing import Any

import flint

from swingby.verify.certification.certificate import (
    Certificate,
    CertifiedPeak,
    Convergence,
    Passage,
    RunsAway,
)
from swingby.verify.certification.convergence import squared_distance
from swingby.verify.certification.enclosure import Enclosure, enclose
from swingby.verify.certification.events import LEVELS, Watch
from swingby.verify.certification.followed import Followed
from swingby.verify.certification.given import Given


def assemble(given: Given, followed: Followed, bits: int | None) -> Certificate:
    """Write everything down, at the working precision of the run.

    `followed`: its watch says what happens with an entry whose ball is too wide. Raises Doubt if
    the watch is strict and a ball is too wide for its enclosure.
    """
    from swingby import __version__

    watch = followed.watch
    d = len(given.signal)
    passages = {
        level: tuple(_passage(given, watch, level, k) for k in range(d)) for level in LEVELS
    }
    peaks = tuple(_peak(watch, followed, i, j) for i in range(d) for j in range(i + 1, d))
    away: list[RunsAway | None] = []
    for k in watch.runaways:
        if k in watch.negative:
            away.append(RunsAway(k + 1, watch.negative[k]))
        elif f"runs_away/{k + 1}" in watch.undecided:
            away.append(None)
    converges = _convergence(watch)
    end = tuple(
        tuple(
            None
            if followed.W[i][j] is None
            else _enclosed(watch, followed.W[max(i, j)][min(i, j)], f"end/{i + 1},{j + 1}")
            for j in range(d)
        )
        for i in range(d)
    )
    watch.undecided.update(
        f"end/{i + 1},{j + 1}"
        for i, row in enumerate(end)
        for j, one in enumerate(row)
        if one is None
    )
    return Certificate(
        dynamics=given.dynamics,
        signal=given.signal,
        eta=given.eta,
        W0=given.W0,
        steps=followed.step,
        passages=passages,
        peaks=peaks,
        first_loss=watch.first_loss,
        runs_away=tuple(away),
        converges=converges,
        end=end,
        undecided=tuple(sorted(watch.undecided)),
        made_by=f"swingby {__version__}",
        bits=bits,
    )


def _enclosed(watch: Watch, number: Any, path: str) -> Enclosure | None:
    found = enclose(number)
    if found is None:
        watch.doubt(path)
    return found


def _passage(given: Given, watch: Watch, level: str, k: int) -> Passage | None:
    path = f"passages/{level}/{k + 1}"
    reached = watch.passages.get((level, k))
    if reached is not None:
        before = None
        if reached.step:
            before = _enclosed(watch, reached.before, path)
        at = _enclosed(watch, reached.at, path)
        if at is None or (reached.step and before is None):
            return None
        return Passage(reached.step, before, at)
    if k in given.never or k in watch.negative:
        watch.undecided.discard(path)
        return Passage(None, never=True)
    if f"runs_away/{k + 1}" in watch.undecided and path not in watch.undecided:
        # Whether the level is reached is known, but not whether it ever will be.
        watch.doubt(path)
    return None if path in watch.undecided else Passage(None)


def _peak(watch: Watch, followed: Followed, i: int, j: int) -> CertifiedPeak | None:
    path = f"peaks/{i + 1},{j + 1}"
    peak = watch.peaks.get((i, j))
    if peak is None:
        # Different blocks: forced to stay 0.
        return CertifiedPeak(i + 1, j + 1, 0, Enclosure("0", "0"), True)
    if path in watch.undecided:
        return None
    if peak.size == 0:
        return CertifiedPeak(i + 1, j + 1, 0, Enclosure("0", "0"), False)
    value = _enclosed(watch, peak.value, path)
    final = False
    if "converges" in watch.undecided:
        watch.doubt(path)
        value = None
    elif watch.converged is not None:
        distance, square = squared_distance(followed.W, followed.rest), peak.size * peak.size
        final = bool(distance < square)
        if not final and not distance >= square:
            watch.doubt(path)
            value = None
    return None if value is None else CertifiedPeak(i + 1, j + 1, peak.step, value, final)


def _convergence(watch: Watch) -> Convergence | None:
    if watch.converged is None or watch.target is None:
        return None
    step, square = watch.converged
    distance = _enclosed(watch, flint.arb(square).sqrt(), "converges")
    if distance is None:
        return None
    return Convergence(step, distance, watch.target.radius, watch.target.rate)
