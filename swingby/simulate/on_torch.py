r"""Batches as one tensor state of torch, on the CPU or a CUDA device.

Concepts are sorted by descending signal and W is held as D X D, D = diag(2^m). With
:math:`g_{ij} = \eta (a_i + a_j) x_{ij}` and :math:`Y = G D^2 X` the next X is

.. math:: \text{euler:} \quad X + \bigl(G - \tfrac12 (Y + Y^T)\bigr), \qquad
          \text{gd:} \quad X + M + M^T, \quad
          m_{ij} = (1 + \tfrac12 \eta a_j)\, c_{ij} - \tfrac14 (C D^2 G)_{ij}, \quad
          c_{ij} = \eta a_i x_{ij} - \tfrac12 y_{ij},

which is (D.2), and :math:`(I + \eta B) W (I + \eta B)`. The change is summed before it is added,
so W comes to a halt at its fixed point, and a matrix plus its transpose is exactly symmetric.

Sums are rounded in another order than in compiled code: half-times, descents and outcomes are the
same, and W agrees to 1e-12 of its largest entry, unless the dynamics amplify rounding (pivots of
W(0) far below its diagonal, eta a above 1, runs that leave the float range).
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from swingby.errors import InvalidInput, MissingExtra
from swingby.simulate.batch_arguments import Batch, missing_of
from swingby.simulate.batch_piece import Piece, outcomes
from swingby.simulate.duration import most_executed, most_steps

Tensor = Any

#: Entries of W of all runs together on a CUDA device (170 MB), on the CPU (its caches), and runs.
CUDA_ENTRIES, CPU_ENTRIES, MOST_TOGETHER = 2**21, 2**16, 2**16
#: Steps between two looks.
BLOCK = 256
#: Up to this d the run is the last axis in memory, so that inner loops go over runs.
SMALL = 8
#: Terms of second order that a jump leaves out are below this part of what they add to.
NEGLECTED = 1e-17


def load_torch() -> Any:
    """Import torch, or say which extra it is in."""
    try:
        return importlib.import_module("torch")
    except ImportError:
        raise MissingExtra("torch", "torch") from None


def usable_device(device: object) -> tuple[Any, Any]:
    """The module torch and the device; other kinds of devices may lack float64 and are refused."""
    kind = type(device)
    known = isinstance(device, str) or (kind.__module__, kind.__name__) == ("torch", "device")
    name = str(device) if known else ""
    if not re.fullmatch(r"cpu(:0)?|cuda(:\d{1,4})?", name):
        requirement = 'must be None, "cpu", "cuda", or one CUDA device such as "cuda:1"'
        raise InvalidInput("device", device, requirement)
    torch = load_torch()
    place = torch.device(name)
    if place.type == "cuda":
        found = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if not found:
            raise InvalidInput("device", name, "needs a GPU that torch can use, and there is none")
        if place.index is not None and place.index >= found:
            raise InvalidInput("device", name, f"must be one of the {found} that torch can use")
    return torch, place


def on_device(
    device: object, dynamics: str, total: int, d: int
) -> tuple[Callable[..., Piece], list[tuple[int, int]]]:
    """What runs a piece of a batch on a device; the pieces, by their first run and the next one."""
    _, place = usable_device(device)
    if dynamics == "flow":
        raise InvalidInput(
            "dynamics", dynamics, "must be euler or gd on a device; without device the flow runs"
        )
    entries = CUDA_ENTRIES if place.type == "cuda" else CPU_ENTRIES
    size = max(1, min(MOST_TOGETHER, entries // (d * d)))
    pieces = [(first, min(first + size, total)) for first in range(0, total, size)]
    return partial(run_on_device, place), pieces


class Runs(NamedTuple):
    """The runs under way; the first axis of every tensor is the run.

    owner: its place in the piece; rates: eta a; null: concepts whose pivot stays zero; goal: w_kk
    at rest, nan for anywhere; swing: what counts as a descent; below: 1 until w_kk reaches 1/2;
    waited: steps for which it has not; past: x_kk one step before a look; lost: W is not positive
    semidefinite. Of the zigzag filter of ``events.turning_points``: extremes, the lowest and minus
    the highest test loss since the last turn; heading; descents.
    """

    owner: Tensor
    stop: Tensor
    rates: Tensor
    null: Tensor
    goal: Tensor
    point: Tensor
    swing: Tensor
    X: Tensor
    m: Tensor
    below: Tensor
    waited: Tensor
    past: Tensor
    step: Tensor
    executed: Tensor
    lost: Tensor
    diverged: Tensor
    extremes: Tensor
    heading: Tensor
    descents: Tensor
    transient: Tensor


class Course(NamedTuple):
    """How runs are taken along; `quiet` steps lie between two projections of null pivots."""

    gd: bool
    watched: bool
    rest: bool
    skip: bool
    quiet: int


def run_on_device(
    place: Any,
    batch: Batch,
    steps: int | None,
    dynamics: str,
    *,
    swing: float,
    skip: bool,
    stop: Callable[[], bool],
) -> Piece:
    """Run a piece of a batch; `stop` is asked between blocks and answered by KeyboardInterrupt."""
    import torch

    (total, d), gd = batch.signal.shape, dynamics == "gd"
    order = np.argsort(-batch.signal, axis=1, kind="stable")

    def there(values: Any) -> Tensor:
        return _laid(torch.from_numpy(np.array(values)).to(place))

    def ordered(values: Any, by: Any = order) -> Any:
        if values.ndim == 2:
            return np.take_along_axis(values, by, 1)
        return values[np.arange(total)[:, None, None], by[:, :, None], by[:, None, :]]

    # Halves, lest the sum overflow.
    M = ordered(batch.W0 / 2 + batch.W0.swapaxes(1, 2) / 2) * batch.mantissa[:, None, None]
    diagonal, shift = M.diagonal(axis1=1, axis2=2), batch.exponent[:, None]
    # Held as D X D from the start where squares of entries would underflow.
    present, size = diagonal != 0, np.frexp(diagonal)[1] + shift
    smallest = size.min(axis=1, keepdims=True, where=present, initial=2**40)
    scaled = (smallest < -400) | (shift < -900)
    m = np.where(scaled, np.minimum(0, np.where(present, size, smallest) // 2), 0)
    moved = (shift[:, :, None] - m[:, :, None] - m[:, None, :]).clip(-3000, 3000)
    X, ones, zeros = (
        there(np.ldexp(M, moved.astype(np.int32))),
        np.ones((total, d)),
        np.zeros(total),
    )
    clear = there(zeros == 0)
    for k, left in _eliminated(X, there(0 * ones)):
        # Above this a pivot is positive beyond doubt.
        clear &= left[:, k, k] > 1e-9 * X[:, k, k]
    missing = missing_of(batch, ~clear.cpu().numpy(), dynamics)
    if steps is None:
        logs = np.log(np.where(diagonal > 0, diagonal, 1)) + shift * math.log(2) * (diagonal > 0)
        end = most_steps(batch.signal, batch.eta, logs.min(axis=1, initial=0.0), dynamics)
        # Whole blocks, because a run may only come to rest at a look.
        end = -(-end // BLOCK) * BLOCK
    else:
        end = np.full(total, steps)
    runs = Runs(
        owner=there(np.arange(total)),
        stop=there(end),
        rates=there(ordered(batch.eta[:, None] * batch.signal)),
        null=there(ordered(missing & gd)),
        goal=there(ordered(np.where(batch.signal > 0, 1.0 - missing, np.nan))),
        point=there(ordered(batch.point)),
        swing=there(np.full((total, 1), np.inf)),
        X=X,
        m=there(m),
        below=there(ones),
        waited=there(ones),
        past=there(np.nan * ones),
        step=there(np.zeros(total, np.int64)),
        executed=there(np.zeros(total, np.int64)),
        lost=there(zeros > 0),
        diverged=there(zeros > 0),
        extremes=there(np.full((total, 2), np.inf)),
        heading=there(zeros),
        descents=there(zeros),
        transient=there(zeros),
    )
    runs.below.copy_(_diagonal(X) < 0.5 * _power(-2 * runs.m))
    runs.waited.copy_(runs.below - 1)
    if swing > 0:
        _make_watch(runs)()
        # A loss of zero has nothing to descend from.
        loss = runs.extremes[:, :1]
        runs.swing.copy_((swing * loss).where(loss > 0, math.inf))
    ends = _copy(runs)
    # A shorter block comes first, so that all runs end where a block does.
    first = BLOCK if steps is None else steps % BLOCK or BLOCK
    for held in (False, True):
        some = _rows(runs, runs.null.any(1) == held)
        quiet = 0
        if held and len(some.owner):
            # What rounding makes of a null pivot grows by at most 1e4 between two projections.
            fastest = math.log1p(float(some.rates.max()))
            quiet = max(1, min(64, int(math.log(1e4) / 2 / fastest)))
        _run(some, Course(gd, swing > 0, steps is None, skip, quiet), first, ends, stop)
    last = Runs(*(values.cpu().numpy() for values in ends))
    back = np.argsort(order, axis=1)
    shift = (last.m[:, :, None] + last.m[:, None, :]).clip(-3000, 0).astype(np.int32)
    W = ordered(np.ldexp(last.X, shift), back)
    half_times = ordered(np.where(last.below == 0, last.waited + 1, np.nan), back)
    return Piece(
        half_times=half_times,
        outcome=outcomes(W, half_times, last.diverged, last.lost, batch.signal > 0, missing),
        W=W,
        last_step=last.step,
        executed=last.executed,
        descents=last.descents.astype(np.int64),
        transient=last.transient,
    )


def _run(runs: Runs, course: Course, count: int, ends: Runs, stop: Callable[[], bool]) -> None:
    """Run until all have ended, and remove those that have."""
    most = most_executed(runs.X.shape[1]) if course.rest else math.inf
    while len(runs.owner):
        if course.skip:
            _jump(runs, course)
        if not course.gd:
            runs.lost.logical_or_(_indefinite(runs.X))
        over = (runs.step >= runs.stop) | (runs.executed >= most)
        if course.rest:
            over |= _at_rest(runs)
        runs = _without(runs, over, ends)
        if stop():
            raise KeyboardInterrupt
        # Factors of two go from x_kk to m_k, exactly, before x_kk overflows.
        rise = (-runs.m).clamp(max=100) * (_diagonal(runs.X).abs() > 2.0**200)
        runs.X.mul_(_power(-rise)[:, :, None]).mul_(_power(-rise)[:, None, :])
        runs.m.add_(rise)
        before = _copy(runs)
        _advance(runs, course, count)
        left = ~runs.X.isfinite().flatten(1).all(1)
        if left.any():
            # The block once more, step by step, to the last finite one.
            again = _rows(before, left)
            finite = _copy(again)
            _advance(again, course, count, finite)
            finite.diverged.fill_(True)
            _put(runs, left, finite)
            runs = _without(runs, left, ends)
        count = BLOCK


def _without(runs: Runs, over: Tensor, ends: Runs) -> Runs:
    """The runs that are not over; the others are kept in `ends`."""
    if not over.any():
        return runs
    ended = _rows(runs, over)
    _put(ends, ended.owner, ended)
    return _rows(runs, ~over)


def _advance(runs: Runs, course: Course, count: int, finite: Runs | None = None) -> None:
    """Take `count` steps of all runs; `finite` is filled with their last finite states."""
    step = _make_step(runs, course)
    alive = runs.X[:, 0, 0] == runs.X[:, 0, 0]
    for n in range(1, count + 1):
        if n == count:
            runs.past.copy_(_diagonal(runs.X))
        step()
        if finite is not None:
            runs.step.add_(1)
            runs.executed.add_(1)
            alive &= runs.X.isfinite().flatten(1).all(1)
            for last, now in zip(finite, runs, strict=True):
                last.copy_(now.where(alive.view(-1, *[1] * (now.dim() - 1)), last))
        if course.quiet and (n % course.quiet == 0 or n == count):
            _project_null(runs)
    if finite is None:
        runs.step.add_(count)
        runs.executed.add_(count)


def _make_step(runs: Runs, course: Course) -> Callable[[], None]:
    """One step of all runs, counted; it allocates nothing."""
    import torch

    X = runs.X
    row, column = runs.rates[:, :, None], runs.rates[:, None, :]
    sums, half_more, bar = row + column, 1 + column / 2, 0.5 * _power(-2 * runs.m)
    square = _power(2 * runs.m)[:, :, None] if (runs.m < 0).any() else None
    diagonal, still_below = _diagonal(X), runs.below > 0
    G, C, Y, Z = (torch.empty_like(X) for _ in range(4))
    watch = _make_watch(runs) if course.watched else None

    def product(left: Tensor, right: Tensor) -> None:
        """The product of `left`, D^2 and `right` into Y."""
        if square is not None:
            right = torch.mul(square, right, out=Z)
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
            torch.mul(row, X, out=C)
            C.sub_(Y, alpha=0.5)
            product(C, G)
            C.mul_(half_more).sub_(Y, alpha=0.25)
            torch.add(C, C.mT, out=G)
        else:
            torch.add(Y, Y.mT, out=Z)
            G.sub_(Z, alpha=0.5)
        X.add_(G)
        torch.lt(diagonal, bar, out=still_below)
        runs.below.mul_(still_below)
        runs.waited.add_(runs.below)
        if watch is not None:
            watch()

    return step


def _make_watch(runs: Runs) -> Callable[[], None]:
    """One look at the test loss 1/2 |W x - x|^2 and at entries off the diagonal, of all runs.

    Maxima of the loss are followed as the minima of minus the loss, side by side.
    """
    import torch

    X, point, heading = runs.X, runs.point, runs.heading
    root = _power(runs.m)
    weights = (root * point)[:, None, :]
    off = _power(runs.m[:, :, None] + runs.m[:, None, :])
    _diagonal(off).zero_()
    Z, residual = torch.empty_like(X), torch.empty_like(point)
    values, allowed = torch.empty_like(runs.extremes), runs.extremes < 0
    gaps, found = torch.empty_like(values), torch.empty_like(allowed)
    rose, fell = found[:, 0], found[:, 1]
    sides = torch.tensor([1.0, -1.0], dtype=X.dtype, device=X.device)

    def watch() -> None:
        torch.mul(X, weights, out=Z)
        torch.sum(Z, 2, out=residual)
        residual.mul_(root).sub_(point).square_()
        torch.mul(residual.sum(1, keepdim=True), 0.5 * sides, out=values)
        torch.mul(heading[:, None], sides, out=gaps)
        torch.le(gaps, 0.0, out=allowed)
        torch.lt(values, runs.extremes, out=found)
        found.logical_and_(allowed)
        runs.extremes.copy_(values.where(found, runs.extremes))
        torch.sub(values, runs.extremes, out=gaps)
        torch.ge(gaps, runs.swing, out=found)
        found.logical_and_(allowed)
        # After a rise the next maximum is looked for from here on, after a fall the next minimum.
        runs.extremes.copy_(values.where(found.flip(1), runs.extremes))
        heading.masked_fill_(fell, -1.0).masked_fill_(rose, 1.0)
        runs.descents.add_(fell)
        torch.mul(X, off, out=Z)
        torch.maximum(runs.transient, Z.abs_().amax((1, 2)), out=runs.transient)

    return watch


def _eliminated(X: Tensor, bar: Tensor) -> Iterator[tuple[int, Tensor]]:
    """What is left of X before each step k of LDL^T; pivots not above bar_k are passed over."""
    left = X.clone()
    for k in range(X.shape[1]):
        yield k, left
        row, pivot = left[:, k, k + 1 :], left[:, k, k, None]
        # A row that is passed over may hold anything, and 0 times anything need not be 0.
        taken = pivot > bar[:, k, None]
        factor, row = (row / pivot).where(taken, 0.0), row.where(taken, 0.0)
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
    X, null = runs.X, runs.null
    for k, left in _eliminated(X, null.double() / ~null):
        X[:, k, k:] -= left[:, k, k:].where(null[:, k, None], 0.0)
        X[:, k + 1 :, k] = X[:, k, k + 1 :]


def _at_rest(runs: Runs) -> Tensor:
    """Runs in which W is where it tends to, and stands still."""
    diagonal, free = _diagonal(runs.X), runs.goal.isnan()
    W = runs.X * _power(runs.m[:, :, None] + runs.m[:, None, :])
    w = _diagonal(W)
    settled = ((w - 1).abs() < 1e-6) & (diagonal == runs.past) | (w.abs() <= 1e-17)
    near = (W.abs() <= 2.0**-52) | free[:, :, None] | free[:, None, :]
    _diagonal(near).copy_(((w - runs.goal).abs() <= 1e-6) | free)
    return (settled | (runs.rates == 0)).all(1) & near.flatten(1).all(1)


def _jump(runs: Runs, course: Course) -> None:
    r"""Take runs along where V = W - P, P = 1 on learned concepts, is linear to rounding.

    There :math:`v_{ij}` is multiplied by :math:`\lambda_{ij}` in every step. Terms of second order,
    :math:`v_{il} v_{lj}`, are geometric as well, so the two ends tell how large they are.
    """
    W = runs.X * _power(runs.m[:, :, None] + runs.m[:, None, :])
    w = _diagonal(W)
    learned = (w - 1).abs() <= 1e-10
    near = (learned | (w.abs() <= 10 * NEGLECTED)).all(1) & (runs.stop - runs.step >= BLOCK)
    close = W.abs() <= 1e-8
    _diagonal(close).fill_(True)
    near &= close.flatten(1).all(1)
    if course.rest:
        # Rounding decides where W comes to rest: these steps have to be taken.
        near &= ~(learned | (runs.goal != 1)).all(1)
    at = near.nonzero()[:, 0]
    if not len(at):
        return
    learned, part = learned[at], _rows(runs, at)
    left, rates = (part.stop - part.step).double(), part.rates
    one, two = learned[:, :, None], learned[:, None, :]
    signed = rates.where(~learned, -rates)
    change = (signed[:, :, None] + signed[:, None, :]) * (1 - (one != two) / 2)
    if course.gd:
        change += (rates[:, :, None] * rates[:, None, :]).where(~(one | two), 0.0)
    rate = change.log1p() / math.log(2)
    rest = _power(-2 * part.m).where(learned, 0.0).diag_embed()
    V = part.X - rest
    size = V.abs().log2() + (part.m[:, :, None] + part.m[:, None, :])
    # w_kk of a learned concept neither moves other entries nor is moved by less than rounding.
    onto, pace = size.clone(), rate.clone()
    for values, at_learned in ((size, -math.inf), (onto, 0.0), (pace, 0.0)):
        _diagonal(values).masked_fill_(learned, at_learned)
    fastest = rates.amax(1)
    push = (5 * fastest * (1 + fastest))[:, None, None]
    ok, longest = (change > -1).flatten(1).all(1), left
    for k in range(learned.shape[1]):
        term = size[:, :, k, None] + size[:, k, None, :]
        slope = rate[:, :, k, None] + rate[:, k, None, :] - pace
        # A geometric sum: so many of its largest term.
        many = push / (slope.abs() * math.log(2)).maximum(1 / left[:, None, None])
        excess = (term - onto + (many / NEGLECTED).log2()).where(term > -math.inf, -math.inf)
        # Two learned concepts follow the others, and forget what they were 40 e-folds later.
        follow = one & two & ~learned[:, k, None, None]
        until = (left[:, None, None] - 60 / slope).where(follow, -excess / slope)
        ok &= ((excess <= 0) | follow).flatten(1).all(1)
        bounded = (slope > 0) & (term > -math.inf)
        longest = longest.minimum(until.where(bounded, math.inf).amin((1, 2)))
    n = left.where(longest >= left, (longest / BLOCK).floor() * BLOCK)
    grown = n[:, None, None] * rate
    rise = ((_diagonal(grown) + _diagonal(V).abs().log2()) / 2).floor().where(~learned, 0.0)
    rise = rise.maximum(0 * rise.nan_to_num()).minimum(-part.m.double())
    X = V * (grown - rise[:, :, None] - rise[:, None, :]).exp2() + rest
    X = (X + X.mT) / 2
    ok &= (n > 0) & X.isfinite().flatten(1).all(1)
    at, n = at[ok], n[ok]
    after = _rows(part, ok)._replace(X=_laid(X[ok]), m=_laid((part.m + rise.long())[ok]))
    after.waited.add_(after.below * n[:, None])
    after.step.add_(n.long())
    if course.watched and len(at):
        # Entries move monotonically and the loss stays, so the landing is enough.
        _make_watch(after)()
    _put(runs, at, after)


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


def _copy(runs: Runs) -> Runs:
    return Runs(*(values.clone() for values in runs))


def _put(runs: Runs, at: Tensor, changed: Runs) -> None:
    for values, new in zip(runs, changed, strict=True):
        values[at] = new
