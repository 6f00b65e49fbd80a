r"""Each concept by itself where both are read: the mean of training, its scatter, and F.

The state of a concept is :math:`(W, P)` for one layer, which goes to the solution as two
exponentials, and :math:`(u, v_W, v_P)` with :math:`(W, P) = u v` for two. Means follow gradient
descent on :math:`\frac12 e^\top M e`, covariances its derivative plus the noise of each batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from swingby.diffusion.vectors.integrals import sampled_map

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

#: Steps after which a concept counts as never learned.
MOST_STEPS = 30_000
#: Standard deviations of an error bar.
DEVIATIONS = 4.0
#: Steps between looks at whether all is learned.
_PIECE = 256


@dataclass(frozen=True, eq=False)
class Course:
    """The mean course of each concept.

    Parameters
    ----------
    W, P : ndarray of shape (n, s)
    F : ndarray of shape (n, s)
        The sampled map.
    deviation : ndarray of shape (n, s)
        Standard deviation of F.
    """

    W: Floats
    P: Floats
    F: Floats
    deviation: Floats

    def crossing(self, shift: float = 0.0) -> Floats:
        """Real time at which each F, shifted by so many deviations, first reaches 1/2.

        Returns
        -------
        ndarray of shape (s,)
            nan for never.
        """
        values = self.F + shift * self.deviation - 0.5
        found = np.full(values.shape[1], np.nan)
        for p, column in enumerate(values.T):
            places = np.flatnonzero(column >= 0)
            if len(places):
                k = int(places[0])
                before = column[k - 1] if k else 0.0
                found[p] = k - column[k] / (column[k] - before) if k else 0.0
        return found


def follow(
    form: Floats, covariance: Floats, rate: float, start: Floats, sample_steps: int
) -> Course:
    """Follow each concept until all F are beyond 1/2 with their error bars.

    Parameters
    ----------
    form : ndarray of shape (s, 2, 2)
        M.
    covariance : ndarray of shape (s, 3, 3)
        Of M_WW, M_WP, M_PP of a batch.
    rate : float
        Learning rate.
    start : ndarray of shape (s, 2) or (s, 3)
        (W, P) of one layer, or (u, v_W, v_P) of two.
    sample_steps : int
    """
    advance = _one_layer if start.shape[1] == 2 else _two_layers
    size = start.shape[1]
    state, spread = start.copy(), np.zeros((len(start), size, size))
    parts: list[tuple[Floats, ...]] = []
    total = 0
    while total < MOST_STEPS:
        kept, spreads = [], []
        for _ in range(_PIECE):
            kept.append(state)
            spreads.append(spread)
            state, turn, noise = advance(form, covariance, rate, state)
            spread = turn @ spread @ turn.swapaxes(1, 2) + noise
        parts.append(_seen(np.stack(kept), np.stack(spreads), sample_steps))
        total += _PIECE
        last_F, last_deviation = parts[-1][2][-1], parts[-1][3][-1]
        if not np.isfinite(state).all() or (last_F - DEVIATIONS * last_deviation > 0.5).all():
            break
    return Course(*(np.concatenate([one[k] for one in parts]) for k in range(4)))


def _noise(covariance: Floats, rest: Floats) -> Floats:
    """Covariance of dM e."""
    zero = np.zeros(len(rest))
    rows = np.stack(
        [
            np.stack([rest[:, 0], rest[:, 1], zero], -1),
            np.stack([zero, rest[:, 0], rest[:, 1]], -1),
        ],
        1,
    )
    return np.asarray(rows @ covariance @ rows.swapaxes(1, 2))


def _one_layer(
    form: Floats, covariance: Floats, rate: float, state: Floats
) -> tuple[Floats, Floats, Floats]:
    rest = 1 - state
    turn = np.eye(2) - rate * form
    pull = np.einsum("pij,pj->pi", form, rest)
    return state + rate * pull, turn, rate**2 * _noise(covariance, rest)


def _two_layers(
    form: Floats, covariance: Floats, rate: float, state: Floats
) -> tuple[Floats, Floats, Floats]:
    u, v = state[:, :1], state[:, 1:]
    rest = 1 - u * v
    pull = np.einsum("pij,pj->pi", form, rest)
    moved = np.concatenate([u + rate * (v * pull).sum(1, keepdims=True), v + rate * u * pull], 1)
    # d(W, P) by the state, and the step by (W, P)'s pull
    inner = np.concatenate([v[:, :, None], u[:, :, None] * np.eye(2)], 2)
    outer = inner.swapaxes(1, 2)
    turn = np.eye(3) - rate * outer @ form @ inner
    turn[:, 0, 1:] += rate * pull
    turn[:, 1:, 0] += rate * pull
    return moved, turn, rate**2 * outer @ _noise(covariance, rest) @ inner


def _seen(states: Floats, spreads: Floats, sample_steps: int) -> tuple[Floats, ...]:
    """W, P, F and the deviation of F."""
    if states.shape[2] == 3:
        u, v = states[:, :, :1], states[:, :, 1:]
        WP = u * v
        inner = np.concatenate([v[..., None], u[..., None] * np.eye(2)], -1)
        spreads = inner @ spreads @ inner.swapaxes(-1, -2)
    else:
        WP = states
    W, P = WP[..., 0], WP[..., 1]

    def F(W: Floats, P: Floats) -> Floats:
        return sampled_map(W[..., None, None], P[..., None, None], sample_steps)[..., 0, 0]

    width = 1e-5
    slope = np.stack(
        [
            (F(W + width, P) - F(W - width, P)) / (2 * width),
            (F(W, P + width) - F(W, P - width)) / (2 * width),
        ],
        -1,
    )
    variance = np.einsum("npi,npij,npj->np", slope, spreads, slope)
    return W, P, F(W, P), np.sqrt(np.maximum(variance, 0.0))
