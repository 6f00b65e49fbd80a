"""A line of a proof as an object: hypotheses, conclusion, quantifier, and its repair.

A :class:`Claim` says what a text says, and nothing about whether it is true: verdicts are computed
in :mod:`swingby.proofs.prover`, from the objects here alone. What a person adds, and no machine
decides, is the reading of an ambiguous line, the class of an error and the proposed repair.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy

from swingby.hints import Hinted
from swingby.proofs.language.means import MEAN, mean_of_both
from swingby.proofs.language.sums import PLACE, ForEach, at_place
from swingby.proofs.language.vectors import GRAM, letters_of, put_in

#: Kinds of slips in a line, in the words of the summary.
BREAKS = (
    "typo",
    "missing hypothesis",
    "missing term",
    "wrong constant",
    "wrong power",
    "wrong direction",
    "wrong expression",
    "contradiction with another line",
)

#: Fatal: cannot be used for what it is there for. Local: the statement around it survives with a
#: change. Cosmetic: a reader corrects it in passing.
SEVERITIES = ("fatal", "local", "cosmetic")


@dataclass(frozen=True)
class Given(Hinted):
    """A hypothesis and its source: the id of a record such as ``"D.24"``, or "case".

    `instance`: what stands for letters of the line that is quoted, put in at the same time.
    """

    relation: Any
    source: str
    instance: tuple[tuple[Any, Any], ...] = ()


def at_instance(relation: Any, instance: tuple[tuple[Any, Any], ...]) -> Any:
    """A relation with expressions put in for letters, all at once, its two sides kept as two."""
    if isinstance(relation, ForEach):
        ends = (put_in(x, dict(instance)) for x in (relation.low, relation.high))
        return ForEach(at_instance(relation.relation, instance), relation.index, *ends)
    if not instance or not isinstance(relation, sympy.Basic):
        return relation
    if instance[0][0] == MEAN:
        return mean_of_both(at_instance(relation, instance[1:]))
    if relation.is_Relational:
        sides = (put_in(side, dict(instance)) for side in relation.args)
        return relation.func(*sides, evaluate=False)
    return relation.func(*(at_instance(each, instance) for each in relation.args))


@dataclass(frozen=True)
class AlongTrajectory:
    """A relation that is claimed of every trajectory inside D.1 to D.5.

    For the indices named by `entries`, for every step t_0 at which `when` holds (t_0 = 0 if empty)
    and every t >= t_0 up to `until` such that `during` holds at all steps from t_0 to t, `relation`
    holds.

    All are in the letters of ``proofs/letters.proof``; `until` is in steps.
    `entries`: "larger first" are the pairs i != j with a_i > a_j. `when` is on w_ii(t_0) and
    w_ij(t_0), `during` on w_ii(t) and w_ij(t).
    """

    relation: Any
    entries: str
    when: tuple[Any, ...] = ()
    during: tuple[Any, ...] = ()
    until: Any = None


#: Time, where no letter of a line is t itself.
TIME = sympy.Symbol("t", nonnegative=True, integer=True)


@dataclass(frozen=True)
class AllTimes:
    """A relation that is claimed at t = 0, 1, 2, ..., and the lines that prove it by induction.

    `times`: t and every letter of time t, each with what stands for it at 0 and at t + 1.
    `base`, `step`: ids of the lines that prove it at 0, and at t + 1 from t; empty: no line does.
    `second`: of the line that proves it at 1; the step is to t + 2 then, from t and t + 1.
    """

    relation: Any
    times: tuple[tuple[Any, Any, Any], ...]
    base: str = ""
    step: str = ""
    second: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines that are put together."""
        return tuple(filter(None, (self.base, self.second, self.step)))

    @property
    def letters_of_time(self) -> set[Any]:
        """Its letters at t and at t + 1."""
        return {letter for now, _, later in self.times for letter in (now, later)}

    def is_of_now(self, relation: Any) -> bool:
        """Whether a relation speaks of time t alone, so that it can be moved to another time."""
        letters = letters_of([relation])
        places = (match for x in letters for match in PLACE.finditer(str(x)))
        ahead = any(match[1] == "t" and match[2] for match in places)
        return not (ahead or letters & {later for _, _, later in self.times})

    def at(self, relation: Any, place: Any) -> Any:
        """A relation of time t at a number, or at t + 1 or t + 2."""
        time = next((now for now, *_ in self.times if str(now) == "t"), TIME)
        place = sympy.sympify(place)
        if place == time:
            return relation
        if place in (0, time + 1):
            return self.at_start(relation) if place == 0 else self.at_next(relation)
        return at_place(relation, time, place) if isinstance(relation, sympy.Basic) else relation

    def at_start(self, relation: Any) -> Any:
        """A relation of time t at time 0."""
        return at_instance(relation, tuple((now, start) for now, start, _ in self.times))

    def at_next(self, relation: Any) -> Any:
        """A relation of time t at time t + 1."""
        return at_instance(relation, tuple((now, later) for now, _, later in self.times))


@dataclass(frozen=True)
class ByCases:
    """A relation that some lines prove, each in a case of its own: their ids."""

    relation: Any
    lines: tuple[str, ...]


