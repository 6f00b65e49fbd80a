"""Lines with finite sums: proved by rules of sums, or refuted where the sums have few terms."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import sympy

from swingby.proofs.checkers import check_witness
from swingby.proofs.language.claim import Claim, Given
from swingby.proofs.language.sums import (
    FiniteSum,
    at_place,
    indices_of,
    stands_at,
)
from swingby.proofs.prover.evidence import ClaimVerdict, undecided
from swingby.proofs.prover.scalar.scalar_claims import (
    PROVED,
    decide_scalar,
    prepare_claim,
    proof_file,
)
from swingby.proofs.prover.sums.few_terms import (
    is_of_sequences,
    needs_of_statements,
    refuted,
    statements,
)
from swingby.proofs.prover.sums.sum_facts import NoRule, SumFacts, counting, mapped, text
from swingby.theory.verdict import Finding

#: Seconds for the relations once the facts of the sums are known.
_SECONDS = 30.0
_STRICT = (sympy.Lt, sympy.Gt)


def speaks_of_sums(claim: Claim) -> bool:
    """Whether a line has a sum, or a hypothesis for each value."""
    return isinstance(claim.conclusion, sympy.Basic) and any(
        True for _ in indices_of(claim.statements)
    )


def decide_sums(claim: Claim) -> ClaimVerdict:
    """The verdict on a line with finite sums.

    What is proved has a file for ``check_sum.py``; what is refuted, numbers at which the sums have
    a few terms.
    """
    if claim.quantifier != "for all":
        return undecided("no prover", "no prover says of sums that some numbers exist")
    given, goals = statements(claim)
    try:
        facts = SumFacts(given, goals)
        judged = _proved(facts)
    except NoRule as reason:
        judged = undecided("no prover", str(reason))
    if judged.verdict in PROVED:
        return judged
    needed = (f"it is defined only if {text(x)}" for x in needs_of_statements([*given, *goals]))
    tried = tuple(dict.fromkeys((*judged.tried, *needed)))
    return refuted(given, goals) or replace(judged, tried=tried)


def decide_sequences(claim: Claim) -> ClaimVerdict:
    """The verdict on a line without sums, perhaps with letters at places such as f(k).

    Numbers against it, or for an example, are those of sequences: where k is 0, f(k) is f(0).
    """
    judged = decide_scalar(claim)
    if judged.witness is None or is_of_sequences(claim.letters, judged.witness):
        return judged
    if claim.quantifier == "exists":
        reason = "its letters at one place would need to be equal: say it as a line for all numbers"
        return undecided("sequences", reason)
    reason = "no numbers in which letters at one place are equal refute it"
    return refuted(*statements(claim)) or undecided("sequences", reason)


def _proved(facts: SumFacts) -> ClaimVerdict:
    """SumFacts of the sums, and the relations from them, in rounds."""
    tried: list[str] = []
    vacuous, undefined = None, list[str]()
    for needed in facts.needed:
        total = FiniteSum(sympy.Integer(1), needed.index, needed.low, needed.high)
        goal = mapped(needed.relation, {needed.index: counting(needed.index)})
        if facts.steps(goal, facts.known_at(total), total) is None:
            tried.append(f"whether {text(needed)}, which a sum needs to be defined")
    if tried:
        return undecided("sums", *tried)
    for round_of_rules in (_from_hypotheses, _of_the_goals, _of_means):
        before = len(facts.rules)
        round_of_rules(facts)
        if round_of_rules is not _from_hypotheses and len(facts.rules) == before:
            continue
        known = [*facts.given, *facts.says]
        goal = facts.goals[0] if len(facts.goals) == 1 else sympy.Tuple(*facts.goals)
        claim = Claim("sums", "step", "", goal, tuple(Given(x, "case") for x in known))
        judged = decide_scalar(claim, seconds=_SECONDS)
        if judged.verdict is Finding.PROVED:
            return _with_file(facts, claim, judged)
        vacuous = judged if judged.method == "vacuous" else vacuous
        undefined = [x for x in judged.tried if x.startswith("whether")] or undefined
    rules = "rules of sums: linearity, telescoping, bounds of terms, means"
    return vacuous or undecided("sums", rules, *undefined)


def _with_file(facts: SumFacts, claim: Claim, judged: ClaimVerdict) -> ClaimVerdict:
    """A proof with its file, once the checker takes it."""
    body = facts.file(proof_file(*prepare_claim(claim), judged.proof))
    if reason := check_witness.judge_shown(body):
        return undecided("no file", f"a certificate that check.py does not accept: {reason}")
    pairs = list(zip(facts.rules, map(text, facts.says), strict=True))
    for pair in reversed(list(pairs)):  # what is not needed goes
        smaller = body | {"facts": [rule for rule, _ in pairs if rule is not pair[0]]}
        if not check_witness.judge_shown(smaller):
            body, pairs = smaller, [each for each in pairs if each is not pair]
    lines = [f"{rule['rule']}: {says}" for rule, says in pairs]
    sums = (f"{x} = {total}".replace("FiniteSum", "sum") for x, total in facts.sums.items())
    defined = (f"defined, as {text(each)}" for each in facts.needed)
    evidence = (
        *sums,
        *defined,
        *lines,
        *(x for x in judged.evidence if "hypotheses hold" not in x),
    )
    return ClaimVerdict(Finding.PROVED, "rules of sums", evidence, proof=(body,))


def _ranges(facts: SumFacts) -> list[tuple[Any, Any, Any]]:
    return list(dict.fromkeys(total.args[1:] for total in facts.sums.values()))


def _from_hypotheses(facts: SumFacts) -> None:
    """Linearity, signs of terms, and the sums of hypotheses, perhaps weighted."""
    for letter in facts.written:
        facts.split(letter)
    factors = {
        factor
        for total in facts.sums.values()
        for factor in sympy.Mul.make_args(total.args[0])
        if factor != 1
    }
    for each in facts.each:
        relation = each.relation
        if isinstance(relation, sympy.Ne):
            continue
        ends = (each.index, each.low, each.high)
        gap = _gap(relation)
        weights = [
            x
            for x in sorted(factors, key=str)
            if x.free_symbols
            and not x.free_symbols & gap.free_symbols
            and x.is_nonnegative
            and all(stands_at(y, each.index) for y in x.free_symbols)
        ]
        sizes = sorted(gap.atoms(sympy.Abs), key=str)
        insides = [gap.xreplace({x: turn * x.args[0]}) for x in sizes[:1] for turn in (1, -1)]
        for weight, form in [*((x, gap) for x in (1, *weights[:3])), *((1, x) for x in insides)]:
            total = facts.letter(FiniteSum(weight * form, *ends))
            if _termwise(facts, total, _sign(relation) if weight == 1 else "<="):
                facts.split(total)
    _telescope(facts)
    for letter in list(facts.sums):
        _sign_of(facts, letter)


def _gap(relation: Any) -> Any:
    """The larger minus the smaller side."""
    gap = relation.rhs - relation.lhs
    return -gap if isinstance(relation, sympy.Ge | sympy.Gt) else gap


def _sign(relation: Any) -> str:
    return "=" if isinstance(relation, sympy.Eq) else "<" if isinstance(relation, _STRICT) else "<="


def _termwise(facts: SumFacts, letter: Any, sign: str) -> bool:
    """0 <= sum, from 0 <= term."""
    term, _, low, high = facts.sums[letter].args
    makers = {"<": sympy.Lt, "<=": sympy.Le, "=": sympy.Eq}
    for kind in dict.fromkeys((sign, "<=" if sign == "<" else sign)):
        make = makers[kind]
        if facts.add(
            "termwise",
            [letter],
            make(0, letter, evaluate=False),
            texts=[kind],
            each=[make(0, term, evaluate=False)],
            once=[sympy.Le(low, high, evaluate=False)] if kind == "<" else (),
        ):
            return True
    return False


def _sign_of(facts: SumFacts, letter: Any) -> None:
    """The sign of a sum of terms that are never negative; how many terms, where each is 1."""
    term, _, low, high = facts.sums[letter].args
    if term == 1:
        count = sympy.Eq(letter, high - low + 1, evaluate=False)
        counted = sympy.Le(low, high + 1, evaluate=False)
        if facts.add("count", [letter], count, once=[counted]):
            return
    if term.is_nonnegative:
        _termwise(facts, letter, "<" if term.is_positive else "<=")


def _telescope(facts: SumFacts) -> None:
    """What is left of sums of f(t+1) and of f(t), one minus the other."""
    for ends in _ranges(facts):
        index = ends[0]
        terms = {x.args[0]: letter for letter, x in facts.sums.items() if x.args[1:] == ends}
        for term in list(terms):
            try:
                after = at_place(term, index, index + 1)
            except ValueError:
                continue
            powers = [x for x in term.atoms(sympy.Pow, sympy.exp) if index in x.exp.free_symbols]
            if term in (1, index) or not (after in terms or powers):
                continue
            gap = facts.letter(FiniteSum(after - term, *ends))
            if _telescoped(facts, gap, term):
                facts.split(gap)


def _telescoped(facts: SumFacts, letter: Any, of: Any) -> bool:
    """Sum of f(t+1) - f(t) = f(last + 1) - f(first)."""
    term, index, low, high = facts.sums[letter].args
    try:
        after, last, first = (at_place(of, index, x) for x in (index + 1, high + 1, low))
    except ValueError:
        return False
    return facts.add(
        "telescope",
        [letter],
        sympy.Eq(letter, last - first, evaluate=False),
        texts=[text(of)],
        each=[sympy.Eq(term, after - of, evaluate=False)],
        once=[sympy.Le(low, high + 1, evaluate=False)],
    )


def _of_the_goals(facts: SumFacts) -> None:
    """A goal as a bound of terms; a goal that says what a sum is, or is at most."""
    for goal in facts.goals:
        gap = sympy.expand(_gap(goal))
        sums = [x for x in facts.sums if gap.has(x)]
        ranges = {facts.sums[x].args[1:] for x in sums}
        if len(ranges) != 1 or isinstance(goal, sympy.Ne):
            continue
        (ends,) = ranges
        _, low, high = ends
        numbers = [gap.coeff(x) for x in sums]
        rest = sympy.expand(gap - sympy.Add(*(c * x for c, x in zip(numbers, sums, strict=True))))
        if rest.has(*sums) or any(c.has(*sums) for c in numbers):
            continue
        inside = sympy.Add(*(c * facts.sums[x].args[0] for c, x in zip(numbers, sums, strict=True)))
        sign = _sign(goal)
        share = sympy.cancel(rest / (high - low + 1))
        if sympy.denom(share).free_symbols & (high - low + 1).free_symbols == set():
            total = facts.letter(FiniteSum(sympy.expand(inside + share), *ends))
            if _termwise(facts, total, sign):
                facts.split(total)
                for letter in list(facts.sums):
                    _sign_of(facts, letter)
                continue
        _closed(facts, inside, rest, ends, sign)


def _closed(facts: SumFacts, inside: Any, rest: Any, ends: tuple[Any, Any, Any], sign: str) -> None:
    """0 <= sum + G(last), from terms of G(t - 1) - G(t) at most those of the sum."""
    index, _, high = ends
    letter = next(iter(sorted(high.free_symbols, key=str)), None)
    if letter is None:
        return
    shift = sympy.expand(high - letter)
    try:
        of = at_place(rest, letter, index - 1 - shift)
        after = at_place(of, index, index + 1)
    except ValueError:
        return
    gap = facts.letter(FiniteSum(after - of, *ends))
    if _telescoped(facts, gap, of):
        total = facts.letter(FiniteSum(inside + after - of, *ends))
        if _termwise(facts, total, sign):
            both = facts.letter(FiniteSum(inside, *ends))
            facts.add(
                "linear",
                [total, both, gap],
                sympy.Eq(total, both + gap, evaluate=False),
                texts=["1", "1"],
                each=[sympy.Eq(inside + after - of, inside + after - of, evaluate=False)],
            )
            facts.split(both)


def _root(term: Any) -> Any:
    """A product whose square is a product of squares and of what is positive; None without one."""
    factors = []
    for factor in sympy.Mul.make_args(term):
        base, exponent = factor.as_base_exp()
        if not (base.is_nonnegative or (exponent.is_Integer and exponent % 2 == 0)):
            return None
        factors.append(sympy.exp(exponent / 2) if base is sympy.E else base ** (exponent / 2))
    return sympy.Mul(*factors)


def _of_means(facts: SumFacts) -> None:
    """Cauchy and Schwarz, and the tangents of Jensen's inequality at means in the goals."""
    for ends in _ranges(facts):
        terms = {x.args[0]: letter for letter, x in facts.sums.items() if x.args[1:] == ends}
        one = sympy.Integer(1)
        roots = {term: root for term in (*terms, one) if (root := _root(term)) is not None}
        for first, second in itertools.combinations(roots, 2):
            mixed = roots[first] * roots[second]
            if mixed not in (*terms, one):
                continue
            letters = [facts.letter(FiniteSum(x, *ends)) for x in (mixed, first, second)]
            u, v = roots[first], roots[second]
            products = ((mixed, u * v), (first, u * u), (second, v * v))
            facts.add(
                "Schwarz",
                letters,
                sympy.Le(letters[0] ** 2, letters[1] * letters[2], evaluate=False),
                texts=[text(u), text(v)],
                each=[sympy.Eq(*pair, evaluate=False) for pair in products],
            )
    for letter in list(facts.sums):
        _sign_of(facts, letter)
    pairs = [(total, x) for total in list(facts.sums.values()) for x in _curves(facts, total)]
    # What is named comes before all that uses a name.
    tangents = [(total, *x[:3], facts.named(x[3])) for total, x in pairs]
    bounds = [(total.args[1:], _tangent(*x)) for total, *x in tangents]
    bounds += [x for letter in facts.written for x in _plain_bounds(facts.sums[letter])]
    for ends, gap in bounds:
        bound = facts.letter(FiniteSum(gap, *ends))
        if _termwise(facts, bound, "<="):
            facts.split(bound)
    for letter in list(facts.sums):
        _sign_of(facts, letter)


