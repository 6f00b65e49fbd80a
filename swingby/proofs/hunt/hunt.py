"""hunt: look for a counterexample to one statement, and report it only if it is confirmed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from swingby.errors import InvalidInput, named
from swingby.proofs.audit.record import header, witness_lines
from swingby.proofs.hunt.trajectory_search import Clock, Closest, Hunted, search
from swingby.proofs.language import claims as ledger
from swingby.proofs.language.claim import AlongTrajectory, Claim
from swingby.proofs.language.claim_text import source_text, to_text
from swingby.proofs.language.formula_printer import as_read
from swingby.proofs.prover.evidence import Judged, Witness
from swingby.proofs.prover.prove import is_scalar, judge
from swingby.proofs.prover.scalar.scalar_claims import judge_scalar
from swingby.report import Shown
from swingby.report.files import plain_values
from swingby.report.lines import USUAL, line_width, lines_text, wrapped
from swingby.report.markup import html_text
from swingby.report.number_text import counted
from swingby.theory import numbers
from swingby.theory.growth import require_dynamics
from swingby.theory.verdict import Finding
from swingby.verify.check import require_edition

#: The dynamics, as a title names them.
DYNAMICS = {"euler": "the map (D.2)", "gd": "gradient descent on U", "flow": "the flow"}
#: So often the prover is asked for a line about numbers, with seeds of their own.
MOST_ROUNDS = 12
#: What the provers say of a line that none of them takes.
NO_PROVER = "no prover"

_FLOW_ONLY = (
    "The theorem speaks of the flow. Under {} a broken promise says that its bounds do not carry "
    "over as they stand, and nothing against the theorem."
)
_NOT_IN_BALLS = "Runs of the flow are in floats: a violation could be seen, but not confirmed."
_ROUNDS = "An instance is a case, or a round of search over hundreds of points and more."


@dataclass(frozen=True)
class Hunt(Shown):
    """A hunt for a counterexample, and what was found.

    Parameters
    ----------
    statement, edition, dynamics, text : str
        Id of the statement; {"printed", "corrected", "repaired"}; {"euler", "gd", "flow"}, or empty
        for a statement about numbers alone; the statement as a reader sees it.
    verdict : Finding
        *refuted* with a confirmed counterexample; *tested* where none was found; *undecided* where
        nothing was looked at, or floats show a violation that balls do not confirm; *proved* for a
        line about numbers that the prover proves on the way.
    violation : Witness or None
        The confirmed counterexample.
    instances, steps : int
        Instances looked at, and steps at which the statement was evaluated.
    seconds : float
        Processor time used.
    closest : Closest or None
        The closest call of what kept the statement.
    shrinks : int
        Changes that made the counterexample simpler.
    unconfirmed : int
        Violations in floats that balls did not confirm. They are not reported.
    checked : tuple of str
        How the counterexample was confirmed.
    note : str
        What else a reader has to know.
    parts : tuple of Hunt
        One per theorem, for a hunt over several.
    seed : int or None
        Of the hunt, where a whole number was given.
    """

    statement: str
    edition: str
    dynamics: str
    verdict: Finding
    violation: Witness | None = None
    instances: int = 0
    steps: int = 0
    seconds: float = 0.0
    closest: Closest | None = None
    shrinks: int = 0
    unconfirmed: int = 0
    checked: tuple[str, ...] = ()
    text: str = ""
    note: str = ""
    parts: tuple[Hunt, ...] = ()
    seed: int | None = None
    again: Callable[[], bool] | None = field(default=None, repr=False, compare=False)

    @property
    def found(self) -> bool:
        """Whether a confirmed counterexample was found."""
        return self.violation is not None

    def rerun(self) -> bool:
        """Whether the counterexample still breaks the statement, in balls of a third precision.

        Raises InvalidInput if the hunt found none.
        """
        if self.again is None:
            raise InvalidInput("hunt", self.statement, "must have found a counterexample")
        return self.again()

    def __repr__(self) -> str:
        where = f", {self.dynamics}" if self.dynamics else ""
        head = f"{self.statement}, {self.edition}{where}"
        return f"<Hunt {head}: {self.verdict}, {self.instances} instances>"

    def to_text(self, *, width: int | None = None, color: bool = False) -> str:
        """The hunt for a terminal."""
        width = width or line_width() or USUAL
        lines = [] if self.edition == "repaired" else [header()]
        lines += [""] if self.text else []
        for line in self.text.splitlines():
            lines += wrapped(line.lstrip(), width, " " * (len(line) - len(line.lstrip()) + 2))
        lines += ["", *_outcome(self, width)]
        lines += ["", *wrapped(self.note, width)] if self.note else []
        for part in self.parts:
            lines += ["", f"{_title(part)}: {part.verdict}"]
            lines += [f"  {line}" for line in _outcome(part, width - 2)]
        return lines_text(f"Hunt: {_title(self)}: {self.verdict}", lines, width, color=color)

    def to_html(self) -> str:
        """The text as HTML."""
        return html_text(self.to_text(width=USUAL))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        shown = {name: part for name, part in vars(self).items() if name not in ("again", "parts")}
        parts = [part.to_dict() for part in self.parts]
        seconds = round(self.seconds, 3)
        return {**plain_values(shown), "found": self.found, "seconds": seconds, "parts": parts}


def _title(hunt: Hunt) -> str:
    """What was hunted, in one line."""
    edition = "" if hunt.edition == "printed" else f", {hunt.edition}"
    under = f", under {DYNAMICS[hunt.dynamics]}" if hunt.dynamics else ""
    return f"{source_text(hunt.statement)}{edition}{under}"


def _outcome(hunt: Hunt, width: int) -> list[str]:
    steps = f", {hunt.steps} steps" if hunt.steps else ""
    among = f"in {counted(hunt.instances, 'instance')}{steps}, {hunt.seconds:.1f} s"
    if hunt.violation is not None:
        simpler = f", made simpler by {counted(hunt.shrinks, 'change')}" if hunt.shrinks else ""
        lines = wrapped(f"Counterexample, found {among}{simpler}:", width)
        return lines + witness_lines(hunt.violation, width)
    words = f"No counterexample {among}. That proves nothing."
    if hunt.verdict == Finding.PROVED:
        words = f"No counterexample: {hunt.checked[0] if hunt.checked else 'proved'}."
    elif not hunt.instances:
        words = f"Nothing was looked at in {hunt.seconds:.1f} s."
    lines = wrapped(words, width)
    if hunt.unconfirmed:
        doubt = (
            f"{counted(hunt.unconfirmed, 'violation')} in floats not confirmed in balls: "
            "no counterexample, and no evidence for the statement there either."
        )
        lines += wrapped(doubt, width)
    if hunt.closest is not None:
        slack = hunt.closest.slack
        near = f"slack {slack:.3g}" if slack else "both sides equal"
        what = "" if hunt.edition == "repaired" else ", the logarithm of one side over the other"
        lines += wrapped(f"Closest call: {near}{what}.", width)
        for line in (hunt.closest.where, hunt.closest.instance):
            lines += wrapped(as_read(line), width, "  ")
    return lines


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
        How long the search may take, in processor time: a busy machine finds what an idle one
        does, later. A ball run that has begun by then is finished: up to about half a minute more.
        A line about numbers is searched in rounds of seconds.
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
    chosen = targets(statement, edition)
    kind = _kind(chosen[0])
    asked = _dynamics(dynamics, kind)
    for name, value in (("dynamics", dynamics), ("dim", dim)):
        if value is not None and kind == "line":
            raise InvalidInput(name, value, "must not be given for a line about numbers")
    clock = Clock(limit, progress)
    if len(chosen) > 1 and dim not in (None, 2):
        chosen = tuple(claim for claim in chosen if claim.id != "Theorem two")
    hunts = []
    for done, claim in enumerate(chosen):
        part = clock.part(1 / (len(chosen) - done))
        hunts.append(_hunt(claim, edition, asked, part, generator, dim, seed))
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
        found = search(claim, dynamics, rng, clock, dim)
        if not found.instances:
            note = "No instance met the hypotheses of the statement in the time given."
    elif kind == "theorem":
        from swingby.proofs.hunt.theorem_search import search_theorem

        found = search_theorem(claim.id, dynamics, rng, clock, dim)
        note = _NOT_IN_BALLS if dynamics == "flow" else _FLOW_ONLY.format(dynamics)
    else:
        found, note = search_line(claim, int(rng.integers(2**31)), clock), _ROUNDS
    judged = found.judged
    witness = None if judged is None else judged.witness
    checked = () if witness is None else witness.checked
    verdict = Finding.TESTED if found.instances and not found.unconfirmed else Finding.UNDECIDED
    if judged is not None:
        verdict = judged.verdict
        checked = checked or (f"proved by {judged.method}",)
    counts = {name: part for name, part in vars(found).items() if name != "judged"}
    more: dict[str, Any] = {"checked": checked, "text": to_text(claim), "note": note, "seed": seed}
    return Hunt(claim.id, edition, dynamics, verdict, witness, seconds=clock.used, **counts, **more)


def _together(hunts: list[Hunt], clock: Clock) -> Hunt:
    """Several hunts as one, with the first counterexample of them."""
    found = next((one for one in hunts if one.found), None)
    certain = all(one.verdict != Finding.UNDECIDED for one in hunts)
    verdict = Finding.TESTED if certain else Finding.UNDECIDED
    near = [one.closest for one in hunts if one.closest is not None]
    return replace(
        found or hunts[0],
        statement="the repaired theorems",
        verdict=verdict if found is None else Finding.REFUTED,
        instances=sum(one.instances for one in hunts),
        steps=sum(one.steps for one in hunts),
        seconds=clock.used,
        closest=min(near, key=lambda one: one.slack, default=None),
        unconfirmed=sum(one.unconfirmed for one in hunts),
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
        wanted = "must be euler or gd: App. D is about steps, and only the repaired theorems about "
        raise InvalidInput("dynamics", dynamics, wanted + "the flow")
    return dynamics or "euler"


def targets(statement: str | Claim | None, edition: str) -> tuple[Claim, ...]:
    """What a statement and an edition stand for; None and "theorem" are all repaired theorems."""
    require_edition(edition)
    if isinstance(statement, Claim):
        return (_in_edition(statement, edition, own=True),)
    known = ledger.Claims()
    if statement is None or (isinstance(statement, str) and statement.strip().lower() == "theorem"):
        if edition != "repaired":
            raise InvalidInput("statement", statement, "must be named, such as Lemma D.3")
        return tuple(known[name] for name in ledger.OWN)
    if not isinstance(statement, str):
        raise InvalidInput("statement", statement, "must be an id such as Lemma D.3, or a Claim")
    claim = known[ledger.find(statement, list(known))]
    return (_in_edition(claim, edition, own=False),)


def _in_edition(claim: Claim, edition: str, *, own: bool) -> Claim:
    """The form of a claim that an edition has; of one's own, the claim itself or its repair."""
    if own and edition != "corrected":
        return claim
    for form in claim:
        if form.edition == edition:
            return form
    known = " or ".join(form.edition for form in claim)
    also = f"; repaired are {', '.join(ledger.OWN)}" if edition == "repaired" else ""
    raise InvalidInput("edition", edition, f"must be {known}: {claim.id} has no other form{also}")


