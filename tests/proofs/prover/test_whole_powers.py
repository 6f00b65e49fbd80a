"""Powers whose exponents are whole letters: true lines are proved, false ones are refuted.

Expected verdicts are from the definition: x^0 = 1, and x^(n+1) = x^n x.
"""

import copy

import pytest
import sympy

import swingby
from swingby.proofs.audit.witness_files import files
from swingby.proofs.prover.scalar.relation import Relation, Sequent
from swingby.proofs.prover.scalar.whole_powers import name_whole_powers
from tests.forked import sample
from tests.proofs.shown import judge

LETTERS = """letters real: x, y, f(t)
letters positive: p, q
letters nonnegative: u, w
letters positive integer: n, m
letters nonnegative integer: t, k
letters integer: z
"""
PROVED = [
    "then x^t x = x^(t+1)",
    "then (x^t)^2 = x^(2 t)",
    "then (x y)^n = x^n y^n",
    "then (-2 x)^n = (-2)^n x^n",
    "then (1 - x)^(n + 2) = (1 - x)^n (1 - x)^2",
    "then x^(2 n) >= 0",
    "then u^n >= 0",
    "then (-1)^n <= 1",
    "then x^n <= |x|^n",
    "then x^n y^n <= (x^(2 n) + y^(2 n))/2",
    "given u <= 1  [c]\n  then u^n <= 1",
    "given u >= 1  [c]\n  then u^t >= 1",
    "given u < 1  [c]\n  then u^n < 1",
    "given u > 1  [c]\n  then u^n > 1",
    "given u <= 1  [c]\n  then u^n <= u",
    "given u <= 1  [c]\n  then u^(n + m) <= u^n",
    "given u <= w  [c]\n  then u^n <= w^n",
    "given u < w  [c]\n  then u^n < w^n",
    "given u <= 1/2  [c]\n  then u^(2 t) <= (1/2)^(2 t)",
    "given |x| <= 1/2  [c]\n  then |x|^t <= 2^(-t)",
    "given |x| <= 1  [c]\n  then |x|^n <= 1",
    "given |x| < 1  [c]\n  then |x^n| < 1",
    "given 0 < x, x < 2  [c]\n  then |1 - x|^t <= 1",
    "given x >= -1  [c]\n  then (1 + x)^n >= 1 + n x",
    "given x >= -n  [c]\n  then (1 + x/n)^n <= exp(x)",
    "given p <= 1  [c]\n  then (1 - p)^t <= exp(-p t)",
    "given p < 1  [c]\n  then (1 - p)^t <= exp(-p t)",
    "given x <= 0  [c]\n  then x^(2 n + 1) <= 0",
    "given 0 <= x, x <= 1  [c]\n  then x^n (1 - x^n) <= 1/4",
    "given f(t+1) <= u f(t), f(t) <= u^t f(0)  [c]\n  then f(t+1) <= u^(t+1) f(0)",
    "given u < 1  [c]\n  then (1 - u^(n+1))/(1 - u) <= 1/(1 - u)",
    "then (1 - x) sum(x^t, t, 0, k) = 1 - x^(k+1)",
    "given u < 1  [c]\n  then sum(u^t, t, 0, k) = (1 - u^(k+1))/(1 - u)",
    "given u < 1  [c]\n  then sum(u^t, t, 0, k) <= 1/(1 - u)",
]
REFUTED = [
    "then x^k >= 0",
    "then u^n <= 1",
    "then (1 + x)^n >= 1 + n x",
    "then (1 + x/n)^n <= exp(x)",
    "then x^n + y^n = (x + y)^n",
    "then |x|^n <= x^n",
    "given u <= 1  [c]\n  then u^t <= u",
    "given u < w  [c]\n  then u^t < w^t",
    "given x < y  [c]\n  then x^n < y^n",
    "given |x| < 1  [c]\n  then |x^t| < 1",
    "given -1 <= x, x <= 1  [c]\n  then x^n <= x",
    "given x >= -3  [c]\n  then (1 + x)^n >= 1 + n x",
    "given x = 0  [c]\n  then x^z = 0",
]
LINEAR = """letters nonnegative: gap(t)
letters positive: L, mu
letters nonnegative integer: t
step descent: one step
  given gap(t+1) <= (1 - mu/L) gap(t), mu <= L  [rate]
        gap(t) <= (1 - mu/L)^t gap(0)  [induction]
  then gap(t+1) <= (1 - mu/L)^(t+1) gap(0)
step start: at 0
  then gap(0) <= (1 - mu/L)^0 gap(0)
theorem linear: at every step
  given gap(t+1) <= (1 - mu/L) gap(t), mu <= L  [rate]
  for all t
  base (start)
  step (descent)
  then gap(t) <= (1 - mu/L)^t gap(0)
"""


