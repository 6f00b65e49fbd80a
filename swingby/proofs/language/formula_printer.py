"""Formulas as text and as LaTeX, with products in the order of the paper: constants, then state.

sympy's printers sort factors by its own rules; here ``2 P γ α d β² ω²`` reads as printed. Sums put
short terms before long ones and positive ones before negative ones; matrices stay where they are.
"""

from __future__ import annotations

import re
from string import Template
from typing import Any

import sympy

from swingby.proofs.language.matrices import LETTERS as MATRICES

GREEK = {
    "alpha": "α",
    "beta": "β",
    "gamma": "γ",
    "eta": "η",
    "kappa": "κ",
    "lambda": "λ",
    "mu": "μ",
    "omega": "ω",
    "pi": "π",
    "rho": "ρ",
    "sigma": "σ",
    "tau": "τ",
    "xi": "ξ",
}

#: Order of letters in a product; what is not listed comes behind, sums before functions.
LETTERS = (
    *("P", "K", "C", "kappa", "eta", "gamma", "alpha", "d", "beta", "omega"),
    *("a_i", "a_j", "a_k", "lambda", "t", "T"),
)
#: Entries of the signal, of any index.
_SIGNAL = r"a(_\w|\[.*\])"
_STATE = ("G_ij(t)", "S_ij(t)", "N_ij(t)")

SIGNS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">", "==": "=", "!=": "≠"}
_LATEX_SIGNS = {"<=": r"\le", ">=": r"\ge", "<": "<", ">": ">", "==": "=", "!=": r"\ne"}
#: Words that LaTeX writes as commands.
_COMMANDS = {*GREEK, "epsilon", "exp"}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUM, _PRODUCT, _POWER = range(3)


def formula(expression: Any, *, latex: bool = False) -> str:
    """An expression or a relation, in numbers or in matrices, on a single line."""
    if isinstance(expression, sympy.Tuple | tuple):
        return (r",\quad " if latex else ",  ").join(
            formula(element, latex=latex) for element in expression
        )
    if isinstance(expression, sympy.core.relational.Relational):
        sign = (_LATEX_SIGNS if latex else SIGNS)[expression.rel_op]
        left_side, right_side = (
            formula(side, latex=latex) for side in (expression.lhs, expression.rhs)
        )
        return f"{left_side} {sign} {right_side}"
    if isinstance(expression, sympy.And | sympy.Or):
        word = "and" if isinstance(expression, sympy.And) else "or"
        joint = rf"\ \text{{{word}}}\ " if latex else f" {word} "
        return joint.join(sorted(formula(relation, latex=latex) for relation in expression.args))
    return _show(expression, latex, _SUM)


def symbol_text(name: str, *, latex: bool = False) -> str:
    """A letter such as ``w_ij(t+1)`` or ``kappa``."""
    if not latex:
        name = name.replace("-", " − ") if name.startswith("(") else name
        name = name.replace("|^2", "|²") if name.startswith("|") else name
        return greek(name)
    if name.startswith("<"):
        pair = (symbol_text(each, latex=True) for each in name[1:-1].split(", "))
        return rf"\langle {', '.join(pair)} \rangle"
    text = re.sub(r"_([A-Za-z\d]+)", _index, re.sub(r"\^(-?\w+)", r"^{\1}", name))
    return re.sub(
        r"[A-Za-z]+", lambda match: rf"\{match[0]}" if match[0] in _COMMANDS else match[0], text
    )


def greek(text: str) -> str:
    """Text with the names of Greek letters replaced by the letters."""
    return re.sub(r"[A-Za-z]+", lambda match: GREEK.get(match[0], match[0]), text)


def as_read(text: str) -> str:
    """Text by sympy, with the signs of :func:`formula`."""
    return greek(text.replace("**", "^").replace("*", " "))


def _index(match: re.Match[str]) -> str:
    index = match[1]
    return f"_{{{index[0]},{index[1]}}}" if re.fullmatch(r"[i-l]{2}", index) else f"_{{{index}}}"


def _show(expression: Any, latex: bool, level: int) -> str:
    if expression.is_Integer and expression >= 0:
        return str(expression)
    if expression.is_Add:
        return _wrap(_sum(expression, latex), level > _SUM, latex)
    if expression.is_Mul or expression.is_Pow or expression.is_Rational:
        text, is_product = _product(expression, latex)
        return _wrap(text, is_product and level > _PRODUCT, latex)
    if latex and expression in MATRICES:
        return str(MATRICES[expression].latex)
    if expression.is_Symbol:
        return symbol_text(expression.name, latex=latex)
    if isinstance(expression, sympy.Indexed):
        # w(0)[k, i] is w_ki(0), and exp(-a t)[i] is exp(-a_i t).
        index = "".join(map(str, expression.indices))
        name = re.sub(r"^(exp\(-)?(\w+)", rf"\g<0>_{index}", str(expression.base))
        return symbol_text(name, latex=latex)
    return _operator(expression, latex, level)


