"""Expectations over the data or over a Gaussian U(0): Isserlis' theorem, index by index.

As for matrices, *proved* takes two arguments that agree: cases of equal and distinct indices for
every d and s, and exact polynomials at small sizes. The limit of an empirical mean takes its exact
mean and variance, and Chebyshev's inequality.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import flint
import sympy

from swingby.proofs.language.claim import Claim
from swingby.proofs.language.conclusions import EmpiricalLimit, MeanIdentity, SameDistribution
from swingby.proofs.language.matrices import cluster, k, mean, p, q, s, tau, u, xi
from swingby.proofs.prover.algebra import cases
from swingby.proofs.prover.algebra.cases import OTHER, IndexPattern, gaussian_mean, raw_moment
from swingby.proofs.prover.algebra.entries import Entries, Number, scalar
from swingby.proofs.prover.algebra.entry_polynomials import (
    nonzero_point,
    polynomial_in_letters,
    polynomials,
    value_at,
    witness_values,
)
from swingby.proofs.prover.algebra.matrix import in_sympy
from swingby.proofs.prover.algebra.words import Unsupported
from swingby.proofs.prover.evidence import ClaimVerdict, Witness, undecided
from swingby.theory.numbers import fraction
from swingby.theory.verdict import Finding

#: Sizes of the entrywise expansion: of means; of a limit d and s, and n.
_LARGEST_MEAN, _LARGEST, _SAMPLES = 4, 3, 2
_ARGUMENT = "moments by cases of equal and distinct indices, every d and s"


def decide_mean(claim: Claim) -> ClaimVerdict:
    """The verdict on a statement about means over the data or over U(0)."""
    conclusion = claim.conclusion
    if isinstance(conclusion, MeanIdentity):
        return _decide_identity(conclusion)
    if isinstance(conclusion, SameDistribution):
        return _decide_law(conclusion)
    return _decide_limit(conclusion)


def _decide_identity(conclusion: MeanIdentity) -> ClaimVerdict:
    try:
        general, argument = cases.agree(conclusion.left, conclusion.right), _ARGUMENT
    except Unsupported as reason:
        general, argument = False, f"general argument: {reason}"
    entrywise = f"entrywise for d, s, d' up to {_LARGEST_MEAN}"
    try:
        for layout in _mean_layouts(conclusion):
            names, sides = expectations(layout, [conclusion.left, conclusion.right])
            if sides[0] != sides[1]:
                witness = _witness(conclusion, layout, names, sides)
                if witness is not None:
                    return ClaimVerdict(Finding.REFUTED, "exact moments", (), witness)
                return undecided("moments", "no witness of small integers")
    except Unsupported as reason:
        return undecided("moments", argument, f"entrywise: {reason}")
    if general:
        return ClaimVerdict(Finding.PROVED, f"{argument}, and {entrywise}", (argument, entrywise))
    return undecided("moments", f"{argument}: does not close", entrywise)


def _mean_layouts(conclusion: MeanIdentity) -> Iterator[Entries]:
    """Sizes and indices at which a mean is written out, the small first."""
    formulas = (conclusion.left, conclusion.right)
    indices = {
        symbol for formula in formulas for symbol in formula.free_symbols if symbol.is_integer
    }
    names = sorted(symbol.name for symbol in indices - {cluster})
    weights = any(formula.has(u.label) for formula in formulas)
    for size in range(1, _LARGEST_MEAN + 1):
        # the columns of U and the clusters vary on their own
        for second in range(1, _LARGEST_MEAN + 1 if weights else size + 1):
            clusters, columns = (size, second) if weights else (second, size)
            sizes = {"d": size, "d'": columns, "s": clusters, "n": 1}
            for values in itertools.product(range(1, size + 1), repeat=len(names)):
                yield Entries(sizes, dict(zip(names, values, strict=True)))


def expectations(
    layout: Entries, formulas: list[Any], sample: Any = None
) -> tuple[list[str], list[Any]]:
    """Formulas as polynomials in mu, sigma and tau, after the mean, and the names of the letters.

    With a `sample`, the mean of its average over all samples and of the square of that come first.
    """

    def write(number: Number) -> list[Any]:
        entries = layout.over(number)
        values = [scalar(formula, entries) for formula in formulas]
        if sample is not None:
            count = layout.sizes["s"] * layout.sizes["n"]
            total = sum(scalar(sample, sampled) for sampled in entries.samples())
            average = flint.fmpq(1, count) * total
            values = [average, average * average, *values]
        places = range(1, layout.sizes["d"] + 1)
        spreads = [entries.entry(base, (at,)) for base in ("mu", "sigma") for at in places]
        return [number(tau.name), *spreads, *values]

    names, (scale, *columns) = polynomials(write)
    size = layout.sizes["d"]
    normal = _laws(names, scale, columns[:size], columns[size : 2 * size])
    return names, [
        _without_gaussians(polynomial, names, normal) for polynomial in columns[2 * size :]
    ]


def _laws(
    names: list[str], scale: Any, centres: list[Any], spreads: list[Any]
) -> dict[str, tuple[Any, Any]]:
    """Mean and variance of every Gaussian letter."""
    normal: dict[str, tuple[Any, Any]] = {}
    for name in names:
        if name.startswith("xi_"):
            normal[name] = (0, 1)
        elif name.startswith("u_"):
            normal[name] = (0, scale * scale)
        elif name.startswith("x_"):
            position, group = name[2:].split("|")
            at = int(position) - 1
            centre = centres[at] if position == group.split(",")[0] else 0
            normal[name] = (centre, spreads[at] * spreads[at])
    return normal


def _without_gaussians(
    polynomial: Any, names: list[str], normal: dict[str, tuple[Any, Any]]
) -> Any:
    """The mean of a polynomial over independent Gaussian letters."""
    context = polynomial.context()
    places = {at: normal[name] for at, name in enumerate(names) if name in normal}
    total = context.constant(0)
    for exponents, coefficient in polynomial.to_dict().items():
        fixed = tuple(0 if at in places else power for at, power in enumerate(exponents))
        term = context.from_dict({fixed: coefficient})
        for at, law in places.items():
            if exponents[at]:
                term = term * raw_moment(exponents[at], *law)
        total = total + term
    return total


def _witness(
    conclusion: MeanIdentity, layout: Entries, names: list[str], sides: list[Any]
) -> Witness | None:
    values = nonzero_point(sides[0] - sides[1], names)
    if values is None:
        return None
    first = [value_at(side, names, values) for side in sides]
    second = [_discrete(side, layout, values) for side in (conclusion.left, conclusion.right)]
    if first != second or first[0] == first[1]:
        return None
    fixed = {x: value for x, value in values.items() if not x.startswith(("xi_", "x_", "u_"))}
    return Witness(
        layout.names | witness_values(fixed),
        " = ".join(polynomial_in_letters(side, names) for side in sides),
        str(first[0]),
        str(first[1]),
        ("Isserlis' theorem over the rational numbers", "a three-point law with equal moments"),
    )


def _discrete(expression: Any, layout: Entries, values: dict[str, Fraction]) -> Fraction | None:
    """A mean by another road: a law on three points has the Gaussian's first five moments."""
    exact = {name: sympy.Rational(str(value)) for name, value in values.items()}
    entries = layout.over(exact.__getitem__)
    size, columns, clusters = (layout.sizes[name] for name in ("d", "d'", "s"))
    for operator in [node for node in expression.atoms(sympy.Function) if node.func == mean]:
        body = operator.args[0]
        bases = {str(base) for base in body.atoms(sympy.IndexedBase)} & {"xi", "x", "u"}
        letters: list[tuple[str, tuple[int, ...]]]
        if bases == {"u"}:
            rows = {entries.indices[name] for name in ("i", "j") if name in entries.indices}
            letters = [("u", at) for at in itertools.product(rows, range(1, columns + 1))]
        else:
            letters = [(base, (at,)) for base in sorted(bases) for at in range(1, size + 1)]
        if len(letters) > 6:
            return None
        total = sympy.Integer(0)
        for group in range(1, clusters + 1):
            conditioned = body.subs(cluster, group)
            laws = [_three_points(letter, group, exact, clusters) for letter in letters]
            for points in itertools.product(*laws):
                weight = sympy.Mul(*(share for share, _ in points))
                swap = dict(zip(letters, (at for _, at in points), strict=True))
                total += weight * in_sympy(conditioned, entries, swap)
        expression = expression.xreplace({operator: sympy.expand(total) / clusters})
    expectation = sympy.expand(in_sympy(expression, entries))
    return fraction(expectation) if expectation.is_Rational else None


