"""Algebraic statements as plain text, as LaTeX, and as a content key."""

from __future__ import annotations

from typing import Any

import sympy

from swingby.theory.derivations.matrices import LETTERS, squared_norm

#: Names in LaTeX where they differ from the plain ones.
LATEX_NAMES = {
    "I": "I",
    "eta": r"\eta",
    "tau": r"\tau",
    "mu": r"\mu",
    "sigma": r"\sigma",
    "xi": r"\xi",
    "a^-1": "a^{-1}",
    "epsilon": r"\epsilon",
}

_SUM, _PRODUCT, _POWER = range(3)


def show(expression: Any, latex: bool = False) -> str:
    """A formula in the letters of :mod:`swingby.theory.derivations.matrices`.

    Examples
    --------
    >>> from swingby.theory.derivations.matrices import A, I, W
    >>> show((W - I) * A), show(W**2 * A, latex=True)
    ('(W - I) A', 'W^{2} A')
    """
    return _show(expression, latex, _SUM)


def _show(expression: Any, latex: bool, level: int) -> str:
    if expression.is_Add:
        return _wrap(_add(expression, latex), level > _SUM, latex)
    if expression.is_Mul:
        return _wrap(_multiply(expression, latex), level > _PRODUCT, latex)
    if expression.is_Pow:
        if expression.exp == -1 and not latex:
            return _wrap(f"1/{_show(expression.base, latex, _POWER)}", level > _PRODUCT, latex)
        base = _show(expression.base, latex, _POWER)
        exponent = _show(expression.exp, latex, _SUM)
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
        if latex:
            known = LETTERS.get(expression)
            return known.latex if known else LATEX_NAMES.get(expression.name, expression.name)
        return str(expression.name)
    return _operator(expression, latex, level)


def _wrap(text: str, brackets: bool, latex: bool) -> str:
    if not brackets:
        return text
    return rf"\left({text}\right)" if latex else f"({text})"


def _add(expression: Any, latex: bool) -> str:
    text = ""
    for term in sorted(
        expression.as_ordered_terms(), key=lambda term: term.could_extract_minus_sign()
    ):
        negative = term.could_extract_minus_sign() and not term.is_Add
        shown = _show(-term if negative else term, latex, _PRODUCT)
        joint = " - " if negative else " + "
        text += (joint if text else joint.strip() * negative) + shown
    return text


def _multiply(expression: Any, latex: bool) -> str:
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
    rest = [_show(factor, latex, _POWER) for factor in (*top, *matrices)]
    if not bottom:
        return sign + " ".join(rest)
    below = " ".join(_show(factor, latex, _POWER) for factor in bottom)
    if latex:
        return " ".join([rf"{sign}\frac{{1}}{{{below}}}", *rest])
    below = f"({below})" if len(bottom) > 1 else below
    return " ".join([f"{sign}1/{below}", *rest])


def _entry(expression: Any, latex: bool) -> str:
    name = str(expression.base)
    indices = ",".join(_show(index, latex, _SUM) for index in expression.indices)
    if name == "exp(-a t)":
        return f"e^{{-a_{{{indices}}} t}}" if latex else f"exp(-a_{indices} t)"
    if name == "a^-1":
        return f"a_{{{indices}}}^{{-1}}" if latex else f"a_{indices}^-1"
    if name.endswith("(0)"):
        return f"{name[:-3]}_{{{indices}}}(0)" if latex else f"{name[:-3]}_{indices}(0)"
    if latex:
        return f"{LATEX_NAMES.get(name, name)}_{{{indices}}}"
    return f"{name}_{indices}"


def _operator(expression: Any, latex: bool, level: int) -> str:
    name = expression.func.__name__
    inner = [_show(argument, latex, _SUM) for argument in expression.args if name != "Sum"]
    if name == "KroneckerDelta":
        pair = " = ".join(sorted(inner))
        return rf"\mathbb{{1}}_{{\{{{pair}\}}}}" if latex else f"1{{{pair}}}"
    if name == "inside":
        return rf"\mathbb{{1}}_{{\{{{inner[0]} \le s\}}}}" if latex else f"1{{{inner[0]} <= s}}"
    if name == "squared_norm":
        return rf"\left\|{inner[0]}\right\|^2" if latex else f"|{inner[0]}|^2"
    if name == "mean":
        return rf"\mathbb{{E}}\left[{inner[0]}\right]" if latex else f"E[{inner[0]}]"
    if name == "over_samples":
        head = r"\sum_{p=1}^{s}\sum_{k=1}^{n}" if latex else "sum_{p<=s, k<=n}"
        body = _show(expression.args[0], latex, _PRODUCT)
        return _wrap(f"{head} {body}", level > _SUM, latex)
    if name == "rest":
        index = inner[1]
        head = rf"\sum_{{{index} \ne i,j}}" if latex else f"sum_{{{index} != i,j}}"
        body = _show(expression.args[0], latex, _PRODUCT)
        return _wrap(f"{head} {body}", level > _SUM, latex)
    if name == "Sum":
        body = _show(expression.function, latex, _PRODUCT)
        index, lower, upper = (_show(part, latex, _SUM) for part in expression.limits[0])
        head = (
            rf"\sum_{{{index}={lower}}}^{{{upper}}}"
            if latex
            else f"sum_{{{index}={lower}..{upper}}}"
        )
        return _wrap(f"{head} {body}", level > _SUM, latex)
    if name == "exp":
        return f"e^{{{inner[0]}}}" if latex else f"exp({inner[0]})"
    raise TypeError(f"no text for {name}")


def equation(left: Any, right: Any, latex: bool = False, trace: bool = False) -> str:
    """Two sides of an identity, inside a trace where asked."""
    return " = ".join(_side(side, latex, trace) for side in (left, right))


def _side(side: Any, latex: bool, trace: bool) -> str:
    text = show(side, latex)
    # a squared norm is a number: its trace is itself
    if not trace or side.has(squared_norm):
        return text
    return rf"\operatorname{{Tr}}\left[{text}\right]" if latex else f"Tr[{text}]"