#: Operators as text and as LaTeX. A `term` is summed: brackets stand around sums alone.
_OPERATORS = {
    "Abs": ("|$body|", r"\left|$body\right|"),
    "Max": ("max{$all}", r"\max\left\{$all\right\}"),
    "Min": ("min{$all}", r"\min\left\{$all\right\}"),
    "exp": ("exp($body)", r"\exp\left($body\right)"),
    "log": ("log($body)", r"\log\left($body\right)"),
    "KroneckerDelta": ("1{$pair}", r"\mathbb{1}_{\{$pair\}}"),
    "inside": ("1{$body ≤ s}", r"\mathbb{1}_{\{$body \le s\}}"),
    "squared_norm": ("|$body|²", r"\left\|$body\right\|^2"),
    "mean": ("E[$body]", r"\mathbb{E}\left[$body\right]"),
    "Transposed": ("$body^T", r"$body^\top"),
    "Inverted": ("$body^-1", "$body^{-1}"),
    "Traced": ("Tr[$body]", r"\operatorname{Tr}\left[$body\right]"),
    "Blocks": (
        "block($body, $index, $lower, $upper)",
        r"\begin{pmatrix} $body & $index \\ $lower & $upper \end{pmatrix}",
    ),
    "over_samples": ("sum_{p≤s, k≤n} $term", r"\sum_{p=1}^{s}\sum_{k=1}^{n} $term"),
    "rest": ("sum_{$index ≠ i,j} $term", r"\sum_{$index \ne i,j} $term"),
} | dict.fromkeys(
    ("Sum", "FiniteSum"),
    ("sum_{$index=$lower..$upper} $term", r"\sum_{$index=$lower}^{$upper} $term"),
)


def _operator(expression: Any, latex: bool, level: int) -> str:
    name = expression.func.__name__
    if name not in _OPERATORS:
        return str(sympy.latex(expression) if latex else sympy.sstr(expression))
    arguments = (expression.function, *expression.limits[0]) if name == "Sum" else expression.args
    texts = [_show(argument, latex, _SUM) for argument in arguments]
    words = dict(zip(("body", "index", "lower", "upper"), texts, strict=False))
    words["all"] = ", ".join(sorted(texts, key=lambda text: (len(text), text)))
    words["pair"] = " = ".join(sorted(texts))
    term = _show(arguments[0], latex, _PRODUCT)
    words["term"] = _wrap(term, term[0] in "-−", latex)
    template = _OPERATORS[name][latex]
    text = Template(template).substitute(words)
    return _wrap(text, "$term" in template and level > _SUM, latex)


def _wrap(text: str, brackets: bool, latex: bool) -> str:
    if not brackets:
        return text
    return rf"\left({text}\right)" if latex else f"({text})"


def _sum(expression: Any, latex: bool) -> str:
    ranked = []
    terms = _flat(expression, sympy.Add)
    # 1 + K/(2 C), but t + 1 and kappa - 1.
    number_last = any(term.is_Symbol for term in terms)
    for term in terms:
        coefficient, factors = _factors(term)
        text = _show(term, latex, _PRODUCT)
        minus = "-" if latex else "−"
        negative = coefficient.is_negative and text.startswith(minus)
        body = text.removeprefix(minus) if negative else text
        size = len(factors) or (100 if number_last else 0)
        rank = (negative, size, [_rank(*factor) for factor in _ordered(factors)], body)
        ranked.append((rank, negative, body))
    text = ""
    for _, negative, body in sorted(ranked):
        sign = ("-" if latex else "−") if negative else "+"
        text += f" {sign} {body}" if text else (sign if negative else "") + body
    return text


def _flat(expression: Any, kind: Any) -> list[Any]:
    if not isinstance(expression, kind):
        return [expression]
    return [leaf for argument in expression.args for leaf in _flat(argument, kind)]


