"""Which numbers of a trajectory a tile of lanes holds, and where."""

from __future__ import annotations

from typing import NamedTuple

from swingby.simulate.step_source import LANES


class Rows(NamedTuple):
    r"""Where the rows of a tile begin; a row has one number for each lane.

    What steps change:

    - X: entries of the symmetric matrix, by :func:`swingby.simulate.step_source.place`;
    - below (d): 1 as long as w_kk has not reached 1/2, then 0; waited (d): steps for which it has
      not;
    - low, high, heading: the zigzag filter of :func:`swingby.simulate.events.turning_points` over
      the test loss; descents: how often it has fallen; transient: the largest \\|w_ij\\|, i and j
      different. They are there only where trajectories are watched.

    What looks and jumps change, up to `changing`: past (d): x_kk one step before; rates (d): eta
    a_k; square (d): 2^(2 m_k), of W = D X D; bar (d): what x_kk has to reach; point (d): the test
    point; root (d): 2^(m_k); swing: by how much the test loss has to fall; null: 1 where a pivot
    is kept at zero; lost: 1 where W was seen not to be positive semidefinite.

    What a look finds, from `loaded` on: infinite, ready (for a jump), settled, doubtful,
    large, due; 0 for no.
    `end`: how many rows there are.
    """

    X: int
    below: int
    waited: int
    low: int
    high: int
    heading: int
    descents: int
    transient: int
    changing: int
    past: int
    rates: int
    square: int
    bar: int
    point: int
    root: int
    swing: int
    null: int
    lost: int
    loaded: int
    infinite: int
    ready: int
    settled: int
    doubtful: int
    large: int
    due: int
    end: int


def rows(d: int, *, watched: bool = False) -> Rows:
    """The rows of a tile, all in one array, so that a compiler knows that they do not overlap.

    Parameters
    ----------
    d : int
    watched : bool
        With the rows of the test loss.

    Returns
    -------
    Rows
    """
    extra = int(watched)
    sizes = {
        "X": d * (d + 1) // 2,
        "below": d,
        "waited": d,
        **dict.fromkeys(("low", "high", "heading", "descents", "transient"), extra),
        "changing": 0,
        **dict.fromkeys(("past", "rates", "square", "bar"), d),
        **dict.fromkeys(("point", "root"), extra * d),
        "swing": extra,
        **dict.fromkeys(("null", "lost"), 1),
        "loaded": 0,
        **dict.fromkeys(("infinite", "ready", "settled", "doubtful", "large", "due"), 1),
        "end": 0,
    }
    begins, total = {}, 0
    for name, size in sizes.items():
        begins[name] = total
        total += size
    return Rows(**begins)


def row(number: int) -> str:
    """The text for the number of one lane in a row.

    Parameters
    ----------
    number : int

    Returns
    -------
    str
    """
    return f"tile[{number * LANES} + l]"
