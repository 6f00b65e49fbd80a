"""Events of a run by a plain loop over NumPy matrices. Nothing here imports the package.

(D.2) steps W, gradient descent steps U, the flow is U' = B(U U^T) U by the classical Runge-Kutta
method with small steps. All events are at whole steps.
"""

import itertools
import math

import numpy as np


def trajectory(a, start, eta, dynamics, most=40_000, *, matrix=False):
    """W (n, d, d) at steps 0, 1, 2, ... until it is near a limit; `start` is U(0), or W(0).

    It also ends before W leaves the float range.
    """
    a, U = np.asarray(a, dtype=float), np.array(start, dtype=float)
    pair, W, states = a[:, None] + a[None, :], U if matrix else U @ U.T, []
    parts = math.ceil(eta * a.max() / 0.02)

    def slope(U):
        return a[:, None] * U - (pair * (U @ U.T)) @ U / 2

    def substep(U, h):
        first = slope(U)
        second = slope(U + h / 2 * first)
        third = slope(U + h / 2 * second)
        return U + h / 6 * (first + 2 * second + 2 * third + slope(U + h * third))

    for step in range(most):
        states.append(W)
        if dynamics == "euler":
            Y = (pair * W) @ W
            W = W + eta * (pair * W - (Y + Y.T) / 2)
        elif dynamics == "gd":
            U = U + eta * slope(U)
            W = U @ U.T
        else:
            for _ in range(parts):
                U = substep(U, eta / parts)
            W = U @ U.T
        if not np.abs(W).max() < 1e100:
            break
        near = np.abs(W - np.eye(len(a)))[a > 0][:, a > 0].max(initial=0.0) < 1e-4
        if near and step % 64 == 0:
            off = np.abs(np.array(states)[:, ~np.eye(len(a), dtype=bool)])
            if (off[-1] <= 0.4 * off.max(axis=0)).all():
                break
    return np.array(states)


def events(a, W):
    """Time by (entry, event); heights; lists of turns of the loss for x = sqrt(a), by kind."""
    d, times = len(a), {}
    for k in range(d):
        for name, level in (("half", 0.5), ("0.8", 0.8)):
            reached = np.flatnonzero(W[:, k, k] >= level)
            times[(k, k), name] = float(reached[0]) if len(reached) else math.nan
    for i, j in itertools.combinations(range(d), 2):
        size = np.abs(W[:, i, j])
        top = int(size.argmax())
        fallen = np.flatnonzero(size[top:] <= size[top] / 2)
        times[(i, j), "peak"], times[(i, j), "peak height"] = float(top), float(size[top])
        times[(i, j), "suppressed"] = float(top + fallen[0]) if len(fallen) else math.nan
    away = np.abs(W - np.eye(d)).max(axis=(1, 2)) > 0.01
    last = int(np.flatnonzero(away)[-1]) + 1 if away.any() else 0
    times[(-1, -1), "end"] = float(last) if last < len(W) else math.nan
    return times


def loss_turns(a, W, swing):
    """Steps and kinds of the inner turns of |W x - x|^2 for x = sqrt(a), by a zigzag filter."""
    x = np.sqrt(np.asarray(a, dtype=float))
    loss = ((W @ x - x) ** 2).sum(axis=1)
    least, turns, way, low, high = swing * loss[0], [], 0, 0, 0
    for step, value in enumerate(loss):
        low = step if value < loss[low] else low
        high = step if value > loss[high] else high
        if way <= 0 and value - loss[low] >= least:
            turns.append((low, "min"))
            way, high = 1, step
        elif way >= 0 and loss[high] - value >= least:
            turns.append((high, "max"))
            way, low = -1, step
    return [turn for turn in turns if turn[0]]