def _factors(expression: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """Rational coefficient, and bases with their exponents."""
    coefficient, powers = sympy.Integer(1), []
    for factor in _flat(expression, sympy.Mul):
        commutes = factor.is_commutative
        if factor.is_Rational:
            coefficient *= factor
        elif factor.is_Pow and factor.exp.is_Integer and factor.base.is_Mul and commutes:
            inner, inner_powers = _factors(factor.base)
            if inner:
                coefficient *= inner**factor.exp
                powers += [(base, exponent * factor.exp) for base, exponent in inner_powers]
        elif factor.is_Add and factor is not expression and (content := _content(factor)) != 1:
            coefficient *= content
            terms = (term / content for term in _flat(factor, sympy.Add))
            powers.append((sympy.Add(*terms), sympy.Integer(1)))
        elif factor.is_Pow:
            powers.append((factor.base, factor.exp))
        else:
            powers.append((factor, sympy.Integer(1)))
    return coefficient, powers


def _content(total: Any) -> Any:
    """The factor that is written before a sum: 2 (kappa - 1), 2/5 (3 a_i + a_j)."""
    numbers = [_factors(term)[0] for term in _flat(total, sympy.Add)]
    if len(same := {abs(number) for number in numbers}) == 1:
        return same.pop()
    content = total.primitive()[0]
    return sympy.Integer(1) if content.is_Integer else content


def _rank(base: Any, exponent: Any) -> tuple[int, int, str]:
    """Sums of constants, constants, sums, state, functions; matrices as they stand."""
    if not base.is_commutative:
        return 6, 0, ""
    entries = base.atoms(sympy.Indexed)
    letters = base.free_symbols.difference(*(entry.free_symbols for entry in entries)) | entries
    names = {letter.name for letter in letters}
    is_constant = all(name in LETTERS or re.fullmatch(_SIGNAL, name) for name in names)
    if base.is_Add:
        is_number = names <= {"kappa", "K", "C", "lambda", "d"} and exponent.is_positive
        return 0 if is_number else 2 if is_constant else 4, 0, str(base)
    if base.is_Symbol or base in entries:
        if is_constant:
            name = base.name if base.name in LETTERS else "a_k"
            return 1, LETTERS.index(name), str(base.name)
        position = _STATE.index(base.name) if base.name in _STATE else len(_STATE)
        return 3, position, str(base.name)
    return 5, 0, str(base)


def _ordered(factors: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return sorted(factors, key=lambda factor: _rank(*factor))


def _product(expression: Any, latex: bool) -> tuple[str, bool]:
    """Text of a product, a power or a number, and whether it has several factors."""
    coefficient, factors = _factors(expression)
    sign = ("-" if latex else "−") if coefficient.is_negative else ""
    if not factors and coefficient.q in (5, 10, 20, 100):
        return f"{sign}{float(abs(coefficient)):g}", bool(sign)
    numerator, denominator = sympy.fraction(abs(coefficient))
    top = [(numerator, 1)] if numerator != 1 else []
    bottom = [(denominator, 1)] if denominator != 1 else []
    for base, exponent in _ordered(factors):
        is_root = exponent == -sympy.Rational(1, 2) and not base.is_Symbol
        if base.is_commutative and (is_root or (exponent.is_Integer and exponent < 0)):
            bottom.append((base, -exponent))
        else:
            top.append((base, exponent))

    def joined(powers: list[tuple[Any, Any]]) -> str:
        # A single sum needs no brackets in a fraction of LaTeX.
        level = _SUM if latex and bottom and len(powers) == 1 else _POWER
        return " ".join(_power(*factor, latex, level) for factor in powers) or "1"

    if not bottom:
        return sign + joined(top), bool(sign) or len(top) > 1
    above, below = joined(top), joined(bottom)
    if latex:
        return rf"{sign}\frac{{{above}}}{{{below}}}", True
    return f"{sign}{above}/{_wrap(below, len(bottom) > 1, latex)}", True


def _power(base: Any, exponent: Any, latex: bool, level: int) -> str:
    if exponent == 1:
        return _show(base, latex, level)
    if exponent == sympy.Rational(1, 2):
        inner = _show(base, latex, _SUM)
        if latex:
            return rf"\sqrt{{{inner}}}"
        return f"√{inner}" if base.is_Symbol else f"√({inner})"
    text = _show(base, latex, _POWER)
    raised_already = base.func.__name__ in ("exp", "log", "Transposed", "Inverted")
    if base.is_Pow or raised_already or (base.is_Symbol and "^" in text):
        text = _wrap(text, True, latex)
    raised = _show(exponent, latex, _SUM)
    if latex:
        return f"{text}^{{{exponent if exponent.is_Rational else raised}}}"
    if exponent.is_Integer and exponent > 0:
        return text + raised.translate(_RAISED)
    return f"{text}^{raised}" if exponent.is_Symbol else f"{text}^({raised})"
