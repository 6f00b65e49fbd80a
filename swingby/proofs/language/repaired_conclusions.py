r"""The conclusions of the repaired edition that are no relations, and how each is written.

Derivatives along the flow :math:`\dot W = BW + WB`, values after a step of gradient descent,
identities between entries of W and between blocks of any size, inequalities on an interval, and
what is left to a reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import Template
from typing import Any, ClassVar

import sympy

from swingby.proofs.language.conclusions import Algebra
from swingby.proofs.language.formula_printer import SIGNS, formula, greek
from swingby.theory import dynamics

#: A = diag(A_1, A_2), W in blocks X, Y, Y^T, Z, for a block of any size; X^-1 is X_inverse.
A_1, A_2, X, X_inverse, Y, Y_transposed = sympy.symbols("A_1 A_2 X X^-1 Y Y^T", commutative=False)


@dataclass(frozen=True)
class InDimensions(Algebra):
    """Statements in several dimensions, in the letters of :func:`swingby.theory.dynamics.symbols`.

    `cases`: dimension (1 where neither A nor W occurs) and two sides; all of them are claimed.
    """

    cases: tuple[tuple[int, Any, Any], ...]
    WORD: ClassVar[str]
    SIGN: ClassVar[str] = "->"

    def lines(self, latex: bool = False) -> str:
        """The first case, and how many more there are."""
        dimension, *sides = self.cases[0]
        left_side, right_side = (formula(side, latex=latex) for side in sides)
        first = Template(self.LATEX if latex else self.PLAIN).substitute(
            left=left_side, right=right_side
        )
        largest = max(case[0] for case in self.cases)
        range_text = f"d = {dimension}" + f" to {largest}" * (largest != dimension)
        if len(self.cases) > 1:
            range_text += f", {len(self.cases)} cases like this"
        return first + (rf"\quad \text{{({range_text})}}" if latex else f"  ({range_text})")


@dataclass(frozen=True)
class FlowIdentity(InDimensions):
    """The derivative of a quantity, the first side, along the flow."""

    WORD = "flow"
    PLAIN, LATEX = "d/dt [$left] = $right", r"\frac{d}{dt}\left[$left\right] = $right"


@dataclass(frozen=True)
class StepIdentity(InDimensions):
    """The value of a quantity, the first side, after a step W -> MWM of gradient descent on U."""

    WORD = "gd"
    PLAIN, LATEX = "[$left](t+1) = $right", r"\left[$left\right]_{t+1} = $right"


@dataclass(frozen=True)
class EntryFormula(InDimensions):
    """An identity between rational functions of the entries of A and W."""

    WORD, SIGN = "formula", "="


@dataclass(frozen=True)
class BlockIdentity(Algebra):
    """An identity for blocks of every size, in the letters :data:`A_1`, :data:`X`, ..."""

    left: Any
    right: Any
    trace: ClassVar[bool] = False
    FORM = "block: $left = $right"


@dataclass(frozen=True)
class BlockTrace(BlockIdentity):
    """The same of their traces: Tr[left] = Tr[right]."""

    trace = True
    FORM = "block trace: $left = $right"
    PLAIN = "Tr[$left] = Tr[$right]"
    LATEX = r"\operatorname{Tr}[$left] = \operatorname{Tr}[$right]"


@dataclass(frozen=True)
class SlopeIdentity(Algebra):
    """The derivative of an expression in one of its letters, wherever both are defined."""

    letter: Any
    quantity: Any
    slope: Any
    FORM = "slope in $letter: $quantity -> $slope"
    PLAIN = "d/d$letter [$quantity] = $slope"
    LATEX = r"\frac{d}{d $letter}\left[$quantity\right] = $slope"


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
        for sign in ("<=", ">=", "!="):
            text = text.replace(sign, SIGNS[sign])
        return greek(text)


@dataclass(frozen=True)
class Read(ByHand):
    """The same, *read* whatever its test.

    `needs`: what a machine would need to judge it.
    """

    needs: str = ""


def after_step(quantity: Any, dimension: int) -> Any:
    """A function of the entries of W at W after a step of gradient descent on U."""
    A, W, eta = dynamics.symbols(dimension)
    after = dynamics.step("gd", A, W, eta)
    pairs = ((i, j) for i in range(dimension) for j in range(i, dimension))
    return quantity.xreplace({W[pair]: after[pair] for pair in pairs})


def along_flow(quantity: Any, dimension: int) -> Any:
    """The derivative of a function of the entries of W along the flow."""
    A, W, _ = dynamics.symbols(dimension)
    right = dynamics.right_side(A, W)
    pairs = ((i, j) for i in range(dimension) for j in range(i, dimension))
    slopes = (sympy.diff(quantity, W[pair]) * right[pair] for pair in pairs)
    return sum(slopes, sympy.Integer(0))
