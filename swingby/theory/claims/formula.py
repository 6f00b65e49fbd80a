"""Formulas as text and as LaTeX, with products in the order of the paper: constants, then state.

sympy's printers sort factors by its own rules; here ``2 P γ α d β² ω²`` reads as printed. Sums put
short terms before long ones and positive ones before negative ones.
"""

from __future__ import annotations

import re
from fractions import Fraction
from string import Template
from typing import Any

import sympy

from swingby.theory.claims.matrices import LETTERS as MATRICES

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
_STATE = ("G_ij(t)", "S_ij(t)", "N_ij(t)")

_SIGNS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">", "==": "=", "!=": "≠"}
_LATEX_SIGNS = {"<=": r"\le", ">=": r"\ge", "<": "<", ">": ">", "==": "=", "!=": r"\ne"}
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SUM, _PRODUCT, _POWER = range(3)


def formula(expression: Any, *, latex: bool = False) -> str:
    """An expression or a relation, in numbers or in matrices, on one line."""
    if isinstance(expression, sympy.Tuple | tuple):
        return (r",\quad " if latex else ",  ").join(
            formula(part, latex=latex) for part in expression
        )
    if isinstance(expression, sympy.core.relational.Relational):
        sign = (_LATEX_SIGNS if latex else _SIGNS)[expression.rel_op]
        left, right = (formula(side, latex=latex) for side in (expression.lhs, expression.rhs))
        return f"{left} {sign} {right}"
    if isinstance(expression, sympy.And | sympy.Or):
        word = "and" if isinstance(expression, sympy.And) else "or"
        joint = rf"\ \text{{{word}}}\ " if latex else f" {word} "
        return joint.join(sorted(formula(part, latex=latex) for part in expression.args))
    if _is_algebraic(expression):
        return show(expression, latex) if latex else greek(show(expression))
    return _show(expression, latex, _SUM)


def symbol_text(name: str, *, latex: bool = False) -> str:
    """A letter such as ``w_ij(t+1)`` or ``kappa``."""
    if not latex:
        name = name.replace("-", " − ") if name.startswith("(") else name
        return greek(name)
    text = re.sub(r"_([A-Za-z\d]+)", _index, name)
    return re.sub(
        r"[A-Za-z]+", lambda match: rf"\{match[0]}" if match[0] in GREEK else match[0], text
    )


def greek(text: str) -> str:
    """Text with the names of Greek letters replaced by the letters."""
    return re.sub(r"[A-Za-z]+", lambda match: GREEK.get(match[0], match[0]), text)


def as_read(text: str) -> str:
    """What sympy wrote, with the signs of :func:`formula`."""
    return greek(text.replace("**", "^").replace("*", " "))


def _index(match: re.Match[str]) -> str:
    index = match[1]
    return f"_{{{index[0]},{index[1]}}}" if re.fullmatch(r"[i-l]{2}", index) else f"_{{{index}}}"


def _is_algebraic(expression: Any) -> bool:
    return (
        not expression.is_commutative
        or expression.has(sympy.Indexed, sympy.Sum)
        or bool(expression.atoms(sympy.core.function.AppliedUndef))
    )


def _show(expression: Any, latex: bool, level: int) -> str:
    if expression.is_Add:
        return _wrap(_sum(expression, latex), level > _SUM, latex)
    if expression.is_Mul or expression.is_Pow or expression.is_Rational:
        text, is_product = _product(expression, latex)
        return _wrap(text, is_product and level > _PRODUCT, latex)
    if expression.is_Symbol:
        return symbol_text(expression.name, latex=latex)
    name = expression.func.__name__
    inner = [_show(argument, latex, _SUM) for argument in expression.args]
    if name == "Abs":
        return rf"\left|{inner[0]}\right|" if latex else f"|{inner[0]}|"
    if name in ("Min", "Max"):
        joined = ", ".join(sorted(inner, key=lambda text: (len(text), text)))
        word = name.lower()
        return rf"\{word}\left\{{{joined}\right\}}" if latex else f"{word}{{{joined}}}"
    if name in ("exp", "log"):
        return rf"\{name}\left({inner[0]}\right)" if latex else f"{name}({inner[0]})"
    return str(sympy.latex(expression) if latex else sympy.sstr(expression))


