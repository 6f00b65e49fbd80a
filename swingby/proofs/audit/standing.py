"""The standing of a line: its verdict, with those of all that it rests on.

A verdict is about one step: it follows from its hypotheses. A line *stands* if its step does and
every line that it cites stands and says what is quoted of it; it *falls* with the first refuted
lines below it; it is *open* where something below is undecided, and *quoted, not checked* where a
line below does not say what is quoted. A line that uses of a refuted one only what the corrected
form says as well rests on that form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from swingby.proofs.audit.quotations import (
    MISQUOTED,
    READ,
    UNCHECKED,
    Quotation,
    assumed_definitions,
)
from swingby.proofs.audit.record import Record
from swingby.proofs.language.claim import AllTimes, ByCases, lines_of
from swingby.proofs.language.vectors import GRAM
from swingby.theory.verdict import Finding

STANDS, BY_Z3, TESTED, OPEN, FALLS = "stands", "stands by z3", "tested", "open", "falls"
#: The state of a line that a person reads, and of what rests on it.
BY_READER = "read"
#: The state of a line with a quotation that does not match, whatever its verdict.
QUOTED = UNCHECKED
#: The state of a line by its own verdict, the worst last.
_OWN = {
    Finding.PROVED: STANDS,
    Finding.MET: STANDS,
    Finding.PROVED_BY_Z3: BY_Z3,
    Finding.TESTED: TESTED,
    Finding.READ: BY_READER,
    Finding.UNDECIDED: OPEN,
    Finding.REFUTED: FALLS,
}


@dataclass(frozen=True)
class Standing:
    """The state of a line, and the lines that decide it.

    `state`: *tested*: it stands if what was only tested holds; *read*: if what a person read is
    right; *stands by z3*: if z3 is.
    `because`: the lines that decide it: refuted, undecided, tested or read; empty where it stands.
    `assumes`: what it rests on in the end and no line proves: assumptions, promises, cases, names
    of lines that were not judged.
    """

    id: str
    state: str
    because: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()


def standings(
    records: Sequence[Record], promised: Sequence[str] = (), *, corrected: bool = False
) -> tuple[Standing, ...]:
    """The standing of every record, in their order.

    `promised`: ids of lines that are taken for granted as printed. `corrected`: every refuted line
    reads as its repair says, and those that need it as theirs say.
    """
    by_id = {record.id: record for record in records}
    memo: dict[str, Standing] = {}

    def latest(record: Record) -> Record:
        """The last repair of a record that is refuted or uses what a repair takes back."""
        needs = record.verdict == Finding.REFUTED or record.rests_on_refuted
        unchanged = not corrected or record.id in promised or not needs or record.repair is None
        return record if unchanged or record.repair is None else latest(record.repair)

    def below(record: Record, source: str, users: tuple[str, ...]) -> Standing:
        """The standing of what a record takes from a source."""
        cited = by_id.get(source)
        if cited is None:
            if source in record.rests_on_refuted:
                return Standing(source, FALLS, (source,))
            # A line of another file: what it says is compared, and it is judged there.
            elsewhere = ", not judged here" * source.endswith(".proof)")
            return Standing(source, STANDS, assumes=(source + elsewhere,))
        if source in (record.id, *users):  # a circle proves nothing
            return Standing(source, OPEN, (source,))
        if cited.verdict == Finding.REFUTED and cited.repair is not None and source not in promised:
            # A line that needs the printed form goes with it, unless it follows when judged again.
            again = dict(cited.downstream).get(record.id, "") if corrected else "no"
            if source in record.rests_on_refuted and not again.startswith("still"):
                return Standing(source, FALLS if again else OPEN, (source,))
            cited = cited.repair
        return standing(latest(cited), users)

    def standing(record: Record, users: tuple[str, ...] = ()) -> Standing:
        """The standing of a record of any edition; `users` are the lines that lead to it."""
        name = f"{record.id} {record.edition}"
        if name in memo:
            return memo[name]
        proved = record.verdict in (Finding.PROVED, Finding.MET)
        assumed = Standing(record.id, STANDS, assumes=(record.id,))
        if record.id in promised:
            return assumed
        supports = [] if proved else [Standing(record.id, _OWN[record.verdict], (record.id,))]
        supports += [_quoted(record.id, each) for each in record.quotations]
        # What is refuted falls by itself, whatever it rests on.
        if record.verdict != Finding.REFUTED:
            statement = record.statement
            cited = (hypothesis.source for hypothesis in statement.given)
            sources = dict.fromkeys(source for source in cited if source != GRAM)
            sources |= dict.fromkeys(lines_of(statement.conclusion))
            supports += [below(record, source, (*users, record.id)) for source in sources]
            supports += [
                standing(latest(repair), (*users, record.id))
                for each in record.quotations
                if (repair := _repair(by_id.get(each.id), each.repairs)) is not None
            ]
            named = tuple(assumed_definitions(statement))
            supports.append(Standing(record.id, STANDS, assumes=named))
        order = (STANDS, BY_Z3, BY_READER, TESTED, QUOTED, OPEN, FALLS)
        worst = max((support.state for support in supports), key=order.index, default=STANDS)
        if record.kind == "assumption" and worst == STANDS:
            return assumed
        because = (
            name for support in supports if support.state == worst for name in support.because
        )
        assumes = (name for support in supports for name in support.assumes)
        met = {AllTimes: "induction", ByCases: "case"}.get(type(record.statement.conclusion))
        if met not in {hypothesis.source for hypothesis in record.statement.given}:
            assumes = (name for name in assumes if name != met)
        memo[name] = Standing(
            record.id, worst, tuple(dict.fromkeys(because)), tuple(dict.fromkeys(assumes))
        )
        return memo[name]

    return tuple(standing(latest(record)) for record in records)


def _repair(record: Record | None, repairs: int) -> Record | None:
    """The repair that says what is quoted of a line; None where it is the line itself.

    Of a refuted line all that is quoted is of its repair.
    """
    if record is None or not repairs or record.verdict == Finding.REFUTED:
        return None
    for _ in range(repairs):
        record = record and record.repair
    return record


def _quoted(user: str, quotation: Quotation) -> Standing:
    """What a quotation does to the line that makes it: what a person reads is a promise."""
    if quotation.open:
        return Standing(user, FALLS if quotation.state == MISQUOTED else QUOTED, (user,))
    is_read = quotation.state == READ
    return Standing(user, STANDS, assumes=(f"{quotation.id} as read",) if is_read else ())
