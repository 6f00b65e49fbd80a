r"""Steps of all runs on a device, without a word between device and host.

With :math:`g_{ij} = \eta (a_i + a_j) x_{ij}` and :math:`Y = G D^2 X` for W = D X D, the next X is

.. math:: \text{euler:} \quad X + \bigl(G - \tfrac12 (Y + Y^T)\bigr), \qquad
          \text{gd:} \quad X + M + M^T, \quad
          m_{ij} = (1 + \tfrac12 \eta a_j)\, c_{ij} - \tfrac14 (C D^2 G)_{ij}, \quad
          c_{ij} = \eta a_i x_{ij} - \tfrac12 y_{ij},

which is (D.2), and :math:`(I + \eta B) W (I + \eta B)`. The change is summed before it is added,
so W comes to a halt at its fixed point, and a matrix plus its transpose is exactly symmetric.
Everything is float64, for which CUDA has no shortened products; no setting of torch is touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from swingby.simulate.on_torch.board import Board
from swingby.simulate.on_torch.runs import Course
from swingby.simulate.on_torch.watch import make_watch

#: Steps in one CUDA graph; divides the lengths of both kinds of blocks.
GRAPH_STEPS = 32
#: Steps taken before a graph is captured, which costs as much as some thousand of them.
BEFORE_CAPTURE = 1024

Advance = Callable[[int], None]


def make_advance(torch: Any, board: Board, course: Course, *, scaled: bool) -> Advance:
    """A function that takes steps of all runs of a board.

    Parameters
    ----------
    torch : module
    board : Board
        Changed in place by the function.
    course : Course
    scaled : bool
        Some run holds W as D X D.

    Returns
    -------
    callable
        ``advance(count)``. On a CUDA device its steps are replayed from a CUDA graph.
    """
    step = make_step(torch, board, course, scaled=scaled)
    if board.past.device.type != "cuda":
        return in_stretches(step, None)
    return in_stretches(step, lambda: captured(torch, step))


def in_stretches(
    step: Callable[[], None], capture: Callable[[], Callable[[], None] | None] | None
) -> Advance:
    """Steps one by one, and whole stretches of them at a time once they are captured.

    Parameters
    ----------
    step : callable
        Takes one step.
    capture : callable, optional
        Called once, after :data:`BEFORE_CAPTURE` steps have shown that it pays; returns a function
        that takes :data:`GRAPH_STEPS` steps, or None when that is not possible.

    Returns
    -------
    callable
        ``advance(count)``.

    Examples
    --------
    >>> taken = []
    >>> stretch = lambda: taken.extend(["s"] * 32)
    >>> advance = in_stretches(lambda: taken.append("s"), lambda: stretch)
    >>> advance(1000), advance(100), advance(71), len(taken)
    (None, None, None, 1171)
    """
    taken = 0
    stretch: Callable[[], None] | None = None

    def advance(count: int) -> None:
        nonlocal taken, stretch, capture
        if capture is not None and taken >= BEFORE_CAPTURE:
            stretch, capture = capture(), None
        taken += count
        if stretch is not None:
            for _ in range(count // GRAPH_STEPS):
                stretch()
            count %= GRAPH_STEPS
        for _ in range(count):
            step()

    return advance


def captured(torch: Any, step: Callable[[], None]) -> Callable[[], None] | None:
    """A CUDA graph of :data:`GRAPH_STEPS` steps. Written without a GPU at hand: not measured.

    Parameters
    ----------
    torch : module
    step : callable
        Allocates nothing and has been called before, so that every kernel is loaded.

    Returns
    -------
    callable or None
        Replays the steps; None where the device refuses to capture them, and nothing has changed.
    """
    graph = torch.cuda.CUDAGraph()
    try:
        # A stream of our own: the one that torch keeps for this belongs to one device for good.
        with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
            for _ in range(GRAPH_STEPS):
                step()
    except RuntimeError:
        return None

    def replay() -> None:
        graph.replay()

    return replay


def make_step(torch: Any, board: Board, course: Course, *, scaled: bool) -> Callable[[], None]:
    """A function that takes one step of all runs of a board, and counts it.

    Parameters
    ----------
    torch : module
    board : Board
    course : Course
    scaled : bool
        See :func:`make_advance`.

    Returns
    -------
    callable
        It allocates nothing: its tensors are made here.
    """
    X, below, waited = board.now.X, board.now.below, board.now.waited
    past, bar = board.past, board.bar
    rates, square = board.rates, board.square[:, :, None]
    sums = rates[:, :, None] + rates[:, None, :]
    own, half_more = rates[:, :, None], (1 + rates / 2)[:, None, :]
    diagonal = X.diagonal(dim1=1, dim2=2)
    G, Y, Z = (torch.empty_like(X) for _ in range(3))
    still_below = torch.empty_like(below, dtype=torch.bool)

    def weighted(matrix: Any) -> Any:
        return torch.mul(square, matrix, out=Z) if scaled else matrix

    def euler() -> None:
        torch.mul(sums, X, out=G)
        torch.bmm(G, weighted(X), out=Y)
        torch.add(Y, Y.mT, out=Z)
        G.sub_(Z, alpha=0.5)
        X.add_(G)

    C: Any = torch.empty_like(X) if course.gd else None

    def descent() -> None:
        torch.mul(sums, X, out=G)
        torch.bmm(G, weighted(X), out=Y)
        torch.mul(own, X, out=C)
        C.sub_(Y, alpha=0.5)
        torch.bmm(C, weighted(G), out=Y)
        C.mul_(half_more).sub_(Y, alpha=0.25)
        torch.add(C, C.mT, out=Z)
        X.add_(Z)

    change = descent if course.gd else euler
    watch = make_watch(torch, board, scaled=scaled) if course.watched else None

    def step() -> None:
        past.copy_(diagonal)
        change()
        torch.lt(diagonal, bar, out=still_below)
        below.mul_(still_below)
        waited.add_(below)
        if watch is not None:
            watch()

    return step