def _wrap(text: str, brackets: bool, latex: bool) -> str:
    if not brackets:
        return text
    return rf"\left({text}\right)" if latex else f"({text})"


def _sum(expression: Any, latex: bool) -> str:
    shown = []
    terms = _flat(expression, sympy.Add)
    # 1 + K/(2 C), but t + 1 and kappa - 1.
    number_last = any(term.is_Symbol for term in terms)
    for term in terms:
        coefficient, factors = _factors(term)
        text = _show(term, latex, _PRODUCT)
        minus = "-" if latex else "−"
        negative = coefficient < 0 and text.startswith(minus)
        body = text.removeprefix(minus) if negative else text
        size = len(factors) or (100 if number_last else 0)
        rank = (negative, size, [_rank(*factor) for factor in _ordered(factors)], body)
        shown.append((rank, negative, body))
    text = ""
    for _, negative, body in sorted(shown):
        sign = ("-" if latex else "−") if negative else "+"
        text += f" {sign} {body}" if text else (sign if negative else "") + body
    return text


def _flat(expression: Any, kind: Any) -> list[Any]:
    if not isinstance(expression, kind):
        return [expression]
    return [part for argument in expression.args for part in _flat(argument, kind)]


def _factors(expression: Any) -> tuple[Fraction, list[tuple[Any, Any]]]:
    """Rational coefficient, and bases with their exponents."""
    coefficient, powers = Fraction(1), []
    for factor in _flat(expression, sympy.Mul):
        if factor.is_Rational:
            coefficient *= Fraction(int(factor.p), int(factor.q))
        elif factor.is_Pow and factor.exp.is_Integer and factor.base.is_Mul:
            inner, parts = _factors(factor.base)
            if inner:
                coefficient *= inner ** int(factor.exp)
                powers += [(base, exponent * factor.exp) for base, exponent in parts]
        elif factor.is_Add and factor is not expression and (content := _content(factor)) != 1:
            coefficient *= content
            terms = (term / sympy.Rational(content) for term in _flat(factor, sympy.Add))
            powers.append((sympy.Add(*terms), sympy.Integer(1)))
        elif factor.is_Pow:
            powers.append((factor.base, factor.exp))
        else:
            powers.append((factor, sympy.Integer(1)))
    return coefficient, powers


def _content(total: Any) -> Fraction:
    """What a sum is written with in front: 2 (kappa - 1), 2/5 (3 a_i + a_j)."""
    numbers = [_factors(term)[0] for term in _flat(total, sympy.Add)]
    same = {abs(number) for number in numbers}
    if len(same) == 1:
        return same.pop()
    content = total.primitive()[0]
    return Fraction(int(content.p), int(content.q)) if content.q != 1 else Fraction(1)


def _rank(base: Any, exponent: Any) -> tuple[int, int, str]:
    """Sums of constants, constants, sums, state, functions."""
    if base.is_Symbol:
        if base.name in LETTERS:
            return 1, LETTERS.index(base.name), ""
        is_term = base.name in _STATE
        return 3, _STATE.index(base.name) if is_term else len(_STATE), str(base.name)
    names = {symbol.name for symbol in base.free_symbols}
    if base.is_Add:
        has_state = not names <= set(LETTERS)
        is_constant = names <= {"kappa", "K", "C", "lambda", "d"} and exponent.is_positive
        return 0 if is_constant else 4 if has_state else 2, 0, str(base)
    return 5, 0, str(base)


