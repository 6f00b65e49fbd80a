"""Expectations over the data or over a Gaussian U(0): Isserlis' theorem, index by index.

As for matrices, *proved* takes two arguments that agree: cases of equal and distinct indices for
every d and s, and exact polynomials at small sizes.

The limit of an empirical mean: exact mean, exact variance, Chebyshev's inequality.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy

from swingby.theory.claim import Claim, MeanIdentity
from swingby.theory.derivations.conclusions import EmpiricalLimit, SameDistribution
from swingby.theory.derivations.matrices import cluster, i, j, k, mean, p, q, s, tau, u, xi
from swingby.theory.verdict import Finding
from swingby.verify.prover.algebra import words
from swingby.verify.prover.algebra.expansion import Layout, scalar
from swingby.verify.prover.algebra.matrix import shown_values, sympy_value
from swingby.verify.prover.algebra.ring import (
    Constant,
    Number,
    letter_names,
    nonzero_point,
    polynomials,
    value_at,
    written,
)
from swingby.verify.prover.algebra.words import (
    OTHER,
    Pattern,
    Unsupported,
    evaluate,
    gaussian_mean,
    raw_moment,
)
from swingby.verify.prover.evidence import Judged, Witness

#: Sizes d, s and n of the entrywise expansion.
LARGEST, SAMPLES = 3, 2


def judge_limit(conclusion: EmpiricalLimit) -> Judged:
    """The verdict on the convergence of an empirical mean in probability.

    Returns never *refuted*: a wrong variance would not speak against the convergence.
    """
    try:
        closes = words.agree(mean(conclusion.sample), conclusion.limit) and all(
            _variance_agrees(conclusion, pattern)
            for pattern in words.patterns(conclusion.constant, symmetric=False, square=False)
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


#: Sizes of the entrywise expansion.
LARGEST_MEAN = 4

ARGUMENT = "moments by cases of equal and distinct indices, every d and s"


def judge_mean(claim: Claim) -> Judged:
    """The verdict on a statement about means over the data or over U(0)."""
    conclusion = claim.conclusion
    if isinstance(conclusion, MeanIdentity):
        return _judge_identity(conclusion)
    if isinstance(conclusion, SameDistribution):
        return _judge_law(conclusion)
    return judge_limit(conclusion)


def _judge_identity(conclusion: MeanIdentity) -> Judged:
    try:
        general = words.agree(conclusion.left, conclusion.right)
        argument = ARGUMENT
    except Unsupported as reason:
        general, argument = False, f"general argument: {reason}"
    written = f"entrywise for d, s, d' up to {LARGEST_MEAN}"
    try:
        for layout in mean_layouts(conclusion):
            names, found = expectations(conclusion, layout)
            if found[0] != found[1]:
                witness = _witness(conclusion, layout, names, found)
                if witness is not None:
                    return Judged(Finding.REFUTED, "exact moments", (), witness)
                return Judged(Finding.UNDECIDED, "moments", tried=("no witness of small integers",))
    except Unsupported as reason:
        return Judged(Finding.UNDECIDED, "moments", tried=(argument, f"entrywise: {reason}"))
    if general:
        return Judged(Finding.PROVED, f"{argument}, and {written}", (argument, written))
    return Judged(Finding.UNDECIDED, "moments", tried=(f"{argument}: does not close", written))


def mean_layouts(conclusion: MeanIdentity) -> Iterator[Layout]:
    """Sizes and indices at which a mean is written out, small ones first."""
    parts = (conclusion.left, conclusion.right)
    free = {symbol for part in parts for symbol in part.free_symbols if symbol.is_integer}
    names = sorted(symbol.name for symbol in free - {cluster})
    weights = any(part.has(u.label) for part in parts)
    for size in range(1, LARGEST_MEAN + 1):
        # the columns of U and the clusters vary on their own
        for second in range(1, LARGEST_MEAN + 1 if weights else size + 1):
            clusters, columns = (size, second) if weights else (second, size)
            sizes = {"d": size, "d'": columns, "s": clusters, "n": 1}
            for values in itertools.product(range(1, size + 1), repeat=len(names)):
                yield Layout(sizes, {}, dict(zip(names, values, strict=True)))


def expectations(conclusion: MeanIdentity, layout: Layout) -> tuple[list[str], list[Any]]:
    """Both sides as polynomials in mu, sigma and tau, after the mean.

    Returns `names` the letters of the ring; `values` left and right side.
    """
    size = layout.sizes["d"]

    def write(number: Number, constant: Constant) -> list[Any]:
        entries = layout.entries(number, constant)
        found = [scalar(side, entries) for side in (conclusion.left, conclusion.right)]
        centres = [entries.entry("mu", (place,)) for place in range(1, size + 1)]
        spreads = [entries.entry("sigma", (place,)) for place in range(1, size + 1)]
        return [*found, number(tau.name), *centres, *spreads]

    names = letter_names(write)
    left, right, scale, *rest = polynomials(write)
    normal = laws(names, scale, rest[:size], rest[size:])
    return names, [without_gaussians(side, names, normal) for side in (left, right)]


def _witness(
    conclusion: MeanIdentity, layout: Layout, names: list[str], found: list[Any]
) -> Witness | None:
    values = nonzero_point(found[0] - found[1], names)
    if values is None:
        return None
    first = [value_at(side, names, values) for side in found]
    second = [_discrete(side, layout, values) for side in (conclusion.left, conclusion.right)]
    if first != second or first[0] == first[1]:
        return None
    law = tuple(name for name in values if name.startswith(("xi_", "x_", "u_")))
    shown = shown_values({name: value for name, value in values.items() if name not in law})
    return Witness(
        layout.names | shown,
        " = ".join(written(side, names) for side in found),
        str(first[0]),
        str(first[1]),
        ("Isserlis' theorem over the rational numbers", "a three-point law with equal moments"),
    )


def _discrete(expression: Any, layout: Layout, values: dict[str, Fraction]) -> Fraction | None:
    """A mean by another road: a law on three points has the Gaussian's first five moments."""
    entries = layout.entries(values.__getitem__, Fraction)
    size, columns = layout.sizes["d"], layout.sizes["d'"]
    for operator in expression.atoms(sympy.Function):
        if operator.func != mean:
            continue
        body = operator.args[0]
        bases = {str(base) for base in body.atoms(sympy.IndexedBase)} & {"xi", "x", "u"}
        letters: list[tuple[str, tuple[int, ...]]]
        if bases == {"u"}:
            letters = [
                ("u", (row, column))
                for row in {entries.indices[index] for index in (i, j) if index in entries.indices}
                for column in range(1, columns + 1)
            ]
        else:
            letters = [(base, (at,)) for base in sorted(bases) for at in range(1, size + 1)]
        if len(letters) > 6:
            return None
        total = sympy.Integer(0)
        for group in range(1, layout.sizes["s"] + 1):
            given = body.subs(cluster, group)
            for points in itertools.product((-1, 0, 1), repeat=len(letters)):
                weight = sympy.Integer(1)
                swap: dict[tuple[str, tuple[int, ...]], Any] = {}
                for (base, index), point in zip(letters, points, strict=True):
                    weight *= sympy.Rational(1, 6) if point else sympy.Rational(2, 3)
                    centre, spread = 0, sympy.Integer(1)
                    if base == "x":
                        inside = index[0] <= layout.sizes["s"]
                        centre = sympy.Rational(str(values[f"mu_{group}"])) * (index[0] == group)
                        spread = sympy.Rational(str(values.get(f"sigma_{index[0]}", 0))) * inside
                    if base == "u":
                        spread = sympy.Rational(str(values[tau.name]))
                    swap[(base, index)] = centre + spread * point * sympy.sqrt(3)
                total += weight * sympy_value(given, entries, swap)
        value = sympy.expand(total) / layout.sizes["s"]
        expression = expression.xreplace({operator: value})
    result = sympy.expand(sympy_value(expression, entries))
    return Fraction(int(result.p), int(result.q)) if result.is_Rational else None