def _three_points(
    letter: tuple[str, tuple[int, ...]], group: int, exact: dict[str, Any], clusters: int
) -> list[tuple[Any, Any]]:
    """Weights and places: at the mean, and at sqrt(3) standard deviations from it."""
    base, (at, *_) = letter
    centre, spread = sympy.Integer(0), sympy.Integer(1)
    if base == "x":
        centre = exact[f"mu_{group}"] * (at == group)
        spread = exact.get(f"sigma_{at}", sympy.Integer(0)) * (at <= clusters)
    if base == "u":
        spread = exact[tau.name]
    deviation = spread * sympy.sqrt(3)
    sixth = sympy.Rational(1, 6)
    return [(sixth, centre - deviation), (4 * sixth, centre), (sixth, centre + deviation)]


def _decide_law(conclusion: SameDistribution) -> ClaimVerdict:
    # the cluster is given: an index like any other
    body, location, spread = (
        formula.xreplace({cluster: k})
        for formula in (conclusion.representation, conclusion.location, conclusion.covariance)
    )
    letters = [entry for entry in body.atoms(sympy.Indexed) if entry.base == xi]
    affine = sympy.Poly(body, *letters).total_degree() <= 1 if letters else True
    deviations = (body - location) * (body - location).xreplace({p: q})
    first = _decide_identity(MeanIdentity(mean(body), location))
    second = _decide_identity(MeanIdentity(mean(deviations), spread))
    judgements = {"mean given the cluster": first, "covariance given the cluster": second}
    for judged in judgements.values():
        if judged.verdict is not Finding.PROVED:
            return ClaimVerdict(
                judged.verdict, judged.method, judged.evidence, judged.witness, parts=judgements
            )
    if not affine:
        return ClaimVerdict(
            Finding.UNDECIDED, "moments", tried=("not affine in xi",), parts=judgements
        )
    return ClaimVerdict(
        Finding.PROVED,
        f"equal mean and covariance of two Gaussians given the cluster; {first.method}",
        (
            "both laws choose the cluster uniformly from [s]",
            "an affine image of a Gaussian vector is Gaussian; its moment generating function is"
            " exp(<lambda, m> + <lambda, C lambda>/2), and mean m and covariance C agree",
        ),
        parts=judgements,
    )