def _ordered(factors: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return sorted(factors, key=lambda factor: _rank(*factor))


def _product(expression: Any, latex: bool) -> tuple[str, bool]:
    """Text of a product, a power or a number, and whether it is more than one factor."""
    coefficient, factors = _factors(expression)
    sign = ("-" if latex else "−") if coefficient < 0 else ""
    if not factors and coefficient.denominator in (5, 10, 20, 100):
        return f"{sign}{float(abs(coefficient)):g}", bool(sign)
    top = [str(abs(coefficient.numerator))] if abs(coefficient.numerator) != 1 else []
    bottom = [str(coefficient.denominator)] if coefficient.denominator != 1 else []
    for base, exponent in _ordered(factors):
        is_root = exponent == -sympy.Rational(1, 2) and not base.is_Symbol
        if is_root or (exponent.is_Integer and exponent < 0):
            bottom.append(_power(base, -exponent, latex))
        else:
            top.append(_power(base, exponent, latex))
    above = " ".join(top) or "1"
    if not bottom:
        return sign + above, bool(sign) or len(top) > 1
    below = " ".join(bottom)
    if latex:
        return rf"{sign}\frac{{{_bare(top, above)}}}{{{_bare(bottom, below)}}}", True
    return f"{sign}{above}/{_wrap(below, len(bottom) > 1, latex)}", True


def _bare(factors: list[str], text: str) -> str:
    """A single sum needs no brackets in a fraction of LaTeX."""
    opening, closing = r"\left(", r"\right)"
    if len(factors) != 1 or not (text.startswith(opening) and text.endswith(closing)):
        return text
    depth = 0
    for found in re.finditer(r"\\left|\\right", text):
        depth += 1 if found[0] == r"\left" else -1
        if not depth and found.end() < len(text) - 1:
            return text
    return text[len(opening) : -len(closing)]


def _power(base: Any, exponent: Any, latex: bool) -> str:
    if exponent == sympy.Rational(1, 2):
        inner = _show(base, latex, _SUM)
        if latex:
            return rf"\sqrt{{{inner}}}"
        return f"√{inner}" if base.is_Symbol else f"√({inner})"
    text = _show(base, latex, _POWER)
    if exponent == 1:
        return text
    if base.is_Pow or base.func.__name__ in ("exp", "log"):
        text = _wrap(text, True, latex)
    shown = _show(exponent, latex, _SUM)
    if latex:
        flat = re.sub(r"^(-?)\\frac\{(.*)\}\{(.*)\}$", r"\1\2/\3", shown)
        return f"{text}^{{{flat}}}"
    if exponent.is_Integer and exponent > 0:
        return text + shown.translate(_RAISED)
    return f"{text}^({shown})"


#: Names in LaTeX of letters that stand in identities of matrices, where they differ.
_LATEX_NAMES = {
    **{name: rf"\{name}" for name in ("eta", "tau", "mu", "sigma", "xi", "epsilon")},
    "a^-1": "a^{-1}",
}
#: Operators on matrices and entries, as text and as LaTeX.
_OPERATORS = {
    "KroneckerDelta": ("1{$pair}", r"\mathbb{1}_{\{$pair\}}"),
    "inside": ("1{$body <= s}", r"\mathbb{1}_{\{$body \le s\}}"),
    "squared_norm": ("|$body|^2", r"\left\|$body\right\|^2"),
    "mean": ("E[$body]", r"\mathbb{E}\left[$body\right]"),
    "exp": ("exp($body)", "e^{$body}"),
    "over_samples": ("sum_{p<=s, k<=n} $term", r"\sum_{p=1}^{s}\sum_{k=1}^{n} $term"),
    "rest": ("sum_{$index != i,j} $term", r"\sum_{$index \ne i,j} $term"),
    "Sum": ("sum_{$index=$lower..$upper} $term", r"\sum_{$index=$lower}^{$upper} $term"),
}


def show(expression: Any, latex: bool = False, level: int = _SUM) -> str:
    """A formula in the letters of :mod:`swingby.theory.claims.matrices`."""
    if expression.is_Add:
        return _wrap(_terms(expression, latex), level > _SUM, latex)
    if expression.is_Mul:
        return _wrap(_ordered_product(expression, latex), level > _PRODUCT, latex)
    if expression.is_Pow:
        if expression.exp == -1 and not latex:
            return _wrap(f"1/{show(expression.base, latex, _POWER)}", level > _PRODUCT, latex)
        base = show(expression.base, latex, _POWER)
        exponent = show(expression.exp, latex)
        if latex and "^" in base:
            base = rf"\left({base}\right)"
        return f"{base}^{{{exponent}}}" if latex else f"{base}^{exponent}"
    if expression.is_Rational:
        if expression.q == 1:
            return _wrap(str(expression), expression < 0 and level > _SUM, latex)
        sign, top = ("-" if expression < 0 else ""), abs(expression.p)
        return rf"{sign}\frac{{{top}}}{{{expression.q}}}" if latex else f"{expression}"
    if isinstance(expression, sympy.Indexed):
        return _entry(expression, latex)
    if expression.is_Symbol:
        if not latex:
            return str(expression.name)
        known = MATRICES.get(expression)
        return known.latex if known else _LATEX_NAMES.get(expression.name, expression.name)
    return _operator(expression, latex, level)


def _terms(expression: Any, latex: bool) -> str:
    text = ""
    for term in sorted(
        expression.as_ordered_terms(), key=lambda term: term.could_extract_minus_sign()
    ):
        negative = term.could_extract_minus_sign() and not term.is_Add
        shown = show(-term if negative else term, latex, _PRODUCT)
        joint = " - " if negative else " + "
        text += (joint if text else joint.strip() * negative) + shown
    return text


def _ordered_product(expression: Any, latex: bool) -> str:
    commuting, matrices = expression.args_cnc()
    top: list[Any] = []
    bottom: list[Any] = []
    sign = ""
    for factor in commuting:
        if factor.is_Rational:
            # -2 comes apart into -1 and 2.
            if factor < 0:
                sign = "" if sign else "-"
            top += [sympy.Integer(abs(factor.p))] * (abs(factor.p) != 1)
            bottom += [sympy.Integer(factor.q)] * (factor.q != 1)
        elif factor.is_Pow and factor.exp.is_Rational and factor.exp < 0:
            bottom.append(factor.base**-factor.exp)
        else:
            top.append(factor)
    rest = [show(factor, latex, _POWER) for factor in (*top, *matrices)]
    if not bottom:
        return sign + " ".join(rest)
    below = " ".join(show(factor, latex, _POWER) for factor in bottom)
    if latex:
        over = rf"\frac{{1}}{{{below}}}"
    else:
        over = f"1/({below})" if len(bottom) > 1 else f"1/{below}"
    return " ".join([sign + over, *rest])


def _entry(expression: Any, latex: bool) -> str:
    name = str(expression.base)
    indices = ",".join(show(index, latex) for index in expression.indices)
    below = f"_{{{indices}}}" if latex else f"_{indices}"
    if name == "exp(-a t)":
        return f"e^{{-a{below} t}}" if latex else f"exp(-a{below} t)"
    if name == "a^-1":
        return f"a{below}^{{-1}}" if latex else f"a{below}^-1"
    if name.endswith("(0)"):
        return f"{name[:-3]}{below}(0)"
    return (_LATEX_NAMES.get(name, name) if latex else name) + below


def _operator(expression: Any, latex: bool, level: int) -> str:
    name = expression.func.__name__
    if name not in _OPERATORS:
        raise TypeError(f"no text for {name}")
    body, *limits = expression.args if name != "Sum" else (expression.function, *expression.limits)
    listed = limits[0] if name == "Sum" else limits
    shown = [show(part, latex) for part in (body, *listed)]
    parts = dict(zip(("index", "lower", "upper"), shown[1:], strict=False))
    parts |= {"body": shown[0], "pair": " = ".join(sorted(shown))}
    text = _OPERATORS[name][latex]
    is_sum = "$term" in text
    parts["term"] = show(body, latex, _PRODUCT) if is_sum else ""
    return _wrap(Template(text).substitute(parts), is_sum and level > _SUM, latex)
