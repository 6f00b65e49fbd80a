"""Expressions as quotients of Laurent polynomials in atoms.

Atoms are letters (or their roots: kappa = r^2 where sqrt(kappa) occurs), exponentials
``exp(c M)`` with M a monomial, and logarithms of letters and primes. All exponentials whose
exponents are rational multiples of the same M are powers of one atom.

The polynomial problem that stands for a sequent without Abs, Max and Min.

Every constraint of the problem holds wherever the hypotheses do: it is a hypothesis with its
denominators cleared, the logarithm of one, or a fact about an atom. Denominators are cleared only
where their sign is certain; a hypothesis with any other is left out, which only weakens it.

Factors such as kappa - 1 as letters of their own.

Where a difference that is certainly positive stands as a factor, a positive letter takes its
place, tied to it by an equation. Inequalities between products of such factors then become
inequalities between monomials.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import Any

import sympy

from swingby.proofs.prover.scalar.exact_value import bound_root, enclose, fraction
from swingby.proofs.prover.scalar.laurent import (
    Atom,
    Constraint,
    Polynomial,
    PolynomialProblem,
    Quotient,
    add,
    constant,
    inverse,
    is_positive,
    power_of,
    product,
    quotient_product,
    quotient_sum,
    scaled,
    shift,
)
from swingby.proofs.prover.scalar.positivity_certificate import find_certificate
from swingby.proofs.prover.scalar.relation import Relation, Sequent, expression_text

#: Larger powers are not multiplied out; with higher ones z3 takes no notice of its time.
_LARGEST_POWER, _HIGHEST_POWER = 64, 500


class Untranslatable(Exception):
    """An expression that has no polynomial form."""


def _exponent_terms(exponent: Any) -> tuple[list[tuple[Any, Any]], Any]:
    """An exponent as pairs of a rational and a monomial, and what its terms c log(x) are: x^c."""
    terms, power = [], sympy.Integer(1)
    for term in sympy.Add.make_args(sympy.expand(sympy.expand_log(exponent))):
        factor, rest = term.as_coeff_Mul()
        if not factor.is_Rational:
            raise Untranslatable(str(exponent))
        if isinstance(rest, sympy.log) and rest.args[0].is_positive:
            power *= rest.args[0] ** factor
        elif factor:
            terms.append((factor, rest))
    return terms, power


class Translator:
    """Turns expressions into quotients over one list of atoms.

    Roots and exponents are made commensurable over all that will be translated.
    """

    def __init__(self, expressions: Iterable[Any]) -> None:
        self.atoms: list[Atom] = []
        self.exponentials: list[Any] = []
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
                for factor, rest in terms:
                    self._steps[rest] = sympy.gcd(self._steps.get(rest, 0), factor)
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
        """The logarithm of a positive monomial, as a polynomial; Untranslatable for others."""
        quotient = self.quotient(expression)
        if quotient.denominators or len(quotient.numerator) != 1:
            raise Untranslatable(f"log({expression})")
        ((monomial, coefficient),) = quotient.numerator.items()
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

    def logarithm_of_ratio(self, relation: Relation) -> Polynomial:
        """log(large side) - log(small side)."""
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
        for factor, rest in terms:
            step = self._steps.get(rest)
            if step is None or not (factor / step).is_Integer:
                raise Untranslatable(f"exp({exponent})")
            meaning = sympy.exp(step * rest)
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


_KINDS = {"<=": ">=", "<": ">", "==": "=="}


def polynomial_problem(sequent: Sequent, *, logarithmic: bool = False) -> PolynomialProblem:
    """The polynomial form of a sequent without Abs, Max and Min.

    `logarithmic`: of the logarithms of the sides, positive monomials times exponentials.
    Raises Untranslatable if the goal has no such form, or a denominator of it has no certain sign.
    """
    translator = Translator([side for relation in sequent.relations for side in relation.sides])
    goal = sequent.goal
    if logarithmic:
        target = Quotient(translator.logarithm_of_ratio(goal))
    else:
        target = translator.quotient(goal.difference)
    constraints: list[Constraint] = []
    postponed: list[tuple[Relation, Quotient]] = []
    for relation in sequent.hypotheses:
        try:
            quotient = translator.quotient(relation.difference)
        except Untranslatable:
            continue
        if quotient.denominators:
            postponed.append((relation, quotient))
        else:
            constraints.append(_constraint(relation, quotient.numerator))
    if logarithmic or any(isinstance(atom.meaning, sympy.log) for atom in translator.atoms):
        for relation in sequent.hypotheses:
            with contextlib.suppress(Untranslatable):
                difference = translator.logarithm_of_ratio(relation)
                label = f"logarithm of {relation}"
                constraints.append(Constraint(difference, _KINDS[relation.kind], label))
    if not logarithmic:
        constraints += list(_exponential_facts(translator, constraints))
    constraints += [*_number_facts(translator), *_root_facts(translator, constraints)]
    for relation, quotient in postponed:
        cleared = _cleared(translator, quotient, constraints)
        if cleared is not None:
            constraints.append(_constraint(relation, cleared))
    cleared = _cleared(translator, target, constraints)
    if cleared is None:
        raise Untranslatable("a denominator of the conclusion has no certain sign")
    # Clearing and taking logarithms may have brought in new atoms.
    labels = {constraint.label for constraint in constraints}
    constraints += [fact for fact in _number_facts(translator) if fact.label not in labels]
    unique = {
        (tuple(sorted(constraint.polynomial.items())), constraint.kind): constraint
        for constraint in constraints
        if constraint.polynomial and _is_low(constraint.polynomial)
    }
    if not _is_low(cleared):
        raise Untranslatable(f"a power above {_HIGHEST_POWER}")
    return PolynomialProblem(
        tuple(translator.atoms), tuple(unique.values()), Constraint(cleared, _KINDS[goal.kind])
    )


def _is_low(polynomial: Polynomial) -> bool:
    return all(abs(power) <= _HIGHEST_POWER for term in polynomial for _, power in term)


def _constraint(relation: Relation, polynomial: Polynomial) -> Constraint:
    label = f"{relation}" + (f" [{relation.label}]" if relation.label else "")
    if not polynomial and relation.kind == "<":
        return Constraint(constant(-1), ">=", label)
    return Constraint(polynomial, _KINDS[relation.kind], label)


def _cleared(
    translator: Translator, quotient: Quotient, constraints: list[Constraint]
) -> Polynomial | None:
    """The numerator times the sign of the denominators, if that is certain."""
    numerator = quotient.numerator
    for denominator in quotient.denominators:
        sign = _certain_sign(translator, denominator, ">", constraints)
        if not sign:
            return None
        numerator = scaled(numerator, sign)
    return numerator


def _certain_sign(
    translator: Translator, polynomial: Polynomial, kind: str, constraints: list[Constraint]
) -> int:
    """1 or -1, the certain sign of a polynomial that is not 0 (for `kind` ">"), or 0."""
    for sign in (1, -1):
        goal = Constraint(scaled(polynomial, sign), kind)
        problem = PolynomialProblem(tuple(translator.atoms), tuple(constraints), goal)
        if find_certificate(problem, effort=0) is not None:
            return sign
    return 0


def _exponential_facts(
    translator: Translator, constraints: list[Constraint]
) -> Iterator[Constraint]:
    """e^y >= 1 + y and e^-y >= 1 - y, and e^y >= 1 where y >= 0 follows."""
    for exponential in translator.exponentials:
        y = exponential.exp
        try:
            value = translator.quotient(exponential).numerator
            argument = translator.quotient(y)
        except Untranslatable:
            continue
        if argument.denominators or len(value) != 1:
            continue
        ((monomial, coefficient),) = value.items()
        name = expression_text(y)
        bound = add(value, constant(1), -1)
        above = add(bound, argument.numerator, -1)
        reciprocal = {inverse(monomial): 1 / coefficient}
        below = add(add(reciprocal, constant(1), -1), argument.numerator)
        yield Constraint(above, ">=", f"exp(y) >= 1 + y at y = {name}")
        yield Constraint(below, ">=", f"exp(-y) >= 1 - y at y = {name}")
        sign = _certain_sign(translator, argument.numerator, ">=", constraints)
        if sign:
            yield Constraint(scaled(bound, sign), ">=", f"exp is monotone at {name}")
    for index, atom in enumerate(translator.atoms):
        if isinstance(atom.meaning, sympy.exp) and atom.meaning.exp.is_nonnegative:
            bound = add(power_of(index), constant(1), -1)
            yield Constraint(bound, ">=", f"{atom.name} >= 1")


def _number_facts(translator: Translator) -> Iterator[Constraint]:
    """Rational bounds of the atoms that are numbers, and the equation of a root of a number."""
    for index, atom in enumerate(translator.atoms):
        meaning: Any = atom.meaning
        if meaning.free_symbols:
            continue
        lower, upper = enclose(meaning)
        power = power_of(index)
        yield Constraint(add(power, constant(lower), -1), ">", f"{atom.name} > {lower}")
        yield Constraint(add(constant(upper), power, -1), ">", f"{atom.name} < {upper}")
        if meaning.is_Pow and meaning.args[0].is_Rational:
            base, order = fraction(meaning.args[0]), int(meaning.args[1].q)
            equation = add(power_of(index, order), constant(base), -1)
            yield Constraint(equation, "==", f"{atom.name}^{order} = {base}")


def _root_facts(translator: Translator, constraints: list[Constraint]) -> Iterator[Constraint]:
    """Rational bounds of r that follow from bounds of r^q."""
    for index, atom in enumerate(translator.atoms):
        meaning: Any = atom.meaning
        if not (meaning.is_Pow and meaning.args[0].is_Symbol):
            continue
        order = int(meaning.args[1].q)
        power = ((index, order),)
        for constraint in constraints:
            terms = constraint.polynomial
            if set(terms) != {power, ()} or constraint.kind == "==":
                continue
            bound, below = -terms[()] / terms[power], terms[power] > 0
            if bound <= 0:
                continue
            root = bound_root(bound, order, below=below)
            polynomial = scaled(add(power_of(index), constant(root), -1), 1 if below else -1)
            label = (
                f"{atom.name} {constraint.kind} {root}, a root of at most {bound}"
                if below
                else f"{root} {constraint.kind} {atom.name}, a root of at least {bound}"
            )
            yield Constraint(polynomial, constraint.kind, label)


#: Logarithms that are compared with each other.
_MOST_LOGARITHMS = 4


def _follows(given: tuple[Relation, ...], goal: Relation) -> bool:
    """Whether there is a short certificate."""
    try:
        return find_certificate(polynomial_problem(Sequent(given, goal))) is not None
    except (Untranslatable, ValueError):
        return False


def _subexpressions(sequent: Sequent, *kinds: Any) -> list[Any]:
    """Parts of some kinds on the sides of a sequent, by name."""
    sides = [side for relation in sequent.relations for side in relation.sides]
    return sorted(frozenset().union(*(side.atoms(*kinds) for side in sides)), key=str)


def name_factors(sequent: Sequent) -> Sequent:
    """A sequent in which differences that stand as factors are letters, if certainly positive."""
    differences: dict[Any, None] = {}
    for piece in _subexpressions(sequent, sympy.Mul, sympy.Pow):
        for factor in piece.args if piece.is_Mul else piece.args[:1]:
            if factor.is_Add and not factor.is_positive:
                differences[factor] = None
    for factor in differences:
        positive = Relation(sympy.Integer(0), factor, "<", "factor")
        if not _follows(sequent.hypotheses, positive):
            continue
        letter = sympy.Symbol(f"({expression_text(factor)})", positive=True)
        changed = sequent.substitute({factor: letter})
        # The definition, and the hypotheses as they were: one may bound the factor's letters.
        unchanged = tuple(r for r in sequent.hypotheses if factor not in r.sides)
        definition = Relation(letter, factor, "==", "definition")
        hypotheses = dict.fromkeys((*changed.hypotheses, *unchanged, definition, positive))
        sequent = Sequent(tuple(hypotheses), changed.goal)
    return sequent


def name_logarithms(sequent: Sequent) -> Sequent:
    """A sequent in which logarithms of certain sign in the goal are letters.

    log(Q) with Q >= 1 becomes a nonnegative letter, with Q <= 1 the negative of one. The letter is
    tied to the logarithms of the factors of Q by an equation.
    """
    unity = sympy.Integer(1)
    flat = tuple(r for r in sequent.hypotheses if not r.difference.has(sympy.log, sympy.exp))
    for logarithm in _subexpressions(Sequent((), sequent.goal), sympy.log):
        inside = logarithm.args[0]
        if inside.is_Symbol or not inside.free_symbols or inside.has(sympy.log, sympy.exp):
            continue
        for sign, side in ((1, Relation(unity, inside, "<=")), (-1, Relation(inside, unity, "<="))):
            if not _follows(flat, side):
                continue
            letter = sympy.Symbol(f"({expression_text(sign * logarithm)})", nonnegative=True)
            definition = Relation(sign * letter, logarithm, "==", "definition")
            changed = sequent.substitute({logarithm: sign * letter})
            sequent = Sequent((*changed.hypotheses, definition), changed.goal)
            break
    return sequent


def name_tangents(sequent: Sequent) -> Sequent:
    """A sequent with tangents of its exponentials and logarithms among the hypotheses.

    Every logarithm becomes a letter L = log(Q) with 1 - 1/Q <= L <= Q - 1 and -1/(e Q) <= L <= Q/e,
    also of the roots of Q that occur, two of them with L_1 - L_2 <= Q_1/Q_2 - 1; an exponential
    keeps its form, with exp(y) >= 1 + y and exp(y) >= e y, and exp(y) >= (e y/2)^2 where y >= 0.
    """
    bounds: list[tuple[Any, Any]] = []
    for exponential in _subexpressions(sequent, sympy.exp):
        y = exponential.exp
        under = [1 + y, sympy.E * y, *([(sympy.E * y / 2) ** 2] if y.is_nonnegative else [])]
        bounds += [(bound, exponential) for bound in under]
    letters = {
        logarithm: sympy.Symbol(f"({expression_text(logarithm)})", real=True)
        for logarithm in _subexpressions(sequent, sympy.log)
        if logarithm.free_symbols and not logarithm.args[0].has(sympy.log, sympy.exp)
    }
    powers = [power for power in _subexpressions(sequent, sympy.Pow) if power.exp.is_Rational]
    positive = []
    for logarithm, letter in letters.items():
        inside = logarithm.args[0]
        for order in sorted({1, *(power.exp.q for power in powers if power.base == inside)}):
            root = inside ** sympy.Rational(1, order)
            bounds += [(letter, order * (root - 1)), (letter, order * root / sympy.E)]
            bounds += [(order * (1 - 1 / root), letter), (-order / (root * sympy.E), letter)]
        bounds += [
            (letter - partner, inside / second.args[0] - 1)
            for second, partner in letters.items()
            if second is not logarithm and len(letters) <= _MOST_LOGARITHMS
        ]
        positive.append(Relation(sympy.Integer(0), inside, "<", "tangent"))
    changed = sequent.substitute(letters)
    facts = [Relation(small, large, "<=", "tangent") for small, large in bounds]
    return Sequent((*changed.hypotheses, *facts, *positive), changed.goal)


def name_roots(sequent: Sequent) -> Sequent:
    """A sequent in which roots of sums are letters, tied to what they are roots of."""
    roots: dict[Any, list[Any]] = {}
    for power in _subexpressions(sequent, sympy.Pow):
        if power.exp.is_Rational and not power.exp.is_Integer and power.base.free_symbols:
            roots.setdefault(power.base, []).append(power)
    facts: list[Relation] = []
    letters: dict[Any, Any] = {}
    for base in sorted(roots, key=str):
        if base.is_Symbol or base.has(sympy.log, sympy.exp) or base.atoms(sympy.Pow) & set(letters):
            continue
        order = math.lcm(*(int(power.exp.q) for power in roots[base]))
        positive = base.is_positive or any(power.exp < 0 for power in roots[base])
        name = f"({expression_text(base)})^(1/{order})"
        letter = sympy.Symbol(name, positive=True if positive else None, nonnegative=True)
        letters |= {power: letter ** (power.exp * order) for power in roots[base]}
        facts.append(Relation(letter**order, base, "==", "definition"))
    changed = sequent.substitute(letters)
    return Sequent((*changed.hypotheses, *facts), changed.goal)
