"""Where an expression has a value: what it needs, and that sympy must not cancel it away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import sympy

from swingby.proofs.language.formula_printer import formula

#: Relations to 0 by the sign of a need.
RELATIONS = {"!=": sympy.Ne, "<=": sympy.Ge, "<": sympy.Gt, "enough": sympy.Gt}
#: Sign of what is enough, and not always needed: x^y may have a value at x = 0.
ENOUGH = "enough"


def needs(expression: Any) -> Iterator[tuple[Any, str]]:
    """The needs of an expression to have a value, innermost first: parts, and "!=", "<", "<=" 0.

    A denominator is not 0, 0 < x in a logarithm, 0 <= x in an even root. Where an exponent is a
    whole number that is not negative, nothing is needed: x^0 is 1 for every x, as in power series.
    """
    for argument in expression.args:
        yield from needs(argument)
    if isinstance(expression, sympy.log):
        yield expression.args[0], "<"
    elif expression.is_Pow and expression.base is not sympy.E:
        base, exponent = expression.args
        if exponent.is_number:
            exponent = exponent.doit()
        if exponent.is_integer:
            if not exponent.is_nonnegative:
                yield base, "!="
        elif exponent.is_Rational:
            yield base, "<=" if exponent > 0 else "<"
        else:
            yield base, ENOUGH


def as_relation(base: Any, sign: str) -> Any:
    """What a part has to be, as a relation."""
    return RELATIONS[sign](base, 0, evaluate=False)


def made(function: Any, arguments: list[Any], options: Mapping[str, bool] | None = None) -> Any:
    """A function of arguments by sympy; as written where sympy would fill a gap: x/x is not 1."""
    if not (isinstance(function, type) or function is sympy.sqrt):
        return carried_out(function, *arguments)
    evaluated = function(*arguments, **(options or {}))
    may_fail = function in (sympy.Pow, sympy.log, sympy.sqrt) and (
        bool(arguments[0].free_symbols) or evaluated.has(sympy.I)
    )
    if options or not (may_fail or any(map(partial, arguments))):
        return evaluated
    written = function(*arguments, evaluate=False)
    return written if partial(written) - partial(evaluated) else evaluated


def carried_out(function: Any, *arguments: Any) -> Any:
    """A function that does not stay as written; ValueError where it would fill a gap."""
    value = function(*arguments)
    if lost := {need for each in arguments for need in partial(each)} - partial(value):
        words = ", ".join(map(formula, relations_of(lost)))
        raise ValueError(f"it has a value only where {words}: simplify it first")
    return value


def relations_of(required: Iterable[tuple[Any, str]]) -> list[Any]:
    """Needs as relations, in the order of their texts."""
    return sorted((as_relation(*need) for need in required), key=str)


def partial(expression: Any) -> set[tuple[Any, str]]:
    """The needs of an expression to have a value that the signs of its letters do not meet."""
    required = set()
    for base, sign in needs(expression):
        factors = sympy.Mul.make_args(base)
        if sign == "!=":
            bases = (factor.as_base_exp()[0] for factor in factors if not factor.is_nonzero)
            required |= {
                (size.args[0] if isinstance(size, sympy.Abs) else size, sign) for size in bases
            }
        elif not (base.is_positive or (sign == "<=" and base.is_nonnegative)):
            required.add(
                (sympy.Mul(*(factor for factor in factors if not factor.is_positive)), sign)
            )
    return required


def put_in_as_written(expression: Any, swaps: Mapping[Any, Any]) -> Any:
    """An expression with parts exchanged, as written where sympy would fill a gap."""
    if expression in swaps:
        return swaps[expression]
    arguments = [put_in_as_written(argument, swaps) for argument in expression.args]
    if arguments == list(expression.args):
        return expression
    return made(expression.func, arguments)
