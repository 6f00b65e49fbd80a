"""Scalar claims: inequalities and equations between real expressions, proved or refuted.

A claim is decided in the order: exact expansion, a quick search for a counterexample, a positivity
certificate with z3 as a second opinion, boxes in one or two letters, a longer search. Only exact
arithmetic and balls ever lead to *proved* or *refuted*.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import sympy

from swingby.errors import InvalidInput
from swingby.proofs.checkers import check_proof, check_witness
from swingby.proofs.language.claim import Claim
from swingby.proofs.language.definedness import ENOUGH
from swingby.proofs.language.vectors import GRAM
from swingby.proofs.prover.evidence import TAUTOLOGY, ClaimVerdict, Witness, undecided
from swingby.proofs.prover.scalar.counterexample import (
    LONG,
    QUICK,
    Search,
    confirm,
    counterexample,
    model,
)
from swingby.proofs.prover.scalar.critical_points import counterexample_at_critical_points
from swingby.proofs.prover.scalar.next_steps import next_steps
from swingby.proofs.prover.scalar.preparation import normal_form, resolve_definitions
from swingby.proofs.prover.scalar.proof_strategies import (
    STRATEGIES,
    Attempt,
    by_certificate,
    by_expansion,
    checkable_steps,
    cited,
    sign_word,
)
from swingby.proofs.prover.scalar.relation import (
    FALSUM,
    ZERO,
    Relation,
    Sequent,
    relation_from,
)
from swingby.proofs.prover.scalar.side_conditions import (
    as_fact,
    side_conditions,
    signs_of_denominators,
    signs_of_letters,
    unknown_term,
)
from swingby.theory.search_time import OutOfTime, processor_time
from swingby.theory.verdict import Finding

#: Seconds for each relation of a claim.
BUDGET = 240.0


#: What a claim is where something says that it is true, the most certain first.
PROVED = (Finding.PROVED, Finding.PROVED_BY_Z3)


class UnknownFunction(Exception):
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


def decide_scalar(claim: Claim, *, rng: int = 0, seconds: float = BUDGET) -> ClaimVerdict:
    """The verdict on a claim between real expressions.

    `claim`: its conclusion is one of <=, <, >=, >, =, !=, or an And of them. A chain is proved if
    every relation is, and refuted if one is. "exists" is decided through its negation.
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
        search, questions = prepare_claim(claim)
    except UnknownFunction as part:
        return undecided("no prover", f"no prover knows {part}")
    if claim.quantifier == "exists":
        return _existence(search, questions, rng, seconds)
    # Where one relation of a chain evidently fails, no long search has to refute another.
    thorough = len(questions) == 1 or not any(
        counterexample(search.with_goal(question.goal), effort=QUICK, rng=rng)
        for question in questions
    )
    judgements = [
        _proved_apart(search, question, questions, rng, seconds)
        or _decide_question(search, question, rng, seconds, thorough=thorough)
        for question in questions
    ]
    judged = (
        judgements[0] if len(judgements) == 1 else _chain([q.goal for q in questions], judgements)
    )
    if judged.verdict is Finding.PROVED:
        reason = check_witness.judge_shown(proof_file(search, questions, judged.proof))
        if reason:  # what the checker does not accept is not proved
            tried = f"a certificate that check.py does not accept: {reason}"
            judged = ClaimVerdict(Finding.UNDECIDED, "no file", judged.evidence, tried=(tried,))
    if judged.verdict is Finding.UNDECIDED and judged.method == "":
        unsettled = (
            q.goal for q, each in zip(questions, judgements, strict=True) if each.method == ""
        )
        advice = (line for goal in unsettled for line in next_steps(search, goal))
        judged = replace(judged, tried=tuple(dict.fromkeys((*judged.tried, *advice))))
    if judged.verdict not in PROVED or not claim.given:
        return judged
    with processor_time(seconds):
        point = model(search.with_goal(questions[0].goal), rng=rng)
    if point is not None:
        coordinates = ", ".join(f"{name} = {value}" for name, value in point.items())
        return replace(judged, evidence=(*judged.evidence, f"its hypotheses hold at {coordinates}"))
    if _decide(search, rng, seconds / 4, thorough=False).verdict in PROVED:
        reason = "the hypotheses contradict each other: anything follows from them"
        return ClaimVerdict(Finding.UNDECIDED, "vacuous", judged.evidence, tried=(reason,))
    return replace(
        judged, evidence=(*judged.evidence, "no point that meets its hypotheses is known")
    )


