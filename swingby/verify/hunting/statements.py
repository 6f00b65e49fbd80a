"""Which statement is hunted: an id, an edition, and what kind of search that asks for.

The search on a line about numbers: the prover's own, with seeds and effort that rise.

The search on the repaired theorems: what they promise, put to the test where it is tightest.

Settings and W(0) are drawn inside the hypotheses, many of them at an edge. Every other round stays
with a setting on which a bound was nearly attained and mixes its W(0) with others.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import flint
import numpy as np

from swingby.errors import InvalidInput
from swingby.simulate.state import Floats
from swingby.theory.claim import AlongTrajectory, Claim
from swingby.theory.claim_text import to_text
from swingby.theory.derivations import ledger
from swingby.theory.derivations.ledger import find
from swingby.theory.verdict import Finding
from swingby.verify.hunting.promises import (
    BITS,
    Breach,
    Promises,
    find_breach,
    mixed,
    promises_of,
    shown_matrix,
    still_breaks,
)
from swingby.verify.hunting.search import Clock, Closest, Hunted
from swingby.verify.prover.evidence import Judged, Witness
from swingby.verify.prover.judge import is_scalar
from swingby.verify.prover.repaired.theorems import ROUNDING, slacks
from swingby.verify.prover.repaired.trials import AFTER, DRAWS, Trials, initial_matrices
from swingby.verify.prover.scalar.counterexample import LONG, QUICK, Search, counterexample
from swingby.verify.prover.scalar.dispatch import Unknown, judge_scalar, prepared

EDITIONS = ("printed", "corrected", "repaired")
#: All repaired theorems at once.
ALL = "theorem"


@dataclass(frozen=True)
class Target:
    """A statement to be hunted."""

    id: str
    kind: str
    claim: Claim
    edition: str
    text: str


def targets(statement: str | Claim | None, edition: str) -> tuple[Target, ...]:
    """What a statement and an edition stand for.

    `statement`: None and ``"theorem"`` are all repaired theorems.
    `edition` in {"printed", "corrected", "repaired"}.
    Raises InvalidInput if there is no such statement in that edition; what there is, is named.
    """
    if edition not in EDITIONS:
        raise InvalidInput("edition", edition, f"must be one of {', '.join(EDITIONS)}")
    if isinstance(statement, Claim):
        return (_target(_in_edition(statement, edition, own=True), edition),)
    known = ledger.Claims()
    if statement is None or (isinstance(statement, str) and statement.strip().lower() == ALL):
        if edition != "repaired":
            raise InvalidInput("statement", statement, "must be named, such as Lemma D.3")
        return tuple(_target(known[name], edition) for name in ledger.OWN)
    if not isinstance(statement, str):
        raise InvalidInput("statement", statement, "must be an id such as Lemma D.3, or a Claim")
    claim = known[find(statement, list(known))]
    return (_target(_in_edition(claim, edition, own=False), edition),)


def _in_edition(claim: Claim, edition: str, *, own: bool) -> Claim:
    """The form of a claim that an edition has."""
    if edition == "repaired":
        for form in claim:
            if form.edition == "repaired" or (own and form is claim):
                return form
        corrected = f"; edition='corrected' has {claim.id} mended" if claim.repair else ""
        raise InvalidInput(
            "edition",
            edition,
            f"must be another: {claim.id} has no repaired form{corrected}; repaired are "
            f"{', '.join(ledger.OWN)} and the steps of their proofs",
        )
    if claim.edition == "repaired" and not own:
        raise InvalidInput("edition", edition, f"must be repaired: {claim.id} is not the paper's")
    if edition == "printed":
        return claim
    if claim.repair is None:
        raise InvalidInput(
            "edition", edition, f"must be printed: {claim.id} has no repair, it stands as it is"
        )
    return claim.repair


def _target(claim: Claim, edition: str) -> Target:
    if claim.id in ledger.OWN:
        kind = "theorem"
    elif isinstance(claim.conclusion, AlongTrajectory):
        kind = "trajectory"
    elif is_scalar(claim):
        kind = "numbers"
    else:
        kind = "algebra"
    if claim.quantifier == "exists":
        raise InvalidInput(
            "statement",
            claim.id,
            "must say something of all cases: that numbers exist, no single case refutes",
        )
    return Target(claim.id, kind, claim, edition, to_text(claim))


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
    return search.space.refutes(point, THIRD)


def read(text: str) -> Any:
    """A rational as :func:`swingby.verify.prover.scalar.sampling.compact` writes it."""
    match = re.fullmatch(r"(?:(-?\d+)(?:/(\d+))?\*)?10\^(-?\d+)", text)
    if match is None:
        over, _, under = text.partition("/")
        return flint.fmpq(int(over), int(under or 1))
    body = flint.fmpq(int(match[1] or 1), int(match[2] or 1))
    power = int(match[3])
    scale = flint.fmpq(10 ** abs(power))
    return body * scale if power >= 0 else body / scale


NAMES = tuple(DRAWS)
#: Initial matrices per setting.
PER_SETTING = 20
MOST_TRIALS = 20_000
#: Bounds whose slack is a distance; the others start or end at 0 by their nature.
TELLING = ("peak", "reach")
MOST_CONFIRMED = 5


@dataclass(frozen=True, eq=False)
class Near:
    """A setting and a W(0) with little slack."""

    slack: float
    trials: Trials
    place: int


def search_theorem(
    name: str, dynamics: str, rng: np.random.Generator, clock: Clock, dim: int | None = None
) -> Hunted:
    """Look for a trajectory that breaks a promise of a repaired theorem.

    `name` in {"Theorem two", "Theorem R", "Theorem G"}.
    `dynamics`: the theorems speak of the flow.
    `dim`: 2, 3 or 4; the theorem on two concepts knows 2 alone.
    Returns under the flow nothing is confirmed: its runs are in floats.
    """
    if dim not in (None, 2, 3, 4) or (name == "Theorem two" and dim not in (None, 2)):
        raise InvalidInput("dim", dim, "must be 2, 3 or 4 (2 for Theorem two)", name)
    found, near = Hunted(), dict[str, Near]()
    for number in range(MOST_TRIALS):
        if clock.over():
            break
        trials = _next_trials(name, dynamics, rng, near, number)
        if dim is not None and trials.starts.shape[1] != dim:
            continue
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            measured = slacks(trials, dynamics)
        count = len(trials.starts)
        found.instances += count
        longest = (trials.reach.max() + AFTER / trials.signal[-1]) / trials.eta
        found.steps += count * math.ceil(longest)
        broken = np.zeros(count, dtype=np.bool_)
        for bound, values in measured.items():
            broken |= ~(values >= 0)
            _remember(near, bound, values, trials)
        found.closest = _closest(near, dynamics)
        if broken.any() and _decide(name, dynamics, trials, np.flatnonzero(broken), clock, found):
            return found
        if number % 20 == 19:
            clock.report(f"{name}, {dynamics}: {found.instances} instances")
    return found


def _next_trials(
    name: str, dynamics: str, rng: np.random.Generator, near: dict[str, Near], number: int
) -> Trials:
    telling = [near[bound] for bound in TELLING if bound in near and near[bound].trials.keeps]
    if not telling or number % 2 == 0:
        return DRAWS[name](PER_SETTING, rng, dynamics, False)
    one = telling[int(rng.integers(len(telling)))]
    old = one.trials
    d, omega = len(old.signal), math.exp(old.log_omega)
    other = omega * initial_matrices(d, old.beta, old.rho, len(old.starts), rng)
    share = 10 ** rng.uniform(-3, -0.3, size=len(other))
    starts = mixed(np.broadcast_to(old.starts[one.place], other.shape), other, share)
    return replace(old, starts=starts)


def _remember(near: dict[str, Near], bound: str, values: Floats, trials: Trials) -> None:
    finite = np.where(np.isnan(values), np.inf, values)
    place = int(np.argmin(finite))
    slack = float(finite[place]) - ROUNDING
    if slack >= -ROUNDING and (bound not in near or slack < near[bound].slack):
        near[bound] = Near(slack, trials, place)


def _closest(near: dict[str, Near], dynamics: str) -> Closest | None:
    bounds = [bound for bound in TELLING if bound in near]
    if not bounds:
        return None
    bound = min(bounds, key=lambda name: near[name].slack)
    one = near[bound]
    words = {
        "peak": "logarithm of a bound on w_ij over its peak",
        "reach": "what is left of the time allowed, in units of 1/(2 a_i)",
    }
    others = "; ".join(f"{name} {max(near[name].slack, 0.0):.3g}" for name in bounds)
    values = {"dynamics": dynamics, "setting": one.trials.text}
    values |= {"W(0)": repr(one.trials.starts[one.place].tolist())}
    text = f"{words[bound]} (smallest slacks: {others})"
    return Closest(max(one.slack, 0.0), one.trials.text, text, values)


def _decide(
    name: str, dynamics: str, trials: Trials, places: object, clock: Clock, found: Hunted
) -> bool:
    where = [int(place) for place in np.asarray(places)]
    found.unconfirmed += len(where)
    if dynamics == "flow":
        clock.report(f"{name}: {len(where)} violations in floats, {trials.text}")
        return False
    for place in where[:MOST_CONFIRMED]:
        promises = promises_of(trials, place, dynamics)
        if promises is None:
            continue
        clock.report(f"{name}, {dynamics}: a violation is looked at in balls")
        first = find_breach(promises, BITS[0])
        if first is None:
            continue
        second = find_breach(promises, BITS[1])
        if second is not None and _same(first, second):
            witness = _witness(name, dynamics, trials, promises, second)
            line = f"{second.relation} fails at step {second.step}"
            found.judged = Judged(Finding.REFUTED, "trajectory in balls", (line,), witness)
            found.again = partial(still_breaks, promises, witness)
            found.unconfirmed -= 1
            return True
        if clock.over():
            break
    return False


def _same(first: Breach, second: Breach) -> bool:
    return (first.relation, first.i, first.j, first.step) == (
        second.relation,
        second.i,
        second.j,
        second.step,
    )


def _witness(
    name: str, dynamics: str, trials: Trials, promises: Promises, breach: Breach
) -> Witness:
    values = {"dynamics": dynamics, "a": ", ".join(str(float(a)) for a in promises.signal)}
    values |= {"eta": repr(trials.eta)}
    if trials.keeps:
        values |= {"beta": repr(trials.beta), "rho": repr(trials.rho)}
        values |= {"log omega": repr(trials.log_omega)}
    values |= shown_matrix(promises.W0)
    values |= {"t": str(breach.step), "eta t": f"{float(promises.eta * breach.step):.10g}"}
    checked = tuple(f"balls of {bits} bits" for bits in BITS[:2])
    checked += (f"the hypotheses of {name} on W(0), in balls",)
    return Witness(values, breach.relation, breach.left, breach.right, checked)
