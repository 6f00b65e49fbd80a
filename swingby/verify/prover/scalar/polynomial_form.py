"""The polynomial problem that stands for a sequent without Abs, Max and Min.

Every constraint of the problem holds wherever the hypotheses do: it is a hypothesis with its
denominators cleared, the logarithm of one, or a fact about an atom. Denominators are cleared only
where their sign is certain; a hypothesis with any other is left out, which only weakens it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from swingby.verify.prover.scalar.certificate import find
from swingby.verify.prover.scalar.enclosure import enclose, lower_root, upper_root
from swingby.verify.prover.scalar.laurent import (
    Constraint,
    Polynomial,
    PolynomialProblem,
    Quotient,
    add,
    constant,
    inverse,
    power_of,
    surely_positive,
)
from swingby.verify.prover.scalar.relation import Relation, Sequent, plain
from swingby.verify.prover.scalar.translation import Translator, Untranslatable

KINDS = {"<=": ">=", "<": ">", "==": "=="}


def polynomial_problem(sequent: Sequent, *, logarithmic: bool = False) -> PolynomialProblem:
    """The polynomial form of a sequent.

    `sequent`: without Abs, Max and Min.
    `logarithmic`: compare the logarithms of the sides of the goal, which have to be positive
    monomials times exponentials.
    Raises Untranslatable if the goal has no such form, or a denominator of it has no certain sign.
    """
    sides = [side for relation in sequent.relations for side in (relation.small, relation.large)]
    translator = Translator(sides)
    goal = sequent.goal
    if logarithmic:
        target = Quotient(
            add(translator.logarithm(goal.large), translator.logarithm(goal.small), -1)
        )
    else:
        target = translator.quotient(goal.difference)
    constraints: list[Constraint] = []
    postponed: list[tuple[Relation, Quotient]] = []
    for relation in sequent.given:
        try:
            found = translator.quotient(relation.difference)
        except Untranslatable:
            continue
        if found.denominators:
            postponed.append((relation, found))
        else:
            constraints.append(_constraint(relation, found.numerator))
    if logarithmic or translator.has_logarithms:
        constraints += _logarithms(translator, sequent)
    if not logarithmic:
        constraints += _exponential_facts(translator, constraints)
    constraints += _number_facts(translator) + _root_facts(translator, constraints)
    for relation, found in postponed:
        cleared = _clear(translator, found, constraints)
        if cleared is not None:
            constraints.append(_constraint(relation, cleared))
    cleared = _clear(translator, target, constraints)
    if cleared is None:
        raise Untranslatable("a denominator of the conclusion has no certain sign")
    # Clearing and taking logarithms may have brought in new atoms.
    known = {constraint.label for constraint in constraints}
    late = [fact for fact in _number_facts(translator) if fact.label not in known]
    unique = {
        (tuple(sorted(constraint.polynomial.items())), constraint.kind): constraint
        for constraint in constraints + late
        if constraint.polynomial
    }
    return PolynomialProblem(
        tuple(translator.atoms), tuple(unique.values()), Constraint(cleared, KINDS[goal.kind])
    )


def _constraint(relation: Relation, polynomial: Polynomial) -> Constraint:
    label = f"{relation}" + (f" [{relation.label}]" if relation.label else "")
    if not polynomial and relation.kind == "<":
        return Constraint(constant(-1), ">=", label)
    return Constraint(polynomial, KINDS[relation.kind], label)


def _clear(
    translator: Translator, found: Quotient, constraints: list[Constraint]
) -> Polynomial | None:
    """The numerator times the sign of the denominators, if that is certain."""
    numerator = found.numerator
    for denominator in found.denominators:
        sign = _certain_sign(translator, denominator, constraints)
        if sign is None:
            return None
        numerator = {term: value * sign for term, value in numerator.items()}
    return numerator


def _certain_sign(
    translator: Translator, polynomial: Polynomial, constraints: list[Constraint]
) -> int | None:
    atoms = tuple(translator.atoms)
    for sign in (1, -1):
        signed = {term: value * sign for term, value in polynomial.items()}
        if surely_positive(signed, atoms):
            return sign
    for sign in (1, -1):
        signed = {term: value * sign for term, value in polynomial.items()}
        problem = PolynomialProblem(atoms, tuple(constraints), Constraint(signed, ">"))
        if find(problem, effort=1) is not None:
            return sign
    return None


def _logarithms(translator: Translator, sequent: Sequent) -> list[Constraint]:
    """The hypotheses between positive monomials, in their logarithms."""
    found = []
    for relation in sequent.given:
        try:
            difference = add(
                translator.logarithm(relation.large), translator.logarithm(relation.small), -1
            )
        except Untranslatable:
            continue
        label = f"logarithm of {relation}"
        found.append(Constraint(difference, KINDS[relation.kind], label))
    return found


def _exponential_facts(translator: Translator, known: list[Constraint]) -> list[Constraint]:
    """e^y >= 1 + y and e^-y >= 1 - y, and e^y >= 1 where y >= 0 follows."""
    facts = []
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
        name = plain(y)
        above = add(add(value, constant(1), -1), argument.numerator, -1)
        reciprocal = {inverse(monomial): 1 / coefficient}
        below = add(add(reciprocal, constant(1), -1), argument.numerator)
        facts.append(Constraint(above, ">=", f"exp(y) >= 1 + y at y = {name}"))
        facts.append(Constraint(below, ">=", f"exp(-y) >= 1 - y at y = {name}"))
        sign = _exponent_sign(translator, argument.numerator, known)
        if sign:
            bound = add(value, constant(1), -1)
            signed = {term: factor * sign for term, factor in bound.items()}
            facts.append(Constraint(signed, ">=", f"exp is monotone at {name}"))
    for place, atom in enumerate(translator.atoms):
        if isinstance(atom.meaning, sympy.exp) and atom.meaning.exp.is_nonnegative:
            bound = add(power_of(place), constant(1), -1)
            facts.append(Constraint(bound, ">=", f"{atom.name} >= 1"))
    return facts


def _exponent_sign(translator: Translator, polynomial: Polynomial, known: list[Constraint]) -> int:
    """1 for an exponent that is certainly not negative, -1 for not positive, 0 for unknown."""
    atoms = tuple(translator.atoms)
    for sign in (1, -1):
        signed = {term: value * sign for term, value in polynomial.items()}
        problem = PolynomialProblem(atoms, tuple(known), Constraint(signed, ">="))
        if find(problem, effort=0) is not None:
            return sign
    return 0


def _number_facts(translator: Translator) -> list[Constraint]:
    """Rational bounds of the atoms that are numbers, and the equation of a root of a number."""
    facts = []
    for place, atom in enumerate(translator.atoms):
        meaning: Any = atom.meaning
        if meaning.free_symbols:
            continue
        lower, upper = enclose(meaning)
        one = power_of(place)
        facts.append(Constraint(add(one, constant(lower), -1), ">", f"{atom.name} > {lower}"))
        facts.append(Constraint(add(constant(upper), one, -1), ">", f"{atom.name} < {upper}"))
        if meaning.is_Pow and meaning.args[0].is_Rational:
            base, exponent = meaning.args
            equation = add(
                power_of(place, int(exponent.q)), constant(Fraction(int(base.p), int(base.q))), -1
            )
            facts.append(Constraint(equation, "==", f"{atom.name}^{exponent.q} = {base}"))
    return facts


def _root_facts(translator: Translator, known: list[Constraint]) -> list[Constraint]:
    """Rational bounds of r that follow from bounds of r^q."""
    facts = []
    for place, atom in enumerate(translator.atoms):
        meaning: Any = atom.meaning
        if not (meaning.is_Pow and meaning.args[0].is_Symbol):
            continue
        order = int(meaning.args[1].q)
        power = ((place, order),)
        for constraint in known:
            terms = constraint.polynomial
            if set(terms) != {power, ()} or constraint.kind == "==":
                continue
            bound = -terms[()] / terms[power]
            if bound <= 0:
                continue
            if terms[power] > 0:
                root = lower_root(bound, order)
                polynomial = add(power_of(place), constant(root), -1)
                label = f"{atom.name} {constraint.kind} {root}, a root of at most {bound}"
            else:
                root = upper_root(bound, order)
                polynomial = add(constant(root), power_of(place), -1)
                label = f"{root} {constraint.kind} {atom.name}, a root of at least {bound}"
            facts.append(Constraint(polynomial, constraint.kind, label))
    return facts
