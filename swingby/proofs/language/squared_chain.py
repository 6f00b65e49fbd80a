"""The chain of App. D with P^2 where Corollary D.1 loses a factor P.

The bound of the noise enters
most lines of the proofs, and Assumption D.4 is made to beat it. With P^2 in both, the lines stand
again, one by one; but D.1 to D.5 then have no solution, so that the lemmas say nothing. The slip is
not in the chain, and it cannot be mended inside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import sympy

from swingby.proofs.language.claim import Claim, Given
from swingby.theory.assumptions import P, d


def corrected_chain(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Every line in its corrected form, resting on corrected lines, with P^2.

    `claims`: with relations of numbers as conclusions, in the order of the text.
    """
    listed = tuple(claims)
    by_id = {claim.id: claim for claim in listed}

    def corrected(hypothesis: Given) -> tuple[Given, ...]:
        source = by_id.get(hypothesis.source)
        if source is None or source.repair is None:
            return (hypothesis,)
        if hypothesis.relation not in source.conditions:
            return (hypothesis,)
        return source.repair.cite()

    lines = (claim.repair or claim for claim in listed)
    return tuple(
        with_squared_P(
            replace(
                line,
                given=tuple(cited for hypothesis in line.given for cited in corrected(hypothesis)),
            )
        )
        for line in lines
    )


def with_squared_P(claim: Claim) -> Claim:
    """The claim with P^2 for P in the bound of the noise and in Assumption D.4.

    These are the products in which P stands beside the dimension d; in P beta omega, the boundary
    of the initial phase, it stands alone and stays.
    """
    hypotheses = tuple(
        Given(_squared(hypothesis.relation), hypothesis.source) for hypothesis in claim.given
    )
    return claim.but(conclusion=_squared(claim.conclusion), given=hypotheses, in_force=False)


def _squared(expression: Any) -> Any:
    if not isinstance(expression, sympy.Basic) or not expression.args:
        return expression
    arguments = [_squared(argument) for argument in expression.args]
    if isinstance(expression, sympy.Mul) and d in {factor.as_base_exp()[0] for factor in arguments}:
        arguments = [_square(factor) for factor in arguments]
    if isinstance(expression, sympy.Rel):
        return expression.func(*arguments, evaluate=False)
    return expression.func(*arguments)


def _square(factor: Any) -> Any:
    base, exponent = factor.as_base_exp()
    return P ** (2 * exponent) if base == P and abs(exponent) == 1 else factor
