"""What an audit is: one record per line of the text, and which lines stand with all below them.

A verdict is about one step: it follows from its hypotheses. A line *stands* if its step does and
every line that it cites stands; it *falls* with the first refuted lines below it; it is *open*
where something below is undecided. A line that uses of a refuted one only what the corrected form
says as well rests on that form.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar, overload

from swingby.theory.claims.claim import Claim
from swingby.theory.claims.ledger import find
from swingby.theory.claims.verdict import Finding
from swingby.verify.prover.evidence import Judged, Witness

#: The text that the ledger is about.
AUDITED = "the anonymous ICLR submission of arXiv 2410.08309; later versions may differ"


@dataclass(frozen=True)
class Line:
    """What :class:`swingby.verify.ledger.Record` describes."""

    id: str
    kind: str
    edition: str
    reference: str
    about: str
    statement: Claim
    verdict: Finding
    method: str
    evidence: tuple[str, ...]
    witness: Witness | None
    cases: int
    tried: tuple[str, ...]
    parts: dict[str, Judged]
    breaks: str
    severity: str
    explanation: str
    reading: str
    repair: Line | None
    rests_on: tuple[str, ...]
    rests_on_refuted: tuple[str, ...]
    downstream: tuple[tuple[str, str], ...]
    seconds: float
    part: str = ""
    audited: str = AUDITED
    proof: tuple[dict[str, Any], ...] = ()


def by_name(records: Iterable[Line]) -> Iterator[tuple[str, Line]]:
    """Records and their repairs, by names such as D.61 and D.61 (corrected)."""
    for one in records:
        yield one.id, one
        if one.repair is not None:
            yield f"{one.repair.id} ({one.repair.edition})", one.repair


AnyLine = TypeVar("AnyLine", bound=Line, covariant=True)


class Lines(Sequence[AnyLine], Generic[AnyLine]):
    """The lines of an audit in the order of the text; they do not change."""

    def __init__(self, records: Sequence[AnyLine], promised: Sequence[str] = ()) -> None:
        self._records = tuple(records)
        self.promised = tuple(promised)

    @overload
    def __getitem__(self, place: int | str) -> AnyLine: ...
    @overload
    def __getitem__(self, place: slice) -> Self: ...
    def __getitem__(self, place: int | str | slice) -> AnyLine | Self:
        if isinstance(place, slice):
            return type(self)(self._records[place], self.promised)
        if isinstance(place, int):
            return self._records[place]
        names = [record.id for record in self._records]
        return self._records[names.index(find(place, names))]

    def __iter__(self) -> Iterator[AnyLine]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lines) and self._records == other._records

    def __hash__(self) -> int:
        return hash(tuple(record.id for record in self._records))

    @property
    def audited(self) -> str:
        """The text that the records are about."""
        return self._records[0].audited if self._records else AUDITED

    def counts(self) -> dict[str, int]:
        """How many records have each verdict.

        Returns
        -------
        dict
            Keys proved, refuted, tested, undecided, in this order, also where none has it.
        """
        return {str(one): sum(record.verdict == one for record in self) for one in Finding}

    def standing(self, *, corrected: bool = False) -> tuple[Standing, ...]:
        """Which lines stand, once all that they rest on is followed to its end.

        Parameters
        ----------
        corrected : bool
            Every refuted line reads as its repair says.

        Returns
        -------
        tuple of Standing
            In the order of the ledger. A cited line that the ledger does not hold is a promise.

        Examples
        --------
        >>> import swingby
        >>> ledger = swingby.audit(["D.61", "D.64"], cache=False, progress=False)
        >>> [(line.id, line.state) for line in ledger.standing()]
        [('D.61', 'falls'), ('D.64', 'stands')]
        """
        return standings(self, self.promised, corrected=corrected)


STANDS, TESTED, OPEN, FALLS = "stands", "tested", "open", "falls"
#: How a line stands by its own verdict, the worst last.
_OWN = {
    Finding.PROVED: STANDS,
    Finding.TESTED: TESTED,
    Finding.UNDECIDED: OPEN,
    Finding.REFUTED: FALLS,
}


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
    records: Sequence[Line], promised: Sequence[str] = (), *, corrected: bool = False
) -> tuple[Standing, ...]:
    """Of every record, in their order.

    `promised`: ids of lines that are taken for granted as printed. `corrected`: every refuted line
    reads as its repair says, and those that need it as theirs say.
    """
    known = {record.id: record for record in records}
    found: dict[str, Standing] = {}

    def read(record: Line) -> Line:
        """The last of its repairs where it is refuted or uses what a repair takes back."""
        needs = record.verdict == Finding.REFUTED or record.rests_on_refuted
        kept = not corrected or record.id in promised or not needs or record.repair is None
        return record if kept or record.repair is None else read(record.repair)

    def below(record: Line, source: str, users: tuple[str, ...]) -> Standing:
        """How what a record takes from a source stands."""
        cited = known.get(source)
        if cited is None or source in users:
            return Standing(source, STANDS, assumes=(source,))
        if cited.verdict == Finding.REFUTED and cited.repair is not None and source not in promised:
            # A line that needs the printed form goes with it, unless it follows when judged again.
            again = dict(cited.downstream).get(record.id, "") if corrected else "no"
            if source in record.rests_on_refuted and not again.startswith("still"):
                return Standing(source, FALLS if again else OPEN, (source,))
            cited = cited.repair
        return standing(read(cited), users)

    def standing(record: Line, users: tuple[str, ...] = ()) -> Standing:
        """Of one record of any edition; `users` are the lines that lead to it."""
        name = f"{record.id} {record.edition}"
        if name in found:
            return found[name]
        proved = record.verdict == Finding.PROVED
        if record.id in promised or (record.kind == "assumption" and proved):
            return Standing(record.id, STANDS, assumes=(record.id,))
        parts = [] if proved else [Standing(record.id, _OWN[record.verdict], (record.id,))]
        # What is refuted falls by itself, whatever it rests on.
        if record.verdict != Finding.REFUTED:
            sources = dict.fromkeys(given.source for given in record.statement.given)
            parts += [below(record, source, (*users, record.id)) for source in sources]
        order = tuple(_OWN.values())
        worst = max((part.state for part in parts), key=order.index, default=STANDS)
        because = (name for part in parts if part.state == worst for name in part.because)
        assumes = (name for part in parts for name in part.assumes)
        found[name] = Standing(
            record.id, worst, tuple(dict.fromkeys(because)), tuple(dict.fromkeys(assumes))
        )
        return found[name]

    return tuple(standing(read(one)) for one in records)
