"""Exported counterexamples: judged by the standard library alone, against exact arithmetic."""

import itertools
import json
import random
import re
import subprocess
import sys
from fractions import Fraction

import mpmath
import pytest
import sympy

from swingby.proofs.audit.witness_files import export, files
from swingby.proofs.checkers import check_witness
from swingby.proofs.checkers.check_witness import rational
from swingby.proofs.language.claims import by_id
from swingby.proofs.language.reader import Proof
from swingby.proofs.prover.scalar.exact_settings import exact_settings
from swingby.proofs.prover.scalar.letter_values import short_text
from swingby.proofs.prover.scalar.relation import relation_from
from swingby.proofs.prover.scalar.scalar_claims import prepare_claim, word_of
from swingby.theory import assumptions
from tests.proofs.certify.reference import printed_step, real
from tests.proofs.shown import judge

#: Lines whose witnesses are found in a moment: of fractions, logarithms, roots, sums over k.
LINES = (
    *("D.61", "D.72", "D.48", "D.15", "D.46", "before D.12", "D.24", "T_1 (Lemma D.1)"),
    *("t* (Lemma D.8)", "before D.29", "Corollary D.1 (its sum)", "D.81 (with the right t_0)"),
)
#: Lines about matrices: sums over samples, roots of A, exponentials, entries, means, losses.
MATRICES = ("2.1", "Theorem 4.1", "4.3", "B.2", "C.2", "C.5", "C.13", "D.1", "D.2")
FACTORS = [Fraction(x) for x in ("-1", "0", "1/2", "2", "999/1000", "1001/1000", "1e9", "1e-60")]


@pytest.fixture(scope="module")
def records(record):
    return [record(by_id(name)) for name in (*LINES, *MATRICES)]


def content_of(record):
    """The only file of a line."""
    ((_, content),) = files(record)
    return content


#: D.1 to D.5 as printed: over what, and the relation.
ASSUMED = [
    (one.over, relation_from(one.relation))
    for statement in assumptions.PRINTED
    for one in statement.conditions
]


def true(relation, values):
    """By sympy: exactly where it is rational, otherwise with 60 digits; None where undefined."""
    letters = {letter: sympy.Rational(values[letter.name]) for letter in relation.symbols}
    try:
        gap = relation.difference.xreplace(letters)
        gap = gap if gap.is_Rational else sympy.N(gap, 60, maxn=5000)
    except ValueError:
        return None
    if not gap.is_real:
        return None
    return bool((gap == 0 and relation.kind != "<") or (gap > 0 and relation.kind != "=="))


def expected(record, question, values):
    """Whether the values are a witness, from the claim and not from what was printed."""
    search, questions = question
    (broken,) = (
        question.goal for question in questions if str(question.goal) == record.witness.relation
    )
    signal = [values[name] for name in values if name in ("a_1", "a_2", "a_3")]
    holds = [true(hypothesis, values) for hypothesis in search.hypotheses]
    letters = set(search.sequent.symbols).union(*(question.goal.symbols for question in questions))
    holds += [values[letter.name] > 0 for letter in letters if letter.is_positive]
    holds += [values[letter.name] >= 0 for letter in letters if letter.is_nonnegative]
    pairs = [{"a_i": i, "a_j": j} for i in signal for j in signal if i > j]
    ranges = {"": [{}], "concept": [{"a_k": a} for a in signal], "pair": pairs}
    for over, relation in ASSUMED if search.in_force else ():
        holds += [true(relation, values | more) for more in ranges.get(over, [])]
    inside = all(
        values[name] in signal for name in ("a_i", "a_j", "a_k") if signal and name in values
    )
    return all(holds) and inside and true(broken, values) is False


def test_every_file_is_accepted_by_a_program_of_its_own(records, record, tmp_path):
    """Witnesses, a proof, its repair, and an identity; an edit of each is rejected."""
    proved = record(by_id("D.59"))
    proved.repair = record(by_id("D.61").repair)
    ids = [*LINES, *MATRICES, "D.59", "D.61 (corrected)", "4.1"]
    exported = export([*records, proved, record(by_id("4.1"))], tmp_path)
    assert exported == (ids, [])
    run = [sys.executable, "-I", str(tmp_path / "check.py"), str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"{len(ids)} of {len(ids)} accepted\n")
    edits = {
        "D.61": ('"a_j": "1"', '"a_j": "1/8"'),
        "D.59": (" <= ", " < -"),
        "4.1": ('left": "', 'left": "I + '),
    }
    for name, edit in edits.items():
        path = tmp_path / f"{name}.json"
        path.write_text(path.read_text().replace(*edit))
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "rejected  D.61.json: ValueError: the digest is not that of the content" in done.stdout
    assert all(f"rejected  {name}.json: " in done.stdout for name in edits)


