"""Algebraic statements as text: a parser of the text gives the expression back.

The parser here knows nothing of the printer: a product is what stands side by side, ``1/`` takes
the next factor, ``^`` the next number or bracket. Forms are written out by hand.
"""

import random
import re

import pytest
import sympy

from swingby.theory.derivations import matrices
from swingby.theory.derivations.letters import eta
from swingby.theory.derivations.matrices import A, I, U, Ut, W, W_start, a, i, j, k, n, root, s
from swingby.theory.formula import equation, show

x, y = sympy.symbols("x y", positive=True)
NAMES = {str(letter): letter for letter in (A, I, U, Ut, W, W_start, root, eta, n, s, x, y)}
LATEX_NAMES = {
    r"U^\top": "U^T",
    "A^{1/2}": "A^(1/2)",
    r"\eta": "eta",
}
TOKENS = re.compile(
    r"\s*(?:(?P<name>A\^\(1/2\)|W\(0\)|U\^T|[A-Za-z]+)|(?P<number>\d+)|(?P<sign>[-+*/^()]))"
)


def tokens(text):
    found, place = [], 0
    while place < len(text):
        match = TOKENS.match(text, place)
        assert match, text[place:]
        found.append(match[0].strip())
        place = match.end()
    return found


class Reader:
    """Recursive descent; products are what stands side by side."""

    def __init__(self, text):
        self.left = tokens(text)

    def peek(self):
        return self.left[0] if self.left else ""

    def take(self):
        return self.left.pop(0)

    def sum(self):
        total, sign = sympy.Integer(0), 1
        if self.peek() == "-":
            self.take()
            sign = -1
        total += sign * self.product()
        while self.peek() in ("+", "-") and self.peek():
            sign = 1 if self.take() == "+" else -1
            total += sign * self.product()
        return total

    def product(self):
        result = self.factor()
        while self.peek() and self.peek() not in "+-)":
            if self.peek() == "/":
                self.take()
                result /= self.factor()
            else:
                result *= self.factor()
        return result

    def factor(self):
        base = self.atom()
        if self.peek() != "^":
            return base
        self.take()
        sign = -1 if self.peek() == "-" and self.take() else 1
        exponent = sign * self.atom()
        if exponent.is_number and exponent.is_Integer and self.peek() == "/":
            self.take()
            exponent /= self.atom()
        return base**exponent

    def atom(self):
        token = self.take()
        if token == "(":
            inner = self.sum()
            assert self.take() == ")"
            return inner
        return sympy.Integer(token) if token.isdigit() else NAMES[token]


def read(text):
    reader = Reader(text)
    found = reader.sum()
    assert not reader.left, reader.left
    return found


def plain(latex):
    """LaTeX brackets as plain ones."""
    for mark, name in LATEX_NAMES.items():
        latex = latex.replace(mark, name)
    latex = latex.replace(r"\left(", "(").replace(r"\right)", ")")
    before = None
    while before != latex:
        before = latex
        latex = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", latex)
        latex = re.sub(r"\^\{([^{}]*)\}", r"^(\1)", latex)
    return latex


def expression(generator, depth):
    """A polynomial in matrices with scalar factors and powers."""
    if depth == 0:
        return generator.choice([A, I, U * Ut, W, W_start, root])
    kind = generator.choice(["sum", "product", "scaled", "scaled", "power"])
    if kind == "sum":
        return sympy.Add(*(expression(generator, depth - 1) for _ in range(2)))
    if kind == "product":
        return sympy.Mul(*(expression(generator, depth - 1) for _ in range(2)))
    if kind == "power":
        # A power of a power has no notation.
        terms = (expression(generator, 0) for _ in range(generator.choice([1, 2])))
        return sympy.Add(*terms) ** generator.choice([2, 3])
    factor = sympy.Rational(generator.choice([1, 2, 5]), generator.choice([1, 1, 2, 7]))
    for letter in generator.sample([eta, n, s, x, y], 2):
        factor *= letter ** sympy.Rational(generator.choice(["-2", "-1", "-1/2", "1/2", "1", "3"]))
    return factor * expression(generator, depth - 1)


@pytest.mark.parametrize("seed", range(60))
def test_the_text_says_what_the_expression_says(seed):
    shown = expression(random.Random(seed), 3)
    assert sympy.expand(read(show(shown)) - shown) == 0
    assert sympy.expand(read(plain(show(shown, latex=True))) - shown) == 0


