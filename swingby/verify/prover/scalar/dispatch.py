"""Scalar claims: inequalities and equations between real expressions, proved or refuted.

A claim is judged in the order: exact expansion, a quick search for a counterexample, a positivity
certificate with z3 as a second opinion, boxes in one or two letters, a longer search. Only exact
arithmetic and balls ever lead to *proved* or *refuted*.

Strategies that prove a sequent: expansion, certificates, boxes.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.theory.budget import OutOfTime, budget
from swingby.theory.claim import Claim
from swingby.theory.verdict import Finding
from swingby.verify.prover.evidence import TAUTOLOGY, Judged, Witness
from swingby.verify.prover.scalar.branch_and_bound import prove_on_boxes, prove_on_line
from swingby.verify.prover.scalar.certificate import (
    Certificate,
    find,
    means,
    with_negated_goal,
)
from swingby.verify.prover.scalar.counterexample import (
    LONG,
    QUICK,
    Search,
    confirm,
    counterexample,
    model,
)
from swingby.verify.prover.scalar.laurent import PolynomialProblem, by_roots, opinion
from swingby.verify.prover.scalar.relation import (
    ENOUGH,
    FALSUM,
    Relation,
    Sequent,
    as_fact,
    eliminate_equations,
    normal,
    plain,
    recognise_signs,
    relation_from,
    relax,
    resolved,
    side_conditions,
    signs_of_letters,
    split,
    unknown_part,
)
from swingby.verify.prover.scalar.sampling import check_translation, identity_at_points
from swingby.verify.prover.scalar.squares import (
    MOST_UNKNOWNS,
    multiplied_squares,
    sum_of_squares,
)
from swingby.verify.prover.scalar.translation import (
    Translator,
    Untranslatable,
    name_factors,
    name_logarithms,
    name_roots,
    name_tangents,
    polynomial_problem,
)

#: Seconds for one search for sums of squares.
SQUARES = 3.0
#: Unknowns with which squares are tried before long certificates.
FEW = 3

Method = Callable[[PolynomialProblem], Certificate | None]


@dataclass(frozen=True)
class Attempt:
    """What a strategy came back with.

    `tried`: what did not work. `candidates`: points at which the goal may fail. `proof`:
    certificates, where all of it has one.
    """

    proved: bool
    method: str = ""
    evidence: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    candidates: tuple[dict[str, Any], ...] = ()
    proof: tuple[dict[str, Any], ...] = ()


def by_expansion(sequent: Sequent, rng: int = 0) -> Attempt:
    """An equation whose two sides expand to the same."""
    if sequent.goal.kind != "==":
        return Attempt(False)
    replaced: list[tuple[Any, Any]] = []
    sequent = eliminate_equations(sequent, replaced)
    goal = sequent.goal
    try:
        translator = Translator([goal.small, goal.large])
        difference = translator.quotient(goal.difference)
    except Untranslatable as reason:
        return Attempt(False, tried=(f"expansion: {reason}",))
    if difference.numerator:
        return Attempt(False, tried=("expansion: the sides differ",))
    count = identity_at_points(sequent, rng=rng)
    names = ", ".join(atom.name for atom in translator.atoms)
    lines = (f"left - right = 0 after expansion in {names}", f"no difference at {count} points")
    return Attempt(True, "exact expansion", lines, proof=(_checkable(replaced),))


def _checkable(replaced: list[tuple[Any, Any]], **steps: Any) -> dict[str, Any]:
    """A certificate as ``check.py`` reads it; without steps, that two sides are the same."""
    empty: dict[str, Any] = {"tangents": [], "turned": False, "facts": [], "pieces": []}
    return empty | steps | {"replaced": [[str(one), plain(value)] for one, value in replaced]}


def by_certificate(sequent: Sequent, rng: int = 0, *, effort: int = 2) -> Attempt:
    """A positivity certificate for every case of Abs, Max and Min."""
    goal = sequent.goal
    if goal.kind == "==":
        halves = [
            replace(goal, kind="<="),
            Relation(goal.large, goal.small, "<=", goal.label),
        ]
        attempts = [
            by_certificate(replace(sequent, goal=half), rng, effort=effort) for half in halves
        ]
        return _together(attempts)
    sizes = [f for f in sympy.Mul.make_args(goal.small) if isinstance(f, sympy.Abs)]
    if len(sizes) == 1 and (goal.small / sizes[0]).is_positive:
        factor, inside = goal.small / sizes[0], sizes[0].args[0]
        ends = [replace(goal, small=factor * end) for end in (inside, -inside)]
        attempt = _together(
            [by_certificate(replace(sequent, goal=end), rng, effort=effort) for end in ends]
        )
        if attempt.proved or not inside.is_Symbol:
            return attempt
    replaced: list[tuple[Any, Any]] = []
    prepared = recognise_signs(eliminate_equations(sequent, replaced))

    def complete(attempt: Attempt) -> Attempt:
        return replace(attempt, proof=tuple(_checkable(replaced, **one) for one in attempt.proof))

    relaxed, exact = relax(prepared)
    if relaxed != prepared:
        attempt = _certify(recognise_signs(relaxed), rng, effort if exact else min(effort, 1))
        if attempt.proved or exact:
            return complete(attempt)
    cases = split(prepared)
    if cases is None:
        return Attempt(False, tried=("too many cases",))
    attempts = []
    for case in cases:
        attempt = _certify(case, rng, effort)
        if not attempt.proved:
            return attempt
        if len(cases) > 1:
            conditions = ", ".join(str(r) for r in case.given if r.label == "case")
            lines = (f"case {conditions}:", *attempt.evidence)
            attempt = replace(attempt, evidence=lines, proof=())
        attempts.append(attempt)
    return complete(_together(attempts))


def _together(attempts: list[Attempt]) -> Attempt:
    if not all(attempt.proved for attempt in attempts):
        return next(attempt for attempt in attempts if not attempt.proved)
    methods = {attempt.method for attempt in attempts}
    method = min(methods, key=lambda name: "agrees" in name)
    proof = (
        tuple(one for a in attempts for one in a.proof) if all(a.proof for a in attempts) else ()
    )
    evidence = tuple(line for a in attempts for line in a.evidence)
    return Attempt(True, method, evidence, proof=proof)


def _certify(case: Sequent, rng: int, effort: int) -> Attempt:
    """First without the hypotheses with log, where the conclusion has no exp and no log."""
    flat = tuple(r for r in case.given if not r.difference.has(sympy.log))
    if _is_curved(case.goal) or flat == case.given:
        return _combine(case, rng, effort)
    first = _combine(replace(case, given=flat), rng, effort)
    # A model of fewer hypotheses is still only a candidate: it is checked against all of them.
    second = first if first.proved else _combine(case, rng, min(effort, 0))
    return second if second.proved else replace(first, tried=(*first.tried, *second.tried))


def _is_curved(relation: Relation) -> bool:
    return bool(relation.difference.has(sympy.exp, sympy.log))


def _combine(case: Sequent, rng: int, effort: int) -> Attempt:
    case = name_roots(case)
    curved = any(map(_is_curved, case.relations))
    problems, tried = _problems([("polynomials", case, False), ("logarithms", case, True)], curved)
    # Letters for factors and for logarithms take time to find: only where nothing simple works.
    named = grouped = case
    for level in range(effort + 1):
        if level in (1, 2):
            decided = _decided(problems, rng, FEW if level == 1 else MOST_UNKNOWNS)
            if decided is not None:
                return decided
        for form, sequent, problem in problems:
            if level > 1 and (sequent is grouped != case or named not in (case, sequent)):
                continue
            accepted = _search(sequent, problem, form, level, rng)
            if accepted is not None:
                return accepted
        if level == 0 < effort:
            grouped = name_logarithms(case) if curved else case
            forms = [("grouped logarithms", grouped, True)] * (grouped != case)
            named = name_factors(case)
            if named != case:
                forms += [("products", named, False), ("logarithms of products", named, True)]
            more, failed = _problems(forms, curved)
            tried += failed
            for form, sequent, problem in more:
                accepted = _search(sequent, problem, form, level, rng)
                if accepted is not None:
                    return accepted
            problems += more
    if effort > 1 and curved:
        touching = name_tangents(case)
        more, failed = _problems([("tangents", touching, False)], curved)
        tried += failed
        for level in (0, 1):
            for form, sequent, problem in more:
                accepted = _search(sequent, problem, form, level, rng)
                if accepted is not None:
                    return accepted
        decided = _decided(more, rng, MOST_UNKNOWNS)
        if decided is not None:
            return decided
    candidates: list[dict[str, Any]] = []
    for form, _, problem in problems:
        tried.append(f"certificate in {form}: none found")
        if effort > 1 and form == "polynomials":
            answer, point = opinion(problem)
            tried.append(f"z3 in {form}: {answer}" + (", no proof by itself" * (answer == "unsat")))
            if point:
                candidates.append(point)
    return Attempt(False, tried=tuple(tried), candidates=tuple(candidates))


def _problems(
    forms: list[tuple[str, Sequent, bool]], curved: bool
) -> tuple[list[tuple[str, Sequent, PolynomialProblem]], list[str]]:
    """The polynomial problems of some forms of a sequent, and why there is none of the others."""
    problems, failed = [], []
    for form, sequent, logarithmic in forms:
        if logarithmic and not curved:
            continue
        try:
            problem = polynomial_problem(sequent, logarithmic=logarithmic)
        except (Untranslatable, ValueError) as reason:
            failed.append(f"{form}: {reason}")
        else:
            problems.append((form, sequent, problem))
    return problems, failed


def _search(
    sequent: Sequent, problem: PolynomialProblem, form: str, level: int, rng: int
) -> Attempt | None:
    turned = level == 1 and form != "logarithms of products"
    for option in [problem, with_negated_goal(problem)] if turned else [problem]:
        certificate = find(option, effort=level, least=level)
        if certificate is not None:
            return _accepted(sequent, problem, certificate, form, rng)
    return None


def _decided(
    problems: list[tuple[str, Sequent, PolynomialProblem]], rng: int, unknown: int
) -> Attempt | None:
    """By the roots in one unknown, by means, or by sums of squares."""
    squares = functools.partial(sum_of_squares, unknown=unknown)
    for form, sequent, problem in problems:
        proved, line, _ = by_roots(problem)
        if proved:
            points = check_translation(sequent, problem, rng=rng)
            return Attempt(True, "roots isolated in one letter", (line, _compared(points)))
        if form not in ("polynomials", "products", "tangents"):
            continue
        turned = [problem, with_negated_goal(problem)] if form == "polynomials" else [problem]
        methods: tuple[Method, ...] = (means, squares)
        ways = [*itertools.product(turned, methods), (problem, multiplied_squares)]
        for option, search in ways:
            try:
                with budget(SQUARES):
                    certificate = search(option)
            except OutOfTime:
                continue
            if certificate is not None:
                return _accepted(sequent, problem, certificate, form, rng)
    return None


def _compared(points: int) -> str:
    if points:
        return f"translation compared at {points} points"
    return "translation not compared: no point of its hypotheses was met"


def _accepted(
    case: Sequent, problem: PolynomialProblem, certificate: Certificate, form: str, rng: int
) -> Attempt:
    points = check_translation(case, problem, rng=rng)
    answer, _ = opinion(certificate.problem, certificate.used, timeout=1500)
    if answer == "sat":
        raise RuntimeError(f"z3 contradicts a certificate of {case.goal}: {certificate}")
    lines = ["" if form == "polynomials" else f"in {form}:"]
    lines = [f"{lines[0]} {certificate}".strip()]
    lines += [f"uses {label}" for label in certificate.used if label]
    lines.append(_compared(points))
    agrees = "z3 agrees" if answer == "unsat" else "checked twice"
    exponents = {
        exponential.exp for r in case.relations for exponential in r.difference.atoms(sympy.exp)
    }
    exponents |= {a.meaning.exp for a in problem.atoms if isinstance(a.meaning, sympy.exp)}
    proof = certificate.steps() | {"tangents": sorted(map(plain, exponents))}
    return Attempt(True, f"certificate, {agrees}", tuple(lines), proof=(proof,))


def by_boxes(sequent: Sequent, rng: int = 0) -> Attempt:
    """Boxes, for one or two letters."""
    cases = split(recognise_signs(eliminate_equations(sequent)))
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


#: Seconds for each relation of a claim.
BUDGET = 240.0


class Unknown(Exception):
    """A function that no prover here knows."""


@dataclass(frozen=True)
class Question:
    """One relation of a conclusion.

    `goal`: with the definitions put in.
    `needed`: what it needs to be defined.
    `empty`: as written it says that something is itself, or what a definition says.
    `assumed`: as written it stands among the hypotheses.
    """

    goal: Relation
    needed: tuple[Relation, ...]
    empty: bool
    assumed: bool


def judge_scalar(claim: Claim, *, rng: int = 0, seconds: float = BUDGET) -> Judged:
    """The verdict on a claim between real expressions.

    `claim`: its conclusion is one of <=, <, >=, >, =, !=, or an And of them. A chain is proved if
    every relation is, and refuted if one is. "exists" is judged through its negation.
    `rng`: seed of the search for counterexamples.
    `seconds`: budget for each relation; where it runs out, the verdict is *undecided* and says so.
    Returns a conclusion that is not defined wherever the hypotheses hold is not proved. One that
    says nothing is proved by :data:`TAUTOLOGY`, and one whose hypotheses contradict each other is
    *undecided*, with the method "vacuous".
    Raises InvalidInput if the conclusion or a hypothesis is no such relation, has a number that is
    not exact, or a definition is circular; RuntimeError if a proof and a counterexample are both
    found, which only a bug can do.
    """
    try:
        search, questions = prepared(claim)
    except Unknown as part:
        return Judged(Finding.UNDECIDED, "no prover", tried=(f"no prover knows {part}",))
    if claim.quantifier == "exists":
        return _existence(search, questions, rng, seconds)
    with budget(seconds):
        point = model(search.to(questions[0].goal), rng=rng) if claim.given else None
    parts = [_standing(search, question, rng, seconds) for question in questions]
    judged = parts[0] if len(parts) == 1 else _chain([q.goal for q in questions], parts)
    if judged.verdict is not Finding.PROVED or not claim.given:
        return judged
    if point is not None:
        shown = ", ".join(f"{name} = {value}" for name, value in point.items())
        return replace(judged, evidence=(*judged.evidence, f"its hypotheses hold at {shown}"))
    if _proof_within(search, rng, seconds / 8) is not None:
        reason = "the hypotheses contradict each other: anything follows from them"
        return Judged(Finding.UNDECIDED, "vacuous", judged.evidence, tried=(reason,))
    return replace(
        judged, evidence=(*judged.evidence, "no point that meets its hypotheses is known")
    )


def prepared(claim: Claim) -> tuple[Search, list[Question]]:
    """The hypotheses of a claim with all that they imply by being defined, and its relations.

    Raises InvalidInput as in :func:`judge_scalar`; Unknown if something stands in it that no prover
    here knows.
    """
    if claim.quantifier not in ("for all", "exists"):
        raise InvalidInput(
            "quantifier", claim.quantifier, "must be 'for all' or 'exists'", claim.id
        )
    where = resolved(claim.where)
    written = [relation_from(known.relation, known.source) for known in claim.given]
    goals = [relation_from(relation, claim.id) for relation in claim.conditions]
    if not goals:
        raise InvalidInput("conclusion", claim.conclusion, "must be a relation", claim.id)
    given = [relation.substitute(where) for relation in written]
    questions = [
        Question(
            goal.substitute(where),
            side_conditions(goal, where),
            empty=_is_empty(goal, where),
            assumed=goal in written,
        )
        for goal in goals
    ]
    unknown = unknown_part((*given, *(question.goal for question in questions)))
    if unknown:
        raise Unknown(unknown)
    for question in questions:
        unknown_part(normal(Sequent(tuple(given), question.goal)).relations)
    # A hypothesis holds only where it is defined.
    facts = [needed for relation in written for needed in side_conditions(relation, where)]
    facts += signs_of_letters((*given, *(question.goal for question in questions)))
    facts = [needed for needed in facts if needed.label != ENOUGH]
    known = tuple(map(as_fact, dict.fromkeys((*given, *facts))))
    search = Search(Sequent(known, FALSUM), claim.in_force, claim.indices)
    return search, questions


def _is_empty(goal: Relation, where: dict[Any, Any]) -> bool:
    sides = goal.small, goal.large
    defined = any(one in where and where[one] == two for one, two in (sides, sides[::-1]))
    return goal.kind in ("<=", "==") and (goal.small == goal.large or defined)


def _standing(search: Search, question: Question, rng: int, seconds: float) -> Judged:
    """The verdict on one relation: it is defined wherever the hypotheses hold, and true there."""
    evidence: list[str] = []
    open_conditions: list[str] = []
    proof: list[dict[str, Any]] = []
    for needed in question.needed:
        found = _judge(search.to(needed), rng, seconds / 4, thorough=False)
        if found.verdict is Finding.REFUTED and needed.label != ENOUGH:
            return replace(found, method=f"{found.method}: the line is not defined there")
        if found.verdict is Finding.PROVED:
            evidence += [f"defined, as {needed}", *found.evidence]
            proof += found.proof
            search = search.knowing(as_fact(needed))
        else:
            open_conditions.append(f"whether {needed}, which the line needs to be defined")
    goal = question.goal
    if question.empty:
        same = Attempt(True, TAUTOLOGY, ("both sides are the same",), proof=(_checkable([]),))
        found = _proved(same, goal)
    elif question.assumed:
        fact = [f"{plain(goal.large)} - ({plain(goal.small)})", goal.kind.replace("==", "=")]
        itself = _checkable([], facts=[fact], pieces=[["1", "1", [0], "1"]])
        found = _proved(
            Attempt(True, TAUTOLOGY, ("it stands among its hypotheses",), proof=(itself,)), goal
        )
    else:
        found = _judge(search.to(goal), rng, seconds)
    if found.verdict is Finding.PROVED and open_conditions:
        tried = ("proved only where it is defined", *open_conditions)
        return Judged(Finding.UNDECIDED, found.method, found.evidence, tried=tried)
    whole = (*proof, *found.proof) if found.proof else ()
    return replace(found, evidence=(*evidence, *found.evidence), proof=whole)


def _chain(goals: list[Relation], parts: list[Judged]) -> Judged:
    proof = [step for part in parts for step in part.proof] if all(p.proof for p in parts) else []
    parts = [replace(part, proof=()) for part in parts]
    named = {str(goal): part for goal, part in zip(goals, parts, strict=True)}
    verdicts = {part.verdict for part in parts}
    evidence = tuple(f"{name}: {line}" for name, part in named.items() for line in part.evidence)
    methods = "; ".join(dict.fromkeys(part.method for part in parts))
    if Finding.REFUTED in verdicts:
        first = next(part for part in parts if part.verdict is Finding.REFUTED)
        return replace(first, evidence=evidence, parts=named)
    verdict = Finding.PROVED if verdicts == {Finding.PROVED} else Finding.UNDECIDED
    tried = tuple(dict.fromkeys(line for part in parts for line in part.tried))
    return Judged(verdict, methods, evidence, tried=tried, parts=named, proof=tuple(proof))


def _existence(search: Search, questions: list[Question], rng: int, seconds: float) -> Judged:
    """Judge "exists" by its negation: the other relations given, the last one fails."""
    inequalities = [question for question in questions if question.goal.kind != "=="]
    last = inequalities[-1] if inequalities else None
    # A point counts only where everything is defined.
    search = search.knowing(
        *(as_fact(question.goal) for question in questions if question is not last),
        *(
            as_fact(needed)
            for question in questions
            for needed in question.needed
            if needed.label != ENOUGH
        ),
    )
    target = FALSUM if last is None else last.goal.negation()
    found = _judge(search.to(target), rng, seconds)
    turned = {Finding.PROVED: Finding.REFUTED, Finding.REFUTED: Finding.PROVED}
    verdict = turned.get(found.verdict, found.verdict)
    if verdict is Finding.PROVED and found.witness is not None:
        met = replace(found.witness, relation=f"not ({found.witness.relation})")
        where = found.method.replace("counterexample", "example")
        return replace(
            found, verdict=verdict, method=where, evidence=("an example satisfies it",), witness=met
        )
    head = {
        Finding.REFUTED: "nothing satisfies it: its negation is proved",
    }.get(verdict, "its negation is undecided")
    return replace(found, verdict=verdict, evidence=(head, *found.evidence), proof=())


def _judge(search: Search, rng: int, seconds: float, *, thorough: bool = True) -> Judged:
    """Proofs and searches in turn; half of the budget is for the last search."""
    if search.sequent.goal.kind == "!=":
        return _unequal(search, rng, seconds, thorough)
    # Proofs are of the evaluated form; witnesses are checked against what is written.
    sequent = normal(search.sequent)
    tried: list[str] = []
    witness = None
    try:
        with budget(seconds / 2):
            attempt = by_expansion(sequent, rng)
            if attempt.proved:
                return _proved(attempt, search.sequent.goal)
            witness = counterexample(search, effort=QUICK, rng=rng)
            if witness is None:
                few = len(sequent.goal.symbols) <= 2
                for strategy in (by_boxes, by_certificate) if few else (by_certificate, by_boxes):
                    attempt = strategy(sequent, rng)
                    if attempt.proved:
                        return _proved(attempt, search.sequent.goal)
                    tried.extend(attempt.tried)
                    for point in attempt.candidates:
                        witness = witness or confirm(search, point)
                    if witness is not None:
                        break
            elif by_certificate(sequent, rng, effort=0).proved:
                raise RuntimeError(f"a proof and a counterexample of {sequent.goal}: {witness}")
    except OutOfTime:
        tried.append(f"{seconds / 2:g} s for proofs, which ran out")
    try:
        if witness is None and thorough:
            with budget(seconds / 2):
                witness = counterexample(search, effort=LONG, rng=rng + 1)
            tried.append("search for a counterexample")
    except OutOfTime:
        tried.append(f"{seconds / 2:g} s for counterexamples, which ran out")
    if witness is None:
        return Judged(Finding.UNDECIDED, "", tried=tuple(tried))
    inside = " inside Assumptions D.1 to D.5" if search.in_force else ""
    line = f"{witness.relation} fails{inside}: {witness.left} against {witness.right}"
    return Judged(Finding.REFUTED, f"counterexample{inside}", (line,), witness)


def _unequal(search: Search, rng: int, seconds: float, thorough: bool) -> Judged:
    """Two things that differ: one is the larger, or their being equal is a contradiction."""
    goal = search.sequent.goal
    if as_fact(goal) in search.given:
        return Judged(Finding.PROVED, "hypothesis", ("it stands among the hypotheses",))
    equal = search.knowing(Relation(goal.small, goal.large, "==", "case")).to(FALSUM)
    with contextlib.suppress(OutOfTime), budget(seconds / 8):
        witness = counterexample(equal, effort=QUICK, rng=rng)
        if witness is not None:
            return _met_at(goal, witness)
    for effort in (0, 2):
        for small, large in ((goal.small, goal.large), (goal.large, goal.small)):
            less = search.to(Relation(small, large, "<", goal.label))
            attempt = _proof_within(less, rng, seconds / 8, effort)
            if attempt is not None:
                return _proved(attempt, goal)
    found = replace(_judge(equal, rng, seconds, thorough=thorough), proof=())
    return found if found.witness is None else _met_at(goal, found.witness)


def _met_at(goal: Relation, witness: Witness) -> Judged:
    """Two things that were to differ, and are equal at a point."""
    shown = str(goal) if goal.large == 0 else f"{plain(goal.difference)} != 0"
    witness = replace(witness, relation=shown, left="0", right="0")
    return Judged(Finding.REFUTED, "counterexample", (f"{shown} fails",), witness)


def _proof_within(search: Search, rng: int, seconds: float, effort: int = 2) -> Attempt | None:
    sequent = normal(search.sequent)
    with contextlib.suppress(OutOfTime), budget(seconds):
        attempt = by_certificate(sequent, rng, effort=effort)
        if not attempt.proved and effort:
            attempt = by_boxes(sequent, rng)
        if attempt.proved:
            return attempt
    return None


def _proved(attempt: Attempt, goal: Relation) -> Judged:
    steps = {"relation": str(goal), "certificates": list(attempt.proof)}
    proof = (steps,) if attempt.proof else ()
    return Judged(Finding.PROVED, attempt.method, attempt.evidence, proof=proof)
