"""Counterexamples to lines with finite sums: numbers at which the sums have a few terms."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.proofs.checkers import check_witness
from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.language.definedness import partial, relations_of
from swingby.proofs.language.sums import (
    PLACE,
    FiniteSum,
    ForEach,
    at_place,
    moved_letter,
    needs_of_terms,
    sums_of,
)
from swingby.proofs.language.vectors import GRAM, factors, product_letter
from swingby.proofs.prover.evidence import ClaimVerdict, Witness
from swingby.proofs.prover.scalar.counterexample import QUICK, counterexample
from swingby.proofs.prover.scalar.preparation import resolve_definitions
from swingby.proofs.prover.scalar.scalar_claims import UnknownFunction, prepare_claim
from swingby.proofs.prover.sums.sum_facts import NoRule, SumFacts, in_file_words, mapped, text
from swingby.theory.search_time import OutOfTime, processor_time
from swingby.theory.verdict import Finding

#: Seconds for a number of terms.
_SECONDS = 5.0
#: Numbers of terms at which counterexamples are looked for, in this order; so many choices at most.
_COUNTS, _MOST_CHOICES = (2, 3, 1, 0, 4, 5), 24


def statements(claim: Claim) -> tuple[list[Any], list[Any]]:
    """The hypotheses and the relations of a line, definitions put in."""
    where = resolve_definitions(claim.where)
    given = [(each.source, mapped(each.relation, where)) for each in claim.given]
    # A fact about any vectors does not say that it has a value.
    given = [x for source, x in given if source != GRAM or not partial(x)]
    return given, [mapped(goal, where) for goal in claim.conditions]


def is_of_sequences(letters: Iterable[Any], witness: Witness | None) -> bool:
    """Whether letters of one sequence have one value where their places are one number."""
    values = {} if witness is None else witness.values
    counted = (x for x in letters if x.is_integer and str(x) in values)
    counts = {x: check_witness.number(values[str(x)]) for x in counted}
    at_number: dict[str, str] = {}
    for name, value in values.items():
        letter: Any = sympy.Symbol(name)
        for index, number in counts.items():
            if letter.name != str(index):
                letter = _at_number(letter, index, sympy.Integer(int(number)))
        if at_number.setdefault(letter.name, value) != value:
            return False
    read: dict[str, Any] = dict(values)
    for name, value in values.items():
        with contextlib.suppress(ValueError, ArithmeticError):  # other texts are compared as such
            read[name] = check_witness.number(value)
    try:  # as the checker of its file asks
        check_witness.check_sequences(read)
    except (ValueError, ArithmeticError, AttributeError, TypeError):
        return False
    return True


def _at_number(letter: Any, index: Any, number: Any) -> Any:
    """A letter, or an inner product, with a counting letter at a number."""
    if pair := factors(letter):
        return product_letter(*(_at_number(x, index, number) for x in pair))
    with contextlib.suppress(ValueError):  # before the first place
        return moved_letter(letter, index, number)
    return letter


def counterexample_file(claim: Claim, witness: Witness) -> dict[str, Any]:
    """The file of the counterexample to a line; empty if it has none."""
    return witness_file(*statements(claim), witness) or {}


def refuted(given: list[Any], goals: list[Any]) -> ClaimVerdict | None:
    """Numbers at which a line fails, with few terms in its sums; None if none are known."""
    for counts in _counts(given, goals):
        try:
            known = [x for each in given for x in _unrolled(each, counts)]
            targets = [x for goal in goals for x in _unrolled(goal, counts)]
        except ValueError:
            continue
        goal = targets[0] if len(targets) == 1 else sympy.Tuple(*targets)
        witness = _witness(known, targets, goal)
        if witness is not None:
            return _checked(given, goals, counts, witness)
    return None


def _counts(given: list[Any], goals: list[Any]) -> Iterator[dict[Any, Any]]:
    """Values of the letters that say how many terms there are, and at which letters stand."""
    statements = [*given, *goals]
    free = {x for each in statements for x in each.free_symbols}
    names = {match[1] for x in free for match in PLACE.finditer(str(x)) if match[1]}
    bounds = [x.args[2:] for x in sums_of(statements)]
    bounds += [(x.low, x.high) for x in statements if isinstance(x, ForEach)]
    letters = {x for pair in bounds for end in pair for x in end.free_symbols}
    letters |= {x for x in free if x.name in names}
    letters |= {
        sympy.Symbol(n, integer=True, nonnegative=True) for n in names - {x.name for x in letters}
    }
    ordered = sorted(letters, key=str)
    values = itertools.product(_COUNTS, repeat=len(ordered)) if len(ordered) < 3 else ()
    for row in itertools.islice(values, _MOST_CHOICES):
        if all(value or not x.is_positive for x, value in zip(ordered, row, strict=True)):
            yield {x: sympy.Integer(value) for x, value in zip(ordered, row, strict=True)}


def needs_of_statements(statements: list[Any]) -> Iterator[ForEach]:
    """What the terms of sums, and hypotheses for each value, need to have a value."""
    for each in statements:
        yield from needs_of_terms(each)
        if isinstance(each, ForEach):
            ends = (each.index, each.low, each.high)
            for side in each.relation.args:
                yield from (ForEach(need, *ends) for need in relations_of(partial(side)))


def _unrolled(statement: Any, counts: dict[Any, Any]) -> Iterator[Any]:
    """A statement with its sums written out, for each value of its counting letter."""
    if isinstance(statement, ForEach):
        low, high = (x.xreplace(counts) for x in (statement.low, statement.high))
        for count in range(int(low), int(high) + 1):
            yield from _unrolled(
                at_place(statement.relation, statement.index, sympy.Integer(count)), counts
            )
        return
    swaps = {}
    for total in statement.atoms(FiniteSum):
        term, index, low, high = total.args
        values = range(int(low.xreplace(counts)), int(high.xreplace(counts)) + 1)
        swaps[total] = sympy.Add(*(at_place(term, index, sympy.Integer(n)) for n in values))
    statement = mapped(statement, swaps)
    for letter, value in counts.items():
        statement = at_place(statement, letter, value)
    yield statement


def _letters_at(statements: tuple[Any, ...], counts: dict[Any, Any]) -> set[str]:
    """The names of the letters that stand in sums and hypotheses once these are written out."""
    names: set[str] = set()
    for each in statements:
        ranges = [x.args for x in sums_of([each])]
        if isinstance(each, ForEach):
            ranges.append((each.relation, each.index, each.low, each.high))
        for inside, index, low, high in ranges:
            for n in range(int(low.xreplace(counts)), int(high.xreplace(counts)) + 1):
                for letter in inside.free_symbols - {index}:
                    names.add(str(at_place(letter, index, sympy.Integer(n))))
    return names - {str(x) for x in counts}


def _witness(known: list[Any], targets: list[Any], goal: Any) -> Witness | None:
    claim = Claim("sums", "step", "", goal, tuple(Given(x, "case") for x in known))
    try:
        search, questions = prepare_claim(claim)
        with processor_time(_SECONDS):
            for question in questions:
                witness = counterexample(search.with_goal(question.goal), effort=QUICK)
                if witness is not None:
                    return replace(witness, relation=str(questions.index(question)))
    except (UnknownFunction, InvalidInput, OutOfTime, TypeError, ZeroDivisionError):
        return None
    return None


def _checked(
    given: list[Any], goals: list[Any], counts: dict[Any, Any], witness: Witness
) -> ClaimVerdict | None:
    """A witness as a verdict, once the checker takes its file."""
    place = int(witness.relation)
    values = {str(x): str(n) for x, n in counts.items()} | witness.values
    # What is in the sums, and has no part in the hypotheses or the difference of the sides.
    values = dict.fromkeys(sorted(_letters_at((*given, *goals), counts)), "1") | values
    goal = goals[place]
    complete = replace(witness, values=values, relation=relation_words(goal))
    content = witness_file(given, goals, complete)
    if content is None or check_witness.judge_shown(content):
        return None
    line = f"{complete.relation} fails: {witness.left} against {witness.right}"
    return ClaimVerdict(Finding.REFUTED, "counterexample", (line,), complete)


def witness_file(given: list[Any], goals: list[Any], witness: Witness) -> dict[str, Any] | None:
    """The file of a counterexample with sums, without the words around it."""
    try:
        facts = SumFacts(given, goals)
    except NoRule:
        return None
    places = [at for at, x in enumerate(goals) if relation_words(x) == witness.relation]
    if not places:
        return None
    values = {}
    for name, value in witness.values.items():
        (new,) = in_file_words([sympy.Symbol(name)]).values() or [sympy.Symbol(name)]
        values[str(new)] = value
    signs = {_stem(x): sign for x, sign in facts.signs.items()}
    known = [
        f"0 {'<' if signs[_stem(x)] == 'positive' else '<='} {x}"
        for x in values
        if signs.get(_stem(x), "real") != "real"
    ]
    whole = {_stem(x.name) for x in facts.letters if x.is_integer}
    known += [f"{x}{check_witness.WHOLE}" for x in values if _stem(x) in whole]
    letters = sorted(x.name for x in facts.letters - facts.sums.keys())
    return {
        "format": check_witness.FORMAT,
        "id": "",
        "line": "",
        "given": [*known, *map(text, (*facts.given, *facts.each))],
        "assumed": [],
        "fails": text(facts.goals[places[0]]),
        "values": values,
        "sums": facts.table,
        "letters": letters,
    }


def relation_words(goal: Any) -> str:
    """A relation with its sums as a proof file has them."""
    return text(goal).replace("FiniteSum", "sum")


def _stem(name: str) -> str:
    """The name of a letter without its place."""
    return PLACE.sub("()", name)
