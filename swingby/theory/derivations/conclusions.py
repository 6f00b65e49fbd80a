"""What the algebraic lines of the text conclude, and how each is written and identified.

:class:`swingby.theory.claim.MatrixIdentity` and ``MeanIdentity`` are two of them; the rest is here.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import sympy

from swingby.theory.claim import MatrixIdentity, MeanIdentity
from swingby.theory.derivations.printing import equation, show


@dataclass(frozen=True)
class Algebra:
    """Base of the conclusions in this module: text, LaTeX and key."""

    def lines(self, latex: bool) -> str:
        """The statement as a formula."""
        raise NotImplementedError

    def to_text(self) -> str:
        """The statement as plain text."""
        return self.lines(latex=False)

    def to_latex(self) -> str:
        """The statement as LaTeX, without delimiters."""
        return self.lines(latex=True)

    def key(self) -> str:
        """A key of the content: equal for equal statements, the same in every process."""
        return key(self)


@dataclass(frozen=True)
class EntryIdentity(Algebra):
    """An identity for every entry (i, j) of a matrix, or for a number, with sums over indices.

    `left`: a polynomial in matrices, of which entry (i, j) is meant (or the only one, where it is a
    number), or a formula in entries. `right`: a formula in entries.
    """

    left: Any
    right: Any

    def lines(self, latex: bool) -> str:
        """The statement as a formula."""
        text = show(self.left, latex)
        if not self.left.is_commutative and not self.right.has(sympy.Symbol("z")):
            text = rf"\left({text}\right)_{{i,j}}" if latex else f"({text})_i,j"
        return f"{text} = {show(self.right, latex)}"


@dataclass(frozen=True)
class GradientIdentity(Algebra):
    """The gradient of a loss: the derivative in every direction E is Tr[gradient^T E].

    `loss`: the loss is the trace of this polynomial. `variable`: the letter with respect to which
    it is differentiated.
    """

    loss: Any
    variable: Any
    gradient: Any

    def lines(self, latex: bool) -> str:
        """The statement as a formula."""
        variable, loss, gradient = (
            show(part, latex) for part in (self.variable, self.loss, self.gradient)
        )
        if latex:
            return rf"\nabla_{{{variable}}} \operatorname{{Tr}}\left[{loss}\right] = {gradient}"
        return f"gradient of Tr[{loss}] in {variable} = {gradient}"


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

    def lines(self, latex: bool) -> str:
        """The statement as a formula."""
        linear, constant = self.rate
        body, slope, offset, start = (
            show(part, latex) for part in (self.solution, linear, constant, self.start)
        )
        if latex:
            return (
                rf"w(t) = {body} \text{{ solves }} \dot w = {slope} w + {offset},\ w(0) = {start}"
            )
        return f"w(t) = {body} solves dw/dt = {slope} w + {offset}, w(0) = {start}"


@dataclass(frozen=True)
class SameDistribution(Algebra):
    """A representation in standard Gaussians has the law of the mixture, cluster by cluster.

    `representation`: entry p, affine in ``xi`` and given the cluster. `location`, `covariance`:
    entry p of the mean, and entry (p, q) of the covariance, of that cluster.
    """

    representation: Any
    location: Any
    covariance: Any

    def lines(self, latex: bool) -> str:
        """The statement as a formula."""
        body, location, covariance = (
            show(part, latex) for part in (self.representation, self.location, self.covariance)
        )
        if latex:
            law = rf"\mathcal{{N}}({location}, {covariance}) \text{{ given }} \eta"
            return rf"x_p \simeq {body},\ {law}"
        return f"x_p ~ {body}, given eta: Gaussian with mean {location}, covariance {covariance}"


@dataclass(frozen=True)
class EmpiricalLimit(Algebra):
    """An empirical mean over s clusters of n samples each converges in probability.

    Its mean is `limit` for every n and its variance is `constant` / n, so that Chebyshev's
    inequality gives the convergence.

    `sample`: what is averaged, in the entries ``x``.
    """

    sample: Any
    limit: Any
    constant: Any

    def lines(self, latex: bool) -> str:
        """The statement as a formula."""
        sample, limit, constant = (
            show(part, latex) for part in (self.sample, self.limit, self.constant)
        )
        if latex:
            average = rf"\frac{{1}}{{s n}}\sum_{{p=1}}^{{s}}\sum_{{k=1}}^{{n}} {sample}"
            return (
                rf"\mathbb{{E}}\left[{average}\right] = {limit},\ "
                rf"\operatorname{{Var}}\left[{average}\right] = "
                rf"\frac{{1}}{{n}}\left({constant}\right)"
            )
        return f"A = average of {sample}: E[A] = {limit}, Var[A] = 1/n ({constant})"


@dataclass(frozen=True)
class LossOrder(Algebra):
    """The loss at test points grows with the index: u <= v implies l(x^(u)) <= l(x^(v)).

    For the linear model f(x) = W x, with l(z) = |(W - I) z|^2 / 2 and x^(v) of (B.1).

    `jacobian`: which W are meant.
    """

    jacobian: str

    def lines(self, latex: bool) -> str:
        """The statement as a formula."""
        if latex:
            return (
                rf"\forall W \text{{ {self.jacobian} }}, u \preceq v: "
                r"\|(W - I)\widehat{x}^{(u)}\|^2 \le \|(W - I)\widehat{x}^{(v)}\|^2"
            )
        return f"|(W - I) x^(u)|^2 <= |(W - I) x^(v)|^2 for all u <= v and W {self.jacobian}"


@dataclass(frozen=True)
class Both(Algebra):
    """Several conclusions in one display."""

    parts: tuple[Any, ...]

    def lines(self, latex: bool) -> str:
        """The statements, one after the other."""
        if latex:
            return r",\quad ".join(to_latex(part) for part in self.parts)
        return "; ".join(to_text(part) for part in self.parts)


def to_text(conclusion: Any) -> str:
    """An algebraic conclusion as plain text."""
    if isinstance(conclusion, Algebra):
        return conclusion.to_text()
    return _identity(conclusion, latex=False)


def to_latex(conclusion: Any) -> str:
    """An algebraic conclusion as LaTeX, without delimiters."""
    if isinstance(conclusion, Algebra):
        return conclusion.to_latex()
    return _identity(conclusion, latex=True)


def _identity(conclusion: Any, latex: bool) -> str:
    if not isinstance(conclusion, MatrixIdentity | MeanIdentity):
        raise TypeError(f"no algebraic conclusion: {type(conclusion).__name__}")
    trace = isinstance(conclusion, MatrixIdentity) and conclusion.trace
    return equation(conclusion.left, conclusion.right, latex, trace)


def key(part: Any) -> str:
    """A key of the content: equal for equal statements, the same in every process."""
    if isinstance(part, sympy.Basic):
        return str(sympy.srepr(part))
    if isinstance(part, tuple):
        return f"({', '.join(key(item) for item in part)})"
    if isinstance(part, MatrixIdentity | MeanIdentity | Algebra):
        inner = ", ".join(key(getattr(part, field.name)) for field in fields(part))
        return f"{type(part).__name__}({inner})"
    return repr(part)
