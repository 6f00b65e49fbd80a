r"""The laws of times and sizes as expressions, each written once.

The modules that compute with floats (:mod:`swingby.theory.growth`, :mod:`swingby.theory.stages`,
:mod:`swingby.theory.lemmas`, :mod:`swingby.theory.one_layer`) say the same in numpy; the tests hold
the two against each other. Whatever may lie below the float range enters by its natural
logarithm: log x_k for a pivot of the odds matrix, log omega, log P.

Around the time t_k at which concept k is learned, and while a later concept j is small, the flow is

.. math::
   \dot w_{kk} = 2 a_k w_{kk} (1 - w_{kk}), \qquad
   \dot w_{kj} = w_{kj} \bigl[(a_k + a_j) - \tfrac{3 a_k + a_j}{2} w_{kk}\bigr],

so that :math:`w_{kk}` is logistic in :math:`\tau = t - t_k` and

.. math:: w_{kj} = M_{kj}\, e^{g_{kj} \tau} (1 + e^{g_{kk} \tau})^{-(3a_k + a_j)/(4a_k)},

which peaks where the bracket vanishes: :math:`w_{kk} = 2(a_k + a_j)/(3a_k + a_j)`. The tests derive
both symbolically.
"""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory import numbers
from swingby.theory.assumptions import K, a_i, a_j, a_k, alpha, eta, gamma, kappa
from swingby.theory.law import (
    Law,
    M,
    eta_t,
    g_kj,
    g_kk,
    level,
    log_anchor,
    log_beta,
    log_level,
    log_omega,
    log_P,
    log_start,
    log_x,
    t,
    tau,
    theta,
    w,
)
from swingby.theory.law import evaluate as evaluate


def one_layer(d: int, k: int = 1) -> Law:
    r"""Component k of the one-layer output, over d directions.

    .. math:: (1 - e^{-a_k \eta t}) z_k + \sum_i e^{-a_i \eta t} w_{ki}(0) z_i

    Parameters
    ----------
    d, k : int
        k counts from 1. Letters are ``a_1``, ``w_k1``, ``z_1`` and so on.

    Returns
    -------
    Law

    Raises
    ------
    InvalidInput
        If k is not between 1 and d.

    References
    ----------
    Theorem 4.1, (C.21).
    """
    numbers.whole(d, "d", 1, "Theorem 4.1", most=1024)
    numbers.whole(k, "k", 1, "Theorem 4.1", most=d)
    place = range(1, d + 1)
    a = [sympy.Symbol(f"a_{i}", nonnegative=True) for i in place]
    start = [sympy.Symbol(f"w_k{i}(0)", real=True) for i in place]
    z = [sympy.Symbol(f"z_{i}", real=True) for i in place]
    total = (1 - sympy.exp(-a[k - 1] * eta_t)) * z[k - 1]
    for i in range(d):
        total += sympy.exp(-a[i] * eta_t) * start[i] * z[i]
    return Law(f"one layer.{k} of {d}", "output of the one-layer model", "Thm 4.1", total, "1")


def _steps(id: str, title: str, source: str, expression: Any) -> Law:
    return Law(id, title, source, expression, "steps")


_log, _exp = sympy.log, sympy.exp
_pair = {
    "euler": _log(1 + eta * (a_i + a_j)),
    "gd": _log(1 + eta * a_i) + _log(1 + eta * a_j),
    "flow": eta * (a_i + a_j),
}
#: g_ij per step, by dynamics.
GROWTH = {
    name: Law(f"growth.{name}", "growth of the logarithm of a small entry", source, rate, "1/step")
    for (name, rate), source in zip(_pair.items(), ("(D.2)", "(D.4)", "(4.3)"), strict=True)
}
#: log of w_kk(t + 1)/w_kk(t) of one concept alone, by dynamics.
LOGISTIC_MAP = {
    name: Law(f"logistic map.{name}", "growth of the logarithm of w_kk alone", source, rate, "1")
    for name, source, rate in (
        ("euler", "(D.2)", _log(1 + 2 * eta * a_k * (1 - w))),
        ("gd", "(D.4)", 2 * _log(1 + eta * a_k * (1 - w))),
        ("flow", "(4.3)", -_log(w + (1 - w) * _exp(-2 * eta * a_k))),
    )
}