def _curves(facts: SumFacts, total: Any) -> Iterator[tuple[Any, Any, Any, Any]]:
    """A function in the terms of a sum, what is before it, its argument; its mean."""
    term, index, *_ = total.args
    kinds = (sympy.exp, sympy.log, sympy.Pow)
    outside = {x for goal in facts.goals for x in goal.atoms(*kinds)}
    for curve in sorted(term.atoms(*kinds), key=str):
        is_log, is_exp = isinstance(curve, sympy.log), isinstance(curve, sympy.exp)
        inside = curve.exp if is_exp else curve.args[0]
        weight = term / curve
        moves = any(stands_at(x, index) for x in inside.free_symbols)
        if weight.has(curve) or not moves or not (is_log or is_exp or curve.exp.is_number):
            continue
        means = [
            x.exp if is_exp else x.args[0]
            for x in sorted(outside, key=str)
            if x.func == curve.func and (is_log or is_exp or x.exp == curve.exp)
        ]
        letters = {x.args: letter for letter, x in facts.sums.items()}
        rest = total.args[1:]
        weighed = letters.get((sympy.expand(weight * inside), *rest))
        if weighed is not None and not any(x.has(weighed) and x != weighed for x in means):
            over = rest[2] - rest[1] + 1 if weight == 1 else facts.letter(FiniteSum(weight, *rest))
            means.append(weighed / over)
        yield from ((curve, weight, inside, mean) for mean in means)


def _tangent(curve: Any, weight: Any, inside: Any, at: Any) -> Any:
    """A term minus its tangent at a place, with its sign: never negative."""
    x = sympy.Symbol("x_tangent", positive=at.is_positive, real=True)
    function = curve.xreplace({inside: x})
    line = function.xreplace({x: at}) + sympy.diff(function, x).xreplace({x: at}) * (inside - at)
    convex = isinstance(curve, sympy.exp) or (curve.is_Pow and (curve.exp < 0 or curve.exp > 1))
    gap = weight * (curve - line)
    return gap if convex else -gap


def _plain_bounds(total: Any) -> Iterator[tuple[Any, Any]]:
    """Terms with a logarithm or a size, between bounds that have none."""
    term, *ends = total.args
    for part in sorted(term.atoms(sympy.log, sympy.Abs), key=str):
        weight, x = term / part, part.args[0]
        if not weight.has(part):
            bounds = (
                (x - 1 - part, part - 1 + 1 / x)
                if isinstance(part, sympy.log)
                else (part - x, part + x)
            )
            yield from ((tuple(ends), weight * bound) for bound in bounds)
