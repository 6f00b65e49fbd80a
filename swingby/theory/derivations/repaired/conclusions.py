r"""What the proofs of the repaired edition conclude, beside plain inequalities.

Derivatives along the flow :math:`\dot W = BW + WB`, identities between entries of W, an identity
between traces for blocks of any size, inequalities on an interval, and what is left to a reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from swingby.theory import dynamics
from swingby.theory.derivations.conclusions import Algebra

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
        text = f"{left} = {_show(derivative, latex)}"
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
        text = f"{_show(left, latex)} = {_show(right, latex)}"
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
        return f"{name}[{_show(self.left, latex)}] = {name}[{_show(self.right, latex)}]"


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
        sides = (_show(side, latex) for side in self.relation.args)
        sign = self.relation.rel_op
        shown = {"<=": r"\le", "<": "<"}[sign] if latex else sign
        joint = r",\quad " if latex else " for "
        within = r" \in " if latex else " in "
        name = _show(self.letter, latex)
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


def block_speed() -> Any:
    """The block of the flow's right side that belongs to X, in words.

    References
    ----------
    (D.2), with W in blocks.
    """
    square = X * X + Y * Y_transposed
    middle = X * A_1 * X + Y * A_2 * Y_transposed
    return A_1 * X + X * A_1 - (A_1 * square + square * A_1 + 2 * middle) / 2


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


def _show(expression: Any, latex: bool) -> str:
    if latex:
        return str(sympy.latex(expression))
    return str(sympy.sstr(expression)).replace("**", "^")


def _fraction(quantity: Any, latex: bool) -> str:
    if latex:
        return rf"\frac{{d}}{{dt}}\left[{_show(quantity, latex)}\right]"
    return f"d/dt [{_show(quantity, latex)}]"


def _more(cases: tuple[Any, ...], dimension: int, latex: bool) -> str:
    largest = max(case[0] for case in cases)
    text = f"d = {dimension}" if largest == dimension else f"d = {dimension} to {largest}"
    if len(cases) > 1:
        text += f", {len(cases)} cases like this"
    return rf"\quad \text{{({text})}}" if latex else f"  ({text})"