def prepare_claim(claim: Claim) -> tuple[Search, list[Question]]:
    """The hypotheses of a claim with all that they imply by being defined, and its relations.

    Raises InvalidInput as in :func:`decide_scalar`; Unknown for what no prover here knows.
    """
    if claim.quantifier not in ("for all", "exists"):
        raise InvalidInput(
            "quantifier", claim.quantifier, "must be 'for all' or 'exists'", claim.id
        )
    definitions, where = dict(claim.where), resolve_definitions(claim.where)
    written = [relation_from(hypothesis.relation, hypothesis.source) for hypothesis in claim.given]
    goals = [relation_from(relation, claim.id) for relation in claim.conditions]
    if not goals:
        raise InvalidInput("conclusion", claim.conclusion, "must be a relation", claim.id)
    hypotheses = [relation.substitute(where) for relation in written]
    assumed = [x for x, each in zip(written, claim.given, strict=True) if each.source != GRAM]
    questions = [
        Question(
            goal.substitute(where),
            side_conditions(goal, definitions, where),
            _why_empty(goal, where, assumed),
        )
        for goal in goals
    ]
    unknown_term((*written, *goals))  # refuses numbers that are none as they are written
    try:
        unknown = unknown_term((*hypotheses, *(question.goal for question in questions)))
        if unknown:
            raise UnknownFunction(unknown)
        for question in questions:
            unknown_term(normal_form(Sequent(tuple(hypotheses), question.goal)).relations)
    except InvalidInput as error:
        if error.value == sympy.I:
            raise UnknownFunction("the root or logarithm of a negative number") from None
        if error.value in (sympy.zoo, sympy.nan):
            raise UnknownFunction("a value of what is undefined: it divides by 0") from None
        raise
    # A hypothesis holds only where it is defined; a fact about any vectors does not say that it is.
    needed_by = {each: side_conditions(each, definitions, where) for each in written}
    facts = [needed for each in written if each.label != GRAM for needed in needed_by[each]]
    known = {_bare(x) for x in (*facts, *hypotheses)}
    strict = [each[:2] for each in known if each[2] == "<"]
    known |= {(x, y, kind) for x, y in strict for kind in ("<=", "!=")}
    known |= {(y, x, "!=") for x, y in strict}
    hypotheses = [
        put_in
        for each, put_in in zip(written, hypotheses, strict=True)
        if each.label != GRAM or known.issuperset(map(_bare, needed_by[each]))
    ]
    facts += signs_of_letters((*hypotheses, *(question.goal for question in questions)))
    facts = [needed for needed in facts if needed.label != ENOUGH]
    premises = tuple(map(as_fact, dict.fromkeys((*hypotheses, *facts))))
    search = Search(Sequent(premises, FALSUM), claim.in_force, claim.indices)
    return search, questions


def _bare(relation: Relation) -> tuple[Any, Any, str]:
    """A relation without its source."""
    return relation.small, relation.large, relation.kind


def proof_file(
    search: Search, questions: list[Question], proof: tuple[dict[str, Any], ...]
) -> dict[str, Any]:
    """The file of a proof, as :mod:`check_proof` reads it, without the words around it."""
    letters = set(search.sequent.symbols).union(*(question.goal.symbols for question in questions))
    signs = {letter.name: sign_word(letter) for letter in sorted(letters, key=str)}
    relations = (*search.sequent.hypotheses, *(question.goal for question in questions))
    hypotheses = list(dict.fromkeys(map(str, search.sequent.hypotheses)))
    whole = sorted(letter.name for letter in letters if letter.is_integer)
    content = {"signs": signs, "whole": whole, "given": hypotheses, "shows": list(proof)}
    text = in_words(json.dumps(content, ensure_ascii=False), signs)
    if "E" not in signs:
        text = re.sub(r"\bE\b", "exp(1)", text)  # e is no letter
    elif any(sympy.E in side.atoms() for each in relations for side in each.sides):
        raise InvalidInput("letters", "E", "must have another name beside the number e")
    known: dict[str, Any] = json.loads(text)
    return {"format": check_proof.FORMAT, "id": "", "line": ""} | known


def word_of(name: str) -> str:
    """The name of a letter in a file, where it is one word; other names have other words."""
    if check_proof.LETTER.fullmatch(name):
        return name
    # Two underscores are one, and one begins the number of a sign.
    words = (
        x if x.isascii() and x.isalnum() else "__" if x == "_" else f"_{ord(x):x}_" for x in name
    )
    return "letter_" + "".join(words)


def in_words(text: str, names: Iterable[str]) -> str:
    """A text with letters whose names are one word each."""
    names = sorted(names, key=len, reverse=True)  # a name may be within another
    for name in names:
        word = word_of(name)
        if word != name and word in names:
            raise InvalidInput("letters", word, f"must have another name: {name} is so called")
        text = text.replace(name, word)
    return text


