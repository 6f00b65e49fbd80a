"""Strategies that prove a sequent: expansion, positivity certificates, boxes, whole numbers.

A strategy comes back with an attempt: a proof with its evidence, or what did not work and where the
goal may fail. Only exact arithmetic and balls ever prove.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy

from swingby.proofs.checkers import check_box, check_line, check_witness
from swingby.proofs.prover.scalar.named_factors import name_factors
from swingby.proofs.prover.scalar.polynomial_form import polynomial_form
from swingby.proofs.prover.scalar.polynomial_problem import (
    NEGATION,
    PolynomialProblem,
    polynomial_text,
    with_negated_goal,
)
from swingby.proofs.prover.scalar.positivity_certificate import (
    PositivityCertificate,
    certificate_of_means,
    find_certificate,
)
from swingby.proofs.prover.scalar.preparation import (
    eliminate_equations,
    name_roots,
    powers_as_exponentials,
    recognise_signs,
    relax,
    split_cases,
)
from swingby.proofs.prover.scalar.relation import Relation, Sequent, expression_text
from swingby.proofs.prover.scalar.squares import sum_of_squares
from swingby.proofs.prover.scalar.translation import Translator, Untranslatable
from swingby.proofs.prover.scalar.whole_powers import name_whole_powers
from swingby.proofs.prover.scalar.z3_check import ask_z3
from swingby.theory.numbers import fraction
from swingby.theory.search_time import OutOfTime, processor_time, seconds_left

#: Seconds for one search for a certificate.
_SECONDS_A_SEARCH = 3.0
#: A letter's range is halved so often, and has so many pieces at most.
_DEEPEST, _MOST_PIECES = 8, 120
#: Into how many pieces each letter's range in a box is cut, one after the other.
_PIECES_OF_A_BOX = (1, 2, 4)


@dataclass(frozen=True)
class Attempt:
    """The outcome of a strategy.

    `tried`: what did not work. `candidates`: points at which the goal may fail. `proof`:
    certificates of the goal, once the steps `lemmas` are shown. `by_z3`: z3 alone says that it is
    true.
    """

    proved: bool
    method: str = ""
    evidence: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    candidates: tuple[dict[str, Any], ...] = ()
    proof: tuple[dict[str, Any], ...] = ()
    lemmas: tuple[dict[str, Any], ...] = ()
    by_z3: bool = False

    def shown(self, goal: Relation) -> list[dict[str, Any]]:
        """The steps that show a goal, for a checker."""
        whole = [step for step in self.proof if step.keys() & {"cuts", "box"}]
        steps = whole[0] if whole else {"certificates": list(self.proof)}
        return [*self.lemmas, {"relation": str(goal)} | steps]

    @property
    def settled(self) -> bool:
        """Whether it is proved, or z3 says so."""
        return self.proved or self.by_z3


@dataclass(frozen=True)
class PolynomialForm:
    """A sequent as a polynomial problem, and the name of this translation."""

    name: str
    problem: PolynomialProblem


def by_expansion(sequent: Sequent) -> Attempt:
    """An equation whose two sides expand to the same."""
    if sequent.goal.kind != "==":
        return Attempt(False)
    replaced: list[tuple[Any, Any]] = []
    sequent = eliminate_equations(sequent, replaced)
    goal = sequent.goal
    goal = name_whole_powers(powers_as_exponentials(Sequent((), goal))).goal
    try:
        translator = Translator(goal.sides)
        difference = translator.quotient(goal.difference)
    except Untranslatable as reason:
        return Attempt(False, tried=(f"expansion: {reason}",))
    if difference.numerator:
        return Attempt(False, tried=("expansion: the sides differ",))
    names = ", ".join(atom.name for atom in translator.atoms)
    lines = (f"left - right = 0 after expansion in {names}",)
    return Attempt(True, "exact expansion", lines, proof=(checkable_steps(replaced),))


def checkable_steps(replaced: list[tuple[Any, Any]], **steps: Any) -> dict[str, Any]:
    """A certificate as ``check.py`` reads it; without steps, that two sides are the same."""
    empty: dict[str, Any] = {
        "cases": [],
        "tangents": [],
        "turned": False,
        "facts": [],
        "pieces": [],
    }
    return (
        empty
        | steps
        | {"replaced": [[str(letter), expression_text(value)] for letter, value in replaced]}
    )


def cited(goal: Relation) -> dict[str, Any]:
    """A certificate of a goal that is known."""
    difference = f"{expression_text(goal.large)} - ({expression_text(goal.small)})"
    fact = [difference, goal.kind.replace("==", "=")]
    return checkable_steps([], facts=[fact], pieces=[["1", "1", [0], "1"]])


def by_certificate(sequent: Sequent, *, quick: bool = False) -> Attempt:
    """A positivity certificate for every case of Abs, Max and Min; `quick`: a short one only."""
    combined = functools.partial(_prove_case, quick=quick)
    goal = sequent.goal

    def prove_all(goals: list[Relation]) -> Attempt:
        attempts = []
        for bound in goals:
            attempts.append(by_certificate(replace(sequent, goal=bound), quick=quick))
            if not attempts[-1].settled:
                break
        joined = join_attempts(attempts)
        # each half is shown as a line of its own, and cited
        lemmas = itertools.chain(*(half.shown(g) for half, g in zip(attempts, goals, strict=False)))
        proof = tuple(map(cited, goals)) if joined.proof else ()
        return replace(joined, lemmas=tuple(lemmas), proof=proof)

    if goal.kind == "==":
        reversed_goal = Relation(goal.large, goal.small, "<=", goal.label)
        return prove_all([replace(goal, kind="<="), reversed_goal])
    sizes = [f for f in sympy.Mul.make_args(goal.small) if isinstance(f, sympy.Abs)]
    if len(sizes) == 1 and (goal.small / sizes[0]).is_positive:
        factor, inside = goal.small / sizes[0], sizes[0].args[0]
        attempt = prove_all([replace(goal, small=factor * end) for end in (inside, -inside)])
        if attempt.settled or not inside.is_Symbol:
            return attempt
    replaced: list[tuple[Any, Any]] = []
    prepared = recognise_signs(eliminate_equations(sequent, replaced))

    def complete(attempt: Attempt) -> Attempt:
        def put_in(certificate: dict[str, Any]) -> dict[str, Any]:
            return certificate | {"replaced": checkable_steps(replaced)["replaced"]}

        lemmas = (
            step | {"certificates": list(map(put_in, step["certificates"]))}
            for step in attempt.lemmas
        )
        steps = (put_in(checkable_steps([], **step)) for step in attempt.proof)
        return replace(attempt, lemmas=tuple(lemmas), proof=tuple(steps))

    by_z3: Attempt | None = None
    relaxed, exact = relax(prepared)
    if relaxed != prepared:
        attempt = combined(recognise_signs(relaxed))
        if attempt.proved or exact:
            return complete(attempt)
        by_z3 = complete(attempt) if attempt.by_z3 else None
    cases = split_cases(prepared)
    if cases is None:
        return by_z3 or Attempt(False, tried=("too many cases",))
    if len(cases) == 1:
        return complete(combined(cases[0][0]))

    def labelled(case: Sequent, chosen: list[Any]) -> Attempt:
        attempt = complete(combined(case))
        conditions = ", ".join(str(r) for r in case.hypotheses if r.label == "case")
        proof = tuple(step | {"cases": chosen} for step in attempt.proof)
        evidence = (f"case {conditions}:", *attempt.evidence)
        return replace(attempt, evidence=evidence, proof=proof, lemmas=())

    joined = join_attempts(itertools.starmap(labelled, cases))
    return joined if joined.proved or by_z3 is None else by_z3


def join_attempts(attempts: Iterable[Attempt]) -> Attempt:
    """All attempts joined, or the first that fails: none is made after it."""
    settled: list[Attempt] = []
    for attempt in attempts:
        if not attempt.settled:
            return attempt
        settled.append(attempt)
    methods = dict.fromkeys(attempt.method for attempt in settled)
    evidence = tuple(line for attempt in settled for line in attempt.evidence)
    complete = all(attempt.proof for attempt in settled)
    proof = tuple(content for attempt in settled if complete for content in attempt.proof)
    lemmas = tuple(step for attempt in settled if complete for step in attempt.lemmas)
    proved = all(attempt.proved for attempt in settled)
    return Attempt(
        proved, "; ".join(methods), evidence, proof=proof, lemmas=lemmas, by_z3=not proved
    )


def _prove_case(case: Sequent, *, quick: bool) -> Attempt:
    """The first of all forms that proves a sequent without Abs, Max and Min."""
    tried: list[str] = []
    candidates: list[dict[str, Any]] = []
    by_z3: Attempt | None = None
    case = name_whole_powers(name_roots(powers_as_exponentials(case)))
    plain = []
    for form in _forms(_PLAIN, case, tried):
        certificate = find_certificate(form.problem, effort=0)
        if certificate is not None:
            return _accept(form, certificate)
        plain.append(form)
    for form in () if quick else _longer(plain, case, tried):
        short = None if form in plain else find_certificate(form.problem, effort=0)
        if short is not None:
            return _accept(form, short)
        if form.name in _PRODUCTS:
            continue
        attempt = _prove_form(form)
        if attempt.proved:
            return attempt
        by_z3 = by_z3 or (attempt if attempt.by_z3 else None)
        tried += attempt.tried
        candidates += attempt.candidates
    return by_z3 or Attempt(False, tried=tuple(tried), candidates=tuple(candidates))


#: Forms, each with how it is translated, simple and rich; those with options are of exponentials
#: and logarithms. In products, factors that are positive are letters; only short certificates are
#: searched there.
_PLAIN: dict[str, dict[str, bool]] = {"polynomials": {}, "logarithms": {"logarithmic": True}}
_PRODUCTS: dict[str, dict[str, bool]] = {"products": {}}
_RICH: dict[str, dict[str, bool]] = {
    "tangents": {"rich": True},
    "logarithms, tangents": {"logarithmic": True, "rich": True},
}


def _forms(
    kinds: dict[str, dict[str, bool]], case: Sequent, tried: list[str]
) -> Iterator[PolynomialForm]:
    """Forms of a sequent, made when they are needed.

    Why there is none of a kind goes to `tried`.
    """
    is_curved = any(relation.difference.has(sympy.exp, sympy.log) for relation in case.relations)
    for name, options in kinds.items():
        if is_curved or not options:
            try:
                yield PolynomialForm(name, polynomial_form(case, **options))
            except (Untranslatable, ValueError) as reason:
                tried.append(f"{name}: {reason}")


def _longer(
    plain: Iterable[PolynomialForm], case: Sequent, tried: list[str]
) -> Iterator[PolynomialForm]:
    """The forms in which a longer search goes on, made when they are needed."""
    yield from plain
    named = name_factors(case)
    if named != case:
        yield from _forms(_PRODUCTS, named, tried)
    yield from _forms(_RICH, case, tried)


def _prove_form(form: PolynomialForm) -> Attempt:
    """A longer certificate of a form; without one, what z3 says."""
    problem = form.problem
    certificate = None
    answer = ask_z3(problem)
    if answer.word == "sat":
        tried = (f"{form.name}: z3 says that the facts leave room",)
        return Attempt(False, tried=tried, candidates=(answer.point,))
    # Where z3 does not know, the problem has no core, and products of all constraints are many.
    has_core = answer.word != "unknown"
    core = (answer.core or with_negated_goal(problem)) if has_core else None
    for search in _searches(problem, core):
        with contextlib.suppress(OutOfTime), processor_time(_SECONDS_A_SEARCH):
            certificate = search()
        if certificate is not None:
            return _accept(form, certificate)
    tried = (f"{form.name}: no certificate; z3: {answer.word}",)
    if answer.word != "unsat" or core is None:
        return Attempt(False, tried=tried)
    labels = (f"uses {label}" for label in dict.fromkeys(c.label for c in core.constraints))
    words = f"no counterexample in the whole domain by z3 {answer.version}, in {form.name}"
    lines = (f"{words}: nothing meets these together", *labels)
    return Attempt(False, "z3 alone", lines, tried=tried, by_z3=True)


def _searches(
    problem: PolynomialProblem, core: PolynomialProblem | None
) -> Iterator[Callable[[], PositivityCertificate | None]]:
    """Searches for a certificate of a problem or of its core, from cheap to dear."""
    if core is not None:
        yield functools.partial(find_certificate, core, effort=2)
    yield functools.partial(find_certificate, problem, least=1)
    # The goal itself in place of its negation.
    constraints = (core or problem).constraints
    chosen = tuple(constraint for constraint in constraints if constraint.label != NEGATION)
    yield functools.partial(certificate_of_means, replace(problem, constraints=chosen))
    if core is not None:
        yield functools.partial(sum_of_squares, core)


def _accept(form: PolynomialForm, certificate: PositivityCertificate) -> Attempt:
    """A certificate as an attempt that proves."""
    lines = [str(certificate) if form.name == "polynomials" else f"in {form.name}: {certificate}"]
    lines += [f"uses {label}" for label in certificate.used if label]
    reasons = _reasons(certificate) | {
        text: reason
        for top in form.problem.goal.reasons
        for text, reason in (*_reasons(top).items(), (_claim_text(top), top))
    }
    shown = tuple(
        {"relation": text, "certificates": [checkable_steps([], **reason.steps())]}
        for text, reason in reasons.items()
    )
    proof = (certificate.steps(),)
    return Attempt(True, "certificate", tuple(lines), proof=proof, lemmas=shown)


def _claim_text(certificate: PositivityCertificate) -> str:
    goal = certificate.problem.goal
    sign = "<" if goal.kind == ">" else "<="
    return f"0 {sign} {polynomial_text(goal.polynomial, certificate.problem.atoms)}"


def _reasons(certificate: PositivityCertificate) -> dict[str, PositivityCertificate]:
    """The signs that a certificate rests on, each behind those that it rests on itself."""
    used = dict.fromkeys(index for _, piece in certificate.pieces for index in piece.factors)
    reasons: dict[str, PositivityCertificate] = {}
    for index in used:
        for reason in certificate.problem.constraints[index].reasons:
            reasons |= _reasons(reason) | {_claim_text(reason): reason}
    return reasons


def sign_word(letter: Any) -> str:
    """What a file says of a letter."""
    return "positive" if letter.is_positive else "nonnegative" if letter.is_nonnegative else "real"


def by_line(sequent: Sequent) -> Attempt:
    """A relation in one letter, by its Taylor series on pieces of the letter's range."""
    goal = sequent.goal
    if goal.kind not in ("<=", "<") or len(goal.symbols) != 1:
        return Attempt(False)
    (letter,) = goal.symbols
    sign = sign_word(letter)
    tools = check_witness.line_tools()
    low, low_open, high, high_open = check_line.cut_range(
        letter.name, sign, list(map(str, sequent.hypotheses)), check_witness.number
    )
    if low is not None and high is not None and not low < high:
        return Attempt(False)
    text = re.sub(r"\bE\b", "exp(1)", str(goal))
    small, kind, large = re.split(r" (<=|<) ", text)
    sides = small, kind, large
    pieces = 0

    def cuts(ends: tuple[Any, Any], depth: int) -> list[Any] | None:
        """Where a piece has to be cut so that the relation holds on all parts; None if nowhere."""
        nonlocal pieces
        seconds_left()
        pieces += 1
        is_open = low_open and ends[0] == low, high_open and ends[1] == high
        if check_line.piece_holds(sides, letter.name, ends, is_open, tools):
            return []
        if not depth or pieces > _MOST_PIECES:
            return None
        middle = _middle(*ends)
        halves = [cuts(half, depth - 1) for half in ((ends[0], middle), (middle, ends[1]))]
        if halves[0] is None or halves[1] is None:
            return None
        return [*halves[0], middle, *halves[1]]

    touching = [
        number
        for number in sorted({fraction(x) for x in _touching(goal.difference)})
        if (low is None or number > low)
        and (high is None or number < high)
        and goal.difference.subs(letter, sympy.Rational(number.numerator, number.denominator)) == 0
    ]
    found: list[Any] = []
    for ends in itertools.pairwise([low, *touching, high]):
        between = cuts(ends, _DEEPEST)
        if between is None:
            return Attempt(False, tried=(f"Taylor series in {letter}: not on all of its range",))
        found += [*between, *([ends[1]] if ends[1] in touching else [])]
    line = f"on pieces of the range of {letter}, cut at {', '.join(map(str, found)) or 'no number'}"
    proof = {"letter": letter.name, "cuts": list(map(str, found))}
    return Attempt(True, "Taylor series", (line,), proof=(proof,))


