r"""The stage law against U U^T as torch trains it: half-times, peaks, turns of the test loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.errors import InvalidInput
from swingby.training.result import TrainingRun
from swingby.training.run import train
from swingby.training.starts import Starts, lasting
from swingby.verify.predict import predict
from swingby.verify.predict_swing import predict_swing_batch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Recorded steps of a run: enough for a parabola through a peak.
RECORDED = 1500
#: Smallest swing of the test loss that counts, as a part of its start.
SWING = 0.01


@dataclass(frozen=True, eq=False)
class LawErrors:
    """Trained networks against the law. Made by :func:`law_errors`.

    Parameters
    ----------
    runs : int
    half_times : ndarray of shape (h,)
        abs(predicted / observed - 1) of every stage that is predicted to be learned; inf where
        it was not observed.
    off : ndarray of shape (h,)
        Predicted less observed, in steps.
    traps : tuple of three int
        Concepts predicted to be trapped and not learned; learned all the same; neither predicted
        nor learned.
    peak_times, peak_heights : ndarray of shape (k,)
        The same error for every minor entry with a peak after the start.
    descents : tuple of three int
        Runs with as many descents as predicted, with another number, and undecided.
    turns : ndarray
        Error of the step of every turn, of runs with as many turns as predicted.
    """

    runs: int
    half_times: Floats
    off: Floats
    traps: tuple[int, int, int]
    peak_times: Floats
    peak_heights: Floats
    descents: tuple[int, int, int]
    turns: Floats


def law_errors(starts: Starts, *, gradient: str = "autograd", curves: bool = True) -> LawErrors:
    """Train U U^T from given starts and compare with what the law says beforehand.

    Parameters
    ----------
    starts : Starts
    gradient : {"autograd", "written", "auto"}
        As of :func:`swingby.training.run.train`.
    curves : bool
        Compare peaks and turns too, a few milliseconds for each run.

    Raises
    ------
    InvalidInput

    Examples
    --------
    >>> from swingby.training.starts import draw_starts
    >>> found = law_errors(draw_starts(2, 2, 0), gradient="written", curves=False)
    >>> bool((found.half_times < 0.005).all())
    True
    """
    if not isinstance(starts, Starts) or not len(starts):
        raise InvalidInput("starts", starts, "must be Starts with at least one run")
    parts = []
    for group in lasting(starts):
        steps = group.settings[0].total_steps
        run = train(
            group.settings,
            start=[[one] for one in group.U],
            record=max(1, steps // RECORDED) if curves else steps,
            gradient=gradient,
        )
        parts.append(_compare(group, run, curves=curves))
    return join_errors(parts)


def join_errors(parts: Sequence[LawErrors]) -> LawErrors:
    """The errors of several sets of runs as one."""

    def all_of(name: str) -> Floats:
        return np.concatenate([getattr(one, name) for one in parts])

    def total(name: str) -> tuple[int, int, int]:
        first, second, third = np.sum([getattr(one, name) for one in parts], axis=0).tolist()
        return first, second, third

    return LawErrors(
        runs=sum(one.runs for one in parts),
        half_times=all_of("half_times"),
        off=all_of("off"),
        traps=total("traps"),
        peak_times=all_of("peak_times"),
        peak_heights=all_of("peak_heights"),
        descents=total("descents"),
        turns=all_of("turns"),
    )


def _compare(starts: Starts, run: TrainingRun, *, curves: bool) -> LawErrors:
    law = starts.law
    said, seen = law.half_times, run.jacobian_half_times
    learned = ~law.trapped & np.isfinite(said)
    off = (said - seen)[learned]
    # A concept may be there before the first step; then nothing but 0 is right.
    error = np.where(np.isnan(off), np.inf, np.abs(off) / np.maximum(seen[learned], 1.0))
    missing = np.isnan(seen)
    traps = (law.trapped & missing, law.trapped & ~missing, learned & missing)
    swing = predict_swing_batch(
        starts.signal,
        starts.W0,
        starts.eta,
        "gd",
        test_point=np.stack([one.task.test_point for one in starts.settings]),
        swing=SWING,
    )
    same = swing.descents == run.descents(SWING)
    open_ = swing.undecided
    descents = (int((same & ~open_).sum()), int((~same & ~open_).sum()), int(open_.sum()))
    peaks: list[tuple[float, float]] = []
    turns: list[float] = []
    if curves:
        for place in range(len(starts)):
            _compare_curve(starts, run, place, peaks, turns)
    both = np.array(peaks).reshape(-1, 2)
    return LawErrors(
        len(starts),
        error,
        off,
        (int(traps[0].sum()), int(traps[1].sum()), int(traps[2].sum())),
        both[:, 0],
        both[:, 1],
        descents,
        np.array(turns),
    )


def _compare_curve(
    starts: Starts,
    run: TrainingRun,
    place: int,
    peaks: list[tuple[float, float]],
    turns: list[float],
) -> None:
    setting = starts.settings[place]
    schedule = predict(setting.task, starts.W0[place], eta=starts.eta[place], dynamics="gd")
    said = {(event.entry, event.event): event.time for event in schedule.events}
    for (entry, name), time in said.items():
        # A peak at the end of the run is not over yet.
        if name == "peak" and 0 < time < 0.98 * run.steps[-1]:
            height = said[entry, "peak height"]
            step, seen = peak_of(run.steps, np.abs(run.jacobian[place, :, entry[0], entry[1]]))
            # Seen at the start alone, there is no peak to be near.
            late = abs(time / step - 1) if step else math.inf
            peaks.append((late, abs(height / seen - 1)))
    wanted = [event for event in schedule.events if event.event.startswith("loss ")]
    # The law's list has the swings of a thousandth, and neither start nor end.
    found = run.extrema(place, 1e-3)[1:-1]
    if [event.event for event in wanted] == [f"loss {kind}" for _, _, kind in found]:
        pairs = zip(wanted, found, strict=True)
        turns += [abs(event.time / step - 1) for event, (step, _, _) in pairs]


def peak_of(steps: NDArray[np.int64], values: Floats) -> tuple[float, float]:
    """Where a recorded curve is largest, by the parabola through three neighbours.

    Examples
    --------
    >>> peak_of(np.arange(0, 50, 5), -(np.arange(0, 50, 5) - 21.0) ** 2)
    (21.0, 0.0)
    """
    place = int(values.argmax())
    if not 0 < place < len(values) - 1 or len(set(np.diff(steps[place - 1 : place + 2]))) > 1:
        return float(steps[place]), float(values[place])
    left, top, right = values[place - 1 : place + 2].tolist()
    bend = left - 2 * top + right
    move = 0.5 * (left - right) / bend if bend else 0.0
    stride = float(steps[place] - steps[place - 1])
    return float(steps[place] + move * stride), float(top - 0.25 * (left - right) * move)
