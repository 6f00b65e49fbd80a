"""The audit: every line of the text judged, with what it rests on and what a repair changes.

Where a line cites a refuted one, the hypotheses that it takes from there are replaced by what the
repair proves, and the line is judged again: claims about numbers only, which take seconds.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy

from swingby.errors import InvalidInput, named
from swingby.proofs.audit import cache as audit_cache
from swingby.proofs.audit.ledger import Ledger
from swingby.proofs.audit.record import AUDITED, Record
from swingby.proofs.language import claims as text
from swingby.proofs.language.claim import AlongTrajectory, Claim, Given
from swingby.proofs.language.claim_text import source_text
from swingby.proofs.language.claims import find
from swingby.proofs.language.reader import load, packaged
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.prove import decide, is_scalar
from swingby.report.progress import Progress
from swingby.theory import assumptions, budget
from swingby.theory.numbers import positive
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from swingby.proofs.prover.trajectories.trajectory_runs import TrajectoryRuns

#: Seconds that it takes to judge a line; the longest ones follow trajectories for minutes.
SECONDS_A_LINE = 2.0
#: Method of a record whose prover stopped with an error: never a verdict, and never kept.
FAILED = "the prover failed"

#: The verdict on a claim about whole trajectories where the searches were left out.
NOT_RUN = ClaimVerdict(
    Finding.UNDECIDED, "not run", tried=("searches over trajectories were not run",)
)

_log = logging.getLogger("swingby.audit")


@named
def audit(
    items: str | Path | Sequence[str] | None = None,
    *,
    proof: str | Path | None = None,
    trajectories: bool = True,
    cache: bool = True,
    progress: Callable[[str, int, int], object] | bool | None = None,
    assume: str | Sequence[str] | None = None,
) -> Ledger:
    """Judge the numbered lines of the paper's proofs, or of another proof.

    Parameters
    ----------
    items : str or sequence of str, optional
        Ids such as ``"D.61"`` or ``"Lemma D.3"``; all by default. Or a proof file, as `proof`.
    proof : path, optional
        A file that ends in ``.proof``, in place of the paper's proofs.
    trajectories : bool
        Also run the searches over trajectories, for the lemmas: minutes. Without them those
        records are *undecided*, unless their verdicts are in the cache.
    cache : bool
        Use and keep verdicts in :func:`swingby.proofs.audit.cache.folder`. A verdict is kept as
        soon as it is there, so an interrupted audit goes on where it stopped.
    progress : callable, bool, optional
        Called with (id, done, total). By default a bar on a terminal, and elsewhere a line on
        standard error now and then; False for neither.
    assume : str or sequence of str, optional
        What is promised besides, separated by commas: ``"PSD"`` (every W(t) is positive
        semidefinite), ``"pivots >= 1/2"`` (of W(0), in units of w_kk(0)), ``"few steps"``
        (eta gamma alpha log(1/omega) <= 1/2), or ids of lines, taken for granted as printed.
        :meth:`Ledger.standing` says what stands then; the lines that `items` rest on are judged
        with them.

    Returns
    -------
    Ledger

    Raises
    ------
    InvalidInput
        If an id is unknown; the closest are named. If `proof` cannot be read: file, line, column
        and what was expected are named.

    Examples
    --------
    >>> import swingby
    >>> record = swingby.audit("(D.61)", cache=False, progress=False)["D.61"]
    >>> record.verdict.value, record.severity, record.repair.verdict.value
    ('refuted', 'local', 'proved')
    """
    if proof is None and str(items).endswith(".proof"):
        items, proof = None, str(items)
    lines, parts, audited = _audited(proof)
    names = list(lines)
    promised, hypotheses = promises(assume or (), names)
    wanted = names
    if items is not None:
        several = items if isinstance(items, Iterable) and not isinstance(items, str) else [items]
        asked = {find(str(item), names) for item in several}
        asked = asked if assume is None else below(asked, lines)
        wanted = [name for name in names if name in asked]
    claims = {name: granted(lines[name], hypotheses) for name in names} if hypotheses else lines
    judgements = Judgements(claims, trajectories, cache, audited)
    missing = judgements.missing(wanted)
    budget.expect("the audit", SECONDS_A_LINE * missing, partial=cache)
    records, total = [], len(wanted)
    # Of one line alone there is nothing to say in a pipe.
    shown = progress in (None, True) and (total > 1 or sys.stderr.isatty())
    with Progress("audit", total, "count elapsed what", shown=shown) as bar:
        for done, name in enumerate(wanted, start=1):
            records.append(judgements.record(judgements.claims[name], parts[name]))
            if callable(progress):
                progress(name, done, total)
            bar.say(f"{done} of {total}: {name}", completed=done, what=name)
    return Ledger(records, promised)


def _audited(proof: str | Path | None) -> tuple[Mapping[str, Claim], dict[str, str], str]:
    """The claims, the part of the text that each belongs to, and the name of the text."""
    if proof is None:
        return text.Claims(), text.parts(), AUDITED
    if Path(proof).suffix != ".proof":
        item = f"a line of the paper is an item: --item {Path(proof).name}"
        raise InvalidInput("proof", proof, f"must end in .proof; {item}")
    found = load(proof)
    if not found:
        raise InvalidInput("proof", proof, "must hold a line to judge")
    return found, dict.fromkeys(found, Path(proof).stem), Path(proof).name


class Judgements:
    """Verdicts of one audit, each computed once; `claims` by id, in the order of the text."""

    def __init__(
        self, claims: Mapping[str, Claim], trajectories: bool, cache: bool, audited: str = AUDITED
    ) -> None:
        self.claims = claims
        self._trajectories = trajectories
        self._cache = cache
        self._audited = audited
        self._known: dict[str, tuple[ClaimVerdict, float]] = {}
        self._runs: TrajectoryRuns | None = None

    def missing(self, names: Sequence[str]) -> int:
        """How many lines are to be judged anew; verdicts of the others are read."""
        lines = [self.claims[name] for name in names]
        if not self._trajectories:
            lines = [one for one in lines if not isinstance(one.conclusion, AlongTrajectory)]
        found = {audit_cache.key(one): self._cache and audit_cache.load(one) for one in lines}
        self._known |= {name: kept for name, kept in found.items() if kept}
        return sum(not kept for kept in found.values())

    def judged(self, claim: Claim) -> ClaimVerdict:
        """The verdict on a claim, from memory, from the cache, or computed."""
        return self._timed(claim)[0]

    def _timed(self, claim: Claim) -> tuple[ClaimVerdict, float]:
        name = audit_cache.key(claim)
        if name in self._known:
            return self._known[name]
        kept = audit_cache.load(claim) if self._cache else None
        if kept is None:
            if isinstance(claim.conclusion, AlongTrajectory) and not self._trajectories:
                return NOT_RUN, 0.0
            start = time.perf_counter()
            try:
                verdict = decide(claim, progress=_log.info, runs=self._runs_for(claim))
            except MemoryError:
                raise  # says nothing about the line
            except Exception as error:
                # One line on which a prover's own checks fail must not take the others with it.
                reason = f"{type(error).__name__}: {error}"
                _log.warning("the prover failed on %s (%s): %s", claim.id, claim.edition, reason)
                _log.debug("where it failed", exc_info=True)
                verdict = ClaimVerdict(Finding.UNDECIDED, FAILED, tried=(reason,))
            kept = verdict, round(time.perf_counter() - start, 3)
            if self._cache and verdict.method != FAILED:
                audit_cache.store(claim, *kept)
        self._known[name] = kept
        return kept

    def _runs_for(self, claim: Claim) -> TrajectoryRuns | None:
        """Trajectories already followed: claims about them share them."""
        if self._runs is None and isinstance(claim.conclusion, AlongTrajectory):
            from swingby.proofs.prover.trajectories.trajectory_runs import TrajectoryRuns

            self._runs = TrajectoryRuns()
        return self._runs

    def record(self, claim: Claim, part: str = "") -> Record:
        """The record of a claim, with its repair, what it rests on, and what follows from it."""
        judged, seconds = self._timed(claim)
        refuted = judged.verdict == Finding.REFUTED
        flaw = claim.flaw if refuted else None
        said = ("id", "kind", "edition", "reference", "about", "reading", "rests_on")
        return Record(
            statement=claim,
            **{name: getattr(claim, name) for name in said},
            **vars(judged),
            breaks=flaw.breaks if flaw else "",
            severity=flaw.severity if flaw else "",
            explanation=flaw.explanation if flaw else "",
            repair=None if claim.repair is None else self.record(claim.repair, part),
            rests_on_refuted=tuple(one for one in claim.rests_on if self._uses_refuted(claim, one)),
            downstream=downstream(claim, self) if refuted and claim.repair else (),
            seconds=seconds,
            part=part,
            audited=self._audited,
        )

    def _uses_refuted(self, claim: Claim, id: str) -> bool:
        """Whether a claim uses a refuted line, and not only what its corrected form says as well.

        Assumption D.5 read by value says the same of a pair as D.5 read by index; t_0 with another
        value is another t_0.
        """
        cited = self.claims.get(id)
        if cited is None or self.judged(cited).verdict != Finding.REFUTED:
            return False
        repair = cited.repair
        if repair is None or (repair.where != cited.where and claim.edition == "printed"):
            return True
        used = {given.relation for given in claim.given if given.source == id}
        return not used <= set(repair.conditions)


#: What a reader calls some lines.
_SHORT = {"psd": "before D.37 (semidefinite)"}


def promises(texts: str | Sequence[str], names: Sequence[str]) -> tuple[list[str], list[Given]]:
    """What `assume` of :func:`audit` promises: ids among `names`, and hypotheses on W(0), eta."""
    parts = texts.split(",") if isinstance(texts, str) else texts
    ids: list[str] = []
    relations: list[Given] = []
    for one in (part.strip() for part in parts):
        if one.casefold() == "few steps":
            relations += packaged("trajectories").groups["FEW_STEPS"]
        elif match := re.fullmatch(r"pivots\s*(?:>=|\u2265)\s*(.+)", one):
            share = positive(match[1].strip(), "assume")
            if share > 1:
                raise InvalidInput("assume", one, "asks of a pivot more than w_kk(0)", "Sec. 4.2")
            (known,) = packaged("trajectories").groups["NOT_DEGENERATE"]
            least = sympy.Ge(known.relation.lhs, sympy.Rational(share), evaluate=False)
            relations.append(Given(least, "assumed"))
        else:
            try:
                ids.append(find(_SHORT.get(one.casefold(), one), names))
            except InvalidInput:
                what = "must be PSD, pivots >= 1/2, few steps, or ids of lines, by commas"
                raise InvalidInput("assume", one, what) from None
    return ids, relations


def below(ids: Collection[str], claims: Mapping[str, Claim]) -> set[str]:
    """The ids and all that they rest on."""
    found, waiting = set(ids), list(ids)
    while waiting:
        claim = claims[waiting.pop()]
        cited = {source for edition in claim for source in edition.rests_on}
        new = cited & claims.keys() - found
        found |= new
        waiting += new
    return found


def granted(claim: Claim, relations: Sequence[Given]) -> Claim:
    """The claim with what is promised among its hypotheses, where it speaks of trajectories.

    A repair that says the same of fewer W(0), all of them inside the promise, is what is left.
    """
    if not relations or not isinstance(claim.conclusion, AlongTrajectory):
        return claim
    repair = claim.repair
    if repair is not None and (repair.conclusion, repair.where) == (claim.conclusion, claim.where):
        known = {one.relation for one in (*claim.given, *relations)}
        if all(one.relation in known or _weaker(one.relation, known) for one in repair.given):
            return repair
    return replace(claim, given=(*claim.given, *relations))


def _weaker(relation: Any, known: set[Any]) -> bool:
    """Whether it bounds a letter from below by less than one that is known."""
    return any(
        relation.func == one.func == sympy.Ge
        and relation.lhs == one.lhs
        and (one.rhs - relation.rhs).is_nonnegative
        for one in known
    )


_FOLLOWS = {Finding.PROVED: "follows", Finding.TESTED: "holds in every case tested"}


def downstream(refuted: Claim, judges: Judgements) -> tuple[tuple[str, str], ...]:
    """What becomes of the lines that cite a refuted one once it is repaired.

    Ids and sentences in the order of the text; only of claims about numbers, and only where the
    repair speaks of the same letters.
    """
    names = list(judges.claims)
    here = names.index(refuted.id) if refuted.id in judges.claims else -1
    found: list[tuple[str, str]] = []
    # Right sides that are others now, in displays that go on in later lines.
    moved = [] if (end := _moved_end(refuted)) is None else [(refuted, *end)]
    for name in names[here + 1 :]:
        claim = judges.claims[name]
        sentence = _after(claim, refuted, judges) if refuted.id in claim.rests_on else ""
        if not sentence:
            goes_on = (_goes_on(claim, *one, judges) for one in moved)
            sentence = next(filter(None, goes_on), "")
        if sentence:
            found.append((name, sentence))
            if (end := _moved_end(claim)) is not None:
                moved.append((claim, *end))
    return tuple(found)


def _moved_end(claim: Claim) -> tuple[Any, Any] | None:
    """The right side of its last relation as printed and as repaired, where they differ."""
    if claim.repair is None:
        return None
    last = [relation for one in (claim, claim.repair) for relation in one.conditions[-1:]]
    if len(last) < 2 or not all(isinstance(one, sympy.Rel) for one in last):
        return None
    old, new = (one.rhs for one in last)
    return (old, new) if old != new and old.args else None


def _goes_on(claim: Claim, earlier: Claim, old: Any, new: Any, judges: Judgements) -> str:
    """What becomes of a line that starts where a changed one ends, once that ends elsewhere."""
    if not is_scalar(claim) or claim.edition != "printed":
        return ""
    starts = [one.lhs for one in claim.conditions if isinstance(one, sympy.Rel)]
    if old not in starts:
        return ""
    moved = tuple(
        one.func(one.lhs.xreplace({old: new}), one.rhs, evaluate=False) for one in claim.conditions
    )
    conclusion = moved[0] if len(moved) == 1 else sympy.Tuple(*moved)
    shown = replace(claim, conclusion=conclusion, flaw=None, repair=None)
    verdict, begins = judges.judged(shown).verdict, f"goes on from {source_text(earlier.id)}"
    if verdict in _FOLLOWS:
        return f"{begins}: still {_FOLLOWS[verdict]} from its corrected form"
    lost = "no longer follows" if verdict == Finding.REFUTED else "undecided"
    return f"{begins}: {lost}; {_once_corrected(claim, earlier, judges)}"


def _after(claim: Claim, refuted: Claim, judges: Judgements) -> str:
    changed = with_repaired(claim, refuted)
    if changed is None or not is_scalar(claim) or claim.quantifier != "for all":
        return ""
    own = judges.judged(claim).verdict
    verdict = judges.judged(changed).verdict
    if own != Finding.REFUTED and verdict in _FOLLOWS:
        return f"still {_FOLLOWS[verdict]}"
    begins = "undecided"
    if Finding.REFUTED in (own, verdict):
        begins = "refuted on its own account" if own == Finding.REFUTED else "no longer follows"
    return f"{begins}; {_once_corrected(claim, refuted, judges)}"


def _once_corrected(claim: Claim, refuted: Claim, judges: Judgements) -> str:
    repair = claim.repair
    if repair is None:
        return "it has no corrected form"
    # A repair that cites the line already cites its corrected form, or one derived from it.
    verdict = judges.judged(repair).verdict
    if verdict != Finding.PROVED and (changed := with_repaired(repair, refuted)) is not None:
        verdict = judges.judged(changed).verdict
    if verdict in _FOLLOWS:
        return f"{_FOLLOWS[verdict]} in its corrected form"
    return f"its corrected form is {verdict}"


def with_repaired(claim: Claim, refuted: Claim) -> Claim | None:
    """A claim with what the repair of a refuted line says in place of what it takes from there.

    None if the repair speaks of letters that the claim does not know.
    """
    repair = refuted.repair
    if repair is None or not repair.conditions:
        return None
    defined = {left for left, _ in claim.where}
    where = tuple(pair for pair in repair.where if pair[0] not in defined)
    known = _letters(claim) | {left for left, _ in where} | _CONSTANTS
    new = (*repair.conditions, *(right for _, right in where))
    if any(not hasattr(part, "free_symbols") or part.free_symbols - known for part in new):
        return None
    given: list[Given] = []
    replaced = False
    for hypothesis in claim.given:
        if hypothesis.source != refuted.id:
            given.append(hypothesis)
        elif not replaced:
            given += [Given(relation, refuted.id) for relation in repair.conditions]
            replaced = True
    return replace(claim, given=tuple(given), where=(*where, *claim.where), flaw=None, repair=None)


_CONSTANTS = {*assumptions.CONSTANTS, assumptions.omega, assumptions.eta, assumptions.d}


def _letters(claim: Claim) -> set[Any]:
    parts = [*claim.conditions, *(given.relation for given in claim.given)]
    parts += [side for pair in claim.where for side in pair]
    return {letter for part in parts for letter in getattr(part, "free_symbols", ())}
