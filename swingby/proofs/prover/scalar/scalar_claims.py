"""Scalar claims: inequalities and equations between real expressions, proved or refuted.

A claim is judged in the order: exact expansion, a quick search for a counterexample, a positivity
certificate with z3 as a second opinion, boxes in one or two letters, a longer search. Only exact
arithmetic and balls ever lead to *proved* or *refuted*.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.proofs.language.claim import ENOUGH, Claim
from swingby.proofs.prover.evidence import TAUTOLOGY, Judged, Witness, undecided
from swingby.proofs.prover.scalar.branch_and_bound import prove_on_boxes, prove_on_line
from swingby.proofs.prover.scalar.counterexample import (
    LONG,
    QUICK,
    Search,
    confirm,
    counterexample,
    model,
)
from swingby.proofs.prover.scalar.laurent import PolynomialProblem, opinion
from swingby.proofs.prover.scalar.positivity_certificate import (
    Certificate,
    find,
    means,
    with_negated_goal,
)
from swingby.proofs.prover.scalar.relation import (
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
    signs_of_denominators,
    signs_of_letters,
    split,
    unknown_part,
)
from swingby.proofs.prover.scalar.sampling import check_translation, identity_at_points
from swingby.proofs.prover.scalar.squares import sum_of_squares
from swingby.proofs.prover.scalar.translation import (
    Translator,
    Untranslatable,
    name_factors,
    name_logarithms,
    name_roots,
    name_tangents,
    polynomial_problem,
)
from swingby.theory.search_time import OutOfTime, processor_time
from swingby.theory.verdict import Finding

#: Seconds for each relation of a claim, for one search for sums of squares, and for a sum in place
#: of boxes.
BUDGET, SQUARES, CERTIFIED = 240.0, 3.0, 5.0


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


@dataclass(frozen=True)
class Form:
    """A sequent as a polynomial problem, and the name of the way in which it became one."""

    name: str
    sequent: Sequent
    problem: PolynomialProblem


#: A way to prove a form; None where it does not work.
Way = Callable[[Form], Attempt | None]


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
    return Attempt(True, "exact expansion", lines, proof=(_checkable(replaced),))


def _checkable(replaced: list[tuple[Any, Any]], **steps: Any) -> dict[str, Any]:
    """A certificate as ``check.py`` reads it; without steps, that two sides are the same."""
    empty: dict[str, Any] = {"tangents": [], "turned": False, "facts": [], "pieces": []}
    return empty | steps | {"replaced": [[str(one), plain(value)] for one, value in replaced]}


def by_certificate(sequent: Sequent, *, quick: bool = False) -> Attempt:
    """A positivity certificate for every case of Abs, Max and Min; `quick`: a short one only."""
    combined = functools.partial(_combined, quick=quick)
    goal = sequent.goal

    def each(goals: list[Relation]) -> Attempt:
        halves = (replace(sequent, goal=one) for one in goals)
        return _together(by_certificate(half, quick=quick) for half in halves)

    if goal.kind == "==":
        turned = Relation(goal.large, goal.small, "<=", goal.label)
        return each([replace(goal, kind="<="), turned])
    sizes = [f for f in sympy.Mul.make_args(goal.small) if isinstance(f, sympy.Abs)]
    if len(sizes) == 1 and (goal.small / sizes[0]).is_positive:
        factor, inside = goal.small / sizes[0], sizes[0].args[0]
        attempt = each([replace(goal, small=factor * end) for end in (inside, -inside)])
        if attempt.proved or not inside.is_Symbol:
            return attempt
    replaced: list[tuple[Any, Any]] = []
    prepared = recognise_signs(eliminate_equations(sequent, replaced))

    # log(x) <= x - 1 is the tangent at log(x)
    logs = {log for relation in prepared.relations for log in relation.difference.atoms(sympy.log)}

    def complete(attempt: Attempt) -> Attempt:
        tangents = sorted(map(plain, logs))
        steps = [one | {"tangents": one["tangents"] + tangents} for one in attempt.proof]
        return replace(attempt, proof=tuple(_checkable(replaced, **one) for one in steps))

    relaxed, exact = relax(prepared)
    if relaxed != prepared:
        attempt = combined(recognise_signs(relaxed))
        if attempt.proved or exact:
            return complete(attempt)
    cases = split(prepared)
    if cases is None:
        return Attempt(False, tried=("too many cases",))
    if len(cases) == 1:
        return complete(combined(cases[0]))

    def labelled(case: Sequent) -> Attempt:
        attempt = combined(case)
        conditions = ", ".join(str(r) for r in case.given if r.label == "case")
        return replace(attempt, evidence=(f"case {conditions}:", *attempt.evidence), proof=())

    return _together(map(labelled, cases))


def _together(attempts: Iterable[Attempt]) -> Attempt:
    """All attempts as one, or the first that fails: none is made after it."""
    proved: list[Attempt] = []
    for attempt in attempts:
        if not attempt.proved:
            return attempt
        proved.append(attempt)
    method = min((one.method for one in proved), key=lambda name: "agrees" in name)
    evidence = tuple(line for one in proved for line in one.evidence)
    complete = all(one.proof for one in proved)
    proof = tuple(content for one in proved if complete for content in one.proof)
    return Attempt(True, method, evidence, proof=proof)


def _combined(case: Sequent, *, quick: bool) -> Attempt:
    """The first of all ways that proves a sequent without Abs, Max and Min."""
    tried: list[str] = []
    candidates: list[dict[str, Any]] = []
    case = name_roots(case)
    polynomials = _forms(tried, ("polynomials", case, False))
    for form, way in _ways(case, polynomials, quick, tried):
        found = way(form)
        if found is not None:
            return found
    for form in [] if quick else polynomials:
        answer, point = opinion(form.problem)
        tried.append(f"z3 in {form.name}: {answer}" + ", no proof by itself" * (answer == "unsat"))
        candidates += [point] if point else []
    return Attempt(False, tried=tuple(tried), candidates=tuple(candidates))


def _ways(
    case: Sequent, polynomials: list[Form], quick: bool, tried: list[str]
) -> Iterator[tuple[Form, Way]]:
    """Forms of a sequent and ways to prove them, from cheap to dear; made when they are needed."""
    curved = any(relation.difference.has(sympy.exp, sympy.log) for relation in case.relations)
    forms = polynomials + (_forms(tried, ("logarithms", case, True)) if curved else [])
    yield from itertools.product(forms, [_single])
    if quick:
        return
    grouped, named = name_logarithms(case) if curved else case, name_factors(case)
    others = [("grouped logarithms", grouped, True), ("products", named, False)]
    more = _forms(tried, *(form for form in others if form[1] != case))
    yield from itertools.product(more, [_single])
    forms += more
    for way in (_squares, _pairs):
        yield from itertools.product(forms, [way])
    tried += [f"certificate in {form.name}: none found" for form in forms]
    if curved:
        tangents = _forms(tried, ("tangents", name_tangents(case), False))
        for way in (_single, _pairs, _squares):
            yield from itertools.product(tangents, [way])


def _forms(tried: list[str], *forms: tuple[str, Sequent, bool]) -> list[Form]:
    """Those of some forms that there are; why there is none of the others goes to `tried`."""
    found = []
    for name, sequent, logarithmic in forms:
        try:
            problem = polynomial_problem(sequent, logarithmic=logarithmic)
        except (Untranslatable, ValueError) as reason:
            tried.append(f"{name}: {reason}")
        else:
            found.append(Form(name, sequent, problem))
    return found


def _single(form: Form) -> Attempt | None:
    return _accepted(form, find(form.problem, effort=0))


def _pairs(form: Form) -> Attempt | None:
    """Chains of hypotheses and products of two, also against the negation of the goal."""
    for problem in (form.problem, with_negated_goal(form.problem)):
        found = _accepted(form, find(problem, least=1))
        if found is not None:
            return found
    return None


def _squares(form: Form) -> Attempt | None:
    """Inequalities between means, and sums of squares."""
    if "logarithms" in form.name:
        return None
    ways = [(form.problem, means), (form.problem, sum_of_squares)]
    if form.name == "polynomials":
        ways.insert(1, (with_negated_goal(form.problem), means))
    for problem, search in ways:
        certificate = None
        with contextlib.suppress(OutOfTime), processor_time(SQUARES):
            certificate = search(problem)
        if certificate is not None:
            return _accepted(form, certificate)
    return None


def _accepted(form: Form, certificate: Certificate | None) -> Attempt | None:
    """A certificate as an attempt that proves, once its translation and z3 do not contradict."""
    if certificate is None:
        return None
    problem, case = certificate.problem, form.sequent
    points = check_translation(case, form.problem)
    used = tuple(one for one in problem.constraints if one.label in certificate.used)
    answer, _ = opinion(replace(problem, constraints=used), timeout=1500)
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
    proof = certificate.steps() | {"tangents": sorted(map(plain, exponents))}
    return Attempt(True, f"certificate, {agrees}", tuple(lines), proof=(proof,))


def by_boxes(sequent: Sequent) -> Attempt:
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


def by_whole_numbers(sequent: Sequent) -> Attempt:
    """Cases k <= 0 and k >= 1 of one whole letter, or k <= -1 and k >= 0: nothing lies between."""
    whole = [letter for letter in sequent.symbols if letter.is_integer]
    for at in (sympy.S.Zero, sympy.S.NegativeOne) if len(whole) == 1 else ():
        ends = (whole[0], at), (at + 1, whole[0])
        cases = (Relation(small, large, "<=", "case") for small, large in ends)
        halves = (replace(sequent, given=(*sequent.given, case)) for case in cases)
        found = _together(by_certificate(half) for half in halves)
        if found.proved:
            line = f"{whole[0]} is a whole number: at most {at}, or at least {at + 1}"
            return replace(found, evidence=(line, *found.evidence), proof=())
    return Attempt(False)


class Unknown(Exception):
    """A function that no prover here knows."""


#: Why a relation says nothing.
SAME, ASSUMED = "both sides are the same", "it stands among its hypotheses"


@dataclass(frozen=True)
class Question:
    """One relation of a conclusion, with the definitions put in.

    `needed`: what it needs to be defined. `empty`: why it says nothing as it is written, if so.
    """

    goal: Relation
    needed: tuple[Relation, ...]
    empty: str


def judge_scalar(claim: Claim, *, rng: int = 0, seconds: float = BUDGET) -> Judged:
    """The verdict on a claim between real expressions.

    `claim`: its conclusion is one of <=, <, >=, >, =, !=, or an And of them. A chain is proved if
    every relation is, and refuted if one is. "exists" is judged through its negation.
    `rng`: seed of the search for counterexamples.
    `seconds`: of processor time for each relation; where they run out, the verdict is *undecided*
    and says so. A conclusion that is not defined wherever the hypotheses hold is not proved. One
    that says nothing is proved by :data:`TAUTOLOGY`, and one whose hypotheses contradict each other
    is *undecided*, with the method "vacuous".
    Raises InvalidInput if the conclusion or a hypothesis is no such relation, has a number that is
    not exact, or a definition is circular; RuntimeError if a proof and a counterexample are both
    found, which only a bug can do.
    """
    try:
        search, questions = prepared(claim)
    except Unknown as part:
        return undecided("no prover", f"no prover knows {part}")
    if claim.quantifier == "exists":
        return _existence(search, questions, rng, seconds)
    with processor_time(seconds):
        point = model(search.to(questions[0].goal), rng=rng) if claim.given else None
    parts = [_standing(search, question, rng, seconds) for question in questions]
    judged = parts[0] if len(parts) == 1 else _chain([q.goal for q in questions], parts)
    if judged.verdict is not Finding.PROVED or not claim.given:
        return judged
    if point is not None:
        shown = ", ".join(f"{name} = {value}" for name, value in point.items())
        return replace(judged, evidence=(*judged.evidence, f"its hypotheses hold at {shown}"))
    if _judge(search, rng, seconds / 4, thorough=False).verdict is Finding.PROVED:
        reason = "the hypotheses contradict each other: anything follows from them"
        return Judged(Finding.UNDECIDED, "vacuous", judged.evidence, tried=(reason,))
    return replace(
        judged, evidence=(*judged.evidence, "no point that meets its hypotheses is known")
    )


def prepared(claim: Claim) -> tuple[Search, list[Question]]:
    """The hypotheses of a claim with all that they imply by being defined, and its relations.

    Raises InvalidInput as in :func:`judge_scalar`; Unknown for what no prover here knows.
    """
    if claim.quantifier not in ("for all", "exists"):
        raise InvalidInput(
            "quantifier", claim.quantifier, "must be 'for all' or 'exists'", claim.id
        )
    definitions, where = dict(claim.where), resolved(claim.where)
    written = [relation_from(known.relation, known.source) for known in claim.given]
    goals = [relation_from(relation, claim.id) for relation in claim.conditions]
    if not goals:
        raise InvalidInput("conclusion", claim.conclusion, "must be a relation", claim.id)
    given = [relation.substitute(where) for relation in written]
    questions = [
        Question(
            goal.substitute(where),
            side_conditions(goal, definitions, where),
            _emptiness(goal, where, written),
        )
        for goal in goals
    ]
    unknown = unknown_part((*given, *(question.goal for question in questions)))
    if unknown:
        raise Unknown(unknown)
    try:
        for question in questions:
            unknown_part(normal(Sequent(tuple(given), question.goal)).relations)
    except InvalidInput as error:
        if error.value != sympy.I:
            raise
        raise Unknown("the root of a negative number") from None
    # A hypothesis holds only where it is defined.
    facts = [
        needed for relation in written for needed in side_conditions(relation, definitions, where)
    ]
    facts += signs_of_letters((*given, *(question.goal for question in questions)))
    facts = [needed for needed in facts if needed.label != ENOUGH]
    known = tuple(map(as_fact, dict.fromkeys((*given, *facts))))
    search = Search(Sequent(known, FALSUM), claim.in_force, claim.indices)
    return search, questions


def certified(claim: Claim) -> tuple[dict[str, Any], ...]:
    """What :mod:`check_proof` accepts of a claim that boxes prove, where sums do too."""
    search, questions = prepared(claim)
    proof: list[dict[str, Any]] = []
    for goal in (one for question in questions for one in (*question.needed, question.goal)):
        sequents = [normal(one) for one in _readings(search.to(goal).sequent)[:2]]
        attempt = by_expansion(sequents[0])
        with contextlib.suppress(OutOfTime), processor_time(CERTIFIED):
            for sequent in sequents:
                attempt = attempt if attempt.proved else by_certificate(sequent)
        if not attempt.proof:
            return ()
        proof += _proved(attempt, goal).proof
        search = search.knowing(as_fact(goal))
    return tuple(proof)


def _emptiness(goal: Relation, where: dict[Any, Any], written: list[Relation]) -> str:
    """Why a relation says nothing, as it is written; empty if it says something."""
    pairs = itertools.permutations(goal.sides)
    defined = any(one in where and where[one] == two for one, two in pairs)
    if goal.kind in ("<=", "==") and (goal.small == goal.large or defined):
        return SAME
    return ASSUMED if goal in written else ""


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
        fact = [f"{plain(goal.large)} - ({plain(goal.small)})", goal.kind.replace("==", "=")]
        steps = {"facts": [fact], "pieces": [["1", "1", [0], "1"]]}
        itself = _checkable([], **(steps if question.empty == ASSUMED else {}))
        found = _proved(Attempt(True, TAUTOLOGY, (question.empty,), proof=(itself,)), goal)
    else:
        found = _judge(search.to(goal), rng, seconds)
    for positive in signs_of_denominators(goal):
        if found.verdict is not Finding.UNDECIDED:
            break
        sure = _judge(search.to(positive), rng, seconds / 4, thorough=False)
        if sure.verdict is Finding.PROVED:
            evidence += [f"as {positive}", *sure.evidence]
            proof += sure.proof
            search = search.knowing(positive)
            found = _judge(search.to(goal), rng, seconds / 2, thorough=False)
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
    facts = [question.goal for question in questions if question is not last]
    # A point counts only where everything is defined.
    facts += [one for question in questions for one in question.needed if one.label != ENOUGH]
    target = FALSUM if last is None else last.goal.negation()
    found = _judge(search.knowing(*map(as_fact, facts)).to(target), rng, seconds)
    if found.verdict is Finding.PROVED:
        lines = ("nothing satisfies it: its negation is proved", *found.evidence)
        return replace(found, verdict=Finding.REFUTED, evidence=lines, proof=())
    if found.witness is None:
        return replace(found, evidence=("its negation is undecided", *found.evidence))
    return Judged(
        Finding.PROVED,
        found.method.replace("counterexample", "example"),
        ("an example satisfies it",),
        replace(found.witness, relation=f"not ({found.witness.relation})"),
    )


def _judge(search: Search, rng: int, seconds: float, *, thorough: bool = True) -> Judged:
    """Proofs and searches in turn; half of the budget is for the last search, if `thorough`."""
    tried: list[str] = []
    witness = None
    try:
        with processor_time(seconds / 2):
            witness = _proof_or_witness(search, rng, tried)
    except OutOfTime:
        tried.append(f"{seconds / 2:g} s for proofs, which ran out")
    if isinstance(witness, Attempt):
        return _proved(witness, search.sequent.goal)
    try:
        if witness is None and thorough:
            with processor_time(seconds / 2):
                witness = counterexample(search, effort=LONG, rng=rng + 1)
            tried.append("search for a counterexample")
    except OutOfTime:
        tried.append(f"{seconds / 2:g} s for counterexamples, which ran out")
    if witness is None:
        return undecided("", *tried)
    inside = " inside Assumptions D.1 to D.5" if search.in_force else ""
    line = f"{witness.relation} fails{inside}: {witness.left} against {witness.right}"
    return Judged(Finding.REFUTED, f"counterexample{inside}", (line,), witness)


def _proof_or_witness(search: Search, rng: int, tried: list[str]) -> Attempt | Witness | None:
    # Proofs are of the evaluated form; witnesses are checked against what is written.
    sequents = [normal(one) for one in _readings(search.sequent)]
    goal = search.sequent.goal
    attempt: Attempt = by_expansion(sequents[0])
    if attempt.proved:
        return attempt
    witness = counterexample(search, effort=QUICK, rng=rng)
    if witness is not None:
        if any(by_certificate(one, quick=True).proved for one in sequents):
            raise RuntimeError(f"a proof and a counterexample of {goal}: {witness}")
        return witness
    strategies: list[Callable[..., Attempt]] = [by_certificate, by_boxes]
    whole: list[Callable[..., Attempt]] = [by_whole_numbers]
    if goal.kind == "!=":
        strategies.insert(0, functools.partial(by_certificate, quick=True))
    elif len(goal.symbols) <= 2:
        strategies.reverse()
    for strategy, sequent in itertools.product(strategies + whole, sequents):
        attempt = strategy(sequent)
        if attempt.proved:
            return replace(attempt, proof=()) if sequent.goal == FALSUM else attempt
        tried.extend(attempt.tried)
        found = filter(None, (confirm(search, point) for point in attempt.candidates))
        witness = next(found, None)
        if witness is not None:
            return witness
    return None


def _readings(sequent: Sequent) -> list[Sequent]:
    """Sequents of which each proves this one: of two things that differ, one is the larger."""
    goal = sequent.goal
    if goal.kind != "!=":
        return [sequent]
    equal = Relation(goal.small, goal.large, "==", "case")
    return [
        replace(sequent, goal=replace(goal, kind="<")),
        replace(sequent, goal=Relation(goal.large, goal.small, "<", goal.label)),
        Sequent((*sequent.given, equal), FALSUM),
    ]


def _proved(attempt: Attempt, goal: Relation) -> Judged:
    steps = {"relation": str(goal), "certificates": list(attempt.proof)}
    proof = (steps,) if attempt.proof else ()
    return Judged(Finding.PROVED, attempt.method, attempt.evidence, proof=proof)
