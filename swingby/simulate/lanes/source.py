r"""The texts of a step of all lanes of a tile, and of a look at them, for a fixed d.

The loop over lanes is the innermost one and its body has no branch, so a compiler turns it into
vector instructions, with every entry of W in a register where they suffice. The texts are made
from d and flags alone.
"""

from __future__ import annotations

from itertools import combinations_with_replacement

from swingby.simulate.jump_coefficients import kept_order, threshold
from swingby.simulate.kernels import LEARNED
from swingby.simulate.lanes.rows import Rows, row, rows
from swingby.simulate.pivot_kernels import PIVOT_ROUNDING
from swingby.simulate.step_source import LANES, change, place

#: |w_kk| of a concept that is not learned in a lane that has settled.
TINY = 1e-17
#: x_kk from which on factors of two go to m_k.
LARGE = 2.0**200


def steps_source(d: int, *, gd: bool, scaled: bool, watched: bool) -> str:
    """The text of a function that takes steps of all lanes of a tile.

    Parameters
    ----------
    d : int
    gd : bool
        The map gd, else euler.
    scaled : bool
        W is held as D X D: every product over k carries ``square[k]``.
    watched : bool
        Descents of the test loss are counted, and the largest off-diagonal entry is kept.

    Returns
    -------
    str
        A function ``steps(tile, count)``; the tile is flat, see :class:`Rows`. It needs a
        function ``fma(a, b, c)``, a b + c rounded once: where products and sums are fused is
        written down and not left to the compiler, so every lane has the same bits in any company.
    """
    at = rows(d, watched=watched)
    body = [f"r{i} = {row(at.rates + i)}" for i in range(d)]
    body += [f"w{i}_{j} = {row(place(d, i, j))}" for i, j in _pairs(d)]
    if scaled:
        body += [f"s{i} = {row(at.square + i)}" for i in range(d)]
    body += change(d, gd=gd, scaled=scaled)
    for i, j in _pairs(d):
        body.append(f"{row(place(d, i, j))} = v{i}_{j}")
        if i == j:
            body.append(f"b = 0.0 if v{i}_{i} >= {row(at.bar + i)} else {row(at.below + i)}")
            body += [f"{row(at.below + i)} = b", f"{row(at.waited + i)} += b"]
    if watched:
        body += _watch(d, at, scaled=scaled)
    return _function("steps(tile, count)", [" for n in range(count):"], body)


def _watch(d: int, at: Rows, *, scaled: bool) -> list[str]:
    """The test loss of W = v, one step of its zigzag filter, and the largest entry i < j."""
    lines = [f"x{i} = {row(at.point + i)}" for i in range(d)]
    lines += [f"m{i} = {row(at.root + i)}" for i in range(d) if scaled]
    lines += [f"y{i} = {f'm{i} * x{i}' if scaled else f'x{i}'}" for i in range(d)]
    total = ""
    for i in range(d):
        terms = f"v0_{i} * y0"
        for j in range(1, d):
            terms = f"fma(v{min(i, j)}_{max(i, j)}, y{j}, {terms})"
        lines.append(f"q{i} = {f'fma(m{i}, {terms}, -x{i})' if scaled else f'{terms} - x{i}'}")
        total = f"fma(q{i}, q{i}, {total})" if total else f"q{i} * q{i}"
    heading, low, high = row(at.heading), row(at.low), row(at.high)
    lines += [
        f"loss = 0.5 * ({total})",
        f"heading, swing, low, high = {heading}, {row(at.swing)}, {low}, {high}",
        "low = loss if (loss < low) & (heading <= 0.0) else low",
        "high = loss if (loss > high) & (heading >= 0.0) else high",
        "rose = (loss - low >= swing) & (heading <= 0.0)",
        "fell = (high - loss >= swing) & (heading >= 0.0)",
        f"{high} = loss if rose else high",
        f"{low} = loss if fell else low",
        "heading = -1.0 if fell else heading",
        f"{heading} = 1.0 if rose else heading",
        f"{row(at.descents)} += 1.0 if fell else 0.0",
        f"t = {row(at.transient)}",
    ]
    for i, j in _pairs(d):
        if i != j:
            size = f"abs(v{i}_{j} * (m{i} * m{j}))" if scaled else f"abs(v{i}_{j})"
            lines += [f"u = {size}", "t = u if u > t else t"]
    return [*lines, f"{row(at.transient)} = t"]


