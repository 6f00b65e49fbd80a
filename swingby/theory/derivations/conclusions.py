r"""What the algebraic lines of the text conclude, and how each is written and identified.

:class:`swingby.theory.claim.MatrixIdentity` and ``MeanIdentity`` are two of them; the rest is here.

Algebraic statements as plain text and as LaTeX.

What the proofs of the repaired edition conclude, beside plain inequalities.

Derivatives along the flow :math:`\dot W = BW + WB`, identities between entries of W, an identity
between traces for blocks of any size, inequalities on an interval, and what is left to a reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from swingby.theory import dynamics
from swingby.theory.claim import MatrixIdentity, MeanIdentity
from swingby.theory.derivations.matrices import LETTERS, squared_norm

#: Names in LaTeX where they differ from the plain ones.
LATEX_NAMES = {
    "I": "I",
    "eta": r"\eta",
    "tau": r"\tau",
    "mu": r"\mu",
    "sigma": r"\sigma",
    "xi": r"\xi",
    "a^-1": "a^{-1}",
    "epsilon": r"\epsilon",
}

_SUM, _PRODUCT, _POWER = range(3)


def show(expression: Any, latex: bool = False) -> str:
    """A formula in the letters of :mod:`swingby.theory.derivations.matrices`."""
    return _show(expression, latex, _SUM)


def _show(expression: Any, latex: bool, level: int) -> str:
    if expression.is_Add:
        return _wrap(_add(expression, latex), level > _SUM, latex)
    if expression.is_Mul:
        return _wrap(_multiply(expression, latex), level > _PRODUCT, latex)
    if expression.is_Pow:
        if expression.exp == -1 and not latex:
            return _wrap(f"1/{_show(expression.base, latex, _POWER)}", level > _PRODUCT, latex)
        base = _show(expression.base, latex, _POWER)
        exponent = _show(expression.exp, latex, _SUM)
        if latex and "^" in base:
            base = rf"\left({base}\right)"
        return f"{base}^{{{exponent}}}" if latex else f"{base}^{exponent}"
    if expression.is_Rational:
        if expression.q == 1:
            return _wrap(str(expression), expression < 0 and level > _SUM, latex)
        sign, top = ("-" if expression < 0 else ""), abs(expression.p)
        return rf"{sign}\frac{{{top}}}{{{expression.q}}}" if latex else f"{expression}"
    if isinstance(expression, sympy.Indexed):
        return _entry(expression, latex)
    if expression.is_Symbol:
        if latex:
            known = LETTERS.get(expression)
            return known.latex if known else LATEX_NAMES.get(expression.name, expression.name)
        return str(expression.name)
    return _operator(expression, latex, level)


def _wrap(text: str, brackets: bool, latex: bool) -> str:
    if not brackets:
        return text
    return rf"\left({text}\right)" if latex else f"({text})"


def _add(expression: Any, latex: bool) -> str:
    text = ""
    for term in sorted(
        expression.as_ordered_terms(), key=lambda term: term.could_extract_minus_sign()
    ):
        negative = term.could_extract_minus_sign() and not term.is_Add
        shown = _show(-term if negative else term, latex, _PRODUCT)
        joint = " - " if negative else " + "
        text += (joint if text else joint.strip() * negative) + shown
    return text


def _multiply(expression: Any, latex: bool) -> str:
    commuting, matrices = expression.args_cnc()
    top: list[Any] = []
    bottom: list[Any] = []
    sign = ""
    for factor in commuting:
        if factor.is_Rational:
            # -2 comes apart into -1 and 2.
            if factor < 0:
                sign = "" if sign else "-"
            top += [sympy.Integer(abs(factor.p))] * (abs(factor.p) != 1)
            bottom += [sympy.Integer(factor.q)] * (factor.q != 1)
        elif factor.is_Pow and factor.exp.is_Rational and factor.exp < 0:
            bottom.append(factor.base**-factor.exp)
        else:
            top.append(factor)
    rest = [_show(factor, latex, _POWER) for factor in (*top, *matrices)]
    if not bottom:
        return sign + " ".join(rest)
    below = " ".join(_show(factor, latex, _POWER) for factor in bottom)
    if latex:
        return " ".join([rf"{sign}\frac{{1}}{{{below}}}", *rest])
    below = f"({below})" if len(bottom) > 1 else below
    return " ".join([f"{sign}1/{below}", *rest])


def _entry(expression: Any, latex: bool) -> str:
    name = str(expression.base)
    indices = ",".join(_show(index, latex, _SUM) for index in expression.indices)
    if name == "exp(-a t)":
        return f"e^{{-a_{{{indices}}} t}}" if latex else f"exp(-a_{indices} t)"
    if name == "a^-1":
        return f"a_{{{indices}}}^{{-1}}" if latex else f"a_{indices}^-1"
    if name.endswith("(0)"):
        return f"{name[:-3]}_{{{indices}}}(0)" if latex else f"{name[:-3]}_{indices}(0)"
    if latex:
        return f"{LATEX_NAMES.get(name, name)}_{{{indices}}}"
    return f"{name}_{indices}"


def _operator(expression: Any, latex: bool, level: int) -> str:
    name = expression.func.__name__
    inner = [_show(argument, latex, _SUM) for argument in expression.args if name != "Sum"]
    if name == "KroneckerDelta":
        pair = " = ".join(sorted(inner))
        return rf"\mathbb{{1}}_{{\{{{pair}\}}}}" if latex else f"1{{{pair}}}"
    if name == "inside":
        return rf"\mathbb{{1}}_{{\{{{inner[0]} \le s\}}}}" if latex else f"1{{{inner[0]} <= s}}"
    if name == "squared_norm":
        return rf"\left\|{inner[0]}\right\|^2" if latex else f"|{inner[0]}|^2"
    if name == "mean":
        return rf"\mathbb{{E}}\left[{inner[0]}\right]" if latex else f"E[{inner[0]}]"
    if name == "over_samples":
        head = r"\sum_{p=1}^{s}\sum_{k=1}^{n}" if latex else "sum_{p<=s, k<=n}"
        body = _show(expression.args[0], latex, _PRODUCT)
        return _wrap(f"{head} {body}", level > _SUM, latex)
    if name == "rest":
        index = inner[1]
        head = rf"\sum_{{{index} \ne i,j}}" if latex else f"sum_{{{index} != i,j}}"
        body = _show(expression.args[0], latex, _PRODUCT)
        return _wrap(f"{head} {body}", level > _SUM, latex)
    if name == "Sum":
        body = _show(expression.function, latex, _PRODUCT)
        index, lower, upper = (_show(part, latex, _SUM) for part in expression.limits[0])
        head = (
            rf"\sum_{{{index}={lower}}}^{{{upper}}}"
            if latex
            else f"sum_{{{index}={lower}..{upper}}}"
        )
        return _wrap(f"{head} {body}", level > _SUM, latex)
    if name == "exp":
        return f"e^{{{inner[0]}}}" if latex else f"exp({inner[0]})"
    raise TypeError(f"no text for {name}")


def equation(left: Any, right: Any, latex: bool = False, trace: bool = False) -> str:
    """Two sides of an identity, inside a trace where asked."""
    return " = ".join(_side(side, latex, trace) for side in (left, right))


def _side(side: Any, latex: bool, trace: bool) -> str:
    text = show(side, latex)
    # a squared norm is a number: its trace is itself
    if not trace or side.has(squared_norm):
        return text
    return rf"\operatorname{{Tr}}\left[{text}\right]" if latex else f"Tr[{text}]"


@dataclass(frozen=True)
class Algebra:
    """Base of the conclusions in this module: text and LaTeX."""

    def lines(self, latex: bool) -> str:
        """The statement as a formula."""
        raise NotImplementedError

    def to_text(self) -> str:
        """The statement as plain text."""
        return self.lines(latex=False)

    def to_latex(self) -> str:
        """The statement as LaTeX, without delimiters."""
        return self.lines(latex=True)


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


#: A = diag(A_1, A_2), W in blocks X, Y, Y^T, Z, for a block of any size; X^-1 is X_inverse.
A_1, A_2, X, X_inverse, Y, Y_transposed = sympy.symbols("A_1 A_2 X X^-1 Y Y^T", commutative=False)

_LATEX_SIGNS = {"_": r"\_", "^": r"\textasciicircum{}", "<": "$<$", ">": "$>$", "|": "$|$"}


@dataclass(frozen=True)
class FlowIdentity(Algebra):
    """The derivative of a quantity along the flow.

    `cases`: dimension, quantity and its derivative, in the letters of
    :func:`swingby.theory.dynamics.symbols`; all of them are claimed.
    """

    cases: tuple[tuple[int, Any, Any], ...]

    def lines(self, latex: bool) -> str:
        """The first case, and how many more there are."""
        dimension, quantity, derivative = self.cases[0]
        left = _fraction(quantity, latex)
        text = f"{left} = {_shown(derivative, latex)}"
        return text + _more(self.cases, dimension, latex)


@dataclass(frozen=True)
class EntryFormula(Algebra):
    """An identity between rational functions of the entries of A and W.

    `cases`: dimension (1 where neither occurs) and both sides; all of them are claimed.
    """

    cases: tuple[tuple[int, Any, Any], ...]

    def lines(self, latex: bool) -> str:
        """The first case, and how many more there are."""
        dimension, left, right = self.cases[0]
        text = f"{_shown(left, latex)} = {_shown(right, latex)}"
        return text + _more(self.cases, dimension, latex)


@dataclass(frozen=True)
class BlockTrace(Algebra):
    """Tr[left] = Tr[right] for blocks of every size.

    `left`, `right`: polynomials in :data:`A_1`, :data:`A_2`, :data:`X`, :data:`X_inverse`,
    :data:`Y` and :data:`Y_transposed`.
    """

    left: Any
    right: Any

    def lines(self, latex: bool) -> str:
        """Both traces."""
        name = r"\operatorname{Tr}" if latex else "Tr"
        return f"{name}[{_shown(self.left, latex)}] = {name}[{_shown(self.right, latex)}]"


@dataclass(frozen=True)
class OnInterval(Algebra):
    """An inequality in one letter on a closed interval.

    `relation`: between expressions in `letter` alone.
    """

    relation: Any
    letter: Any
    low: Any
    high: Any

    def lines(self, latex: bool) -> str:
        """The inequality and its interval."""
        sides = (_shown(side, latex) for side in self.relation.args)
        sign = self.relation.rel_op
        shown = {"<=": r"\le", "<": "<"}[sign] if latex else sign
        joint = r",\quad " if latex else " for "
        within = r" \in " if latex else " in "
        name = _shown(self.letter, latex)
        return f"{f' {shown} '.join(sides)}{joint}{name}{within}[{self.low}, {self.high}]"


@dataclass(frozen=True)
class ByHand(Algebra):
    """A conclusion that a person has to read: no machine proves it here.

    `text`: what follows.
    `why`: from what, and by which rule of calculus or linear algebra.
    `test`: name of a numerical test of exactly this, in
    :mod:`swingby.verify.prover.repaired.theorems`; empty where there is none.
    """

    text: str
    why: str
    test: str = ""

    def lines(self, latex: bool) -> str:
        """The words."""
        if not latex:
            return self.text
        return rf"\text{{{''.join(_LATEX_SIGNS.get(sign, sign) for sign in self.text)}}}"


def along_flow(quantity: Any, dimension: int) -> Any:
    """The derivative of a function of the entries of W along the flow."""
    A, W, _ = dynamics.symbols(dimension)
    right = dynamics.right_side(A, W)
    return sum(
        (
            sympy.diff(quantity, W[i, j]) * right[i, j]
            for i in range(dimension)
            for j in range(i, dimension)
        ),
        sympy.Integer(0),
    )


def _shown(expression: Any, latex: bool) -> str:
    if latex:
        return str(sympy.latex(expression))
    return str(sympy.sstr(expression)).replace("**", "^")


def _fraction(quantity: Any, latex: bool) -> str:
    if latex:
        return rf"\frac{{d}}{{dt}}\left[{_shown(quantity, latex)}\right]"
    return f"d/dt [{_shown(quantity, latex)}]"


def _more(cases: tuple[Any, ...], dimension: int, latex: bool) -> str:
    largest = max(case[0] for case in cases)
    text = f"d = {dimension}" if largest == dimension else f"d = {dimension} to {largest}"
    if len(cases) > 1:
        text += f", {len(cases)} cases like this"
    return rf"\quad \text{{({text})}}" if latex else f"  ({text})"
