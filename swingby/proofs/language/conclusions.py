r"""What the lines of the text conclude that are no relations, and how each is written.

The last ones belong to the repaired edition: derivatives along the flow :math:`\dot W = BW + WB`,
identities between entries of W, an identity between traces for blocks of any size, inequalities on
an interval, and what is left to a reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import Any, ClassVar

import sympy

from swingby.proofs.language.formula_printer import SIGNS, formula, greek
from swingby.proofs.language.matrices import squared_norm
from swingby.theory import dynamics


@dataclass(frozen=True)
class Algebra:
    """A conclusion whose fields are put into a template: one for a terminal, one in LaTeX.

    `FORM`: its line in a proof file, where it has one, with the same fields.
    """

    FORM: ClassVar[str] = ""
    PLAIN: ClassVar[str] = "$left = $right"
    LATEX: ClassVar[str] = "$left = $right"

    def lines(self, latex: bool = False) -> str:
        """The statement as a formula."""
        template = Template(self.LATEX if latex else self.PLAIN)
        names = template.get_identifiers()
        return template.substitute({one: self.shown(getattr(self, one), latex) for one in names})

    def shown(self, part: Any, latex: bool) -> str:
        """A field as text."""
        return formula(part, latex=latex) if isinstance(part, sympy.Basic) else str(part)


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
        """What stands before the colon in a proof file."""
        return "trace" if self.trace else "matrices"

    def shown(self, part: Any, latex: bool) -> str:
        """A side, inside a trace where asked; a squared norm is a number: its trace is itself."""
        text = formula(part, latex=latex)
        if not self.trace or part.has(squared_norm):
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

    def shown(self, part: Any, latex: bool) -> str:
        """A side; entry (i, j) of a matrix in brackets."""
        text = formula(part, latex=latex)
        if part is self.right or part.is_commutative or self.right.has(sympy.Symbol("z")):
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

    def shown(self, part: Any, latex: bool) -> str:
        """A field as text."""
        if part is self.rate:
            return f"{formula(part[0], latex=latex)} w + {formula(part[1], latex=latex)}"
        return super().shown(part, latex)


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
        """The statements, one after the other."""
        return (r",\quad " if latex else "; ").join(part.lines(latex) for part in self.parts)


#: A = diag(A_1, A_2), W in blocks X, Y, Y^T, Z, for a block of any size; X^-1 is X_inverse.
A_1, A_2, X, X_inverse, Y, Y_transposed = sympy.symbols("A_1 A_2 X X^-1 Y Y^T", commutative=False)


@dataclass(frozen=True)
class InDimensions(Algebra):
    """Statements in several dimensions, in the letters of :func:`swingby.theory.dynamics.symbols`.

    `cases`: dimension (1 where neither A nor W occurs) and two sides; all of them are claimed.
    """

    cases: tuple[tuple[int, Any, Any], ...]

    def lines(self, latex: bool = False) -> str:
        """The first case, and how many more there are."""
        dimension, *sides = self.cases[0]
        left, right = (formula(side, latex=latex) for side in sides)
        shown = Template(self.LATEX if latex else self.PLAIN).substitute(left=left, right=right)
        largest = max(case[0] for case in self.cases)
        more = f"d = {dimension}" + f" to {largest}" * (largest != dimension)
        if len(self.cases) > 1:
            more += f", {len(self.cases)} cases like this"
        return shown + (rf"\quad \text{{({more})}}" if latex else f"  ({more})")


@dataclass(frozen=True)
class FlowIdentity(InDimensions):
    """The derivative of a quantity, the first side, along the flow."""

    PLAIN, LATEX = "d/dt [$left] = $right", r"\frac{d}{dt}\left[$left\right] = $right"


@dataclass(frozen=True)
class EntryFormula(InDimensions):
    """An identity between rational functions of the entries of A and W."""


@dataclass(frozen=True)
class BlockTrace(Algebra):
    """Tr[left] = Tr[right] for blocks of every size, in the letters :data:`A_1`, :data:`X`, ..."""

    left: Any
    right: Any
    FORM = "block trace: $left = $right"
    PLAIN = "Tr[$left] = Tr[$right]"
    LATEX = r"\operatorname{Tr}[$left] = \operatorname{Tr}[$right]"


@dataclass(frozen=True)
class OnInterval(Algebra):
    """An inequality between expressions in one letter alone, on a closed interval."""

    relation: Any
    letter: Any
    low: Any
    high: Any
    FORM = "$letter in [$low, $high]: $relation"
    PLAIN = "$relation for $letter in [$low, $high]"
    LATEX = r"$relation,\quad $letter \in [$low, $high]"


_ESCAPED = str.maketrans(
    {"_": r"\_", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$"}
    | {sign: rf"\{sign}" for sign in "&%#"}
)


@dataclass(frozen=True)
class ByHand(Algebra):
    """A conclusion that a person has to read: no machine proves it here.

    `text`: what follows.
    `why`: from what, and by which rule of calculus or linear algebra.
    `test`: name of a numerical test of exactly this, in
    :mod:`swingby.proofs.prover.repaired.step_tests`; empty where there is none.
    """

    text: str
    why: str
    test: str = ""

    def lines(self, latex: bool = False) -> str:
        """The words, on a terminal with the signs of a formula."""
        if latex:
            return rf"\text{{{self.text.translate(_ESCAPED)}}}"
        text = self.text
        for plain in ("<=", ">=", "!="):
            text = text.replace(plain, SIGNS[plain])
        return greek(text)


def along_flow(quantity: Any, dimension: int) -> Any:
    """The derivative of a function of the entries of W along the flow."""
    A, W, _ = dynamics.symbols(dimension)
    right = dynamics.right_side(A, W)
    pairs = ((i, j) for i in range(dimension) for j in range(i, dimension))
    slopes = (sympy.diff(quantity, W[pair]) * right[pair] for pair in pairs)
    return sum(slopes, sympy.Integer(0))
