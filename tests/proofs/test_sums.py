"""Finite sums: proved and refuted by files that the checker takes, quoted, moved."""

import copy
import json
import subprocess
import sys

import pytest

from benchmarks.claims import LETTERS, SUMS, claims, with_sums
from swingby.errors import InvalidInput
from swingby.proofs.checkers import check_sum
from swingby.proofs.language.claim_text import to_latex, to_text
from swingby.proofs.language.reader import Proof
from swingby.proofs.language.writer import proof_text
from swingby.proofs.prover.prove import decide
from swingby.proofs.prover.sums.few_terms import counterexample_file
from tests.proofs.audited import audit_text, states
from tests.proofs.shown import judge

DESCENT = "f(t+1) <= f(t) - G(t)/(2 L) for t from 0 to k - 1"


def audited(text, tmp_path):
    return audit_text(LETTERS + text, tmp_path)


@pytest.mark.parametrize(
    ("true", "false"),
    [
        pytest.param(true, false, marks=[pytest.mark.full] if index % 6 else [], id=true)
        for index, (_, true, false) in enumerate(claims(SUMS))
    ],
)
def test_a_claim_is_proved_and_its_near_miss_refuted_by_files(true, false):
    proved = decide(with_sums(true))
    assert proved.verdict == "proved", proved
    assert judge(proved.proof[0]) == ""
    claim = with_sums(false)
    refuted = decide(claim)
    assert refuted.verdict == "refuted", refuted
    assert judge(counterexample_file(claim, refuted.witness)) == ""


@pytest.mark.parametrize(
    ("line", "verdict"),
    [
        # No term is known: the range may be empty.
        ("sum(p(t), t, 0, k - 1) > 0", "refuted"),
        ("a(i) <= 1 for i from 1 to k |- a(1) <= 1", "refuted"),
        ("f(t+1) < f(t) for t from 0 to k - 1 |- f(k) < f(0)", "refuted"),
        # A term or a hypothesis is missing at an end.
        ("f(t+1) <= f(t) for t from 0 to k - 2 |- f(k) <= f(0)", "refuted"),
        ("f(t+1) <= f(t) for t from 1 to k - 1 |- f(k) <= f(0)", "refuted"),
        ("G(t) <= 1 for t from 0 to k - 1 |- sum(G(t), t, 0, k) <= k", "refuted"),
        # f(k) is f(0) where k is 0: no numbers are named that give both another value.
        ("k <= 0 |- f(k) <= f(0)", "undecided"),
        ("k <= 0 |- f(k) <= f(0) - 1", "refuted"),
        # Between the same ends, the name of what is counted says nothing.
        ("sum(a(i), i, 1, n) = sum(a(t), t, 1, n)", "proved"),
        # A term has no value where a(i) is 0.
        ("sum(1/a(i)^2, i, 1, n) >= 0", "undecided"),
    ],
)
def test_what_is_missing_is_not_proved(line, verdict):
    text = line if "|-" in line else f"|- {line}"
    assert decide(with_sums(text)).verdict == verdict


def proof():
    return decide(with_sums(f"{DESCENT} |- sum(G(t), t, 0, k - 1) <= 2*L*(f(0) - f(k))")).proof[0]


def wrong(change):
    content = copy.deepcopy(proof())
    change(content)
    return judge(content)


def _last(content):
    return content["shows"][-1]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: _last(x).update(relation=_last(x)["relation"].replace("2*L", "L")),
        lambda x: x["sums"]["sum_1"].__setitem__(3, "k"),
        lambda x: x["sums"]["sum_1"].__setitem__(0, "2*G(t)"),
        lambda x: x["given"].__setitem__(0, x["given"][0].replace("k - 1", "k - 2")),
        lambda x: x["given"].__setitem__(0, x["given"][0].replace("2*L", "3*L")),
        lambda x: x["given"].clear(),
        lambda x: x["facts"].pop(0),
        lambda x: x["facts"].pop(),
        lambda x: x["facts"][0].update(rule="axiom"),
        lambda x: [fact.update(once=[]) for fact in x["facts"]],
        lambda x: [fact.update(each=[]) for fact in x["facts"]],
        lambda x: x["whole"].clear(),
        lambda x: x["signs"].update(sum_1="positive"),
        lambda x: x.update(extra=1),
    ],
)
def test_a_changed_file_is_rejected(change):
    assert judge(proof()) == ""
    assert wrong(change) != ""


TABLE = {"S": ["a(t)", "t", "0", "k - 1"], "R": ["a(t)", "t", "0", "k - 2"]}
NAMES = ["S", "R", "a(t)", "t", "k", "c", "f(t)", "f(t+1)", "mean"]