def _touching(difference: Any) -> Iterator[Any]:
    """Numbers at which a difference may be 0."""
    numbers = [sympy.Integer(n) for n in (0, 1, 2)] + [
        abs(n) for n in difference.atoms(sympy.Rational)
    ]
    for number in numbers:
        yield from (number, -number, *((1 / number, -1 / number) if number else ()))
    if difference.is_polynomial():
        yield from (root for root in sympy.roots(difference, multiple=True) if root.is_Rational)


def _middle(low: Any, high: Any) -> Any:
    if low is not None and high is not None:
        return (low + high) / 2
    if low is None:
        return Fraction(0) if high is None else min(2 * high, high - 1)
    return max(2 * low, low + 1)


def by_whole_numbers(sequent: Sequent) -> Attempt:
    """Cases k <= 0 and k >= 1 of an integer letter, or k <= -1 and k >= 0: nothing lies between."""
    integers = [letter for letter in sequent.symbols if letter.is_integer]
    for at in (sympy.S.Zero, sympy.S.NegativeOne) if len(integers) == 1 else ():
        attempts = []
        for place, (small, large) in enumerate(((integers[0], at), (at + 1, integers[0]))):
            case = Relation(small, large, "<=", "case")
            attempt = by_certificate(replace(sequent, hypotheses=(*sequent.hypotheses, case)))
            branch = [f"{integers[0]} at {at}", place]
            proof = (step | {"cases": [branch, *step["cases"]]} for step in attempt.proof)
            attempts.append(replace(attempt, proof=tuple(proof)))
            if not attempt.settled:
                break
        else:
            line = f"{integers[0]} is a whole number: at most {at}, or at least {at + 1}"
            joined = join_attempts(attempts)
            return replace(joined, evidence=(line, *joined.evidence))
    return Attempt(False)


