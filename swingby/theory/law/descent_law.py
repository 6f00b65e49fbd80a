r"""When a linear network of any depth learns each mode of its data, or that it never does.

The path of the weights (:mod:`swingby.theory.law.descent_path`) is followed until every mode k has
:math:`a_k \ge \ell`, or until it is decided that the others never have. The level :math:`\ell` is
1/2, unless another is given.

**Never.** F is the loss less its floor, :math:`\tfrac12 \lVert G - W D \rVert^2` with decay's
:math:`\tfrac\lambda2 \sum \lVert W_i \rVert^2`; small steps do not raise it, nor, with momentum,
its sum with :math:`\tfrac12 \mathrm{lr}\, m \lVert v \rVert^2`.

- Two layers with decay: F is at least a convex function, whose gap :math:`\gamma`
  (:mod:`swingby.theory.law.nuclear_fit`) bounds all later a_k: they lie within
  :math:`2 \sqrt{2 \gamma}/\sigma_k` of that of now.
- A bottleneck of width r, no decay: F is at least half the sum of :math:`\sigma_k^2` beyond r
  (Eckart and Young). Once it is nearer to that than :math:`(\sigma_r^2 - \sigma_{r+1}^2)\,\ell/4`,
  no other fit of rank r is in reach.
- Three or more layers, all so small that decay outweighs what drives them: they go to 0.
- Else: at rest where no eigenvalue of the Jacobian is positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from swingby.theory import budget
from swingby.theory.law.descent_flow import Descent, DescentFlow
from swingby.theory.law.descent_path import FINE, Accuracy, DescentPath, Pace, Segment
from swingby.theory.law.layer_flow import packed
from swingby.theory.law.nuclear_fit import duality_gap, nuclear_fit_levels
from swingby.theory.linear_modes import LinearModes
from swingby.theory.numbers import Booleans, Floats

#: The level at which a mode is learned, unless another is given.
HALF = 0.5
#: Motion, in units of rho times the weights, that is none; and that is little enough to ask whether
#: the Jacobian has a positive eigenvalue.
_AT_REST, _SLOW = 1e-13, 1e-7
#: Weights up to which that is asked, and eigenvalues that count as 0, in units of rho.
_DENSE, _ZERO = 600, 1e-6
#: Below this rho eps no step raises F and lr m |v|^2/2 (Ochs, Chen, Brox and Pock, SIAM J. Imaging
#: Sciences 7, 2014: below 2, of a smooth function).
_DESCENDING = 1.0
#: Steps for which larger ones are followed after the last mode: whether they diverge.
_FURTHER = 500
#: Of weights that move, but not so that floats would show it beside the others.
_TOO_SLOW = "the gradient is 0 but for rounding"
#: lr rho from which steps may be unstable: beyond 4/3 by Nesterov's rule, else beyond 2.
_NEAR_INSTABILITY = 1.0
#: So many paths begin so many roundings away; a bar is so many times what they differ by, since
#: they are a sample; and beyond that of steps there is none.
_TWINS, _ROUNDINGS, _SAMPLED, _ANOTHER_STEP = 3, 512.0, 3.0, 0.5
#: Modes may be lost for so many times as long as it took to learn all; oscillations die out in so
#: many times (1 + m)/(1 - m) steps.
_LONGER, _DAMPED = 5.0, 20.0
_RESTLESS = "training does not come to rest"
#: Of what would lose a mode, so much is left near rest; steps are stable there where their rate is
#: so far below what is not.
_CALM, _WELL_BELOW = 1e-6, 0.999
#: A crossing between steps is found to so many steps.
_RESOLUTION = 1e-4


@dataclass(frozen=True)
class ModeTimes:
    """When modes are learned, in real steps, with what was seen on the way."""

    #: First time with a_k at the level; inf for never, nan for undecided; shape (m,).
    first: Floats
    #: The last time from which on a_k stays at the level or above; inf and nan as above.
    retained: Floats
    #: a_k where it settles, for modes that never reach the level, else nan.
    settles: Floats
    #: Why some are undecided.
    reason: str
    #: Values of the field that it cost, and the step at which it ended.
    evaluations: int
    end: float
    #: The largest lr times rho on the way.
    fastest: float = 0.0


class State(NamedTuple):
    """A network in training: its layers, and their velocity, which is None before the start."""

    layers: list[Floats]
    velocity: list[Floats] | None


def principal(
    layers: Sequence[Floats], modes: LinearModes, velocity: Sequence[Floats] | None = None
) -> tuple[State, LinearModes]:
    """The same network of inputs in their principal directions; those without variance are moot."""
    turned, moving = (
        None if parts is None else [parts[0] @ modes.directions, *parts[1:]]
        for parts in (layers, velocity)
    )
    assert turned is not None
    return reduced(turned, moving), modes.in_principal_inputs()


def reduced(layers: Sequence[Floats], velocity: Sequence[Floats] | None = None) -> State:
    """Two wide layers, in the span of their rows and columns, which they never leave.

    With a velocity the span has its rows and columns, too.
    """
    state = State(list(layers), None if velocity is None else list(velocity))
    if len(layers) != 2:
        return state
    columns = np.hstack([part for first, last in filter(None, state) for part in (first, last.T)])
    if columns.shape[0] <= columns.shape[1]:
        return state
    basis = np.linalg.qr(columns)[0]
    narrow, moving = (
        None if parts is None else [basis.T @ parts[0], parts[1] @ basis] for parts in state
    )
    assert narrow is not None
    return State(narrow, moving)


def mode_times(
    layers: Sequence[Floats],
    modes: LinearModes,
    rule: Descent,
    *,
    accuracy: Accuracy = FINE,
    gradients: float = np.inf,
    longest: float = 1e15,
    velocity: Sequence[Floats] | None = None,
    level: float = HALF,
    to_rest: bool = True,
) -> ModeTimes:
    """Times at which modes reach a level, from now on.

    `gradients` bounds the cost, `longest` the wait in steps. `velocity`, of each layer: that of a
    run in progress, minus the momentum buffers of torch. The modes may be the largest alone of a
    fit that has more. Without `to_rest` it is open from when on those are retained that all fit.
    """
    state, modes = principal(layers, modes, velocity)
    flow = DescentFlow(state.layers, modes.K, modes.S, rule, accuracy.order)
    moving = None if state.velocity is None else packed(state.velocity)
    path = DescentPath(flow, packed(state.layers), accuracy, moving)
    watch = _Watch(modes, path.W, level)
    ends = _Ends(modes, flow, path.W, level, rank=min(min(layer.shape) for layer in state.layers))
    reason, fastest, last = "", 0.0, np.inf
    while True:
        pace = path.pace()
        fastest = max(fastest, rule.lr * pace.rate)
        if watch.all_learned and ends.all_fit:
            if not to_rest or (not rule.decay and ends.none_is_lost(path, pace, watch)):
                break
            last = min(last, _LONGER * path.t + _FURTHER + _DAMPED * rule.memory)
        if path.t >= min(last, longest):
            reason = "the wait is longer than is predicted" if last > longest else _RESTLESS
        elif not np.isfinite([pace.coarseness, pace.motion]).all():
            break
        elif flow.evaluations > gradients:
            reason = f"beyond the budget of {gradients:.0f} gradients, at step {path.t:.6g}"
        elif budget.spent():
            reason = f"beyond the budget of time, at step {path.t:.6g}"
        if reason:
            break
        if ends.decided(path, pace, watch):
            watch.settle(ends.rest)
            break
        if pace.motion <= _AT_REST:
            reason = "the gradient is 0 and stays so" if not pace.motion else _TOO_SLOW
            break
        with np.errstate(all="ignore"):
            watch.follow(path.advance(pace, longest))
            ends.look(path)
    if not reason:
        reason = _divergence(path)
        if reason:
            # Weights on their way to infinity pass every level.
            watch.forget_after(ends.calm)
    if reason and to_rest:
        # A mode may be lost later.
        watch.retained[:] = np.nan
    return ModeTimes(
        watch.first, watch.retained, watch.settles, reason, flow.evaluations, path.t, fastest
    )


def amplified_rounding(
    times: ModeTimes,
    layers: Sequence[Floats],
    modes: LinearModes,
    rule: Descent,
    *,
    spacing: float,
    **options: Any,
) -> tuple[Floats, Booleans]:
    """What rounding may move half-times by, in steps, and whether it moves when modes are retained.

    Where steps are near to instability a path may be chaotic: what floats of some `spacing` round
    away grows with every step. By paths that begin some roundings away; inf where those are learned
    at other steps. `options`: as for :func:`mode_times`.
    """
    bars = np.zeros((2, len(times.first)))
    if times.fastest < _NEAR_INSTABILITY:
        return bars[0], bars[1] > 0
    for seed in range(_TWINS):
        rng = np.random.default_rng(seed)
        moved = [
            layer * (1 + _ROUNDINGS * spacing * rng.choice([-1.0, 1.0], layer.shape))
            for layer in layers
        ]
        twin = mode_times(moved, modes, rule, **options)
        own, other = np.stack([times.first, times.retained]), np.stack([twin.first, twin.retained])
        with np.errstate(invalid="ignore"):
            apart = np.where(own == other, 0.0, np.abs(own - other))
        bars = np.maximum(bars, np.where(np.isnan(own), 0.0, np.nan_to_num(apart, nan=np.inf)))
    bars *= _SAMPLED
    bars = np.where(bars > _ANOTHER_STEP, np.inf, bars)
    return bars[0], np.isinf(bars[1])


def _divergence(path: DescentPath) -> str:
    """Whether the path goes on to infinity, in words: some steps more where they are large."""
    last = path.t + _FURTHER
    while True:
        pace = path.pace()
        if not np.isfinite([pace.coarseness, pace.motion]).all():
            return f"training diverges at step {path.t:.0f}"
        if pace.rate * path.flow.rule.pace < _DESCENDING or path.t >= last:
            return ""
        if pace.motion <= _AT_REST or budget.spent():
            return ""
        with np.errstate(all="ignore"):
            path.advance(pace, last)


class _Watch:
    """The crossings of the level so far."""

    def __init__(self, modes: LinearModes, W: Floats, level: float) -> None:
        self.modes, self.level, self.levels = modes, level, modes.levels(W)
        above = self.levels >= level
        self.first = np.where(above, 0.0, np.nan)
        self.retained = self.first.copy()
        self.settles = np.full(len(above), np.nan)

    @property
    def learned(self) -> Booleans:
        """Modes that were at the level once."""
        return ~np.isnan(self.first)

    @property
    def all_learned(self) -> bool:
        return bool(self.learned.all())

    def follow(self, segment: Segment) -> None:
        """Crossings in a segment."""
        levels = self.modes.levels(segment.products)
        above = levels >= self.level
        for k in map(int, np.flatnonzero((above[:-1] != above[1:]).any(axis=0))):
            for i in map(int, np.flatnonzero(above[:-1, k] != above[1:, k])):
                if not above[i + 1, k]:
                    self.retained[k] = np.nan
                    continue
                t = self._crossing(segment, k, i, levels[:, k])
                self.retained[k] = t
                if np.isnan(self.first[k]):
                    self.first[k] = t
        self.levels = levels[-1]

    def _crossing(self, segment: Segment, k: int, i: int, levels: Floats) -> float:
        """The time of the crossing after entry i of a segment, with its levels of mode k."""
        if segment.inside is None:
            slope = levels[i + 1] - levels[i]
            bend = float(np.diff(levels[max(i - 1, 0) : i + 3], 2).mean()) if len(levels) > 2 else 0
            share = (self.level - levels[i]) / slope
            share += share * (1 - share) / 2 * bend / slope
            return float(segment.start + i + np.clip(share, _RESOLUTION, 1.0))

        def above(t: float) -> float:
            return float(self.modes.levels(segment.product(t))[k]) - self.level

        low, high = segment.start, segment.end
        # The coarser ends are those of the segment itself.
        if above(high) <= 0:
            return high
        return float(brentq(above, low, high, xtol=_RESOLUTION, rtol=1e-14))

    def forget_after(self, last: float) -> None:
        """What was learned after some step is open."""
        self.first[self.first > last] = np.nan

    def settle(self, levels: Floats) -> None:
        """What was not learned up to now never is, and rests at `levels`."""
        self.settles = np.where(self.levels < self.level, levels, np.nan)
        self.first = np.where(self.learned, self.first, np.inf)
        self.retained = np.where(np.isnan(self.retained), np.inf, self.retained)


class _Ends:
    """Whether it is decided what is never learned."""

    def __init__(
        self, modes: LinearModes, flow: DescentFlow, W: Floats, level: float, rank: int
    ) -> None:
        self.modes, self.flow, self.level, self.rank = modes, flow, level, rank
        self.order = np.argsort(-modes.sigma, kind="stable")
        #: Of all modes of the fit.
        self.sorted = np.linalg.svd(modes.fit, compute_uv=False)
        #: Whether all modes fit through the narrowest layer.
        self.all_fit = rank >= len(modes.sigma)
        self._asked = 0.0
        #: The last look at which the loss was not above that of the start.
        self.calm, self._start = 0.0, float(np.linalg.norm(modes.fit - W @ modes.root))
        #: Where levels settle; nan where that is not known.
        self.rest = np.full(len(modes.sigma), np.nan)

    def look(self, path: DescentPath) -> None:
        """Note how far the fit is."""
        rest = float(np.linalg.norm(self.modes.fit - path.W @ self.modes.root))
        if rest <= self._start:
            self.calm = path.t

    def decided(self, path: DescentPath, pace: Pace, watch: _Watch) -> bool:
        """Whether no a_k crosses the level any more."""
        rule = self.flow.rule
        if pace.rate * rule.pace < _DESCENDING:
            if not rule.decay and not self.all_fit and self._in_the_last_basin(path, pace, watch):
                return True
            if rule.decay and len(self.flow.shapes) <= 2 and self._gap_closed(path, pace, watch):
                return True
        if rule.decay and len(self.flow.shapes) > 2 and self._vanishing(path, pace):
            return True
        if (not rule.decay and self.all_fit) or pace.motion > _SLOW:
            return False
        return self._stable(path, pace)

    def none_is_lost(self, path: DescentPath, pace: Pace, watch: _Watch) -> bool:
        """Whether no mode falls below the level any more, of a path that has learned all.

        F is at least half the square of sigma_k (1 - a_k).
        """
        if (watch.levels < self.level).any():
            return False
        rule, rest = self.flow.rule, self.modes.fit - path.W @ self.modes.root
        excess = 0.5 * float((rest**2).sum()) + self._kinetic(path, pace) / rule.multiple
        share = excess / (0.5 * (float(self.modes.sigma.min()) * (1 - self.level)) ** 2)
        # Of weights that diverge it is not a number.
        if not share < 1:
            return False
        if pace.rate * rule.pace < _DESCENDING:
            return True
        if share > _CALM or path.t < 1.1 * self._asked:
            return False
        # Near rest, larger steps fall below 2 (1 + m), by Nesterov's rule below that/(1 + 2 m).
        self._asked, rate = path.t, pace.rate
        if self.flow.size <= _DENSE:
            rate = -float(np.linalg.eigvalsh(self.flow.jacobian(0.0, path.y))[0]) / rule.pace
        stable = 2 * (1 + rule.momentum) / (1 + 2 * rule.momentum * rule.nesterov)
        return rule.lr * rate < _WELL_BELOW * stable

    def _vanishing(self, path: DescentPath, pace: Pace) -> bool:
        """Whether layers are so small that decay takes all of them to 0."""
        flow, depth = self.flow, len(self.flow.shapes)
        norm = np.float64(max(np.linalg.norm(layer, 2) for layer in flow.layers(path.y)))
        norm += flow.rule.pace * float(np.linalg.norm(path.velocity(pace)))
        driven = float(np.linalg.norm(flow.K, 2)) + norm**depth * float(np.linalg.norm(flow.S, 2))
        reach = norm**depth * np.linalg.norm(self.modes.inputs, axis=1) / self.modes.sigma
        if 2 * driven * norm ** (depth - 2) >= flow.rule.decay or (reach >= self.level).any():
            return False
        self.rest = np.zeros(len(reach))
        return True

    def _kinetic(self, path: DescentPath, pace: Pace) -> float:
        """What momentum may still add to the loss."""
        rule, v = self.flow.rule, path.velocity(pace)
        return 0.5 * rule.lr * rule.momentum * float(v @ v)

    def _in_the_last_basin(self, path: DescentPath, pace: Pace, watch: _Watch) -> bool:
        modes, r, s = self.modes, self.rank, self.sorted**2
        rest = modes.fit - path.W @ modes.root
        excess = 0.5 * float((rest**2).sum() - s[r:].sum())
        excess += self._kinetic(path, pace) / self.flow.rule.multiple
        largest, level = np.isin(np.arange(len(modes.sigma)), self.order[:r]), self.level
        near = np.array_equal(watch.levels >= level, largest)
        # What is lacking of the largest is half as much as may be, and what others have, too.
        if near and excess < min((s[r - 1] - s[r]) * level / 4, s[r - 1] * (1 - level) ** 2 / 8):
            self.rest = largest.astype(float)
            return True
        return False

    def _gap_closed(self, path: DescentPath, pace: Pace, watch: _Watch) -> bool:
        """By duality, of the convex problem below the loss."""
        modes, rule, W = self.modes, self.flow.rule, path.W
        decay = rule.decay / rule.multiple
        if len(self.flow.shapes) == 1:
            # Strongly convex in W, too, by the decay.
            f = self.flow.field_and_product(path.y)[0] / rule.multiple
            gap = float(f @ f) / (2 * decay) + self._kinetic(path, pace) / rule.multiple
            reach = 2 * np.sqrt(2 * gap / decay) * np.linalg.norm(modes.inputs, axis=1)
            reach = reach / modes.sigma
        else:
            gap = duality_gap(modes, decay, W, 0.5 * decay * float(path.y @ path.y))
            gap += self._kinetic(path, pace) / rule.multiple
            reach = 2 * np.sqrt(2 * gap) / modes.sigma
        if (np.abs(watch.levels - self.level) <= reach).any():
            return False
        if (watch.levels >= self.level)[~watch.learned].any():
            return False
        if len(self.flow.shapes) == 1:
            ridge = np.linalg.inv(modes.S + decay * np.eye(len(modes.S)))
            self.rest = modes.levels(np.asarray(modes.K @ ridge, dtype=np.float64))
        else:
            self.rest = nuclear_fit_levels(modes, decay, W)
        return True

    def _stable(self, path: DescentPath, pace: Pace) -> bool:
        """At rest where small departures do not grow; asked again after a tenth of the time."""
        if self.flow.size > _DENSE or path.t < 1.1 * self._asked:
            return False
        self._asked = path.t
        top = float(np.linalg.eigvalsh(self.flow.jacobian(0.0, path.y))[-1])
        if top > _ZERO * pace.rate * self.flow.rule.pace:
            return False
        self.rest = self.modes.levels(path.W)
        return True


def products_at(
    layers: Sequence[Floats], modes: LinearModes, rule: Descent, times: Floats, gradients: float
) -> Floats:
    """W at times in steps, (n, q, p); nan beyond the budget and where training diverges."""
    layers = reduced(layers).layers
    flow = DescentFlow(layers, modes.K, modes.S, rule)
    path = DescentPath(flow, packed(layers), FINE)
    products = np.full((len(times), *path.W.shape), np.nan)
    products[times <= 0] = path.W
    ahead = times > 0
    while ahead.any() and flow.evaluations <= gradients and not budget.spent():
        pace = path.pace()
        if not np.isfinite([pace.coarseness, pace.motion]).all():
            break
        if pace.motion <= _AT_REST:
            products[ahead] = path.W
            break
        with np.errstate(all="ignore"):
            segment = path.advance(pace, float(times.max()))
        for i in np.flatnonzero(ahead & (times <= segment.end)):
            products[i] = segment.product(float(times[i]))
        ahead &= times > segment.end
    return products
