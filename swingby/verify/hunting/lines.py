"""The search on a line about numbers: the prover's own, with seeds and effort that rise."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import flint

from swingby.theory.claim import Claim
from swingby.theory.verdict import Finding
from swingby.verify.hunting.clock import Clock
from swingby.verify.prover.evidence import Judged, Witness
from swingby.verify.prover.scalar.counterexample import LONG, QUICK, Search, counterexample
from swingby.verify.prover.scalar.dispatch import Unknown, judge_scalar, prepared
from swingby.verify.prover.scalar.edges import condition
from swingby.verify.prover.scalar.exact_value import decide

#: Searches per relation, with seeds of their own; a proof is tried after the first.
MOST_ROUNDS = 12
#: Bits of the balls that look at a counterexample once more.
THIRD = (4096,)


def searches(claim: Claim) -> list[Search]:
    """One search per relation of a claim.

    `claim`: between real expressions, "for all".
    """
    try:
        search, questions = prepared(claim)
    except Unknown:
        return []
    return [search.to(question.goal) for question in questions]


def search_numbers(claim: Claim, seed: int, clock: Clock) -> tuple[Judged | None, int, Any]:
    """Look for numbers that break a line.

    `clock`: asked between two rounds; one round takes seconds.
    Returns *refuted* with a witness, *proved* where the prover proves the line, or None; rounds of
    search, each of hundreds or thousands of points; looks at the witness once more.
    """
    asked, rounds = searches(claim), 0
    for number in range(MOST_ROUNDS):
        effort = QUICK if number == 0 else LONG
        for search in asked:
            if rounds and clock.over():
                return None, rounds, None
            rounds += 1
            witness = counterexample(search, effort=effort, rng=seed + 7919 * number)
            if witness is not None:
                line = f"{witness.relation} fails: {witness.left} against {witness.right}"
                judged = Judged(Finding.REFUTED, "counterexample", (line,), witness)
                return judged, rounds, partial(still_refutes, search, witness)
        clock.report(f"{claim.id}: {rounds} rounds of search")
        if number == 0 and not clock.over():
            judged = judge_scalar(claim, rng=seed)
            if judged.verdict == Finding.PROVED:
                return judged, rounds, None
    return None, rounds, None


def still_refutes(search: Search, witness: Witness) -> bool:
    """Whether a printed witness breaks the line, read back and evaluated once more."""
    point = {name: read(value) for name, value in witness.values.items()}
    goal = condition(search.sequent.goal)
    if decide(goal.margin, goal.relation.kind, point, THIRD) is not False:
        return False
    return all(
        decide(given.margin, given.relation.kind, point, THIRD) is True
        for given in map(condition, search.given)
    )


def read(text: str) -> Any:
    """A rational as :func:`swingby.verify.prover.scalar.rounding.compact` writes it.

    Examples
    --------
    >>> read("-3/7*10^2") == flint.fmpq(-300, 7), read("10^-2") == flint.fmpq(1, 100)
    (True, True)
    """
    match = re.fullmatch(r"(?:(-?\d+)(?:/(\d+))?\*)?10\^(-?\d+)", text)
    if match is None:
        over, _, under = text.partition("/")
        return flint.fmpq(int(over), int(under or 1))
    body = flint.fmpq(int(match[1] or 1), int(match[2] or 1))
    power = int(match[3])
    scale = flint.fmpq(10 ** abs(power))
    return body * scale if power >= 0 else body / scale
