"""Which lines stand, once all that they rest on is followed to its end, and under which promises.

A verdict is about one step: it follows from its hypotheses. A line *stands* if its step does and
every line that it cites stands; it *falls* with the first refuted lines below it; it is *open*
where something below is undecided. A line that uses of a refuted one only what the corrected form
says as well rests on that form.

What a repair does to the lines that use the repaired one: computed, line by line.

Where a line cites a refuted one, the hypotheses that it takes from there are replaced by what the
repair proves, and the line is judged again: claims about numbers only, which take seconds.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import sympy

from swingby.errors import InvalidInput
from swingby.theory import assumptions
from swingby.theory.claim import AlongTrajectory, Claim, Given
from swingby.theory.claim_text import source_text
from swingby.theory.derivations.ledger import find
from swingby.theory.derivations.letters import ge
from swingby.theory.numbers import positive
from swingby.theory.proofs.reader import packaged
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import Judged
from swingby.verify.prover.judge import is_scalar

STANDS, TESTED, OPEN, FALLS = "stands", "tested", "open", "falls"
_WORST = (STANDS, TESTED, OPEN, FALLS)

#: What a reader calls some lines.
SHORT = {"psd": "before D.37 (semidefinite)"}


class _Line(Protocol):
    """What is asked of a record."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def edition(self) -> str: ...
    @property
    def statement(self) -> Claim: ...
    @property
    def verdict(self) -> Finding: ...
    @property
    def repair(self) -> Any: ...
    @property
    def rests_on_refuted(self) -> tuple[str, ...]: ...
    @property
    def downstream(self) -> tuple[tuple[str, str], ...]: ...


@dataclass(frozen=True)
class Standing:
    """Whether a line stands.

    `state`: *tested*: it stands if what was only tested holds.
    `because`: the lines that decide it: refuted, undecided or only tested; empty where it stands.
    `assumes`: what it rests on in the end and no line proves: assumptions, promises, cases, names
    of lines that were not judged.
    """

    id: str
    state: str
    because: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()


def standings(
    records: Sequence[_Line], promised: Sequence[str] = (), *, corrected: bool = False
) -> tuple[Standing, ...]:
    """Of every record, in their order.

    `promised`: ids of lines that are taken for granted as printed. `corrected`: every refuted line
    reads as its repair says, and those that need it as theirs say.
    """
    known = {record.id: record for record in records}
    found: dict[str, Standing] = {}
    read = [_corrected(one) if corrected and one.id not in promised else one for one in records]
    return tuple(_standing(one, known, frozenset(promised), corrected, found) for one in read)


def _corrected(record: _Line) -> _Line:
    """The last of its repairs where it is refuted or uses what a repair takes back."""
    needs = record.verdict == Finding.REFUTED or record.rests_on_refuted
    return _corrected(record.repair) if needs and record.repair is not None else record


def _standing(
    record: _Line,
    known: Mapping[str, _Line],
    promised: frozenset[str],
    corrected: bool,
    found: dict[str, Standing],
    users: tuple[str, ...] = (),
) -> Standing:
    """Of one record of any edition; `users` are the lines that lead to it."""
    name = f"{record.id} {record.edition}"
    if name in found:
        return found[name]
    if record.id in promised or (record.kind == "assumption" and record.verdict == Finding.PROVED):
        return Standing(record.id, STANDS, assumes=(record.id,))
    own = {Finding.REFUTED: FALLS, Finding.UNDECIDED: OPEN, Finding.TESTED: TESTED}
    state = own.get(record.verdict, STANDS)
    parts: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = []
    parts += [] if state == STANDS else [(state, (record.id,), ())]
    sources = dict.fromkeys(given.source for given in record.statement.given)
    # What is refuted falls by itself, whatever it rests on.
    for source in sources if state != FALLS else ():
        cited = known.get(source)
        if cited is None or source in (*users, record.id):
            parts.append((STANDS, (), (source,)))
            continue
        if cited.verdict == Finding.REFUTED and cited.repair is not None and source not in promised:
            # A line that needs the printed form goes with it, unless it follows when judged again.
            again = dict(cited.downstream).get(record.id, "") if corrected else "no"
            if source in record.rests_on_refuted and not again.startswith("still"):
                parts.append((FALLS if again else OPEN, (source,), ()))
                continue
            cited = cited.repair
        one = _standing(
            _corrected(cited) if corrected and source not in promised else cited,
            known,
            promised,
            corrected,
            found,
            (*users, record.id),
        )
        parts.append((one.state, one.because, one.assumes))
    worst = max((part[0] for part in parts), key=_WORST.index, default=STANDS)
    because = (name for part in parts if part[0] == worst for name in part[1])
    assumes = (name for part in parts for name in part[2])
    found[name] = Standing(
        record.id, worst, tuple(dict.fromkeys(because)), tuple(dict.fromkeys(assumes))
    )
    return found[name]