@pytest.mark.parametrize("line", ["n (1 - n) <= 1/4", "1/(1 - n) >= 1 + n + n²"])
def test_a_square_and_a_denominator_have_a_file(line, record):
    """The second one says besides that a denominator is not 0."""
    hypothesis = "  given n < 1  [case]\n" * ("/(1" in line)
    text = f"letters nonnegative: n\nstep 1: a line\n{hypothesis}  then {line}"
    judged = record(Proof(text)["1"])
    assert judged.verdict == "proved"
    content = content_of(judged)
    assert judge(content) == ""
    last_step = content["shows"][-1]
    larger = last_step | {"relation": last_step["relation"].replace("<=", "<")}
    assert judge({**content, "shows": [*content["shows"][:-1], larger]})


def test_a_witness_has_the_signs_of_its_letters(record):
    content = content_of(record(Proof("letters positive: p\nstep 1: a line\n  then p >= 1")["1"]))
    assert judge(content) == ""
    assert judge({**content, "values": {"p": "0"}}) == "not given: 0 < p"


def test_edits_of_its_numbers_are_accepted_only_where_it_still_is_a_witness(records):
    rng, rejected = random.Random(1), 0
    for record in records[: len(LINES)]:
        content = content_of(record)
        question = prepare_claim(record.statement)
        for _ in range(15):
            names = {word_of(x.name): x.name for x in question[0].sequent.symbols}
            values = {
                names.get(word, word): rational(text) for word, text in content["values"].items()
            }
            name = rng.choice(sorted(values))
            values[name] *= rng.choice(FACTORS)
            if values.get("N_ij(t)"):
                continue
            texts = {word_of(n): f"{x.numerator}/{x.denominator}" for n, x in values.items()}
            reason = judge({**content, "values": texts})
            assert (reason == "") == expected(record, question, values), (record.id, name, reason)
            rejected += bool(reason)
    assert rejected > 80


def test_the_constants_are_inside_the_assumptions_by_the_same_program(records):
    """Every set of constants that witnesses are built on."""
    content = {**dict(files(records[0]))["D.61"], "given": [], "fails": "1 <= 0"}
    for setting in exact_settings():
        texts = {name: short_text(value) for name, value in setting.values.items()}
        texts |= {f"a_{index}": short_text(a) for index, a in enumerate(setting.signal, 1)}
        assert judge({**content, "values": texts}) == ""


def test_edits_of_a_line_written_out_in_entries(records):
    """The relation, read by sympy: the letters are what stands before "=", "^" and brackets."""
    rng, rejected = random.Random(2), 0
    for record in records[len(LINES) :]:
        content = content_of(record)
        names = sorted(content["values"], key=len, reverse=True)
        text = content["fails"]
        for index, name in enumerate(names):
            text = text.replace(name, f"LETTER{index:02d}X") if len(name) > 1 else text
        text = re.sub(r"\bt\b", str(content["values"].get("t")), text).replace("^", "**")
        left_side, _, right_side = text.partition(" <= " if "<=" in text else " = ")
        gap = sympy.sympify(right_side) - sympy.sympify(left_side)
        for _ in range(15):
            values = dict(content["values"])
            name = rng.choice(sorted(set(values) - {"t"}))
            values[name] = rng.choice(["-1", "0", "0", "1", "1/2"])
            letters = {f"LETTER{k:02d}X": Fraction(values[name]) for k, name in enumerate(names)}
            at = sympy.simplify(gap.subs(letters))
            fails = at < 0 if "<=" in text else at != 0
            w = [Fraction(values.get(f"w_{k}", 0)) for k in (11, 12, 22)]
            semidefinite = record.id != "B.2" or (w[0] >= 0 and w[0] * w[2] >= w[1] ** 2)
            reason = judge({**content, "values": values})
            assert (reason == "") == bool(fails and semidefinite), (record.id, name, reason)
            rejected += bool(reason)
    assert rejected > 15


#: Under (D.2) the concept without a pivot runs away below 0: seen in exact fractions.
SIGNAL, ETA, START = (Fraction(3), Fraction(1)), Fraction(1, 20), Fraction(1, 50)
RUN = {
    "dynamics": "euler",
    "signal": ["3", "1"],
    "eta": "1/20",
    "W0": [["1/50", "1/50"], ["1/50", "1/50"]],
    "i": 2,
    "j": 2,
    "t_0": 18,
    "t": 25,
    "when": ["1/40 <= w_ii(t_0)"],
    "during": ["w_ii(t) < 6/125"],
    "until": ["t <= 30*(1 + w_ii(0))"],
}