def _why_empty(goal: Relation, where: dict[Any, Any], written: list[Relation]) -> str:
    """The reason why a relation says nothing, as it is written; empty if it says something."""
    pairs = itertools.permutations(goal.sides)
    defined = any(letter in where and where[letter] == value for letter, value in pairs)
    if goal.kind in ("<=", "==") and (goal.small == goal.large or defined):
        return SAME
    # A file has no fact with !=: that is shown.
    return ASSUMED if goal in written and goal.kind != "!=" else ""


def _proved_apart(
    search: Search, question: Question, questions: list[Question], rng: int, seconds: float
) -> ClaimVerdict | None:
    """A proof without what is given about letters that only other relations of the claim have."""
    letters = {letter for each in questions for letter in each.goal.symbols}
    letters -= set(question.goal.symbols)
    hypotheses = search.sequent.hypotheses
    relevant = tuple(each for each in hypotheses if letters.isdisjoint(each.symbols))
    if not letters or len(relevant) == len(hypotheses):
        return None
    apart = replace(search, sequent=Sequent(relevant, search.sequent.goal))
    judged = _decide_question(apart, question, rng, seconds / 2, thorough=False)
    return judged if judged.verdict is Finding.PROVED else None


def _decide_question(
    search: Search, question: Question, rng: int, seconds: float, *, thorough: bool
) -> ClaimVerdict:
    """The verdict on a relation: it is defined wherever the hypotheses hold, and true there."""
    evidence: list[str] = []
    open_conditions: list[str] = []
    by_z3 = False
    proof: list[dict[str, Any]] = []
    for needed in question.needed:
        judged = _decide(search.with_goal(needed), rng, seconds / 4, thorough=False)
        if judged.verdict is Finding.REFUTED and needed.label != ENOUGH:
            return replace(judged, method=f"{judged.method}: the line is not defined there")
        if judged.verdict in PROVED:
            evidence += [f"defined, as {needed}", *judged.evidence]
            proof += judged.proof
            by_z3 = by_z3 or judged.verdict is Finding.PROVED_BY_Z3
            search = search.with_facts(as_fact(needed))
        else:
            open_conditions.append(f"whether {needed}, which the line needs to be defined")
    goal = question.goal
    if question.empty:
        itself = cited(goal) if question.empty == ASSUMED else checkable_steps([])
        judged = _proved_verdict(Attempt(True, TAUTOLOGY, (question.empty,), proof=(itself,)), goal)
    else:
        judged = _decide(search.with_goal(goal), rng, seconds, thorough=thorough)
    for positive in signs_of_denominators(goal):
        if judged.verdict is not Finding.UNDECIDED:
            break
        sign_verdict = _decide(search.with_goal(positive), rng, seconds / 4, thorough=False)
        if sign_verdict.verdict in PROVED:
            by_z3 = by_z3 or sign_verdict.verdict is Finding.PROVED_BY_Z3
            evidence += [f"as {positive}", *sign_verdict.evidence]
            proof += sign_verdict.proof
            search = search.with_facts(positive)
            judged = _decide(search.with_goal(goal), rng, seconds / 2, thorough=False)
    if judged.verdict is Finding.PROVED and by_z3:
        judged = replace(judged, verdict=Finding.PROVED_BY_Z3)
    if judged.verdict in PROVED and open_conditions:
        tried = ("proved only where it is defined", *open_conditions)
        return ClaimVerdict(Finding.UNDECIDED, judged.method, judged.evidence, tried=tried)
    complete = (*proof, *judged.proof) if judged.proof else ()
    return replace(judged, evidence=(*evidence, *judged.evidence), proof=complete)


def _chain(goals: list[Relation], judgements: list[ClaimVerdict]) -> ClaimVerdict:
    proof = (
        [step for judged in judgements for step in judged.proof]
        if all(p.proof for p in judgements)
        else []
    )
    judgements = [replace(judged, proof=()) for judged in judgements]
    by_goal = {str(goal): judged for goal, judged in zip(goals, judgements, strict=True)}
    verdicts = {judged.verdict for judged in judgements}
    evidence = tuple(
        f"{name}: {line}" for name, judged in by_goal.items() for line in judged.evidence
    )
    methods = "; ".join(dict.fromkeys(judged.method for judged in judgements))
    if Finding.REFUTED in verdicts:
        first = next(judged for judged in judgements if judged.verdict is Finding.REFUTED)
        return replace(first, evidence=evidence, parts=by_goal)
    verdict = max(verdicts, key=[*PROVED, Finding.UNDECIDED].index)
    tried = tuple(dict.fromkeys(line for judged in judgements for line in judged.tried))
    return ClaimVerdict(verdict, methods, evidence, tried=tried, parts=by_goal, proof=tuple(proof))


