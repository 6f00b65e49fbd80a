"""What is due in which run, all runs of a device together, and what rounding makes of null pivots.

The rules are those of :mod:`swingby.simulate.lanes` and :mod:`swingby.simulate.pivot_kernels`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from swingby.simulate.jump_coefficients import kept_order, threshold
from swingby.simulate.kernels import LEARNED
from swingby.simulate.lanes.source import LARGE, TINY
from swingby.simulate.on_torch.board import Board
from swingby.simulate.on_torch.runs import Course
from swingby.simulate.pivot_kernels import PIVOT_ROUNDING
from swingby.simulate.state import Booleans

#: Rows of what :func:`look` returns.
NOT_FINITE, READY, DOUBTFUL, IS_LARGE, RESTING = range(5)
#: Entries between two concepts are at rest below this.
REST = 2.0**-52


def look(torch: Any, board: Board, course: Course) -> Booleans:
    """What is due in each run.

    Parameters
    ----------
    torch : module
    board : Board
    course : Course
        gd keeps W positive semidefinite, so its pivots are not looked at.

    Returns
    -------
    ndarray of bool, shape (5, rows)
        An entry is not finite; a jump is worth an attempt; pivots leave a doubt; x_kk has to hand
        factors of two to m_k; nothing moves any more. The one thing that the host waits for.
    """
    X = board.now.X
    none = torch.zeros(len(X), dtype=torch.bool, device=X.device)
    diagonal = X.diagonal(dim1=1, dim2=2)
    ready = resting = none
    if course.skip or course.rest:
        W = X * board.root[:, :, None] * board.root[:, None, :]
        ready = _near(board, W) if course.skip else none
        resting = _settled(board) & _at_rest(torch, board, W) if course.rest else none
    flags = [
        ~torch.isfinite(X).flatten(1).all(1),
        ready & ~resting,
        none if course.gd else _doubtful(board),
        ((diagonal.abs() > LARGE) & (board.square < 1)).any(1),
        resting,
    ]
    return np.array(torch.stack(flags).cpu().numpy())


def _settled(board: Board) -> Any:
    """Runs in which every concept is learned and stands still, is tiny, or has no signal."""
    diagonal = board.now.X.diagonal(dim1=1, dim2=2)
    w = diagonal * board.square
    learned = ((w - 1).abs() < LEARNED) & (diagonal == board.past)
    return (learned | (w.abs() <= TINY) | (board.rates == 0)).all(1)


def _near(board: Board, W: Any) -> Any:
    """Runs near a W with some concepts learned, where an attempt to jump is worth its price."""
    reach = threshold(kept_order(W.shape[1], True))
    w = W.diagonal(dim1=1, dim2=2)
    diagonal = ((w - 1).abs() <= reach) | (w.abs() <= reach) | (board.rates == 0)
    alike = board.rates[:, :, None] == board.rates[:, None, :]
    # True on the diagonal. A little more than the reach, since W is rounded.
    others = (W.abs() <= 1.01 * reach) | alike
    return diagonal.all(1) & others.flatten(1).all(1)


def _at_rest(torch: Any, board: Board, W: Any) -> Any:
    """Runs in which W is where it tends to, among the concepts with a positive signal."""
    goal = torch.diag_embed(board.goal.nan_to_num())
    free = board.goal.isnan()
    near = (W - goal).abs() <= REST
    near.diagonal(dim1=1, dim2=2).copy_((W - goal).diagonal(dim1=1, dim2=2).abs() <= LEARNED)
    return (near | free[:, :, None] | free[:, None, :]).flatten(1).all(1)


def _doubtful(board: Board) -> Any:
    """Runs with a pivot of LDL^T, in the order of the concepts, that is not clearly positive."""
    X = board.now.X
    d = X.shape[1]
    rest = X.clone()
    bar = PIVOT_ROUNDING * d * X.diagonal(dim1=1, dim2=2).abs()
    clear = rest[:, 0, 0] > bar[:, 0]
    for k in range(d - 1):
        factor = rest[:, k + 1 :, k] / rest[:, k, k, None]
        rest[:, k + 1 :, k + 1 :] -= factor[:, :, None] * rest[:, k, None, k + 1 :]
        clear = clear & (rest[:, k + 1, k + 1] > bar[:, k + 1])
    return ~clear


def project_null(torch: Any, board: Board) -> None:
    """Put the pivots of the null concepts back to exactly zero, in all runs.

    Parameters
    ----------
    torch : module
    board : Board
        Changed in place: :func:`swingby.simulate.pivot_kernels.project_null`, row by row.
    """
    X, order = board.now.X, board.order
    d = X.shape[1]
    run = torch.arange(len(X), device=X.device)[:, None, None]
    row, column = order[:, :, None], order[:, None, :]
    ordered = X[run, row, column]
    rest = ordered.clone()
    for k in range(d):
        null, pivot = board.null[:, k, None], rest[:, k, k, None]
        ordered[:, k, k:] -= torch.where(null, rest[:, k, k:], 0.0)
        factor = torch.where(~null & (pivot > 0), rest[:, k, k + 1 :] / pivot, 0.0)
        # A row that is not eliminated may hold anything, and 0 times anything need not be 0.
        line = torch.where(factor != 0, rest[:, k, k + 1 :], 0.0)
        rest[:, k + 1 :, k + 1 :] -= factor[:, :, None] * line[:, None, :]
    upper = torch.triu(ordered)
    X[run, row, column] = upper + torch.triu(ordered, 1).mT
