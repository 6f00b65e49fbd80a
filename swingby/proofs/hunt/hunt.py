"""hunt: look for a counterexample to a statement, and report it only if it is confirmed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from swingby.errors import MISSING, InvalidInput, named
from swingby.proofs.hunt.hunt_report import Hunt
from swingby.proofs.hunt.search_log import Clock, SearchLog
from swingby.proofs.hunt.trajectory_search import search
from swingby.proofs.language import claims as ledger
from swingby.proofs.language.claim import AlongTrajectory, Claim
from swingby.proofs.language.claim_text import to_text
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.prove import decide, is_scalar
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.verdict import Finding
from swingby.verbs import answered
from swingby.verify.check import require_edition

#: So often the prover is asked for a line about numbers, with seeds of their own.
_MOST_ROUNDS = 12
#: The method of a line that no prover takes.
_NO_PROVER = "no prover"

_FLOW_ONLY = (
    "The theorem speaks of the flow. Under {} a broken promise says that its bounds do not carry "
    "over as they stand, and nothing against the theorem."
)
_NOT_IN_BALLS = "Runs of the flow are in floats: a violation could be seen, but not confirmed."
_ROUNDS = "An instance is a case, or a round of search over hundreds of points and more."


@answered
@named
def hunt(
    statement: str | Claim | None,
    edition: str = "printed",
    dynamics: str | None = None,
    seconds: float | str = 60,
    *,
    rng: Any = None,
    progress: Callable[[str], object] | None = None,
    dim: int | None = None,
) -> Hunt:
    """Search for a counterexample to a statement, inside its hypotheses.

    The hunt draws instances of varied structure and follows them in floats. It varies those that
    come close to a violation, step by step. A violation is simplified and then confirmed by two
    runs in balls of different precision, with D.1 to D.5 confirmed exactly. Only a confirmed
    violation is reported.

    Parameters
    ----------
    statement : str, Claim or None
        ``"Lemma D.3"``, ``"Assertion D.1"``, ``"D.61"``, any id of the ledger, or a claim of your
        own. With edition="repaired" also ``"Theorem two"``, ``"Theorem R"``, ``"Theorem G"``; None
        or ``"theorem"`` for all three in turn.
    edition : {"printed", "corrected", "repaired"}
        "corrected" is the repaired form of the statement.
    dynamics : {"gd", "euler", "flow"}, optional
        By default euler, the map (D.2) of the paper, and the flow for the repaired theorems.
        Statements about numbers have no dynamics.
    seconds : number
        Length of the search, in processor time, so the result does not depend on how busy the
        machine is. A ball run that has begun is finished, which takes up to about half a minute
        more. A line about numbers is searched in rounds of seconds.
    rng : int, numpy.random.Generator or None
        None stands for seed 0. Two hunts with the same seed agree unless their time runs out.
    progress : callable, optional
        Called with a line of text from time to time.
    dim : int, optional
        Dimension of the instances, 2 to 4; by default all of them.

    Returns
    -------
    Hunt

    Raises
    ------
    InvalidInput
        If there is no such statement in that edition, or an argument is wrong.

    References
    ----------
    App. D; ``swingby/proofs/language/texts/trajectories.proof``.

    Examples
    --------
    >>> from swingby.proofs.hunt.hunt import hunt
    >>> found = hunt("Lemma D.3", dynamics="gd", seconds=20, dim=2)
    >>> found.found, str(found.verdict), found.rerun()
    (True, 'refuted', True)
    """
    limit = numbers.within_float(numbers.positive(seconds, "seconds"), "seconds")
    if dim is not None and numbers.whole(dim, "dim", 2) > 4:
        raise InvalidInput("dim", dim, "must be 2, 3 or 4")
    if progress is not None and not callable(progress):
        raise InvalidInput("progress", progress, "must be callable")
    seed, generator = None, rng
    if not isinstance(rng, np.random.Generator):
        seed = 0 if rng is None else numbers.whole(rng, "rng", 0)
        generator = np.random.default_rng(seed)
    chosen = _targets(statement, edition)
    kind = _kind(chosen[0])
    followed = _dynamics(dynamics, kind)
    for name, value in (("dynamics", dynamics), ("dim", dim)):
        if value is not None and kind == "line":
            raise InvalidInput(name, value, "must not be given for a line about numbers")
    clock = Clock(limit, progress)
    if len(chosen) > 1 and dim not in (None, 2):
        chosen = tuple(claim for claim in chosen if claim.id != "Theorem two")
    hunts = []
    for done, claim in enumerate(chosen):
        share = clock.part(1 / (len(chosen) - done))
        hunts.append(_hunt(claim, edition, followed, share, generator, dim, seed))
    return hunts[0] if len(hunts) == 1 else _together(hunts, clock)


def _hunt(
    claim: Claim,
    edition: str,
    dynamics: str,
    clock: Clock,
    rng: np.random.Generator,
    dim: int | None,
    seed: int | None,
) -> Hunt:
    kind, note = _kind(claim), ""
    if kind == "trajectory":
        log = search(claim, dynamics, rng, clock, dim)
        if not log.instances:
            note = "No instance met the hypotheses of the statement in the time given."
    elif kind == "theorem":
        from swingby.proofs.hunt.theorem_search import search_theorem

        log = search_theorem(claim.id, dynamics, rng, clock, dim)
        note = _NOT_IN_BALLS if dynamics == "flow" else _FLOW_ONLY.format(dynamics)
    else:
        log, note = _search_line(claim, int(rng.integers(2**31)), clock), _ROUNDS
    judged = log.judged
    witness = None if judged is None else judged.witness
    checked = () if witness is None else witness.checked
    verdict = Finding.TESTED if log.instances and not log.unconfirmed else Finding.UNDECIDED
    if judged is not None:
        verdict = judged.verdict
        checked = checked or (f"proved by {judged.method}",)
    counts = {name: value for name, value in vars(log).items() if name != "judged"}
    more: dict[str, Any] = {"checked": checked, "text": to_text(claim), "note": note, "seed": seed}
    return Hunt(claim.id, edition, dynamics, verdict, witness, seconds=clock.used, **counts, **more)


def _together(hunts: list[Hunt], clock: Clock) -> Hunt:
    """Several hunts as a single hunt, with their first counterexample."""
    refuting = next((hunt for hunt in hunts if hunt.found), None)
    certain = all(hunt.verdict != Finding.UNDECIDED for hunt in hunts)
    verdict = Finding.TESTED if certain else Finding.UNDECIDED
    calls = [hunt.closest for hunt in hunts if hunt.closest is not None]
    return replace(
        refuting or hunts[0],
        statement="the repaired theorems",
        verdict=verdict if refuting is None else Finding.REFUTED,
        instances=sum(hunt.instances for hunt in hunts),
        steps=sum(hunt.steps for hunt in hunts),
        seconds=clock.used,
        closest=min(calls, key=lambda one: one.slack, default=None),
        unconfirmed=sum(hunt.unconfirmed for hunt in hunts),
        text="",
        parts=tuple(hunts),
    )


def _dynamics(dynamics: str | None, kind: str) -> str:
    if dynamics is not None:
        require_dynamics(dynamics)
    if kind == "theorem":
        return dynamics or "flow"
    if kind != "trajectory":
        return ""
    if dynamics == "flow":
        requirement = (
            "must be euler or gd: App. D is about steps, and only the repaired theorems about "
        )
        raise InvalidInput("dynamics", dynamics, requirement + "the flow")
    return dynamics or "euler"


def _targets(statement: str | Claim | None, edition: str) -> tuple[Claim, ...]:
    """The claims that a statement and an edition stand for; all repaired theorems for None."""
    require_edition(edition)
    if isinstance(statement, Claim):
        return (_in_edition(statement, edition, own=True),)
    claims = ledger.Claims()
    if statement is None or (isinstance(statement, str) and statement.strip().lower() == "theorem"):
        if edition != "repaired":
            got = MISSING if statement is None else statement
            requirement = "must be given, such as 'Lemma D.3' or D.61"
            raise InvalidInput("statement", got, requirement)
        return tuple(claims[name] for name in ledger.OF_FLOW)
    if not isinstance(statement, str):
        raise InvalidInput("statement", statement, "must be an id such as Lemma D.3, or a Claim")
    claim = claims[ledger.find(statement, list(claims))]
    return (_in_edition(claim, edition, own=False),)


def _in_edition(claim: Claim, edition: str, *, own: bool) -> Claim:
    """The form of a claim in an edition; of a claim of the user's, itself or its repair."""
    if own and edition != "corrected":
        return claim
    for form in claim:
        if form.edition == edition:
            return form
    editions = " or ".join(form.edition for form in claim)
    also = f"; repaired are {', '.join(ledger.OF_FLOW)}" if edition == "repaired" else ""
    raise InvalidInput(
        "edition", edition, f"must be {editions}: {claim.id} has no other form{also}"
    )