def _existence(search: Search, questions: list[Question], rng: int, seconds: float) -> ClaimVerdict:
    """Decide "exists" by its negation: under the other relations, the last fails."""
    inequalities = [question for question in questions if question.goal.kind != "=="]
    last = inequalities[-1] if inequalities else None
    facts = [question.goal for question in questions if question is not last]
    # A point counts only where everything is defined.
    facts += [
        condition
        for question in questions
        for condition in question.needed
        if condition.label != ENOUGH
    ]
    target = FALSUM if last is None else last.goal.negation()
    judged = _decide(search.with_facts(*map(as_fact, facts)).with_goal(target), rng, seconds)
    if judged.verdict is Finding.PROVED:
        lines = ("nothing satisfies it: its negation is proved", *judged.evidence)
        return replace(judged, verdict=Finding.REFUTED, evidence=lines, proof=())
    if judged.witness is None:
        opinion = "z3 alone says that nothing satisfies it"
        reason = "its negation is undecided" if judged.verdict not in PROVED else opinion
        evidence = (reason, *judged.evidence)
        return replace(judged, verdict=Finding.UNDECIDED, evidence=evidence, proof=())
    return ClaimVerdict(
        Finding.PROVED,
        judged.method.replace("counterexample", "example"),
        ("an example satisfies it",),
        replace(judged.witness, relation=f"not ({judged.witness.relation})"),
    )


def _decide(search: Search, rng: int, seconds: float, *, thorough: bool = True) -> ClaimVerdict:
    """Proofs and searches in turn; half of the budget is for the last search, if `thorough`."""
    tried: list[str] = []
    witness = None
    try:
        with processor_time(seconds / 2):
            witness = _proof_or_witness(search, rng, tried)
    except OutOfTime:
        tried.append(f"{seconds / 2:g} s for proofs, which ran out")
    if isinstance(witness, Attempt):
        return _proved_verdict(witness, search.sequent.goal)
    try:
        if witness is None and thorough:
            with processor_time(seconds / 2):
                witness = counterexample(search, effort=LONG, rng=rng + 1)
                witness = witness or counterexample_at_critical_points(search)
            tried.append("search for a counterexample")
    except OutOfTime:
        tried.append(f"{seconds / 2:g} s for counterexamples, which ran out")
    if witness is None:
        return undecided("", *tried)
    inside = " inside Assumptions D.1 to D.5" if search.in_force else ""
    line = f"{witness.relation} fails{inside}: {witness.left} against {witness.right}"
    return ClaimVerdict(Finding.REFUTED, f"counterexample{inside}", (line,), witness)


def _proof_or_witness(search: Search, rng: int, tried: list[str]) -> Attempt | Witness | None:
    # Proofs are of the evaluated form; witnesses are checked against what is written.
    sequents = [normal_form(reading) for reading in _readings(search.sequent)]
    goal = search.sequent.goal
    attempt: Attempt = by_expansion(sequents[0])
    if attempt.proved:
        return attempt
    witness = counterexample(search, effort=QUICK, rng=rng)
    if witness is not None:
        if any(by_certificate(reading, quick=True).proved for reading in sequents):
            raise RuntimeError(f"a proof and a counterexample of {goal}: {witness}")
        return witness
    strategies = list(STRATEGIES)
    if goal.kind == "!=":
        strategies.insert(0, functools.partial(by_certificate, quick=True))
    by_z3: Attempt | None = None
    for strategy, sequent in itertools.product(strategies, sequents):
        attempt = strategy(sequent)
        if attempt.proved:
            return attempt
        by_z3 = by_z3 or (attempt if attempt.by_z3 else None)
        tried.extend(attempt.tried)
        confirmed = filter(None, (confirm(search, point) for point in attempt.candidates))
        witness = next(confirmed, None)
        if witness is not None:
            return witness
    return by_z3


def _readings(sequent: Sequent) -> list[Sequent]:
    """Sequents of which each proves this sequent: of two numbers that differ, either is larger."""
    goal = sequent.goal
    if goal.kind != "!=":
        return [sequent]
    return [
        replace(sequent, goal=replace(goal, kind="<")),
        replace(sequent, goal=Relation(goal.large, goal.small, "<", goal.label)),
        replace(sequent, goal=Relation(ZERO, (goal.large - goal.small) ** 2, "<", goal.label)),
    ]


def _proved_verdict(attempt: Attempt, goal: Relation) -> ClaimVerdict:
    proof = tuple(attempt.shown(goal)) if attempt.proof else ()
    verdict = Finding.PROVED if attempt.proved else Finding.PROVED_BY_Z3
    return ClaimVerdict(verdict, attempt.method, attempt.evidence, proof=proof)
