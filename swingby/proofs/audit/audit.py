"""The audit: every line of a text judged, each once, with its repair and what it rests on."""

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
from swingby.proofs.audit.by_cases import put_together
from swingby.proofs.audit.downstream import downstream
from swingby.proofs.audit.ledger import Ledger
from swingby.proofs.audit.quotations import meets_repair, quotations
from swingby.proofs.audit.record import AUDITED, Record
from swingby.proofs.language import claims as text
from swingby.proofs.language.claim import (
    AllTimes,
    AlongTrajectory,
    ByCases,
    Claim,
    Given,
    at_instance,
    lines_of,
)
from swingby.proofs.language.claims import find
from swingby.proofs.language.reader import Proof, load, packaged
from swingby.proofs.language.sums import body
from swingby.proofs.language.vectors import Vector, are_vectors, factors
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.prove import decide
from swingby.report.progress import Progress
from swingby.theory import budget
from swingby.theory.numbers import positive
from swingby.theory.verdict import Finding

if TYPE_CHECKING:
    from swingby.proofs.prover.trajectories.trajectory_runs import TrajectoryRuns

#: Seconds that it takes to decide a line; the longest ones follow trajectories for minutes.
_SECONDS_A_LINE = 2.0
#: Method of a record whose prover stopped with an error: never a verdict, and never stored.
FAILED = "the prover failed"

