"""A counterexample followed once more, from its printed place, at a third precision."""

from __future__ import annotations

from fractions import Fraction

import flint

from swingby.theory.claim import Claim
from swingby.verify.hunting.promises import BITS, Promises, find_breach
from swingby.verify.prover.evidence import Witness
from swingby.verify.prover.judge import judge
from swingby.verify.prover.trajectories.confirmation import confirm, steps_needed
from swingby.verify.prover.trajectories.instances import TrajectoryInstance
from swingby.verify.prover.trajectories.runs import states_at
from swingby.verify.prover.trajectories.valuation import parts
from swingby.verify.prover.trajectories.violation import Violation


def place_of(claim: Claim, witness: Witness) -> Violation:
    """Where a witness breaks a claim, read back from its values.

    `claim`: with an AlongTrajectory as conclusion.
    """
    values = witness.values
    relations = parts(claim.conclusion.relation)
    relation = next(one for one in relations if str(one) == witness.relation)
    lam = Fraction(values["lambda"]) if "lambda" in values else None
    anchor, step = int(values.get("t_0", 0)), int(values["t"])
    return Violation(relation, int(values["i"]) - 1, int(values["j"]) - 1, anchor, step, 0.0, lam)


def third_precision(bits: int) -> int:
    """Bits above those of both runs that confirmed a violation.

    `bits`: of the first run.
    """
    return bits + 2 * max(256, bits // 8) + 64


def still_violates(
    claim: Claim, witness: Witness, instance: TrajectoryInstance, dynamics: str
) -> bool:
    """Whether a trajectory breaks a claim where its witness says so."""
    violation = place_of(claim, witness)
    bits = third_precision(instance.bits)
    states = states_at(instance, dynamics, bits, steps_needed(claim, violation))
    with flint.ctx.workprec(bits):
        sides = confirm(claim, violation, instance, states)
    return sides is not None and instance.is_admissible()


def still_breaks(promises: Promises, witness: Witness) -> bool:
    """Whether a trajectory breaks the promise of a theorem that its witness names."""
    breach = find_breach(promises, BITS[2])
    if breach is None:
        return False
    return (breach.relation, str(breach.step)) == (witness.relation, witness.values["t"])


def still_refuted(claim: Claim) -> bool:
    """Whether the prover refutes a line when asked again."""
    return judge(claim).witness is not None
