"""hunt: look for a counterexample to one statement, and report it only if it is confirmed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from swingby.errors import InvalidInput, named
from swingby.theory import numbers
from swingby.theory.claim import Claim
from swingby.theory.verdict import Finding
from swingby.verify.hunting.promises import still_refuted
from swingby.verify.hunting.result import Hunt
from swingby.verify.hunting.search import Clock, Hunted, search
from swingby.verify.hunting.statements import Target, targets

DYNAMICS = ("euler", "gd", "flow")

_FLOW_ONLY = (
    "The theorem speaks of the flow. Under {} a broken promise says that its bounds do not carry "
    "over as they stand, and nothing against the theorem."
)
_NOT_IN_BALLS = "Runs of the flow are in floats: a violation could be seen, but not confirmed."


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
    """Look for a counterexample to a statement, inside what it supposes.

    Instances of varied structure are drawn and followed in floats; those that come close are
    changed step by step. A violation is made simpler and then decided by two runs in balls of
    different precision, with D.1 to D.5 confirmed exactly. Only that is reported as found.

    Parameters
    ----------
    statement : str, Claim or None
        ``"Lemma D.3"``, ``"Assertion D.1"``, ``"D.61"``, any id of the ledger, or a claim of one's
        own. With edition="repaired" also ``"Theorem two"``, ``"Theorem R"``, ``"Theorem G"``; None
        or ``"theorem"`` are all three in turn.
    edition : {"printed", "corrected", "repaired"}
        "corrected" is the statement as its repair has it.
    dynamics : {"euler", "gd", "flow"}, optional
        By default euler, the map (D.2) of the paper, and the flow for the repaired theorems.
        Statements about numbers have none.
    seconds : number
        How long the search may take. A ball run that has begun by then is finished: up to about
        half a minute more. A line about numbers is searched in rounds of seconds.
    rng : int, numpy.random.Generator or None
        None is the seed 0: as long as time does not run out, two hunts are the same.
    progress : callable, optional
        Called with one line of text now and then.
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
    App. D; ``swingby/theory/proofs/trajectories.proof``.

    Examples
    --------
    >>> from swingby.verify.hunt import hunt
    >>> found = hunt("Lemma D.3", dynamics="gd", seconds=20, dim=2)
    >>> found.found, str(found.verdict), found.rerun()
    (True, 'refuted', True)
    """
    limit = _seconds(seconds)
    if dim is not None and numbers.whole(dim, "dim", 2) > 4:
        raise InvalidInput("dim", dim, "must be 2, 3 or 4")
    if progress is not None and not callable(progress):
        raise InvalidInput("progress", progress, "must be callable")
    seed, generator = _generator(rng)
    chosen = targets(statement, edition)
    asked = _dynamics(dynamics, chosen[0])
    clock = Clock(limit, progress)
    if len(chosen) > 1 and dim not in (None, 2):
        chosen = tuple(target for target in chosen if target.id != "Theorem two")
    hunts = []
    for done, target in enumerate(chosen):
        part = clock.part(1 / (len(chosen) - done))
        hunts.append(_hunt(target, asked, part, generator, dim, seed))
    return hunts[0] if len(hunts) == 1 else _together(hunts, edition, asked, clock, seed)


def _hunt(
    target: Target,
    dynamics: str,
    clock: Clock,
    rng: np.random.Generator,
    dim: int | None,
    seed: int | None,
) -> Hunt:
    note = ""
    if target.kind == "trajectory":
        found = search(target.claim, dynamics, rng, clock, dim)
        if not found.instances:
            note = "No instance met the hypotheses of the statement in the time given."
    elif target.kind == "theorem":
        from swingby.verify.hunting.statements import search_theorem

        found = search_theorem(target.id, dynamics, rng, clock, dim)
        note = _NOT_IN_BALLS if dynamics == "flow" else _FLOW_ONLY.format(dynamics)
    else:
        found, note = _on_line(target, clock, rng)
    judged = found.judged
    witness = judged.witness if judged is not None else None
    checked = () if witness is None else witness.checked
    verdict = Finding.TESTED if found.instances and not found.unconfirmed else Finding.UNDECIDED
    if judged is not None:
        verdict = judged.verdict
        checked = checked or (f"proved by {judged.method}",)
    return Hunt(
        target.id,
        target.edition,
        dynamics,
        verdict,
        witness,
        found.instances,
        found.steps,
        clock.used,
        found.closest,
        found.shrinks,
        found.unconfirmed,
        checked,
        target.text,
        note,
        seed=seed,
        again=found.again,
    )


def _on_line(target: Target, clock: Clock, rng: np.random.Generator) -> tuple[Hunted, str]:
    """Lines that are not about trajectories: their provers look for a counterexample."""
    if target.kind == "numbers":
        from swingby.verify.hunting.statements import search_numbers

        number = int(rng.integers(2**31))
        judged, rounds, again = search_numbers(target.claim, number, clock)
        note = "An instance is a round of search over hundreds of points and more."
        return Hunted(instances=rounds, judged=judged, again=again), note
    from swingby.verify.prover.judge import judge

    verdict = judge(target.claim)
    if verdict.verdict in (Finding.REFUTED, Finding.PROVED):
        repeat = None if verdict.witness is None else partial(still_refuted, target.claim)
        return Hunted(instances=max(verdict.cases, 1), judged=verdict, again=repeat), ""
    return Hunted(instances=verdict.cases), f"Judged as a whole: {verdict.method}."


def _together(
    hunts: list[Hunt], edition: str, dynamics: str, clock: Clock, seed: int | None
) -> Hunt:
    first = next((one for one in hunts if one.found), None)
    verdict = Finding.TESTED
    if first is not None:
        verdict = Finding.REFUTED
    elif any(one.verdict == Finding.UNDECIDED for one in hunts):
        verdict = Finding.UNDECIDED
    near = [one.closest for one in hunts if one.closest is not None]
    return Hunt(
        "the repaired theorems",
        edition,
        dynamics,
        verdict,
        None if first is None else first.violation,
        sum(one.instances for one in hunts),
        sum(one.steps for one in hunts),
        clock.used,
        min(near, key=lambda one: one.slack, default=None),
        0,
        sum(one.unconfirmed for one in hunts),
        () if first is None else first.checked,
        note=hunts[0].note,
        parts=tuple(hunts),
        seed=seed,
        again=None if first is None else first.again,
    )


def _dynamics(dynamics: str | None, target: Target) -> str:
    if dynamics is not None and dynamics not in DYNAMICS:
        raise InvalidInput("dynamics", dynamics, f"must be one of {', '.join(DYNAMICS)}")
    if target.kind == "theorem":
        return dynamics or "flow"
    if target.kind != "trajectory":
        return ""
    if dynamics == "flow":
        raise InvalidInput(
            "dynamics",
            dynamics,
            "must be euler or gd: App. D is about steps, and only the "
            "repaired theorems about the flow",
        )
    return dynamics or "euler"


def _seconds(value: Any) -> float:
    return numbers.within_float(numbers.positive(value, "seconds"), "seconds")


def _generator(rng: Any) -> tuple[int | None, np.random.Generator]:
    if isinstance(rng, np.random.Generator):
        return None, rng
    seed = 0 if rng is None else numbers.whole(rng, "rng", 0)
    return seed, np.random.default_rng(seed)
