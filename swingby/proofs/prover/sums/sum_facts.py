"""SumFacts of finite sums, each with the file of its rule for ``check_sum.py``.

A sum is a letter. Its rules ask for relations at each value of the counting letter, or once: these
are claims without sums, which the scalar prover decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import sympy

from swingby.proofs.checkers import check_proof, check_sum
from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.language.definedness import put_in_as_written
from swingby.proofs.language.sums import (
    PLACE,
    FiniteSum,
    ForEach,
    at_place,
    needs_of_terms,
    renamed,
    stands_at,
)
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.proofs.prover.scalar.relation import expression_text, relation_from
from swingby.proofs.prover.scalar.scalar_claims import (
    decide_scalar,
    prepare_claim,
    proof_file,
    word_of,
)
from swingby.proofs.prover.scalar.side_conditions import COMPLEX
from swingby.theory.verdict import Finding

#: Seconds for what a rule asks.
_SECONDS = 8.0


class NoRule(Exception):
    """What the rules of sums have no words for."""


def letters_of(statements: Iterable[Any]) -> set[Any]:
    """All letters, bound ones too."""
    basic = (
        x
        for each in statements
        for x in (
            [each.relation, each.index, each.low, each.high]
            if isinstance(each, ForEach)
            else [each]
        )
    )
    return {letter for x in basic for letter in x.atoms(sympy.Symbol)}


def in_file_words(letters: Iterable[Any]) -> dict[Any, Any]:
    """Letters whose names are no words of a file, with those that stand for them there.

    A place stays at the end, so that it can be moved.
    """
    swaps = {}
    for letter in letters:
        if not check_proof.LETTER.fullmatch(letter.name):
            places = {match[0] for match in PLACE.finditer(letter.name)}
            if len(places) > 1:
                raise NoRule(f"{letter} stands at two places")
            swaps[letter] = renamed(letter, word_of(PLACE.sub("", letter.name)) + "".join(places))
    return swaps


def counting(index: Any) -> Any:
    """The counting letter of a sum: of its sign no more is known than that of its first value."""
    return sympy.Symbol(index.name, integer=True, nonnegative=index.is_nonnegative)


def mapped(statement: Any, swaps: dict[Any, Any]) -> Any:
    """A statement with letters, or sums, exchanged, as it is written."""
    if isinstance(statement, ForEach):
        ends = (x.xreplace(swaps) for x in (statement.index, statement.low, statement.high))
        return ForEach(mapped(statement.relation, swaps), *ends)
    if isinstance(statement, sympy.Rel):
        sides = (put_in_as_written(x, swaps) for x in statement.args)
        return statement.func(*sides, evaluate=False)
    return put_in_as_written(statement, swaps)


def text(statement: Any) -> str:
    """A statement as a file has it."""
    if isinstance(statement, ForEach):
        ends = (expression_text(x) for x in (statement.index, statement.low, statement.high))
        return "{} for {} from {} to {}".format(text(statement.relation), *ends)
    relation = isinstance(statement, sympy.Rel)
    written = str(relation_from(statement)) if relation else expression_text(statement)
    return re.sub(r"\bE\b", "exp(1)", written)


class SumFacts:
    """What is known of the sums of a line: hypotheses, rules applied so far, and what they say."""

    def __init__(self, given: Sequence[Any], goals: Sequence[Any]) -> None:
        written = letters_of((*given, *goals))
        if unreal := [x for x in sorted(written, key=str) if x.is_real is None]:
            raise NoRule(f"no rule knows {COMPLEX.format(unreal[0])}")
        swaps = in_file_words(written)
        self.names = {new.name: old.name for old, new in swaps.items()}
        given, goals = ([mapped(x, swaps) for x in listed] for listed in (given, goals))
        self.letters = letters_of((*given, *goals))
        self.sums: dict[Any, Any] = {}
        self._letter_of: dict[Any, Any] = {}
        self.implied: list[str] = []
        self.rules: list[dict[str, Any]] = []
        self.says: list[Any] = []
        self.each = [each for each in given if isinstance(each, ForEach)]
        self.needed = list(dict.fromkeys(x for goal in goals for x in needs_of_terms(goal)))
        self.given = [self.without_sums(x) for x in given if not isinstance(x, ForEach)]
        self.goals = [self.without_sums(x) for x in goals]
        self.written = list(self.sums)

    def letter(self, total: Any) -> Any:
        """The letter that stands for a sum; between the same ends, with the same index."""
        term, index, *ends = total.args
        first = next((x.args[1] for x in self.sums.values() if [*x.args[2:]] == ends), index)
        total = FiniteSum(at_place(term, index, first), first, *ends)
        if total not in self._letter_of:
            taken = {x.name for x in self.letters}
            name = next(x for n in range(1, 10_000) if (x := f"sum_{n}") not in taken)
            letter = sympy.Symbol(name, real=True)
            self._letter_of[total], self.sums[letter] = letter, total
            self.letters |= {letter, *total.atoms(sympy.Symbol)}
        return self._letter_of[total]

    def named(self, value: Any) -> Any:
        """A letter for a value, such as a mean; the value itself where it has none."""
        if value in self._letter_of or (value.is_Symbol and value not in self.sums):
            return self._letter_of.get(value, value)
        known = [*self.given, *self.says]
        positive = self.decided(sympy.Gt(value, 0, evaluate=False), _relevant(value, known))
        sign = {"positive": True} if positive.verdict is Finding.PROVED else {"real": True}
        taken = {x.name for x in self.letters}
        name = next(x for n in range(1, 10_000) if (x := f"mean_{n}") not in taken)
        letter = sympy.Symbol(name, **sign)
        once = [sympy.Eq(value, value, evaluate=False)]
        once += [sympy.Lt(0, value, evaluate=False)] * ("positive" in sign)
        # The sum is what the name says: the sign of the name is known.
        top, below = sympy.fraction(value)
        equation = sympy.Eq(top, letter * below, evaluate=False)
        texts = [name, text(value), next(iter(sign))]
        self._letter_of[value] = (
            letter if self.add("name", [], equation, texts=texts, once=once) else value
        )
        return self._letter_of[value]

    def without_sums(self, statement: Any) -> Any:
        """A statement with letters for its sums."""
        sums = sorted(statement.atoms(FiniteSum), key=str)
        return mapped(statement, {each: self.letter(each) for each in sums})

    @property
    def signs(self) -> dict[str, str]:
        """The signs of all letters, as a file has them."""
        return {
            x.name: "positive" if x.is_positive else "nonnegative" if x.is_nonnegative else "real"
            for x in sorted(self.letters, key=str)
        }

    @property
    def table(self) -> dict[str, list[str]]:
        """The sums, as a file has them."""
        return {x.name: list(map(text, total.args)) for x, total in self.sums.items()}

    def known_at(self, total: Any) -> list[Any]:
        """What is known at a value of the counting letter of a sum."""
        _, index, low, high = total.args
        known = [sympy.Le(low, index, evaluate=False), sympy.Le(index, high, evaluate=False)]
        for each in self.each:
            if (each.low, each.high) == (low, high):
                known.append(at_place(each.relation, each.index, index))
        statements = (*self.given, *self.says)
        known += [x for x in statements if not any(stands_at(y, index) for y in x.free_symbols)]
        return [mapped(x, {index: counting(index)}) for x in known]

    def decided(self, goal: Any, given: Sequence[Any], seconds: float = _SECONDS) -> ClaimVerdict:
        """The verdict on a claim without sums."""
        return decide_scalar(_claim(goal, given), seconds=seconds)

    def steps(self, goal: Any, given: Sequence[Any], total: Any = None) -> list[Any] | None:
        """The steps that show a goal; None if it is not proved. What is implied is written down."""
        for relevant in (_relevant(goal, given), []):
            judged = self.decided(goal, relevant)
            if judged.verdict is Finding.PROVED:
                break
        else:
            return None
        shown = proof_file(*prepare_claim(_claim(goal, relevant)), judged.proof)
        self._imply(shown["given"], map(text, given), total)
        return list(shown["shows"])

    def _imply(self, texts: Iterable[str], known: Iterable[str], total: Any) -> None:
        """Keep what hypotheses imply by being defined."""
        for each in set(texts) - set(known):
            if total is not None:
                index, low, high = map(text, total.args[1:])
                each = f"{each} for {index} from {low} to {high}"
            self.implied.append(each)

    def add(
        self,
        rule: str,
        sums: Sequence[Any],
        says: Any,
        *,
        texts: Sequence[str] = (),
        each: Sequence[Any] = (),
        once: Sequence[Any] = (),
    ) -> bool:
        """Apply a rule, if what it asks is proved; whether it says so now."""
        if says in self.says:
            return True
        self.letters |= letters_of((says, *each, *once))
        fact: dict[str, Any] = {"rule": rule, "sums": [x.name for x in sums], "texts": [*texts]}
        fact |= {"each": [], "once": []}
        demanded = check_sum.demands(fact, self.table, self.signs)
        total = self.sums[sums[0]] if sums else None
        for word, goals, asked in (("each", each, demanded[0]), ("once", once, demanded[1])):
            at = total if word == "each" else None
            whole = {} if at is None else {at.args[1]: counting(at.args[1])}
            known = [*self.given, *self.says] if at is None else self.known_at(at)
            for goal, asked_text in zip(goals, asked, strict=True):
                steps = self.steps(mapped(goal, whole), known, at)
                if steps is None:
                    return False
                steps[-1] = steps[-1] | {"relation": asked_text}
                fact[word] += steps
        self.rules.append(fact)
        self.says.append(says)
        return True

    def split(self, letter: Any) -> list[Any]:
        """The sums of products that a sum is made of, with what is before them: a fact."""
        term, *ends = self.sums[letter].args
        numbers: dict[Any, Any] = {}
        for each in sympy.Add.make_args(sympy.expand(term.doit())):
            fixed, moving = list[Any](), list[Any]()
            for factor in sympy.Mul.make_args(each):
                free = not any(stands_at(x, ends[0]) for x in factor.free_symbols)
                (fixed if free else moving).append(factor)
            rest = sympy.Mul(*moving)
            numbers[rest] = numbers.get(rest, 0) + sympy.Mul(*fixed)
        numbers = {rest: number for rest, number in numbers.items() if number != 0}
        if list(numbers) == [term] or numbers == {term: 1}:
            return [letter]
        others = [self.letter(FiniteSum(rest, *ends)) for rest in numbers]
        inside = sympy.Add(*(c * rest for rest, c in numbers.items()))
        outside = sympy.Add(*(c * x for c, x in zip(numbers.values(), others, strict=True)))
        self.add(
            "linear",
            [letter, *others],
            sympy.Eq(letter, outside, evaluate=False),
            texts=[text(c) for c in numbers.values()],
            each=[sympy.Eq(term, inside, evaluate=False)],
        )
        return others

    def file(self, shown: dict[str, Any]) -> dict[str, Any]:
        """The file of a line, from what shows its relations without sums."""
        self._imply(shown["given"], map(text, (*self.given, *self.says)), None)
        whole = sorted(x.name for x in self.letters if x.is_integer)
        given = [*map(text, (*self.given, *self.each)), *self.implied]
        return {
            "format": check_sum.FORMAT,
            "id": "",
            "line": "",
            "signs": self.signs,
            "whole": whole,
            "given": list(dict.fromkeys(given)),
            "sums": self.table,
            "facts": self.rules,
            "shows": shown["shows"],
        }


def _claim(goal: Any, given: Iterable[Any]) -> Claim:
    return Claim("a fact of sums", "step", "", goal, tuple(Given(x, "case") for x in given))


def _relevant(goal: Any, given: Sequence[Any]) -> list[Any]:
    """The hypotheses that speak of the letters of a goal, or of one of those, and so on."""
    reached = set(goal.free_symbols)
    chosen: list[Any] = []
    waiting = list(given)
    while more := [x for x in waiting if x.free_symbols & reached]:
        chosen += more
        waiting = [x for x in waiting if x not in more]
        reached |= {letter for x in more for letter in x.free_symbols}
    return [x for x in given if x in chosen]