@pytest.mark.parametrize(
    ("shown", "text", "latex"),
    [
        (2 * W, "2 W", "2 W"),
        (-W, "-W", "-W"),
        (-3 * I - W * A, "-3 I - W A", "-3 I - W A"),
        (I - W, "I - W", "I - W"),
        (-x * W / y, "-1/y x W", r"-\frac{1}{y} x W"),
        (I - 2 * W / 3, "I - 1/3 2 W", r"I - \frac{1}{3} 2 W"),
        (W / (n * s), "1/(n s) W", r"\frac{1}{n s} W"),
        (eta * W, "eta W", r"\eta W"),
        (sympy.sqrt(x) * W, "x^1/2 W", r"x^{\frac{1}{2}} W"),
        (W / sympy.sqrt(x), "1/x^1/2 W", r"\frac{1}{x^{\frac{1}{2}}} W"),
        (W / x**2, "1/x^2 W", r"\frac{1}{x^{2}} W"),
        (1 / x, "1/x", "x^{-1}"),
        ((I - W) ** 2, "(I - W)^2", r"\left(I - W\right)^{2}"),
        (W - 2 * (W - I), "W - 2 (W - I)", r"W - 2 \left(W - I\right)"),
        ((W - I) * A, "(W - I) A", r"\left(W - I\right) A"),
        (Ut**2, "U^T^2", r"\left(U^\top\right)^{2}"),
        (sympy.Rational(-3, 4), "-3/4", r"-\frac{3}{4}"),
        (sympy.Integer(-3), "-3", "-3"),
        (W**-3, "W^-3", "W^{-3}"),
        (matrices.mu[k] * a[k], "a_k mu_k", r"a_{k} \mu_{k}"),
        (matrices.w[i, j], "w_i,j", "w_{i,j}"),
        (matrices.w_start[i, j], "w_i,j(0)", "w_{i,j}(0)"),
        (matrices.exp_decay[k], "exp(-a_k t)", "e^{-a_{k} t}"),
        (matrices.a_inverse[k], "a_k^-1", "a_{k}^{-1}"),
        (matrices.delta(i, j), "1{i = j}", r"\mathbb{1}_{\{i = j\}}"),
        (matrices.inside(k), "1{k <= s}", r"\mathbb{1}_{\{k \le s\}}"),
        (
            matrices.squared_norm(U * Ut - I),
            "|U U^T - I|^2",
            r"\left\|U U^\top - I\right\|^2",
        ),
        (matrices.mean(x + y), "E[x + y]", r"\mathbb{E}\left[x + y\right]"),
        (
            matrices.over_samples(W + A),
            "sum_{p<=s, k<=n} (A + W)",
            r"\sum_{p=1}^{s}\sum_{k=1}^{n} \left(A + W\right)",
        ),
        (
            matrices.over_samples(sympy.Integer(-3)),
            "sum_{p<=s, k<=n} (-3)",
            r"\sum_{p=1}^{s}\sum_{k=1}^{n} \left(-3\right)",
        ),
        (
            matrices.rest(a[k] + x, k),
            "sum_{k != i,j} (x + a_k)",
            r"\sum_{k \ne i,j} \left(x + a_{k}\right)",
        ),
        (
            x * matrices.rest(a[k], k),
            "x (sum_{k != i,j} a_k)",
            r"x \left(\sum_{k \ne i,j} a_{k}\right)",
        ),
        (
            x * sympy.Sum(a[k], (k, 1, n)),
            "x (sum_{k=1..n} a_k)",
            r"x \left(\sum_{k=1}^{n} a_{k}\right)",
        ),
        (
            x * matrices.over_samples(y),
            "x (sum_{p<=s, k<=n} y)",
            r"x \left(\sum_{p=1}^{s}\sum_{k=1}^{n} y\right)",
        ),
        (sympy.exp(-x), "exp(-x)", "e^{-x}"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_forms(shown, text, latex):
    assert show(shown) == text
    assert show(shown, latex=True) == latex


@pytest.mark.parametrize("shown", [-2 * W, -W / 2, -2 * (W - I) * A, -3 * x * W])
def test_a_product_keeps_the_sign_of_its_number(shown):
    assert sympy.expand(read(show(shown)) - shown) == 0
    assert sympy.expand(read(plain(show(shown, latex=True))) - shown) == 0


def test_what_has_no_text_is_refused():
    with pytest.raises(TypeError, match="no text for sin"):
        show(sympy.sin(x))


def test_both_sides_stand_in_a_trace_unless_they_are_numbers():
    norm = matrices.squared_norm(W)
    assert equation(W * A, A * W) == "W A = A W"
    assert equation(W * A, A * W, trace=True) == "Tr[W A] = Tr[A W]"
    latex = equation(W * A, norm, latex=True, trace=True)
    assert latex == r"\operatorname{Tr}\left[W A\right] = \left\|W\right\|^2"
