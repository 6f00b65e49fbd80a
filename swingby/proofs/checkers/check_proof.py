"""Check of exported proofs, by the standard library alone; ``check.py`` calls it.

A proof shows relations one after the other, each from the hypotheses and what was shown before. A
step is an identity: the larger minus the smaller side is a sum of terms that are never negative,
each a positive number times a monomial, times facts, times a square. A fact is a hypothesis, or
follows from one in one of the ways of :meth:`_CertificateCheck.follows`. Formulas are read as
quotients of sums of products of powers, exactly; exponentials, logarithms and roots are letters
with a sign.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from fractions import Fraction
from functools import reduce
from itertools import product
from math import gcd, lcm
from typing import Any

FORMAT = "swingby proof 2"
KEYS = {"format", "id", "line", "signs", "whole", "given", "shows"}
_STEP, _LINE = {"relation", "certificates"}, {"relation", "letter", "cuts"}
_BOX = {"relation", "box"}
_CERTIFICATE = {"cases", "replaced", "tangents", "turned", "facts", "pieces"}
#: Sums with more terms are refused, and longer numbers.
MOST_TERMS, MOST_BITS, MOST_POWER = 20_000, 100_000, 64
#: Orders of a root whose bounds are compared with those of its power, or of one over it.
_ROOTS = (2, 3, 4, -1, -2, -3, -4)
#: A fact is the sum of so many hypotheses at most, and of what is never negative.
_MOST_SUMMED = 2

#: From products of powers, as sorted pairs of a letter and its exponent, to coefficients.
Sum = dict[tuple[tuple[str, Fraction], ...], Fraction]
#: A sum over the product of some sums.
_Quotient = tuple[Sum, tuple[Sum, ...]]

_NOUGHT: Sum = {}
ONE: Sum = {(): Fraction(1)}
#: A letter is one word, with or without a place in brackets, and no function.
LETTER = re.compile(r"(?!(?:exp|log|sqrt|Abs|Max|Min)\()[^\W\d]\w*'?(\([\w+-]+\))?", re.ASCII)
_SIDES = re.compile(r"(.+) (<=|<|=|!=) (.+)", re.DOTALL)


def add(x: Sum, y: Sum, factor: Fraction | int = 1) -> Sum:
    """The sum of x and a multiple of y."""
    total = dict(x)
    for term, value in y.items():
        total[term] = total.get(term, Fraction(0)) + factor * value
    return {term: value for term, value in total.items() if value}


def times(x: Sum, y: Sum) -> Sum:
    """The product of two sums."""
    if len(x) * len(y) > MOST_TERMS:
        raise ValueError("a product of sums is too long")
    total: Sum = {}
    for (first_term, first), (second_term, second) in product(x.items(), y.items()):
        powers, value = dict(first_term), first * second
        for letter, power in second_term:
            powers[letter] = powers.get(letter, Fraction(0)) + power
            if letter.isdigit():  # a root of a prime: whole powers of the prime are numbers
                floor = powers[letter].__floor__()
                powers[letter] -= floor
                value *= Fraction(int(letter)) ** floor
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
            raise ValueError("a number is too long")
        term = tuple(sorted((letter, power) for letter, power in powers.items() if power))
        total[term] = total.get(term, Fraction(0)) + value
    return {term: value for term, value in total.items() if value}


def letter(name: str, power: Fraction | int = 1) -> Sum:
    """One letter to some power."""
    return {((name, Fraction(power)),): Fraction(1)}


def _primes(number: int) -> dict[int, int]:
    """The prime factors of a number, with their powers."""
    factors: dict[int, int] = {}
    divisor = 2
    while number > 1:
        if divisor > 10**5:
            raise ValueError("a number has no small factor")
        if number % divisor:
            divisor += 1
        else:
            factors[divisor] = factors.get(divisor, 0) + 1
            number //= divisor
    return factors


class Exact:
    """The arithmetic in which formulas are read: over it, a formula is a :data:`_Quotient`.

    `signs`: of every letter. `inside`: what exponentials and sizes are of. `declared`: the signs of
    the letters of the proof. `given`: what is known. `whole`: letters for whole numbers.
    """

    def __init__(self, signs: dict[str, str], given: list[str], whole: Iterable[str] = ()) -> None:
        self.signs, self.declared, self.given = dict(signs), signs, given
        self.whole = frozenset(whole)
        self.inside: dict[str, Sum] = {}
        #: Letters that are powers, with their bases and exponents.
        self.powers: dict[str, tuple[Sum, Sum]] = {}
        #: What is positive, and what is not negative, by a hypothesis.
        self.above: list[Sum] = []
        self.not_below: list[Sum] = []
        #: Which of its values a size, a maximum or a minimum has, in a case.
        self.branches: dict[Any, int] = {}
        #: Letters that are roots of sums, with their orders; maxima and minima, with their values.
        self.roots: dict[str, int] = {}
        self.extremes: dict[str, list[Sum]] = {}

    def quotient(self, x: Any) -> _Quotient:
        """A number as a quotient."""
        return x if isinstance(x, tuple) else (times(ONE, {(): Fraction(x)}), ())

    def negative(self, x: Any) -> Any:
        """-x."""
        top, below = self.quotient(x)
        return add(_NOUGHT, top, -1), below

    def plus(self, x: Any, y: Any) -> Any:
        """X + y, over the common denominator."""
        (top, below), (second, under) = self.quotient(x), self.quotient(y)
        missing, mine = list(under), []
        for factor in below:
            if factor in missing:
                missing.remove(factor)
            else:
                mine.append(factor)
        for factor in missing:
            top = times(top, factor)
        for factor in mine:
            second = times(second, factor)
        return add(top, second), below + tuple(missing)

    def times(self, x: Any, y: Any) -> Any:
        """X y."""
        (top, below), (second, under) = self.quotient(x), self.quotient(y)
        return times(top, second), below + under

    def inverse(self, x: Any) -> Any:
        """1 / x: denominators of x stay below, so that they are still looked at."""
        top, below = self.quotient(x)
        denominator = reduce(times, (*below, *below), dict(ONE))
        if not top:
            raise ValueError("a division by 0")
        if len(top) > 1:
            return denominator, (top, *below)
        ((term, value),) = top.items()
        if any(not name.isdigit() and self.signs[name] != "positive" for name, _ in term):
            return denominator, (top, *below)  # what may be 0 is not cancelled
        return times(denominator, {tuple((name, -power) for name, power in term): 1 / value}), below

    def power(self, x: Any, y: Any) -> Any:
        """x^y; for a y that is no whole number, x is a product of powers."""
        (exponent, below) = self.quotient(y)
        if below or exponent.keys() - {()}:
            with contextlib.suppress(ValueError):
                return self.exp(self.times(y, self.log(x)))
            return self.whole_power(x, exponent, below)
        order = exponent.get((), Fraction(0))
        if order.denominator == 1:
            top, under = self.quotient(x)
            if len(top) == 1 and not under and 0 < order <= 500:
                ((term, value),) = top.items()
                size = max(value.numerator.bit_length(), value.denominator.bit_length())
                if size * order <= MOST_BITS and not any(n.isdigit() for n, _ in term):
                    return {tuple((n, p * order) for n, p in term): value ** int(order)}, ()
            if abs(order) > MOST_POWER:
                raise ValueError("a power is too large")
            below = () if order else self.quotient(x)[1]
            powered: Any = (reduce(times, below, dict(ONE)), below)
            for _ in range(abs(int(order))):
                powered = self.times(powered, x)
            return self.inverse(powered) if order < 0 else powered
        if order < 0:
            return self.inverse(self.power(x, -order))
        top, below = self.quotient(x)
        if not top:
            return top, below
        if not below and len(top) > 1:
            name = f"root {order.denominator} {sorted(top.items())}"
            self.inside[name], self.roots[name] = top, order.denominator
            if not (self.sure(top) or self.never_negative(top) or top in self.not_below):
                raise ValueError("a root of what may be negative")
            self.signs[name] = "positive" if self.sure(top) else "nonnegative"
            return letter(name, order.numerator), ()
        term, value = self.monomial(x)
        root = dict(ONE)
        for size, sign in ((value.numerator, 1), (value.denominator, -1)):
            for prime, count in _primes(size).items():
                root = times(root, letter(str(prime), order * count * sign))
        return times(root, {tuple((name, power * order) for name, power in term): Fraction(1)}), ()

    def whole_power(self, x: Any, exponent: Sum, below: tuple[Sum, ...]) -> Any:
        """x^n for a whole number n that is not negative, a sum of products of letters."""
        (top, under), powered = self.quotient(x), self.quotient(1)
        if below or under or not top:
            raise ValueError("a power of a quotient, or with one as its exponent")
        for term, count in exponent.items():
            if not 0 < count <= MOST_POWER or count.denominator != 1:
                raise ValueError("an exponent that is no sum of whole numbers")
            for name, power in term:
                counts = name in self.whole and self.signs[name] in ("positive", "nonnegative")
                if not counts or power.denominator != 1 or power < 0:
                    raise ValueError(f"{name:.40} is no whole number, or may be negative")
            factor = self._letter_power(top, {term: Fraction(1)}) if term else (top, ())
            for _ in range(int(count)):
                powered = self.times(powered, factor)
        return powered

    def _letter_power(self, base: Sum, exponent: Sum) -> Any:
        """A power of a letter or a sum, a letter of its own; of a product, those of its factors."""
        ((term, value), *others) = base.items()
        if others or (value == 1 and len(term) == term[0][1] == 1) or base == {(): Fraction(-1)}:
            name = f"power {exponent} {sorted(base.items())}"
            self.powers[name] = base, exponent
            self.signs[name] = "nonnegative" if self.never_negative(base) else "real"
            return letter(name), ()
        numbers = [Fraction(-1)] * (value < 0) + [abs(value)] * (abs(value) != 1)
        factors: list[Sum] = [{(): number} for number in numbers]
        for name, power in term:
            if power.denominator != 1 or power < 0:
                raise ValueError("a power of a root or of a quotient")
            factors += [letter(name)] * int(power)
        powers = (self.power((factor, ()), (exponent, ())) for factor in factors)
        return reduce(self.times, powers, self.quotient(1))

    def monomial(self, x: Any) -> tuple[Any, Fraction]:
        """A product of powers of what is positive, and its coefficient."""
        top, below = self.quotient(x)
        if below or len(top) != 1:
            raise ValueError("a root or a logarithm of a sum")
        ((term, value),) = top.items()
        if value <= 0 or any(self.signs.get(name) == "real" for name, _ in term):
            raise ValueError("a root or a logarithm of what may be negative")
        return term, value

    def exp(self, x: Any) -> Any:
        """The exponential of a sum: a letter for each product in it."""
        top, below = self.quotient(x)
        if below:
            raise ValueError("an exponential of a quotient")
        exponential, divisors = dict(ONE), list[Sum]()
        for term, value in top.items():
            logarithm = len(term) == 1 and term[0][0].startswith("log ") and term[0][1] == 1
            name = term[0][0].removeprefix("log ") if logarithm else ""
            if name.startswith("sum "):
                if value.denominator != 1 or abs(value) > 9:
                    raise ValueError("a power of a sum")
                for _ in range(abs(int(value))):
                    if value > 0:
                        exponential = times(exponential, self.inside[name])
                    else:
                        divisors.append(self.inside[name])
                continue
            if not logarithm:
                name = f"exp {term}"
                self.inside[name] = {term: Fraction(1)}
                self.signs[name] = "positive"
            exponential = times(exponential, letter(name, value))
        return exponential, tuple(divisors)

    def log(self, x: Any) -> Any:
        """The logarithm of what is positive: of a sum, a letter for what its terms do not share."""
        top, below = self.quotient(x)
        logarithm: Sum = {}
        for divisor in below:
            logarithm = add(logarithm, self.log((divisor, ()))[0], -1)
        if len(top) > 1:
            common = {
                name: min(dict(term).get(name, Fraction(0)) for term in top)
                for term in top
                for name, _ in term
                if name.isdigit() is False and self.signs[name] == "positive"
            }
            over = gcd(*(value.numerator for value in top.values()))
            content = Fraction(over, lcm(*(value.denominator for value in top.values())))
            shared = {tuple(sorted((n, power) for n, power in common.items() if power)): content}
            ((term, value),) = shared.items()
            apart = {tuple((n, -power) for n, power in term): 1 / value}
            top = times(top, apart)
            if not self.sure(top):
                raise ValueError("a logarithm of what may not be positive")
            name = f"sum {sorted(top.items())}"
            self.inside[name] = top
            self.signs[f"log {name}"] = "real"
            logarithm = add(logarithm, letter(f"log {name}"))
            x = shared, ()
        else:
            x = top, ()
        term, value = self.monomial(x)
        for size, sign in ((value.numerator, 1), (value.denominator, -1)):
            for prime, count in _primes(size).items():
                self.signs[f"log {prime}"] = "positive"
                logarithm = add(logarithm, letter(f"log {prime}"), count * sign)
        for name, power in term:
            if name.startswith("exp "):
                logarithm = add(logarithm, self.inside[name], power)
            elif self.signs.get(name, "positive") != "positive":
                raise ValueError("a logarithm of what may be 0")
            else:
                self.signs.setdefault(f"log {name}", "real")
                logarithm = add(logarithm, letter(f"log {name}"), power)
        return logarithm, ()

    def sqrt(self, x: Any) -> Any:
        """The square root."""
        return self.power(x, Fraction(1, 2))

    def abs(self, x: Any) -> Any:
        """The size, a letter of its own."""
        top, below = self.quotient(x)
        for divisor in below:
            if not self.sure(divisor):
                raise ValueError("a size of a quotient")
        if below:
            return self.times(self.abs((top, ())), (ONE, below))
        branch = self.branches.get(("Abs", _key(top)))
        if branch is not None:
            return (top if branch == 0 else add(_NOUGHT, top, -1)), ()
        if self.never_negative(top):
            return top, ()
        for name in {name for term in top for name, _ in term}:
            rest = times(top, letter(name, -1))
            if len(top) > 1 and self.never_negative(rest) and self.signs[name] == "real":
                return times(self.abs((letter(name), ()))[0], rest), ()
        if min(top.items())[1] < 0:  # the same letter for X and -X
            top = add(_NOUGHT, top, -1)
        name = f"Abs {sorted(top.items())}"
        self.inside[name], self.signs[name] = top, "nonnegative"
        return letter(name), ()

    def max(self, *numbers: Any) -> Any:
        """The largest: in a case that says which, that; otherwise a letter of its own."""
        return self._extreme("Max", numbers)

    def min(self, *numbers: Any) -> Any:
        """The smallest, likewise."""
        return self._extreme("Min", numbers)

    def _extreme(self, kind: str, numbers: Any) -> Any:
        quotients = [self.quotient(number) for number in numbers]
        if any(below for _, below in quotients):
            raise ValueError("a maximum or a minimum of quotients")
        tops = [top for top, _ in quotients]
        branch = self.branches.get((kind, tuple(map(_key, tops))))
        if branch is not None:
            return tops[branch], ()
        name = f"{kind} {[sorted(top.items()) for top in tops]}"
        self.extremes[name], self.signs[name] = tops, "real"
        if all(map(self.positive, tops)):
            self.signs[name] = "positive"
        elif (
            any(map(self.never_negative, tops))
            if kind == "Max"
            else all(map(self.never_negative, tops))
        ):
            self.signs[name] = "nonnegative"
        return letter(name), ()

    def sure(self, size: Sum) -> bool:
        """Whether a size is positive: a sum of such terms, a hypothesis, or the product of two."""
        products = (times(first, second) for first in self.above for second in self.above)
        return self.positive(size) or any(
            self.alike(size, total) for total in (*self.above, *products)
        )

    def term_sign(self, term: Any) -> str:
        """The certain sign of a product of powers: "positive", "nonnegative", "defined" or ""."""
        signs = ["positive"]
        for name, power in term:
            sign = "positive" if name.isdigit() else self.signs[name]
            if sign == "positive":
                continue
            if power < 0 or (sign == "real" and power.denominator != 1):
                return ""
            signs.append("defined" if sign == "real" and power % 2 else "nonnegative")
        return next(sign for sign in ("defined", "nonnegative", "positive") if sign in signs)

    def never_negative(self, total: Sum) -> bool:
        """Whether no term of a sum is negative."""
        signs = ("positive", "nonnegative")
        return all(value > 0 and self.term_sign(term) in signs for term, value in total.items())

    def positive(self, total: Sum) -> bool:
        """Whether no term of a sum is negative, and one is positive."""
        return self.never_negative(total) and "positive" in map(self.term_sign, total)

    def alike(self, first: Sum, second: Sum) -> bool:
        """Whether the first sum is the second times a product of powers that is positive."""
        if first == second:
            return True
        if len(first) != len(second) or not first:
            return False
        term, value = next(iter(second.items()))
        for candidate, number in first.items():
            share = times(
                {candidate: Fraction(1)}, {tuple((n, -power) for n, power in term): 1 / value}
            )
            share = times(share, {(): number})
            if self.positive(share) and times(second, share) == first:
                return True
        return False


class _CertificateCheck:
    """The check of one certificate: its facts, and whether its pieces add up to a relation."""

    def __init__(self, content: dict[str, Any], exact: Exact, formula: Any, holds: Any) -> None:
        if content.keys() != _CERTIFICATE:
            raise ValueError("the keys are not those of a certificate")
        self.content, self.exact, self.formula, self.holds = content, exact, formula, holds
        hypotheses = [*exact.given]
        self.letters: dict[str, _Quotient] = {name: (letter(name), ()) for name in exact.declared}
        self.values: dict[str, _Quotient] = dict(self.letters)
        self.replaced: list[tuple[str, str]] = []
        for name, text in content["replaced"]:
            self._replace(name, text, hypotheses)
        cases: list[tuple[_Quotient, str]] = [
            (self.values[name], {"positive": "<", "nonnegative": "<="}[exact.declared[name]])
            for name, _ in self.replaced
            if exact.declared[name] != "real"
        ]
        for text, branch in content["cases"]:
            cases += self._case(text, branch)
        for _ in range(3):  # each time with the signs, sums and roots that were known before
            self.known = cases + self._read(hypotheses)
            self._read_signs()
            signed = [
                (way, sign)
                for (top, below), sign in self.known
                if all(map(self.exact.positive, below))
                for way in (top, *self.sizes(top))
            ]
            self.exact.above = [top for top, sign in signed if sign == "<"]
            self.exact.not_below = [top for top, sign in signed if sign == "<="]

    def read(self, text: Any, values: Any = None) -> _Quotient:
        """A formula in letters that are not replaced."""
        if not isinstance(text, str):
            raise ValueError("a formula is text")
        values = self.values if values is None else values
        return self.exact.quotient(self.formula(text, values, self.exact))

    def difference(self, relation: Any, values: Any = None) -> tuple[_Quotient, str]:
        """The larger minus the smaller side, and the sign between them."""
        match = _SIDES.fullmatch(relation) if isinstance(relation, str) else None
        if match is None:
            raise ValueError(f"{relation!r:.60} is no relation")
        small, large = self.read(match[1], values), self.read(match[3], values)
        return self.exact.plus(large, self.exact.negative(small)), match[2]

    def _read(self, hypotheses: list[str], values: Any = None) -> list[tuple[_Quotient, str]]:
        """The hypotheses, without those that are no formulas of this kind."""
        gaps = []
        for relation in hypotheses:
            with contextlib.suppress(ValueError, KeyError):
                gaps.append(self.difference(relation, values))
        return gaps

    def _case(self, text: str, branch: int) -> list[tuple[_Quotient, str]]:
        """What holds in a case: a size, a maximum or a minimum has one of its values."""
        match = re.fullmatch(r"(Abs|Max|Min)\((.+)\)", text, re.DOTALL)
        if match is None:  # a whole number is at most n, or at least n + 1
            name, number = text.split(" at ")
            bound = self.exact.quotient(Fraction(int(number) + branch))
            low, high = (bound, self.letters[name]) if branch else (self.letters[name], bound)
            return [(self.exact.plus(high, self.exact.negative(low)), "<=")]
        tops = [self.read(piece) for piece in _arguments(match[2])]
        if any(below for _, below in tops) or not 0 <= branch < branches_of(text):
            raise ValueError("a case of a quotient")
        if match[1] == "Abs":
            ((top, _),) = tops
            self.exact.branches["Abs", _key(top)] = branch
            self.exact.branches["Abs", _key(add(_NOUGHT, top, -1))] = 1 - branch
            return [((top if branch == 0 else add(_NOUGHT, top, -1), ()), "<=")]
        self.exact.branches[match[1], tuple(_key(top) for top, _ in tops)] = branch
        sign = 1 if match[1] == "Max" else -1
        chosen = tops[branch][0]
        gaps = (add(chosen, top, -1) for place, (top, _) in enumerate(tops) if place != branch)
        return [((add(_NOUGHT, gap, sign), ()), "<=") for gap in gaps]

    def _replace(self, name: str, text: str, hypotheses: list[str]) -> None:
        """A letter by what an equation says that it is."""
        value = self.read(text, self.letters)
        away = self.exact.plus(self.letters[name], self.exact.negative(value))
        both_signs = (away, self.exact.negative(away))
        if not any(
            sign == "="
            and any(
                # What is below either stays there, and is looked at where the letter is used.
                not self.exact.plus(gap, self.exact.negative(way))[0]
                or (not way[1] and self.exact.alike(gap[0], way[0]))
                for way in both_signs
            )
            for values in (self.values, self.letters)
            for gap, sign in self._read(hypotheses, values)
        ):
            raise ValueError(f"no hypothesis says what {name} is")
        self.replaced.append((name, text))
        self.values = dict(self.letters)
        for replaced_name, formula in reversed(self.replaced):
            self.values[replaced_name] = self.read(formula)

    def _read_signs(self) -> None:
        """Signs of letters that lie above what is positive."""
        changed = True
        while changed:
            changed = False
            for (top, below), sign in self.known:
                for name in [] if below or sign not in ("<=", "<") else list(self.letters):
                    rest = add(letter(name), top, -1)
                    if self.exact.signs[name] == "positive" or top.get(*letter(name)) != 1:
                        continue
                    if not self.exact.never_negative(rest):
                        continue
                    above = sign == "<" or self.exact.positive(rest)
                    better = "positive" if above else "nonnegative"
                    if self.exact.signs[name] != better:
                        self.exact.signs[name], changed = better, True

    def cleared(self, gap: _Quotient) -> Sum:
        """The numerator, its sign turned for every negative denominator."""
        top, below = gap
        for denominator in below:
            negated = add(_NOUGHT, denominator, -1)
            for sign, size in ((1, denominator), (-1, negated)):
                if self.sure(size):
                    top = add(_NOUGHT, top, sign)
                    break
            else:
                raise ValueError("a denominator has no certain sign")
        return top

    def sure(self, size: Sum) -> bool:
        """Whether a size is positive."""
        return self.exact.sure(size)

    def not_nought(self, size: Sum) -> bool:
        """Whether a size is certainly not 0."""
        ways = size, add(_NOUGHT, size, -1), times(size, size)
        unequal = [top for (top, below), sign in self.known if sign == "!=" and not below]
        return any(map(self.sure, ways)) or any(
            self.exact.alike(top, way) for top in unequal for way in ways[:2]
        )

    def summed(self, fact: Sum, strict: bool, more: int = _MOST_SUMMED) -> bool:
        """Whether a fact is a sum of multiples of hypotheses and of what is never negative."""
        if self.exact.positive(fact) or (not strict and self.exact.never_negative(fact)):
            return True
        for (top, below), sign in self.known if more else ():
            if below or sign not in ("<=", "<"):
                continue
            for share in {fact[term] / top[term] for term in fact.keys() & top.keys()}:
                rest, open_ = add(fact, top, -share), strict and sign == "<="
                if share > 0 and self.summed(rest, open_, more - 1):
                    return True
        return False

    def follows(self, fact: Sum, strict: bool, text: str) -> bool:
        """Whether ``fact > 0``, or ``fact >= 0``, follows from one hypothesis or a few."""
        if self.summed(fact, strict) or self.sure(fact):
            return True
        for gap, sign in self.known:
            if sign == "!=" or (strict and sign != "<"):
                continue
            try:
                top = self.cleared(gap)
            except ValueError:
                continue
            ways = [top, add(_NOUGHT, top, -1)] if sign == "=" else [top]
            if any(self.exact.alike(fact, way) for way in ways):
                return True
            if any(fact in self.sizes(way) or self._root(fact, way) for way in ways):
                return True
        for name in [name for name in self.exact.inside if name.startswith("Abs ")]:
            inside = self.exact.inside[name]
            if not strict and fact in (add(letter(name), inside, sign) for sign in (1, -1)):
                return True
        if not strict and any(self._tangent(fact, y) for y in self.content["tangents"]):
            return True
        for name, order in self.exact.roots.items():
            away = add(letter(name, order), self.exact.inside[name], -1)
            if not strict and fact in (away, add(_NOUGHT, away, -1)):
                return True
        for name, tops in self.exact.extremes.items():
            turn = 1 if name.startswith("Max") else -1
            gaps = (add(letter(name), top, -1) for top in tops)
            if not strict and any(fact == add(_NOUGHT, gap, turn) for gap in gaps):
                return True
        for relation in self.exact.given:
            if fact in self.logarithms(relation) and (" < " in relation or not strict):
                return True
        powers = {name for term in fact for name, _ in term} & self.exact.powers.keys()
        if any(self._power(fact, strict, name) for name in powers):
            return True
        numbers = (name.removeprefix("log ") for term in fact for name, _ in term)
        if all(name.isdigit() or name == "exp ()" for name in numbers):
            return bool(self.holds(f"0 {'<' if strict else '<='} {text}", {}))
        return False

    def agree(self, top: Sum, below: tuple[Sum, ...]) -> bool:
        """Whether a difference is 0, as it stands or by a hypothesis."""
        if not top:
            return True
        try:
            gap = self.cleared((top, below))
        except ValueError:
            return False
        # The number stands for no formula: of a difference of numbers nothing follows.
        return all(self.follows(half, False, "-1") for half in (gap, add(_NOUGHT, gap, -1)))

    def sizes(self, top: Sum, turn: int = 1) -> list[Sum]:
        """From |X| c <= B, with a c that is not negative: X c <= B and -X c <= B.

        With `turn` -1, of |X| c >= B: X c >= B and -X c >= B, of which either is enough.
        """
        found = []
        for size, power in {pair for term in top for pair in term if pair[0].startswith("Abs ")}:
            terms = [term for term in top if (size, power) in term]
            share = {
                tuple(pair for pair in term if pair[0] != size): -turn * top[term] for term in terms
            }
            if power == 1 and self.exact.never_negative(share):
                remainder = {term: factor for term, factor in top.items() if term not in terms}
                inside = times(share, self.exact.inside[size])
                found += [add(remainder, inside, sign) for sign in (-1, 1)]
        return found

    def _root(self, fact: Sum, top: Sum) -> bool:
        """Whether r >= c, or r <= c, follows from a bound on a power of r."""
        if () not in fact or len(fact) != 2 or len(top) != 2:
            return False
        (term,) = fact.keys() - {()}
        bound = -fact[()] / fact[term]
        for order in _ROOTS:
            power = tuple((name, exponent * order) for name, exponent in term)
            if power not in top or () not in top or bound <= 0:
                continue
            limit, rising, below = -top[()] / top[power], fact[term] > 0, top[power] > 0
            far_enough = bound**order <= limit if below else bound**order >= limit
            same_direction = (below == rising) == (order > 0)
            if same_direction and far_enough and self.exact.never_negative({term: Fraction(1)}):
                return True
        return False

    def _power(self, fact: Sum, strict: bool, name: str) -> bool:
        """What is known of p = x^n for a whole number n >= 0.

        0 <= p and 1 + n (x - 1) <= p <= exp(n (x - 1)) where 0 <= x. 1 <= p where 1 <= x, and
        -1 <= p <= 1 where -1 <= x <= 1. -y^n <= x^n <= y^n where -y <= x <= y. If 1 <= n, those are
        strict where these are, and p <= x where 0 <= x <= 1.
        """
        exact = self.exact
        base, exponent = exact.powers[name]
        power, over = letter(name), times(exponent, add(base, ONE, -1))

        def known(*facts: Sum, above: bool = False) -> bool:
            ways = ([each, *self.sizes(each, -1)] for each in facts)
            return all(any(self.follows(x, above, "-1") for x in each) for each in ways)

        below_one, above_minus_one = add(ONE, base, -1), add(ONE, base)
        if exact.positive(exponent) or not strict:
            if fact in (add(ONE, power, -1), add(ONE, power)):
                return known(below_one, above_minus_one, above=strict)
            if fact == add(power, ONE, -1):
                return known(add(base, ONE, -1), above=strict)
            larger = [
                other
                for y, (other, same) in exact.powers.items()
                if same == exponent and fact in (add(letter(y), power, sign) for sign in (1, -1))
            ]
            for sign in (1, -1):
                with contextlib.suppress(ValueError):
                    larger.append(self._positive_root(add(fact, power, sign), exponent))
            if any(known(add(y, base), add(y, base, -1), above=strict) for y in larger):
                return True
        if strict:
            return False
        if fact in (power, add(add(power, ONE, -1), over, -1)) and known(base):
            return True
        if fact == add(base, power, -1) and exact.positive(exponent) and known(base, below_one):
            return True
        try:
            exponential, divisors = exact.exp((over, ()))
        except ValueError:
            return False
        return not divisors and fact == add(exponential, power, -1) and known(base)

    def _positive_root(self, power: Sum, exponent: Sum) -> Sum:
        """The y of a product y^n; ValueError if there is none that is certainly positive."""
        ((term, one),) = exponent.items()
        if len(power) != 1 or one != 1:
            raise ValueError("no power")
        logarithm, _ = self.exact.log((power, ()))
        over = times(logarithm, {tuple((name, -count) for name, count in term): Fraction(1)})
        if any(count < 0 for factors in over for _, count in factors):
            raise ValueError("an exponent that may be 0 is no factor of the logarithm")
        root: Sum
        root, divisors = self.exact.exp((over, ()))
        if divisors:
            raise ValueError("no power")
        return root

    def _tangent(self, fact: Sum, text: str) -> bool:
        """exp(y) >= 1 + y, and for y >= 0 exp(y) >= 1 and what the series of exp(-y) gives."""
        exact = self.exact
        try:
            y = self.read(text)
            way = exact.negative(y)
            power, inverse = exact.exp(y), exact.exp(way)
        except ValueError:
            return False

        def series(x: _Quotient, *factors: Fraction | int) -> _Quotient:
            total, term = exact.quotient(0), exact.quotient(1)
            for factor in factors:
                total = exact.plus(total, exact.times(exact.quotient(factor), term))
                term = exact.times(term, x)
            return total

        half, sixth = Fraction(1, 2), Fraction(1, 6)
        bounds = [(power, series(y, 1, 1)), (inverse, series(way, 1, 1))]
        logarithms = (way for relation in exact.given for way in self.logarithms(relation))
        if not y[1] and (
            exact.never_negative(y[0])
            or self.summed(y[0], False)
            or any(exact.alike(y[0], known) for known in (*logarithms, *exact.not_below))
        ):
            bounds += [(power, series(y, 1)), (series(way, 1), inverse)]
            bounds += [(power, series(y, 1, 1, half)), (series(way, 1, 1, half), inverse)]
            bounds.append((inverse, series(way, 1, 1, half, sixth)))
        for large, small in bounds:
            try:
                if exact.alike(fact, self.cleared(exact.plus(large, exact.negative(small)))):
                    return True
            except ValueError:
                continue
        return False

    def logarithms(self, relation: str) -> list[Sum]:
        """The difference of the logarithms of positive sides; of an equation its opposite too."""
        match = _SIDES.fullmatch(relation)
        if match is None or match[2] == "!=":
            return []
        try:
            small, large = (self.exact.log(self.read(match[group])) for group in (1, 3))
        except (ValueError, KeyError):
            return []
        gap = self.exact.plus(large, self.exact.negative(small))[0]
        return [gap, add(_NOUGHT, gap, -1)] if match[2] == "=" else [gap]

    def shows(self, goal: Sum, strict: bool) -> None:
        """Raise ValueError unless the pieces prove ``goal >= 0``, or ``goal > 0``."""
        turned = self.content["turned"] is True
        facts: list[tuple[Sum, str]] = []
        for text, kind in self.content["facts"]:
            top = self.cleared(self.read(text))
            if kind not in ("<=", "<", "="):
                raise ValueError("a fact is no relation")
            opposite = self.exact.alike(top, add(_NOUGHT, goal, -1))
            negation = turned and opposite and kind in ("<=", "<"[strict:])
            halves = [top, add(_NOUGHT, top, -1)] if kind == "=" else [top]
            if not negation and not all(self.follows(half, kind == "<", text) for half in halves):
                raise ValueError(f"it does not follow that 0 {kind} {text:.60}")
            facts.append((top, kind))
        total, sure = self.read("0"), False
        for number, monomial, indices, square in self.content["pieces"]:
            factor, (top, below) = Fraction(number), self.read(monomial)
            ((term, value),) = top.items()
            any_sign = any(facts[index][1] == "=" for index in indices)
            sign = self.exact.term_sign(term)
            defined = all(map(self.sure, below))
            if (
                value <= 0
                or not (sign and defined)
                or (not any_sign and (factor < 0 or sign == "defined"))
            ):
                raise ValueError(f"a piece may be negative: {number} {monomial:.60}")
            piece = times(top, {(): factor})
            for index in indices:
                piece = times(piece, facts[index][0])
            root, under = self.read(square)
            if under:
                raise ValueError("a square of a quotient")
            total = self.exact.plus(total, (times(piece, times(root, root)), below))
            clear = factor > 0 and sign == "positive" and root == ONE
            sure = sure or (clear and all(facts[index][1] == "<" for index in indices))
        if not self.exact.alike(self.cleared(total), _NOUGHT if turned else goal):
            raise ValueError("the pieces do not add up")
        if (strict or turned) and not sure:
            raise ValueError("no piece is certainly positive")


def _key(total: Sum) -> Any:
    return frozenset(total.items())


def _arguments(text: str) -> list[str]:
    """The formulas between the commas of a bracket."""
    pieces, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += sign
    return pieces


def branches_of(text: str) -> int:
    """How many cases there are of a size, a maximum, a minimum, or a whole number."""
    match = re.fullmatch(r"(Max|Min)\((.+)\)", text, re.DOTALL)
    return 2 if match is None else len(_arguments(match[2]))


def _complete(cases: list[Any], whole: list[str]) -> list[Any]:
    """The certificates' places, once their cases are all that there are."""
    if len(cases) == 1 and not cases[0][1]:
        return [cases[0][0]]
    if not all(rest for _, rest in cases):
        raise ValueError("a case beside one that is all")
    ((text, _), *_) = cases[0][1]
    if not re.fullmatch(r"(Abs|Max|Min)\(.+\)", text, re.DOTALL):
        name, _, number = text.partition(" at ")
        if name not in whole or not re.fullmatch(r"-?\d{1,9}", number):
            raise ValueError(f"no cases of {text:.40}")
    if any(rest[0][0] != text for _, rest in cases):
        raise ValueError("cases of one thing beside cases of another")
    places = []
    for branch in range(branches_of(text)):
        inner = [(place, rest[1:]) for place, rest in cases if rest[0][1] == branch]
        if not inner:
            raise ValueError(f"a case of {text:.40} is missing")
        places += _complete(inner, whole)
    if len(places) != len(cases):
        raise ValueError("a case that there is not")
    return places