def by_box(sequent: Sequent) -> Attempt:
    """A rational relation in letters between two numbers each, by its Bernstein coefficients.

    A short certificate comes first, as it says more.
    """
    goal = sequent.goal
    if goal.kind not in ("<=", "<") or not 1 < len(goal.symbols) <= check_box.MOST_LETTERS:
        return Attempt(False)
    if goal.difference.atoms(sympy.Function) or not goal.difference.is_rational_function():
        return Attempt(False)
    signs = {x.name: sign_word(x) for x in goal.symbols}
    hypotheses = [str(relation) for relation in sequent.hypotheses]
    ranges = {
        name: check_line.cut_range(name, sign, hypotheses, check_witness.number)
        for name, sign in signs.items()
    }
    if any(low is None or high is None or not low < high for low, _, high, _ in ranges.values()):
        return Attempt(False)
    if (short := by_certificate(sequent, quick=True)).proved:
        return short
    for pieces in _PIECES_OF_A_BOX:
        if pieces ** len(signs) > check_box.MOST_PIECES:
            break
        box = {
            name: [str(low + (high - low) * Fraction(k, pieces)) for k in range(1, pieces)]
            for name, (low, _, high, _) in ranges.items()
        }
        step = {"relation": str(goal), "box": box}
        with contextlib.suppress(ValueError, OutOfTime), processor_time(_SECONDS_A_SEARCH):
            check_witness.judge_line(step, signs, hypotheses)
            ends = (f"{low} to {high} in {name}" for name, (low, _, high, _) in ranges.items())
            line = f"Bernstein coefficients on {pieces ** len(signs)} pieces: {', '.join(ends)}"
            return Attempt(True, "Bernstein coefficients", (line,), proof=({"box": box},))
    return Attempt(False, tried=("Bernstein coefficients on a box",))


#: Ways to prove a sequent, from cheap to dear; a new one is a row here.
STRATEGIES: tuple[Callable[..., Attempt], ...] = (
    *(by_box, by_certificate, by_line, by_whole_numbers),
)
