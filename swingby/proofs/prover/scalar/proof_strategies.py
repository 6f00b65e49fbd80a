"""Strategies that prove a sequent: expansion, positivity certificates, boxes, whole numbers.

A strategy comes back with an attempt: a proof with its evidence, or what did not work and where the
goal may fail. Only exact arithmetic and balls ever prove.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import sympy

from swingby.proofs.prover.scalar.branch_and_bound import prove_on_boxes
from swingby.proofs.prover.scalar.monotonicity import prove_on_line
from swingby.proofs.prover.scalar.named_terms import (
    name_factors,
    name_logarithms,
    name_roots,
    name_tangents,
)
from swingby.proofs.prover.scalar.polynomial_form import polynomial_form
from swingby.proofs.prover.scalar.polynomial_problem import PolynomialProblem
from swingby.proofs.prover.scalar.positivity_certificate import (
    PositivityCertificate,
    certificate_of_means,
    find_certificate,
    with_negated_goal,
)
from swingby.proofs.prover.scalar.preparation import (
    eliminate_equations,
    recognise_signs,
    relax,
    split_cases,
)
from swingby.proofs.prover.scalar.relation import Relation, Sequent, expression_text
from swingby.proofs.prover.scalar.squares import sum_of_squares
from swingby.proofs.prover.scalar.translation import Translator, Untranslatable
from swingby.proofs.prover.scalar.translation_check import check_translation, identity_at_points
from swingby.proofs.prover.scalar.z3_check import check_with_z3
from swingby.theory.search_time import OutOfTime, processor_time

#: Seconds for one search for sums of squares.
_SECONDS_FOR_SQUARES = 3.0


@dataclass(frozen=True)
class Attempt:
    """The outcome of a strategy.

    `tried`: what did not work. `candidates`: points at which the goal may fail. `proof`:
    certificates, where all of it has one.
    """

    proved: bool
    method: str = ""
    evidence: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    candidates: tuple[dict[str, Any], ...] = ()
    proof: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class PolynomialForm:
    """A sequent as a polynomial problem, and the name of this translation."""

    name: str
    sequent: Sequent
    problem: PolynomialProblem


#: A way to prove a form; None where it does not work.
_Way = Callable[[PolynomialForm], Attempt | None]


def by_expansion(sequent: Sequent) -> Attempt:
    """An equation whose two sides expand to the same."""
    if sequent.goal.kind != "==":
        return Attempt(False)
    replaced: list[tuple[Any, Any]] = []
    sequent = eliminate_equations(sequent, replaced)
    goal = sequent.goal
    try:
        translator = Translator(goal.sides)
        difference = translator.quotient(goal.difference)
    except Untranslatable as reason:
        return Attempt(False, tried=(f"expansion: {reason}",))
    if difference.numerator:
        return Attempt(False, tried=("expansion: the sides differ",))
    count = identity_at_points(sequent)
    names = ", ".join(atom.name for atom in translator.atoms)
    lines = (f"left - right = 0 after expansion in {names}", f"no difference at {count} points")
    return Attempt(True, "exact expansion", lines, proof=(checkable_steps(replaced),))


def checkable_steps(replaced: list[tuple[Any, Any]], **steps: Any) -> dict[str, Any]:
    """A certificate as ``check.py`` reads it; without steps, that two sides are the same."""
    empty: dict[str, Any] = {"tangents": [], "turned": False, "facts": [], "pieces": []}
    return (
        empty
        | steps
        | {"replaced": [[str(letter), expression_text(value)] for letter, value in replaced]}
    )


def by_certificate(sequent: Sequent, *, quick: bool = False) -> Attempt:
    """A positivity certificate for every case of Abs, Max and Min; `quick`: a short one only."""
    combined = functools.partial(_prove_case, quick=quick)
    goal = sequent.goal

    def prove_all(goals: list[Relation]) -> Attempt:
        halves = (replace(sequent, goal=bound) for bound in goals)
        return join_attempts(by_certificate(half, quick=quick) for half in halves)

    if goal.kind == "==":
        reversed_goal = Relation(goal.large, goal.small, "<=", goal.label)
        return prove_all([replace(goal, kind="<="), reversed_goal])
    sizes = [f for f in sympy.Mul.make_args(goal.small) if isinstance(f, sympy.Abs)]
    if len(sizes) == 1 and (goal.small / sizes[0]).is_positive:
        factor, inside = goal.small / sizes[0], sizes[0].args[0]
        attempt = prove_all([replace(goal, small=factor * end) for end in (inside, -inside)])
        if attempt.proved or not inside.is_Symbol:
            return attempt
    replaced: list[tuple[Any, Any]] = []
    prepared = recognise_signs(eliminate_equations(sequent, replaced))

    # log(x) <= x - 1 is the tangent at log(x)
    logs = {log for relation in prepared.relations for log in relation.difference.atoms(sympy.log)}

    def complete(attempt: Attempt) -> Attempt:
        tangents = sorted(map(expression_text, logs))
        steps = [step | {"tangents": step["tangents"] + tangents} for step in attempt.proof]
        return replace(attempt, proof=tuple(checkable_steps(replaced, **step) for step in steps))

    relaxed, exact = relax(prepared)
    if relaxed != prepared:
        attempt = combined(recognise_signs(relaxed))
        if attempt.proved or exact:
            return complete(attempt)
    cases = split_cases(prepared)
    if cases is None:
        return Attempt(False, tried=("too many cases",))
    if len(cases) == 1:
        return complete(combined(cases[0]))

    def labelled(case: Sequent) -> Attempt:
        attempt = combined(case)
        conditions = ", ".join(str(r) for r in case.hypotheses if r.label == "case")
        return replace(attempt, evidence=(f"case {conditions}:", *attempt.evidence), proof=())

    return join_attempts(map(labelled, cases))


def join_attempts(attempts: Iterable[Attempt]) -> Attempt:
    """All attempts joined, or the first that fails: none is made after it."""
    proved: list[Attempt] = []
    for attempt in attempts:
        if not attempt.proved:
            return attempt
        proved.append(attempt)
    method = min((attempt.method for attempt in proved), key=lambda name: "agrees" in name)
    evidence = tuple(line for attempt in proved for line in attempt.evidence)
    complete = all(attempt.proof for attempt in proved)
    proof = tuple(content for attempt in proved if complete for content in attempt.proof)
    return Attempt(True, method, evidence, proof=proof)


def _prove_case(case: Sequent, *, quick: bool) -> Attempt:
    """The first of all ways that proves a sequent without Abs, Max and Min."""
    tried: list[str] = []
    candidates: list[dict[str, Any]] = []
    case = name_roots(case)
    polynomials = _forms(tried, ("polynomials", case, False))
    for form, way in _forms_and_ways(case, polynomials, quick, tried):
        attempt = way(form)
        if attempt is not None:
            return attempt
    for form in [] if quick else polynomials:
        answer, point = check_with_z3(form.problem)
        tried.append(f"z3 in {form.name}: {answer}" + ", no proof by itself" * (answer == "unsat"))
        candidates += [point] if point else []
    return Attempt(False, tried=tuple(tried), candidates=tuple(candidates))


def _forms_and_ways(
    case: Sequent, polynomials: list[PolynomialForm], quick: bool, tried: list[str]
) -> Iterator[tuple[PolynomialForm, _Way]]:
    """Forms of a sequent and ways to prove them, from cheap to dear; made when they are needed."""
    curved = any(relation.difference.has(sympy.exp, sympy.log) for relation in case.relations)
    forms = polynomials + (_forms(tried, ("logarithms", case, True)) if curved else [])
    yield from itertools.product(forms, [_by_constraints])
    if quick:
        return
    grouped, factored = name_logarithms(case) if curved else case, name_factors(case)
    variants = [("grouped logarithms", grouped, True), ("products", factored, False)]
    variant_forms = _forms(tried, *(form for form in variants if form[1] != case))
    yield from itertools.product(variant_forms, [_by_constraints])
    forms += variant_forms
    for way in (_by_squares, _by_chains_and_pairs):
        yield from itertools.product(forms, [way])
    tried += [f"certificate in {form.name}: none found" for form in forms]
    if curved:
        tangents = _forms(tried, ("tangents", name_tangents(case), False))
        for way in (_by_constraints, _by_chains_and_pairs, _by_squares):
            yield from itertools.product(tangents, [way])


def _forms(tried: list[str], *forms: tuple[str, Sequent, bool]) -> list[PolynomialForm]:
    """Those of some forms that there are; why there is none of the others goes to `tried`."""
    translated = []
    for name, sequent, logarithmic in forms:
        try:
            problem = polynomial_form(sequent, logarithmic=logarithmic)
        except (Untranslatable, ValueError) as reason:
            tried.append(f"{name}: {reason}")
        else:
            translated.append(PolynomialForm(name, sequent, problem))
    return translated


def _by_constraints(form: PolynomialForm) -> Attempt | None:
    return _accept(form, find_certificate(form.problem, effort=0))


def _by_chains_and_pairs(form: PolynomialForm) -> Attempt | None:
    """Chains of hypotheses and products of two, also against the negation of the goal."""
    for problem in (form.problem, with_negated_goal(form.problem)):
        attempt = _accept(form, find_certificate(problem, least=1))
        if attempt is not None:
            return attempt
    return None


def _by_squares(form: PolynomialForm) -> Attempt | None:
    """Inequalities between means, and sums of squares."""
    if "logarithms" in form.name:
        return None
    ways = [(form.problem, certificate_of_means), (form.problem, sum_of_squares)]
    if form.name == "polynomials":
        ways.insert(1, (with_negated_goal(form.problem), certificate_of_means))
    for problem, search in ways:
        certificate = None
        with contextlib.suppress(OutOfTime), processor_time(_SECONDS_FOR_SQUARES):
            certificate = search(problem)
        if certificate is not None:
            return _accept(form, certificate)
    return None


def _accept(form: PolynomialForm, certificate: PositivityCertificate | None) -> Attempt | None:
    """A certificate as an attempt that proves, once its translation and z3 do not contradict."""
    if certificate is None:
        return None
    problem, case = certificate.problem, form.sequent
    points = check_translation(case, form.problem)
    used = tuple(
        constraint for constraint in problem.constraints if constraint.label in certificate.used
    )
    answer, _ = check_with_z3(replace(problem, constraints=used), timeout=1500)
    if answer == "sat":
        raise RuntimeError(f"z3 contradicts a certificate of {case.goal}: {certificate}")
    lines = [str(certificate) if form.name == "polynomials" else f"in {form.name}: {certificate}"]
    lines += [f"uses {label}" for label in certificate.used if label]
    lines.append(
        f"translation compared at {points} points"
        if points
        else "translation not compared: no point of its hypotheses was met"
    )
    agrees = "z3 agrees" if answer == "unsat" else "checked twice"
    exponents = {
        exponential.exp for r in case.relations for exponential in r.difference.atoms(sympy.exp)
    }
    exponents |= {a.meaning.exp for a in problem.atoms if isinstance(a.meaning, sympy.exp)}
    proof = certificate.steps() | {"tangents": sorted(map(expression_text, exponents))}
    return Attempt(True, f"certificate, {agrees}", tuple(lines), proof=(proof,))


def by_boxes(sequent: Sequent) -> Attempt:
    """Boxes, for at most two letters."""
    cases = split_cases(recognise_signs(eliminate_equations(sequent)))
    if cases is None:
        return Attempt(False, tried=("too many cases",))
    lines: list[str] = []
    method = "boxes in ball arithmetic"
    for case in cases:
        proved, report = prove_on_boxes(case)
        if not proved:
            steps = prove_on_line(case)
            if steps is None:
                return Attempt(False, tried=(f"boxes: {report.corner}",))
            lines += steps
            method = "monotone beyond a known value, in ball arithmetic"
            continue
        lines += [*report.steps, f"{report.boxes} boxes in balls of 128 bits"]
    return Attempt(True, method, tuple(lines))


def by_whole_numbers(sequent: Sequent) -> Attempt:
    """Cases k <= 0 and k >= 1 of an integer letter, or k <= -1 and k >= 0: nothing lies between."""
    integers = [letter for letter in sequent.symbols if letter.is_integer]
    for at in (sympy.S.Zero, sympy.S.NegativeOne) if len(integers) == 1 else ():
        ends = (integers[0], at), (at + 1, integers[0])
        cases = (Relation(small, large, "<=", "case") for small, large in ends)
        halves = (replace(sequent, hypotheses=(*sequent.hypotheses, case)) for case in cases)
        attempt = join_attempts(by_certificate(half) for half in halves)
        if attempt.proved:
            line = f"{integers[0]} is a whole number: at most {at}, or at least {at + 1}"
            return replace(attempt, evidence=(line, *attempt.evidence), proof=())
    return Attempt(False)


#: Ways to prove a sequent, from cheap to dear; a new one is a row here.
STRATEGIES: tuple[Callable[..., Attempt], ...] = (by_certificate, by_boxes)
#: What is tried on every reading of a sequent once all of these have failed.
LAST_RESORTS: tuple[Callable[..., Attempt], ...] = (by_whole_numbers,)