@pytest.mark.parametrize(
    ("rule", "sums", "texts"),
    [
        ("linear", ["S", "R"], ["1"]),  # between other ends
        ("linear", ["S", "S"], ["t"]),  # a number that changes with the index
        ("linear", ["S", "S"], ["a(t)"]),
        ("count", ["S"], []),  # no term that is 1
        ("termwise", ["S"], ["!="]),
        ("last", ["R", "S"], []),
        ("empty", ["S"], []),
        ("Schwarz", ["S", "R", "S"], ["1", "a(t)"]),
        ("name", [], ["mean", "c", "nonnegative"]),
    ],
)
def test_a_rule_that_there_is_not_is_refused(rule, sums, texts):
    fact = {"rule": rule, "sums": sums, "texts": texts}
    with pytest.raises(ValueError, match=r"sum|rule|name|term|index"):
        check_sum.demands(fact, TABLE, dict.fromkeys(NAMES, "real"))


def test_a_name_is_of_no_hypothesis():
    empty = {"format": check_sum.FORMAT, "id": "", "line": "", "whole": [], "sums": {}}
    step = {"cases": [], "replaced": [], "tangents": [], "turned": False}
    itself = [
        {"relation": "c = c", "certificates": [step | {"facts": [], "pieces": []}]},
    ]
    fact = {"rule": "name", "sums": [], "texts": ["b", "c", "real"], "each": [], "once": itself}
    cited = step | {"facts": [["c - b", "="]], "pieces": [["1", "1", [0], "1"]]}
    content = empty | {
        "signs": {"b": "real", "c": "real"},
        "given": [],
        "facts": [fact],
        "shows": [{"relation": "b <= c", "certificates": [cited]}],
    }
    assert judge(content) == ""
    assert "not new" in judge(content | {"given": ["b = 1"]})
    assert "not new" in judge(content | {"facts": [fact, fact]})


LINES = """lemma descent: a step lowers f
  given f(t+1) <= f(t) - G(t)/{divisor}  [smoothness]
  then 2 L f(t+1) <= 2 L f(t) - G(t)
lemma summed: the sum of all steps
  given (descent) for t from 0 to k - 1
  then sum(G(t), t, 0, k - 1) <= 2 L (f(0) - f(k))
theorem best: the least of them
  given (summed) with k = n
        m <= G(t) for t from 0 to n - 1  [definition of m]
        f(n) >= 0  [bounded below]
  then m <= 2 L f(0)/n
"""


def test_a_line_is_quoted_for_each_value_and_summed(tmp_path):
    ledger = audited(LINES.format(divisor="(2 L)"), tmp_path)
    assert states(ledger) == dict.fromkeys(["descent", "summed", "best"], "stands")
    assumed = ledger.standing()[-1].assumes
    assert assumed == ("smoothness", "definition of m", "bounded below")
    folder = tmp_path / "files"
    assert ledger.export(folder) == (["descent", "summed", "best"], [])
    run = [sys.executable, "-I", str(folder / "check.py"), str(folder)]
    assert "3 of 3 accepted" in subprocess.run(run, capture_output=True, text=True).stdout
    summed = json.loads((folder / "summed.json").read_text(encoding="utf-8"))
    assert "sum_1 = sum of G(t) for t from 0 to k - 1" in summed["statement"]


@pytest.mark.parametrize(
    ("given", "then", "verdict"),
    [
        ("k = 0", "f(k) != f(0)", "undecided"),
        ("k = m", "f(k) != f(m)", "undecided"),
        ("k = m + 1", "f(k) < f(m+1)", "undecided"),
        ("k + 1 = 1", "f(k+1) > f(1) + 1", "undecided"),
        ("k = 1", "f(k) != f(0)", "proved"),
    ],
)
def test_an_example_is_of_sequences(given, then, verdict):
    """Where k is 0, f(k) is f(0)."""
    letters = "letters nonnegative integer: k, m\nletters real: f(k)\n"
    line = f"step 1: a\n  given {given} [case]\n  for some numbers\n  then {then}"
    assert decide(Proof(letters + line)["1"]).verdict == verdict


def test_an_error_in_a_step_reaches_the_sum(tmp_path):
    ledger = audited(LINES.format(divisor="(4 L)"), tmp_path)
    assert ledger["descent"].verdict == "refuted"
    assert states(ledger) == dict.fromkeys(["descent", "summed", "best"], "falls")
    assert ledger["summed"].rests_on_refuted == ("descent",)


CASE = """step small: below 1
  given G(t) <= 1  [case]
  then G(t)^2 <= G(t)
"""


@pytest.mark.parametrize(
    ("given", "state"),
    [
        ("", "quoted, not checked"),
        ("\n        G(t) <= 1 for t from 0 to k - 1  [case]", "stands"),
        ("\n        G(t) <= 1/2 for t from 0 to k - 1  [case]", "stands"),
        ("\n        G(t) <= 1 for t from 0 to k - 2  [case]", "quoted, not checked"),
        ("\n        G(0) <= 1  [case]", "quoted, not checked"),
    ],
)
def test_what_a_quoted_line_needs_is_known_for_each_value(tmp_path, given, state):
    user = "step user: summed\n  given (small) for t from 0 to k - 1{}\n"
    then = "  then sum(G(t)^2, t, 0, k - 1) <= sum(G(t), t, 0, k - 1)\n"
    ledger = audited(CASE + user.format(given) + then, tmp_path)
    assert states(ledger)["user"] == state


