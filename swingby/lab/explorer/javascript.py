"""JavaScript and MathML of sympy expressions.

Values are printed by sympy's own printer. Numbers that leave the range of floats, such as omega,
exist in the page as logarithms alone: of an expression in them its logarithm is printed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import sympy
from sympy.printing.jscode import JavascriptCodePrinter
from sympy.printing.mathml import mathml


class JavaScript(JavascriptCodePrinter):
    """Prints values, and logarithms of positive expressions.

    `logarithms`: symbols of which the page has the logarithm alone, as ``log_`` and their name.
    """

    def __init__(self, logarithms: Collection[Any] = ()) -> None:
        super().__init__({"precision": 17, "contract": False})
        self.logarithms = frozenset(logarithms)

    def value(self, expression: Any) -> str:
        """The expression; ValueError where it needs the value of a logarithm."""
        return str(self.doprint(expression))

    def log(self, expression: Any) -> str:
        """The natural logarithm of a positive expression."""
        if expression.is_Number:
            return f"Math.log({self.value(expression)})"
        if expression.is_Symbol:
            name = expression.name
            return f"log_{name}" if expression in self.logarithms else f"Math.log({name})"
        if expression.is_Mul:
            return f"({' + '.join(map(self.log, expression.args))})"
        if expression.is_Pow and expression.exp.is_number:
            return f"({self.value(expression.exp)} * {self.log(expression.base)})"
        if isinstance(expression, sympy.Min | sympy.Max):
            name = "min" if isinstance(expression, sympy.Min) else "max"
            return f"Math.{name}({', '.join(map(self.log, expression.args))})"
        return f"Math.log({self.value(expression)})"

    def arguments(self, expression: Any) -> list[str]:
        """Names that the code of an expression reads."""
        symbols = sorted(expression.free_symbols, key=str)
        return [f"log_{x.name}" if x in self.logarithms else x.name for x in symbols]

    # What sympy calls by the names of its classes.

    def _print_Symbol(self, symbol: Any) -> str:
        if symbol in self.logarithms:
            raise ValueError(f"{symbol} may be no float: only its logarithm is known")
        return str(symbol.name)

    def _print_log(self, logarithm: Any) -> str:
        return self.log(logarithm.args[0])

    def _print_Rational(self, number: Any) -> str:
        return f"({number.p} / {number.q})"

    def _print_Pow(self, power: Any) -> str:
        """x*x, which is five times faster in V8 than Math.pow(x, 2)."""
        if power.base.is_Symbol and power.exp in (2, 3, 4):
            return f"({' * '.join([power.base.name] * int(power.exp))})"
        return str(super()._print_Pow(power))


def math_markup(relation: Any) -> str:
    """An inequality as MathML, which browsers draw without a library."""
    markup = mathml(relation, printer="presentation")
    markup = markup.replace("&InvisibleTimes;", "&#8290;").replace("<mo>-</mo>", "<mo>&#8722;</mo>")
    initial = "<msub><mi>w</mi><mi>ij</mi></msub><mo>(</mo><mn>0</mn><mo>)</mo>"
    markup = re.sub(r"<msub><mi>w</mi><mi>ij\(0\)</mi></msub>|<mi>w_ij\(0\)</mi>", initial, markup)
    for fence in "()":
        plain = f'<mo stretchy="false" lspace="0" rspace="0">{fence}</mo>'
        markup = markup.replace(f"<mo>{fence}</mo>", plain)
    return f"<math>{markup.replace('<mrow><mo>min</mo>', '<mrow><mi>min</mi>')}</math>"


class Traced:
    """A number that writes down, as JavaScript, what a function of NumPy does to it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __getitem__(self, _: Any) -> Traced:
        return self

    def __add__(self, other: Traced) -> Traced:
        return Traced(f"({self.text} + {other.text})")

    def __sub__(self, other: Traced) -> Traced:
        return Traced(f"({self.text} - {other.text})")

    def __mul__(self, other: Any) -> Any:
        if not isinstance(other, Traced):  # an array, number by number
            return other * self
        return Traced(f"({self.text} * {other.text})")

    def __rsub__(self, other: float) -> Traced:
        return Traced(f"({other} - {self.text})")

    def __rmul__(self, other: float) -> Traced:
        return Traced(f"({other} * {self.text})")

    def __truediv__(self, other: Traced | float) -> Traced:
        return Traced(f"({self.text} / {other.text if isinstance(other, Traced) else other})")

    def __neg__(self) -> Traced:
        return Traced(f"(-{self.text})")

    def log1p(self) -> Traced:
        """log(1 + x)."""
        return Traced(f"Math.log1p({self.text})")