def judge(content: Any, formula: Any, holds: Any, line: Any) -> str:
    """Why a proof is rejected; nothing if it is accepted.

    `formula`, `holds`, `line`: the reader of formulas, the comparison of numbers, and the check of
    a relation in one letter or on a box, of ``check.py``.
    """
    if content.keys() != KEYS or not isinstance(content["signs"], dict):
        raise ValueError(f"the keys are not those of {FORMAT}")
    if not content["shows"] or set(content["signs"].values()) - {"positive", "nonnegative", "real"}:
        raise ValueError("nothing is shown, or a letter has another sign")
    names = [*content["signs"], *content["whole"]]
    if refused := [name for name in names if not LETTER.fullmatch(name)]:
        raise ValueError(f"{refused[0]!r:.40} is no letter")
    hypotheses = list(content["given"])
    for step in content["shows"]:
        if step.keys() in (_LINE, _BOX):
            line(step, content["signs"], hypotheses)
            hypotheses.append(step["relation"])
            continue
        if step.keys() != _STEP or not step["certificates"]:
            raise ValueError("the keys are not those of a step")
        checks: list[Any] = []
        for certificate in step["certificates"]:
            exact = Exact(content["signs"], hypotheses, content["whole"])
            check = _CertificateCheck(certificate, exact, formula, holds)
            checks.append((check, *check.difference(step["relation"])))
        if any(certificate["cases"] for certificate in step["certificates"]):
            cases = [c["cases"] for c in step["certificates"]]
            groups: dict[str, list[int]] = {}
            for place, case in enumerate(cases):
                groups.setdefault(repr(case), []).append(place)
            firsts = [(places[0], cases[places[0]]) for places in groups.values()]
            _complete(firsts, content["whole"])
            for places in groups.values():
                _consequences(step["relation"], [checks[place] for place in places])
            hypotheses.append(step["relation"])
        else:
            hypotheses += [step["relation"], *_consequences(step["relation"], checks)]
    return ""