def test_a_hypothesis_for_each_value_is_needed_where_its_line_is_quoted(tmp_path):
    line = "step total: t\n  given G(t) <= 1 for t from 0 to k - 1  [case]\n"
    line += "  then sum(G(t), t, 0, k - 1) <= k\n"
    user = "step user: u\n  given (total) with k = n\n{}  then sum(G(t), t, 0, n - 1) <= n + 1\n"
    hypothesis = "        G(t) <= 1 for t from 0 to {} - 1  [case]\n"
    assert states(audited(line + user.format(""), tmp_path))["user"] == "quoted, not checked"
    shorter = user.format(hypothesis.format("k"))
    assert states(audited(line + shorter, tmp_path))["user"] == "quoted, not checked"
    assert states(audited(line + user.format(hypothesis.format("n")), tmp_path))["user"] == "stands"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("then sum(G(t), t, 0, k) <= G(t)", "must say for which values it holds"),
        ("given G(t) <= 1  [case]\n  then sum(G(t), t, 0, k) <= k", "for which values it holds"),
        ("given G(t) <= 1 for t from 0 to t  [case]\n  then k >= 0", "that is counted"),
        ("given G(t) <= 1 for m from 0 to k  [case]\n  then k >= 0", "must be for a letter"),
        ("given G(t) <= 1 for i from 0 to k  [case]\n  then k >= 0", "have a sign that not all"),
        ("then sum(a(i), i, 0, n) <= 1", "declared to have a sign that not all"),
        ("then sum(a(i), i, 1, m) <= 1", "an integer letter, between whole numbers"),
        ("then sum(sum(a(i), i, 1, n), t, 0, k) <= 1", "holds no other sum"),
        ("then a(2 n) <= 1", "a sequence has places such as"),
        ("then a(m) <= 1", "a sequence has places such as"),
    ],
)
def test_what_is_counted_is_bound(line, says):
    with pytest.raises(InvalidInput) as caught:
        Proof(f"{LETTERS}step 1: a line\n  {line}\n")["1"]
    assert says in str(caught.value)


def test_a_sum_of_random_letters_has_no_mean():
    letters = "letters random: z(t)\n"
    with pytest.raises(InvalidInput, match="sum the means"):
        Proof(f"{LETTERS}{letters}step 1: a\n  then E(sum(z(t), t, 0, k)) <= 1\n")["1"]
    line = Proof(f"{LETTERS}{letters}step 1: a\n  then sum(E(z(t)), t, 0, k) <= 1\n")["1"]
    assert decide(line).verdict == "refuted"


def test_an_instance_does_not_touch_what_is_counted():
    text = f"{LETTERS}step 1: a\n  then sum(G(t), t, 0, k) >= 0\nstep 2: b\n  given (1) with {{}}\n"
    text += "  then k >= 0\n"
    for instance in ("t = 5", "k = t"):
        with pytest.raises(
            InvalidInput, match=r"must be a letter of|must not be the index of a sum"
        ):
            Proof(text.format(instance))["2"]


def test_a_line_with_sums_is_printed_and_written_as_it_is_read():
    text = LETTERS + f"step 1: a line\n  given {DESCENT}  [case]\n"
    proof = Proof(text + "  then sum(G(t), t, 0, k - 1) <= 2 L (f(0) - f(k))\n")
    assert "sum_{t=0..k − 1} G(t) ≤ 2 L (f(0) − f(k))" in to_text(proof["1"])
    assert r"\sum_{t=0}^{k - 1} G(t)" in to_latex(proof["1"])
    written = proof_text(proof.values())
    assert Proof(written)["1"].conclusion == proof["1"].conclusion
    assert Proof(written)["1"].given == proof["1"].given


def test_vectors_at_each_step_are_summed(tmp_path):
    text = """letters vector: x(t), v(t)
lemma step: a step
  given f(t+1) <= f(t) - |v(t)|²/2  [smoothness]
  then |v(t)|² <= 2 f(t) - 2 f(t+1)
theorem sum: all steps
  given (step) for t from 0 to k - 1
  then sum(|v(t)|², t, 0, k - 1) <= {} (f(0) - f(k))
"""
    assert states(audited(text.format(2), tmp_path))["sum"] == "stands"
    ledger = audited(text.format(1), tmp_path)
    assert ledger["sum"].verdict == "refuted"
    assert {"|v(0)|^2", "k"} <= ledger["sum"].witness.values.keys()


@pytest.mark.parametrize(
    ("hypothesis", "more", "state"),
    [
        ("given t = 0  [start]", "", "quoted, not checked"),
        ("where t = 0", "", "quoted, not checked"),
        ("given t <= 0  [start]", "", "quoted, not checked"),
        ("given t <= 0  [start]", "; t <= 0 for t from 0 to k  [start]", "stands"),
    ],
)
def test_what_is_inherited_for_each_value_restricts_none(hypothesis, more, state, tmp_path):
    text = f"""letters nonnegative integer: t, k
lemma small: at most 0
  {hypothesis}
  then t <= 0
theorem all: false for a positive k
  given (small) for t from 0 to k{more}
  then sum(t, t, 0, k) <= 0
"""
    assert states(audit_text(text, tmp_path))["all"] == state
