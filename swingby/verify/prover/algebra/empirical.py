"""The limit of an empirical mean: exact mean, exact variance, Chebyshev's inequality."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import sympy

from swingby.theory.derivations.conclusions import EmpiricalLimit
from swingby.theory.derivations.matrices import cluster, mean, s, tau
from swingby.theory.verdict import Finding
from swingby.verify.prover.algebra import indices
from swingby.verify.prover.algebra.expansion import scalar
from swingby.verify.prover.algebra.layout import Layout
from swingby.verify.prover.algebra.pattern import (
    OTHER,
    Pattern,
    evaluate,
    gaussian_mean,
    raw_moment,
)
from swingby.verify.prover.algebra.ring import (
    Constant,
    Number,
    letter_names,
    polynomials,
)
from swingby.verify.prover.algebra.words import Unsupported
from swingby.verify.prover.evidence import Judged

#: Sizes d, s and n of the entrywise expansion.
LARGEST, SAMPLES = 3, 2


def judge_limit(conclusion: EmpiricalLimit) -> Judged:
    """The verdict on the convergence of an empirical mean in probability.

    Returns never *refuted*: a wrong variance would not speak against the convergence.
    """
    try:
        closes = indices.agree(mean(conclusion.sample), conclusion.limit) and all(
            _variance_agrees(conclusion, pattern)
            for pattern in indices.patterns(conclusion.constant, symmetric=False, square=False)
        )
        small = all(_written_out(conclusion, layout) for layout in _layouts(conclusion))
    except Unsupported as reason:
        return Judged(Finding.UNDECIDED, "moments", tried=(str(reason),))
    if not (closes and small):
        return Judged(Finding.UNDECIDED, "moments", tried=("mean or variance do not agree",))
    return Judged(
        Finding.PROVED,
        f"exact mean and variance, every d, s, n, and entrywise for d, s up to {LARGEST},"
        f" n up to {SAMPLES}; Chebyshev's inequality",
        (
            "E[A_pq] = E[x_p x_q] for every n: every cluster has n samples",
            "samples are independent, so Var[A_pq] = (sum over clusters of Var[x_p x_q]) / (s^2 n),"
            " which is the constant over n",
            "P(|A_pq - E[x_p x_q]| > epsilon) <= constant / (n epsilon^2) -> 0",
        ),
    )


def _variance_agrees(conclusion: EmpiricalLimit, pattern: Pattern) -> bool:
    def variance(label: str) -> Any:
        given = pattern.bind(cluster, label)
        first = gaussian_mean(conclusion.sample, given)
        second = gaussian_mean(conclusion.sample**2, given)
        return second - first**2

    met = sum(variance(label) for label in pattern.inside)
    others = (s - len(pattern.inside)) * variance(OTHER)
    claimed = evaluate(conclusion.constant, pattern)
    return bool(sympy.cancel(sympy.together((met + others) / s**2 - claimed)) == 0)


def _layouts(conclusion: EmpiricalLimit) -> list[Layout]:
    found = []
    for size in range(1, LARGEST + 1):
        for clusters, samples in itertools.product(range(1, size + 1), range(1, SAMPLES + 1)):
            sizes = {"d": size, "d'": size, "s": clusters, "n": samples}
            for row, column in itertools.product(range(1, size + 1), repeat=2):
                found.append(Layout(sizes, {}, {"p": row, "q": column}))
    return found


def _written_out(conclusion: EmpiricalLimit, layout: Layout) -> bool:
    size, clusters, samples = (layout.sizes[name] for name in ("d", "s", "n"))

    def write(number: Number, constant: Constant) -> list[Any]:
        entries = layout.entries(number, constant)
        parts = []
        for group, place in itertools.product(range(1, clusters + 1), range(1, samples + 1)):
            bound = entries.indices | {cluster: group}
            parts.append(
                scalar(conclusion.sample, replace(entries, indices=bound, sample=(group, place)))
            )
        average = constant(1, clusters * samples) * entries.total(parts)
        claimed = [scalar(conclusion.limit, entries), scalar(conclusion.constant, entries)]
        centres = [entries.entry("mu", (place,)) for place in range(1, size + 1)]
        spreads = [entries.entry("sigma", (place,)) for place in range(1, size + 1)]
        return [average, *claimed, number(tau.name), *centres, *spreads]

    names = letter_names(write)
    average, limit, constant, scale, *rest = polynomials(write)
    normal = laws(names, scale, rest[:size], rest[size:])
    first = without_gaussians(average, names, normal)
    second = without_gaussians(average * average, names, normal)
    expected = without_gaussians(limit, names, normal)
    return bool(first == expected and (second - first * first) * samples == constant)


def laws(
    names: list[str], scale: Any, centres: list[Any], spreads: list[Any]
) -> dict[str, tuple[Any, Any]]:
    """Mean and variance of every Gaussian letter."""
    zero = scale - scale
    normal: dict[str, tuple[Any, Any]] = {}
    for name in names:
        if name.startswith("xi_"):
            normal[name] = (zero, zero + 1)
        elif name.startswith("u_"):
            normal[name] = (zero, scale * scale)
        elif name.startswith("x_"):
            place, group = name[2:].split("|")
            at = int(place) - 1
            centre = centres[at] if place == group.split(",")[0] else zero
            normal[name] = (centre, spreads[at] * spreads[at])
    return normal


def without_gaussians(polynomial: Any, names: list[str], normal: dict[str, tuple[Any, Any]]) -> Any:
    """The mean of a polynomial over independent Gaussian letters."""
    context = polynomial.context()
    places = {at: normal[name] for at, name in enumerate(names) if name in normal}
    total = context.constant(0)
    for exponents, coefficient in polynomial.to_dict().items():
        fixed = tuple(0 if at in places else power for at, power in enumerate(exponents))
        term = context.from_dict({fixed: coefficient})
        for at, (location, variance) in places.items():
            if exponents[at]:
                term = term * raw_moment(exponents[at], location, variance)
        total = total + term
    return total
