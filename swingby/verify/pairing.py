"""Which predicted turn of the loss belongs to which observed one."""

from __future__ import annotations

import math

from swingby.verify.schedule import Event


def pair_turning_points(
    predicted: list[Event], observed: list[tuple[float, str]]
) -> list[tuple[Event, float]]:
    """Pair turning points in order, minimum with minimum and maximum with maximum.

    Minima and maxima alternate on both sides, so the pairing is a shift by an even number of
    places; the shift with the smallest total distance in log time is taken.

    Parameters
    ----------
    predicted : list of Event
        ``loss min`` and ``loss max``, by time.
    observed : list of (step, kind)
        By step.

    Returns
    -------
    list of (Event, float)
        The observed step is nan where only a prediction exists; the predicted time is nan
        where only an observation does.
    """
    if not predicted and not observed:
        return []

    def cost(shift: int) -> float:
        total = 0.0
        for place, event in enumerate(predicted):
            other = place + shift
            if 0 <= other < len(observed):
                if event.event != f"loss {observed[other][1]}":
                    return math.inf
                total += abs(math.log(max(event.time, 1) / max(observed[other][0], 1)))
            else:
                total += 1.0
        missing = sum(not 0 <= place - shift < len(predicted) for place in range(len(observed)))
        return total + missing

    shifts = range(-len(predicted), len(observed) + 1)
    best = min(shifts, key=cost)
    pairs = []
    for place in range(min(0, -best), max(len(predicted), len(observed) - best)):
        left = predicted[place] if 0 <= place < len(predicted) else None
        right = observed[place + best] if 0 <= place + best < len(observed) else None
        if left is None and right is not None:
            left = Event((-1, -1), f"loss {right[1]}", math.nan)
        if left is not None:
            pairs.append((left, right[0] if right is not None else math.nan))
    return pairs
