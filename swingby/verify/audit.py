"""The audit: every line of the text judged, with what it rests on and what a repair changes."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from swingby.errors import InvalidInput, named
from swingby.theory.claim import AlongTrajectory, Claim
from swingby.theory.derivations import ledger as text
from swingby.theory.derivations.ledger import find
from swingby.theory.verdict import Finding
from swingby.verify import audit_cache
from swingby.verify.ledger import AUDITED, Ledger, Record
from swingby.verify.prover.evidence import NOT_RUN, Judged
from swingby.verify.prover.judge import judge
from swingby.verify.standing import below, downstream, granted, promises

if TYPE_CHECKING:
    from swingby.verify.prover.trajectories.judge import Runs

#: Called with the id just judged, how many are done, and how many there are.
Progress = Callable[[str, int, int], Any]

#: Method of a record whose prover stopped with an error: never a verdict, and never kept.
FAILED = "the prover failed"

_log = logging.getLogger("swingby.audit")


@named
def audit(
    items: str | Path | Sequence[str] | None = None,
    *,
    proof: str | Path | None = None,
    trajectories: bool = True,
    cache: bool = True,
    progress: Progress | bool | None = None,
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
        Use and keep verdicts in :func:`swingby.verify.audit_cache.folder`. A verdict is kept as
        soon as it is there, so an interrupted audit goes on where it stopped.
    progress : callable, bool, optional
        Called with (id, done, total). By default a bar on a terminal and log lines of the logger
        ``swingby.audit`` elsewhere; False for neither.
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
        asked = {
            find(str(item), names) for item in ([items] if isinstance(items, str | Path) else items)
        }
        asked = asked if assume is None else below(asked, lines)
        wanted = [name for name in names if name in asked]
    claims = {name: granted(lines[name], hypotheses) for name in names} if hypotheses else lines
    judgements = Judgements(claims, trajectories, cache, audited)
    records = []
    with _reporting(progress, len(wanted)) as report:
        for done, name in enumerate(wanted, start=1):
            records.append(judgements.record(judgements.claims[name], parts[name]))
            report(name, done, len(wanted))
    return Ledger(records, promised)


def _audited(proof: str | Path | None) -> tuple[Mapping[str, Claim], dict[str, str], str]:
    """The claims, the part of the text that each belongs to, and the name of the text."""
    if proof is None:
        return text.Claims(), text.parts(), AUDITED
    from swingby.theory.proofs.reader import load

    if Path(proof).suffix != ".proof":
        raise InvalidInput("proof", proof, "must end in .proof (one line is asked for by its item)")
    found = load(proof)
    return found, dict.fromkeys(found, Path(proof).stem), Path(proof).name


class Judgements:
    """Verdicts of one audit, each computed once.

    `claims`: every claim by id, in the order of the text. `trajectories`, `cache`: as in
    :func:`audit`. `audited`: the text.
    """

    def __init__(
        self, claims: Mapping[str, Claim], trajectories: bool, cache: bool, audited: str = AUDITED
    ) -> None:
        self.claims = claims
        self._trajectories = trajectories
        self._cache = cache
        self._audited = audited
        self._known: dict[str, tuple[Judged, float]] = {}
        self._runs: Runs | None = None

    def judged(self, claim: Claim) -> Judged:
        """The verdict on a claim, from memory, from the cache, or computed."""
        return self._timed(claim)[0]

    def _timed(self, claim: Claim) -> tuple[Judged, float]:
        name = audit_cache.key(claim)
        if name in self._known:
            return self._known[name]
        kept = audit_cache.load(claim) if self._cache else None
        if kept is None:
            if isinstance(claim.conclusion, AlongTrajectory) and not self._trajectories:
                return NOT_RUN, 0.0
            start = time.perf_counter()
            try:
                verdict = judge(claim, progress=_log.info, runs=self._runs_for(claim))
            except Exception as error:
                # One line on which a prover's own checks fail must not take the others with it.
                reason = f"{type(error).__name__}: {error}"
                _log.warning("the prover failed on %s (%s): %s", claim.id, claim.edition, reason)
                _log.debug("where it failed", exc_info=True)
                verdict = Judged(Finding.UNDECIDED, FAILED, tried=(reason,))
            kept = verdict, round(time.perf_counter() - start, 3)
            if self._cache and verdict.method != FAILED:
                audit_cache.store(claim, *kept)
        self._known[name] = kept
        return kept

    def _runs_for(self, claim: Claim) -> Runs | None:
        """Trajectories already followed: claims about them share them."""
        if self._runs is None and isinstance(claim.conclusion, AlongTrajectory):
            from swingby.verify.prover.trajectories.judge import Runs

            self._runs = Runs()
        return self._runs

    def is_refuted(self, id: str) -> bool:
        """Whether a line of the text is refuted as printed; False for what is no line of it."""
        claim = self.claims.get(id)
        return claim is not None and self.judged(claim).verdict == Finding.REFUTED

    def record(self, claim: Claim, part: str = "") -> Record:
        """The record of a claim, with its repair, what it rests on, and what follows from it."""
        judged, seconds = self._timed(claim)
        refuted = judged.verdict == Finding.REFUTED
        flaw = claim.flaw if refuted else None
        return Record(
            id=claim.id,
            kind=claim.kind,
            edition=claim.edition,
            reference=claim.reference,
            about=claim.about,
            statement=claim,
            verdict=judged.verdict,
            method=judged.method,
            evidence=judged.evidence,
            witness=judged.witness,
            cases=judged.cases,
            tried=judged.tried,
            parts=judged.parts,
            breaks=flaw.breaks if flaw else "",
            severity=flaw.severity if flaw else "",
            explanation=flaw.explanation if flaw else "",
            reading=claim.reading,
            repair=None if claim.repair is None else self.record(claim.repair, part),
            rests_on=claim.rests_on,
            rests_on_refuted=tuple(one for one in claim.rests_on if self._uses_refuted(claim, one)),
            downstream=downstream(claim, self) if refuted and claim.repair else (),
            seconds=seconds,
            part=part,
            audited=self._audited,
            proof=judged.proof,
        )

    def _uses_refuted(self, claim: Claim, id: str) -> bool:
        """Whether a claim uses a refuted line, and not what its corrected form says as well.

        Assumption D.5 read by value says the same of a pair as D.5 read by index; t_0 with another
        value is another t_0.
        """
        if not self.is_refuted(id):
            return False
        cited = self.claims[id]
        repair = cited.repair
        if repair is None or (repair.where != cited.where and claim.edition == "printed"):
            return True
        used = {given.relation for given in claim.given if given.source == id}
        return not used <= set(repair.conditions)


@contextlib.contextmanager
def _reporting(progress: Progress | bool | None, total: int) -> Iterator[Progress]:
    """What is called after every line: the caller's function, a bar, or the log."""
    if callable(progress):
        yield progress
    elif progress is False:
        yield lambda name, done, total: None
    elif total > 1 and (progress or sys.stderr.isatty()):
        with _bar(total) as report:
            yield report
    else:
        yield lambda name, done, total: _log.info("%d of %d: %s", done, total, name)


@contextlib.contextmanager
def _bar(total: int) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("audit", total=total)
        yield lambda name, done, total: bar.update(
            task, completed=done, description=f"{name:<28.28}"
        )
