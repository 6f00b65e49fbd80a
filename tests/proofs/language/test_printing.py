"""Formulas as text: the reader of proof files, which knows nothing of the printer, reads them back.

Forms are written out by hand; what the lines of the ledger hold is in test_transcription.py.
"""

import random
import re

import pytest
import sympy

from swingby.proofs.language import conclusions, matrices
from swingby.proofs.language.claim_text import to_latex
from swingby.proofs.language.formula_parser import Piece, values
from swingby.proofs.language.formula_printer import formula
from swingby.proofs.language.matrices import A, I, U, Ut, W, W_start, n, s
from swingby.proofs.language.reader import Proof
from swingby.theory.assumptions import eta

x, y = sympy.symbols("x y", positive=True)
NAMES = {str(letter): letter for letter in (A, I, U, Ut, W, W_start, eta, n, s, x, y)}


def read(text):
    (expression,) = values(Piece("", 1, 1, text), NAMES)
    return expression


def plain(latex):
    """LaTeX brackets as plain ones."""
    for mark, name in ((r"U^\top", "U^T"), (r"\eta", "eta"), (r"\left(", "("), (r"\right)", ")")):
        latex = latex.replace(mark, name)
    before = None
    while before != latex:
        before = latex
        latex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", latex)
        latex = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", latex)
        latex = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", latex)
    return latex


def expression(generator, depth):
    """A polynomial in matrices with scalar factors and powers."""
    if depth == 0:
        return generator.choice([A, I, U * Ut, W, W_start])
    kind = generator.choice(["sum", "product", "scaled", "scaled", "power"])
    if kind in ("sum", "product"):
        function = sympy.Add if kind == "sum" else sympy.Mul
        return function(*(expression(generator, depth - 1) for _ in range(2)))
    if kind == "power":
        terms = (expression(generator, 0) for _ in range(generator.choice([1, 2])))
        return sympy.Add(*terms) ** generator.choice([2, 3])
    factor = sympy.Rational(generator.choice([-2, 1, 2, 5]), generator.choice([1, 1, 2, 7]))
    for letter in generator.sample([eta, n, s, x, y], 2):
        factor *= letter ** sympy.Rational(generator.choice(["-2", "-1", "-1/2", "1/2", "1", "3"]))
    return factor * expression(generator, depth - 1)


@pytest.mark.parametrize("seed", range(60))
def test_the_text_says_what_the_expression_says(seed):
    original = expression(random.Random(seed), 3)
    assert sympy.expand(read(formula(original)) - original) == 0
    assert sympy.expand(read(plain(formula(original, latex=True))) - original) == 0


def test_a_source_of_any_signs_is_text_in_latex():
    claim = Proof("letters real: x\nstep 1: a\n  given x > 0  [50% of R&D, #1_a^b]\n  then x >= 0")
    row = to_latex(claim["1"]).splitlines()[1]
    assert row.endswith(r"&& \text{50\% of R\&D, \#1\_a\textasciicircum b} \\")
    by_hand = "step 1: a\n  then by hand: 50% of R&D, #1\n  because it is so"
    assert r"\text{50\% of R\&D, \#1}" in to_latex(Proof(by_hand)["1"])


@pytest.mark.parametrize(
    ("shown", "text", "latex"),
    [
        (-3 * I - W * A, "−3 I − W A", "-3 I - W A"),
        (W / (n * s), "W/(n s)", r"\frac{W}{n s}"),
        ((W - I) / n, "(W − I)/n", r"\frac{W - I}{n}"),
        ((A * W) ** 2 * x, "x (A W)²", r"x \left(A W\right)^{2}"),
        (matrices.root**2, "(A^(1/2))²", r"\left(A^{1/2}\right)^{2}"),
        (matrices.w_start[1, 2] / x, "w_12(0)/x", r"\frac{w_{12}(0)}{x}"),
        (matrices.exp_decay[matrices.k], "exp(-a_k t)", r"\exp(-a_{k} t)"),
        (x ** -(x / y + sympy.Rational(1, 2)), "x^(−1/2 − x/y)", None),
        (
            matrices.over_samples(sympy.Integer(-3)),
            "sum_{p≤s, k≤n} (−3)",
            r"\sum_{p=1}^{s}\sum_{k=1}^{n} \left(-3\right)",
        ),
    ],
    ids=lambda value: str(value)[:24],
)
def test_forms(shown, text, latex):
    """Signs, brackets and fractions."""
    assert formula(shown) == text
    assert latex in (formula(shown, latex=True), None)


def test_both_sides_stand_in_a_trace_unless_they_are_numbers():
    assert conclusions.MatrixIdentity(W * A, A * W).lines() == "W A = A W"
    assert conclusions.MatrixIdentity(W * A, A * W, trace=True).lines() == "Tr[W A] = Tr[A W]"
    norm = conclusions.MatrixIdentity(W * A, matrices.squared_norm(W), trace=True)
    assert norm.lines(latex=True) == r"\operatorname{Tr}\left[W A\right] = \left\|W\right\|^2"