def _kind(claim: Claim) -> str:
    """The kind of search for a claim."""
    if claim.quantifier == "exists":
        requirement = "must say something of all cases: that numbers exist, no single case refutes"
        raise InvalidInput("statement", claim.id, requirement)
    if claim.id in ledger.OF_FLOW:
        return "theorem"
    return "trajectory" if isinstance(claim.conclusion, AlongTrajectory) else "line"


def _search_line(claim: Claim, seed: int, clock: Clock) -> SearchLog:
    """Ask the prover for a line; for a line about numbers with other seeds, until time is up."""
    log, repeats = SearchLog(), is_scalar(claim)
    for number in range(_MOST_ROUNDS if repeats else 1):
        if number and clock.over():
            break
        ask = partial(decide, claim)
        if repeats:
            ask = partial(decide_scalar, claim, rng=seed + number, seconds=max(clock.left, 1.0))
        judged = ask()
        if judged.method == _NO_PROVER:
            break
        log.instances += max(judged.cases, int(repeats or judged.verdict.is_decided))
        clock.report(f"{claim.id}: {number + 1} rounds of search")
        if judged.verdict.is_decided:
            log.judged = judged
            log.again = None if judged.witness is None else partial(_still_refuted, ask)
            break
    return log


def _still_refuted(ask: Callable[[], ClaimVerdict]) -> bool:
    """Whether the prover refutes a line when asked again."""
    return ask().witness is not None
