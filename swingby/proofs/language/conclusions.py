"""The conclusions of the paper that are no relations, and how each is written."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import Any, ClassVar

import sympy

from swingby.proofs.language.formula_printer import formula
from swingby.proofs.language.matrices import squared_norm


@dataclass(frozen=True)
class Algebra:
    """A conclusion whose fields are put into a template, for a terminal or in LaTeX.

    `FORM`: its line in a proof file, where it has one, with the same fields.
    """

    FORM: ClassVar[str] = ""
    PLAIN: ClassVar[str] = "$left = $right"
    LATEX: ClassVar[str] = "$left = $right"

    def lines(self, latex: bool = False) -> str:
        """The statement as a formula."""
        template = Template(self.LATEX if latex else self.PLAIN)
        names = template.get_identifiers()
        return template.substitute(
            {name: self.field_text(getattr(self, name), latex) for name in names}
        )

    @property
    def letters(self) -> set[Any]:
        """The letters of its fields."""
        return _letters_in(tuple(vars(self).values()))

    def field_text(self, field: Any, latex: bool) -> str:
        """A field as text."""
        return formula(field, latex=latex) if isinstance(field, sympy.Basic) else str(field)


def _letters_in(field: Any) -> set[Any]:
    if isinstance(field, tuple):
        return {letter for each in field for letter in _letters_in(each)}
    if isinstance(field, Algebra):
        return field.letters
    return set(field.free_symbols) if isinstance(field, sympy.Basic) else set()


@dataclass(frozen=True)
class MatrixIdentity(Algebra):
    """An identity between polynomials in matrices, in every dimension; perhaps inside a trace.

    The letters are those of :mod:`swingby.proofs.language.matrices`.
    """

    left: Any
    right: Any
    trace: bool = False
    FORM = "$word: $left = $right"

    @property
    def word(self) -> str:
        """The word before the colon in a proof file."""
        return "trace" if self.trace else "matrices"

    def field_text(self, field: Any, latex: bool) -> str:
        """A side, inside a trace where asked; a squared norm is a number: its trace is itself."""
        text = formula(field, latex=latex)
        if not self.trace or field.has(squared_norm):
            return text
        return rf"\operatorname{{Tr}}\left[{text}\right]" if latex else f"Tr[{text}]"


@dataclass(frozen=True)
class MeanIdentity(Algebra):
    """An identity between expectations over the data or a Gaussian U(0), at entry (p, q)."""

    left: Any
    right: Any
    FORM = "mean: $left = $right"


@dataclass(frozen=True)
class EntryIdentity(Algebra):
    """An identity for every entry (i, j) of a matrix, or for a number, with sums over indices.

    `left`: a polynomial in matrices, of which entry (i, j) is meant (or the only one, where it is a
    number), or a formula in entries. `right`: a formula in entries.
    """

    left: Any
    right: Any
    FORM = "entry: $left = $right"

    def field_text(self, field: Any, latex: bool) -> str:
        """A side; entry (i, j) of a matrix in brackets."""
        text = formula(field, latex=latex)
        if field is self.right or field.is_commutative or self.right.has(sympy.Symbol("z")):
            return text
        return rf"\left({text}\right)_{{i,j}}" if latex else f"({text})_ij"


@dataclass(frozen=True)
class GradientIdentity(Algebra):
    """The derivative of Tr[loss] in every direction E of a letter is Tr[gradient^T E]."""

    loss: Any
    variable: Any
    gradient: Any
    FORM = "gradient in $variable: $loss -> $gradient"
    PLAIN = "gradient of Tr[$loss] in $variable = $gradient"
    LATEX = r"\nabla_{$variable} \operatorname{Tr}\left[$loss\right] = $gradient"


@dataclass(frozen=True)
class FlowSolution(Algebra):
    """The solution of a scalar linear differential equation with given start.

    `solution`: a function of `time` with value `start` at time 0. `rate`: the equation is dw/dt =
    rate[0] * w + rate[1]. `cases`: the statement is claimed in each of these cases.
    """

    solution: Any
    rate: tuple[Any, Any]
    start: Any
    time: Any
    cases: tuple[tuple[str, tuple[tuple[Any, Any], ...]], ...] = (("", ()),)
    FORM = "solution: $solution -> $rate, $start, $time"
    PLAIN = "w(t) = $solution solves dw/dt = $rate, w(0) = $start"
    LATEX = r"w(t) = $solution \text{ solves } \dot w = $rate,\ w(0) = $start"

    def field_text(self, field: Any, latex: bool) -> str:
        """A field as text."""
        if field is self.rate:
            return f"{formula(field[0], latex=latex)} w + {formula(field[1], latex=latex)}"
        return super().field_text(field, latex)


@dataclass(frozen=True)
class SameDistribution(Algebra):
    """A representation in standard Gaussians has the law of the mixture, cluster by cluster.

    `representation`: entry p, affine in ``xi`` and given the cluster. `location`, `covariance`:
    entry p of the mean, and entry (p, q) of the covariance, of that cluster.
    """

    representation: Any
    location: Any
    covariance: Any
    FORM = "law: $representation -> $location, $covariance"
    PLAIN = "x_p ~ $representation, given η: Gaussian with mean $location, covariance $covariance"
    LATEX = (
        r"x_p \simeq $representation,\ "
        r"\mathcal{N}($location, $covariance) \text{ given } \eta"
    )


@dataclass(frozen=True)
class EmpiricalLimit(Algebra):
    """An empirical mean over s clusters of n samples each converges in probability.

    Its mean is `limit` for every n and its variance is `constant` / n, so that Chebyshev's
    inequality gives the convergence. `sample`: what is averaged, in the entries ``x``.
    """

    sample: Any
    limit: Any
    constant: Any
    FORM = "average: $sample -> $limit, $constant"
    PLAIN = "A = average of $sample: E[A] = $limit, Var[A] = 1/n ($constant)"
    LATEX = (
        r"\mathbb{E}\left[\frac{1}{s n}\sum_{p=1}^{s}\sum_{k=1}^{n} $sample\right] = $limit,\ "
        r"\operatorname{Var}\left[\frac{1}{s n}\sum_{p=1}^{s}\sum_{k=1}^{n} $sample\right] = "
        r"\frac{1}{n}\left($constant\right)"
    )


@dataclass(frozen=True)
class LossOrder(Algebra):
    """The loss at test points grows with the index: u <= v implies l(x^(u)) <= l(x^(v)).

    For the linear model f(x) = W x, with l(z) = |(W - I) z|^2 / 2 and x^(v) of (B.1).
    `jacobian`: which W are meant.
    """

    jacobian: str
    FORM = "loss order: $jacobian"
    PLAIN = "|(W − I) x^(u)|² ≤ |(W − I) x^(v)|² for all u ≤ v and W $jacobian"
    LATEX = (
        r"\forall W \text{ $jacobian }, u \preceq v: "
        r"\|(W - I)\widehat{x}^{(u)}\|^2 \le \|(W - I)\widehat{x}^{(v)}\|^2"
    )


@dataclass(frozen=True)
class Both(Algebra):
    """Several conclusions in one display."""

    parts: tuple[Any, ...]

    def lines(self, latex: bool = False) -> str:
        """The statements, in order."""
        return (r",\quad " if latex else "; ").join(
            statement.lines(latex) for statement in self.parts
        )


#: Conclusions in which the definitions of their lines are put in.
PUT_IN = (MatrixIdentity, EntryIdentity, GradientIdentity, MeanIdentity)