def _judge_law(conclusion: SameDistribution) -> Judged:
    # the cluster is given: an index like any other
    body, place, spread = (
        part.xreplace({cluster: k})
        for part in (conclusion.representation, conclusion.location, conclusion.covariance)
    )
    letters = [entry for entry in body.atoms(sympy.Indexed) if entry.base == xi]
    affine = sympy.Poly(body, *letters).total_degree() <= 1 if letters else True
    away = (body - place) * (body - place).xreplace({p: q})
    first = _judge_identity(MeanIdentity(mean(body), place))
    second = _judge_identity(MeanIdentity(mean(away), spread))
    parts = {"mean given the cluster": first, "covariance given the cluster": second}
    for part in parts.values():
        if part.verdict is not Finding.PROVED:
            return Judged(part.verdict, part.method, part.evidence, part.witness, parts=parts)
    if not affine:
        return Judged(Finding.UNDECIDED, "moments", tried=("not affine in xi",), parts=parts)
    return Judged(
        Finding.PROVED,
        f"equal mean and covariance of two Gaussians given the cluster; {first.method}",
        (
            "both laws choose the cluster uniformly from [s]",
            "an affine image of a Gaussian vector is Gaussian; its moment generating function is"
            " exp(<lambda, m> + <lambda, C lambda>/2), and mean m and covariance C agree",
        ),
        parts=parts,
    )
