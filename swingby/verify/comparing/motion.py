"""Whether a recorded trajectory moves as its setting says, and if not, as what it moves.

A step of the stated map from a recorded W has to give the next one. Pieces of the trajectory are
compared with it, each long enough for W to move. Where they differ, the order of rows and concepts,
the pace, the dynamics and the rates eta a_k that fit best say what is mistaken. Noise of training
makes the misfit larger, but no other setting fit better; bounds below were chosen on networks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from swingby.errors import MISSING, InvalidInput
from swingby.simulate.steps import steps_of_many
from swingby.theory.growth import DYNAMICS
from swingby.theory.numbers import Booleans, Floats, Integers
from swingby.verify.comparing.pieces import (
    EXACT,
    LONGEST,
    MOVED,
    Pieces,
    fit,
    pieces_of,
    spacings,
    steps_between,
)

#: Beyond noise: how much better another setting fits per piece and free number, by how much its
#: pace or signal differs, how much better it is than a plainer one; the misfit of no motion at all.
_CLEARLY_BETTER, _FAR, _PLAINER, _NOT_AT_ALL = 30.0, 0.3, 1.25, 1.0
#: The share of the pieces that a mistake shows in, at least; and of those that move with the map,
#: whatever the noise.
_MOST_PIECES, _FORWARDS = 0.7, 0.6
#: Without noise: by how much a pace or signal differs, a pace beyond that of a sample of the data,
#: and the misfit of a map whose pace alone is right.
_FAR_WITHOUT_NOISE, _FAR_OF_A_SAMPLE, _NEARLY = 0.05, 0.1, 0.02
#: Steps that a row may stand for.
_MOST_STRIDE = 300
#: Gaps between rows looked at, and steps that may be missing in one.
_GAPS, _MOST_MISSING, _FEWEST = 20_000, 5000, 5
#: Relative distance of a first row from W(0) that is rounding, that is W(0) rounded for print, and
#: that noise does not explain; and how far ahead it is looked for.
_SAME, _ROUNDED, _FAR_FROM_START, _MOST_AHEAD = 1e-6, 1e-3, 0.5, 1000
#: Misfit that no noise leaves in a smooth trajectory, and its roughness as a share of the misfit.
_UNEXPLAINED, _SMOOTH = 0.1, 0.02
#: How many times as far as the map a typical piece does not move by noise.
_FARTHER = 3.0
#: Gaps between rows that are listed, and looked at for the list.
_LISTED, _LOOKED = 6, 200
#: Of W in the frame of the data, where the task has its own.
IN_DATA = (
    "is in the frame of the data, not in that of the task: "
    "give task.rotation.T @ observed @ task.rotation"
)


class Explanation(NamedTuple):
    """A setting as which a trajectory moves."""

    #: What it does, and after a colon what to give.
    text: str
    misfit: float
    #: By how much its numbers differ from those stated; inf where it is another kind of setting.
    difference: float = math.inf
    #: Numbers fitted without a theory of the mistake: these are never beyond doubt.
    fitted: int = 0
    #: The rates it amounts to; None for another order of rows.
    rates: Floats | None = None


def require_motion(
    W: Floats,
    steps: Integers,
    rates: Floats,
    dynamics: str,
    *,
    by_row: bool,
    eta: str,
    rotation: Floats | None,
) -> tuple[str, ...]:
    """Warnings about a trajectory W (n, d, d) that does not move with eta a = `rates` (d,).

    `by_row`: its steps count its rows. `eta`: as typed. `rotation` (d, d): from the frame of the
    task to that of its data. Raises InvalidInput where the mistake is beyond doubt.
    """
    pieces = pieces_of(W, steps, rates)
    if not len(pieces.counts) or (misfit := pieces.misfit(rates, dynamics)) < EXACT:
        return ()
    best = Explanation("", misfit)
    if rotation is not None:
        own = rotation.T @ W @ rotation
        inside = pieces_of(own, steps, rates)
        _require_stated(own, inside, steps, rates, dynamics, by_row=by_row, frame=IN_DATA)
        turned = Explanation(IN_DATA, inside.misfit(rates, dynamics))
        best = min(best, turned, key=lambda explanation: explanation.misfit)
    _require_every_row(W, steps, rates, dynamics)
    _require_stated(W, pieces, steps, rates, dynamics, by_row=by_row)
    least = best.misfit
    for order, text in _orders(W, misfit):
        ordered = pieces_of(W[order], steps, rates)
        for explanation in _explanations(ordered, rates, dynamics, by_row=by_row, order=text):
            exact, least = explanation.misfit < EXACT, min(least, explanation.misfit)
            if explanation.difference < (_FAR_WITHOUT_NOISE if exact else _FAR):
                continue
            # A sample of the data has another signal than the task, by some per cent.
            if exact and explanation.difference > _FAR_OF_A_SAMPLE and not explanation.fitted:
                raise _mismatch(explanation.text)
            if explanation.misfit < best.misfit / _PLAINER:
                best = explanation
    unnamed = f"does not move by {dynamics} at eta = {eta} from row to row"
    smooth = _is_smooth(W, steps, rates, dynamics)
    if smooth and least > _NEARLY:
        if misfit > _UNEXPLAINED:
            raise _mismatch(f"{unnamed}: is it W of this task, dynamics and eta, at these steps?")
        return (f"observed {unnamed}",)
    gain = (misfit / max(best.misfit, EXACT) - 1) * len(pieces.counts) / max(best.fitted, 1)
    # Noise with heavy tails makes a few pieces decide; a mistake is in most of them.
    typical = best.rates is None or pieces.closer(best.rates, rates, dynamics) > _MOST_PIECES
    if _NOT_AT_ALL / 2 < misfit < math.inf:
        counts, apart = steps_between(pieces.start, pieces.start + pieces.change, rates, dynamics)
        weights = np.square(pieces.change / pieces.size).sum(axis=(1, 2))
        unexplained = float((apart.clip(0, 1e6) * weights).sum() / weights.sum())
        if unexplained < best.misfit / _CLEARLY_BETTER and len(set(counts)) > 1:
            return (f"observed {_steps_text(W, steps, rates, dynamics, exact=False)}",)
    if gain > _CLEARLY_BETTER and best.misfit < _NOT_AT_ALL / 2 and typical:
        return (f"observed {best.text}",)
    if misfit > _NOT_AT_ALL and pieces.forwards(rates, dynamics) < _FORWARDS:
        return (
            "observed moves as no U U^T of this signal does, at any pace and in any order: "
            "is it W of this task, row by row?",
        )
    return (f"observed {unnamed}",) if pieces.farther(rates, dynamics) > _FARTHER else ()


def _require_stated(
    W: Floats,
    pieces: Pieces,
    steps: Integers,
    rates: Floats,
    dynamics: str,
    *,
    by_row: bool,
    frame: str = "",
) -> None:
    """Refuse a trajectory that is a whole number of steps of another map from row to row."""
    exact = spacings(pieces, rates, dynamics)
    if not exact:
        return
    best, texts = exact[0], [frame] if frame else []
    if best.dynamics != dynamics:
        texts.append(_dynamics_text(best.dynamics))
    total = best.pace * best.stride
    rivals = [other for other in exact if other.stride and other.pace * other.stride == total]
    either = len(rivals) > 1 or (best.dynamics == "flow" and best.stride > 1)
    if best.stride > 1:
        texts.append(_stride_text(best.stride, by_row=by_row, noisy=either and best.pace == 1))
    if best.pace != 1:
        texts.append(_pace_text(best.pace))
    if best.stride:
        raise _mismatch(_together(texts))
    if text := _steps_text(W, steps, best.pace * rates, best.dynamics, exact=True):
        raise _mismatch(", and ".join([_together(texts), text] if texts else [text]))


def _steps_text(W: Floats, steps: Integers, rates: Floats, dynamics: str, *, exact: bool) -> str:
    """At which steps the first rows seem to be; empty if they are to be exact and are not."""
    rows = W[: _LOOKED + 1]
    counts, apart = steps_between(rows[:-1], rows[1:], rates, dynamics)
    if exact and (apart > EXACT).any():
        return ""
    marks = [str(mark) for mark in np.cumsum([steps[0], *counts])]
    first = int((counts != np.diff(steps[: len(rows)])).argmax())
    if first > _LISTED:
        marks[2:first] = ["..."]
    listed = ", ".join(marks[: _LISTED + 1]) + (", ..." if len(marks) > _LISTED + 1 else "")
    if exact:
        cause = "has rows that are not one step apart"
        return f"{cause}: they move as if steps = {listed}: pass steps="
    cause = "has rows that are not one step apart, or a pace that varies"
    return f"{cause}: they move as if steps were about {listed}: pass steps=, or see its eta"


def _is_smooth(W: Floats, steps: Integers, rates: Floats, dynamics: str) -> bool:
    """Whether what a map leaves unexplained from row to row is too smooth to be noise."""
    if len(W) < _FEWEST or len(set(np.diff(steps))) > 1 or not W.any(axis=(1, 2)).all():
        return False
    W = W[:_GAPS]
    rows = Pieces(W[:-1], np.diff(W, axis=0), np.diff(steps[: len(W)]))
    change = rows.change / rows.size
    if not change.any():
        return False
    # Third differences of noise alone are six times its square.
    rough = np.square(np.diff(change, 2, axis=0)).sum() / 6
    return bool(rough < _SMOOTH * rows.misfit(rates, dynamics) * np.square(change).sum())


def _mismatch(text: str) -> InvalidInput:
    return InvalidInput("observed", MISSING, f"must follow the stated dynamics, but {text}")


def _orders(W: Floats, misfit: float) -> Iterator[tuple[Integers, str]]:
    """Orders of the rows in which W may move forwards, each with what to say."""
    rows = np.arange(len(W))
    yield rows, ""
    if misfit > _NOT_AT_ALL / 2:
        yield rows[::-1], "runs backwards in time: give observed[::-1]"
        trace = W.trace(axis1=1, axis2=2)
        text = "has rows out of order: give observed[numpy.argsort(time)]"
        yield np.argsort(trace, kind="stable"), text


def _explanations(
    pieces: Pieces, rates: Floats, dynamics: str, *, by_row: bool, order: str
) -> Iterator[Explanation]:
    """Settings as which pieces move, the plainest first."""
    if order:
        yield Explanation(order, pieces.misfit(rates, dynamics))
    others = [name for name in DYNAMICS if name != dynamics and not order]
    for name in others:
        text = _dynamics_text(name)
        # Steps differ by the square of eta: noise hides which they are.
        misfit = pieces.misfit(rates, name)
        yield Explanation(text, misfit, math.inf if misfit < EXACT else 0.0)
    if pieces.misfit(rates, dynamics) < (_FAR_WITHOUT_NOISE / 2) ** 2:
        return
    # Long pieces cost much and say no more.
    short = pieces.counts <= 4 * np.median(pieces.counts)
    pieces = Pieces(pieces.start[short], pieces.change[short], pieces.counts[short])
    free = fit(pieces, dynamics)
    total = np.square(pieces.change / pieces.size).sum(axis=0).diagonal()
    moved = (total > MOVED**2 / 4) & (rates > 0)
    for concepts in _matchings(free, rates, moved):
        texts, matched = [order] if order else [], rates[concepts]
        if (concepts != np.arange(len(rates))).any():
            back = np.argsort(concepts).tolist()
            cause = "has its concepts in another order"
            texts.append(f"{cause}: give observed[:, {back}][:, :, {back}]")
            misfit = pieces.misfit(matched, dynamics)
            yield Explanation(_together(texts), misfit, rates=None if order else matched)
        stride, misfit = _stride(pieces, matched, dynamics)
        noisy = misfit > EXACT
        if stride > 1:
            text = _together([*texts, _stride_text(stride, by_row=by_row, noisy=noisy)])
            yield Explanation(text, misfit, stride - 1, 0, None if order else stride * matched)
        for whole in range(2, int(np.gcd.reduce(pieces.counts)) + 1 if not order else 0):
            if not (pieces.counts % whole).any():
                text = f"moves as if steps were {whole} times too far apart: give steps // {whole}"
                shorter = pieces._replace(counts=pieces.counts // whole)
                yield Explanation(_together([*texts, text]), shorter.misfit(matched, dynamics))
        pace = _pace(pieces, matched, dynamics, stride)
        misfit = pieces.misfit(pace * matched, dynamics)
        paced = None if order else pace * matched
        text = _together([*texts, _pace_text(pace)])
        yield Explanation(text, misfit, abs(pace - 1), 0, paced)
        for name in others if misfit < _NEARLY else []:
            pace = _pace(pieces, matched, name, pace)
            text = _together([*texts, _dynamics_text(name), _pace_text(pace)])
            yield Explanation(text, pieces.misfit(pace * matched, name), abs(pace - 1))
    if not order and moved.any() and (free[moved] > 0).all():
        ratios = free[moved] / rates[moved]
        names = [f"a_{k + 1}" for k in np.flatnonzero(moved)]
        shares = ", ".join(f"{x:.3g} {name}" for x, name in zip(ratios[:6], names, strict=False))
        text = f"moves as a task of another signal does, with {shares}: give the task trained on"
        spread = float(np.abs(ratios / np.median(ratios) - 1).max())
        yield Explanation(text, pieces.misfit(free, dynamics), spread, len(rates), free)


def _dynamics_text(name: str) -> str:
    return f'moves by dynamics="{name}": give dynamics="{name}"'


def _together(texts: list[str]) -> str:
    """Several causes and their remedies as a sentence."""
    causes, remedies = zip(*(text.split(": ", 1) for text in texts), strict=True)
    verbs = ["", *(cause.split()[0] for cause in causes)]
    said = [cause.removeprefix(f"{before} ") for cause, before in zip(causes, verbs, strict=False)]
    given = [remedies[0], *(remedy.removeprefix("give ") for remedy in remedies[1:])]
    return f"{_listed(said)}: {_listed(given)}"


def _listed(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _matchings(free: Floats, rates: Floats, moved: Booleans) -> Iterator[Integers]:
    """Orders of the concepts (d,): theirs, and that of their rates if it is another."""
    same = np.arange(len(rates))
    yield same
    by_rate = same.copy()
    by_rate[np.argsort(-free, kind="stable")] = np.argsort(-rates, kind="stable")
    if moved.all() and (rates[by_rate] != rates).any():
        yield by_rate


def _stride(pieces: Pieces, rates: Floats, dynamics: str) -> tuple[int, float]:
    """How many steps of the map each step of the pieces is, and the misfit then."""
    best, W = (1, math.inf), pieces.start
    most = int(min(_MOST_STRIDE, 2 * LONGEST / pieces.counts.max()))
    for stride in range(1, most + 1):
        W = steps_of_many(W, rates, dynamics, pieces.counts)
        rest = np.square((pieces.start + pieces.change - W) / pieces.size).sum()
        misfit = float(rest / max(np.square(pieces.change / pieces.size).sum(), 1e-300))
        if misfit < best[1]:
            best = (stride, misfit)
        if stride > 2 * best[0] + 10 or not misfit < math.inf:
            break
    return best


def _stride_text(stride: int, *, by_row: bool, noisy: bool) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(stride % 10 if stride // 10 % 10 != 1 else 0, "th")
    ordinal = f"{stride}{ending}"
    remedy = f"steps=range(0, {stride} * n, {stride}) for n rows" if by_row else f"{stride} * steps"
    if noisy:
        hint = ", eta being 2 lr on the loss (4.1)" if stride == 2 else ""
        return (
            f"moves about {stride} times as fast as eta says, or every {ordinal} step was "
            f"recorded: give eta {stride} times as large{hint}, or {remedy}"
        )
    return f"moves as if every {ordinal} step was recorded: give {remedy}"


def _pace_text(pace: float) -> str:
    hint = "; for a learning rate lr on the loss (4.1), eta is 2 lr" if 1.9 < pace < 2.1 else ""
    return f"moves {pace:.3g} times as fast as eta says: give eta {pace:.3g} times as large{hint}"


def _pace(pieces: Pieces, rates: Floats, dynamics: str, guess: float) -> float:
    """By how much the rates have to be multiplied to fit best."""
    from scipy.optimize import least_squares

    def unexplained(log_pace: Floats) -> Floats:
        return pieces.residual(math.exp(log_pace[0]) * rates, dynamics).ravel()

    # Beyond eta a = 1 no map moves like a network.
    most = math.log(max(1.0, 1.0 / float(rates.max())))
    bounds = (-math.inf, most + 1e-9)
    done = least_squares(unexplained, [min(math.log(guess), most)], bounds=bounds, max_nfev=30)
    return math.exp(done.x[0])


def require_start(
    W0: Floats,
    W: Floats,
    steps: Integers,
    rates: Floats,
    dynamics: str,
    *,
    by_row: bool,
    rotation: Floats | None,
) -> tuple[str, ...]:
    """Warnings about a first recorded matrix that W(0) does not become in steps[0] steps."""
    first, begin = W[0], int(steps[0])
    size = np.abs(first).max()
    if begin > LONGEST or not (size and W0.any()):
        return ()
    X, off = W0[None], []
    for _ in range(begin + _MOST_AHEAD):
        off.append(float(np.nan_to_num(np.abs(X[0] - first).max() / size, nan=math.inf)))
        X = steps_of_many(X, rates, dynamics, np.array([1]))
    if off[begin] < _SAME:
        return ()
    own = first if rotation is None else rotation.T @ first @ rotation
    if off[0] > _ROUNDED and np.abs(own - W0).max() < _ROUNDED * size:
        raise _mismatch(IN_DATA)
    nearest = int(np.argmin(off))
    if nearest != begin and off[nearest] < max(_SAME, off[begin] / 100):
        steps_text = f"range({nearest}, n + {nearest})" if by_row else f"steps + {nearest - begin}"
        got = f"W after {nearest} step{'s' if nearest > 1 else ''} from W(0), not after {begin}"
        raise _mismatch(f"begins with {got}: give steps={steps_text}")
    order = np.argsort(np.argsort(np.diag(W0)))
    back = np.argsort(np.diag(first))[order]
    if np.abs(first[np.ix_(back, back)] - W0).max() < _SAME * size:
        index = back.tolist()
        cause = "begins with W(0) with its concepts in another order"
        raise _mismatch(f"{cause}: give observed[:, {index}][:, :, {index}]")
    if begin == 0 and off[0] > _ROUNDED:
        cause = f"differs from W(0) in its first row by {off[0]:.2g} of its largest entry"
        raise _mismatch(f"{cause}: leave out W0 and U0, or give steps=")
    if off[begin] > _FAR_FROM_START:
        return (f"observed begins with a W far from what W0 becomes in {begin} steps",)
    return ()


def _require_every_row(W: Floats, steps: Integers, rates: Floats, dynamics: str) -> None:
    """Refuse a trajectory in which rows are missing, or stand twice, and all others follow."""
    gaps = np.diff(steps)
    size = np.abs(W[:-1]).max(axis=(1, 2))
    change = np.abs(np.diff(W, axis=0)).max(axis=(1, 2))
    looked = np.flatnonzero((gaps <= LONGEST) & (size > 0))
    if len(looked) > _GAPS:
        looked = np.sort(looked[np.argsort(-change[looked] / size[looked])[:_GAPS]])
    if not len(looked):
        return
    start, size = W[looked], size[looked]
    after = steps_of_many(start, rates, dynamics, gaps[looked])
    move = np.abs(after - start).max(axis=(1, 2)) / size
    off = np.abs(W[looked + 1] - after).max(axis=(1, 2)) / size
    twice = (change[looked] == 0) & (move > 1e-3)
    if twice.any() and not twice.all():
        row = int(looked[twice.argmax()])
        cause = f"has the same W in rows {row} and {row + 1}, and {int(twice.sum()) - 1} times more"
        raise _mismatch(f"{cause}: leave out what is repeated")
    judged = move > 1e-5
    share = off[judged] / move[judged]
    if len(share) < _FEWEST or np.quantile(share, 0.8) > 0.05:
        return
    jumps = looked[judged][share > 0.5].tolist()
    for row in jumps:
        X, target = W[row : row + 1], W[row + 1]
        least = 1e-2 * np.abs(target - W[row]).max()
        distance, count = math.inf, 0
        while count < _MOST_MISSING and not distance < least:
            count += 1
            X = steps_of_many(X, rates, dynamics, np.array([1]))
            distance = float(np.abs(X[0] - target).max())
        if not distance < least:
            continue
        others = f", and {len(jumps) - 1} more such places" if len(jumps) > 1 else ""
        cause = f"lacks rows: row {row + 1} is {count} steps after row {row}{others}"
        raise _mismatch(f"{cause}: give steps=, with the gap")
