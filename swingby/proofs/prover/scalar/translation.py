"""Translation of expressions into quotients of Laurent polynomials in atoms.

Atoms are letters (or their roots: kappa = r^2 where sqrt(kappa) occurs), exponentials
``exp(c M)`` with M a monomial, and logarithms of letters and primes. All exponentials whose
exponents are rational multiples of the same M are powers of one atom.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import sympy

from swingby.proofs.prover.scalar.laurent import (
    Monomial,
    Polynomial,
    add,
    atoms_in,
    constant,
    inverse,
    multiply,
    polynomial_content,
    power_of,
    product,
    scaled,
    shift,
)
from swingby.proofs.prover.scalar.polynomial_problem import (
    Atom,
    is_nonnegative,
    is_positive,
    polynomial_text,
)
from swingby.proofs.prover.scalar.relation import Relation
from swingby.theory.numbers import fraction


@dataclass(frozen=True)
class Quotient:
    """A polynomial over a product of polynomials that are no monomials."""

    numerator: Polynomial
    denominators: tuple[Polynomial, ...] = ()


def quotient_sum(first: Quotient, second: Quotient) -> Quotient:
    """The sum of two quotients over their common denominator."""
    missing = list(second.denominators)
    numerator = second.numerator
    for denominator in first.denominators:
        if denominator in missing:
            missing.remove(denominator)
        else:
            numerator = multiply(numerator, denominator)
    expanded = multiply(first.numerator, product(missing))
    return Quotient(add(expanded, numerator), first.denominators + tuple(missing))


def quotient_product(first: Quotient, second: Quotient) -> Quotient:
    """The product of two quotients."""
    return Quotient(
        multiply(first.numerator, second.numerator), first.denominators + second.denominators
    )


#: Larger powers are not multiplied out.
_LARGEST_POWER = 64


class Untranslatable(Exception):
    """An expression that has no polynomial form."""


def _exponent_terms(exponent: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """An exponent as pairs of a rational and a monomial, and what its terms c log(x) are: x^c."""
    terms, power = [], sympy.Integer(1)
    for term in sympy.Add.make_args(sympy.expand(sympy.expand_log(exponent))):
        factor, monomial = term.as_coeff_Mul()
        if not factor.is_Rational:
            raise Untranslatable(str(exponent))
        if isinstance(monomial, sympy.log) and monomial.args[0].is_positive:
            power *= monomial.args[0] ** factor
        elif factor:
            terms.append((factor, monomial))
    return terms, power


class Translator:
    """Turns expressions into quotients over a common list of atoms.

    Roots and exponents are made commensurable over all that will be translated.
    """

    def __init__(self, expressions: Iterable[Any], positive: Iterable[Any] = ()) -> None:
        self.positive = frozenset(positive)
        #: Sums whose logarithms are atoms, by the place of the atom.
        self.sums: dict[int, Polynomial] = {}
        self.atoms: list[Atom] = []
        self.exponentials: list[Any] = []
        self.logarithms: list[Any] = []
        self._index: dict[Any, int] = {}
        self._steps: dict[Any, Any] = {}
        self._root_order: dict[Any, int] = {}
        pending = [sympy.expand_power_base(expression) for expression in expressions]
        for expression in pending:
            for exponential in sorted(expression.atoms(sympy.exp), key=str):
                if exponential in self.exponentials:
                    continue
                self.exponentials.append(exponential)
                terms, power = _exponent_terms(exponential.exp)
                pending.append(power)
                for factor, monomial in terms:
                    self._steps[monomial] = sympy.gcd(self._steps.get(monomial, 0), factor)
            self.logarithms += sorted(expression.atoms(sympy.log) - {*self.logarithms}, key=str)
            for piece in expression.atoms(sympy.Pow):
                base, exponent = piece.args
                if exponent.is_Rational and base.is_Symbol and base.is_nonnegative:
                    self._root_order[base] = math.lcm(self.root_order(base), int(exponent.q))

    def root_order(self, letter: Any) -> int:
        """The q for which the atom of a letter is its q-th root."""
        return self._root_order.get(letter, 1)

    def quotient(self, expression: Any) -> Quotient:
        """The polynomial form of an expression."""
        if expression.is_Rational:
            return Quotient(constant(fraction(expression)))
        if expression.is_NumberSymbol:
            return Quotient(power_of(self.atom(expression, str(expression), "positive")))
        if expression.is_Symbol:
            return Quotient(power_of(self._letter(expression), self.root_order(expression)))
        if expression.is_Add:
            return reduce(quotient_sum, map(self.quotient, expression.args))
        if expression.is_Mul:
            return reduce(quotient_product, map(self.quotient, expression.args))
        if isinstance(expression, sympy.exp):
            return self._exponential(expression.exp)
        if expression.is_Pow:
            return self._power(*expression.args)
        if isinstance(expression, sympy.log):
            return Quotient(self.logarithm(expression.args[0]))
        raise Untranslatable(f"no polynomial form of {expression.func.__name__}")

    def logarithm(self, expression: Any) -> Polynomial:
        """The logarithm of what is positive, as a polynomial; Untranslatable for others.

        Of a sum it is an atom, once what its terms have in common is taken out.
        """
        quotient = self.quotient(expression)
        total = self._logarithm_of_sum(quotient.numerator)
        for denominator in quotient.denominators:
            total = add(total, self._logarithm_of_sum(denominator), -1)
        return total

    def _logarithm_of_sum(self, polynomial: Polynomial) -> Polynomial:
        if len(polynomial) == 1:
            return self._logarithm_of_term(*next(iter(polynomial.items())))
        if not polynomial:
            raise Untranslatable("log(0)")
        atoms = tuple(self.atoms)
        common = {
            atom: min(dict(term).get(atom, 0) for term in polynomial)
            for atom in atoms_in(polynomial)
            if atoms[atom].sign == "positive"
        }
        shared = tuple(sorted((atom, power) for atom, power in common.items() if power))
        content = polynomial_content(polynomial)
        primitive = shift(scaled(polynomial, 1 / content), inverse(shared))
        meaning = sympy.log(
            sympy.Add(
                *(
                    sympy.Rational(value.numerator, value.denominator)
                    * sympy.Mul(*(atoms[atom].meaning ** power for atom, power in term))
                    for term, value in primitive.items()
                )
            )
        )
        index = self.atom(meaning, f"log({polynomial_text(primitive, atoms)})", "real")
        self.sums[index] = primitive
        return add(self._logarithm_of_term(shared, content), power_of(index))

    def _logarithm_of_term(self, monomial: Monomial, coefficient: Fraction) -> Polynomial:
        if coefficient <= 0 or not is_positive(monomial, tuple(self.atoms)):
            raise Untranslatable("a logarithm of what may be negative")
        total: Polynomial = {}
        for number, direction in ((coefficient.numerator, 1), (coefficient.denominator, -1)):
            for prime, exponent in sympy.factorint(number, limit=10**6).items():
                atom = self.atom(sympy.log(prime), f"log({prime})", "positive")
                total = add(total, power_of(atom), direction * exponent)
        for atom, exponent in monomial:
            total = add(total, self._logarithm_of_atom(atom), exponent)
        return total

    def logarithm_of_ratio(self, relation: Relation) -> Polynomial:
        """log(large side) - log(small side), if both are certainly positive."""
        for side in relation.sides:
            polynomial = self.quotient(side).numerator
            evident = all(
                value > 0 and is_nonnegative(term, tuple(self.atoms))
                for term, value in polynomial.items()
            ) and any(is_positive(term, tuple(self.atoms)) for term in polynomial)
            if len(polynomial) > 1 and not evident and side not in self.positive:
                raise Untranslatable(f"log({side})")
        return add(self.logarithm(relation.large), self.logarithm(relation.small), -1)

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
            index = self.atom(sympy.log(base), f"log({base.name})", "real")
            return {((index, 1),): fraction(order)}
        if base.is_Rational:
            logarithm = self.logarithm(base)
            return scaled(logarithm, fraction(order))
        raise Untranslatable(f"log({meaning})")

    def _exponential(self, exponent: Any) -> Quotient:
        terms, power = _exponent_terms(exponent)
        quotient = self.quotient(power)
        for factor, monomial in terms:
            step = self._steps.get(monomial)
            if step is None or not (factor / step).is_Integer:
                raise Untranslatable(f"exp({exponent})")
            meaning = sympy.exp(step * monomial)
            index = self.atom(meaning, str(meaning).replace("**", "^"), "positive")
            quotient = quotient_product(quotient, Quotient(power_of(index, int(factor / step))))
        return quotient

    def _power(self, base: Any, exponent: Any) -> Quotient:
        if exponent.is_Integer and abs(exponent) <= _LARGEST_POWER:
            quotient = self.quotient(base)
            if exponent < 0:
                quotient = self._reciprocal(quotient)
            return reduce(quotient_product, [quotient] * abs(int(exponent)), Quotient(constant(1)))
        if exponent.is_Rational and base.is_Symbol and base.is_nonnegative:
            order = self.root_order(base)
            if (exponent * order).is_Integer and (exponent > 0 or base.is_positive):
                return Quotient(power_of(self._letter(base), int(exponent * order)))
        if exponent.is_Rational and base.is_Rational and base > 0:
            root = base ** sympy.Rational(1, exponent.q)
            if root.is_Pow:
                index = self.atom(root, f"({root})", "positive")
                return Quotient(power_of(index, int(exponent.p)))
        raise Untranslatable(f"{base}^({exponent})")

    def _reciprocal(self, quotient: Quotient) -> Quotient:
        numerator = product(quotient.denominators)
        if not quotient.numerator:
            raise Untranslatable("division by zero")
        if len(quotient.numerator) == 1:
            ((monomial, coefficient),) = quotient.numerator.items()
            if is_positive(monomial, tuple(self.atoms)):
                return Quotient(shift(scaled(numerator, 1 / coefficient), inverse(monomial)))
        return Quotient(numerator, (quotient.numerator,))
