"""Where everything lies in the working memory of the batched law: groups of rows by name.

A row holds one number of each instance of a group. Concepts are in descending order of a; (j, k)
means an entry below the diagonal, j after k, numbered by :func:`pair`.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

#: Gauss-Legendre nodes per panel, as in :func:`swingby.theory.correction.correct`.
NODES = 8
#: What `kind` means in the functions that depend on the dynamics.
EULER, GD, FLOW = 0, 1, 2
DYNAMICS = {"euler": EULER, "gd": GD, "flow": FLOW}


class Place(NamedTuple):
    """The rows of one name.

    Parameters
    ----------
    start : int
    shape : tuple of int
    shared : bool
        Whether all groups use the same rows, one after the other.
    """

    start: int
    shape: tuple[int, ...]
    shared: bool


def pair(j: int, k: int) -> int:
    """Number of the entry (j, k), j > k.

    Examples
    --------
    >>> [pair(1, 0), pair(2, 0), pair(2, 1)]
    [0, 1, 2]
    """
    return j * (j - 1) // 2 + k


def entry(i: int, k: int) -> int:
    """Number of the entry (i, k) of a symmetric matrix.

    Examples
    --------
    >>> [entry(0, 0), entry(0, 1), entry(1, 1)]
    [0, 1, 2]
    """
    i, k = max(i, k), min(i, k)
    return i * (i + 1) // 2 + k


@functools.cache
def layout(d: int) -> dict[str, Place]:
    """The rows for d concepts.

    Parameters
    ----------
    d : int

    Returns
    -------
    dict
        From names to places. Rows that are not shared count from the first row of a group.
    """
    m, components, panels = d * (d - 1) // 2, d * (d + 1) // 2, 2 * d
    own: dict[str, tuple[int, ...]] = {
        "signal": (d,),
        "matrix": (components,),
        "eta": (),
        "log_scale": (),
        # 1 where the compiled law holds; otherwise the scalar one is asked.
        "fine": (),
        # 1 where the pivots have not lost so many digits that the order of operations is seen.
        "resolved": (),
        "rate": (d,),
        "climb": (m,),
        "log_odds": (d,),
        "entry": (m,),
        "soft": (d,),
        "column": (m,),
        "unit_log": (m,),
        "power_k": (m,),
        "power_j": (m,),
        # log x_j - log x_k of neighbours among the concepts that W(0) has a component for.
        "step": (d,),
        "step_rate": (d,),
        "present": (d,),
        "learned": (d,),
        "time": (d,),
        "log_pivot": (d,),
        "canceled": (d,),
        "rounding": (d,),
        "drifted": (d,),
        "drift": (d,),
        "trapped": (d,),
        "undecided": (d,),
        "edge": (panels + 1,),
        "nodes": (),
        # An estimate of the largest size of the correction.
        "guess": (),
        # What is above is there before the quadrature.
        "size": (d,),
        "highest": (d,),
        # How large the columns of L become.
        "spread": (),
        # Whether the panels see the crossing of a concept, before and after the last sweep.
        "seen": (2, d),
        # 1 where nothing hangs on levels that a quick quadrature leaves out.
        "near": (),
        "near_level": (2, d, 4),
        "near_time": (2, d, 4),
        "crossing": (d,),
        "error": (d,),
        # 1 where more sweeps are needed, 2 where that is open.
        "more": (),
    }
    work: dict[str, tuple[int, ...]] = {
        "t": (NODES,),
        "half": (),
        "share": (NODES, d),
        "rest": (NODES, d),
        "risen": (NODES, d),
        "unit": (NODES, m),
        "inverse": (NODES, m),
        "weight": (NODES, d),
        "share_of": (NODES, m),
        "kept": (NODES, m),
        "ratio": (NODES, d),
        "speed": (NODES, components),
        "correction": (NODES, components),
        "sum": (4, components),
        "total": (d,),
        "first": (panels, d),
        "last": (panels, d),
        "first_t": (panels,),
        "last_t": (panels,),
        "time_of": (panels * NODES,),
        "level": (2, panels * NODES, d),
        # The first node after a stage, by its number.
        "stage": (),
        "waiting": (2, d),
        "place": (2, d),
    }
    places, start = {}, 0
    for name, shape in work.items():
        places[name] = Place(start, shape, shared=True)
        start += _count(shape)
    start = 0
    for name, shape in own.items():
        places[name] = Place(start, shape, shared=False)
        start += _count(shape)
    return places


def _count(shape: tuple[int, ...]) -> int:
    return functools.reduce(lambda left, right: left * right, shape, 1)


def lengths(d: int) -> tuple[int, int]:
    """Rows shared by all groups, and rows of one group."""
    found = [0, 0]
    for place in layout(d).values():
        side = 0 if place.shared else 1
        found[side] = max(found[side], place.start + _count(place.shape))
    return found[0], found[1]