#: The verdict on a claim about whole trajectories where the searches were left out.
_NOT_RUN = ClaimVerdict(
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
        Also run the searches over trajectories, for the lemmas; they take minutes. Without them
        those records are *undecided*, unless their verdicts are in the cache.
    cache : bool
        Read and write verdicts in :func:`swingby.proofs.audit.cache.folder`. Each verdict is
        written at once, so an interrupted audit resumes where it stopped.
    progress : callable, bool, optional
        Called with (id, done, total). By default a bar on a terminal, and elsewhere an occasional
        line on standard error; False for neither.
    assume : str or sequence of str, optional
        Additional hypotheses, separated by commas: ``"PSD"`` (every W(t) is positive
        semidefinite), ``"pivots >= 1/2"`` (of W(0), in units of w_kk(0)), ``"few steps"``
        (eta gamma alpha log(1/omega) <= 1/2), or ids of lines, assumed as printed.
        :meth:`Ledger.standing` then lists the lines that stand. The lines that `items` rest on are
        judged too.

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
    lines, sections, audited = _audited(proof)
    names = list(lines)
    promised, hypotheses = promises(assume or (), names)
    judged_ids = names
    if items is not None:
        listed = items if isinstance(items, Iterable) and not isinstance(items, str) else [items]
        requested = {find(str(item), names) for item in listed}
        requested = requested if assume is None else below(requested, lines)
        judged_ids = [name for name in names if name in requested]
    claims = {name: granted(lines[name], hypotheses) for name in names} if hypotheses else lines
    used = lines.quoted() if isinstance(lines, Proof) else {}
    judgements = Judgements(claims, trajectories, cache, audited, used)
    missing = judgements.missing(judged_ids)
    budget.expect("the audit", _SECONDS_A_LINE * missing, partial=cache)
    records, total = [], len(judged_ids)
    # Of one line alone there is nothing to say in a pipe.
    shows_bar = progress in (None, True) and (total > 1 or sys.stderr.isatty())
    with Progress("audit", total, "count elapsed what", shown=shows_bar) as bar:
        for done, name in enumerate(judged_ids, start=1):
            records.append(judgements.record(judgements.claims[name], sections[name]))
            if callable(progress):
                progress(name, done, total)
            bar.say(f"{done} of {total}: {name}", completed=done, what=name)
    return Ledger(records, promised)


def _audited(proof: str | Path | None) -> tuple[Mapping[str, Claim], dict[str, str], str]:
    """The claims, the part of the text that each belongs to, and the name of the text."""
    if proof is None:
        return text.Claims(), text.sections(), AUDITED
    if Path(proof).suffix != ".proof":
        item = f"a line of the paper is an item: --item {Path(proof).name}"
        raise InvalidInput("proof", proof, f"must end in .proof; {item}")
    proof_lines = load(proof)
    if not proof_lines:
        raise InvalidInput("proof", proof, "must hold a line to judge")
    return proof_lines, dict.fromkeys(proof_lines, Path(proof).stem), Path(proof).name


#: A lack of memory, in the words of libraries that have no error for it.
_NO_MEMORY = ("out of memory", "bad_alloc", "Cannot allocate")


class Judgements:
    """The verdicts of an audit, each computed once; `claims` by id, in the order of the text.

    `used`: lines of other files that they quote, by id and file.
    """

    def __init__(
        self,
        claims: Mapping[str, Claim],
        trajectories: bool,
        cache: bool,
        audited: str = AUDITED,
        used: Mapping[str, Claim] | None = None,
    ) -> None:
        self.claims = claims
        self._quotable = {**used, **claims} if used else claims
        self._trajectories = trajectories
        self._cache = cache
        self._audited = audited
        self._known: dict[str, tuple[ClaimVerdict, float]] = {}
        self._runs: TrajectoryRuns | None = None

    def missing(self, names: Sequence[str]) -> int:
        """How many lines are to be judged anew; verdicts of the others are read."""
        lines = [self.claims[name] for name in names]
        if not self._trajectories:
            lines = [line for line in lines if not isinstance(line.conclusion, AlongTrajectory)]
        verdicts = {audit_cache.key(line): self._cache and audit_cache.load(line) for line in lines}
        self._known |= {name: verdict for name, verdict in verdicts.items() if verdict}
        return sum(not verdict for verdict in verdicts.values())

    def judged(self, claim: Claim) -> ClaimVerdict:
        """The verdict on a claim, from memory, from the cache, or computed."""
        return self._timed(claim)[0]

    def _timed(self, claim: Claim) -> tuple[ClaimVerdict, float]:
        name = audit_cache.key(claim)
        if name in self._known:
            return self._known[name]
        timed = audit_cache.load(claim) if self._cache else None
        if timed is None:
            if isinstance(claim.conclusion, AlongTrajectory) and not self._trajectories:
                return _NOT_RUN, 0.0
            start = time.perf_counter()
            try:
                if isinstance(claim.conclusion, AllTimes | ByCases):  # of several lines: not kept
                    return put_together(claim, self._quotable, self.judged), 0.0
                verdict = decide(claim, progress=_log.info, runs=self._runs_for(claim))
                if verdict.witness is not None and not are_vectors(verdict.witness.values):
                    verdict = _of_vectors(claim)
            except MemoryError:
                raise  # says nothing about the line
            except Exception as error:
                # One line on which a prover's own checks fail must not take the others with it.
                reason = f"{type(error).__name__}: {error}"
                if any(words in reason for words in _NO_MEMORY):  # as libraries say it
                    raise MemoryError(reason) from error
                _log.warning("the prover failed on %s (%s): %s", claim.id, claim.edition, reason)
                _log.debug("where it failed", exc_info=True)
                verdict = ClaimVerdict(Finding.UNDECIDED, FAILED, tried=(reason,))
            timed = verdict, round(time.perf_counter() - start, 3)
            if self._cache and verdict.method != FAILED:
                audit_cache.store(claim, *timed)
        self._known[name] = timed
        return timed

    def _runs_for(self, claim: Claim) -> TrajectoryRuns | None:
        """Trajectories already followed: claims about them share them."""
        if self._runs is None and isinstance(claim.conclusion, AlongTrajectory):
            from swingby.proofs.prover.trajectories.trajectory_runs import TrajectoryRuns

            self._runs = TrajectoryRuns()
        return self._runs

    def record(self, claim: Claim, section: str = "") -> Record:
        """The record of a claim, with its repair, what it rests on, and what follows from it."""
        judged, seconds = self._timed(claim)
        refuted = judged.verdict == Finding.REFUTED
        flaw = claim.flaw if refuted else None
        is_met = claim.quantifier == "exists" and judged.verdict == Finding.PROVED
        fields = ("id", "kind", "edition", "reference", "about", "reading", "rests_on")
        return Record(
            statement=claim,
            **{name: getattr(claim, name) for name in fields},
            **vars(judged) | {"verdict": Finding.MET if is_met else judged.verdict},
            breaks=flaw.breaks if flaw else "",
            severity=flaw.severity if flaw else "",
            explanation=flaw.explanation if flaw else "",
            repair=None if claim.repair is None else self.record(claim.repair, section),
            rests_on_refuted=tuple(
                source for source in claim.rests_on if self._uses_refuted(claim, source)
            ),
            quotations=quotations(claim, self._quotable, self.judged),
            downstream=downstream(claim, self.claims, self.judged)
            if refuted and claim.repair
            else (),
            seconds=seconds,
            part=section,
            audited=self._audited,
        )

    def _uses_refuted(self, claim: Claim, id: str) -> bool:
        """Whether a claim uses a refuted line, and not only what its corrected form says as well.

        Assumption D.5 read by value says the same of a pair as D.5 read by index; t_0 with another
        value is another t_0.
        """
        cited = self._quotable.get(id)
        if cited is None or self.judged(cited).verdict != Finding.REFUTED:
            return False
        if id in lines_of(claim.conclusion):
            return True
        repair = cited.repair
        if repair is None or (repair.where != cited.where and claim.edition == "printed"):
            return True
        says_the_same = all(
            body(hypothesis.relation)
            in [at_instance(relation, hypothesis.instance) for relation in repair.conditions]
            for hypothesis in claim.given
            if hypothesis.source == id
        )
        is_met = cited.kind == "assumption" or meets_repair(claim, self._quotable, self.judged, id)
        return not (says_the_same and is_met)


def _of_vectors(claim: Claim) -> ClaimVerdict:
    """A counterexample in vectors, one of them 0, where one in numbers is not of any vectors."""
    letters = sorted((x for x in claim.letters if isinstance(x, Vector)), key=str)
    for vector in letters:
        zero = ((vector, sympy.Integer(0)),)
        given = tuple(replace(x, relation=at_instance(x.relation, zero)) for x in claim.given)
        smaller = replace(claim, conclusion=at_instance(claim.conclusion, zero), given=given)
        verdict = decide(smaller)
        if verdict.witness is not None and are_vectors(verdict.witness.values):
            products = {str(x): "0" for x in claim.letters if vector in factors(x)}
            values = verdict.witness.values | products
            return replace(verdict, witness=replace(verdict.witness, values=values))
    reason = "a counterexample in numbers that no vectors have"
    return ClaimVerdict(Finding.UNDECIDED, "vectors", tried=(reason,))


#: Short names of lines.
_SHORT = {"psd": "before D.37 (semidefinite)"}


def promises(texts: str | Sequence[str], names: Sequence[str]) -> tuple[list[str], list[Given]]:
    """The promises of `assume` of :func:`audit`: ids among `names`, hypotheses on W(0), eta."""
    phrases = texts.split(",") if isinstance(texts, str) else texts
    ids: list[str] = []
    relations: list[Given] = []
    for phrase in (words.strip() for words in phrases):
        if phrase.casefold() == "few steps":
            relations += packaged("trajectories").groups["FEW_STEPS"]
        elif match := re.fullmatch(r"pivots\s*(?:>=|\u2265)\s*(.+)", phrase):
            share = positive(match[1].strip(), "assume")
            if share > 1:
                raise InvalidInput(
                    "assume", phrase, "asks of a pivot more than w_kk(0)", "Sec. 4.2"
                )
            (degenerate,) = packaged("trajectories").groups["NOT_DEGENERATE"]
            bound = sympy.Ge(degenerate.relation.lhs, sympy.Rational(share), evaluate=False)
            relations.append(Given(bound, "assumed"))
        else:
            try:
                ids.append(find(_SHORT.get(phrase.casefold(), phrase), names))
            except InvalidInput:
                what = "must be PSD, pivots >= 1/2, few steps, or ids of lines, by commas"
                raise InvalidInput("assume", phrase, what) from None
    return ids, relations


def below(ids: Collection[str], claims: Mapping[str, Claim]) -> set[str]:
    """The ids and all that they rest on."""
    reached, waiting = set(ids), list(ids)
    while waiting:
        claim = claims[waiting.pop()]
        cited = {source for edition in claim for source in edition.rests_on}
        new = cited & claims.keys() - reached
        reached |= new
        waiting += new
    return reached


def granted(claim: Claim, relations: Sequence[Given]) -> Claim:
    """The claim with what is promised among its hypotheses, where it speaks of trajectories.

    A repair that says the same of fewer W(0), all of them inside the promise, is what is left.
    """
    if not relations or not isinstance(claim.conclusion, AlongTrajectory):
        return claim
    repair = claim.repair
    if repair is not None and (repair.conclusion, repair.where) == (claim.conclusion, claim.where):
        assumed = {hypothesis.relation for hypothesis in (*claim.given, *relations)}
        if all(
            hypothesis.relation in assumed or _weaker(hypothesis.relation, assumed)
            for hypothesis in repair.given
        ):
            return repair
    return replace(claim, given=(*claim.given, *relations))


def _weaker(relation: Any, assumed: set[Any]) -> bool:
    """Whether a relation bounds a letter from below by less than an assumed relation does."""
    return any(
        relation.func == stronger.func == sympy.Ge
        and relation.lhs == stronger.lhs
        and (stronger.rhs - relation.rhs).is_nonnegative
        for stronger in assumed
    )