def promises(texts: str | Sequence[str], names: Sequence[str]) -> tuple[list[str], list[Given]]:
    """What is promised: ids of lines, and hypotheses on W(0) and eta.

    `texts`: separated by commas: ``"PSD"`` (every W(t) is positive semidefinite), ``"pivots >=
    1/2"`` (in units of w_kk(0)), ``"few steps"`` (eta gamma alpha log(1/omega) <= 1/2), and ids.
    `names`: ids of the lines that there are.
    Raises InvalidInput if a part is none of these.
    """
    parts = texts.split(",") if isinstance(texts, str) else texts
    ids: list[str] = []
    relations: list[Given] = []
    for text in (part.strip() for part in parts):
        if text.casefold() == "few steps":
            relations += packaged("trajectories").groups["FEW_STEPS"]
        elif match := re.fullmatch(r"pivots\s*(?:>=|\u2265)\s*(.+)", text):
            share = positive(match[1].strip(), "assume")
            if share > 1:
                raise InvalidInput("assume", text, "asks of a pivot more than w_kk(0)", "Sec. 4.2")
            (known,) = packaged("trajectories").groups["NOT_DEGENERATE"]
            relations.append(Given(ge(known.relation.lhs, sympy.Rational(share)), "assumed"))
        else:
            try:
                ids.append(find(SHORT.get(text.casefold(), text), names))
            except InvalidInput:
                what = "must be PSD, pivots >= 1/2, few steps, or ids of lines, by commas"
                raise InvalidInput("assume", text, what) from None
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


class Judges(Protocol):
    """What knows all claims and judges one."""

    claims: Mapping[str, Claim]

    def judged(self, claim: Claim) -> Judged:
        """The verdict on a claim."""


def downstream(refuted: Claim, judges: Judges) -> tuple[tuple[str, str], ...]:
    """What becomes of the lines that cite a refuted one once it is repaired.

    `refuted`: with a repair. Returns id and sentence, in the order of the text; only claims about
    numbers, and only where the repair speaks of the same letters.
    """
    names = list(judges.claims)
    here = names.index(refuted.id) if refuted.id in judges.claims else -1
    found: list[tuple[str, str]] = []
    # Right sides that are others now, in displays that go on in later lines.
    moved = [] if (end := _moved_end(refuted)) is None else [(refuted, *end)]
    for name in names[here + 1 :]:
        uses = refuted.id in _sources(judges.claims, name)
        # Of a proof file, a line that is not looked at is not read either.
        if not uses and not moved:
            continue
        claim = judges.claims[name]
        sentence = _after(claim, refuted, judges) if uses else ""
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


def _goes_on(claim: Claim, earlier: Claim, old: Any, new: Any, judges: Judges) -> str:
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


def _sources(claims: Mapping[str, Claim], name: str) -> tuple[str, ...]:
    """Of a proof file without reading the formulas of all of its lines."""
    known = getattr(claims, "sources", None)
    return claims[name].rests_on if known is None else tuple(known(name))


def _after(claim: Claim, refuted: Claim, judges: Judges) -> str:
    changed = with_repaired(claim, refuted)
    if changed is None or not is_scalar(claim) or claim.quantifier != "for all":
        return ""
    own = judges.judged(claim).verdict
    verdict = judges.judged(changed).verdict
    if own == Finding.REFUTED:
        return f"refuted on its own account; {_once_corrected(claim, refuted, judges)}"
    if verdict in _FOLLOWS:
        return f"still {_FOLLOWS[verdict]}"
    if verdict == Finding.REFUTED:
        return f"no longer follows; {_once_corrected(claim, refuted, judges)}"
    return f"undecided; {_once_corrected(claim, refuted, judges)}"


def _once_corrected(claim: Claim, refuted: Claim, judges: Judges) -> str:
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
    """A claim with what it takes from a refuted line replaced by what the repair says.

    Returns None if the repair speaks of letters that the claim does not know.
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
    conclusion = claim.conclusion
    if isinstance(conclusion, AlongTrajectory):
        conclusion = conclusion.relation
    parts = [conclusion, *(given.relation for given in claim.given)]
    parts += [side for pair in claim.where for side in pair]
    return {letter for part in parts for letter in getattr(part, "free_symbols", ())}
