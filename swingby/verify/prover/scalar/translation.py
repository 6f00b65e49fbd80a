"""Expressions as quotients of Laurent polynomials in atoms.

Atoms are letters (or their roots: kappa = r^2 where sqrt(kappa) occurs), exponentials
``exp(c M)`` with M a monomial, and logarithms of letters and primes. All exponentials whose
exponents are rational multiples of the same M are powers of one atom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import sympy

from swingby.verify.prover.scalar.laurent import (
    Atom,
    Polynomial,
    Quotient,
    add,
    constant,
    inverse,
    is_positive,
    multiply,
    power_of,
    product_of,
    shift,
    sum_of,
)

#: Larger powers are not multiplied out.
LARGEST_POWER = 64


class Untranslatable(Exception):
    """An expression that has no polynomial form."""


def fraction(number: Any) -> Fraction:
    """A rational of sympy as a Fraction."""
    return Fraction(int(number.p), int(number.q))


def exponent_terms(exponent: Any) -> tuple[list[tuple[Fraction, Any]], Any]:
    """An exponent as a sum of rational multiples of monomials, and a power free of exp.

    Returns pairs (c, M), and the product of x^c over the terms c log(x).
    """
    terms, power = [], sympy.Integer(1)
    for term in sympy.Add.make_args(sympy.expand(sympy.expand_log(exponent))):
        factor, rest = term.as_coeff_Mul()
        if isinstance(rest, sympy.log) and factor.is_Rational and rest.args[0].is_positive:
            power *= rest.args[0] ** factor
        elif term.is_Rational:
            terms.append((fraction(term), sympy.Integer(1)))
        elif factor.is_Rational:
            terms.append((fraction(factor), rest))
        else:
            raise Untranslatable(str(exponent))
    return [term for term in terms if term[0]], power


class Translator:
    """Turns the expressions of one sequent into quotients over a common list of atoms.

    `expressions`: all that will be translated: roots and exponents are made commensurable over
    them.
    """

    def __init__(self, expressions: Iterable[Any]) -> None:
        self.atoms: list[Atom] = []
        self.exponentials: list[Any] = []
        self._index: dict[Any, int] = {}
        self._steps: dict[Any, Fraction] = {}
        self._root_order: dict[Any, int] = {}
        pending = [sympy.expand_power_base(expression) for expression in expressions]
        for expression in pending:
            for exponential in sorted(expression.atoms(sympy.exp), key=str):
                if exponential in self.exponentials:
                    continue
                self.exponentials.append(exponential)
                terms, power = exponent_terms(exponential.exp)
                pending.append(power)
                for factor, rest in terms:
                    step = self._steps.get(rest, abs(factor))
                    self._steps[rest] = _common_step(step, abs(factor))
            for piece in expression.atoms(sympy.Pow):
                base, exponent = piece.args
                if exponent.is_Rational and base.is_Symbol and base.is_nonnegative:
                    order = self._root_order.get(base, 1)
                    self._root_order[base] = math.lcm(order, int(exponent.q))

    def root_order(self, letter: Any) -> int:
        """The q for which the atom of a letter is its q-th root."""
        return self._root_order.get(letter, 1)

    @property
    def has_logarithms(self) -> bool:
        """Whether an atom is a logarithm."""
        return any(isinstance(atom.meaning, sympy.log) for atom in self.atoms)

    def quotient(self, expression: Any) -> Quotient:
        """The polynomial form of an expression."""
        if expression.is_Rational:
            return Quotient(constant(fraction(expression)))
        if expression.is_NumberSymbol:
            return Quotient(power_of(self.atom(expression, str(expression), "positive")))
        if expression.is_Symbol:
            return Quotient(power_of(self._letter(expression), self.root_order(expression)))
        if expression.is_Add:
            total = Quotient({})
            for argument in expression.args:
                total = sum_of(total, self.quotient(argument))
            return total
        if expression.is_Mul:
            result = Quotient(constant(1))
            for argument in expression.args:
                result = product_of(result, self.quotient(argument))
            return result
        if isinstance(expression, sympy.exp):
            return self._exponential(expression.exp)
        if expression.is_Pow:
            return self._power(*expression.args)
        if isinstance(expression, sympy.log):
            return Quotient(self.logarithm(expression.args[0]))
        raise Untranslatable(f"no polynomial form of {expression.func.__name__}")

    def logarithm(self, expression: Any) -> Polynomial:
        """The logarithm of a product of positive things, as a polynomial.

        Raises Untranslatable if it is no positive monomial.
        """
        found = self.quotient(expression)
        if found.denominators or len(found.numerator) != 1:
            raise Untranslatable(f"log({expression})")
        ((monomial, coefficient),) = found.numerator.items()
        if coefficient <= 0 or not is_positive(monomial, tuple(self.atoms)):
            raise Untranslatable(f"log({expression})")
        total: Polynomial = {}
        for number, direction in ((coefficient.numerator, 1), (coefficient.denominator, -1)):
            for prime, exponent in sympy.factorint(number, limit=10**6).items():
                atom = self.atom(sympy.log(prime), f"log({prime})", "positive")
                total = add(total, power_of(atom), direction * exponent)
        for atom, exponent in monomial:
            total = add(total, self._logarithm_of_atom(atom), exponent)
        return total

    def atom(self, meaning: Any, name: str, sign: str) -> int:
        """The place of an atom, new or known."""
        if meaning not in self._index:
            self._index[meaning] = len(self.atoms)
            self.atoms.append(Atom(name, sign, meaning))
        return self._index[meaning]

    def _letter(self, letter: Any) -> int:
        order = self.root_order(letter)
        sign = (
            "positive" if letter.is_positive else "nonnegative" if letter.is_nonnegative else "real"
        )
        if order == 1:
            return self.atom(letter, letter.name, sign)
        return self.atom(letter ** sympy.Rational(1, order), f"{letter.name}^(1/{order})", sign)

    def _logarithm_of_atom(self, atom: int) -> Polynomial:
        meaning = self.atoms[atom].meaning
        if isinstance(meaning, sympy.exp):
            exponent = self.quotient(meaning.exp)
            if exponent.denominators:
                raise Untranslatable(str(meaning))
            return exponent.numerator
        base, order = meaning, sympy.Integer(1)
        if meaning.is_Pow and meaning.args[1].is_Rational:
            base, order = meaning.args
        if base.is_Symbol:
            place = self.atom(sympy.log(base), f"log({base.name})", "real")
            return {((place, 1),): fraction(order)}
        if base.is_Rational:
            found = self.logarithm(base)
            return {term: value * fraction(order) for term, value in found.items()}
        raise Untranslatable(f"log({meaning})")

    def _exponential(self, exponent: Any) -> Quotient:
        terms, power = exponent_terms(exponent)
        monomial: Polynomial = constant(1)
        for factor, rest in terms:
            step = self._steps.get(rest)
            if step is None or (factor / step).denominator != 1:
                raise Untranslatable(f"exp({exponent})")
            meaning = sympy.exp(sympy.Rational(step.numerator, step.denominator) * rest)
            place = self.atom(meaning, str(meaning).replace("**", "^"), "positive")
            monomial = multiply(monomial, power_of(place, int(factor / step)))
        return product_of(Quotient(monomial), self.quotient(power))

    def _power(self, base: Any, exponent: Any) -> Quotient:
        if exponent.is_Integer and abs(exponent) <= LARGEST_POWER:
            found = self.quotient(base)
            if exponent < 0:
                found = self._reciprocal(found)
            result = Quotient(constant(1))
            for _ in range(abs(int(exponent))):
                result = product_of(result, found)
            return result
        if exponent.is_Rational and base.is_Symbol and base.is_nonnegative:
            order = self.root_order(base)
            if (exponent * order).is_Integer and (exponent > 0 or base.is_positive):
                return Quotient(power_of(self._letter(base), int(exponent * order)))
        if exponent.is_Rational and base.is_Rational and base > 0:
            root = base ** sympy.Rational(1, exponent.q)
            if root.is_Pow:
                place = self.atom(root, f"({root})", "positive")
                return Quotient(power_of(place, int(exponent.p)))
        if exponent.is_Rational and base.is_Mul and all(a.is_positive for a in base.args):
            result = Quotient(constant(1))
            for argument in base.args:
                result = product_of(result, self.quotient(argument**exponent))
            return result
        raise Untranslatable(f"{base}^({exponent})")

    def _reciprocal(self, found: Quotient) -> Quotient:
        numerator = constant(1)
        for denominator in found.denominators:
            numerator = multiply(numerator, denominator)
        if not found.numerator:
            raise Untranslatable("division by zero")
        if len(found.numerator) == 1:
            ((monomial, coefficient),) = found.numerator.items()
            if is_positive(monomial, tuple(self.atoms)):
                scaled = {term: value / coefficient for term, value in numerator.items()}
                return Quotient(shift(scaled, inverse(monomial)))
        return Quotient(numerator, (found.numerator,))


def _common_step(first: Fraction, second: Fraction) -> Fraction:
    denominator = math.lcm(first.denominator, second.denominator)
    divisor = math.gcd(int(first * denominator), int(second * denominator))
    return Fraction(divisor, denominator)
