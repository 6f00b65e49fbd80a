r"""The text of one step of the maps for a fixed d, without loops over concepts.

A tile holds :data:`LANES` trajectories; a row of it holds one number of each. The loop over lanes
is the innermost one and its body has no branch, so a compiler turns it into vector instructions,
with every entry of W in a register where they suffice. With
:math:`g_{ij} = \eta (a_i + a_j) w_{ij}`, :math:`y_{ij} = \sum_k g_{ik} w_{kj}` and
:math:`c_{ij} = \eta a_i w_{ij} - \tfrac12 y_{ij}` the next entry is

.. math:: \text{euler:} \quad w_{ij} + g_{ij} - \tfrac12 (y_{ij} + y_{ji}), \qquad
          \text{gd:} \quad w_{ij} + c_{ij} + c_{ji} + \eta a_j c_{ij}
          - \tfrac12 \textstyle\sum_k c_{ik} g_{kj},

which is (D.2), and :math:`(I + \eta B) W (I + \eta B)`. The text is made from d and two flags
alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement

#: Up to this dimension steps of lanes are written out without loops; compiling them takes 2 s at
#: d = 8.
WRITTEN_OUT = 8
#: The same for single trajectories: from six concepts on, rows in vectors are faster.
SCALARS_UP_TO = 5
#: Most steps between two looks where a component is lacking: each look puts back to zero what
#: rounding makes of it.
BLOCK = 64
#: Steps between two looks at the events, attempts to jump, and renormalisations, where nothing is
#: lacking: in lanes, and up to SCALARS_UP_TO in single runs.
LONG_BLOCK = 256
#: Trajectories in a tile.
LANES = 32


def place(d: int, i: int, j: int) -> int:
    """The number of entry (i, j) of a symmetric matrix: rows of the upper triangle in turn.

    Parameters
    ----------
    d, i, j : int
        Indices from 0, in any order.

    Returns
    -------
    int

    Examples
    --------
    >>> [place(3, i, j) for i in range(3) for j in range(i, 3)]
    [0, 1, 2, 3, 4, 5]
    """
    first, second = min(i, j), max(i, j)
    return first * d - first * (first - 1) // 2 + second - first


def single_source(d: int, *, gd: bool, scaled: bool) -> str:
    r"""The text of a function that takes steps of one trajectory.

    A single trajectory waits for the longest chain of operations, so euler is written as
    :math:`w_{ij} + (g_{ij} - \sum_k \tfrac12 \eta (a_i + a_j + 2 a_k) w_{ik} w_{kj})`, with
    constant factors, and the sum in two halves.

    Parameters
    ----------
    d : int
    gd, scaled : bool
        As for :func:`change`.

    Returns
    -------
    str
        A function ``steps(numbers, block, count, length)``: numbers has the entries of X,
        then eta a_k, then the squares; block, of d^2 rows of the given length, takes x_ij after
        step n at place n of row ``i d + j``, i <= j.
    """
    entries = d * (d + 1) // 2
    begin = [f"{_w(i, j)} = numbers[{place(d, i, j)}]" for i, j in _pairs(d)]
    begin += [f"r{i} = numbers[{entries + i}]" for i in range(d)]
    if scaled:
        begin += [f"s{i} = numbers[{entries + d + i}]" for i in range(d)]
    if gd:
        body = change(d, gd=True, scaled=scaled)
    else:
        for i, j in _pairs(d):
            begin.append(f"a{i}_{j} = r{i} + r{j}")
            for k in range(d):
                square = f" * s{k}" if scaled else ""
                begin.append(f"f{i}_{j}_{k} = -0.5 * (a{i}_{j} + 2.0 * r{k}){square}")
        body = []
        for i, j in _pairs(d):
            terms = [(f"f{i}_{j}_{k}", f"({_w(i, k)} * {_w(k, j)})") for k in range(d)]
            middle = (d + 1) // 2
            total = _chain(terms[:middle], f"a{i}_{j} * {_w(i, j)}")
            if d > 1:
                total = f"({total} + {_chain(terms[middle:])})"
            body.append(f"v{i}_{j} = {_w(i, j)} + {total}")
    for i, j in _pairs(d):
        body += [f"{_w(i, j)} = v{i}_{j}", f"block[{i * d + j} * length + n] = v{i}_{j}"]
    return "\n".join(
        [
            "def steps(numbers, block, count, length):",
            *(f" {line}" for line in begin),
            " for n in range(count):",
            *(f"  {line}" for line in body),
            "",
        ]
    )


def change(d: int, *, gd: bool, scaled: bool) -> list[str]:
    """Lines that make the next entries v from w, r = eta a, and s, the squares.

    Parameters
    ----------
    d : int
    gd : bool
        The map gd, else euler.
    scaled : bool
        W is held as D X D: every product over k carries ``s[k]``.

    Returns
    -------
    list of str
    """
    lines = [f"{_g(i, j)} = (r{i} + r{j}) * {_w(i, j)}" for i, j in _pairs(d)]
    if scaled:
        every = [(i, j) for i in range(d) for j in range(d)]
        lines += [f"z{i}_{j} = s{i} * {_w(i, j)}" for i, j in every]
        lines += [f"h{i}_{j} = s{i} * {_g(i, j)}" for i, j in every if gd]

    def y(i: int, j: int) -> str:
        return _chain((_g(i, k), f"z{k}_{j}" if scaled else _w(k, j)) for k in range(d))

    if gd:
        lines += [
            f"c{i}_{j} = fma(-0.5, {y(i, j)}, r{i} * {_w(i, j)})"
            for i in range(d)
            for j in range(d)
        ]
    for i, j in _pairs(d):
        if gd:
            total = _chain((f"c{i}_{k}", f"h{k}_{j}" if scaled else _g(k, j)) for k in range(d))
            change = f"(c{i}_{j} + c{j}_{i}) + fma(-0.5, {total}, r{j} * c{i}_{j})"
            lines.append(f"v{i}_{j} = {_w(i, j)} + ({change})")
        elif i == j:
            lines.append(f"v{i}_{j} = ({_w(i, j)} + {_g(i, j)}) - {y(i, i)}")
        else:
            # Two sums side by side: a single trajectory waits for the longest one.
            both = f"{y(i, j)} + {y(j, i)}"
            lines.append(f"v{i}_{j} = fma(-0.5, {both}, {_w(i, j)} + {_g(i, j)})")
    return lines


def _pairs(d: int) -> list[tuple[int, int]]:
    return list(combinations_with_replacement(range(d), 2))


def _w(i: int, j: int) -> str:
    return f"w{min(i, j)}_{max(i, j)}"


def _g(i: int, j: int) -> str:
    return f"g{min(i, j)}_{max(i, j)}"


def _chain(factors: Iterable[tuple[str, str]], total: str = "") -> str:
    """A sum of products, in this order, each rounded once together with its sum."""
    for first, second in factors:
        total = f"fma({first}, {second}, {total})" if total else f"{first} * {second}"
    return total
