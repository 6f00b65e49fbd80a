"""The polynomial problem that stands for a sequent without Abs, Max and Min.

Every constraint of the problem holds wherever the hypotheses do: it is a hypothesis with its
denominators cleared, the logarithm of one, or a fact about an atom. Denominators are cleared only
where their sign is certain; a hypothesis with any other is left out, which only weakens it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import sympy

from swingby.proofs.prover.scalar.laurent import (
    Polynomial,
    add,
    constant,
    inverse,
    multiply,
    power_of,
    scaled,
)
from swingby.proofs.prover.scalar.polynomial_problem import Constraint, PolynomialProblem
from swingby.proofs.prover.scalar.positivity_certificate import (
    PositivityCertificate,
    evident_certificate,
    find_certificate,
)
from swingby.proofs.prover.scalar.rational_bounds import bound_root, enclose
from swingby.proofs.prover.scalar.relation import Relation, Sequent, expression_text
from swingby.proofs.prover.scalar.translation import Quotient, Translator, Untranslatable
from swingby.theory.numbers import fraction

#: Exponents and logarithms that are compared with each other.
_MOST_CURVES = 4
#: With a higher power z3 takes no notice of its time.
_HIGHEST_POWER = 500

_KINDS = {"<=": ">=", "<": ">", "==": "=="}


def polynomial_form(
    sequent: Sequent, *, logarithmic: bool = False, rich: bool = False
) -> PolynomialProblem:
    """The polynomial form of a sequent without Abs, Max and Min.

    `logarithmic`: of the logarithms of the sides, positive monomials times exponentials.
    `rich`: with the tangents of exp at 1, too.
    Raises Untranslatable if the goal has no such form, or a denominator of it has no certain sign.
    """
    positive = (r.large for r in sequent.hypotheses if r.kind == "<" and r.small == 0)
    sides = [side for relation in sequent.relations for side in relation.sides]
    translator = Translator(sides, positive)
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
    if any(isinstance(atom.meaning, sympy.log | sympy.exp) for atom in translator.atoms):
        for relation in sequent.hypotheses:
            with contextlib.suppress(Untranslatable):
                difference = translator.logarithm_of_ratio(relation)
                label = f"logarithm of {relation}"
                constraints.append(Constraint(difference, _KINDS[relation.kind], label))
    roots = {
        power.exp * sympy.log(power.base)
        for side in itertools.chain(*(relation.sides for relation in sequent.relations))
        for power in side.atoms(sympy.Pow)
        if power.base.is_Symbol and power.exp.is_Rational and not power.exp.is_Integer
    }
    constraints += list(_curved_facts(translator, constraints, sorted(roots, key=str), rich))
    constraints += [*_number_facts(translator), *_root_facts(translator, constraints)]
    for relation, quotient in postponed:
        cleared, positive_by = _clear_denominators(translator, quotient, constraints)
        if cleared is not None:
            constraints.append(replace(_constraint(relation, cleared), reasons=tuple(positive_by)))
    cleared, positive_by = _clear_denominators(translator, target, constraints)
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
        tuple(translator.atoms),
        tuple(unique.values()),
        Constraint(cleared, _KINDS[goal.kind], reasons=tuple(positive_by)),
    )


def short_certificate(sequent: Sequent) -> PositivityCertificate | None:
    """A short certificate of a sequent; None without one, or where it has no polynomial form."""
    try:
        return find_certificate(polynomial_form(sequent), effort=0)
    except (Untranslatable, ValueError):
        return None


def _is_low(polynomial: Polynomial) -> bool:
    return all(abs(power) <= _HIGHEST_POWER for term in polynomial for _, power in term)


def _constraint(relation: Relation, polynomial: Polynomial) -> Constraint:
    label = f"{relation}" + (f" [{relation.label}]" if relation.label else "")
    if not polynomial and relation.kind == "<":
        return Constraint(constant(-1), ">=", label)
    return Constraint(polynomial, _KINDS[relation.kind], label)


def _clear_denominators(
    translator: Translator, quotient: Quotient, constraints: list[Constraint]
) -> tuple[Polynomial | None, list[PositivityCertificate]]:
    """The numerator times the sign of the denominators, and why these are positive."""
    numerator, reasons = quotient.numerator, []
    for denominator in quotient.denominators:
        sign, reason = _certain_sign(translator, denominator, ">", constraints)
        if reason is None:
            return None, []
        numerator = scaled(numerator, sign)
        reasons += [reason] if reason.used else []
    return numerator, reasons


def _certain_sign(
    translator: Translator, polynomial: Polynomial, kind: str, constraints: list[Constraint]
) -> tuple[int, PositivityCertificate | None]:
    """1 or -1, the certain sign of a polynomial that is not 0 (for `kind` ">"), and the reason."""
    for search in (evident_certificate, functools.partial(find_certificate, effort=0)):
        for sign in (1, -1):
            goal = Constraint(scaled(polynomial, sign), kind)
            problem = PolynomialProblem(tuple(translator.atoms), tuple(constraints), goal)
            if (certificate := search(problem)) is not None:
                return sign, certificate
    return 0, None


def _curved_facts(
    translator: Translator, constraints: list[Constraint], roots: list[Any], rich: bool
) -> Iterator[Constraint]:
    """What exp(y) >= 1 + y says of the exponentials and logarithms.

    y is an exponent, a logarithm, its opposite, or the difference of two of them; beside a
    logarithm, that of a root of the same letter, too. And exp(y) >= 1 if y >= 0 follows.
    """
    curves: dict[Any, tuple[Polynomial, Polynomial]] = {}
    exponents = [exponential.exp for exponential in translator.exponentials]
    occurring = {*exponents, *translator.logarithms}
    exponents += [a.meaning.exp for a in translator.atoms if isinstance(a.meaning, sympy.exp)]
    letters = {x.args[0] for x in translator.logarithms}
    exponents += [y for y in roots if y.free_symbols & letters]
    for y in dict.fromkeys(exponents):
        try:
            value, argument = translator.quotient(sympy.exp(y)), translator.quotient(y)
        except Untranslatable:
            continue
        if not argument.denominators and not value.denominators and len(value.numerator) == 1:
            curves[y] = argument.numerator, value.numerator
    for index, atom in enumerate(list(translator.atoms)):
        if isinstance(atom.meaning, sympy.log) and atom.meaning.free_symbols:
            inside = translator.sums.get(index)
            if inside is None:
                inside = translator.quotient(atom.meaning.args[0]).numerator
            else:
                yield Constraint(inside, ">", f"{atom.name} is defined")
            curves[atom.meaning] = power_of(index), inside
    for logarithm in translator.logarithms:
        with contextlib.suppress(Untranslatable):
            argued = translator.quotient(logarithm.args[0])
            if logarithm.free_symbols and not argued.denominators:
                known = translator.logarithm(logarithm.args[0])
                curves.setdefault(logarithm, (known, argued.numerator))
    nothing: tuple[Any, tuple[Polynomial, Polynomial]] = (sympy.Integer(0), ({}, constant(1)))
    fixed = [nothing]
    if rich:
        base = translator.quotient(sympy.E).numerator
        fixed.append((sympy.Integer(1), (constant(1), base)))
        fixed.append((sympy.Integer(-1), (constant(-1), {inverse(t): v for t, v in base.items()})))
    inner = [curve for curve in curves.items() if curve[0] in occurring][:_MOST_CURVES]
    pairs = [
        pair for curve in curves.items() for at in fixed for pair in ((at, curve), (curve, at))
    ]
    pairs += itertools.permutations(inner, 2)
    for (first, (y, power)), (second, (x, under)) in pairs:
        # exp(y - x) >= 1 + y - x, times exp(x)
        fact = add(add(power, under, -1), multiply(add(y, x, -1), under), -1)
        name = expression_text(first - second)
        yield Constraint(fact, ">=", f"exp(y) >= 1 + y at y = {name}", name)
    half, sixth = Fraction(1, 2), Fraction(1, 6)
    for exponent, (y, power) in curves.items():
        sign, reason = _certain_sign(translator, y, ">=", constraints)
        if reason is None or isinstance(exponent, sympy.log):
            continue
        name = expression_text(sign * exponent)
        reasons = (reason,) if reason.used else ()
        bound = scaled(add(power, constant(1), -1), sign)
        yield Constraint(bound, ">=", f"exp is monotone at {name}", name, reasons)
        size = scaled(y, sign)
        ((term, number),) = power.items()
        powers = {sign: power, -sign: {inverse(term): 1 / number}}
        square = multiply(size, size)
        above = add(add(add(powers[1], constant(1), -1), size, -1), square, -half)
        below = add(add(add(constant(1), size, -1), square, half), powers[-1], -1)
        last = add(scaled(below, -1), multiply(square, size), sixth)
        for series in (above, below, last):
            yield Constraint(series, ">=", f"the series of exp at {name}", name, reasons)


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
