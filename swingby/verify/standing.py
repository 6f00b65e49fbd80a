"""Which lines stand, once all that they rest on is followed to its end, and under which promises.

A verdict is about one step: it follows from its hypotheses. A line *stands* if its step does and
every line that it cites stands; it *falls* with the first refuted lines below it; it is *open*
where something below is undecided. A line that uses of a refuted one only what the corrected form
says as well rests on that form.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import sympy

from swingby.errors import InvalidInput
from swingby.theory.claim import AlongTrajectory, Claim, Given
from swingby.theory.derivations.ledger import find
from swingby.theory.derivations.letters import ge
from swingby.theory.numbers import positive
from swingby.theory.proofs.reader import packaged
from swingby.theory.verdict import Finding

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
