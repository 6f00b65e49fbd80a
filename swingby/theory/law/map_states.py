r"""W at every whole step of a map, from W(0) until it is at rest.

Where steps are coarse, or half-times come from the map itself, so does W(t). (D.2) is iterated on
:math:`W_{ij} = \sqrt{e_i e_j}\, C_{ij}`, gradient descent on :math:`U_{ij} = \sqrt{e_i}\, G_{ij}`,
so W may start far below the float range, and gradient descent keeps pivots that W in floats has
lost. While the square of W is nothing, many steps are one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from swingby.theory.growth import DYNAMICS, growth_rates
from swingby.theory.law.pivots import Starts
from swingby.theory.law.walk import FALLEN, MOST_MAPPED, NEGLIGIBLE
from swingby.theory.numbers import Booleans, Floats

#: Steps between two looks whether W is at rest, or rows are to be scaled anew.
_BLOCK = 16
#: What W may change by in a step, as a share of itself, and be still.
_STILL = 1e-13
#: Steps at most, and numbers in all the states of a lane.
_MOST_STEPS, _MOST_NUMBERS = 3 * MOST_MAPPED, 2**23


@dataclass(frozen=True, eq=False)
class MapStates:
    """The states W (n, d, d) of the steps from `first` on; at rest after the last.

    growth (d, d): of the logarithm of each entry before; runs_away: whether W leaves the float
    range after the last.
    """

    first: int
    W: Floats
    growth: Floats
    runs_away: bool

    def looks(self) -> Floats:
        """Steps at which events are looked for: 0, and all steps that are held."""
        held = self.first + np.arange(len(self.W), dtype=np.float64)
        return held if self.first == 0 else np.append(0.0, held)

    def at_looks(self) -> Floats:
        """W (n, d, d) at the looks."""
        return self.W if self.first == 0 else self.evaluate(self.looks())

    def evaluate(self, steps: Floats) -> Floats:
        """W (m, d, d) at steps (m,); between whole ones by the cubic that half-times are read by.

        It goes through logits of four states where these are between 0 and 1, through logarithms
        where they are of one sign, and else through the states.
        """
        if not len(self.W):  # gone at once
            return np.full((len(steps), *self.growth.shape), np.nan)
        ahead, last = steps - self.first, len(self.W) - 1
        before = np.clip(np.floor(ahead), 0, last).astype(np.int64)
        W = self.W[before]
        early = ahead < 0
        W[early] *= np.exp(self.growth * ahead[early, None, None])
        between = (ahead > before) & (ahead < last)
        W[between] = self._between(ahead[between])
        if self.runs_away:
            W[ahead > last] = np.nan
        return W

    def _between(self, ahead: Floats) -> Floats:
        first = np.clip(np.floor(ahead) - 1, 0, len(self.W) - 4).astype(np.int64)
        four = self.W[first[:, None] + np.arange(4)]
        share, weights = ahead - first, np.ones((4, len(ahead)))
        for node in range(4):
            for other in set(range(4)) - {node}:
                weights[node] *= (share - other) / (node - other)

        def cubic(values: Floats) -> Floats:
            return np.asarray(np.einsum("km,mkij->mij", weights, values))

        with np.errstate(all="ignore"):
            logit = cubic(np.log(four / (1 - four)))
            size = np.exp(cubic(np.log(np.abs(four))))
        inside = ((four > 0) & (four < 1)).all(axis=1)
        like_signs = (np.sign(four) == np.sign(four[:, :1])).all(axis=1) & (four[:, 0] != 0)
        curved = np.where(like_signs, np.sign(four[:, 0]) * size, cubic(four))
        return np.where(inside, 1 / (1 + np.exp(-logit)), curved)


@np.errstate(all="ignore")
def map_states(
    starts: Starts, dynamics: str, awaited: Booleans, shifts: Floats
) -> tuple[MapStates, ...]:
    """The states from a start, once for each shift of the logarithms of its pivots.

    starts: a single one. awaited (d,): concepts that will be learned. shifts (m, d): by concept.
    Empty where that takes too many steps.
    """
    order, h = starts.order[0], float(starts.eta[0])
    a, back = starts.signal[0][order], np.argsort(order)
    growth = growth_rates(a, h, dynamics)
    own = growth.diagonal() / 2
    u = starts.log_sizes[0] + shifts[:, order]
    V, sign = starts.factors[0], starts.sign[0]
    on_factors = DYNAMICS[dynamics].of == "U"
    C = (V * sign) @ V.T
    # What is not symmetric would grow.
    X = V * np.sqrt(np.maximum(sign, 0.0)) if on_factors else (C + C.T) / 2
    X = np.tile(X, (len(u), 1, 1))
    size, first = float(u.max()) + np.log(max(float(np.abs(V).max()), 1.0)), 0
    most = min(_MOST_STEPS, _MOST_NUMBERS // V.size)
    if size < NEGLIGIBLE:
        first = int((NEGLIGIBLE - size) / growth.max())
        u = u + 2 * first * own
        X = X if on_factors else X * np.exp(first * (growth - own[:, None] - own))
    pair, single = h * (a[:, None] + a), h * a[:, None]
    pull = pair / 2 * np.exp(u)[:, None, :]
    blocks, peak = [], np.zeros_like(X)
    waiting = np.tile(awaited[order], (len(u), 1))
    counted = (a[:, None] > 0) | (a > 0)
    while True:
        block = np.empty((_BLOCK, *X.shape))
        roots = np.exp(u / 2)
        roots = roots[:, :, None] * roots[:, None, :]
        for step in range(_BLOCK):
            C = X @ X.swapaxes(1, 2) if on_factors else X
            block[step] = roots * C
            G = (pull * C) @ X
            X = X + (single * X - G if on_factors else pair * X - (G + G.swapaxes(1, 2)))
        blocks.append(block)
        if not np.isfinite(block).all():
            break
        size_of = np.abs(block)
        peak = np.maximum(peak, size_of.max(axis=0))
        waiting &= block.diagonal(axis1=2, axis2=3).max(axis=0) < 0.5
        if _at_rest(block, peak, waiting, counted):
            break
        if len(blocks) * _BLOCK > most:
            return ()
        rows = np.abs(C).diagonal(axis1=1, axis2=2)
        if rows.max() > 4.0:
            roots = np.sqrt(np.maximum(rows, 1.0))
            u = u + 2 * np.log(roots)
            X = X / (roots[:, :, None] * (1.0 if on_factors else roots[:, None, :]))
            pull = pair / 2 * np.exp(u)[:, None, :]
    W = np.concatenate(blocks)[:, :, back][:, :, :, back]
    finite = np.logical_and.accumulate(np.isfinite(W).all(axis=(2, 3)))
    begin = first + int(starts.steps[0])
    growth = growth[back][:, back]
    return tuple(
        MapStates(begin, W[finite[:, lane], lane], growth, not finite[-1, lane])
        for lane in range(len(u))
    )


def _at_rest(block: Floats, peak: Floats, waiting: Booleans, counted: Booleans) -> bool:
    """True if nothing moves any more, or nothing is awaited and W is near its limit."""
    last, size = block[-1], np.abs(block[-1])
    if ((np.abs(last - block[-2]) <= _STILL * size) | (size < 1e-300)).all():
        return True
    learned = last.diagonal(axis1=1, axis2=2) > 0.5
    limit = learned[:, :, None] * np.eye(last.shape[1])
    small, fallen = FALLEN
    bound = np.where(np.eye(last.shape[1]) > 0, small, np.minimum(small, fallen * peak + 1e-300))
    return bool(not waiting.any() and (np.abs(last - limit) < bound)[:, counted].all())
