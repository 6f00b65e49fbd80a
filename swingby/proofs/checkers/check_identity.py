"""Check of exported identities, by the standard library alone; ``check.py`` calls it.

A case says that two formulas are the same quotient of sums, wherever both are defined. With rates,
the left one is differentiated: dx/dt of a letter x is its rate, or, for entries of W under the
flow, what (D.2) says. An identity of matrices of every size is decided word by word: a word is
read up to the rules of the file, and under a trace up to rotation and transposition.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise, product
from types import ModuleType
from typing import Any

FORMAT, WORDS = "swingby identity 1", "swingby words 1"
KEYS = {"format", "id", "line", "letters", "cases"}
#: What a case has: both sides, and how letters change where the left side is differentiated.
CASE = {"left", "right", "rates"}
WORDS_KEYS = {"format", "id", "line", "letters", "scalars", "rules", "where", "says"}
#: What an identity of matrices has: whether its sides stand under a trace; and a letter with the
#: direction in which the left side is differentiated, or nothing.
SAYS = {"left", "right", "trace", "along"}
#: Flows of more concepts, and higher powers of matrices, are refused.
MOST_CONCEPTS, MOST_POWER = 6, 9

Word = tuple[str, ...]
#: Whether a word stands under the sum over samples, and the word; to its coefficient.
Words = dict[tuple[bool, Word], Any]


class _Slopes:
    """Numbers with their rates of change, as pairs of quotients; no letter is 0.

    `exact`: the arithmetic of quotients.
    """

    def __init__(self, exact: Any) -> None:
        self.exact, self.zero = exact, exact.quotient(0)

    def pair(self, x: Any) -> tuple[Any, Any]:
        """A number, or a pair as it is."""
        return x if isinstance(x, tuple) else (self.exact.quotient(x), self.zero)

    def negative(self, x: Any) -> Any:
        return tuple(map(self.exact.negative, self.pair(x)))

    def plus(self, x: Any, y: Any) -> Any:
        return tuple(map(self.exact.plus, self.pair(x), self.pair(y)))

    def times(self, x: Any, y: Any) -> Any:
        (a, da), (b, db) = self.pair(x), self.pair(y)
        return self.exact.times(a, b), self.exact.plus(self._scaled(db, a), self._scaled(da, b))

    def inverse(self, x: Any) -> Any:
        a, da = self.pair(x)
        one = self.exact.inverse(a)
        return one, self._scaled(da, self.exact.negative(self.exact.times(one, one)))

    def power(self, x: Any, y: Any) -> Any:
        """x^y, for a y that does not change."""
        (a, da), (b, db) = self.pair(x), self.pair(y)
        if db[0]:
            raise ValueError("an exponent that changes")
        top, below = b
        whole = self.exact.quotient(0 if below else top.get((), Fraction(0)).__floor__())
        found, rest = self.exact.power(a, whole), self.exact.plus(b, self.exact.negative(whole))
        if rest[0]:
            found = self.exact.times(found, self._letter("power", a, rest))
        rate = self.exact.times(self.exact.times(b, found), self.exact.inverse(a))
        return found, self._scaled(da, rate)

    def exp(self, x: Any) -> Any:
        a, da = self.pair(x)
        found = self.exact.exp(a)
        return found, self._scaled(da, found)

    def log(self, x: Any) -> Any:
        a, da = self.pair(x)
        return self._letter("log", a), self._scaled(da, self.exact.inverse(a))

    def _scaled(self, rate: Any, factor: Any) -> Any:
        return self.exact.times(rate, factor) if rate[0] else self.zero

    def _letter(self, *parts: Any) -> Any:
        """What is no quotient is a letter of its own, the same for the same parts."""
        name = " ".join(
            one if isinstance(one, str) else str([sorted(x.items()) for x in (one[0], *one[1])])
            for one in parts
        )
        self.exact.signs[name] = "positive"
        return {((name, Fraction(1)),): Fraction(1)}, ()


def flow(concepts: int) -> dict[str, str]:
    """The right side of (D.2): A W + W A - (A W^2 + W^2 A + 2 W A W)/2, entry by entry."""
    if not 1 <= concepts <= MOST_CONCEPTS:
        raise ValueError("too many concepts for a flow")
    places = range(1, concepts + 1)
    w = {(i, j): f"w_{min(i, j)}{max(i, j)}" for i in places for j in places}
    rates = {}
    for i, j in product(places, places):
        terms = (f"(a_{i} + a_{j} + 2*a_{k})*{w[i, k]}*{w[k, j]}/2" for k in places)
        rates[w[i, j]] = f"(a_{i} + a_{j})*{w[i, j]} - ({' + '.join(terms)})"
    return rates


def judge(content: Any, formula: Any, proofs: ModuleType) -> str:
    """Why an identity is rejected; nothing if it is accepted.

    `formula`: the reader of formulas of ``check.py``. `proofs`: ``check_proof.py``.
    """
    if content["format"] == WORDS:
        return _judge_words(content, formula, proofs)
    if content.keys() != KEYS or not content["cases"]:
        raise ValueError(f"the keys are not those of {FORMAT}")
    for case in content["cases"]:
        if case.keys() != CASE:
            raise ValueError("the keys are not those of a case")
        exact = proofs.Exact(dict.fromkeys(content["letters"], "positive"), [])
        made, rates = _Slopes(exact), case["rates"]
        texts = flow(rates) if isinstance(rates, int) else dict(rates)
        still = {name: ((proofs.letter(name), ()), made.zero) for name in content["letters"]}
        moving = {
            name: (still[name][0], made.pair(formula(text, still, made))[0])
            for name, text in texts.items()
        }
        left = made.pair(formula(case["left"], still | moving, made))[bool(texts)]
        right = made.pair(formula(case["right"], still, made))[0]
        if exact.plus(left, exact.negative(right))[0]:
            return f"the sides differ: {case['left']:.60}"
    return ""


class _Matrices:
    """Sums of words of letters that do not commute; their coefficients are sums of products.

    `letters`: of each its transpose, rows, columns, and whether it differs from sample to sample.
    `rules`: two letters side by side, and the letters that stand for them.
    """

    def __init__(self, letters: Mapping[str, Any], rules: Any, proofs: ModuleType) -> None:
        self.letters, self.proofs = letters, proofs
        self.rules = {(first, second): tuple(found) for first, second, found in rules}

    def words(self, x: Any) -> Words:
        return x if isinstance(x, dict) else {(False, ()): {(): x}} if x else {}

    def negative(self, x: Any) -> Words:
        return self.times(x, Fraction(-1))

    def plus(self, x: Any, y: Any) -> Words:
        found = dict(self.words(x))
        for key, value in self.words(y).items():
            found[key] = self.proofs.add(found.get(key, {}), value)
        return {key: value for key, value in found.items() if value}

    def times(self, x: Any, y: Any) -> Words:
        found: Words = {}
        for (key, value), (other, factor) in product(self.words(x).items(), self.words(y).items()):
            if (key[0] and (other[0] or self._sampled(other[1]))) or (
                other[0] and self._sampled(key[1])
            ):
                raise ValueError("a sample, or a sum over samples, beside another")
            term = {(key[0] or other[0], key[1] + other[1]): self.proofs.times(value, factor)}
            found = self.plus(found, term)
        return found

    def inverse(self, x: Any) -> Words:
        ((key, value),) = self.words(x).items()
        ((term, factor),) = value.items()
        if key != (False, ()):
            raise ValueError("a division by a matrix")
        return {key: {tuple((name, -power) for name, power in term): 1 / factor}}

    def power(self, x: Any, y: Any) -> Words:
        if not isinstance(y, Fraction) or y.denominator != 1 or not 0 < y <= MOST_POWER:
            raise ValueError("a power that is not small and whole")
        found = self.words(Fraction(1))
        for _ in range(int(y)):
            found = self.times(found, x)
        return found

    def over_samples(self, x: Any) -> Words:
        """The sum over s clusters of n samples."""
        found: Words = {}
        for (summed, word), value in self.words(x).items():
            if summed:
                raise ValueError("a sum over samples inside another")
            inside = self._sampled(word)
            count = self.proofs.times(self.proofs.letter("s"), self.proofs.letter("n"))
            term = value if inside else self.proofs.times(value, count)
            found = self.plus(found, {(inside, word): term})
        return found

    def squared_norm(self, x: Any) -> Words:
        """x^T x, of which the trace is meant."""
        return self.times(self.transposed(x), x)

    def transposed(self, x: Any) -> Words:
        return {(sum_, self._flipped(word)): v for (sum_, word), v in self.words(x).items()}

    def _flipped(self, word: Word) -> Word:
        return tuple(self.letters[letter][0] for letter in reversed(word))

    def _sampled(self, word: Word) -> bool:
        return any(self.letters[letter][3] for letter in word)

    def put_in(self, x: Words, letter: str, value: Words) -> Words:
        """The words with a definition in place of a letter."""
        found: Words = {}
        for (summed, word), factor in x.items():
            total: Words = {(False, ()): factor}
            for one in word:
                term = value if one == letter else {(False, (one,)): self.proofs.ONE}
                total = self.times(total, term)
            found = self.plus(found, self.over_samples(total) if summed else total)
        return found

    def reduced(self, x: Words, trace: bool) -> Words:
        """The words after the rules; under a trace, one of those that have the same trace."""
        found: Words = {}
        for (summed, word), value in x.items():
            for first, second in pairwise((*word, *word[:1]) if trace else word):
                if self.letters[first][2] != self.letters[second][1]:
                    raise ValueError(f"{first} {second}: the shapes do not fit")
            short = self._short(word, trace)
            if trace:
                every = (
                    self._rotated(one, n)
                    for one in (short, self._flipped(short))
                    for n in range(len(one))
                )
                short = min(every, default=())
            found = self.plus(found, {(summed, short): value})
        return found

    def _short(self, word: Word, trace: bool) -> Word:
        for place in range(len(word) if trace else 1):
            turned = self._rotated(word, place)
            for at, pair in enumerate(pairwise(turned)):
                if pair in self.rules:
                    return self._short(turned[:at] + self.rules[pair] + turned[at + 2 :], trace)
        return word

    @staticmethod
    def _rotated(word: Word, by: int) -> Word:
        return word[by:] + word[:by]

    def derivative(self, x: Words, of: str, along: str) -> Words:
        """The derivative in the direction of a matrix."""
        swap = {of: along, self.letters[of][0]: self.letters[along][0]}
        found: Words = {}
        for (summed, word), value in x.items():
            for place, letter in enumerate(word):
                if letter in swap:
                    moved = (*word[:place], swap[letter], *word[place + 1 :])
                    found = self.plus(found, {(summed, moved): value})
        return found


def _judge_words(content: Any, formula: Any, proofs: ModuleType) -> str:
    if content.keys() != WORDS_KEYS or not content["says"]:
        raise ValueError(f"the keys are not those of {WORDS}")
    made = _Matrices(content["letters"], content["rules"], proofs)
    for letter, (other, rows, columns, sample) in made.letters.items():
        if made.letters[other] != [letter, columns, rows, sample]:
            raise ValueError(f"{letter} is not the transpose of its transpose")
    values: dict[str, Words] = {"I": made.words(Fraction(1))}
    values |= {name: {(False, (name,)): proofs.ONE} for name in made.letters}
    values |= {name: {(False, ()): proofs.letter(name)} for name in content["scalars"]}
    # What a rule gives is put in once the rules are used up.
    given = {one for _, _, found in content["rules"] for one in found}
    late = [(name, text) for name, text in content["where"] if name in given]
    for name, text in reversed([one for one in content["where"] if one not in late]):
        values[name] = made.words(formula(text, values, made))
        values[made.letters[name][0]] = made.transposed(values[name])

    def read(text: str, trace: bool) -> Words:
        found = made.reduced(made.words(formula(text, values, made)), trace)
        for name, definition in late:
            value = made.words(formula(definition, values, made))
            found = made.reduced(made.put_in(found, name, value), trace)
        return found

    for one in content["says"]:
        if one.keys() != SAYS or type(one["trace"]) is not bool:
            raise ValueError("the keys are not those of an identity of matrices")
        of, along = one["along"] or ("", "")
        left, right = read(one["left"], one["trace"]), read(one["right"], one["trace"] and not of)
        if of:
            occurs = any(along in word for _, word in (*left, *right))
            if occurs or made.letters[of][1:] != made.letters[along][1:]:
                raise ValueError(f"{along} is no direction for {of}")
            slope = made.derivative(left, of, along)
            wanted = made.times(made.transposed(right), values[along])
            left, right = (made.reduced(x, True) for x in (slope, wanted))
        if made.plus(left, made.negative(right)):
            return f"the sides differ: {one['left']:.60}"
    return ""
