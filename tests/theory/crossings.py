"""Real crossings of 1/2 by brute force and in closed form: witnesses for any stage law.

The real step at which w_kk crosses 1/2 is the root of the cubic through logit w_kk at the four
whole steps around it. Nothing here imports the package.
"""

import math
from itertools import pairwise

import numpy as np
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq


def gaussian(seed, d, omega, columns=None):
    """U(0) with W(0) of mean diagonal omega."""
    U0 = np.random.default_rng(seed).standard_normal((d, columns or d))
    return U0 * math.sqrt(omega * d / np.sum(U0**2))


def cubic_root(four):
    """Where the cubic through the logits at 0, 1, 2, 3 passes 0 from below."""
    y = np.log(four / (1 - four)).astype(float)
    first = next(n for n in range(3) if y[n] < 0 <= y[n + 1])
    # A little wider: at a crossing on a whole step the fit may end on either side of 0.
    return brentq(np.poly1d(np.polyfit(range(4), y, 3)), first - 0.01, first + 1.01, xtol=1e-14)


def steps_of(a, start, eta, dynamics):
    """The diagonal of W at steps 0, 1, 2, ...; `start` is W(0) for euler and U(0) for gd."""
    a, X, h = np.asarray(a, start.dtype), start.copy(), start.dtype.type(eta)
    pair = a[:, None] + a[None, :]
    while True:
        W = X if dynamics == "euler" else X @ X.T
        yield np.diag(W).copy()
        if dynamics == "euler":
            Y = (pair * W) @ W
            X = W + h * (pair * W - (Y + Y.T) / 2)
        else:
            X = X + h * (a[:, None] * X - (pair * W) @ X / 2)


@np.errstate(all="ignore")
def brute(a, start, eta, dynamics, most=200_000, dtype=np.longdouble):
    """Crossings of a map by iterating it; nan where there is none by step `most` or a runaway."""
    window, crossings = [], np.full(len(a), np.nan)
    for step, diagonal in enumerate(steps_of(a, np.asarray(start, dtype), eta, dynamics)):
        window = [*window[-3:], diagonal]
        for k in np.flatnonzero(np.isnan(crossings)):
            w = np.array([row[k] for row in window])
            # Two steps on either side, or the first four where the crossing is between 0 and 1.
            if len(w) == 4 and (w[1] < 0.5 <= w[2] or (step == 3 and w[0] < 0.5 <= w[1])):
                crossings[k] = step - 3 + cubic_root(w)
            elif step == 0 and w[0] >= 0.5:
                crossings[k] = 0.0
        if step == most or not np.isnan(crossings).any() or not np.isfinite(diagonal).all():
            return crossings
    raise AssertionError


def flow(a, U0, eta, last):
    """Crossings of the flow before step `last`, by a standard solver on U at 1e-12."""
    a, d = np.asarray(a), len(a)

    def field(_, y):
        U = y.reshape(d, -1)
        W = U @ U.T
        return (a[:, None] * U - ((a[:, None] + a[None, :]) * W) @ U / 2).ravel()

    events = [lambda _, y, k=k: np.sum(y.reshape(d, -1)[k] ** 2) - 0.5 for k in range(d)]
    small = 1e-16 * float(np.abs(U0).min())
    span = (0, last * eta)
    run = solve_ivp(field, span, U0.ravel(), "DOP853", rtol=1e-12, atol=small, events=events)
    return np.array([times[0] / eta if len(times) else np.nan for times in run.t_events])


def tied(a, W0, eta):
    """The flow with all signals equal to a: W = e^(2at) W0 (I + (e^(2at) - 1) W0)^-1."""
    values, vectors = np.linalg.eigh(W0)

    def level(k, step):
        growth = math.expm1(2 * a * eta * step)
        return float(vectors[k] ** 2 @ ((growth + 1) * values / (1 + growth * values))) - 0.5

    last = (80 - 2 * math.log(values[0])) / (2 * a * eta)
    return np.array(
        [brentq(lambda t, k=k: level(k, t), 0, last, xtol=1e-9) for k in range(len(W0))]
    )


def diagonal(a, w0, eta, dynamics):
    """One concept alone: the logistic of the flow, or a scalar map and its cubic."""
    if dynamics == "flow":
        return math.log(1 / w0 - 1) / (2 * a * eta)
    h, values = np.longdouble(eta) * a, [np.longdouble(w0)]
    while len(values) < 4 or values[-2] < 0.5:
        w = values[-1]
        values.append(
            w + 2 * h * w * (1 - w) if dynamics == "euler" else w * (1 + h * (1 - w)) ** 2
        )
    return len(values) - 4 + cubic_root(np.array(values[-4:]))


def rank_one(a, u0, eta):
    """The flow of W = u u^T, in its own clock s: u ~ e^(A s) u0 and, with n = |u|^2,
    n/sqrt(1-n) = |e^(A s) u0|^2/sqrt(1-n0), dt = ds/(1-n/2); nan for what never crosses."""
    a, u0 = np.asarray(a), np.asarray(u0)

    def norm_and_levels(s):
        squares = (np.exp(np.multiply.outer(s, a)) * u0) ** 2
        total = squares.sum(-1)
        norm = 2 / (1 + np.sqrt(1 + 4 * (1 - u0 @ u0) / total**2))
        return norm, norm[..., None] * squares / total[..., None] - 0.5

    def lag(s):
        norm, _ = norm_and_levels(s)
        return norm / (2 - norm)

    grid, crossings = np.linspace(0, 150 / a.max(), 40_000), np.full(len(a), np.nan)
    above = norm_and_levels(grid)[1] >= 0
    for k in np.flatnonzero(above.any(0)):
        n = int(above[:, k].argmax())
        s = brentq(lambda s, k=k: norm_and_levels(s)[1][k], grid[n - 1], grid[n], xtol=1e-14)
        edges = np.linspace(0, s, 65)
        crossings[k] = s + sum(
            quad(lag, *interval, epsabs=1e-13)[0] for interval in pairwise(edges)
        )
    return crossings / eta


def left_by_drift(a_k, a_j, W0, eta):
    """What euler leaves of w_jj(0) when W is small: w_jj(0) - c sum_n v_n^2 / rho^(n+1).

    With w the scalar orbit of concept k and v that of w_kj beside it; j then grows alone from
    there, and is trapped where it is not positive. Exact as W(0) goes to 0.
    """
    h, (w, v), rest = np.longdouble(eta), map(np.longdouble, W0[0]), np.longdouble(W0[1][1])
    rho, factor, term = 1 + 2 * h * a_j, h * (a_k + a_j), np.longdouble(1)
    scale = v / np.sqrt(rho)  # v_n^2/rho^(n+1) as the square of one small number
    while w < 0.5 or term > 1e-25 * abs(rest):
        term = factor * scale**2
        rest -= term
        scale *= (1 + h * (a_k + a_j) - h * (3 * a_k + a_j) / 2 * w) / np.sqrt(rho)
        w += 2 * h * a_k * w * (1 - w)
    return rest
