"""Certificates for lines about matrices of every size: sums of squares, facts and equations.

What is sought is ``goal = sum c C^T C + sum c C^T H C + sum left E right``, of words. Products of
an equation E are made where one of its words stands in a word already met; the coefficients of the
squares come from a linear program, whose dual says which C is worth a new column, and are solved
for exactly. ``check_matrix.py`` decides.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from swingby.proofs.checkers.check_matrix import MatrixFile, MatrixRelation, Word, Words
from swingby.proofs.prover.scalar.positivity_certificate import solutions
from swingby.theory.search_time import clock_seconds_left, seconds_left

#: A word and the numbers before it: powers of letters.
Key = tuple[Word, Any]
#: A sum of words with one coefficient each.
Form = dict[Key, Fraction]
#: Products of equations, letters of a word beyond those of the line, entries of a Gram matrix,
#: rounds of new columns, and roundings of an eigenvector.
_MOST_PRODUCTS, _LONGER, _MOST_BASIS, _MOST_ROUNDS = 1200, 2, 40, 12
#: Of each: words alone; sums of words; with powers of numbers; with more factors.
_STAGES = 4
_ROUNDINGS = (1, 2, 3, 4, 6, 12)
_TINY = 1e-8


@dataclass(frozen=True)
class WordColumn:
    """A term of a certificate and what it adds; `sign`: its coefficient is not negative.

    `entry`: the kind of the term and its parts, as a certificate has them. `sure`: it is positive.
    """

    kind: str
    entry: tuple[Any, ...]
    form: Form
    sure: bool = False

    def weighed(self, weight: Fraction) -> list[Any]:
        """The term of a certificate with its coefficient."""
        if self.kind == "zeros":
            index, flip, left, right = self.entry
            return [index, flip, _scaled(weight, left), right]
        text, *rest = self.entry
        return [_scaled(weight, text), *rest]


@dataclass(frozen=True)
class WordGram:
    """A fact, or the identity for squares, and a basis: what stands for C is a sum of its words.

    `table`: the form of p^T H q for every two words of the basis.
    """

    text: str
    indices: tuple[int, ...]
    fact: int | None
    basis: list[tuple[str, ...]]
    table: list[list[Form]]
    sure: list[bool]

    def column(self, weights: Sequence[Fraction]) -> WordColumn:
        """The column of a sum of words of the basis."""
        form: Form = {}
        used = [at for at, weight in enumerate(weights) if weight]
        for p, q in itertools.product(used, repeat=2):
            for key, value in self.table[p][q].items():
                form[key] = form.get(key, Fraction(0)) + weights[p] * weights[q] * value
        sides = []
        for texts in zip(*(self.basis[at] for at in used), strict=True):
            terms = [
                _scaled(weights[at], text)
                for at, text in zip(used, texts, strict=True)
                if text != "0"
            ]
            sides.append(" + ".join(terms) or "0")
        form = {key: value for key, value in form.items() if value}
        sure = len(used) == 1 and self.sure[used[0]]
        if self.fact is None:
            return WordColumn("squares", (self.text, [*self.indices], sides[0]), form, sure)
        return WordColumn("facts", (self.text, [*self.indices], self.fact, sides), form, sure)


class WordSearch:
    """The search for a certificate of one line of a file."""

    def __init__(self, file: MatrixFile, relation: MatrixRelation) -> None:
        self.file, self.algebra, self.relation = file, file.algebra, relation
        self.goal = file.goal(relation)
        self.number = self.algebra.is_number(self.goal)
        sums = [
            self.goal,
            *file.equations,
            *(x for blocks, _ in file.facts for r in blocks for x in r),
        ]
        self.longest = _LONGER + max(
            (len(word) for words in sums for word, _ in self.places(words)), default=0
        )
        self.strict = relation.sign == "<"

    def form(self, words: Words) -> Form:
        """A sum of words as numbers; under the trace where the line is about numbers."""
        words = self.algebra.trace(words) if self.number else words
        return {
            (word, powers): value
            for word, total in words.items()
            for powers, value in total.items()
        }

    def places(self, words: Words) -> Iterator[tuple[Word, Any]]:
        """Words that stand in a sum, those in traces too, and what is before them."""
        for word, total in words.items():
            for powers in total:
                if word:
                    yield word, powers
                for name, _ in powers:
                    if name in self.algebra.traced:
                        yield self.algebra.traced[name], _divided(powers, ((name, Fraction(1)),))

    def sought(self) -> dict[str, Any] | None:
        """A certificate; None if the search has none."""
        target = self.form(self.goal)
        equation = self.relation.sign == "="
        for insert in (False, True) if self.file.equations else (False,):
            products = self.products(target, insert)
            columns: list[WordColumn] = []
            for more in products:
                columns += more
                if equation and (certificate := self.exact(target, columns, [])):
                    return certificate
            if equation and not target:
                return self.certificate([])
            for stage in range(_STAGES) if not equation else ():
                certificate = self.positive(target, columns, stage, insert)
                if certificate is not None:
                    return certificate
        return None

    # Products of equations.

    def products(self, target: Form, insert: bool) -> Iterator[list[WordColumn]]:
        """Products of equations with a word of the target, round by round."""
        met: dict[Key, None] = dict.fromkeys(target)
        fresh, made, count = list(target), set[Any](), 0
        while fresh and count < _MOST_PRODUCTS and seconds_left(60.0) > 1:
            columns = []
            for key in fresh:
                for entry in self.matches(key, insert):
                    if entry in made or count >= _MOST_PRODUCTS:
                        continue
                    made.add(entry)
                    form = self.form(self.product(*entry))
                    if form and max(len(word) for word in self.words_of(form)) <= self.longest:
                        columns.append(WordColumn("zeros", entry, form))
                        count += 1
            fresh = list(dict.fromkeys(x for c in columns for x in c.form if x not in met))
            met |= dict.fromkeys(fresh)
            if columns:
                yield columns

    def words_of(self, form: Form) -> Iterator[Word]:
        """Words of a form, those of its traces too."""
        for word, powers in form:
            yield word
            yield from (self.algebra.traced[x] for x, _ in powers if x in self.algebra.traced)

    def product(self, index: int, flip: bool, left: str, right: str) -> Words:
        """The product of an equation E: left E right."""
        zero = self.file.equations[index]
        zero = self.algebra.transposed(zero) if flip else zero
        first, last = self.file.read(left), self.file.read(right)
        return self.algebra.times(self.algebra.times(first, zero), last)

    def matches(self, key: Key, insert: bool) -> Iterator[tuple[int, bool, str, str]]:
        """What an equation is multiplied by for one of its words to be one of a form."""
        word, powers = key
        readings: list[tuple[Word, Any, bool]] = [(word, powers, False)]
        for name, _ in powers if self.number else ():
            if name in self.algebra.traced:
                rest = _divided(powers, ((name, Fraction(1)),))
                turns = self.algebra.rotations(self.algebra.traced[name])
                readings += [(turn, rest, True) for turn in turns]
        for index, zero in enumerate(self.file.equations):
            flipped = self.algebra.transposed(zero)
            for flip, equation in ((False, zero), (True, flipped))[: 2 if flipped != zero else 1]:
                for part, total in equation.items():
                    for before in total:
                        for reading, rest, turned in readings:
                            factor = _divided(rest, before)
                            if not self.is_number_factor(factor):
                                continue
                            for short, before_it, behind in self.shortened(part):
                                for left, right in self.around(reading, short, turned, insert):
                                    first = _text((*left, *before_it), factor)
                                    yield index, flip, first, _text((*behind, *right))

    def shortened(self, part: Word) -> Iterator[tuple[Word, Word, Word]]:
        """A word, and what is left of it behind an inverse of its first letter or its last."""
        yield part, (), ()
        for first, second in self.algebra.cancel if len(part) > 1 else ():
            if second == part[0]:
                yield part[1:], (first,), ()
            if first == part[-1]:
                yield part[:-1], (), (second,)

    def is_number_factor(self, powers: Any) -> bool:
        """Whether a product of powers may stand before an equation."""
        return all(
            power > 0 or "positive" in self.algebra.scalars.get(name, "") for name, power in powers
        )

    def around(
        self, reading: Word, part: Word, turned: bool, insert: bool
    ) -> Iterator[tuple[Word, Word]]:
        """What stands before and behind a word in a longer one."""
        size = len(part)
        if part == ():
            yield reading, ()
        elif part[0].startswith("I:"):
            if reading and reading[0] == part[0]:
                yield (), ()
            ends = range(len(reading) + 1) if insert and len(reading) + 2 <= self.longest else ()
            for at in ends:
                sizes = [*(self.algebra.shape(x)[0] for x in reading), ""]
                sizes[-1] = self.algebra.shape(reading[-1])[1] if reading else ""
                if sizes[at] == part[0][2:] and not (reading and reading[0].startswith("I:")):
                    yield reading[:at], reading[at:]
        else:
            for at in range(len(reading) - size + 1) if not turned else (0,):
                if reading[at : at + size] == part:
                    yield reading[:at], reading[at + size :]

    # Squares and facts.

    def positive(
        self, target: Form, zeros: list[WordColumn], stage: int, insert: bool
    ) -> dict[str, Any] | None:
        """A certificate of an inequality; later stages have more words and more factors."""
        grams = list(self.grams(zeros, stage))
        columns = [column for gram in grams for column in self.first_columns(gram, stage > 0)]
        if stage and self.file.equations:  # what the squares add may need equations too
            extra = {key: Fraction(1) for column in columns for key in column.form}
            limit = itertools.islice(self.products(target | extra, insert), 3)
            zeros = [column for more in limit for column in more]
        columns = _useful(target, columns, zeros)
        for _ in range(_MOST_ROUNDS if stage else 1):
            if seconds_left(60.0) < 1:
                return None
            solved = _program(target, columns, zeros, self.strict)
            if solved is None:
                return None
            weights, missing, prices = solved
            if missing <= _TINY:
                support = [
                    column
                    for column, weight in zip([*columns, *zeros], weights, strict=True)
                    if abs(weight) > _TINY
                ]
                signed = [column for column in support if column.kind != "zeros"]
                free = [column for column in support if column.kind == "zeros"]
                if certificate := self.exact(target, free, signed):
                    return certificate
            new = [c for gram in grams for c in _priced(gram, prices)]
            known = {repr(column.entry) for column in columns}
            new = [column for column in new if repr(column.entry) not in known]
            new = _useful(target, [*columns, *new], zeros)[len(columns) :]
            if not new:
                return None
            columns += new
        return None

    def exact(
        self, target: Form, free: list[WordColumn], signed: list[WordColumn]
    ) -> dict[str, Any] | None:
        """A certificate of these columns, solved for exactly and judged by the checker."""
        columns, rest = [*signed, *free], dict(target)
        fixed = [column for column in signed if self.strict and column.sure][:1]
        for share in (Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 100)):
            if share and not fixed:
                break
            rest = dict(target)
            for key, value in fixed[0].form.items() if share else ():
                rest[key] = rest.get(key, Fraction(0)) - share * value
            rest = {key: value for key, value in rest.items() if value}
            solved = solutions(rest, [c.form for c in columns]) if columns and rest else None
            if solved is None and rest:
                continue
            weights = solved[0] if solved else [Fraction(0)] * len(columns)
            if any(weight < 0 for weight in weights[: len(signed)]):
                continue
            pairs = [(c, w) for c, w in zip(columns, weights, strict=True) if w]
            pairs += [(fixed[0], share)] if share else []
            certificate = self.certificate(pairs)
            if not self.file.judge(self.relation, certificate):
                return certificate
        return None

    def certificate(self, pairs: list[tuple[WordColumn, Fraction]]) -> dict[str, Any]:
        """The certificate of columns with their coefficients."""
        parts: dict[str, Any] = {"squares": [], "facts": [], "zeros": []}
        for column, weight in pairs:
            parts[column.kind].append(column.weighed(weight))
        return parts

    def first_columns(self, gram: WordGram, pairs: bool) -> Iterator[WordColumn]:
        """Words of a basis, and where asked sums and differences of two."""
        size = len(gram.basis)
        for p in range(size):
            yield gram.column([Fraction(at == p) for at in range(size)])
            for q, sign in itertools.product(range(p if pairs else 0), (1, -1)):
                if gram.table[p][q]:
                    yield gram.column(
                        [Fraction((at == p) + sign * (at == q)) for at in range(size)]
                    )

    def grams(self, zeros: list[WordColumn], stage: int) -> Iterator[WordGram]:
        """The squares and facts that a certificate may use."""
        chips = self.chips(zeros, stage)
        factors = list(self.factors(stage))
        algebra = self.algebra
        every: list[int | None] = [None, *range(len(self.file.facts))]
        for fact, (text, indices) in itertools.product(every, factors):
            blocks = [] if fact is None else self.file.facts[fact][0]
            if fact is not None and len(blocks) == 1 and algebra.is_number(blocks[0][0]):
                sizes = [""]
            else:
                sizes = [self.size_of(blocks, at) for at in range(len(blocks))] or [""]
            for group in chips.values():
                heights = list(dict.fromkeys(rows for rows, _ in group))
                for wanted in [[x] for x in heights] if sizes == [""] else [sizes]:
                    basis = [
                        tuple(chip if at == where else "0" for at in range(len(wanted)))
                        for where, size in enumerate(wanted)
                        for rows, chip in group
                        if size == rows
                    ][:_MOST_BASIS]
                    if basis:
                        yield self.gram(text, indices, fact, basis)

    def size_of(self, blocks: Any, at: int) -> str:
        """The size of a row of blocks of a fact."""
        for word in (w for x in blocks[at] for w in x if w):
            if size := self.algebra.shape(word[0])[0]:
                return size
        return "1"

    def gram(
        self, text: str, indices: tuple[int, ...], fact: int | None, basis: list[tuple[str, ...]]
    ) -> WordGram:
        """The forms of a basis around a fact."""
        file, algebra = self.file, self.algebra
        factor = file.coefficient(text, indices, strictly=False)
        strict = self.strict and self.is_strict(text, indices)
        read = [[file.read(side) for side in sides] for sides in basis]
        table: list[list[Form]] = [[{} for _ in basis] for _ in basis]
        blocks = [[algebra.words(Fraction(1))]] if fact is None else file.facts[fact][0]
        for p, q in itertools.product(range(len(basis)), repeat=2):
            total: Words = {}
            for (x, row), (y, at) in itertools.product(
                zip(read[p], blocks, strict=True), zip(read[q], range(len(blocks)), strict=True)
            ):
                if x and y and row[at]:
                    total = algebra.plus(total, file.conjugated(row[at], x, y))
            table[p][q] = self.form(
                algebra.times(total, factor) if text != "1" or indices else total
            )
        if fact is None:
            sure = [strict and file.is_unit(side) for (side,) in read]
        else:
            sure = [strict and file.is_sure(fact, sides) for sides in read]
        return WordGram(text, indices, fact, basis, table, sure)

    def is_strict(self, text: str, indices: tuple[int, ...]) -> bool:
        """Whether a factor is positive for sure."""
        try:
            return bool(self.file.coefficient(text, indices, strictly=True))
        except ValueError:
            return False

    def factors(self, stage: int) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Numbers that are not negative, and may stand before a square or a fact."""
        yield "1", ()
        numbers = [
            index
            for index, (blocks, _) in enumerate(self.file.facts)
            if len(blocks) == 1 and self.algebra.is_number(blocks[0][0])
        ]
        signed = [
            _text((), powers) for powers in dict.fromkeys(p for _, p in self.all_keys()) if powers
        ]
        if stage > 2:
            signed += [f"(1/{x})" for x, sign in self.algebra.scalars.items() if sign == "positive"]
        signed = [x for x in signed if self.algebra.is_nonnegative(self.file.read(x))]
        yield from ((x, ()) for x in signed)
        if stage:
            yield from (("1", (index,)) for index in numbers)
        if stage > 2:
            yield from itertools.product(signed, ((index,) for index in numbers))

    def all_keys(self) -> Iterator[Key]:
        """Keys of the goal, with the divisors of their numbers, traces left out."""
        for word, powers in self.form(self.goal):
            plain = [(x, power) for x, power in powers if x not in self.algebra.traced]
            ranges = [
                [Fraction(k) for k in range(int(min(power, 0)), int(max(power, 0)) + 1)]
                for _, power in plain
            ]
            for chosen in itertools.product(*ranges):
                pairs = zip(plain, chosen, strict=True)
                yield word, tuple((x, k) for (x, _), k in pairs if k)

    def chips(self, zeros: list[WordColumn], stage: int) -> dict[str, list[tuple[str, str]]]:
        """Ends of words, by their columns: rows and text of what C may be a sum of."""
        algebra = self.algebra
        sums = [self.goal]
        if stage or zeros:
            sums += self.file.equations
            sums += [
                x for blocks, _ in self.file.facts for row in blocks for x in row if stage and x
            ]
        ends: dict[tuple[Word, str], None] = {}
        numbers = [_text((), powers) for _, powers in self.all_keys()]
        numbers = list(dict.fromkeys(["1", *numbers])) if stage > 1 else ["1"]
        words = [word for each in sums for word, _ in self.places(each)]
        words += [word for column in zeros for word in self.words_of(column.form) if word]
        sides = list(dict.fromkeys(self.splits(dict.fromkeys(words), stage)))
        if self.number and stage:
            sides += [word for each in sums for word in self.outer(each) if word not in sides]
        if stage:
            sides += [(x,) for x, _ in sorted(algebra.cancel) if (x,) not in sides]
        inverses = [x for x, y in self.algebra.flips.items() if x.endswith("^-1") and x == y]
        sides += [
            (inverse, *word)
            for inverse, word in itertools.product(inverses if stage else (), sides)
            if word and word[0] + "^-1" != inverse
            and algebra.shape(word[0])[0] == algebra.shape(inverse)[1]
        ]  # fmt: skip
        for word, number in itertools.product(sides, sorted(numbers, key=len)):
            ends[word, number] = None
        grouped: dict[str, list[tuple[str, str]]] = {}
        wide = None if self.number else algebra.shape(next(iter(self.goal or {("I:",): 1}))[-1])[1]
        for word, number in ends:
            rows, columns = "1", "1"
            if word:
                rows, columns = algebra.shape(word[0])[0], algebra.shape(word[-1])[1]
            if wide in (None, columns):
                text = _text(word)
                text = text if number == "1" else f"{number}*{text}" if word else number
                grouped.setdefault(columns, []).append((rows, text))
        return grouped

    def splits(self, words: Iterable[Word], stage: int) -> Iterator[Word]:
        """Ends of words, and ends behind the root of a letter that they are split at."""
        algebra = self.algebra
        if self.number:
            yield ()
        for word in words:
            turns = [word, algebra.flipped(word)]
            if self.number and algebra.shape(word[0])[0] == algebra.shape(word[-1])[1]:
                turns = list(algebra.rotations(word))
                starts = [turn for turn in turns if algebra.shape(turn[0])[0] == "1"]
                turns = starts or turns
            for turn in turns:
                size = algebra.shape(turn[-1])[1]
                yield (f"I:{size}",) if size != "1" else ()
                for at in range(len(turn)):
                    yield turn[at:]
                    if stage and f"{turn[at]}^(1/2)" in algebra.roots:
                        yield (f"{turn[at]}^(1/2)", *turn[at + 1 :])

    def outer(self, words: Words) -> Iterator[Word]:
        """Outer products of vectors whose inner products are multiplied."""
        for total in words.values():
            for powers in total:
                traced = [self.algebra.traced[x] for x, _ in powers if x in self.algebra.traced]
                ends = [
                    turn[at:]
                    for word in traced
                    for turn in self.algebra.rotations(word)
                    if self.algebra.shape(turn[0])[0] == "1"
                    for at in range(1, len(turn))
                ]
                ends += [
                    (f"{end[0]}^(1/2)", *end[1:])
                    for end in ends
                    if f"{end[0]}^(1/2)" in self.algebra.roots
                ]
                for first, second in itertools.product(ends, repeat=2):
                    yield (*first, *self.algebra.flipped(second))