def by_hand(steps):
    """(D.2) in floats of 50 digits: all W(t)."""
    with mpmath.workdps(50):
        states = [[[real(START)] * 2] * 2]
        for _ in range(steps):
            states.append(printed_step("euler", [*map(real, SIGNAL)], real(ETA), states[-1]))
        return states


def test_a_place_of_a_trajectory_is_found_again_and_every_edit_is_judged():
    """Edits of the steps, the entry and W(0), against (D.2) by hand."""
    content = {"format": check_witness.FORMAT, "id": "", "line": "", "assumed": [], "values": {}}
    content |= {"given": ["i = j"], "fails": "w_ii(t_0) <= w_ii(t)"}
    W, trajectories, accepted = by_hand(60), {}, 0
    steps = {check_witness.Along(RUN).key: set(range(61))}
    assert judge({**content, "run": RUN}, steps, trajectories) == ""
    for t_0, t, i, j in itertools.product(range(0, 33, 3), range(0, 60, 4), (1, 2), (1, 2)):
        run = {**RUN, "t_0": t_0, "t": t, "i": i, "j": j}
        diagonal = [w[i - 1][i - 1] for w in W]
        true = i == j and t_0 <= t <= 30.6 and diagonal[t_0] >= 1 / 40
        true = (
            true and all(w < 0.048 for w in diagonal[t_0 : t + 1]) and diagonal[t_0] > diagonal[t]
        )
        assert (judge({**content, "run": run}, steps, trajectories) == "") == true, (t_0, t, i, j)
        accepted += true
    assert accepted > 4
    for key, value in [
        ("W0", [["1/50", "1/50"], ["1/50", "1/5"]]),
        ("W0", [["1/50", "1/40"], ["1/40", "1/50"]]),  # not semidefinite
        ("W0", [["1/50", "1/50"], ["1/60", "1/50"]]),  # not symmetric
        ("W0", [["1/50", "0"], ["0", "1/50"]]),  # never falls
        ("dynamics", "flow"),
        ("signal", ["1", "1"]),
        ("eta", "0"),
        ("eta", "1/2000"),
        ("t", True),
        ("t", "25"),
        ("t", 10**8),
        ("i", 3),
        ("when", []),
        ("when", ["w_ii(t_0) <= 1/40"]),
        ("during", None),
        ("until", ["t <= 24"]),
    ]:
        assert judge({**content, "run": {**RUN, key: value}}), (key, value)
    assert judge({**content, "run": RUN, "values": {"w_ii(0)": "1"}})
    assert judge({**content, "run": RUN, "assumed": [["entry", "w_ij(0) < 1/50"]]})
    assert judge({**content, "run": {**RUN, "more": 1}})


def test_a_whole_letter_stays_whole_in_the_file_of_a_witness(record):
    claim = Proof("letters integer: n\nstep 1: below 2\n  then n (3 - n) <= 2 - 1")["1"]
    content = content_of(record(claim))
    assert judge(content) == ""
    false = {**content, "values": {"n": "3/2"}}
    assert judge(false) == "not given: n is a whole number"
    assert judge({**false, "given": []}) == ""


def test_a_witness_on_an_interval_lies_in_it(record):
    claim = Proof("letters positive: x\nstep 1: a\n  then x in [-3, 1]: x < 1/2")["1"]
    content = content_of(record(claim))
    expected = {"1/2": "", "1": "", "5": "not given: x <= 1", "-2": "not given: 0 < x"}
    for value, says in (expected | {"1/3": "it holds: x < 1/2"}).items():
        assert judge(content | {"values": {"x": value}}) == says


def test_what_is_no_witness_is_refused_in_a_line():
    content = {"format": check_witness.FORMAT, "id": "", "line": "", "assumed": []}
    content["values"] = {"x": "2"}
    assert judge({**content, "given": ["0 < x"], "fails": "x <= 1"}) == ""
    for fails in (
        *("x", "x <= ", "x <= (1", "x <= y", "x <= 1/0", "x <= log(-1)", "x <= __import__(1)"),
        *("x <= " + "(" * 5000 + "1", "x <= x^x^x^x^x^x", "x <= 9^9^9^9", 3, None, []),
        *("x <= (9^999999)^999999", "x <= " + "*".join(["9^999999"] * 300)),
    ):
        assert judge({**content, "given": [], "fails": fails})
    for values in ({"x": "nan"}, {"x": 2}, {"x": "1/0"}, {"x": "10^9999999"}, None):
        assert judge({**content, "given": [], "fails": "x <= 1", "values": values})
    assert judge(json.loads('{"format": "swingby witness 1"}'))
