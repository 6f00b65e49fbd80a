r"""Half-times as functions of a, W(0) and eta that torch can differentiate.

The law walks along the modified flow; here the same steps are taken again by the same text
(:mod:`swingby.theory.law.coordinates`), on tensors. The sizes of the steps are those of the
prediction and stay as they are: what they are does not move a half-time by more than the tolerance
of the walk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from swingby.errors import InvalidInput, named
from swingby.simulate.on_torch import load_torch
from swingby.theory.growth import DYNAMICS
from swingby.theory.law.coordinates import slope
from swingby.theory.law.modified_flow import make_flow
from swingby.theory.law.runge_kutta import attempt
from swingby.theory.law.stages import Stages
from swingby.verify.schedule import Schedule


@named
def crossing_function(schedule: Schedule) -> Callable[[Any, Any, Any], Any]:
    r"""Half-times as a differentiable function of the signal, W(0) and the step size.

    .. math:: (a, W(0), \eta) \mapsto t_k \quad \text{with} \quad w_{kk}(t_k) = 1/2

    near the arguments of the schedule: there the values are ``schedule.crossing``, and the
    derivatives are those of the law. For gradients elsewhere, make a schedule there.

    Parameters
    ----------
    schedule : Schedule
        From :func:`swingby.predict` with a W(0) whose pivots are all positive.

    Returns
    -------
    callable
        ``times(signal, W0, eta)`` takes tensors of float64: signal of shape (d,), per unit of eta
        times steps; W0 of shape (d, d), symmetric, over the scale of the schedule's W(0) (omega of
        a :class:`swingby.Scaled`, 1 otherwise); eta without axes. It returns a tensor of shape
        (d,), in steps: nan where the concept is trapped, inf where its signal is 0. It uses
        nothing but operations of torch, so ``backward`` and ``torch.func`` apply.

    Raises
    ------
    InvalidInput
        If the schedule has no W(0), or a pivot of it is not positive: a half-time that is not there
        on one side has no derivative.
    MissingExtra
        Without torch.

    References
    ----------
    The half-times are those of (D.2), (D.4) or the flow (4.3).

    Examples
    --------
    >>> import numpy as np, swingby, torch
    >>> task = swingby.SIMTask.from_signal([2.0, 1.0])
    >>> W0 = np.array([[2e-4, 1e-4], [1e-4, 2e-4]])
    >>> times = swingby.crossing_function(swingby.predict(task, W0, eta=0.01, dynamics="gd"))
    >>> point = [torch.tensor(x, dtype=torch.float64) for x in ([2.0, 1.0], W0, 0.01)]
    >>> by_signal, by_W0, by_eta = torch.func.jacrev(times, argnums=(0, 1, 2))(*point)
    >>> [[round(x, 1) for x in row] for row in by_signal.tolist()]  # steps per unit of a_1, a_2
    [[-106.8, 0.5], [0.3, -440.7]]
    """
    torch, stages = load_torch(), getattr(schedule, "stages", None)
    if stages is None or schedule.accuracy == "leading":
        requirement = "must come from a W(0), by predict in full accuracy"
        raise InvalidInput("schedule", schedule, requirement, "(D.2)")
    start = stages.start
    if not (start.sign > 0).all() or start.steps[0]:
        pivots = (np.exp(start.log_pivots) * start.sign)[0]
        requirement = "must have positive pivots of W(0)"
        raise InvalidInput("schedule", f"the pivots {pivots}", requirement, "Sec. 4.2")
    replay = _Replay(stages)
    point = (start.signal[0] * replay.unit, start.matrix[0], stages.eta)
    tensors = (torch.tensor(x, dtype=torch.float64) for x in point)
    with torch.device("cpu"):  # of new tensors, whatever the default of the caller is
        replayed = replay(*tensors).numpy()
    # What is never learned has no time, in both: inf - inf.
    with np.errstate(invalid="ignore"):
        offset = np.where(np.isfinite(stages.crossing), stages.crossing - replayed, 0.0)
    shift = torch.as_tensor(offset, device="cpu")

    def times(signal: Any, W0: Any, eta: Any) -> Any:
        with torch.device("cpu"):
            return replay(signal, W0, eta) + shift

    return times


class _Replay:
    """The steps of a walk, taken again on tensors."""

    def __init__(self, stages: Stages) -> None:
        self.start, self.dynamics = stages.start, stages.dynamics
        # The walk may have its own unit of time.
        self.unit = float(self.start.eta[0] / stages.eta)
        self.crossing = stages.crossing * self.start.eta[0]
        curve = self.curve = stages.curves[0]
        self.awaited = np.isfinite(self.crossing) & (self.crossing > curve.times[0])
        # The state before each crossing.
        before = np.searchsorted(curve.times, self.crossing, side="left") - 1
        self.before = np.clip(before, 0, len(curve.moving) - 1)

    def __call__(self, signal: Any, W0: Any, eta: Any) -> Any:
        torch, curve = load_torch(), self.curve
        dynamics, order = self.dynamics, curve.concept[0]
        signal, eta = signal / self.unit, eta * self.unit
        h, orders = eta.reshape(1), np.array([DYNAMICS[dynamics].orders[0]])
        y = self._begin(torch, W0[order][:, order])
        times = [torch.as_tensor(time / 1.0) for time in self.crossing]
        last = int(self.before[self.awaited].max(initial=-1))
        for step in range(last + 1):
            if (curve.concept[step] != order).any():
                moved = [order.tolist().index(k) for k in curve.concept[step]]
                y, order = _reordered(torch, y, moved), curve.concept[step]
            moving = torch.as_tensor(curve.moving[step][:, None])
            y = _at_rest(torch, y, curve.moving[step])
            flow = make_flow(signal[order][:, None], h, orders, dynamics)
            first = slope(y, moving, flow, dynamics)
            for k in np.flatnonzero(self.awaited & (self.before == step)):
                ahead = torch.as_tensor(self.crossing[k : k + 1] - curve.times[step])
                landed, _ = attempt(y, first, ahead, moving, flow, dynamics)
                index = order.tolist().index(k)
                level, rate = _level(landed, slope(landed, moving, flow, dynamics), index)
                logit = (level / (1.0 - level)).log()
                times[k] = times[k] - logit * level * (1.0 - level) / rate
            if step < last:
                dt = torch.as_tensor(curve.times[step + 1 : step + 2] - curve.times[step])
                y, _ = attempt(y, first, dt, moving, flow, dynamics)
        return torch.stack(times) / eta

    def _begin(self, torch: Any, W: Any) -> Any:
        """The coordinates of W(0), by Cholesky: W = L L^T, V_ij = L_ij / L_ii, u_i = 2 log L_ii."""
        size = W.diagonal().abs().sqrt()
        L = torch.linalg.cholesky(W / size[:, None] / size)
        diagonal = L.diagonal()
        u = 2.0 * (diagonal * size).log() + float(self.start.log_scale[0])
        columns = (u[:, None], torch.ones_like(u)[:, None], L / diagonal[:, None])
        return torch.cat(columns, dim=1)[:, :, None]


def _level(y: Any, speed: Any, k: int) -> tuple[Any, Any]:
    """W_kk at place k and its derivative in time."""
    V, z, change = y[k, 2:, 0], y[:, 1, 0], speed[k, 2:, 0]
    e, total = y[k, 0, 0].exp(), (V * V * z).sum()
    rate = (V * (2.0 * change * z + V * speed[:, 1, 0])).sum() + total * speed[k, 0, 0]
    return e * total, e * rate


def _at_rest(torch: Any, y: Any, moving: Any) -> Any:
    """Learned concepts are 1, and their other entries 0."""
    rest = torch.as_tensor(moving == 0.0)
    both = (rest[:, None] | rest) & ~torch.eye(len(rest), dtype=torch.bool)
    u = torch.where(rest, 0.0, y[:, 0, 0])
    z = torch.where(rest, 1.0, y[:, 1, 0])
    V = torch.where(both, 0.0, y[:, 2:, 0])
    return torch.cat((u[:, None], z[:, None], V), dim=1)[:, :, None]


def _reordered(torch: Any, y: Any, order: list[int]) -> Any:
    """The coordinates with the concepts in another order of elimination."""
    u, z, V = y[order, 0, 0], y[:, 1, 0], y[order, 2:, 0]
    rest, columns, pivots = (V * z) @ V.T, [], []
    for k in range(len(order)):
        pivot = rest[k, k]
        below = torch.as_tensor(np.arange(len(order)) >= k)
        column = torch.where(below, rest[:, k] / pivot, 0.0)
        rest = rest - column[:, None] * column * pivot
        columns.append(column)
        pivots.append(pivot)
    lower, root = torch.stack(columns, dim=1), torch.stack(pivots).abs().sqrt()
    sign = torch.stack(pivots).sign()
    blocks = ((u + 2.0 * root.log())[:, None], sign[:, None], lower * root / root[:, None])
    return torch.cat(blocks, dim=1)[:, :, None]
