"""Exported counterexamples: judged by the standard library alone, against exact arithmetic."""

import json
import random
import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace

import pytest
import sympy

from swingby.theory import assumptions
from swingby.theory.derivations.ledger import by_id
from swingby.verify.prover import check_witness
from swingby.verify.prover import judge as prover
from swingby.verify.prover.check_witness import judge, rational
from swingby.verify.prover.scalar.dispatch import prepared
from swingby.verify.prover.scalar.feasible_constants import settings
from swingby.verify.prover.scalar.relation import relation_from
from swingby.verify.prover.scalar.rounding import compact
from swingby.verify.prover.witness_files import export, plain

#: Lines whose witnesses are found in a moment: of fractions, logarithms, roots, sums over k.
LINES = (
    *("D.61", "D.72", "D.48", "D.15", "D.46", "before D.12", "D.24", "T_1 (Lemma D.1)"),
    *("t* (Lemma D.8)", "before D.29", "Corollary D.1 (its sum)", "D.81 (with the right t_0)"),
)
FACTORS = [Fraction(x) for x in ("-1", "0", "1/2", "2", "999/1000", "1001/1000", "1e9", "1e-60")]


@pytest.fixture(scope="module")
def records():
    claims = {name: by_id(name) for name in LINES}
    judged = {name: vars(prover.judge(claim)) for name, claim in claims.items()}
    return [SimpleNamespace(id=n, about="", statement=c, **judged[n]) for n, c in claims.items()]


def true(relation, values):
    """By sympy: exactly where it is rational, otherwise with 60 digits; None where undefined."""
    letters = {one: sympy.Rational(values[one.name]) for one in relation.symbols}
    try:
        gap = relation.difference.xreplace(letters)
        gap = gap if gap.is_Rational else sympy.N(gap, 60, maxn=5000)
    except ValueError:
        return None
    if not gap.is_real:
        return None
    return bool((gap == 0 and relation.kind != "<") or (gap > 0 and relation.kind != "=="))


def expected(record, values):
    """Whether the values are a witness, from the claim and not from what was printed."""
    search, questions = prepared(record.statement)
    (broken,) = (one.goal for one in questions if str(one.goal) == record.witness.relation)
    signal = [values[name] for name in values if name in ("a_1", "a_2", "a_3")]
    holds = [true(one, values) for one in search.given]
    for statement in assumptions.PRINTED if search.in_force else ():
        for one in statement.conditions:
            relation = relation_from(one.relation)
            pairs = [{"a_i": i, "a_j": j} for i in signal for j in signal if i > j]
            ranges = {"": [{}], "concept": [{"a_k": a} for a in signal], "pair": pairs}
            holds += [true(relation, values | more) for more in ranges.get(one.over, [])]
    inside = all(
        values[name] in signal for name in ("a_i", "a_j", "a_k") if signal and name in values
    )
    return all(holds) and inside and true(broken, values) is False


def test_every_witness_is_accepted_by_a_program_of_its_own(records, tmp_path):
    written, left = export(records, tmp_path / "made")
    assert (written, left) == (list(LINES), [])
    run = [sys.executable, "-I", str(tmp_path / "made" / "check.py"), str(tmp_path / "made")]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith(f"{len(LINES)} of {len(LINES)} accepted\n")
    path = tmp_path / "made" / "D.61.json"
    path.write_text(path.read_text().replace('"a_j": "1"', '"a_j": "1/8"'))
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "rejected  D.61.json: a_j is none of the signals\n" in done.stdout


def test_edits_of_its_numbers_are_accepted_only_where_it_still_is_a_witness(records):
    rng, rejected = random.Random(1), 0
    for record in records:
        content = plain(record)
        for _ in range(45):
            values = {name: rational(text) for name, text in content["values"].items()}
            name = rng.choice(sorted(values))
            values[name] *= rng.choice(FACTORS)
            if values.get("N_ij(t)"):
                continue
            texts = {one: f"{x.numerator}/{x.denominator}" for one, x in values.items()}
            reason = judge({**content, "values": texts})
            assert (reason == "") == expected(record, values), (record.id, name, reason)
            rejected += bool(reason)
    assert rejected > 250


def test_the_constants_are_inside_the_assumptions_by_the_same_program(records):
    """Every set of constants that witnesses are built on."""
    content = {**plain(records[0]), "given": [], "fails": "1 <= 0"}
    for setting in settings():
        texts = {name: compact(value) for name, value in setting.values.items()}
        texts |= {f"a_{place}": compact(a) for place, a in enumerate(setting.signal, 1)}
        assert judge({**content, "values": texts}) == ""


def test_what_is_no_witness_is_refused_in_a_line():
    content = {
        "format": check_witness.FORMAT,
        "id": "",
        "line": "",
        "assumed": [],
        "values": {"x": "2"},
    }
    assert judge({**content, "given": ["0 < x"], "fails": "x <= 1"}) == ""
    for fails in (
        "x",
        "x <= ",
        "x <= (1",
        "x <= y",
        "x <= 1/0",
        "x <= log(-1)",
        "x <= __import__(1)",
    ):
        assert judge({**content, "given": [], "fails": fails})
    for fails in ("x <= " + "(" * 5000 + "1", "x <= x^x^x^x^x^x", "x <= 9^9^9^9", 3, None, []):
        assert judge({**content, "given": [], "fails": fails})
    for values in ({"x": "nan"}, {"x": 2}, {"x": "1/0"}, {"x": "10^9999999"}, None):
        assert judge({**content, "given": [], "fails": "x <= 1", "values": values})
    assert judge(json.loads('{"format": "swingby witness 1"}'))
