"""Lines with means at distributions of few outcomes: what refutes a line is no mere table of means.

Every letter has a value at each outcome, and a mean is a sum over the outcomes. A vector is one or
two numbers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy

from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.language.definedness import put_in_as_written
from swingby.proofs.language.means import MeanLetter, is_random
from swingby.proofs.language.sums import ForEach
from swingby.proofs.language.vectors import GRAM, Vector, factors
from swingby.proofs.prover.evidence import ClaimVerdict, Witness, undecided
from swingby.proofs.prover.scalar.preparation import resolve_definitions
from swingby.proofs.prover.scalar.relation import relation_from
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar
from swingby.proofs.prover.sums.few_terms import (
    is_of_sequences,
    refuted,
    relation_words,
    statements,
)
from swingby.proofs.prover.sums.sum_facts import letters_of
from swingby.theory.verdict import Finding

#: Chances of the outcomes, and entries of a vector, that are tried.
_CHANCES = tuple(
    tuple(map(sympy.Rational, row.split()))
    for row in ("1", "1/2 1/2", "1/4 3/4", "1/10 9/10", "1/4 1/4 1/2")
)
_ENTRIES = (1, 2)
#: Seconds for an example at some chances.
_SECONDS = 6.0
_CHANCE, _OUTCOME, _ENTRY = "chance of outcome {}", "{} at outcome {}", "entry {} of {}"


def has_means(claim: Claim) -> bool:
    """Whether a line has the mean of something random."""
    return any(
        isinstance(x, MeanLetter) or _of_mean(x) or any(map(_of_mean, factors(x)))
        for x in letters_of([each for pair in statements(claim) for each in pair])
    )


def confirmed(claim: Claim, judged: ClaimVerdict) -> ClaimVerdict:
    """A verdict on a line with means: its numbers have to be those of a distribution."""
    if judged.witness is None:
        return judged
    _, goals = statements(claim)
    for entries, chances in itertools.product(_ENTRIES, _CHANCES):
        line = at_outcomes(claim, chances, entries)
        if entries > 1 and line == at_outcomes(claim, chances, 1):
            continue
        verdict: ClaimVerdict | None = None
        if claim.quantifier == "exists":
            example = decide_scalar(line, seconds=_SECONDS)
            met = example.verdict is Finding.PROVED
            verdict = example if met and is_of_sequences(line.letters, example.witness) else None
        else:
            verdict = refuted(*statements(line))
        if verdict is None or verdict.witness is None:
            continue
        words = list(map(relation_words, statements(line)[1]))
        relation = verdict.witness.relation  # of an example, all of them
        relation = _text(goals[words.index(relation)]) if relation in words else relation
        values = {_CHANCE.format(n): str(x) for n, x in enumerate(chances, 1)}
        witness = replace(
            verdict.witness, relation=relation, values=values | verdict.witness.values
        )
        lines = f"{relation} fails: {witness.left} against {witness.right}"
        evidence = verdict.evidence if claim.quantifier == "exists" else (lines,)
        method = f"{judged.method}, {len(chances)} outcome{'s' * (len(chances) > 1)}"
        return replace(verdict, method=method, evidence=evidence, witness=witness)
    reason = f"{judged.method} in numbers: no distribution that has them as means is known"
    advice = "next: a line for every outcome, quoted in the mean"
    return undecided("means", reason, advice)


def _text(goal: Any) -> str:
    """A relation with the means that stand in it."""
    return str(relation_from(goal)).replace("FiniteSum", "sum")


def at_outcomes(claim: Claim, chances: tuple[Any, ...], entries: int) -> Claim:
    """A line at a distribution: what is given holds at each outcome, and the line is of the first.

    Facts about means are left out, as they hold at every distribution.
    """
    claim = replace(claim, given=tuple(x for x in claim.given if x.source != GRAM))
    given, goals = statements(claim)
    where = resolve_definitions(claim.where)
    letters = letters_of([*given, *goals])
    swaps = [
        {x: _value(x, at, chances, entries, where) for x in letters}
        for at in range(1, len(chances) + 1)
    ]
    known = [_at(each, values) for each in given for values in swaps]
    concluded = [_at(goal, swaps[0]) for goal in goals]
    return replace(
        claim,
        conclusion=concluded[0] if len(concluded) == 1 else sympy.Tuple(*concluded),
        given=tuple(Given(each, "case") for each in dict.fromkeys(known)),
        where=(),
    )


def written_out(claim: Claim, witness: Witness) -> tuple[Claim, Witness]:
    """A line and its witness at a distribution, with letters for the values at each outcome."""
    chances = list[Any]()
    while text_of := witness.values.get(_CHANCE.format(len(chances) + 1)):
        chances.append(sympy.Rational(text_of))
    if not chances:
        return claim, witness
    second = any(name.startswith(_ENTRY.format(2, "")) for name in witness.values)
    line = at_outcomes(claim, tuple(chances), 2 if second else 1)
    pairs = zip(statements(claim)[1], statements(line)[1], strict=True)
    words = {_text(goal): relation_words(written) for goal, written in pairs}
    relation = words.get(witness.relation, witness.relation)
    values = {x: n for x, n in witness.values.items() if not re.match(_CHANCE.format(r"\d"), x)}
    return line, replace(witness, relation=relation, values=values)


def _of_mean(letter: Any) -> bool:
    return isinstance(letter, Vector) and letter.name.startswith("E[")


def _value(
    letter: Any, at: int, chances: tuple[Any, ...], entries: int, where: Mapping[Any, Any]
) -> Any:
    """A letter at an outcome."""
    if isinstance(letter, MeanLetter):
        terms = []
        for outcome, chance in enumerate(chances, 1):
            inside = letter.of.free_symbols
            values = {x: _value(x, outcome, chances, entries, where) for x in inside}
            terms.append(chance * put_in_as_written(letter.of, values))
        return sympy.Add(*terms)
    if pair := factors(letter):
        sides = ([_entry(x, n, at, chances) for n in range(1, entries + 1)] for x in pair)
        return sympy.expand(sympy.Add(*(x * y for x, y in zip(*sides, strict=True))))
    if letter in where:
        inside = where[letter].free_symbols
        values = {x: _value(x, at, chances, entries, where) for x in inside}
        return put_in_as_written(where[letter], values)
    if not is_random(letter):
        return letter
    name = _OUTCOME.format(letter.name.replace("~", ""), at)
    return sympy.Symbol(name, **letter._assumptions_orig)


def _entry(vector: Vector, number: int, at: int, chances: tuple[Any, ...]) -> Any:
    """An entry of a vector at an outcome, or of its mean."""
    if _of_mean(vector):
        random = Vector(f"{vector.name[2:-1]}~")
        outcomes = enumerate(chances, 1)
        return sympy.Add(*(p * _entry(random, number, n, chances) for n, p in outcomes))
    name = _ENTRY.format(number, vector.name.replace("~", ""))
    return sympy.Symbol(_OUTCOME.format(name, at) if is_random(vector) else name, real=True)


def _at(statement: Any, values: Mapping[Any, Any]) -> Any:
    if isinstance(statement, ForEach):
        return replace(statement, relation=_at(statement.relation, values))
    sides = (put_in_as_written(side, values) for side in statement.args)
    return statement.func(*sides, evaluate=False)
