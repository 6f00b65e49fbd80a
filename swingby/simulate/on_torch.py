r"""Batches as one tensor state of torch, on the CPU or a CUDA device.

Concepts are sorted by descending signal and W is held as D X D, D = diag(2^m). With
:math:`g_{ij} = \eta (a_i + a_j) x_{ij}` and :math:`Y = G D^2 X` the next X is

.. math:: \text{euler:} \quad X + \bigl(G - \tfrac12 (Y + Y^T)\bigr), \qquad
          \text{gd:} \quad X + M + M^T, \quad
          m_{ij} = (1 + \tfrac12 \eta a_j)\, c_{ij} - \tfrac14 (C D^2 G)_{ij}, \quad
          c_{ij} = \eta a_i x_{ij} - \tfrac12 y_{ij},

which is (D.2), and :math:`(I + \eta B) W (I + \eta B)`. The change is summed before it is added,
so W comes to a halt at its fixed point, and a matrix plus its transpose is exactly symmetric.

Sums are rounded in another order than in compiled code. Half-times, descents and outcomes are the
same and W agrees to 1e-12 of its largest entry, unless the dynamics amplify rounding: pivots of
W(0) far below its diagonal, eta a above 1, runs that leave the float range.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from swingby.simulate.batch import Batch, BatchRun, missing_of, outcomes
from swingby.simulate.state import choose_exponents, most_executed, most_steps

Tensor = Any

#: Steps between two looks.
BLOCK = 256
#: Up to this d the run is the last axis in memory, so that inner loops go over runs.
SMALL = 8
#: A jump leaves out terms of second order below this part of what they add to.
NEGLECTED = 1e-17


#: The runs under way; the first axis of every tensor is the run. owner: its place in the piece;
#: rates: eta a; goal: w_kk at rest, nan for anywhere; swing: what counts as a descent; below: 1
#: until w_kk reaches 1/2; waited: steps for which it has not; past: x_kk one step before a look;
#: lost: W is not positive semidefinite. Of the zigzag filter of `events.turning_points`: extremes,
#: the lowest and minus the highest test loss since the last turn; heading; descents.
Runs = namedtuple(
    "Runs",
    "owner stop rates goal point swing X m below waited past extremes heading transient descents"
    " step executed lost diverged",
)


#: How runs are taken along; `quiet` steps lie between two projections of null pivots.
Course = namedtuple("Course", "gd watched rest skip quiet")


def run_on_device(
    place: Any, batch: Batch, steps: int | None, dynamics: str, **how: Any
) -> BatchRun:
    """Run a piece of a batch; `swing`, `skip` and `stop` are those of ``batch_piece.run_piece``."""
    import torch

    total, gd, swing = len(batch.eta), dynamics == "gd", how["swing"]
    order = np.argsort(-batch.signal, axis=1, kind="stable")

    def there(values: Any) -> Tensor:
        return _laid(torch.from_numpy(np.array(values)).to(place))

    def sort(values: Any, by: Any = order) -> Any:
        if values.ndim == 2:
            return np.take_along_axis(values, by, 1)
        return values[np.arange(total)[:, None, None], by[:, :, None], by[:, None, :]]

    # Halves, lest the sum overflow.
    M = sort(batch.W0 / 2 + batch.W0.swapaxes(1, 2) / 2) * batch.mantissa[:, None, None]
    diagonal, shift = M.diagonal(axis1=1, axis2=2), batch.exponent[:, None]
    m = choose_exponents(diagonal, batch.exponent)
    moved = (shift[:, :, None] - m[:, :, None] - m[:, None, :]).clip(-3000, 3000)
    X, m = there(np.ldexp(M, moved.astype(np.int32))), there(m)
    # Above 1e-9 w_kk a pivot is positive beyond doubt.
    pivots = [left[:, k, k] for k, left in _eliminated(X, 0.0 * X[:, 0])]
    unclear = ~(torch.stack(pivots, 1) > 1e-9 * _diagonal(X)).all(1)
    missing = missing_of(batch, unclear.cpu().numpy(), dynamics)
    stop, positive = np.full(total, steps or 0), diagonal > 0
    if steps is None:
        logs = positive * (np.log(np.where(positive, diagonal, 1)) + shift * math.log(2))
        stop = most_steps(batch.signal, batch.eta, logs.min(axis=1, initial=0.0), dynamics)
        # Whole blocks, because a run may only come to rest at a look.
        stop = -(-stop // BLOCK) * BLOCK
    rates, goal = batch.eta[:, None] * batch.signal, np.where(batch.signal > 0, ~missing, np.nan)
    fixed = np.arange(total), stop, sort(rates), sort(goal), sort(batch.point)
    below, zeros = (_diagonal(X) < 0.5 * _power(-2 * m)).double(), np.zeros(total)
    counts = [there(values) for values in (zeros, zeros, *np.zeros((3, total), np.int64))]
    extremes, flags = there(np.full((total, 2), np.inf)), [there(zeros > 0) for _ in range(2)]
    moving = X, m, below, below - 1, math.nan * below, extremes, *counts, *flags
    runs = Runs._make((*map(there, fixed), extremes[:, :1].clone(), *moving))
    if swing > 0:
        _make_watch(runs)()
        # A loss of zero has nothing to descend from.
        runs.swing.copy_((swing * extremes[:, :1]).where(extremes[:, :1] > 0, math.inf))
    ends = _rows(runs, runs.step >= 0)
    # What rounding makes of a null pivot grows by at most 1e4 between two projections.
    quiet = max(1, int(math.log(1e4) / 2 / math.log1p(max(0.074, float(runs.rates.max())))))
    # A shorter block comes first, so that all runs end where a block does.
    first, null = ((steps or 0) - 1) % BLOCK + 1, (runs.goal == 0).any(1) & gd
    for some, every in ((~null, 0), (null, quiet)):
        course = Course(gd, swing > 0, steps is None, how["skip"], every)
        _run(_rows(runs, some), course, first, ends, how["stop"])
    last, back = Runs(*(values.cpu().numpy() for values in ends)), np.argsort(order, axis=1)
    shift = (last.m[:, :, None] + last.m[:, None, :]).clip(-3000, 0).astype(np.int32)
    W = sort(np.ldexp(last.X, shift), back)
    half_times = sort(np.where(last.below == 0, last.waited + 1, np.nan), back)
    found = outcomes(W, half_times, last.diverged, last.lost, batch.signal > 0, missing)
    return BatchRun(half_times, found, W, last.step, last.executed, last.descents, last.transient)


def _run(runs: Runs, course: Course, count: int, ends: Runs, halt: Callable[[], bool]) -> None:
    """Run until all have ended, and remove those that have."""
    while len(runs.owner):
        if halt():
            raise KeyboardInterrupt
        if course.skip:
            _jump(runs, course)
        if not course.gd:
            runs.lost.logical_or_(_indefinite(runs.X))
        over = (runs.step >= runs.stop) | runs.diverged
        if course.rest:
            over |= _at_rest(runs) | (runs.executed >= most_executed(runs.X.shape[1]))
        if over.any():
            ended, runs = _rows(runs, over), _rows(runs, ~over)
            _put(ends, ended.owner, ended)
        # Factors of two go from x_kk to m_k, exactly, before x_kk overflows.
        rise = (-runs.m).clamp(max=100) * (_diagonal(runs.X).abs() > 2.0**200)
        runs.X.mul_(_power(-rise)[:, :, None]).mul_(_power(-rise)[:, None, :])
        runs.m.add_(rise)
        _advance(runs, course, count)
        count = BLOCK


def _advance(runs: Runs, course: Course, count: int) -> None:
    """Take `count` steps of all runs; those that leave the float range stay at their last one."""
    before, step = _rows(runs, runs.step >= 0), _make_step(runs, course)
    for n in range(1, count + 1):
        if n == count:
            runs.past.copy_(_diagonal(runs.X))
        step()
        if course.quiet and (n % course.quiet == 0 or n == count):
            _project_null(runs)
    runs.step.add_(count)
    runs.executed.add_(count)
    left = ~runs.X.isfinite().flatten(1).all(1)
    if left.any():
        again = _rows(before, left)
        again.diverged.fill_(count == 1)
        if count > 1:
            # Half as far; the next block goes on from there where that was finite.
            _advance(again, course, count // 2)
        _put(runs, left, again)


def _make_step(runs: Runs, course: Course) -> Callable[[], None]:
    """One step of all runs, counted and watched; it allocates nothing of the size of X."""
    import torch

    X, diagonal, square = runs.X, _diagonal(runs.X), _power(2 * runs.m)[:, :, None]
    row, column = runs.rates[:, :, None], runs.rates[:, None, :]
    sums, half_more, bar = row + column, 1 + column / 2, 0.5 * _power(-2 * runs.m)
    scaled = bool((runs.m < 0).any())
    G, C, Y, Z = (torch.empty_like(X) for _ in range(4))
    watch = _make_watch(runs) if course.watched else (lambda: None)

    def product(left: Tensor, right: Tensor) -> None:
        """The product of `left`, D^2 and `right` into Y."""
        right = torch.mul(square, right, out=Z) if scaled else right
        if X.shape[1] > SMALL:
            torch.bmm(left, right, out=Y)
            return
        torch.mul(left[:, :, 0, None], right[:, None, 0], out=Y)
        for k in range(1, X.shape[1]):
            Y.addcmul_(left[:, :, k, None], right[:, None, k])

    def step() -> None:
        torch.mul(sums, X, out=G)
        product(G, X)
        if course.gd:
            torch.mul(row, X, out=C).sub_(Y, alpha=0.5)
            product(C, G)
            C.mul_(half_more).sub_(Y, alpha=0.25)
            torch.add(C, C.mT, out=G)
        else:
            G.sub_(torch.add(Y, Y.mT, out=Z), alpha=0.5)
        X.add_(G)
        runs.below.mul_(diagonal < bar)
        runs.waited.add_(runs.below)
        watch()

    return step


def _make_watch(runs: Runs) -> Callable[[], None]:
    """One look at the test loss 1/2 |W x - x|^2 and at entries off the diagonal, of all runs."""
    X, extremes, heading, root = runs.X, runs.extremes, runs.heading, _power(runs.m)
    weights, Z = (root * runs.point)[:, None, :], runs.X.clone()
    off = _laid(root[:, None, :].expand_as(X).clone())
    _diagonal(off).zero_()
    # Maxima of the loss are followed as the minima of minus the loss, side by side.
    sides = X.new_tensor([1.0, -1.0])

    def watch() -> None:
        residual = Z.copy_(X).mul_(weights).sum(2).mul_(root).sub_(runs.point)
        values = residual.square_().sum(1, keepdim=True) * (0.5 * sides)
        allowed = heading[:, None] * sides <= 0
        extremes.copy_(values.where(allowed & (values < extremes), extremes))
        turned = allowed & (values - extremes >= runs.swing)
        # After a rise the next maximum is looked for from here on, after a fall the next minimum.
        extremes.copy_(values.where(turned.flip(1), extremes))
        heading.masked_fill_(turned[:, 0], 1.0).masked_fill_(turned[:, 1], -1.0)
        runs.descents.add_(turned[:, 1])
        # One factor at a time: their product may lie below the float range where W does not.
        largest = Z.copy_(X).mul_(off).mul_(root[:, :, None]).abs_().amax((1, 2))
        runs.transient.copy_(runs.transient.maximum(largest))

    return watch


def _eliminated(X: Tensor, bar: Tensor) -> Iterator[tuple[int, Tensor]]:
    """What is left of X before each step k of LDL^T; pivots not above bar_k are passed over."""
    left = X.clone()
    for k in range(X.shape[1]):
        yield k, left
        row, pivot = left[:, k, k + 1 :], left[:, k, k, None]
        factor = (row / pivot).where(pivot > bar[:, k, None], 0.0)
        left[:, k + 1 :, k + 1 :] -= factor[:, :, None] * row[:, None, :]


def _indefinite(X: Tensor) -> Tensor:
    """Runs with a negative pivot, or with a pivot of zero whose row is not zero."""
    bar = 8 * 2.0**-52 * X.shape[1] * _diagonal(X).abs()
    found = X[:, 0, 0] != X[:, 0, 0]
    for k, left in _eliminated(X, bar):
        pivot, row = left[:, k, k], left[:, k, k + 1 :]
        slack = (_diagonal(left) + bar)[:, k + 1 :] * (pivot + bar[:, k])[:, None]
        found |= (pivot < -bar[:, k]) | ((pivot <= bar[:, k]) & (row.square() > slack).any(1))
    return found


def _project_null(runs: Runs) -> None:
    """Gradient descent keeps the rank of W: what rounding makes of null pivots is taken away."""
    X, null = runs.X, runs.goal == 0
    for k, left in _eliminated(X, null.double() / ~null):
        X[:, k, k:] -= left[:, k, k:].where(null[:, k, None], 0.0)
        X[:, k + 1 :, k] = X[:, k, k + 1 :]


def _at_rest(runs: Runs) -> Tensor:
    """Runs in which W is where it tends to, and stands still."""
    W, free = runs.X * _power(runs.m[:, :, None] + runs.m[:, None, :]), runs.goal.isnan()
    w = _diagonal(W)
    settled = ((w - 1).abs() < 1e-6) & (_diagonal(runs.X) == runs.past) | (w.abs() <= 1e-17)
    near = (W.abs() <= 2.0**-52) | free[:, :, None] | free[:, None, :]
    _diagonal(near).copy_(((w - runs.goal).abs() <= 1e-6) | free)
    return (settled | (runs.rates == 0)).all(1) & near.flatten(1).all(1)


def _jump(runs: Runs, course: Course) -> None:
    """Many steps at once where V = W - P, P = 1 on learned concepts, is linear to rounding.

    There v_ij has its own factor; terms v_il v_lj are geometric as well, so both ends tell enough.
    """
    w = _diagonal(runs.X) * _power(2 * runs.m)
    learned = (w - 1).abs() <= 1e-10
    near = (learned | (w.abs() <= 10 * NEGLECTED)).all(1) & (runs.stop - runs.step >= BLOCK)
    if course.rest:
        # Rounding decides where W comes to rest: these steps have to be taken.
        near &= ((runs.goal == 1) & ~learned).any(1)
    at = near.nonzero()[:, 0]
    learned, part = learned[at], _rows(runs, at)
    left, rates = (part.stop - part.step).double()[:, None, None], part.rates
    one, two = learned[:, :, None], learned[:, None, :]
    signed = rates.where(~learned, -rates)
    change = (signed[:, :, None] + signed[:, None, :]) * (1 - (one != two) / 2)
    if course.gd:
        change += (rates[:, :, None] * rates[:, None, :]).where(~(one | two), 0.0)
    rate = change.log1p() / math.log(2)
    P = _power(-2 * part.m).where(learned, 0.0).diag_embed()
    V = part.X - P
    size = V.abs().log2() + (part.m[:, :, None] + part.m[:, None, :])
    # w_kk of a learned concept neither moves other entries nor is moved by less than rounding.
    onto, pace = size.clone(), rate.clone()
    for values, number in ((size, -math.inf), (onto, 0.0), (pace, 0.0)):
        _diagonal(values).masked_fill_(learned, number)
    fastest = rates.amax(1)[:, None, None]
    ok, longest = (change > -1).flatten(1).all(1), left[:, 0, 0]
    for k in range(learned.shape[1]):
        term = size[:, :, k, None] + size[:, k, None, :]
        slope = rate[:, :, k, None] + rate[:, k, None, :] - pace
        # A geometric sum: so many times its largest term.
        many = 5 * fastest * (1 + fastest) / (slope.abs() * math.log(2)).maximum(1 / left)
        excess = (term - onto + (many / NEGLECTED).log2()).where(term > -math.inf, -math.inf)
        # Two learned concepts follow the others, and within 60 bits forget what they were.
        follow = one & two & ~learned[:, k, None, None]
        ok &= ((excess <= 0) | follow).flatten(1).all(1)
        until = (left - 60 / slope).where(follow, -excess / slope)
        until = until.where((slope > 0) & (term > -math.inf), math.inf)
        longest = longest.minimum(until.flatten(1).amin(1))
    n = left[:, 0, 0].where(longest >= left[:, 0, 0], (longest / BLOCK).floor() * BLOCK)
    grown = n[:, None, None] * rate
    rise = (_diagonal(grown + size) / 2 - part.m).floor().clamp(min=0).minimum(-part.m)
    X = V * (grown - rise[:, :, None] - rise[:, None, :]).exp2() + P
    part.X.copy_((X + X.mT) / 2)
    part.m.add_(rise.long())
    part.waited.add_(part.below * n[:, None])
    part.step.add_(n.long())
    if course.watched:
        # Entries move monotonically and the loss stays, so the landing is enough.
        _make_watch(part)()
    ok &= (n > 0) & X.isfinite().flatten(1).all(1)
    _put(runs, at[ok], _rows(part, ok))


def _diagonal(X: Tensor) -> Tensor:
    return X.diagonal(dim1=1, dim2=2)


def _power(exponent: Tensor) -> Tensor:
    """2^exponent by its bits, so exactly: 0 below the float range and inf above."""
    bits = (exponent.clamp(-1023, 1024) + 1023) << 52
    return bits.view(bits.double().dtype)


def _laid(values: Tensor) -> Tensor:
    """The same values in the order in memory that is fast."""
    if values.dim() == 1 or values.shape[-1] > SMALL:
        return values.contiguous()
    return values.movedim(0, -1).contiguous().movedim(-1, 0)


def _rows(runs: Runs, at: Tensor) -> Runs:
    return Runs(*(_laid(values[at]) for values in runs))


def _put(runs: Runs, at: Tensor, changed: Runs) -> None:
    for values, new in zip(runs, changed, strict=True):
        values[at] = new
