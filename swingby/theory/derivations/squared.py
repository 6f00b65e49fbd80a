"""The chain of App. D with P^2 where Corollary D.1 loses a factor P.

The bound of the noise enters most lines of the proofs, and Assumption D.4 is made to beat it. With
P^2 in both, the lines stand again, one by one; but D.1 to D.5 then have no solution, so that the
lemmas say nothing. Both facts are worth showing: the slip is not in the chain, and it cannot be
mended inside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import sympy

from swingby.theory.assumptions import P, d
from swingby.theory.claim import Claim, Given


def corrected_chain(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Every line in its corrected form, resting on corrected lines, with P^2.

    `claims`: with relations of numbers as conclusions, in the order of the text. Returns one for
    each; a line without repair keeps its conclusion.
    """
    listed = tuple(claims)
    repaired = {claim.id: claim for claim in listed if claim.repair is not None}

    def mended(known: Given) -> tuple[Given, ...]:
        source = repaired.get(known.source)
        if source is None or source.repair is None or known.relation not in source.conditions:
            return (known,)
        return source.repair.cite()

    return tuple(
        with_squared_P(
            replace(line, given=tuple(new for known in line.given for new in mended(known)))
        )
        for claim in listed
        for line in (claim.repair or claim,)
    )


def with_squared_P(claim: Claim) -> Claim:
    """The claim with P^2 for P in the bound of the noise and in Assumption D.4.

    These are the products in which P stands beside the dimension d; in P beta omega, the boundary
    of the initial phase, it stands alone and stays.

    `claim`: with relations of numbers as hypotheses and conclusion.
    """
    return replace(
        claim,
        conclusion=_squared(claim.conclusion),
        given=tuple(Given(_squared(known.relation), known.source) for known in claim.given),
        in_force=False,
        edition="corrected",
        flaw=None,
        repair=None,
    )


def _squared(expression: Any) -> Any:
    if not isinstance(expression, sympy.Basic) or not expression.args:
        return expression
    arguments = [_squared(argument) for argument in expression.args]
    if isinstance(expression, sympy.Mul):
        bases = {factor.as_base_exp()[0] for factor in expression.args}
        if d in bases:
            arguments = [_square(factor) for factor in arguments]
    if isinstance(expression, sympy.Rel):
        return expression.func(*arguments, evaluate=False)
    return expression.func(*arguments)


def _square(factor: Any) -> Any:
    base, exponent = factor.as_base_exp()
    return P ** (2 * exponent) if base == P and abs(exponent) == 1 else factor