def _kind(claim: Claim) -> str:
    """The kind of search for a claim."""
    if claim.quantifier == "exists":
        wanted = "must say something of all cases: that numbers exist, no single case refutes"
        raise InvalidInput("statement", claim.id, wanted)
    if claim.id in ledger.OWN:
        return "theorem"
    return "trajectory" if isinstance(claim.conclusion, AlongTrajectory) else "line"


def search_line(claim: Claim, seed: int, clock: Clock) -> Hunted:
    """Ask the prover for a line, one about numbers with other seeds until the time is over."""
    found, repeats = Hunted(), is_scalar(claim)
    for number in range(MOST_ROUNDS if repeats else 1):
        if number and clock.over():
            break
        asked = partial(judge, claim)
        if repeats:
            asked = partial(judge_scalar, claim, rng=seed + number, seconds=max(clock.left, 1.0))
        judged = asked()
        if judged.method == NO_PROVER:
            break
        found.instances += max(judged.cases, int(repeats or judged.verdict.is_decided))
        clock.report(f"{claim.id}: {number + 1} rounds of search")
        if judged.verdict.is_decided:
            found.judged = judged
            found.again = None if judged.witness is None else partial(_still_refuted, asked)
            break
    return found


def _still_refuted(asked: Callable[[], Judged]) -> bool:
    """Whether the prover refutes a line when asked again."""
    return asked().witness is not None
