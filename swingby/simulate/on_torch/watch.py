"""The test loss and the largest entry off the diagonal after every step, all runs together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from swingby.simulate.on_torch.board import Board


def make_watch(torch: Any, board: Board, *, scaled: bool) -> Callable[[], None]:
    r"""A function that looks at the test loss and the swing of all runs of a board, once.

    The loss is :math:`\tfrac12 |W x - x|^2` at the test point x; its minima are followed as
    those of the loss, and its maxima as the minima of minus the loss, side by side.

    Parameters
    ----------
    torch : module
    board : Board
    scaled : bool
        Some run holds W as D X D.

    Returns
    -------
    callable
        It allocates nothing: its tensors are made here.
    """
    X, point, swing, root = board.now.X, board.point, board.swing, board.root
    extremes, heading = board.now.extremes, board.now.heading
    descents, transient = board.now.descents, board.now.transient
    weighted = (root * point if scaled else point)[:, :, None]
    output, matrix = torch.empty_like(weighted), torch.empty_like(X)
    residual = output[:, :, 0]
    squares, largest = torch.empty_like(residual), torch.empty_like(heading)
    total = torch.empty_like(swing)
    values, differences = torch.empty_like(extremes), torch.empty_like(extremes)
    allowed, found = (torch.empty_like(extremes, dtype=torch.bool) for _ in range(2))
    rose, fell = found[:, 0], found[:, 1]
    sides = torch.tensor([1.0, -1.0], dtype=X.dtype, device=X.device)
    halves = 0.5 * sides
    # 2^(m_i + m_j), 0 on the diagonal.
    off = root[:, :, None] * root[:, None, :] if scaled else torch.ones_like(X)
    off.diagonal(dim1=1, dim2=2).zero_()

    def loss() -> None:
        """The loss and minus the loss into `values`."""
        torch.bmm(X, weighted, out=output)
        if scaled:
            residual.mul_(root)
        residual.sub_(point)
        torch.mul(residual, residual, out=squares)
        torch.sum(squares, 1, keepdim=True, out=total)
        torch.mul(total, halves, out=values)

    def filtered() -> None:
        """One step of the zigzag filter of :func:`swingby.simulate.events.turning_points`."""
        torch.mul(heading[:, None], sides, out=differences)
        torch.le(differences, 0.0, out=allowed)
        torch.lt(values, extremes, out=found)
        found.logical_and_(allowed)
        torch.where(found, values, extremes, out=extremes)
        torch.sub(values, extremes, out=differences)
        torch.ge(differences, swing, out=found)
        found.logical_and_(allowed)
        # After a rise the next maximum is looked for from here on, after a fall the next minimum.
        torch.where(rose, values[:, 1], extremes[:, 1], out=extremes[:, 1])
        torch.where(fell, values[:, 0], extremes[:, 0], out=extremes[:, 0])
        heading.masked_fill_(fell, -1.0)
        heading.masked_fill_(rose, 1.0)
        descents.add_(fell)

    def watch() -> None:
        loss()
        filtered()
        torch.mul(X, off, out=matrix)
        matrix.abs_()
        torch.amax(matrix, (1, 2), out=largest)
        torch.maximum(transient, largest, out=transient)

    return watch
