"""The runs under way on a device: one tensor for each quantity, one run per row.

What changes at every step, and what a step needs, lies on the device. What changes only between
blocks (steps to go, exponents, who is who) lies on the host, in NumPy arrays with the same rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from swingby.simulate.on_torch.runs import Numbers, Runs
from swingby.simulate.state import Booleans, Floats, Integers


class Register(NamedTuple):
    """What the host knows of every row.

    owner: which run of the piece, -1 for none; exponent (rows, d): m of W = D X D; step: where it
    is; left: steps to go; executed: steps computed; lost: W is not positive semidefinite.
    """

    owner: Integers
    exponent: Integers
    step: Integers
    left: Integers
    executed: Integers
    lost: Booleans


def rows_of(register: Register, rows: Integers) -> Register:
    """Some rows of a register, copied.

    Parameters
    ----------
    register : Register
    rows : ndarray of int, shape (n,)

    Returns
    -------
    Register
    """
    return Register(
        owner=register.owner[rows],
        exponent=register.exponent[rows],
        step=register.step[rows],
        left=register.left[rows],
        executed=register.executed[rows],
        lost=register.lost[rows],
    )


@dataclass(frozen=True, eq=False)
class Board:
    """Tensors of float64 on one device, with a row for each run.

    Parameters
    ----------
    now, begun : Numbers
        What steps change, and the same when the block began.
    past : tensor of shape (rows, d)
        x_kk one step before.
    rates : tensor of shape (rows, d)
        eta a_k.
    root, square : tensor of shape (rows, d)
        2^m_k and 2^(2 m_k), of W = D X D.
    bar : tensor of shape (rows, d)
        What x_kk has to reach: w_kk is then 1/2.
    order : tensor of int64, shape (rows, d)
        Concepts by descending signal.
    null : tensor of bool, shape (rows, d)
        Concepts, in that order, whose pivot is kept at zero.
    goal, point : tensor of shape (rows, d)
        See :class:`swingby.simulate.on_torch.runs.Runs`.
    swing : tensor of shape (rows, 1)
    """

    now: Numbers
    begun: Numbers
    past: Any
    rates: Any
    root: Any
    square: Any
    bar: Any
    order: Any
    null: Any
    goal: Any
    point: Any
    swing: Any


def make_board(
    torch: Any, device: Any, numbers: Numbers, exponent: Integers, runs: Runs, members: Integers
) -> Board:
    """Put runs on a device.

    Parameters
    ----------
    torch : module
    device : torch.device
    numbers : Numbers
        Arrays.
    exponent : ndarray of int, shape (n, d)
    runs : Runs
    members : ndarray of int, shape (n,)
        Which of the runs these are.

    Returns
    -------
    Board
    """

    def there(values: Any) -> Any:
        # A copy: on the CPU torch would go on using the memory of the array.
        return torch.from_numpy(np.array(values, order="C")).to(device)

    root, square, bar = (there(values) for values in scales(exponent))
    order = runs.order[members]
    return Board(
        now=Numbers(*(there(values) for values in numbers)),
        begun=Numbers(*(there(values) for values in numbers)),
        past=there(np.full(exponent.shape, np.nan)),
        rates=there((runs.eta[:, None] * runs.signal)[members]),
        root=root,
        square=square,
        bar=bar,
        order=there(order),
        null=there(np.take_along_axis(runs.null[members], order, axis=1)),
        goal=there(runs.goal[members]),
        point=there(runs.point[members]),
        swing=there(runs.swing[members, None]),
    )


def scales(exponent: Integers) -> tuple[Floats, Floats, Floats]:
    """2^m_k, 2^(2 m_k), and the x_kk at which w_kk is 1/2.

    Parameters
    ----------
    exponent : ndarray of int, shape (n, d)

    Returns
    -------
    root, square, bar : ndarray of shape (n, d)
        `bar` is inf where a square lies below the float range.
    """
    root = np.ldexp(1.0, np.maximum(exponent, -3000).astype(np.int32))
    square = np.ldexp(1.0, np.maximum(2 * exponent, -3000).astype(np.int32))
    with np.errstate(divide="ignore", over="ignore"):
        return root, square, 0.5 / square


def begin_block(board: Board) -> None:
    """Remember the runs as they are, for those that leave the float range within the block.

    Parameters
    ----------
    board : Board
    """
    for begun, now in zip(board.begun, board.now, strict=True):
        begun.copy_(now)


def take(torch: Any, board: Board, rows: Integers) -> tuple[Numbers, Floats]:
    """Some rows as arrays.

    Parameters
    ----------
    torch : module
    board : Board
    rows : ndarray of int, shape (n,)

    Returns
    -------
    now : Numbers
    past : ndarray of shape (n, d)
    """
    at = torch.from_numpy(rows).to(board.past.device)
    *now, past = (tensor.index_select(0, at).cpu().numpy() for tensor in (*board.now, board.past))
    return Numbers(*now), past


def put(
    torch: Any, board: Board, rows: Integers, numbers: Numbers, past: Floats, exponent: Integers
) -> None:
    """Put rows back that the host has changed.

    Parameters
    ----------
    torch : module
    board : Board
    rows : ndarray of int, shape (n,)
    numbers : Numbers
        Of these rows, as all that follows.
    past : ndarray of shape (n, d)
    exponent : ndarray of int, shape (n, d)
    """
    device = board.past.device
    at = torch.from_numpy(rows).to(device)
    tensors = (*board.now, board.past, board.root, board.square, board.bar)
    for tensor, values in zip(tensors, (*numbers, past, *scales(exponent)), strict=True):
        tensor.index_copy_(0, at, torch.from_numpy(np.ascontiguousarray(values)).to(device))


def shrink(torch: Any, board: Board, rows: Integers) -> Board:
    """Keep only some rows.

    Parameters
    ----------
    torch : module
    board : Board
    rows : ndarray of int, shape (n,)

    Returns
    -------
    Board
        With tensors of its own.
    """
    at = torch.from_numpy(rows).to(board.past.device)

    def kept(values: Any) -> Any:
        if isinstance(values, Numbers):
            return Numbers(*(tensor.index_select(0, at) for tensor in values))
        return values.index_select(0, at)

    return Board(**{field.name: kept(getattr(board, field.name)) for field in fields(board)})
