"""Check of exported lines about matrices of every size, by the standard library alone.

A formula is a sum of words of letters with coefficients; a letter has rows, columns and a trait. A
proof says that a difference of two sides is a sum of ``c C^T C``, ``c C^T H C`` for hypotheses or
traits ``0 <= H``, and ``left E right`` for hypotheses ``E = 0``; under a trace where the line is
about numbers. Two rules add equations: what is in an order is symmetric, and an inverse of a square
matrix on one side is one on both. A witness gives small matrices of fractions: what is given holds
there, and the line fails. ``check.py`` calls it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise, product
from types import ModuleType
from typing import Any

FORMAT = "swingby matrices 1"
KEYS = {"format", "id", "line", "letters", "scalars", "given", "says"}
TRAITS = ("", "symmetric", "semidefinite", "definite", "orthogonal", "invertible")
SIGNS = ("real", "nonnegative", "positive", "integer", "nonnegative integer", "positive integer")
#: Higher powers of matrices, longer sums and larger witnesses are refused.
MOST_POWER, MOST_WORDS, MOST_SIZE = 9, 4000, 6
#: Letters of the vectors that a block matrix is multiplied by.
PROBES = ("top_probe", "bottom_probe")

#: No letter is called as the identity is.
_NAME = re.compile(
    r"(?!(?:exp|log|sqrt|Abs|Max|Min|trace|block|I)\b(?!'))[^\W\d]\w*'*(\([\w+]+\))?", re.ASCII
)
_SIZE = re.compile(r"[1-9]\d*|[^\W\d]\w*'*", re.ASCII)
_SIDES = re.compile(r"(.+) (<=|<|=|!=) (.+)", re.DOTALL)
_BLOCK = re.compile(r"block\(([^,]+), ([^,]+), ([^,]+), ([^,]+)\)")

Word = tuple[str, ...]
#: A word to its coefficient, a sum of products; a number stands before the empty word, and the
#: identity is a letter of its own, ``I:`` with its size.
Words = dict[Word, Any]
Rows = list[list[Fraction]]


class WordAlgebra:
    """Sums of words of matrices, read up to the traits of the letters.

    `letters`: of each its rows, columns and trait. `scalars`: the sign of each number.
    """

    def __init__(self, letters: Any, scalars: dict[str, str], proofs: ModuleType) -> None:
        self.proofs, self.scalars, self.traits = proofs, scalars, dict[str, str]()
        self.shapes: dict[str, tuple[str, str]] = {}
        self.flips: dict[str, str] = {}
        #: Letters side by side that are the identity; roots of letters.
        self.cancel: set[tuple[str, str]] = set()
        self.roots: dict[str, str] = {}
        #: Words behind the letters for their traces.
        self.traced: dict[str, Word] = {}
        for name, (rows, columns, trait) in letters.items():
            self._declare(name, rows, columns, trait)
        sizes = {size for shape in self.shapes.values() for size in shape if not size.isdigit()}
        if (sizes | scalars.keys() | {"I"}) & letters.keys() or "I" in scalars:
            raise ValueError("a letter stands for two things")
        self.scalars = scalars | dict.fromkeys(sizes, "positive integer")

    def _declare(self, name: str, rows: str, columns: str, trait: str) -> None:
        if not (_NAME.fullmatch(name) and _SIZE.fullmatch(rows) and _SIZE.fullmatch(columns)):
            raise ValueError(f"{name!r:.40} is no letter with a shape")
        if trait not in TRAITS or (trait and rows != columns):
            raise ValueError(f"{name} cannot be {trait!r:.40}")
        flip, inverse = f"{name}^T", f"{name}^-1"
        self.traits[name] = trait
        if trait in ("symmetric", "semidefinite", "definite"):
            flip = name
        self._pair(name, flip, rows, columns)
        if trait == "orthogonal":
            self.cancel |= {(name, flip), (flip, name)}
        if trait in ("definite", "invertible"):
            flat = inverse if flip == name else f"{name}^-T"
            self._pair(inverse, flat, rows, columns)
            self.cancel |= {(name, inverse), (inverse, name), (flip, flat), (flat, flip)}
        if trait in ("semidefinite", "definite"):
            self._pair(f"{name}^(1/2)", f"{name}^(1/2)", rows, columns)
            self.roots[f"{name}^(1/2)"] = name

    def _pair(self, name: str, flip: str, rows: str, columns: str) -> None:
        self.flips |= {name: flip, flip: name}
        self.shapes |= {flip: (columns, rows), name: (rows, columns)}

    @property
    def values(self) -> dict[str, Words]:
        """What the letters of a formula stand for."""
        numbers: dict[str, Words] = {name: {(): self.proofs.letter(name)} for name in self.scalars}
        matrices: dict[str, Words] = {name: self._term((name,)) for name in self.shapes}
        sizes = {size for shape in self.shapes.values() for size in shape}
        units: dict[str, Words] = {f"I({size})": self._term((f"I:{size}",)) for size in sizes}
        unsized: dict[str, Words] = {"I": {("I:",): self.proofs.ONE}}
        return unsized | units | numbers | matrices

    def shape(self, letter: str) -> tuple[str, str]:
        """Rows and columns of a letter, or of the identity."""
        return (letter[2:],) * 2 if letter.startswith("I:") else self.shapes[letter]

    def _term(self, word: Word) -> Words:
        """A word in its normal form: what is a number in it stands before it."""
        joined, size = list[str](), ""
        for first, second in pairwise(word):
            columns, rows = self.shape(first)[1], self.shape(second)[0]
            if "" not in (columns, rows) and columns != rows:
                raise ValueError(f"{first} {second}: the shapes do not fit")
        for letter in word:
            size = size or self.shape(letter)[0]
            if not letter.startswith("I:"):
                self._push(joined, letter)
        if not joined:
            if not word or size == "1":
                return {(): self.proofs.ONE}
            return {(f"I:{size}",): self.proofs.ONE}
        dims = [self.shape(joined[0])[0], *(self.shape(letter)[1] for letter in joined)]
        cuts = [place for place, dim in enumerate(dims) if dim == "1"]
        factor = self.proofs.ONE
        for start, end in pairwise(cuts):
            segment = self._trace_letter(tuple(joined[start:end]))
            factor = self.proofs.times(factor, segment)
        if len(cuts) > 1:
            joined = joined[: cuts[0]] + joined[cuts[-1] :]
        return {tuple(joined): factor}

    def _push(self, joined: list[str], letter: str) -> None:
        """One letter more at the end of a word."""
        before = joined[-1] if joined else ""
        of = self.roots.get(before, "")
        if (before, letter) in self.cancel:
            joined.pop()
        elif of and before == letter:
            joined.pop()
            self._push(joined, of)
        elif of and letter in (of, f"{of}^-1"):  # a root commutes with what it is a root of
            joined.pop()
            self._push(joined, letter)
            self._push(joined, before)
        else:
            joined.append(letter)

    def flipped(self, word: Word) -> Word:
        """The letters of the transpose."""
        return tuple(x if x.startswith("I:") else self.flips[x] for x in reversed(word))

    def rotations(self, word: Word) -> Iterator[Word]:
        """The words with the same trace."""
        for reading in (word, self.flipped(word)):
            yield from (reading[at:] + reading[:at] for at in range(len(reading)))

    def _trace_letter(self, word: Word) -> Any:
        """The trace of a square word that is not cut at a number, as a sum."""
        readings = list(self.rotations(word))
        for reading in readings:
            short = list[str]()
            for letter in reading:
                self._push(short, letter)
            if len(short) < len(word):
                return self.trace_of(tuple(short) or (f"I:{self.shape(word[0])[0]}",))
        least = min(readings)
        name = f"trace({'*'.join(least)})"
        self.traced[name] = least
        return self.proofs.letter(name)

    def trace_of(self, word: Word) -> Any:
        """The trace of a word, as a sum of products."""
        if not word:
            return self.proofs.ONE
        rows, columns = self.shape(word[0])[0], self.shape(word[-1])[1]
        if rows != columns or not rows:
            raise ValueError(f"{' '.join(word)}: no trace, as its size is not known or not square")
        if word[0].startswith("I:"):
            return {(): Fraction(rows)} if rows.isdigit() else self.proofs.letter(rows)
        for at, letter in enumerate(word):
            if self.shape(letter)[0] == "1":
                ((_, factor),) = self._term(word[at:] + word[:at]).items()
                return factor
        return self._trace_letter(word)

    # The arithmetic of formulas.

    def words(self, x: Any) -> Words:
        """A number as it stands before the empty word."""
        return x if isinstance(x, dict) else {(): {(): Fraction(x)}} if x else {}

    def plus(self, x: Any, y: Any) -> Words:
        """The sum; an identity whose size is now known has it."""
        total = dict(self.words(x))
        for word, value in self.words(y).items():
            total[word] = self.proofs.add(total.get(word, {}), value)
        return self._settled({word: value for word, value in total.items() if value})

    def _settled(self, x: Words) -> Words:
        if len(x) > MOST_WORDS:
            raise ValueError("a sum of words is too long")
        shapes = {(self.shape(w[0])[0], self.shape(w[-1])[1]) if w else ("1", "1") for w in x}
        if len(known := shapes - {("", "")}) > 1:
            raise ValueError("the shapes of a sum do not fit")
        if ("I:",) in x and known:
            ((rows, columns),) = known
            if rows != columns:
                raise ValueError("an identity that is not square")
            rest = {word: value for word, value in x.items() if word != ("I:",)}
            word = () if rows == "1" else (f"I:{rows}",)
            rest[word] = self.proofs.add(rest.get(word, {}), x["I:",])
            return {word: value for word, value in rest.items() if value}
        return x

    def negative(self, x: Any) -> Words:
        """-x."""
        return self.times(x, Fraction(-1))

    def times(self, x: Any, y: Any) -> Words:
        """The product."""
        total: Words = {}
        for (left, value), (right, factor) in product(self.words(x).items(), self.words(y).items()):
            scale = self.proofs.times(value, factor)
            for word, number in self._term(left + right).items():
                more = self.proofs.times(scale, number)
                total[word] = self.proofs.add(total.get(word, {}), more)
        return self._settled({word: value for word, value in total.items() if value})

    def inverse(self, x: Any) -> Words:
        """One over a product of positive numbers."""
        ((word, value),) = self.words(x).items()
        ((powers, factor),) = value.items()
        if word or any("positive" not in self.scalars.get(name, "") for name, _ in powers):
            raise ValueError("a division by what may be 0, or by a matrix")
        return {(): {tuple((name, -power) for name, power in powers): 1 / factor}}

    def power(self, x: Any, y: Any) -> Words:
        """A small whole power."""
        if not isinstance(y, Fraction) or y.denominator != 1 or not 0 < abs(y) <= MOST_POWER:
            raise ValueError("a power that is not small and whole")
        base, raised = self.words(x) if y > 0 else self.inverse(x), self.words(Fraction(1))
        for _ in range(abs(int(y))):
            raised = self.times(raised, base)
        return raised

    def trace(self, x: Any) -> Words:
        """The trace, a number."""
        total: Any = {}
        for word, value in self.words(x).items():
            total = self.proofs.add(total, self.proofs.times(value, self.trace_of(word)))
        return {(): total} if total else {}

    def transposed(self, x: Any) -> Words:
        """The transpose."""
        total: Words = {}
        for word, value in self.words(x).items():
            ((flipped, factor),) = self._term(self.flipped(word)).items()
            total = self.plus(total, {flipped: self.proofs.times(value, factor)})
        return total

    def turned(self, equation: Words) -> Iterator[Words]:
        """Of P Q = c I, with P and Q square and a number c that is not 0, each Q P = c I."""
        units = {word: c for word, c in equation.items() if word and word[0].startswith("I:")}
        products = equation.keys() - units.keys()
        if () in equation or not (len(units) == len(products) == 1):
            return
        ((unit, c),), (word,) = units.items(), products
        number: Words = {(): c}
        if not any(self.is_nonnegative(x, True) for x in (number, self.negative(number))):
            return
        for cut in range(1, len(word)):
            if self.shape(word[cut])[0] == self.shape(word[0])[0]:
                flat = self.times({word[cut:]: equation[word]}, {word[:cut]: self.proofs.ONE})
                yield self.plus(flat, {unit: c})

    def is_number(self, x: Words) -> bool:
        """Whether there are no words but the empty one."""
        return x.keys() <= {()}

    def is_nonnegative(self, x: Words, strictly: bool = False) -> bool:
        """Whether a number is never negative, term by term; whether it is positive for sure."""
        if not x or not self.is_number(x):
            return False
        signs = []
        for powers, value in x[()].items():
            letters = [(self.scalars.get(name, "real"), power) for name, power in powers]
            known = all("real" != sign != "integer" or power % 2 == 0 for sign, power in letters)
            signs.append((value > 0 and known, all("positive" in sign for sign, _ in letters)))
        return all(good for good, _ in signs) and (not strictly or any(sure for _, sure in signs))


class MatrixRelation:
    """A relation of a file: its sign, and the larger minus the smaller side, in blocks."""

    def __init__(self, text: str, algebra: WordAlgebra, formula: Any) -> None:
        match = _SIDES.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r:.60} is no relation")
        small, self.sign, large = match.groups()
        block = _BLOCK.fullmatch(large)
        if block and (small != "0" or self.sign not in ("<=", "<")):
            raise ValueError("a block matrix is compared with 0 alone")
        values = algebra.values

        def read(side: str) -> Words:
            return algebra.plus(algebra.words(formula(side, values, algebra)), {})

        if block:
            a, b, c, d = (read(side) for side in block.groups())
            readings = ((a, 0), (a, 1), (b, 0), (c, 1)), ((d, 0), (d, 1), (b, 1), (c, 0))
            self.sizes = [_size(algebra, entries) for entries in readings]
            first, last = ({(f"I:{size}",): algebra.proofs.ONE} for size in self.sizes)
            corners = ((first, a, first), (first, b, last), (last, c, first), (last, d, last))
            a, b, c, d = (algebra.times(algebra.times(p, x), q) for p, x, q in corners)
            self.blocks = [[a, b], [c, d]]
        else:
            self.blocks = [[algebra.plus(read(large), algebra.negative(read(small)))]]

    @property
    def words(self) -> Words:
        """The difference of two sides that are no blocks."""
        ((words,),) = self.blocks
        return words


def _size(algebra: WordAlgebra, entries: Iterable[tuple[Words, int]]) -> str:
    """The size of a row of blocks, as one of its entries has it."""
    for words, end in entries:
        for word in words:
            if size := algebra.shape(word[-end])[end] if word else "1":
                return size
    raise ValueError("the size of a block is not known")


class MatrixFile:
    """What a file declares and takes for granted: equations, facts, and numbers that are facts."""

    def __init__(self, content: Any, formula: Any, proofs: ModuleType) -> None:
        letters, scalars = dict(content["letters"]), content["scalars"]
        if not set(scalars.values()) <= set(SIGNS) or not all(map(_NAME.fullmatch, scalars)):
            raise ValueError("a number with no sign that is known")
        self.formula, self.plain = formula, WordAlgebra(letters, scalars, proofs)
        self.given = [MatrixRelation(text, self.plain, formula) for text in content["given"]]
        self.says = [MatrixRelation(text, self.plain, formula) for text in content["says"]]
        self.algebra = self.plain
        #: A block matrix is not negative if it is not between any two vectors.
        blocks = [x.sizes for x in self.says if len(x.blocks) == 2]
        if blocks:
            if any(sizes != blocks[0] for sizes in blocks):
                raise ValueError("block matrices of two shapes")
            if set(PROBES) & (letters.keys() | scalars.keys()):
                raise ValueError(f"{PROBES[0]} and {PROBES[1]} are no letters of a line")
            probes = zip(PROBES, blocks[0], strict=True)
            letters |= {name: [size, "1", ""] for name, size in probes}
            self.algebra = WordAlgebra(letters, scalars, proofs)
        self.equations = [x.words for x in self.given if x.sign == "="]
        #: By place, why an equation follows from what is given.
        self.reasons: dict[int, str] = {}
        for equation in list(self.equations):
            for turned in self.algebra.turned(equation):
                self._add(turned, "an inverse of a square matrix on one side is on both")
        facts = [(x.blocks, x.sign == "<") for x in self.given if x.sign in ("<=", "<")]
        for name, trait in self.algebra.traits.items():
            if trait in ("semidefinite", "definite"):
                facts.append(([[self.algebra.values[name]]], trait == "definite"))
        self.facts = facts
        for (words,) in (blocks[0] for blocks, _ in facts if len(blocks) == 1):
            flat = self.algebra.transposed(words)
            if skew := self.algebra.plus(words, self.algebra.negative(flat)):
                self._add(skew, "what is in an order is symmetric")

    def _add(self, equation: Words, reason: str) -> None:
        self.reasons[len(self.equations)] = reason
        self.equations.append(equation)

    def goal(self, relation: MatrixRelation) -> Words:
        """What a line says is 0, or not negative."""
        if len(relation.blocks) == 1:
            return relation.words
        algebra, total = self.algebra, Words()
        (a, b), (c, d) = relation.blocks
        if any(algebra.plus(algebra.transposed(x), algebra.negative(y)) for x, y in
               ((a, a), (b, c), (d, d))):  # fmt: skip
            raise ValueError("the block matrix is not symmetric")
        probes = [algebra.values[name] for name in PROBES]
        for (p, row), (q, entry) in product(
            zip(probes, relation.blocks, strict=True), zip(probes, range(2), strict=True)
        ):
            total = algebra.plus(total, self.conjugated(row[entry], p, q))
        return total

    def conjugated(self, x: Words, p: Words, q: Words) -> Words:
        """p^T x q."""
        return self.algebra.times(self.algebra.times(self.algebra.transposed(p), x), q)

    def read(self, text: str) -> Words:
        """A formula of a certificate."""
        return self.algebra.words(self.formula(text, self.algebra.values, self.algebra))

    def fact(self, index: int, sides: list[Words]) -> Words:
        """C^T H C for a fact H, in blocks."""
        blocks, total = self.facts[_index(index)][0], Words()
        for (p, row), (q, at) in product(
            zip(sides, blocks, strict=True), zip(sides, range(len(blocks)), strict=True)
        ):
            total = self.algebra.plus(total, self.conjugated(row[at], p, q))
        return total

    def coefficient(self, text: str, indices: Iterable[int], strictly: bool) -> Words:
        """A number that is not negative, times facts that are numbers."""
        value = self.read(text)
        if not self.algebra.is_nonnegative(value, strictly):
            raise ValueError(f"{text:.60} may be negative, or is 0")
        for index in indices:
            ((fact,),), strict = self.facts[_index(index)]
            if not self.algebra.is_number(fact) or (strictly and not strict):
                raise ValueError("a factor that is no number of that sign")
            value = self.algebra.times(value, fact)
        return value

    def is_sure(self, index: int, sides: list[Words]) -> bool:
        """Whether C^T H C is definite: H is, and C is a product that is invertible."""
        return self.facts[index][1] and len(sides) == 1 and self.is_unit(sides[0])

    def is_unit(self, x: Words) -> bool:
        """Whether a sum of words is a positive number times a product of invertible letters."""
        if len(x) != 1:
            return False
        ((word, value),) = x.items()
        unit = all(letter.startswith("I:") or self._is_invertible(letter) for letter in word)
        return unit and self.algebra.is_nonnegative({(): value}, strictly=True)

    def _is_invertible(self, letter: str) -> bool:
        base = re.sub(r"\^(T|-1|-T)$", "", letter)
        return self.algebra.traits.get(base, "") in ("definite", "orthogonal", "invertible")

    def judge(self, relation: MatrixRelation, certificate: Any) -> str:
        """Why a certificate does not prove a line; nothing if it does."""
        if certificate.keys() != {"squares", "facts", "zeros"} or relation.sign == "!=":
            raise ValueError("the keys are not those of a certificate")
        algebra, goal = self.algebra, self.goal(relation)
        number = algebra.is_number(goal)
        strict = relation.sign == "<"
        if relation.sign == "=" and (certificate["squares"] or certificate["facts"]):
            return "an equation is no sum of squares"
        total, sure = Words(), False

        def joined(more: Words) -> None:
            nonlocal total
            total = algebra.plus(total, algebra.trace(more) if number else more)

        for text, indices, side in certificate["squares"]:
            value, C = self.coefficient(text, indices, strictly=False), self.read(side)
            if strict and self.is_unit(C):
                sure = sure or self._is_strict(text, indices)
            joined(algebra.times(value, algebra.times(algebra.transposed(C), C)))
        for text, indices, index, sides in certificate["facts"]:
            value, read = (
                self.coefficient(text, indices, strictly=False),
                list(map(self.read, sides)),
            )
            if strict and self.is_sure(index, read):
                sure = sure or self._is_strict(text, indices)
            joined(algebra.times(value, self.fact(index, read)))
        for index, flip, left_text, right_text in certificate["zeros"]:
            zero = self.equations[_index(index)]
            if type(flip) is not bool:
                raise ValueError("transposed is true or false")
            zero = algebra.transposed(zero) if flip else zero
            joined(algebra.times(algebra.times(self.read(left_text), zero), self.read(right_text)))
        if algebra.plus(goal, algebra.negative(total)):
            return "the difference of the sides is not the sum of the certificate"
        return "" if sure or not strict else "nothing in the sum is positive for sure"

    def _is_strict(self, text: str, indices: Iterable[int]) -> bool:
        try:
            return bool(self.coefficient(text, indices, strictly=True))
        except ValueError:
            return False


def _index(index: Any) -> int:
    if type(index) is not int or index < 0:
        raise ValueError(f"{index!r:.40} is no place in a list")
    return index


def judge(content: Any, formula: Any, proofs: ModuleType) -> str:
    """Why a file is rejected; nothing if it is accepted."""
    extra = content.keys() - KEYS
    if not content.keys() >= KEYS or extra not in ({"proof"}, {"sizes", "values"}):
        raise ValueError(f"the keys are not those of {FORMAT}")
    if not content["says"]:
        raise ValueError("the file says nothing")
    file = MatrixFile(content, formula, proofs)
    if "values" in extra:
        return _judge_values(file, content)
    for relation, certificate in zip(file.says, content["proof"], strict=True):
        if reason := file.judge(relation, certificate):
            return reason
    return ""


class Point:
    """Matrices of fractions: what the letters of a witness are."""

    def __init__(self, algebra: WordAlgebra, sizes: Any, values: Any) -> None:
        self.algebra, self.sizes = algebra, {str(size): size for size in range(1, MOST_SIZE + 1)}
        for name, size in sizes.items():
            if type(size) is not int or not 1 <= size <= MOST_SIZE or name.isdigit():
                raise ValueError(f"{name} is no small size")
            self.sizes[name] = size
        self.numbers = {name: Fraction(size) for name, size in sizes.items()}
        self.matrices: dict[str, Rows] = {}
        wanted = {name for name in algebra.scalars if name not in sizes} | algebra.traits.keys()
        if values.keys() != wanted:
            raise ValueError("the values are not those of the letters")
        for name, value in values.items():
            if name in algebra.traits:
                self._matrix(name, [[_fraction(entry) for entry in row] for row in value])
            else:
                self._number(name, _fraction(value))

    def _number(self, name: str, value: Fraction) -> None:
        sign = self.algebra.scalars[name]
        whole = "integer" not in sign or value.denominator == 1
        low = 0 if "nonnegative" in sign or "positive" in sign else None
        if not whole or (low is not None and (value < 0 or ("positive" in sign and value == 0))):
            raise ValueError(f"{name} is not {sign}")
        self.numbers[name] = value

    def _matrix(self, name: str, rows: Rows) -> None:
        height, width = (self.sizes[size] for size in self.algebra.shapes[name])
        if len(rows) != height or any(len(row) != width for row in rows):
            raise ValueError(f"{name} has another shape")
        trait, flat = self.algebra.traits[name], transposed(rows)
        symmetric = trait in ("symmetric", "semidefinite", "definite")
        definite = trait not in ("semidefinite", "definite") or is_semidefinite(
            rows, strictly=trait == "definite"
        )
        unit = trait != "orthogonal" or multiplied(flat, rows) == identity(height)
        if (symmetric and flat != rows) or not definite or not unit:
            raise ValueError(f"{name} is not {trait}")
        self.matrices |= {self.algebra.flips[name]: flat, name: rows}
        if trait in ("definite", "invertible"):
            inverted = inverse(rows)
            self.matrices[self.algebra.flips[f"{name}^-1"]] = transposed(inverted)
            self.matrices[f"{name}^-1"] = inverted

    def number(self, value: Any) -> Fraction:
        """A sum of products of numbers and traces."""
        total = Fraction(0)
        for powers, factor in value.items():
            for name, power in powers:
                base = self.numbers[name] if name in self.numbers else self._trace(name)
                factor *= base ** int(power)
            total += factor
        return total

    def _trace(self, name: str) -> Fraction:
        rows = self._word(self.algebra.traced[name])
        return sum((row[at] for at, row in enumerate(rows)), Fraction(0))

    def _word(self, word: Word) -> Rows:
        rows = self._letter(word[0])
        for letter in word[1:]:
            rows = multiplied(rows, self._letter(letter))
        return rows

    def _letter(self, letter: str) -> Rows:
        return identity(self.sizes[letter[2:]]) if letter[:2] == "I:" else self.matrices[letter]

    def rows(self, x: Words, shape: tuple[int, int]) -> Rows:
        """The matrix of a sum of words; a number is a matrix of one entry."""
        total = [[Fraction(0)] * shape[1] for _ in range(shape[0])]
        for word, value in x.items():
            factor, entries = self.number(value), self._word(word) if word else [[Fraction(1)]]
            total = [
                [a + factor * b for a, b in zip(*both, strict=True)]
                for both in zip(total, entries, strict=True)
            ]
        return total

    def shape(self, x: Words) -> tuple[int, int]:
        """Rows and columns of a sum of words."""
        word = next(iter(x), ())
        if word == ("I:",):
            return 1, 1
        ends = [self.algebra.shape(word[0])[0], self.algebra.shape(word[-1])[1]] if word else "11"
        return self.sizes[ends[0]], self.sizes[ends[1]]

    def holds(self, relation: MatrixRelation) -> bool:
        """Whether a relation holds here."""
        blocks = relation.blocks
        if len(blocks) == 1:
            rows = self.rows(relation.words, self.shape(relation.words))
        else:
            sizes = [self.sizes[size] for size in relation.sizes]
            rows = [
                [*left, *right]
                for row, size in zip(blocks, sizes, strict=True)
                for left, right in zip(
                    *(self.rows(x, (size, width)) for x, width in zip(row, sizes, strict=True)),
                    strict=True,
                )
            ]
        nought = not any(map(any, rows))
        if relation.sign in ("=", "!="):
            return nought is (relation.sign == "=")
        if relation.sign == "<=" and nought:
            return True
        return transposed(rows) == rows and is_semidefinite(rows, strictly=relation.sign == "<")


def _judge_values(file: MatrixFile, content: Any) -> str:
    point = Point(file.plain, content["sizes"], content["values"])
    for relation, text in zip(file.given, content["given"], strict=True):
        if not point.holds(relation):
            return f"not given: {text}"
    return "the line holds there" if all(map(point.holds, file.says)) else ""


def _fraction(text: str) -> Fraction:
    if not re.fullmatch(r"-?\d{1,99}(/\d{1,99})?", text):
        raise ValueError(f"{text!r:.40} is no fraction")
    return Fraction(text)


def identity(size: int) -> Rows:
    """The identity matrix."""
    return [[Fraction(p == q) for q in range(size)] for p in range(size)]


def transposed(rows: Rows) -> Rows:
    """The transpose."""
    return [list(column) for column in zip(*rows, strict=True)]


def multiplied(left: Rows, right: Rows) -> Rows:
    """The product."""
    columns = transposed(right)
    if any(len(row) != len(right) for row in left):
        raise ValueError("the shapes do not fit")
    return [[sum(map(Fraction.__mul__, row, c), Fraction(0)) for c in columns] for row in left]


def inverse(rows: Rows) -> Rows:
    """The inverse, by elimination; ValueError without."""
    size = len(rows)
    work = [[*row, *unit] for row, unit in zip(rows, identity(size), strict=True)]
    for at in range(size):
        pivot = next((p for p in range(at, size) if work[p][at]), None)
        if pivot is None:
            raise ValueError("a matrix without an inverse")
        work[at], work[pivot] = work[pivot], work[at]
        work[at] = [x / work[at][at] for x in work[at]]
        for p in range(size):
            if p != at:
                work[p] = [x - work[p][at] * y for x, y in zip(work[p], work[at], strict=True)]
    return [row[size:] for row in work]


def is_semidefinite(rows: Rows, *, strictly: bool = False) -> bool:
    """Whether a symmetric matrix has no negative eigenvalue; whether all are positive."""
    work = [list(row) for row in rows]
    while work:
        (pivot, *row), *rest = work
        if pivot < 0 or (pivot == 0 and (strictly or any(row))):
            return False
        ratios = [x / pivot if pivot else Fraction(0) for x in row]
        work = [
            [x - ratio * y for x, y in zip(line[1:], row, strict=True)]
            for line, ratio in zip(rest, ratios, strict=True)
        ]
    return True