def _divided(powers: Any, by: Any) -> Any:
    """A product of powers over another."""
    total = dict(powers)
    for name, power in by:
        total[name] = total.get(name, Fraction(0)) - power
    return tuple(sorted((name, power) for name, power in total.items() if power))


def _text(word: Word, powers: Any = ()) -> str:
    """A word behind powers of numbers, as a formula."""
    numbers = [_power(name, power) for name, power in powers]
    letters = [f"I({x[2:]})" if x.startswith("I:") else x for x in word]
    return "*".join([*numbers, *letters]) or "1"


def _scaled(weight: Fraction, text: str) -> str:
    """A formula times a number."""
    if weight == 1 or text == "1":
        return text if weight == 1 else f"({weight})"
    return f"({weight})*{text}"


def _power(name: str, power: Fraction) -> str:
    raised = name if abs(power) == 1 else f"{name}^{abs(power)}"
    return raised if power > 0 else f"(1/{raised})"


def _program(
    target: Form, signed: list[WordColumn], free: list[WordColumn], strict: bool
) -> tuple[list[float], float, dict[Key, float]] | None:
    """Coefficients that come closest to a target, what is missing, and the price of each key."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    columns = [*signed, *free]
    keys = list(dict.fromkeys([*target, *(key for column in columns for key in column.form)]))
    at = {key: row for row, key in enumerate(keys)}
    entries = [
        (at[key], number, float(value))
        for number, column in enumerate(columns)
        for key, value in column.form.items()
    ]
    slack = len(columns)
    entries += [(row, slack + row, 1.0) for row in range(len(keys))]
    entries += [(row, slack + len(keys) + row, -1.0) for row in range(len(keys))]
    rows, places, values = map(np.array, zip(*entries, strict=True))
    matrix = coo_matrix((values, (rows, places)), (len(keys), slack + 2 * len(keys))).tocsr()
    right = np.array([float(target.get(key, 0)) for key in keys])
    costs = [-1e-3 if strict and c.sure else 1e-4 for c in signed] + [0.0] * len(free)
    bounds: list[tuple[float | None, float | None]] = [
        (0, 1 if strict and column.sure else None) for column in signed
    ]
    bounds += [(None, None)] * len(free) + [(0, None)] * (2 * len(keys))
    solve: Any = linprog
    limit = {"time_limit": clock_seconds_left(20.0)}
    solved = solve(
        [*costs, *[1.0] * (2 * len(keys))],
        A_eq=matrix,
        b_eq=right,
        bounds=bounds,
        method="highs",
        options=limit,
    )
    if solved.x is None or solved.status != 0:
        return None
    missing = float(sum(solved.x[slack:]))
    prices = dict(zip(keys, map(float, solved.eqlin.marginals), strict=True))
    return list(map(float, solved.x[:slack])), missing, prices


def _useful(target: Form, columns: list[WordColumn], zeros: list[WordColumn]) -> list[WordColumn]:
    """The columns of which no word can only be added to, or only be taken away."""
    free = {key for column in zeros for key in column.form}
    while True:
        signs: dict[Key, set[bool]] = {}
        for column in columns:
            for key, value in column.form.items():
                signs.setdefault(key, set()).add(value > 0)
        for key, value in target.items():
            signs.setdefault(key, set()).add(value < 0)
        stuck = {key for key, both in signs.items() if len(both) == 1} - free
        useful = [column for column in columns if not stuck & column.form.keys()]
        if len(useful) == len(columns):
            return columns
        columns = useful


def _priced(gram: WordGram, prices: dict[Key, float]) -> Iterator[WordColumn]:
    """The columns of a Gram matrix that the prices ask for: eigenvectors, rounded."""
    import numpy as np

    size = len(gram.basis)
    matrix = np.array(
        [
            [
                sum(prices.get(key, 0.0) * float(value) for key, value in form.items())
                for form in row
            ]
            for row in gram.table
        ]
    ).reshape(size, size)
    matrix = (matrix + matrix.T) / 2
    values, vectors = np.linalg.eigh(matrix)
    for value, vector in zip(values[::-1][:3], vectors.T[::-1][:3], strict=True):
        if value < 1e-7:
            return
        scaled = vector / max(vector, key=abs)
        for denominator in _ROUNDINGS:
            weights = [Fraction(round(float(x) * denominator), denominator) for x in scaled]
            if any(weights):
                yield gram.column(weights)


def certificate(file: MatrixFile, relation: MatrixRelation) -> dict[str, Any] | None:
    """A certificate of a line that the checker accepts; None if the search has none."""
    if relation.sign == "!=":
        return None
    try:
        return WordSearch(file, relation).sought()
    except ValueError:  # a sum is too long
        return None