def _decide_limit(conclusion: EmpiricalLimit) -> ClaimVerdict:
    """Never *refuted*: a wrong variance would not speak against the convergence."""
    try:
        closes = cases.agree(mean(conclusion.sample), conclusion.limit) and all(
            _variance_agrees(conclusion, pattern) for pattern in cases.patterns(conclusion.constant)
        )
        closes = closes and all(_written_out(conclusion, size) for size in range(1, _LARGEST + 1))
    except Unsupported as reason:
        return undecided("moments", str(reason))
    if not closes:
        return undecided("moments", "mean or variance do not agree")
    return ClaimVerdict(
        Finding.PROVED,
        f"exact mean and variance, every d, s, n, and entrywise for d, s up to {_LARGEST},"
        f" n up to {_SAMPLES}; Chebyshev's inequality",
        (
            "E[A_pq] = E[x_p x_q] for every n: every cluster has n samples",
            "samples are independent, so Var[A_pq] = (sum over clusters of Var[x_p x_q]) / (s^2 n),"
            " which is the constant over n",
            "P(|A_pq - E[x_p x_q]| > epsilon) <= constant / (n epsilon^2) -> 0",
        ),
    )


def _variance_agrees(conclusion: EmpiricalLimit, pattern: IndexPattern) -> bool:
    def variance(label: str) -> Any:
        case = pattern.bind(cluster, label)
        first = gaussian_mean(conclusion.sample, case)
        return gaussian_mean(conclusion.sample**2, case) - first**2

    met = sum(variance(label) for label in pattern.inside)
    other_terms = (s - len(pattern.inside)) * variance(OTHER)
    claimed = cases.evaluate(conclusion.constant, pattern)
    return bool(sympy.cancel(sympy.together((met + other_terms) / s**2 - claimed)) == 0)


def _written_out(conclusion: EmpiricalLimit, size: int) -> bool:
    """Whether mean and variance agree at a given d, for all s, n, p and q."""
    places, claimed = range(1, size + 1), [conclusion.limit, conclusion.constant]
    choices = itertools.product(places, range(1, _SAMPLES + 1), places, places)
    for clusters, samples, row, column in choices:
        sizes = {"d": size, "d'": size, "s": clusters, "n": samples}
        layout = Entries(sizes, {"p": row, "q": column})
        _, (first, second, limit, constant) = expectations(layout, claimed, conclusion.sample)
        if first != limit or (second - first * first) * samples != constant:
            return False
    return True
