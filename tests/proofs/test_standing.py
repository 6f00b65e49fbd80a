"""What stands with all that it rests on: against reachability, on random ledgers.

A line falls if a refuted line can be reached from it, and so on: by powers of a matrix.
"""

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from swingby.errors import InvalidInput
from swingby.proofs.audit import audit as module
from swingby.proofs.audit.audit import audit, granted, promises
from swingby.proofs.audit.standing import BY_READER, BY_Z3, FALLS, OPEN, STANDS, TESTED
from swingby.proofs.language import claims as text
from swingby.proofs.language.claim import AlongTrajectory, Claim, Given
from swingby.proofs.language.reader import packaged
from swingby.proofs.prover.evidence import ClaimVerdict
from swingby.theory.verdict import Finding

x = sympy.Symbol("x", positive=True)
LEMMAS = packaged("trajectories")
ASSERTION = LEMMAS["Assertion D.1"]
FEW_STEPS, NOT_DEGENERATE = LEMMAS.groups["FEW_STEPS"], LEMMAS.groups["NOT_DEGENERATE"]
ORDER = (STANDS, BY_Z3, BY_READER, TESTED, OPEN, FALLS)
OWN = dict(
    zip(
        (
            *(Finding.PROVED, Finding.PROVED_BY_Z3, Finding.READ),
            *(Finding.TESTED, Finding.UNDECIDED, Finding.REFUTED),
        ),
        ORDER,
        strict=True,
    )
) | {Finding.MET: STANDS}


def line(number, cites=()):
    relation = sympy.Ge(x, number, evaluate=False)
    return Claim(
        f"D.{number}", "step", "", relation, tuple(Given(x > 0, source) for source in cites)
    )


def judged_as(monkeypatch, claims, verdicts):
    """The ledger of some claims whose verdicts, by id and edition, are given."""
    monkeypatch.setattr(text, "Claims", lambda: {claim.id: claim for claim in claims})
    monkeypatch.setattr(text, "sections", lambda: {claim.id: "Lemma D.1" for claim in claims})
    judge = lambda claim, **_: ClaimVerdict(verdicts[claim.id, claim.edition], "rule")  # noqa: E731
    monkeypatch.setattr(module, "decide", judge)


@st.composite
def ledgers(draw):
    size = draw(st.integers(1, 8))
    arrows = draw(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=16))
    uses = {(i, j) for i, j in arrows if j < i < size}
    verdicts = draw(st.lists(st.sampled_from(list(Finding)), min_size=size, max_size=size))
    return uses, verdicts, draw(st.sets(st.integers(0, size - 1), max_size=2))


@given(ledgers())
@settings(max_examples=60)
def test_a_line_is_as_good_as_the_worst_that_can_be_reached(drawn):
    uses, verdicts, promised = drawn
    size = len(verdicts)
    claims = [line(i + 1, [f"D.{j + 1}" for k, j in sorted(uses) if k == i]) for i in range(size)]
    arrows = np.zeros((size, size), dtype=bool)
    for i, j in uses:
        # What is promised, and what is refuted itself, does not look further.
        arrows[i, j] = i not in promised and verdicts[i] != Finding.REFUTED
    reached = np.linalg.matrix_power(arrows.astype(int) + np.eye(size, dtype=int), size) > 0
    with pytest.MonkeyPatch.context() as patch:
        by_id = {(f"D.{i + 1}", "printed"): verdict for i, verdict in enumerate(verdicts)}
        judged_as(patch, claims, by_id)
        ledger = audit(cache=False, progress=False, assume=[f"D.{i + 1}" for i in promised])
        for i, standing in enumerate(ledger.standing()):
            states = {
                j: STANDS if j in promised else OWN[verdicts[j]]
                for j in range(size)
                if reached[i, j]
            }
            worst = max(states.values(), key=ORDER.index)
            assert standing.state == worst
            worst_lines = {f"D.{j + 1}" for j, state in states.items() if state == worst}
            assert set(standing.because) == (worst_lines if worst != STANDS else set())
            assert {f"D.{j + 1}" for j in states if j in promised} <= set(standing.assumes)


def test_what_uses_only_the_corrected_form_rests_on_that(monkeypatch):
    cited = line(1).with_repair(conclusion=sympy.Ge(x, 0, evaluate=False))
    cited = cited.with_repair(conclusion=cited.repair.conclusion, given=(Given(x > 1, "D.9"),))
    relation = sympy.Ge(x, 5, evaluate=False)
    printed = Claim("D.2", "step", "", relation, (Given(cited.conclusion, "D.1"),))
    spared = Claim("D.3", "step", "", relation, (Given(cited.repair.conclusion, "D.1"),))
    verdicts = {("D.1", "printed"): Finding.REFUTED, ("D.1", "corrected"): Finding.PROVED}
    verdicts |= {(f"D.{n}", "printed"): Finding.PROVED for n in (2, 3)}
    judged_as(monkeypatch, [cited, printed, spared], verdicts)
    ledger = audit(cache=False, progress=False)
    assert [standing.state for standing in ledger.standing()] == [FALLS, FALLS, STANDS]
    assert ledger.standing()[2].assumes == ("D.9",)
    # As corrected, the first line stands; the second still follows when it is judged again.
    states = [standing.state for standing in ledger.standing(corrected=True)]
    assert states == [STANDS, STANDS, STANDS]
    verdicts["D.2", "printed"] = Finding.REFUTED
    ledger = audit(cache=False, progress=False)
    assert [standing.state for standing in ledger.standing(corrected=True)] == [
        STANDS,
        FALLS,
        STANDS,
    ]


def test_a_promise_that_a_repair_asks_for_is_the_repair():
    promised = promises("pivots >= 3/4, few steps", [])[1]
    assert granted(ASSERTION, promised) is ASSERTION.repair
    weaker = promises("pivots >= 1/4, few steps", [])[1]
    with_promise = granted(ASSERTION, weaker)
    assert with_promise.conclusion == ASSERTION.conclusion
    assert [hypothesis.relation for hypothesis in with_promise.given] == [
        hypothesis.relation for hypothesis in weaker
    ]
    assert granted(line(1), promised) == line(1)
    assert {hypothesis.relation for hypothesis in (*NOT_DEGENERATE, *FEW_STEPS)} == {
        hypothesis.relation for hypothesis in promises("pivots >= 1/2, few steps", [])[1]
    }


@pytest.mark.parametrize("wrong", ["nonsense", "pivots >= 2", "pivots >= 0", "PSD, pivots > 1"])
def test_a_promise_that_is_none_is_refused(wrong):
    with pytest.raises(InvalidInput, match="assume"):
        promises(wrong, ["D.1", "before D.37 (semidefinite)"])


def test_a_lemma_under_its_promise_has_the_verdict_of_its_repair(monkeypatch):
    along = Claim("Lemma D.1", "lemma", "", AlongTrajectory(x > 0, "all")).with_repair(
        given=NOT_DEGENERATE
    )
    verdicts = {
        ("Lemma D.1", "printed"): Finding.REFUTED,
        ("Lemma D.1", "corrected"): Finding.TESTED,
    }
    judged_as(monkeypatch, [along], verdicts)
    assert audit(cache=False, progress=False)[0].verdict == "refuted"
    assert audit(cache=False, progress=False, assume="pivots >= 1/2")[0].verdict == "tested"
