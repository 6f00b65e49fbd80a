"""The proofs for gradient descent on U: what is judged, what is read, and what weakening does."""

import re
from collections import Counter
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
import sympy

import swingby
from swingby.errors import InvalidInput
from swingby.proofs.audit.audit import Judgements
from swingby.proofs.audit.ledger import Ledger
from swingby.proofs.audit.standing import BY_READER, STANDS
from swingby.proofs.audit.witness_files import files
from swingby.proofs.checkers import check_witness
from swingby.proofs.language import claims as ledger
from swingby.proofs.language.claim import AllTimes
from swingby.proofs.language.reader import Proof, packaged
from swingby.proofs.language.repaired_conclusions import (
    InDimensions,
    Read,
    StepIdentity,
    after_step,
    along_flow,
)
from swingby.proofs.language.writer import proof_text
from swingby.proofs.prover.prove import decide, is_scalar
from swingby.proofs.prover.repaired.flow import decide_flow
from swingby.proofs.prover.scalar.counterexample import QUICK, counterexample
from swingby.proofs.prover.scalar.scalar_claims import decide_scalar, prepare_claim
from swingby.testing.claim_assertions import ledger_verdicts
from swingby.theory import dynamics as maps

FILES = [file for file in ledger.OWN.values() if file.endswith("_gd")]
CLAIMS = {claim.id: claim for file in FILES for claim in packaged(file).values()}
READ = [name for name, claim in CLAIMS.items() if isinstance(claim.conclusion, Read)]
SCALAR = [name for name, claim in CLAIMS.items() if is_scalar(claim)]
IDENTITIES = [
    name
    for name, claim in CLAIMS.items()
    if not (name in SCALAR or name in READ or isinstance(claim.conclusion, AllTimes))
]


def test_at_least_85_percent_are_judged_by_machine_and_none_is_tested_only():
    verdicts = ledger_verdicts()
    counts = Counter(verdicts[name] for name in CLAIMS)
    assert counts == {"proved": len(CLAIMS) - len(READ), "read": len(READ)}
    assert counts["proved"] >= 0.85 * len(CLAIMS)


@pytest.mark.parametrize("name", [*SCALAR, *IDENTITIES])
def test_verdict(name, verdict):
    judged = verdict(CLAIMS[name])
    assert judged.verdict == "proved", judged
    content = dict(files(_record(CLAIMS[name], judged)))
    assert content, "a proved line without a file"
    assert not any(map(check_witness.judge, content.values()))


def _record(claim, judged):
    return SimpleNamespace(id=claim.id, about="", statement=claim, **vars(judged))


@pytest.mark.parametrize("name", READ)
def test_a_read_line_says_why_and_what_a_machine_would_need(name):
    conclusion = CLAIMS[name].conclusion
    assert len(conclusion.why) > 15
    assert len(conclusion.needs) > 15
    judged = decide_flow(CLAIMS[name])
    assert judged.verdict == "read"
    assert judged.evidence == (conclusion.why, f"a machine would need: {conclusion.needs}")


def test_sources_are_lines_or_named_conditions():
    known = "Theorem R [R.5]", "notation", "range", "bounds", "Hadamard's inequality"
    named = r"C\d'?|E\(θ\) <= 1|condition of S-gd|case"
    for claim in CLAIMS.values():
        for source in claim.rests_on:
            assert source in CLAIMS or source in known or re.fullmatch(named, source), claim.id


@pytest.fixture(scope="module")
def audited(verdict):
    """The four files as a ledger, with the verdicts of the tests above."""
    claims = ledger.Claims()
    judgements = Judgements(claims, trajectories=False, cache=True)
    return Ledger([judgements.record(claims[name]) for name in CLAIMS])


@pytest.mark.full
def test_every_quotation_matches_and_what_is_read_never_stands(audited):
    assert [each for record in audited for each in record.quotations if each.open] == []
    states = {line.id: line.state for line in audited.standing()}
    assert set(states.values()) == {STANDS, BY_READER}
    assert all(states[name] == BY_READER for name in READ)
    assert states["Theorem two-gd [3.7]"] == BY_READER  # it rests on [3.6], and that on [3.6.7]
    assert audited.counts()["read"] == len(READ)
    assert f"{len(READ)} read" in str(audited)


@pytest.mark.parametrize("file", FILES)
def test_a_file_written_again_says_the_same(file):
    proof = packaged(file)
    read = [claim for claim in proof.values() if isinstance(claim.conclusion, Read | StepIdentity)]
    again = Proof(proof_text(read), f"{file}.proof")
    for claim in read:
        assert again[claim.id].conclusion == claim.conclusion