def ledger_of(text, folder):
    (folder / "my.proof").write_text(text, encoding="utf-8")
    return swingby.audit(folder / "my.proof", cache=False, progress=False)


def record(fields, folder):
    return ledger_of(f"{LETTERS}step 1: a line\n  {fields}\n", folder)[0]


@pytest.mark.parametrize("fields", sample(PROVED))
def test_what_holds_of_every_whole_exponent_is_proved(fields, tmp_path):
    judged = record(fields, tmp_path)
    assert judged.verdict == "proved"
    ((_, body),) = files(judged)
    assert not judge(body)


@pytest.mark.parametrize("fields", REFUTED)
def test_what_fails_at_some_exponent_is_refuted(fields, tmp_path):
    assert record(fields, tmp_path).verdict == "refuted"


def test_a_linear_rate_is_an_induction(tmp_path):
    """The rate 1 - mu/L may be 0."""
    ledger = ledger_of(LINEAR, tmp_path)
    assert [line.state for line in ledger.standing()] == ["stands"] * 3


@pytest.mark.parametrize("integer", [True, None])
def test_a_power_is_a_letter_only_where_its_exponent_is_whole(integer):
    x, t = sympy.Symbol("x", real=True), sympy.Symbol("t", nonnegative=True, integer=integer)
    sequent = Sequent((), Relation(sympy.Integer(0), x**t, "<="))
    assert (name_whole_powers(sequent) != sequent) == bool(integer)


def _without(key, text):
    def change(content):
        content[key] = [x for x in content[key] if x != text]

    return change


def _instead(old, new):
    def change(content):
        for step in content["shows"]:
            step["relation"] = step["relation"].replace(old, new)

    return change


def _sign(letter, sign):
    def change(content):
        content["signs"][letter] = sign

    return change


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        ("given u <= 1  [c]\n  then u^n <= 1", _without("given", "u <= 1")),
        ("given u <= 1  [c]\n  then u^n <= 1", _without("whole", "n")),
        ("given u <= 1  [c]\n  then u^n <= 1", _sign("n", "real")),
        ("given u <= 1  [c]\n  then u^n <= 1", _sign("u", "real")),
        ("given u <= 1  [c]\n  then u^n <= 1", _instead("<= 1", "< 1")),
        ("given u < 1  [c]\n  then u^n < 1", _sign("n", "nonnegative")),
        ("given u <= 1  [c]\n  then u^n <= u", _sign("n", "nonnegative")),
        ("given u < w  [c]\n  then u^n < w^n", _sign("n", "nonnegative")),
        ("given u <= w  [c]\n  then u^n <= w^n", _sign("u", "real")),
        ("given u >= 1  [c]\n  then u^t >= 1", _without("given", "1 <= u")),
        ("given p <= 1  [c]\n  then (1 - p)^t <= exp(-p t)", _without("given", "p <= 1")),
        ("given x >= -1  [c]\n  then (1 + x)^n >= 1 + n x", _without("given", "-1 <= x")),
        ("then x^(2 n) >= 0", _instead("x^(2*n)", "x^n")),
        ("then (-2 x)^n = (-2)^n x^n", _instead("(-2)^n", "2^n")),
        ("then (x y)^n = x^n y^n", _instead("y^n", "y^(2*n)")),
        ("given u <= 1/2  [c]\n  then u^t <= (1/2)^t", _without("given", "u <= 1/2")),
    ],
)
def test_a_file_that_says_more_is_rejected(fields, change, tmp_path):
    ((_, body),) = files(record(fields, tmp_path))
    changed = copy.deepcopy(body)
    change(changed)
    assert changed != body
    assert judge(changed)
