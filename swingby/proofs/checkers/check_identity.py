"""Check of exported identities, by the standard library alone; ``check.py`` calls it.

A case says that two formulas are the same quotient of sums, wherever both are defined. With rates,
the left one is differentiated: dx/dt of a letter x is its rate, or, for entries of W under the
flow, what (D.2) says. Or the left one is taken after a step W -> MWM of gradient descent on U. An
identity of matrices of every size is decided word by word: a word is
read up to the rules of the file, and under a trace up to rotation and transposition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise, product
from types import ModuleType
from typing import Any

FORMAT, WORDS = "swingby identity 1", "swingby words 1"
KEYS = {"format", "id", "line", "letters", "cases"}
#: What a case has: both sides, and how letters change where the left side is differentiated.
_CASE = {"left", "right", "rates"}
_WORDS_KEYS = {"format", "id", "line", "letters", "scalars", "rules", "where", "says"}
#: What an identity of matrices has: whether its sides stand under a trace; and a letter with the
#: direction in which the left side is differentiated, or nothing.
_SAYS = {"left", "right", "trace", "along"}
#: In place of rates, before the number of concepts: the left side after a step.
STEP = "gd "
#: Flows of more concepts, and higher powers of matrices, are refused.
MOST_CONCEPTS, MOST_POWER = 6, 9

#: A letter of formulas, and one that stands for a matrix.
_LETTER = re.compile(
    r"(?!(?:exp|log|sqrt|Abs|Max|Min)\()[^\W\d]\w*'?(\([\w+]+\))?(\^\(\d+[,/]\d+\))?(_\d+,\d+)?"
    r"|1\{k=p\}",
    re.ASCII,
)
_MATRIX = re.compile(
    r"(1_k|1\{k=p\}|exp\(-A t\)|[^\W\d]\w*'?(\([\w+^()]+\))?)(\^(T|-1|\([\w,/]+\)))*",
    re.ASCII,
)

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
        reciprocal = self.exact.inverse(a)
        return reciprocal, self._scaled(
            da, self.exact.negative(self.exact.times(reciprocal, reciprocal))
        )

    def power(self, x: Any, y: Any) -> Any:
        """x^y, for a y that does not change."""
        (a, da), (b, db) = self.pair(x), self.pair(y)
        if db[0]:
            raise ValueError("an exponent that changes")
        top, below = b
        floor = self.exact.quotient(0 if below else top.get((), Fraction(0)).__floor__())
        value, remainder = (
            self.exact.power(a, floor),
            self.exact.plus(b, self.exact.negative(floor)),
        )
        if remainder[0]:
            value = self.exact.times(value, self._letter("power", a, remainder))
        rate = self.exact.times(self.exact.times(b, value), self.exact.inverse(a))
        return value, self._scaled(da, rate)

    def exp(self, x: Any) -> Any:
        a, da = self.pair(x)
        value = self.exact.exp(a)
        return value, self._scaled(da, value)

    def log(self, x: Any) -> Any:
        a, da = self.pair(x)
        return self._letter("log", a), self._scaled(da, self.exact.inverse(a))

    def _scaled(self, rate: Any, factor: Any) -> Any:
        return self.exact.times(rate, factor) if rate[0] else self.zero

    def _letter(self, *pieces: Any) -> Any:
        """A letter of its own for a number that is no quotient, the same for the same pieces."""
        name = " ".join(
            piece
            if isinstance(piece, str)
            else str([sorted(x.items()) for x in (piece[0], *piece[1])])
            for piece in pieces
        )
        self.exact.signs[name] = "positive"
        return {((name, Fraction(1)),): Fraction(1)}, ()


def flow(concepts: int) -> dict[str, str]:
    """The right side of (D.2): A W + W A - (A W^2 + W^2 A + 2 W A W)/2, entry by entry."""
    places = range(1, concepts + 1)
    w = {(i, j): f"w_{min(i, j)}{max(i, j)}" for i in places for j in places}
    rates = {}
    for i, j in product(places, places):
        terms = (f"(a_{i} + a_{j} + 2*a_{k})*{w[i, k]}*{w[k, j]}/2" for k in places)
        rates[w[i, j]] = f"(a_{i} + a_{j})*{w[i, j]} - ({' + '.join(terms)})"
    return rates


def after_step(concepts: int) -> dict[str, str]:
    """MWM, M = I + eta (A - (A W + W A)/2), entry by entry."""
    places = range(1, concepts + 1)
    w = {(i, j): f"w_{min(i, j)}{max(i, j)}" for i in places for j in places}
    M = {
        (i, j): f"({int(i == j)} + eta*(a_{i} + a_{j})*({int(i == j)} - {w[i, j]})/2)" for i, j in w
    }
    return {
        name: " + ".join(f"{M[i, k]}*{w[k, m]}*{M[m, j]}" for k, m in product(places, places))
        for (i, j), name in w.items()
        if i <= j
    }


def moving(rates: Any) -> tuple[dict[str, str], int]:
    """What stands for letters: rates of a flow, entries after a step, or rates that are listed.

    And of how many concepts.
    """
    if isinstance(rates, dict):
        return rates, 0
    concepts = rates if isinstance(rates, int) else int(rates.removeprefix(STEP))
    if not 1 <= concepts <= MOST_CONCEPTS or rates not in (concepts, f"{STEP}{concepts}"):
        raise ValueError("too many concepts")
    return (flow if isinstance(rates, int) else after_step)(concepts), concepts


def judge(content: Any, formula: Any, proofs: ModuleType) -> str:
    """Why an identity is rejected; nothing if it is accepted.

    `formula`: the reader of formulas of ``check.py``. `proofs`: ``check_proof.py``.
    """
    if content["format"] == WORDS:
        return _judge_words(content, formula, proofs)
    if content.keys() != KEYS or not content["cases"]:
        raise ValueError(f"the keys are not those of {FORMAT}")
    if refused := [name for name in content["letters"] if not _LETTER.fullmatch(name)]:
        raise ValueError(f"{refused[0]!r:.40} is no letter")
    for case in content["cases"]:
        if case.keys() != _CASE:
            raise ValueError("the keys are not those of a case")
        exact = proofs.Exact(dict.fromkeys(content["letters"], "positive"), [])
        slopes, rates = _Slopes(exact), case["rates"]
        texts, _ = moving(rates)
        still = {name: ((proofs.letter(name), ()), slopes.zero) for name in content["letters"]}
        after = isinstance(rates, str)
        changed = {
            name: (value, slopes.zero) if after else (still[name][0], value)
            for name, text in texts.items()
            for value in [slopes.pair(formula(text, still, slopes))[0]]
        }
        left_side = slopes.pair(formula(case["left"], still | changed, slopes))
        left_side = left_side[bool(texts) and not after]
        right_side = slopes.pair(formula(case["right"], still, slopes))[0]
        if exact.plus(left_side, exact.negative(right_side))[0]:
            return f"the sides differ: {case['left']:.60}"
    return ""


class _Matrices:
    """Sums of words of letters that do not commute; their coefficients are sums of products.

    `letters`: of each its transpose, rows, columns, and whether it differs from sample to sample.
    `rules`: two letters side by side, and the letters that stand for them.
    """

    def __init__(self, letters: Mapping[str, Any], rules: Any, proofs: ModuleType) -> None:
        self.letters, self.proofs = letters, proofs
        self.rules = {(first, second): tuple(replacement) for first, second, replacement in rules}

    def words(self, x: Any) -> Words:
        return x if isinstance(x, dict) else {(False, ()): {(): x}} if x else {}

    def negative(self, x: Any) -> Words:
        return self.times(x, Fraction(-1))

    def plus(self, x: Any, y: Any) -> Words:
        total = dict(self.words(x))
        for key, value in self.words(y).items():
            total[key] = self.proofs.add(total.get(key, {}), value)
        return {key: value for key, value in total.items() if value}

    def times(self, x: Any, y: Any) -> Words:
        total: Words = {}
        for (left_key, value), (right_key, factor) in product(
            self.words(x).items(), self.words(y).items()
        ):
            if (left_key[0] and (right_key[0] or self._sampled(right_key[1]))) or (
                right_key[0] and self._sampled(left_key[1])
            ):
                raise ValueError("a sample, or a sum over samples, beside another")
            term = {
                (left_key[0] or right_key[0], left_key[1] + right_key[1]): self.proofs.times(
                    value, factor
                )
            }
            total = self.plus(total, term)
        return total

    def inverse(self, x: Any) -> Words:
        ((key, value),) = self.words(x).items()
        ((term, factor),) = value.items()
        if key != (False, ()):
            raise ValueError("a division by a matrix")
        return {key: {tuple((name, -power) for name, power in term): 1 / factor}}

    def power(self, x: Any, y: Any) -> Words:
        if not isinstance(y, Fraction) or y.denominator != 1 or not 0 < y <= MOST_POWER:
            raise ValueError("a power that is not small and whole")
        raised = self.words(Fraction(1))
        for _ in range(int(y)):
            raised = self.times(raised, x)
        return raised

    def over_samples(self, x: Any) -> Words:
        """The sum over s clusters of n samples."""
        total: Words = {}
        for (summed, word), value in self.words(x).items():
            if summed:
                raise ValueError("a sum over samples inside another")
            inside = self._sampled(word)
            count = self.proofs.times(self.proofs.letter("s"), self.proofs.letter("n"))
            term = value if inside else self.proofs.times(value, count)
            total = self.plus(total, {(inside, word): term})
        return total

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
        substituted: Words = {}
        for (summed, word), factor in x.items():
            total: Words = {(False, ()): factor}
            for symbol in word:
                term = value if symbol == letter else {(False, (symbol,)): self.proofs.ONE}
                total = self.times(total, term)
            substituted = self.plus(substituted, self.over_samples(total) if summed else total)
        return substituted

    def reduced(self, x: Words, trace: bool) -> Words:
        """The words after the rules; under a trace, the least word of those with the same trace."""
        total: Words = {}
        for (summed, word), value in x.items():
            for first, second in pairwise((*word, *word[:1]) if trace else word):
                if self.letters[first][2] != self.letters[second][1]:
                    raise ValueError(f"{first} {second}: the shapes do not fit")
            short = self._short(word, trace)
            if trace and word and not short:
                raise ValueError("the trace of an identity has the size of its matrix")
            if trace:
                rotations = (
                    self._rotated(reading, n)
                    for reading in (short, self._flipped(short))
                    for n in range(len(reading))
                )
                short = min(rotations, default=())
            total = self.plus(total, {(summed, short): value})
        return total

    def check_shapes(self, keys: list[tuple[bool, Word]]) -> None:
        """Raise ValueError unless all words have one shape, a square one if one is a number."""
        words = [word for _, word in keys]
        shapes = {(self.letters[x[0]][1], self.letters[x[-1]][2]) for x in words if x}
        if len(shapes) > 1 or (() in words and any(rows != columns for rows, columns in shapes)):
            raise ValueError("the shapes of a sum do not fit")

    def _short(self, word: Word, trace: bool) -> Word:
        for shift in range(len(word) if trace else 1):
            rotated = self._rotated(word, shift)
            for at, pair in enumerate(pairwise(rotated)):
                if pair in self.rules:
                    return self._short(rotated[:at] + self.rules[pair] + rotated[at + 2 :], trace)
        return word

    @staticmethod
    def _rotated(word: Word, by: int) -> Word:
        return word[by:] + word[:by]

    def derivative(self, x: Words, of: str, along: str) -> Words:
        """The derivative in the direction of a matrix."""
        swap = {of: along, self.letters[of][0]: self.letters[along][0]}
        total: Words = {}
        for (summed, word), value in x.items():
            for position, letter in enumerate(word):
                if letter in swap:
                    moved = (*word[:position], swap[letter], *word[position + 1 :])
                    total = self.plus(total, {(summed, moved): value})
        return total


def _check_rule(first: str, second: str, replacement: list[str], letters: Any) -> None:
    """Raise ValueError unless a rule says what the names of letters say: a root, or an inverse."""
    shapes = {tuple(letters[x][1:3]) for x in (first, second, *replacement)}
    root = first == second and [first] == [f"{x}^(1/2)" for x in replacement]
    inverse = not replacement and (first == f"{second}^-1" or second == f"{first}^-1")
    square = len(shapes) == 1 and len({*shapes.pop()}) == 1
    if not square or not (root or inverse):
        raise ValueError(f"{first} {second}: no rule of a root or an inverse")


def _judge_words(content: Any, formula: Any, proofs: ModuleType) -> str:
    if content.keys() != _WORDS_KEYS or not content["says"]:
        raise ValueError(f"the keys are not those of {WORDS}")
    names = [*content["letters"], *content["scalars"]]
    if refused := [name for name in names if not _MATRIX.fullmatch(name)]:
        raise ValueError(f"{refused[0]!r:.40} is no letter")
    matrices = _Matrices(content["letters"], content["rules"], proofs)
    for letter, (transpose, rows, columns, sample) in matrices.letters.items():
        if matrices.letters[transpose] != [letter, columns, rows, sample]:
            raise ValueError(f"{letter} is not the transpose of its transpose")
        if letter.endswith("^T") and transpose != letter.removesuffix("^T"):
            raise ValueError(f"{letter} is not the transpose that its name says")
    values: dict[str, Words] = {"I": matrices.words(Fraction(1))}
    values |= {name: {(False, (name,)): proofs.ONE} for name in matrices.letters}
    values |= {name: {(False, ()): proofs.letter(name)} for name in content["scalars"]}
    for first, second, replacement in content["rules"]:
        _check_rule(first, second, replacement, matrices.letters)
    # What stands in rules depends on what they define: it has no derivative here.
    ruled = {letter for first, second, to in content["rules"] for letter in (first, second, *to)}
    for name, text in reversed(content["where"]):
        if {name, matrices.letters[name][0]} & ruled:
            ruled |= {x for x in matrices.letters if x in text}
    # What a rule gives is put in once the rules are used up.
    produced = {letter for _, _, replacement in content["rules"] for letter in replacement}
    late = [(name, text) for name, text in content["where"] if name in produced]
    for name, text in reversed(
        [definition for definition in content["where"] if definition not in late]
    ):
        values[name] = matrices.words(formula(text, values, matrices))
        values[matrices.letters[name][0]] = matrices.transposed(values[name])

    def read(text: str, trace: bool) -> Words:
        words = matrices.reduced(matrices.words(formula(text, values, matrices)), trace)
        for name, definition in late:
            value = matrices.words(formula(definition, values, matrices))
            words = matrices.reduced(matrices.put_in(words, name, value), trace)
        return words

    for identity in content["says"]:
        if identity.keys() != _SAYS or type(identity["trace"]) is not bool:
            raise ValueError("the keys are not those of an identity of matrices")
        of, along = identity["along"] or ("", "")
        left_side, right_side = (
            read(identity["left"], identity["trace"]),
            read(identity["right"], identity["trace"] and not of),
        )
        if of:
            occurs = any(along in word for _, word in (*left_side, *right_side))
            if {of, matrices.letters[of][0]} & ruled:
                raise ValueError(f"the rules say what {of} is")
            if occurs or matrices.letters[of][1:] != matrices.letters[along][1:]:
                raise ValueError(f"{along} is no direction for {of}")
            slope = matrices.derivative(left_side, of, along)
            gradient = matrices.times(matrices.transposed(right_side), values[along])
            left_side, right_side = (matrices.reduced(x, True) for x in (slope, gradient))
        if not (of or identity["trace"]):
            matrices.check_shapes([*left_side, *right_side])
        if matrices.plus(left_side, matrices.negative(right_side)):
            return f"the sides differ: {identity['left']:.60}"
    return ""