#: How far a relation is tightened, in shares of its right side (of both sides at 10), where a
#: thousandth still leaves it true; 0 where no point that meets the hypotheses is found in a moment.
SHARES = {
    **dict.fromkeys(("two-gd [3.3]", "two-gd [3.5.2]", "two-gd [3.7.1]", "two-gd [3.8.1]"), 0),
    "two-gd [3.8.3]": 0,
    **dict.fromkeys(("G-gd [1.5.1]", "G-gd [1.7]", "two-gd [3.3.3]", "two-gd [3.10.2]"), "1/10"),
    **dict.fromkeys(("two-gd [3.11.6]", "two-gd [3.13.7b]", "R-gd [4.4.3]"), "1/10"),
    **dict.fromkeys(("R-gd [4.8.3]", "S-gd [5.2.4]", "S-gd [5.2.6]", "S-gd [5.4.2]"), "1/10"),
    **dict.fromkeys(("G-gd [2.2.2]", "G-gd [2.5.2]", "G-gd [2.6.1]", "two-gd [3.4]"), "1/2"),
    **dict.fromkeys(("two-gd [3.6.5]", "two-gd [3.7.0]", "two-gd [3.7]", "two-gd [3.8.5]"), "1/2"),
    **dict.fromkeys(("R-gd [4.3.3]", "R-gd [4.4]", "R-gd [4.8.5]", "R-gd [4.10.8]"), "1/2"),
    "S-gd [5.2.5]": "1/2",
    **dict.fromkeys(("G-gd [1.5.2]", "two-gd [3.2.3]", "two-gd [3.2.4]"), "1"),
    **dict.fromkeys(("two-gd [3.10.7]", "two-gd [3.13.1]"), "1"),
    **dict.fromkeys(("two-gd [3.8.7]", "R-gd [4.3.2]", "R-gd [4.7.6]", "R-gd [4.11.5]"), "10"),
}


def tightened(relation, share):
    """The relation with a share of its right side, or of both, taken away from the larger one.

    Where a side is 0, the share itself.
    """
    left_side, right_side = relation.lhs, relation.rhs
    if isinstance(relation, sympy.Eq):
        return relation.func(left_side, right_side * (1 + share) or share, evaluate=False)
    size = sympy.Abs(right_side) + (sympy.Abs(left_side) if share > 1 else 0)
    size = share * (sympy.S.One if 0 in (left_side, right_side) else size)
    if relation.rel_op in ("<=", "<"):
        return relation.func(left_side, right_side - size, evaluate=False)
    return relation.func(left_side - size, right_side, evaluate=False)


@pytest.mark.parametrize("name", SCALAR)
def test_a_tightened_relation_is_refuted(name):
    share = sympy.Rational(SHARES.get(name.removeprefix("Theorem "), "1/1000"))
    claim = CLAIMS[name]
    changed = replace(claim, conclusion=tightened(claim.conditions[-1], share or sympy.S.One / 10))
    if not share:
        assert decide_scalar(changed, seconds=8).verdict in ("refuted", "undecided")
        return
    search, questions = prepare_claim(changed)
    assert counterexample(search.with_goal(questions[0].goal), effort=QUICK) is not None


@pytest.mark.parametrize("name", IDENTITIES)
def test_an_identity_with_a_changed_factor_is_not_proved(name):
    """The last side, times 1001/1000."""
    conclusion, factor = CLAIMS[name].conclusion, sympy.Rational(1001, 1000)
    if isinstance(conclusion, InDimensions):
        dimension, *sides = conclusion.cases[-1]
        case = (dimension, sides[0], sides[1] * factor)
        changed = replace(conclusion, cases=(*conclusion.cases[:-1], case))
    else:
        last = [field.name for field in fields(conclusion) if field.name != "trace"][-1]
        changed = replace(conclusion, **{last: factor * getattr(conclusion, last)})
    judged = decide(CLAIMS[name].but(conclusion=changed))
    assert judged.verdict in ("refuted", "undecided")


def test_what_read_needs_is_asked_for():
    for text in ("read: so\n  because why", "by hand: so\n  because why\n  needs more"):
        with pytest.raises(InvalidInput, match="what a machine needs"):
            Proof(f"step 1: a line\n  then {text}", "my.proof")["1"]


def test_a_line_that_rests_on_what_is_read_is_read(tmp_path):
    file = tmp_path / "my.proof"
    file.write_text(
        "letters positive: x\nstep limit: a limit\n  then read: x is small\n"
        "  because of compactness\n  needs topology\n  quoted as x <= 1\nstep user: of it\n"
        "  given x <= 1  [limit]\n  then x^2 <= 1\nstep other: alone\n  then x^2 + 1 >= 2 x\n",
        encoding="utf-8",
    )
    judged = swingby.audit(file, cache=False, progress=False)
    assert [str(record.verdict) for record in judged] == ["read", "proved", "proved"]
    assert [line.state for line in judged.standing()] == [BY_READER, BY_READER, STANDS]
    assert (judged.counts()["read"], judged.counts()["proved"]) == (1, 2)
    assert judged.standing()[1].because == ("limit",)


@pytest.mark.parametrize("dynamics", ["gd", "flow", "euler"])
def test_a_step_of_gradient_descent_is_that_of_the_simulation(dynamics):
    """w_12 after a step, by the package's own map; along the flow or under euler it is another."""
    A, W, eta = maps.symbols(2)
    letters = *A.diagonal(), eta, *W[:2, :1], W[1, 1]
    numbers = dict(zip(letters, (3, 1, 0.1, 0.3, 0.2, 0.4), strict=True))
    values = {letter: sympy.nsimplify(number) for letter, number in numbers.items()}
    along = dynamics == "flow"
    after = along_flow(W[0, 1], 2) if along else maps.step(dynamics, A, W, eta)[0, 1]
    at = after_step(W[0, 1], 2).subs(values)
    assert (at == after.subs(values)) is (dynamics == "gd")
    start, signal = (np.array(x.subs(values).tolist(), dtype=float) for x in (W, A))
    M = np.eye(2) + 0.1 * (signal - (signal @ start + start @ signal) / 2)
    assert float(at) == pytest.approx((M @ start @ M)[0, 1], rel=1e-14)