def look_source(d: int, *, gd: bool, watched: bool) -> str:
    """The text of a function that says what is due in each lane.

    Parameters
    ----------
    d : int
    gd, watched : bool
        As for :func:`steps_source`.

    Returns
    -------
    str
        A function ``look(tile, skip, rest)`` that fills the rows from `loaded` on; `skip` is 1.0
        where lanes may jump and else 0.0, `rest` where they end once they have settled. Pivots of
        LDL^T are formed in the order of the concepts as given; one that is not clearly positive
        is to be looked at again in descending order of a.
    """
    at = rows(d, watched=watched)
    every = list(_pairs(d))
    body = [f"p{i}_{j} = {row(place(d, i, j))}" for i, j in every]
    # 0 for a finite number, nan for any other.
    body.append("f = " + " + ".join(f"p{i}_{j} * 0.0" for i, j in every))
    body += ["infinite = 0.0 if f == 0.0 else 1.0", "ready, settled, large = 1.0, 1.0, 0.0"]
    reach = threshold(kept_order(d, True))
    for k in range(d):
        body += [
            f"s, w = {row(at.square + k)}, p{k}_{k} * {row(at.square + k)}",
            # A concept without a signal of its own stays where it is.
            f"free = 1.0 if {row(at.rates + k)} == 0.0 else 0.0",
            f"near = 1.0 if abs(w - 1.0) <= {reach!r} else free",
            # Growth over as many steps as a jump has to save to be worth its price.
            f"grown = 1.0 + {row(at.rates + k)}",
            *["grown = grown * grown if grown < 1e150 else grown"] * (12 if d <= 4 else 10),
            f"ready *= 1.0 if abs(w) * grown <= {reach!r} else near",
            f"still = 1.0 if p{k}_{k} == {row(at.past + k)} else free",
            f"still = still if abs(w - 1.0) < {LEARNED!r} else free",
            f"settled *= 1.0 if abs(w) <= {TINY!r} else still",
            # The square is 1 where W is held as it is.
            f"big = 1.0 if abs(p{k}_{k}) > {LARGE!r} else 0.0",
            "large += big if s < 1.0 else 0.0",
        ]
    for i, j in every:
        if i != j:
            squares = f"(p{i}_{j} * {row(at.square + i)}) * (p{i}_{j} * {row(at.square + j)})"
            body.append(f"ready = ready if {squares} <= {reach**2!r} else 0.0")
    body.append("doubtful = 0.0")
    if not gd:
        body += _doubt(d)
    body += [
        f"doubtful = doubtful if {row(at.lost)} == 0.0 else 0.0",
        f"{row(at.infinite)} = infinite",
        f"{row(at.ready)} = ready",
        f"{row(at.settled)} = settled",
        f"{row(at.doubtful)} = doubtful",
        f"{row(at.large)} = large",
        f"due = infinite + doubtful + large + {row(at.null)}",
        f"{row(at.due)} = due + skip * ready + rest * settled",
    ]
    return _function("look(tile, skip, rest)", [], body)


def _doubt(d: int) -> list[str]:
    bar = PIVOT_ROUNDING * d
    lines = [f"size{k} = {bar!r} * abs(p{k}_{k})" for k in range(d)]
    for k in range(d):
        lines.append(f"doubtful = doubtful if p{k}_{k} > size{k} else 1.0")
        if k < d - 1:
            lines.append(f"inverse = 1.0 / p{k}_{k}")
        for i in range(k + 1, d):
            lines.append(f"factor = -p{k}_{i} * inverse")
            lines += [f"p{i}_{j} = fma(factor, p{k}_{j}, p{i}_{j})" for j in range(i, d)]
    return lines


def _function(head: str, outer: list[str], body: list[str]) -> str:
    indent = " " * (len(outer) + 1)
    inner = [f"{indent}for l in range({LANES}):", *(f"{indent} {line}" for line in body)]
    return "\n".join([f"def {head}:", *outer, *inner, ""])


def _pairs(d: int) -> list[tuple[int, int]]:
    return list(combinations_with_replacement(range(d), 2))