def lines_of(conclusion: Any) -> tuple[str, ...]:
    """The lines that are put together to a conclusion, by induction or by cases."""
    return conclusion.lines if isinstance(conclusion, AllTimes | ByCases) else ()


def conditions_of(conclusion: Any) -> tuple[Any, ...]:
    """The relations of a conclusion in their order; none for identities of other kinds."""
    if isinstance(conclusion, AlongTrajectory | AllTimes | ByCases):
        conclusion = conclusion.relation
    if isinstance(conclusion, sympy.And | sympy.Tuple):
        return tuple(conclusion.args)
    return (conclusion,) if isinstance(conclusion, sympy.Basic) else ()


def in_order_of_use(where: Mapping[Any, Any]) -> list[Any]:
    """The letters that are defined, each behind those it uses; ValueError with a circle of them."""
    uses = {letter: where[letter].free_symbols & where.keys() for letter in where}
    try:
        return list(graphlib.TopologicalSorter(uses).static_order())
    except graphlib.CycleError as error:
        raise ValueError(" -> ".join(map(str, reversed(error.args[1])))) from None


@dataclass(frozen=True)
class Flaw:
    """A person's verdict on a line that the machine refutes, in words of the lists above."""

    breaks: str
    severity: str
    explanation: str


@dataclass(frozen=True)
class Claim(Hinted):
    """A statement to be judged.

    `id`: ``"D.27"`` for a numbered display, ``"Lemma D.3"``, ``"Assumption D.4"``, or a few words
    for what carries no number: ``"before D.29"``.
    `kind` is "definition", "assumption", "identity", "step", "corollary", "lemma", "theorem" or
    "observation".
    `about`: what the line says, in a few words.
    `conclusion`: A Tuple is a chain or a conjunction: all of them, in the order printed.
    `given`: what a proof may use.
    `where`: definitions, substituted before anything is judged, in this order.
    `quantifier`: an assumption is judged by whether it can be met at all: "exists".
    `in_force`: Assumptions D.1 to D.5 of the printed edition hold around the line: a witness
    against it has to satisfy all of them too.
    `indices`: which entries (i, j) the line speaks of.
    `edition` in {"printed", "corrected", "repaired"}.
    `reference`: place in the text.
    `reading`: how an ambiguity was read.
    `quoted_as`: what later lines take from it, in letters, where its conclusion has none of them or
    says it of one time: as a person reads it.
    `flaw`: shown only where the verdict is *refuted*.
    `repair`: the smallest change that makes the line true, or that an earlier repair makes
    necessary.
    """

    id: str
    kind: str
    about: str
    conclusion: Any
    given: tuple[Given, ...] = ()
    where: tuple[tuple[Any, Any], ...] = ()
    quantifier: str = "for all"
    in_force: bool = False
    indices: str = "any"
    edition: str = "printed"
    reference: str = ""
    reading: str = ""
    quoted_as: tuple[Any, ...] = ()
    flaw: Flaw | None = None
    repair: Claim | None = None

    def __str__(self) -> str:
        return f"{self.id}: {self.about}"

    @property
    def conditions(self) -> tuple[Any, ...]:
        """The relations of the conclusion in their order; none for identities of other kinds."""
        return conditions_of(self.conclusion)

    @property
    def rests_on(self) -> tuple[str, ...]:
        """Ids of the records that the hypotheses come from, without repetition."""
        sources = [hypothesis.source for hypothesis in self.given]
        sources += lines_of(self.conclusion)
        return tuple(dict.fromkeys(source for source in sources if source not in _INTERNAL_SOURCES))

    @property
    def letters(self) -> set[Any]:
        """The letters of hypotheses, definitions and conclusion, where these are about numbers."""
        return letters_of(self.statements)

    @property
    def statements(self) -> list[Any]:
        """Hypotheses, definitions and conclusion, where these are about numbers."""
        statements = [*self.conditions, *self.quoted_as, *(each.relation for each in self.given)]
        statements += [side for pair in self.where for side in pair]
        if isinstance(conclusion := self.conclusion, AlongTrajectory):
            statements += [*conclusion.when, *conclusion.during, conclusion.until]
        return statements

    def cite(self, instance: tuple[tuple[Any, Any], ...] = ()) -> tuple[Given, ...]:
        """The relations of the conclusion, perhaps at an instance, as hypotheses elsewhere."""
        return tuple(
            Given(at_instance(relation, instance), self.id, instance)
            for relation in self.conditions or self.quoted_as
        )

    def but(self, **changes: Any) -> Claim:
        """The claim with some fields replaced, without flaw and repair: how a repair is written."""
        return replace(
            self,
            **({"edition": "corrected", "flaw": None, "repair": None, "reading": ""} | changes),
        )

    def with_repair(self, **changes: Any) -> Claim:
        """The claim with a repair attached, which differs from it in some fields."""
        return replace(self, repair=self.but(**changes))

    def __iter__(self) -> Iterator[Claim]:
        """The claim and its repairs, in order."""
        claim: Claim | None = self
        while claim is not None:
            yield claim
            claim = claim.repair


#: Sources of hypotheses that are no records of the ledger, and so no ids of lines.
RESERVED = frozenset({"induction", "hypothesis", "case", "definition", "dynamics", "PSD"})
_INTERNAL_SOURCES = RESERVED | {GRAM}