HALF_TIME = _steps("half-time", "time at which w_kk reaches 1/2", "ours", -log_x / g_kk)
LEVEL_TIME = _steps(
    "level time",
    "time at which w_kk reaches theta",
    "ours",
    (_log(theta / (1 - theta)) - log_x) / g_kk,
)
LOGISTIC = Law("w_kk", "curve of w_kk", "ours", 1 / (1 + _exp(-log_x - g_kk * t)), "1")

_power = (3 * a_k + a_j) / (4 * a_k)
MINOR = Law(
    "w_kj",
    "curve of a minor entry while concept k is learned",
    "ours",
    M * _exp(g_kj * tau) * (1 + _exp(g_kk * tau)) ** -_power,
    "1",
)
PEAK_LEVEL = Law(
    "peak level", "w_kk at the peak of w_kj", "ours", 2 * (a_k + a_j) / (3 * a_k + a_j), "1"
)
PEAK_TIME = Law(
    "peak time",
    "time of the peak of w_kj under the flow",
    "ours",
    _log(2 * (a_k + a_j) / (a_k - a_j)) / (2 * eta * a_k),
    "steps after t_k",
)
PEAK = Law(
    "peak",
    "height of the peak of w_kj under the flow",
    "ours",
    M
    * (2 * (a_k + a_j) / (a_k - a_j)) ** ((a_k + a_j) / (2 * a_k))
    * ((a_k - a_j) / (3 * a_k + a_j)) ** _power,
    "1",
)

_phase = log_P + log_beta + log_omega
_rate = 2 * eta * a_i
_waiting = (_phase - log_start) / _rate
_after = (_log(level) - _phase) * kappa / (_rate * (1 - level))

NOT_BEFORE = _steps(
    "Lemma D.1",
    "a diagonal entry does not reach a level before",
    "(D.11)",
    sympy.Max(0, log_level - log_start) / (_rate * kappa),
)
INITIAL_PHASE_END = _steps(
    "Lemma D.2",
    "every entry is in the initial phase until",
    "T_1",
    log_P / (2 * eta * gamma * alpha * kappa),
)
LEAVE_BY = {
    "printed": _steps(
        "Lemma D.3, printed",
        "a diagonal entry has left the initial phase by",
        "T_1^(i)",
        _waiting / kappa,
    ),
    "corrected": _steps(
        "Lemma D.3, corrected",
        "a diagonal entry has left the initial phase by",
        "(D.35)",
        _waiting * kappa,
    ),
}
REACH_BY = {
    edition: _steps(
        f"Lemma D.4, {edition}",
        "a diagonal entry has reached a level by",
        "(D.36)",
        law.expression + _after,
    )
    for edition, law in LEAVE_BY.items()
}
BAND_HIGH = Law("Lemma D.5", "a diagonal entry stays below", "(D.48)", 1 + 2 / K, "1")
BAND_LOW = Law("Lemma D.6", "a learned diagonal entry stays above", "App. D.2", 1 - 2 / K, "1")
SUPPRESSED = Law(
    "Lemma D.7",
    "log of the size of a minor entry once the larger concept is learned, at most",
    "(D.57)",
    sympy.Max(log_anchor, log_omega),
    "natural logarithm",
)
MINOR_BOUND = Law(
    "Lemma D.8",
    "log of the size of an off-diagonal entry, at most",
    "Assertion D.1",
    _phase,
    "natural logarithm",
)


def laws() -> tuple[Law, ...]:
    """All laws; the one-layer output for two directions stands for every d.

    Returns
    -------
    tuple of Law

    Examples
    --------
    >>> len({law.id for law in laws()}), str(laws()[2])
    (24, 'growth of the logarithm of a small entry ((4.3)): eta*(a_i + a_j), in 1/step')
    """
    return (
        *GROWTH.values(),
        *LOGISTIC_MAP.values(),
        HALF_TIME,
        LEVEL_TIME,
        LOGISTIC,
        MINOR,
        PEAK_LEVEL,
        PEAK_TIME,
        PEAK,
        one_layer(2),
        NOT_BEFORE,
        INITIAL_PHASE_END,
        *LEAVE_BY.values(),
        *REACH_BY.values(),
        BAND_HIGH,
        BAND_LOW,
        SUPPRESSED,
        MINOR_BOUND,
    )