def _consequences(relation: str, checks: list[Any]) -> list[str]:
    """Further relations shown; ValueError unless the certificates show the relation together."""
    signs = {sign for _, _, sign in checks}
    if len(signs) != 1:
        raise ValueError("nothing is shown")
    (sign,) = signs
    if sign == "=" and len(checks) == 1:
        ((check, (top, below), _),) = checks
        if not all(map(check.not_nought, below)) or not check.agree(top, below):
            raise ValueError(f"the sides differ: {relation:.60}")
        return []
    goals = [check.cleared(gap) for check, gap, _ in checks]
    steps = [check for check, _, _ in checks]
    if sign == "=" and len(steps) == 2:
        steps[0].shows(goals[0], False)
        steps[1].shows(add(_NOUGHT, goals[1], -1), False)
    elif sign == "!=" and len(steps) == 1:
        small, large = relation.split(" != ")
        try:
            steps[0].shows(goals[0], True)
        except ValueError:
            with contextlib.suppress(ValueError):
                steps[0].shows(times(goals[0], goals[0]), True)
                return []
            steps[0].shows(add(_NOUGHT, goals[0], -1), True)
            small, large = large, small
        return [f"{small} < {large}"]
    elif len(steps) == 2:
        # a size is X or -X, whatever X is
        halves = [check.sizes(goal) for check, goal in zip(steps, goals, strict=True)]
        if not all(halves):
            raise ValueError("two certificates for one relation")
        for place in range(0, len(halves[0]), 2):
            with contextlib.suppress(ValueError):
                for half in halves[0][place : place + 2]:
                    try:
                        steps[0].shows(half, sign == "<")
                    except ValueError:
                        steps[1].shows(half, sign == "<")
                return []
        raise ValueError("neither half of a size is shown")
    elif len(steps) == 1:
        for way in steps[0].logarithms(relation):
            with contextlib.suppress(ValueError):
                steps[0].shows(way, sign == "<")
                return []
        steps[0].shows(goals[0], sign == "<")
    else:
        raise ValueError("too many certificates for one relation")
    return []
